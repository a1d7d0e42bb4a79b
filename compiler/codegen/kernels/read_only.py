"""Find blocks that a kernel only reads, under no alias that it writes.

A device caches reads of such a block, and hoists them above writes.
"""

from __future__ import annotations

from compiler.base.names import Name
from compiler.base.rules import Rule
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.same_blocks import NOBODY, Same
from compiler.codegen.stm_uses import BlockUses

READ_ONLY = Rule(
    "cuda/read-only", "Marks the memory blocks of a kernel that nothing writes while it runs."
)


def read_only(kernel: k.Kernel, same: Same | None) -> tuple[frozenset[Name], frozenset[Name]]:
    """Return the parameters that are only read, and those that may alias a written one.

    `same`: blocks that may be equal where the kernel starts; None if unknown.
    """
    uses = BlockUses(kernel.body)
    changed = uses.written.keys() | uses.aliased.keys()
    params = [p.name for p in kernel.params if p.block]
    written = [name for name in params if name in changed]
    read = frozenset(params) - changed
    if same is None:
        others = read if written else NOBODY
    else:
        others = read & NOBODY.union(*(same.get(name, NOBODY) for name in written))
    return read - others, others
