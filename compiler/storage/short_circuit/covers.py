"""Many sets of cells as few, so that one proof keeps another set away from all of them.

Hundreds of rows of one matrix are one or two blocks of rows. Neighbours become one set without
loss. Sets of one shape, multiples of something apart, are covered by all such sets from the first
to the last: these may be more cells, so where no proof is found, each half is tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from math import gcd

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly

Cells = Lmad[Poly]


@dataclass(frozen=True, slots=True)
class Cover:
    """Cells that hold all of some sets, which `members` numbers; `halves` covers half of them."""

    cells: Cells
    members: tuple[int, ...]
    halves: Callable[[], tuple[Cover, ...]] = tuple


def covers(base: Cells, sets: Sequence[Cells], is_size: Callable[[Poly], bool]) -> list[Cover]:
    """Covers for all sets; those on one side of the set `base` are not covered with others.

    `is_size`: whether a number is known not to be negative.
    """
    found: list[Cover] = []
    alone: dict[tuple[Dim[Poly], ...], list[Cover]] = {}
    for unit, line in _lines(base.offset, _joined(sets, is_size)):
        if len(line) > 1:
            found.append(_from_first_to_last(line, unit))
        else:
            alone.setdefault(line[0][1].cells.dims, []).append(line[0][1])
    for some in alone.values():
        for unit, line in _lines(some[0].cells.offset, some):
            found.append(_from_first_to_last(line, unit))
    return found


Line = list[tuple[int, Cover]]
"""Sets of one shape with how many units they are away from somewhere, nearest to one end first."""


def _lines(start: Poly, some: Iterable[Cover]) -> list[tuple[Poly, Line]]:
    """Sets by shape, side of `start` and what their distances are multiples of."""
    found: dict[tuple[tuple[Dim[Poly], ...], Poly, bool], Line] = {}
    for one in some:
        unit, count = _multiple(one.cells.offset - start)
        found.setdefault((one.cells.dims, unit, count > 0), []).append((count, one))
    return [(key[1], sorted(line, key=lambda step: step[0])) for key, line in found.items()]


def _multiple(distance: Poly) -> tuple[Poly, int]:
    """A distance as a multiple of one that no number divides."""
    if not distance.terms:
        return distance, 0
    count = gcd(*distance.terms.values())
    if distance.terms[max(distance.terms)] < 0:
        count = -count
    return Poly({mono: coeff // count for mono, coeff in distance.terms.items()}), count


def _from_first_to_last(line: Line, unit: Poly) -> Cover:
    """All sets of a shape between the first and the last of a line, as far apart as need be."""
    members = tuple(member for _, one in line for member in one.members)
    first, start = line[0]
    if len(line) == 1:
        return start
    step = gcd(*(count - first for count, _ in line))
    cells = start.cells
    if step:
        more = Dim(Poly.const((line[-1][0] - first) // step + 1), unit * step)
        cells = Lmad(cells.offset, (more, *cells.dims))
    return Cover(cells, members, partial(_halves, _from_first_to_last, line, unit))


def _joined(sets: Sequence[Cells], is_size: Callable[[Poly], bool]) -> list[Cover]:
    """The sets, those joined that follow each other in the first dimension."""
    same: dict[Cells, list[int]] = {}
    for k, cells in enumerate(sets):
        same.setdefault(cells, []).append(k)
    starts: dict[object, Cells] = {}
    for cells in same:
        if cells.dims:
            starts.setdefault((cells.offset, cells.dims[0].stride, cells.dims[1:]), cells)
    after: dict[Cells, Cells] = {}
    for cells in same:
        if cells.dims and is_size(cells.dims[0].size):
            first = cells.dims[0]
            end = cells.offset + first.size * first.stride
            following = starts.pop((end, first.stride, cells.dims[1:]), None)
            if following is not None and following is not cells:
                after[cells] = following
    later = {id(cells) for cells in after.values()}
    found: list[Cover] = []
    for cells in same:
        if id(cells) not in later:
            chain = [Cover(cells, tuple(same[cells]))]
            while (following := after.get(chain[-1].cells)) is not None:
                chain.append(Cover(following, tuple(same[following])))
            found.append(_one_after_the_other(chain))
    return found


def _one_after_the_other(chain: Sequence[Cover]) -> Cover:
    """Neighbours as one set."""
    if len(chain) == 1:
        return chain[0]
    first, *rest = chain[0].cells.dims
    size = first.size
    for one in chain[1:]:
        size = size + one.cells.dims[0].size
    cells = Lmad(chain[0].cells.offset, (Dim(size, first.stride), *rest))
    members = tuple(member for one in chain for member in one.members)
    return Cover(cells, members, partial(_halves, _one_after_the_other, chain))


def _halves(make: Callable[..., Cover], some: Sequence[object], *more: object) -> tuple[Cover, ...]:
    half = len(some) // 2
    return make(some[:half], *more), make(some[half:], *more)
