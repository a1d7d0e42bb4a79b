"""Cover many sets of cells by few, so that one proof separates another set from all of them.

Hundreds of rows of one matrix form one or two blocks of rows. Adjacent sets are joined without
loss. Sets of one shape, at multiples of a distance, are covered by the arithmetic progression from
first to last: this may add cells, so each half is tried where no proof is found. Covers can be
covered again: those of many attempts share their parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import gcd
from typing import Generic, TypeVar

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass

Cells = Lmad[Poly]
Dims = tuple[Dim[Poly], ...]
IsSize = Callable[[Poly], bool]
M = TypeVar("M")
P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Progression:
    """Sets of one shape at `start + k*unit` for some `k` from `first` to `last`, `step` apart."""

    dims: Dims
    unit: Poly
    start: Poly
    first: int
    last: int
    step: int

    def side(self, base: Cells) -> int:
        """Return 1 if it lies beyond the start of `base`, -1 before, 0 if unknown."""
        start, count = _reduced(base.offset, self.unit)
        if start != self.start:
            return 0
        return (self.first > count) - (self.last < count)


@dataclass(frozen=True, slots=True)
class Cover(Generic[M]):
    """Cells that contain those of all `members`; `halves` cover half of them, none for one."""

    cells: Cells
    count: int
    member: M | None = None
    halves: Callable[[], Sequence[Cover[M]]] = tuple
    line: Progression | None = None

    @property
    def members(self) -> list[M]:
        """Covered members, in the order of halves."""
        found: list[M] = []
        waiting: list[Cover[M]] = [self]
        while waiting:
            one = waiting.pop()
            if one.member is not None:
                found.append(one.member)
            waiting += [*one.halves()][::-1]
        return found


def covers(
    some: Sequence[Cover[M]], is_size: IsSize, base: Cells | None = None
) -> Sequence[Cover[M]]:
    """Cover all sets; those on different sides of the set `base` are kept apart.

    `is_size`: test whether a number is natural.
    """
    return some if len(some) == 1 else _in_lines(_joined(some, is_size), base)


# --- neighbours ---


def _joined(some: Sequence[Cover[M]], is_size: IsSize) -> list[Cover[M]]:
    """Join covers that are adjacent in the first dimension."""
    same: dict[Cells, list[Cover[M]]] = {}
    for one in some:
        same.setdefault(one.cells, []).append(one)
    if len(same) == 1:
        return [_merge_equal(some)]
    starts: dict[object, Cells] = {}
    for cells, (one, *_) in same.items():
        if cells.dims and one.line is None:
            starts.setdefault((cells.offset, cells.dims[0].stride, cells.dims[1:]), cells)
    after: dict[Cells, Cells] = {}
    for cells, (one, *_) in same.items():
        if cells.dims and one.line is None and is_size(cells.dims[0].size):
            first = cells.dims[0]
            end = cells.offset + first.size * first.stride
            following = starts.pop((end, first.stride, cells.dims[1:]), None)
            if following is not None and following is not cells:
                after[cells] = following
    later = {id(cells) for cells in after.values()}
    found: list[Cover[M]] = []
    for cells in same:
        if id(cells) not in later:
            chain = [_merge_equal(same[cells])]
            while (following := after.get(chain[-1].cells)) is not None:
                chain.append(_merge_equal(same[following]))
            found.append(_merge_adjacent(chain))
    return found


def _merge_equal(some: Sequence[Cover[M]]) -> Cover[M]:
    """Combine covers of the same cells."""
    if len(some) == 1:
        return some[0]
    count = sum(one.count for one in some)
    return Cover(some[0].cells, count, None, lambda: _halves(_merge_equal, some), some[0].line)


def _merge_adjacent(chain: Sequence[Cover[M]]) -> Cover[M]:
    """Combine adjacent covers."""
    if len(chain) == 1:
        return chain[0]
    first, *rest = chain[0].cells.dims
    size = first.size
    for one in chain[1:]:
        size = size + one.cells.dims[0].size
    cells = Lmad(chain[0].cells.offset, (Dim(size, first.stride), *rest))
    count = sum(one.count for one in chain)
    return Cover(cells, count, None, lambda: _halves(_merge_adjacent, chain))


# --- lines ---


def _in_lines(some: Sequence[Cover[M]], base: Cells | None) -> list[Cover[M]]:
    """Combine covers of one shape at multiples of a distance."""
    lines = _Lines[M](base)
    left = [one for one in some if not lines.goes_on(one)]
    left = [one for one in left if not lines.fits(one)]
    if base is not None:
        left = lines.new(left, base.offset)
    shapes: dict[Dims, list[Cover[M]]] = {}
    for one in left:
        shapes.setdefault(one.cells.dims, []).append(one)
    for alike in shapes.values():
        lines.alone += lines.new(alike, alike[0].cells.offset)
    return lines.covers()


class _Lines(Generic[M]):
    """Progressions under construction, separated by their side of `base`."""

    def __init__(self, base: Cells | None) -> None:
        self.base = base
        self.alone: list[Cover[M]] = []
        self._found: dict[object, list[tuple[Progression, Cover[M]]]] = {}
        self._units: dict[Dims, dict[Poly, None]] = {}

    def covers(self) -> list[Cover[M]]:
        """Return one cover per progression, and the remaining sets."""
        return [*map(_from_first_to_last, self._found.values()), *self.alone]

    def goes_on(self, one: Cover[M]) -> bool:
        """Add a cover that is a progression; False if it is none."""
        if one.line is not None:
            self._put(one.line, one)
        return one.line is not None

    def fits(self, one: Cover[M]) -> bool:
        """Add a set to an existing progression; False if it fits none."""
        for unit in self._units.get(one.cells.dims, ()):
            line = _point(one.cells, unit)
            if self._key(line) in self._found:
                self._put(line, one)
                return True
        return False

    def new(self, some: Sequence[Cover[M]], origin: Poly) -> list[Cover[M]]:
        """Start progressions through `origin` where two sets fit one; return the other sets."""
        there: list[Cover[M]] = []
        found: dict[object, list[tuple[Progression, Cover[M]]]] = {}
        for one in some:
            distance = one.cells.offset - origin
            if distance.terms:
                line = _point(one.cells, _direction(distance))
                found.setdefault(self._key(line), []).append((line, one))
            else:
                there.append(one)
        for group in found.values():
            line = group[0][0]
            if there and there[0].cells.dims == line.dims:
                start = there.pop(0)
                group.insert(0, (_point(start.cells, line.unit), start))
            if len(group) > 1:
                for line, one in group:
                    self._put(line, one)
            else:
                there.append(group[0][1])
        return there

    def _put(self, line: Progression, one: Cover[M]) -> None:
        self._found.setdefault(self._key(line), []).append((line, one))
        self._units.setdefault(line.dims, {})[line.unit] = None

    def _key(self, line: Progression) -> object:
        side = 0 if self.base is None else line.side(self.base)
        return line.dims, line.unit, line.start, side


def _direction(distance: Poly) -> Poly:
    """Return the primitive direction of a distance."""
    count = gcd(*distance.terms.values())
    if distance.terms[max(distance.terms)] < 0:
        count = -count
    return Poly({mono: coeff // count for mono, coeff in distance.terms.items()})


def _reduced(offset: Poly, unit: Poly) -> tuple[Poly, int]:
    """Split an offset into a canonical remainder and a multiple of the unit."""
    leading = max(unit.terms)
    count = offset.terms.get(leading, 0) // unit.terms[leading]
    return offset - unit * count, count


def _point(cells: Cells, unit: Poly) -> Progression:
    """Return a set as a progression of one element."""
    start, count = _reduced(cells.offset, unit)
    return Progression(cells.dims, unit, start, count, count, 0)


def _from_first_to_last(some: Sequence[tuple[Progression, Cover[M]]]) -> Cover[M]:
    """Cover all sets of a progression, at the greatest common distance."""
    if len(some) == 1:
        return some[0][1]
    some = sorted(some, key=lambda each: (each[0].first, each[0].last))
    line = some[0][0]
    first, last = line.first, max(each.last for each, _ in some)
    step = gcd(*(k for each, _ in some for k in (each.step, each.first - first)))
    more = Dim(Poly.const((last - first) // step + 1), line.unit * step)
    cells = Lmad(line.start + line.unit * first, (more, *line.dims))
    count = sum(one.count for _, one in some)
    return Cover(
        cells,
        count,
        None,
        lambda: _halves(_from_first_to_last, some),
        replace(line, last=last, step=step),
    )


def _halves(make: Callable[[Sequence[P]], Cover[M]], some: Sequence[P]) -> tuple[Cover[M], ...]:
    half = len(some) // 2
    return make(some[:half]), make(some[half:])
