"""Find blocks that a kernel only reads, under no alias that it writes.

A device caches reads of such a block, and hoists them above writes.
"""

from __future__ import annotations

from compiler.base.names import Name
from compiler.base.rules import Rule
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import StmParts
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.same_blocks import NOBODY, Same

READ_ONLY = Rule(
    "cuda/read-only", "A kernel is told which of its blocks nothing writes while it runs."
)


def read_only(kernel: k.Kernel, same: Same | None) -> tuple[frozenset[Name], frozenset[Name]]:
    """Return the parameters that are only read, and those that may alias a written one.

    `same`: blocks that may be equal where the kernel starts; None if unknown.
    """
    names = Touched()
    names.stms(kernel.body)
    params = [p.name for p in kernel.params if p.block]
    written = [name for name in params if name in names.written]
    read = frozenset(params) - names.written
    if same is None:
        others = read if written else NOBODY
    else:
        others = read & NOBODY.union(*(same.get(name, NOBODY) for name in written))
    return read - others, others


class Touched(StmParts):
    """Blocks that statements read and write; those passed under another name count as both."""

    def __init__(self) -> None:
        self.read: set[Name] = set()
        self.written: set[Name] = set()

    def reads(self, name: Name, node: object) -> None:
        """Record a read."""
        self.read.add(name)

    def writes(self, name: Name, node: object) -> None:
        """Record a write, or an update."""
        self.written.add(name)
        if not isinstance(node, imp.Store | imp.Copy | k.Stores):
            self.read.add(name)

    def lock(self, name: Name, node: object) -> None:
        """Record a lock."""
        self.both(name)

    def flag(self, name: Name, node: object) -> None:
        """Record a flag, set or awaited."""
        self.both(name)

    def operand(self, value: object, node: object) -> None:
        """Record a block passed to a variable, which may be read and written."""
        if isinstance(value, str):
            self.both(value)

    def both(self, name: Name) -> None:
        """Record a read and a write."""
        self.read.add(name)
        self.written.add(name)
