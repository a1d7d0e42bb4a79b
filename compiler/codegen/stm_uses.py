"""The scalars and blocks that a statement of IMP or of a kernel itself reads, writes and binds.

The parts of its node say so: an optimisation asks here and tells no classes apart.
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
    """Its `expressions`, the statements `inside`, and names in order.

    Those are scalars that are read, blocks that are read and written, what gets a value (`bound`),
    and which of these is a variable that had one before (`assigned`). Of an atomic operation and
    of a lock, whose threads see what others have written, the block is in `together` as well.
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
        """Statements inside are not its own."""
        self.inside += stms

    def node(self, part: object, node: object) -> None:
        """Of an operator what is evaluated outside of it; the work of a kernel is not its own."""
        if isinstance(part, imp.Combine):
            self.ses(part.neutral)
        elif isinstance(part, imp.Histogram):
            self.visit(part)

    def se(self, se: SE, node: object = None) -> None:
        """The variables of an expression."""
        self.expressions.append(se)
        se_uses(se, self._scalar)

    def _scalar(self, name: Name) -> None:
        self.scalars[name] = None

    def named(self, name: Name, node: object) -> None:
        """A scalar by its name; "" for none."""
        if name:
            self.scalars[name] = None

    def bind(self, name: Name, node: object) -> None:
        """A name that gets a value."""
        self.bound[name] = None

    def operand(self, value: Operand | None, node: object) -> None:
        """A scalar, or a block: another name for it is no use, but what is called may read it."""
        if isinstance(value, str) and isinstance(node, imp.Call):
            self.read[value] = None
        else:
            super().operand(value, node)

    def assigns(self, name: Name, node: object) -> None:
        """A variable's next value."""
        self.bound[name] = self.assigned[name] = None

    def lmad(self, lmad: Lmad[Poly], node: object = None) -> None:
        """The variables of an LMAD."""
        self.scalars.update(dict.fromkeys(sorted(lmad.names())))

    def reads(self, name: Name, node: object) -> None:
        """A block of which a cell is read."""
        self.read[name] = None

    def writes(self, name: Name, node: object) -> None:
        """A block of which a cell is written; what is atomic makes it of what it was."""
        self.written[name] = None
        if isinstance(node, k.Atomic | k.Exchange):
            self.read[name] = self.together[name] = None

    def lock(self, name: Name, node: object) -> None:
        """A block of locks."""
        self.read[name] = self.written[name] = self.together[name] = None

    def flag(self, name: Name, node: object) -> None:
        """A block of flags, or of what tickets are counted with: as others have set them."""
        self.read[name] = self.together[name] = None
        if not isinstance(node, k.Await):
            self.written[name] = None

    def into(self, into: Iterable[imp.Cell | Name], node: imp.Fold) -> None:
        """Where results go."""
        for place in into:
            if isinstance(place, imp.Cell):
                self.written[place.block] = None
                self.se(place.at)
            else:
                self.bound[place] = None

    def dests(self, dests: Iterable[tuple[Name, Lmad[Poly]]], node: imp.Histogram) -> None:
        """Where bins are, which get what they were and a value combined."""
        for block, lmad in dests:
            self.read[block] = self.written[block] = self.together[block] = None
            self.lmad(lmad)
