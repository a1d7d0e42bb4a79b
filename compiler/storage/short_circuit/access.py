"""What a statement touches of a block, as LMADs, and how that looks from outside a loop or kernel.

Going out of a loop over `i`, the cells for all `i` are an LMAD with one more dimension
(thesis 3.5.2). What depends on values computed inside is taken to be all of the array.
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
    """Cells that are touched through `array`; `lmad` is None if nothing is known of them.

    `wider` are index functions of the arrays that it is a view of, from inside out: what to fall
    back on where the exact cells cannot be said. `lost` is why that was done: a name of the exact
    cells that means nothing outside, "" if there is none; None if they are the exact cells.
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
    """The cells for all values of a name; more if a size depends on it; None if no LMAD has them.

    A size that grows with the name is taken at its largest.
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
    """One of those that touch the same cells in the same way."""
    found: dict[tuple[Lmad[Poly] | None, bool, Name], Access] = {}
    for access in accesses:
        found.setdefault((access.lmad, access.writes, access.array), access)
    return list(found.values())


def with_lmad(access: Access, lmad: Lmad[Poly] | None, lost: Name | None = None) -> Access:
    """The access with other cells; `lost`: why they may be more than it touches."""
    if access.lost is not None:
        lost = access.lost
    if lmad is access.lmad and lost == access.lost:
        return access
    return Access(access.array, lmad, access.writes, access.wider, lost)


@dataclass(frozen=True, slots=True)
class Obligation:
    """Two sets of cells that must not meet, and what was found out; `why` says where they arise."""

    write: Lmad[Poly]
    use: Lmad[Poly]
    why: str
    verdict: Verdict
