"""A short-circuit point: where an array is put into its place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.rules import Rule
from compiler.ir import nodes as ir
from compiler.ir.slices import with_indices
from compiler.storage.short_circuit.tree import Item, TreeBody


@dataclass(frozen=True, slots=True)
class CircuitPoint:
    """A point: `source` goes into its place in `destination` at statement `end` of `scope`.

    Result `given` of a body goes there at its end, `end` being the number of statements.
    """

    rule: Rule
    scope: TreeBody
    end: int
    source: Name
    destination: Name
    item: Item
    given: int | None = None
    row: tuple[Poly, ...] = ()
    """Computed indices of the place; out of bounds, nothing is written."""
    beside: tuple[Poly, ...] = ()
    """Numbers of rows before and after the place, which is in bounds if these are natural; that
    may be checked only later."""
    dims: tuple[ir.DimIndex, ...] = ()
    """Indices of an update, with names for those that are no polynomials."""
    new: tuple[Item, ...] = ()
    """The statements that bind these names."""

    def update(self, lifted: Sequence[Item]) -> tuple[Item, ir.Stm] | None:
        """Return an update whose indices are replaced by names bound now; others stay."""
        old = self.item.stm
        if not isinstance(old.exp, ir.Update):
            return None
        plain = {item.stm.pat[0].name: item.stm.exp for item in self.new if item not in lifted}

        def bound(se: ir.SE) -> ir.SE:
            found = plain.get(se.name, se) if isinstance(se, ir.Var) else se
            return cast(ir.SE, found)

        dims = tuple(with_indices(dim, bound) for dim in self.dims)
        if dims == old.exp.dims:
            return None
        return self.item, replace(old, exp=replace(old.exp, dims=dims))
