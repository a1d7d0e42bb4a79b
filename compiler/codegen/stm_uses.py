"""Uses and definitions of statements of IMP and of kernels.

The declared parts of nodes determine them, so that optimisations need no case per class.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import StmParts, statements
from compiler.codegen.kernels import nodes as k
from compiler.ir.nodes import SE
from compiler.ir.walk import se_uses


class BlockUses(StmParts):
    """The blocks that statements read and write, nested ones included, in order.

    Blocks accessed atomically or under a lock, where threads see each other's writes, are in
    `together` as well; those that a variable is given are `aliased`. A launch may write all blocks
    that it is given.
    """

    def __init__(self, stms: imp.Stms = ()) -> None:
        self.read: dict[Name, None] = {}
        self.written: dict[Name, None] = {}
        self.together: dict[Name, None] = {}
        self.aliased: dict[Name, None] = {}
        self.stms(stms)

    def reads(self, name: Name, node: object) -> None:
        """Record a read of a block."""
        self.read[name] = None

    def writes(self, name: Name, node: object) -> None:
        """Record a write."""
        self.written[name] = None

    def updates(self, name: Name, node: object) -> None:
        """Record an atomic update."""
        self.read[name] = self.written[name] = self.together[name] = None

    def lock(self, name: Name, node: object) -> None:
        """Record a block of locks."""
        self.updates(name, node)

    def flag(self, name: Name, node: object) -> None:
        """Record a block of flags or ticket counters, which other threads set as well."""
        self.updates(name, node)

    def awaits(self, name: Name, node: object) -> None:
        """Record a block of flags that others set."""
        self.read[name] = self.together[name] = None

    def launched(self, kernel: k.Kernel, node: object) -> None:
        """Record the blocks that a launch is given."""
        self.written.update(dict.fromkeys(p.name for p in kernel.params if p.block))

    def alias(self, name: Name, node: object) -> None:
        """Record a block that is passed to a call, which reads it, or to a variable."""
        (self.read if isinstance(node, imp.Call) else self.aliased)[name] = None

    def into(self, into: Iterable[imp.Cell | Name], node: imp.Fold) -> None:
        """Record the destinations of results."""
        for place in into:
            if isinstance(place, imp.Cell):
                self.written[place.block] = None

    def dests(self, dests: Iterable[tuple[Name, Lmad[Poly]]], node: imp.Histogram) -> None:
        """Record the destinations of bins, which are updated atomically."""
        for block, _ in dests:
            self.updates(block, node)


class StmUses(BlockUses):
    """The `expressions` of one statement, the statements `inside`, and names in order.

    Names are the scalars read, the blocks read and written, the names `bound`, and those of them
    that are variables with an earlier value (`assigned`).
    """

    def __init__(self, node: object) -> None:
        self.expressions: list[SE] = []
        self.inside: list[imp.Stm] = []
        self.scalars: dict[Name, None] = {}
        self.bound: dict[Name, None] = {}
        self.assigned: dict[Name, None] = {}
        super().__init__()
        self.visit(node)

    def stms(self, stms: imp.Stms, node: object = None) -> None:
        """Collect statements inside; their uses are not this statement's."""
        self.inside += stms

    def launched(self, kernel: k.Kernel, node: object) -> None:
        """Leave out a kernel, whose statements are not this one's."""

    def node(self, part: object, node: object) -> None:
        """Visit what an operator evaluates outside its body; a kernel's work is excluded."""
        if isinstance(part, imp.Combine):
            self.ses(part.neutral)
        elif isinstance(part, imp.Histogram):
            self.visit(part)

    def se(self, se: SE, node: object = None) -> None:
        """Record an expression and its variables."""
        self.expressions.append(se)
        se_uses(se, self._scalar)

    def _scalar(self, name: Name) -> None:
        self.scalars[name] = None

    def named(self, name: Name, node: object) -> None:
        """Record a scalar by its name; "" for none."""
        if name:
            self.scalars[name] = None

    def bind(self, name: Name, node: object) -> None:
        """Record a definition."""
        self.bound[name] = None

    def assigns(self, name: Name, node: object) -> None:
        """Record an assignment."""
        self.bound[name] = self.assigned[name] = None

    def lmad(self, lmad: Lmad[Poly], node: object = None) -> None:
        """Record the variables of an LMAD."""
        self.scalars.update(dict.fromkeys(sorted(lmad.names())))

    def into(self, into: Iterable[imp.Cell | Name], node: imp.Fold) -> None:
        """Record the destinations of results."""
        super().into(into, node)
        for place in into:
            if isinstance(place, imp.Cell):
                self.se(place.at)
            else:
                self.bound[place] = None

    def dests(self, dests: Iterable[tuple[Name, Lmad[Poly]]], node: imp.Histogram) -> None:
        """Record the destinations of bins."""
        super().dests(dests, node)
        for _, lmad in dests:
            self.lmad(lmad)


@dataclass(frozen=True, slots=True)
class StmAccess:
    """A statement's access to `number` cells of a block, from `at` on; flags are set or awaited."""

    block: Name
    prim: Prim
    at: SE
    number: int
    how: How
    is_flag: bool

    @property
    def is_atomic(self) -> bool:
        """True if other threads may access the cells at the same time."""
        return self.is_flag or self.how == "both"


def cell_access(stm: imp.Stm) -> StmAccess | None:
    """Return the access of a statement to cells, except of locks."""
    method = _ACCESSES.get(type(stm))
    if method is None:
        return None
    node: Any = stm
    prim: Prim = getattr(stm, "prim", "i32")
    number, is_flag = getattr(stm, "number", 1), method in ("flag", "awaits")
    return StmAccess(node.block, prim, node.at, number, _HOW[method], is_flag)


How = Literal["reads", "writes", "both"]
_HOW: Mapping[str, How] = {
    "reads": "reads",
    "writes": "writes",
    "updates": "both",
    "flag": "both",
    "awaits": "reads",
}
_ACCESSES = {
    cls: method
    for cls, parts in k.KERNELS.parts.items()
    for method, field in parts
    if method in _HOW and field == "block"
}
"""By class: how it accesses cell `at` of its field `block`."""


def count_names(stms: imp.Stms) -> tuple[Counter[Name], Counter[Name]]:
    """Count the occurrences of scalars in expressions, and the definitions of names."""
    uses, bound = Counter[Name](), Counter[Name]()
    for stm in statements(stms):
        own = StmUses(stm)
        bound.update(own.bound.keys())
        for se in own.expressions:
            se_uses(se, lambda name: uses.update((name,)))
    return uses, bound
