"""What statements touch, as trees whose parts many attempts share.

An attempt asks for what all statements between two others touch, but for few of them. A body's
statements, and a kernel's results, are put together two by two, then those: any run of them is a
few such parts. What is found out of a part is kept there, its covers and its cells as they look
from outside of the body, and is made again only for parts that something has changed in.
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
"""Among more accesses than so many, none is looked for that is there twice."""


class Uses:
    """Accesses in some order: one, or those of several parts."""

    __slots__ = ("_covers", "_left", "_unknown", "access", "count", "origin", "parts")

    def __init__(
        self,
        parts: tuple[Uses, ...] = (),
        access: Access | None = None,
        origin: Access | None = None,
    ) -> None:
        """`origin`: the access as it is further inside, in one iteration or thread."""
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
        """The accesses as they are seen from outside the body, which `leave` says of one.

        A part is in one body: it is asked once.
        """
        if self._left is None:
            if self.access is not None:
                self._left = Uses((), leave(self.access), self.access)
            else:
                self._left = Uses(tuple([part.left(leave) for part in self.parts]))
        return self._left

    def covers(self, is_size: IsSize) -> Sequence[Cover[Uses]]:
        """Covers of those whose cells are known.

        `is_size`: whether a number is not negative, wherever in the function.
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
        """Those of which nothing is known."""
        if self._unknown is None:
            if self.access is None:
                self._unknown = tuple(one for part in self.parts for one in part.unknown())
            else:
                self._unknown = (self,) if self.access.lmad is None else ()
        return self._unknown

    def unlike(self, cells: Lmad[Poly] | None) -> Uses:
        """Those that do not touch just these cells."""
        if self.access is not None:
            return NO_USES if self.access.lmad == cells else self
        kept = tuple(part.unlike(cells) for part in self.parts)
        return self if all(map(_is, kept, self.parts)) else together(kept)

    def once(self) -> Uses:
        """Each of few accesses once."""
        if self.count > _MANY:
            return self
        found = unique(self)
        return self if len(found) == self.count else uses(found)


def _is(one: object, other: object) -> bool:
    return one is other


NO_USES = Uses()


def uses(accesses: Iterable[Access]) -> Uses:
    """Accesses one by one."""
    return together([Uses((), access) for access in accesses])


def together(parts: Iterable[Uses]) -> Uses:
    """Several as one."""
    kept = tuple(part for part in parts if part.count)
    if len(kept) == 1:
        return kept[0]
    return Uses(kept) if kept else NO_USES


class Row:
    """What each statement of a body, or each result of a kernel, touches, and runs of them."""

    def __init__(self, length: int, last_first: bool) -> None:
        self._length = length
        self._last_first = last_first
        self._runs: dict[tuple[int, int], Uses] = {}

    def between(self, first: int, end: int, one: Callable[[int], Uses]) -> list[Uses]:
        """Parts for `first .. end - 1`; `one` answers what one of them touches."""
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
        """Something else is touched there."""
        for level in range(self._length.bit_length() + 1):
            self._runs.pop((level, at >> level), None)

    def _run(self, level: int, at: int, one: Callable[[int], Uses]) -> Uses:
        """What `2**level` of them touch, from `at` times as many on."""
        key = level, at
        found = self._runs.get(key)
        if found is None:
            if not level:
                found = one(at)
            else:
                halves = [self._run(level - 1, 2 * at + k, one) for k in (0, 1)]
                found = together(halves[::-1] if self._last_first else halves)
            self._runs[key] = found
        return found


@dataclass(slots=True)
class Summary:
    """What statements write of the source and touch of the destination."""

    writes: list[Access] = field(default_factory=list)
    uses: Uses = NO_USES

    def use(self, accesses: Iterable[Access]) -> None:
        """Add what is touched."""
        self.uses = together([self.uses, uses(accesses)])
