"""Learn what a walk over a program meets: counters and their extents, arrays, and memory."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.algebra.limits import LARGEST_INPUT
from compiler.algebra.poly import MOST_UNFOLDED, Poly
from compiler.analysis.collect_facts import LARGEST, NOUGHT, ScopedRanges
from compiler.analysis.ranges import EVERYWHERE, Span
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.ir.nodes import SE

_INPUT: Span = (0, LARGEST_INPUT)
_LARGEST_INPUT = Poly.const(LARGEST_INPUT)


class WalkFacts(ScopedRanges):
    """Bounds of what a program counts with, and of the sizes of what exists."""

    __slots__ = ()

    def index(self, name: Name, extent: Poly) -> None:
        """Record `0 <= name < extent`, at every depth."""
        self.tell(self._index, name, extent)

    def _index(self, name: Name, extent: Poly) -> None:
        self._noted = []
        size = self.exact(extent)
        source = self._source("index", (name, size, "i64"))
        self.bound(name, NOUGHT, size - 1, 0, EVERYWHERE, source)

    def runs(self, extent: Poly, depth: int | None = None) -> None:
        """Record `extent >= 1` inside a body that runs `extent` times."""
        self.tell(self._runs, extent, depth)

    def _runs(self, extent: Poly, depth: int | None) -> None:
        depth = self.depth if depth is None else depth
        self._noted = []
        self._entered(self.exact(extent.put_in(self._equal, MOST_UNFOLDED), depth), "i64", depth)

    def _entered(self, trips: Poly, prim: Prim, depth: int) -> None:
        """Learn `trips >= 1`, and the alternatives of conditions that this decides."""
        self._learn_gap(trips - 1, depth, self._source("runs", (trips, prim)))
        names = set(trips.names())
        for name in trips.names() & self._wrapped.keys():
            # A value that is not 0 has operands that are not 0.
            names |= self._wrapped[name][0].names()
        refuted: set[SE] = set()  # most alternatives share their first condition: emptiness
        for name in names:
            for lhs, rhs, since in self._alternatives.get(name, ()):
                if since > depth or rhs in self._truths:
                    continue
                if lhs in refuted or self._refuted(lhs, depth):
                    refuted.add(lhs)
                    self._learn(rhs, True, depth, lhs)
        for name in names:
            case = self._cases.get(name)
            if case is not None and self._name_span(name, depth)[0] > 0:
                self._positive(name, depth)

    def counts(self, name: Name, start: SE, step: SE, width: Poly) -> None:
        """Record that a name is `start + step * i` for some `0 <= i < width`."""
        self.tell(self._counts, name, start, step, width)

    def _counts(self, name: Name, start: SE, step: SE, width: Poly) -> None:
        self._noted = []
        first, by, last = self.poly(start), self.poly(step).constant, self.exact(width) - 1
        if by is not None and by >= 0 and self.fits(first + by * last):
            self._noted.append((first + by * last, "i64", EVERYWHERE))
            source = self._source("between", (name, first, first + by * last, "i64"))
            self.bound(name, first, first + by * last, 0, EVERYWHERE, source)

    def counter(self, name: Name, prim: Prim, bound: SE) -> None:
        """Record `0 <= name < bound` for a loop index, at every depth."""
        self.tell(self._counter, name, prim, bound)

    def _counter(self, name: Name, prim: Prim, bound: SE) -> None:
        if prim != "i64":
            self._typed(name, prim)
        self._noted = []
        trips = self.value(bound, prim)
        source = self._source("index", (name, trips, prim))
        self.bound(name, NOUGHT, trips - 1, 0, EVERYWHERE, source)
        self._entered(trips, prim, self.depth)

    def array(self, shape: Sequence[Poly], depth: int | None = None) -> None:
        """Record that an array of this shape exists; see Note [Sizes of arrays]."""
        if shape[0].constant is None:
            self.tell(self._array, shape, depth)

    def _array(self, shape: Sequence[Poly], depth: int | None) -> None:
        size = shape[0]
        known = self.bounds.get(size.as_name or "", ())
        if any(b.low is NOUGHT and b.high is LARGEST for b in known):
            return
        depth = self.depth if depth is None else depth
        self._noted = []
        value = self.exact(size.put_in(self._equal, MOST_UNFOLDED), depth)
        self._is_sized(value, depth)

    def given(self, shape: Sequence[Poly]) -> None:
        """Record that an array of this shape is an input.

        Its sizes have been compared without wrapping, and it is in memory.
        """
        self.tell(self._given, shape)

    def _given(self, shape: Sequence[Poly]) -> None:
        self._noted = []
        for size in (*shape, Poly.product(shape)):
            name = size.as_name
            source = self._source("input", (size,))
            if name is None:
                self._learn_span(size, _INPUT, 0, source)
            else:
                self.bound(name, NOUGHT, _LARGEST_INPUT, 0, None, source)

    def in_memory(self, count: Poly) -> None:
        """Record that a block of `count` elements is in memory, so its size did not wrap."""
        self.tell(self._in_memory, count)

    def _in_memory(self, count: Poly) -> None:
        self._noted = []
        whole = count.put_in(self._equal, MOST_UNFOLDED)
        if count.as_name is None and self.fits(whole):
            self._noted.append((whole, "i64", EVERYWHERE))
            self._is_sized(whole, self.depth)
        else:
            self._is_sized(count, self.depth, "block")
