"""Which blocks of memory a kernel only reads, under no other name that it writes.

Of such a block a device keeps what it has read, and loads it ahead of what is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.base.names import Name
from compiler.base.rules import Rule
from compiler.codegen.free_names import FreeNames
from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.walk import PARTS, statements
from compiler.ir.nodes import Mem

READ_ONLY = Rule(
    "cuda/read-only", "A kernel is told which of its blocks nothing writes while it runs."
)
Blocks = Mapping[Name, frozenset[Name]]


def launches(fun: imp.ImpFun) -> Iterator[tuple[k.Kernel, frozenset[Name]]]:
    """The kernels that an entry point launches, each with the fresh blocks of that moment.

    A block is fresh from its allocation on until a variable is given it. In a loop the one of the
    last round may be in some variable, but not the one that this round has allocated.
    """
    return _launches(fun.body, set())


def _launches(stms: imp.Stms, fresh: set[Name]) -> Iterator[tuple[k.Kernel, frozenset[Name]]]:
    """`fresh` becomes what is fresh behind the statements."""
    for stm in stms:
        match stm:
            case imp.Alloc() | k.Part() | k.Zeros():
                fresh.add(stm.name)
            case imp.Declare() | imp.Assign() if isinstance(stm.value, str):
                fresh.discard(stm.value)
            case k.Launch():
                yield stm.kernel, frozenset(fresh)
            case imp.If():
                behind = set(fresh)
                yield from _launches(stm.then, fresh)
                yield from _launches(stm.orelse, behind)
                fresh &= behind
            case imp.For() | imp.While():
                inside = [
                    s for s in statements(stm.body) if isinstance(s, imp.Declare | imp.Assign)
                ]
                fresh.difference_update(s.value for s in inside if isinstance(s.value, str))
                yield from _launches(stm.body, set(fresh))


def held(fun: imp.ImpFun) -> Blocks:
    """The blocks that each variable for blocks may hold: any of those that it was given.

    A name that is no variable is a block of its own: allocations are fresh, and so are parameters.
    """
    given: dict[Name, set[Name]] = {}
    for stm in statements(fun.body):
        if isinstance(stm, imp.Declare) and isinstance(stm.type, Mem):
            given.setdefault(stm.name, set())
        if isinstance(stm, imp.Declare | imp.Assign) and isinstance(stm.value, str):
            given.setdefault(stm.name, set()).add(stm.value)
    grows = True
    while grows:
        grows = False
        for names in given.values():
            more = {held for name in names for held in given.get(name, ())} - names
            grows = grows or bool(more)
            names |= more
    return {name: frozenset(names - given.keys()) for name, names in given.items()}


def read_only(
    kernel: k.Kernel, blocks: Blocks, fresh: frozenset[Name]
) -> tuple[frozenset[Name], frozenset[Name]]:
    """The parameters that are only read; and those that are too, but may be what is written.

    `blocks` is what the entry point's variables may hold, `fresh` the blocks in none of them.
    """
    names = Touched()
    names.stms(kernel.body)
    params = [p.name for p in kernel.params if p.block]
    of = {name: blocks.get(name, frozenset((name,))) for name in params}
    written = [name for name in params if name in names.written and name not in fresh]
    touched = frozenset[Name]().union(*(of[name] for name in written))
    read = [name for name in params if name not in names.written]
    free = frozenset(name for name in read if not of[name] & touched)
    return free, frozenset(read) - free


class Touched(FreeNames):
    """The blocks that statements read, and that they write; those with another name are both."""

    parts = PARTS

    def __init__(self) -> None:
        super().__init__()
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

    def numbers(self, dims: object, node: object) -> None:
        """Indices."""

    def sizes(self, dims: object, node: object) -> None:
        """How many there are."""
