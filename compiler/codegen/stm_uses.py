"""Uses and definitions of a single statement of IMP or of a kernel.

The declared parts of nodes determine them, so that optimisations need no case per class.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import StmParts
from compiler.codegen.kernels import nodes as k
from compiler.ir.nodes import SE, Operand
from compiler.ir.walk import se_uses


class StmUses(StmParts):
    """The `expressions` of a statement, the statements `inside`, and names in order.

    Names are the scalars read, the blocks read and written, the names `bound`, and those of them
    that are variables with an earlier value (`assigned`). Blocks accessed atomically or under a
    lock, where threads see each other's writes, are in `together` as well.
    """

    def __init__(self, node: object) -> None:
        self.expressions: list[SE] = []
        self.inside: list[imp.Stm] = []
        self.scalars: dict[Name, None] = {}
        self.read: dict[Name, None] = {}
        self.written: dict[Name, None] = {}
        self.bound: dict[Name, None] = {}
        self.assigned: dict[Name, None] = {}
        self.together: dict[Name, None] = {}
        self.visit(node)

    def stms(self, stms: imp.Stms, node: object = None) -> None:
        """Collect statements inside; their uses are not this statement's."""
        self.inside += stms

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

    def operand(self, value: Operand | None, node: object) -> None:
        """Record a scalar, or a block passed to a call; aliasing a block is no use."""
        if isinstance(value, str) and isinstance(node, imp.Call):
            self.read[value] = None
        else:
            super().operand(value, node)

    def assigns(self, name: Name, node: object) -> None:
        """Record an assignment."""
        self.bound[name] = self.assigned[name] = None

    def lmad(self, lmad: Lmad[Poly], node: object = None) -> None:
        """Record the variables of an LMAD."""
        self.scalars.update(dict.fromkeys(sorted(lmad.names())))

    def reads(self, name: Name, node: object) -> None:
        """Record a read of a block."""
        self.read[name] = None

    def writes(self, name: Name, node: object) -> None:
        """Record a write; an atomic update reads as well."""
        self.written[name] = None
        if isinstance(node, k.Atomic | k.Exchange):
            self.read[name] = self.together[name] = None

    def lock(self, name: Name, node: object) -> None:
        """Record a block of locks."""
        self.read[name] = self.written[name] = self.together[name] = None

    def flag(self, name: Name, node: object) -> None:
        """Record a block of flags or ticket counters, which other threads set."""
        self.read[name] = self.together[name] = None
        if not isinstance(node, k.Await):
            self.written[name] = None

    def into(self, into: Iterable[imp.Cell | Name], node: imp.Fold) -> None:
        """Record the destinations of results."""
        for place in into:
            if isinstance(place, imp.Cell):
                self.written[place.block] = None
                self.se(place.at)
            else:
                self.bound[place] = None

    def dests(self, dests: Iterable[tuple[Name, Lmad[Poly]]], node: imp.Histogram) -> None:
        """Record the destinations of bins, which are updated atomically."""
        for block, lmad in dests:
            self.read[block] = self.written[block] = self.together[block] = None
            self.lmad(lmad)
