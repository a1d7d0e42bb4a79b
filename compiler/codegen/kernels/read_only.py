"""Which blocks of memory a kernel only reads, under no other name that it writes.

Of such a block a device keeps what it has read, and loads it ahead of what is written.
"""

from __future__ import annotations

from compiler.base.names import Name
from compiler.base.rules import Rule
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import StmParts
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.same_blocks import NOBODY, Same
from compiler.codegen.kernels.walk import PARTS

READ_ONLY = Rule(
    "cuda/read-only", "A kernel is told which of its blocks nothing writes while it runs."
)


def read_only(kernel: k.Kernel, same: Same | None) -> tuple[frozenset[Name], frozenset[Name]]:
    """The parameters that are only read; and those that are too, but may be what is written.

    `same`: which blocks may be the same where the kernel starts; None if nobody knows.
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
    """The blocks that statements read, and that they write; those with another name are both."""

    parts = PARTS

    def __init__(self) -> None:
        self.read: set[Name] = set()
        self.written: set[Name] = set()

    def reads(self, name: Name, node: object) -> None:
        """A cell is read."""
        self.read.add(name)

    def writes(self, name: Name, node: object) -> None:
        """A cell is written, or becomes something else."""
        self.written.add(name)
        if not isinstance(node, imp.Store | imp.Copy):
            self.read.add(name)

    def lock(self, name: Name, node: object) -> None:
        """A lock is taken."""
        self.both(name)

    def flag(self, name: Name, node: object) -> None:
        """A flag is set, or awaited from another thread that sets it."""
        self.both(name)

    def operand(self, value: object, node: object) -> None:
        """A variable may be read and written."""
        if isinstance(value, str):
            self.both(value)

    def both(self, name: Name) -> None:
        """Read and written."""
        self.read.add(name)
        self.written.add(name)
