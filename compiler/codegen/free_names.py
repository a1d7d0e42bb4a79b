"""Free names of statements with their types: a kernel's parameters."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.codegen.imp.nodes import Assign, Cell, Declare, Fold, Kernel
from compiler.codegen.imp.parts import StmParts
from compiler.codegen.kernels import nodes as k
from compiler.ir.nodes import SE, Bin, Lit, Var
from compiler.ir.walk import se_parts


class FreeNames(StmParts):
    """Scalars and blocks in order of first use, and names bound inside."""

    def __init__(self) -> None:
        self.scalars: dict[Name, Prim] = {}
        self.blocks: dict[Name, Prim] = {}
        self.bound: set[Name] = set()

    def free_scalars(self) -> dict[Name, Prim]:
        """Return free scalars."""
        return {n: p for n, p in self.scalars.items() if n not in self.bound}

    def free_blocks(self) -> dict[Name, Prim]:
        """Return free blocks."""
        return {n: p for n, p in self.blocks.items() if n not in self.bound}

    def se(self, se: SE, node: object = None) -> None:
        """Visit the variables of an expression."""
        if type(se) is Var:
            self.scalars.setdefault(se.name, se.prim)
        elif type(se) is Bin:
            self.se(se.lhs)
            self.se(se.rhs)
        elif type(se) is not Lit:
            for part in se_parts(se):
                self.se(part)

    def bind(self, name: Name, node: object) -> None:
        """Record a bound name."""
        self.bound.add(name)

    def block(self, name: Name, prim: Prim) -> None:
        """Record a block with its element type."""
        self.blocks.setdefault(name, prim)

    def alias(self, name: Name, node: Any) -> None:
        """Record an assigned or passed block; it has the type of its variable."""
        known: Prim = "i64"
        if isinstance(node, Declare):
            known = node.type.prim
        elif isinstance(node, Assign):
            known = self.blocks.get(node.name, known)
        self.blocks.setdefault(name, known)

    def launched(self, kernel: k.Kernel, node: k.Launch) -> None:
        """Record a kernel's parameters."""
        for one in kernel.params:
            (self.blocks if one.block else self.scalars).setdefault(one.name, one.prim)

    def lmad(self, lmad: Lmad[Poly], node: object = None) -> None:
        """Visit the variables of an LMAD, in a deterministic order."""
        for name in sorted(lmad.names()):
            self.scalars.setdefault(name, "i64")

    def into(self, into: Iterable[Cell | Name], node: Fold) -> None:
        """Visit cells, and variables that receive results."""
        super().into(into, node)
        for place, prim in zip(into, node.op.prims, strict=True):
            if not isinstance(place, Cell):
                self.scalars.setdefault(place, prim)


def uses_of(kernel: Kernel) -> FreeNames:
    """Return the names that a kernel uses and defines."""
    uses = FreeNames()
    uses.visit(kernel)
    return uses
