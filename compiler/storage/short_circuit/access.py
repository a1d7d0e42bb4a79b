"""Accesses of statements to a block, as LMADs, and their aggregation over loops and kernels.

Aggregation over a loop index `i` adds a dimension to the LMAD (thesis 3.5.2). An access that
depends on values computed inside is widened to the whole array.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.algebra.disjoint import Verdict
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name


@dataclass(frozen=True, slots=True)
class Access:
    """Cells accessed through `array`; `lmad` is None if unknown.

    `wider` are the index functions of the arrays that it is a view of, innermost first: fallbacks
    where the exact cells cannot be expressed. `lost` is the reason for a fallback: a name that is
    not in scope outside, "" for none; None for exact cells.
    """

    array: Name
    lmad: Lmad[Poly] | None
    writes: bool
    wider: tuple[Lmad[Poly], ...] = ()
    lost: Name | None = None


@dataclass(frozen=True, slots=True)
class Range:
    """`lower <= name < lower + count`."""

    name: Name
    lower: Poly
    count: Poly


def expanded(lmad: Lmad[Poly], over: Range) -> Lmad[Poly] | None:
    """Aggregate over all values of a name; None if no LMAD contains the cells.

    Over-approximates where a size depends on the name: a size that grows with it takes its maximum.
    """
    name = over.name
    if name not in lmad.names():
        return lmad
    dims: list[Dim[Poly]] = []
    for dim in lmad.dims:
        if name in dim.stride.names() or dim.size.degree(name) > 1:
            return None
        if name in dim.size.names():
            slope = dim.size.coefficient(name).constant
            if slope is None:
                return None
            end = over.lower + over.count - 1 if slope > 0 else over.lower
            dim = Dim(dim.size.subst({name: end}), dim.stride)
        dims.append(dim)
    return Lmad(lmad.offset, tuple(dims)).expand(name, over.lower, over.count)


def unique(accesses: Iterable[Access]) -> list[Access]:
    """Drop accesses equal to an earlier one."""
    found: dict[tuple[Lmad[Poly] | None, bool, Name], Access] = {}
    for access in accesses:
        found.setdefault((access.lmad, access.writes, access.array), access)
    return list(found.values())


def with_lmad(access: Access, lmad: Lmad[Poly] | None, lost: Name | None = None) -> Access:
    """Return the access with other cells; `lost`: why they over-approximate it."""
    if access.lost is not None:
        lost = access.lost
    if lmad is access.lmad and lost == access.lost:
        return access
    return Access(access.array, lmad, access.writes, access.wider, lost)


@dataclass(frozen=True, slots=True)
class Obligation:
    """Two sets of cells that must be disjoint, and the verdict; `why` describes their origin."""

    write: Lmad[Poly]
    use: Lmad[Poly]
    why: str
    verdict: Verdict
