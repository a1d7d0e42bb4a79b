"""Trees of accesses whose parts are shared by many attempts.

An attempt asks for the accesses of all statements between two others, except a few. Statements of a
body, and results of a kernel, are combined in a binary tree: any range is a few subtrees. Derived
data (covers, aggregated cells) is cached per subtree, and recomputed only for changed ones.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import field

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.storage.short_circuit.access import Access, unique
from compiler.storage.short_circuit.covers import Cover, IsSize, covers

_MANY = 64
"""Maximum number of accesses in which duplicates are sought."""


class Uses:
    """A sequence of accesses: one, or those of several parts."""

    __slots__ = ("_covers", "_left", "_unknown", "access", "count", "origin", "parts")

    def __init__(
        self,
        parts: tuple[Uses, ...] = (),
        access: Access | None = None,
        origin: Access | None = None,
    ) -> None:
        """`origin`: the access further inside, in one iteration or thread."""
        self.parts = parts
        self.access = access
        self.origin = origin
        self.count: int = 1 if access is not None else sum(part.count for part in parts)
        self._left: Uses | None = None
        self._covers: Sequence[Cover[Uses]] | None = None
        self._unknown: tuple[Uses, ...] | None = None

    def __iter__(self) -> Iterator[Access]:
        waiting = [self]
        while waiting:
            one = waiting.pop()
            if one.access is not None:
                yield one.access
            waiting += one.parts[::-1]

    def left(self, leave: Callable[[Access], Access]) -> Uses:
        """Return the accesses aggregated by `leave`, from outside the body.

        Cached: a part belongs to one body.
        """
        if self._left is None:
            if self.access is not None:
                self._left = Uses((), leave(self.access), self.access)
            else:
                self._left = Uses(tuple([part.left(leave) for part in self.parts]))
        return self._left

    def covers(self, is_size: IsSize) -> Sequence[Cover[Uses]]:
        """Return covers of the accesses with known cells.

        `is_size`: test whether a number is natural anywhere in the function.
        """
        if self._covers is None:
            if self.access is None:
                some = [one for part in self.parts for one in part.covers(is_size)]
                self._covers = covers(some, is_size)
            else:
                cells = self.access.lmad
                self._covers = () if cells is None else (Cover(cells, 1, self),)
        return self._covers

    def unknown(self) -> tuple[Uses, ...]:
        """Return the accesses with unknown cells."""
        if self._unknown is None:
            if self.access is None:
                self._unknown = tuple(one for part in self.parts for one in part.unknown())
            else:
                self._unknown = (self,) if self.access.lmad is None else ()
        return self._unknown

    def unlike(self, cells: Lmad[Poly] | None) -> Uses:
        """Return the accesses that do not touch exactly these cells."""
        if self.access is not None:
            return NO_USES if self.access.lmad == cells else self
        kept = tuple(part.unlike(cells) for part in self.parts)
        return self if all(map(_is, kept, self.parts)) else combine_uses(kept)

    def once(self) -> Uses:
        """Remove duplicates, if the accesses are few."""
        if self.count > _MANY:
            return self
        found = unique(self)
        return self if len(found) == self.count else uses(found)


def _is(one: object, other: object) -> bool:
    return one is other


NO_USES = Uses()


def uses(accesses: Iterable[Access]) -> Uses:
    """Return accesses as a sequence of leaves."""
    return combine_uses([Uses((), access) for access in accesses])


def combine_uses(parts: Iterable[Uses]) -> Uses:
    """Combine several parts."""
    kept = tuple(part for part in parts if part.count)
    if len(kept) == 1:
        return kept[0]
    return Uses(kept) if kept else NO_USES


class Row:
    """Accesses of a body's statements, or a kernel's results, by range."""

    def __init__(self, length: int, last_first: bool) -> None:
        self._length = length
        self._last_first = last_first
        self._runs: dict[tuple[int, int], Uses] = {}

    def between(self, first: int, end: int, one: Callable[[int], Uses]) -> list[Uses]:
        """Return parts for `first .. end - 1`; `one` returns the accesses of one element."""
        level = 0
        front: list[Uses] = []
        back: list[Uses] = []
        while first < end:
            if first & 1:
                front.append(self._run(level, first, one))
                first += 1
            if end & 1:
                end -= 1
                back.append(self._run(level, end, one))
            level, first, end = level + 1, first >> 1, end >> 1
        found = [*front, *back[::-1]]
        return found[::-1] if self._last_first else found

    def changed(self, at: int) -> None:
        """Drop the cached ranges that contain `at`."""
        for level in range(self._length.bit_length() + 1):
            self._runs.pop((level, at >> level), None)

    def _run(self, level: int, at: int, one: Callable[[int], Uses]) -> Uses:
        """Return the accesses of the aligned range of `2**level` elements number `at`."""
        key = level, at
        found = self._runs.get(key)
        if found is None:
            if not level:
                found = one(at)
            else:
                halves = [self._run(level - 1, 2 * at + k, one) for k in (0, 1)]
                found = combine_uses(halves[::-1] if self._last_first else halves)
            self._runs[key] = found
        return found


@dataclass(slots=True)
class Summary:
    """Writes of the source and uses of the destination by statements."""

    writes: list[Access] = field(default_factory=list)
    uses: Uses = NO_USES

    def use(self, accesses: Iterable[Access]) -> None:
        """Add uses."""
        self.uses = combine_uses([self.uses, uses(accesses)])
