"""Trace NOOVERLAP of the thesis (procedure 3.5), corrected, step by step; for display only.

Writes two LMADs as sums of strided intervals with the same strides, largest first, and divides the
offset by the strides. Where a stride is not larger than the reach of all later ones, the next
dimension is split into its last value and the others. The sets are disjoint if one pair of
intervals is.

The printed procedure splits another dimension than it tests, and never splits the second set.
Extensions: dimensions that are 0 in both sets are removed, a quotient whose sign is known as a
whole is not decomposed into terms, and a split assumes at least one value, else there is nothing to
show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from compiler.algebra.divide import divide
from compiler.algebra.facts import Facts
from compiler.algebra.inequality import Prover
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.algebra.problem import difference
from compiler.base.dataclass import dataclass

MOST_SPLITS = 8
"""Maximum depth of splits."""
MOST_CASES = 64
"""Maximum number of pairs after splitting."""
WORK = 1500
"""Maximum number of inequalities attempted."""

ZERO, ONE = Poly.const(0), Poly.const(1)
Says = tuple[str | Poly, ...]
Rule = Literal["normalise", "match", "distribute", "split", "apart"]


@dataclass(frozen=True, slots=True)
class Strided:
    """`[low, high] * stride`."""

    stride: Poly
    low: Poly
    high: Poly


@dataclass(frozen=True, slots=True)
class Intervals:
    """A sum of strided intervals (3.6.2): `offset + [low, high] * stride + ..`."""

    offset: Poly
    intervals: tuple[Strided, ...]


Pair = tuple[Intervals, Intervals]


@dataclass(frozen=True, slots=True)
class Asked:
    """A claim `>= 0`, and whether it was proved."""

    claim: Poly
    shown: bool


@dataclass(frozen=True, slots=True)
class Traced:
    """One step with both sums after it; `parts` are the cases of a split.

    `asked` are the inequalities that it rests on; for a split and a `failed` step, those that could
    not be proved.
    """

    rule: Rule
    says: Says
    first: Intervals
    second: Intervals
    asked: tuple[Asked, ...] = ()
    parts: tuple[tuple[Traced, ...], ...] = ()
    failed: bool = False


class _Stop(Exception):
    """A step is impossible, with the reason."""

    def __init__(self, *says: str | Poly) -> None:
        super().__init__(says)
        self.says = says


def no_overlap(
    first: Lmad[Poly], second: Lmad[Poly], facts: Facts
) -> tuple[bool, tuple[Traced, ...]]:
    """Run the procedure; returns whether it proves two LMADs disjoint, and its steps."""
    _, known = difference(first, second, facts)
    return _Procedure().of(first, second, Prover(known, work=WORK))


class _Procedure:
    """The procedure for one pair."""

    def __init__(self) -> None:
        self._cases = 0
        self._asked: list[Asked] = []

    def of(
        self, first: Lmad[Poly], second: Lmad[Poly], prover: Prover
    ) -> tuple[bool, tuple[Traced, ...]]:
        """Steps 1 to 6."""
        left, right = _as_written(first, prover.facts), _as_written(second, prover.facts)
        try:
            left, right = self._normalised(left, prover), self._normalised(right, prover)
        except _Stop as stop:
            return False, (self._step("normalise", stop.says, left, right, failed=True),)
        said = ("Strides are positive, and every dimension is an interval from 0.",)
        begun = self._step("normalise", said, left, right)
        try:
            left, right = self._matched(left, right, prover)
        except _Stop as stop:
            return False, (begun, self._step("match", stop.says, left, right, failed=True))
        said = ("Both have the same strides, the largest first.",)
        matched = self._step("match", said, left, right)
        shown, rest = self._compare(left, right, prover, 0)
        return shown, (begun, matched, *rest)

    def _compare(
        self, left: Intervals, right: Intervals, prover: Prover, depth: int
    ) -> tuple[bool, tuple[Traced, ...]]:
        """Steps 4 to 6 for sums of the same strides."""
        self._cases += 1
        before = left, right
        try:
            left, right = self._distributed(left, right, prover)
        except _Stop as stop:
            return False, (self._step("distribute", stop.says, *before, failed=True),)
        steps: tuple[Traced, ...] = ()
        if (left, right) != before:
            said: Says = ("The offset is a part of the intervals.",)
            steps = (self._step("distribute", said, left, right),)
        for side in (0, 1):
            overlapping = self._self_overlap((left, right)[side], prover)
            if overlapping is not None:
                shown, split = self._split((left, right), side, overlapping, prover, depth)
                return shown, (*steps, split)
        shown, last = self._apart(left, right, prover)
        return shown, (*steps, last)

    def _step(
        self,
        rule: Rule,
        says: Says,
        first: Intervals,
        second: Intervals,
        parts: tuple[tuple[Traced, ...], ...] = (),
        failed: bool = False,
    ) -> Traced:
        """Record a step with the inequalities it rests on, or failed at, since the last one."""
        wanted = not (failed or rule == "split")
        asked = tuple(dict.fromkeys(one for one in self._asked if one.shown is wanted))
        self._asked = []
        return Traced(rule, says, first, second, asked, parts, failed)

    def _holds(self, prover: Prover, claim: Poly) -> bool:
        shown = prover.nonnegative(claim) is not None
        if prover.facts.normal(claim).constant is None:
            self._asked.append(Asked(prover.facts.normal(claim), shown))
        return shown

    def _normalised(self, one: Intervals, prover: Prover) -> Intervals:
        """Make strides not negative and add dimensions of equal stride."""
        offset = one.offset
        found: dict[Poly, Strided] = {}
        for dim in one.intervals:
            stride, high = dim.stride, dim.high
            if not stride.terms or not high.terms:
                continue
            if not self._holds(prover, stride):
                if not self._holds(prover, -stride):
                    raise _Stop("It is not known whether the stride ", stride, " is positive.")
                offset, stride = offset + high * stride, -stride
            if stride in found:
                high = high + found[stride].high
            found[stride] = Strided(stride, ZERO, high)
        return Intervals(offset, self._in_order(list(found.values()), prover))

    def _in_order(self, intervals: Sequence[Strided], prover: Prover) -> tuple[Strided, ...]:
        """Sort by stride, largest first."""
        found: list[Strided] = []
        for one in intervals:
            for at, other in enumerate(found):
                if self._holds(prover, one.stride - other.stride):
                    found.insert(at, one)
                    break
                if not self._holds(prover, other.stride - one.stride):
                    raise _Stop(
                        "It is not known which stride is larger, ",
                        *(one.stride, " or ", other.stride, "."),
                    )
            else:
                found.append(one)
        return tuple(found)

    def _matched(self, left: Intervals, right: Intervals, prover: Prover) -> Pair:
        """Give both sums the strides of both, and stride 1; a missing interval is `[0, 0]`."""
        strides = dict.fromkeys(d.stride for d in (*left.intervals, *right.intervals))
        strides[ONE] = None
        order = self._in_order([Strided(stride, ZERO, ZERO) for stride in strides], prover)
        sums = []
        for one in (left, right):
            own = {dim.stride: dim for dim in one.intervals}
            sums.append(replace(one, intervals=tuple(own.get(d.stride, d) for d in order)))
        return sums[0], sums[1]

    def _distributed(self, left: Intervals, right: Intervals, prover: Prover) -> Pair:
        """Distribute the offset difference; negative parts go to the second sum."""
        sides = left.intervals, right.intervals
        rest = left.offset - right.offset
        if rest.terms and self._holds(prover, -rest) and not self._holds(prover, rest):
            rest, sides = -rest, (sides[1], sides[0])
            turned = True
        else:
            turned = False
        ours, theirs = list(sides[0]), list(sides[1])
        for at, dim in enumerate(ours):
            if not rest.terms:
                break
            quotient, remainder = divide(rest, dim.stride)
            shares = self._shares(quotient, prover)
            if shares is None:
                if dim.stride == ONE:
                    raise _Stop("It is not known whether ", quotient, " is positive or negative.")
                continue
            more, less = shares
            ours[at] = _raised(dim, more)
            theirs[at] = _raised(theirs[at], less)
            rest = remainder
        both = [
            (mine, other)
            for mine, other in zip(ours, theirs, strict=True)
            if mine.high.terms or other.high.terms or mine.stride == ONE
        ]
        first, second = (Intervals(ZERO, tuple(pair[side] for pair in both)) for side in (0, 1))
        return (second, first) if turned else (first, second)

    def _shares(self, quotient: Poly, prover: Prover) -> tuple[Poly, Poly] | None:
        """Split a quotient into positive and negative part; None if a term's sign is unknown."""
        if self._holds(prover, quotient):
            return quotient, ZERO
        if self._holds(prover, -quotient):
            return ZERO, -quotient
        more, less = ZERO, ZERO
        for monomial, coefficient in quotient.in_order():
            term = Poly({monomial: coefficient})
            if self._holds(prover, term):
                more = more + term
            elif self._holds(prover, -term):
                less = less - term
            else:
                return None
        return more, less

    def _self_overlap(self, one: Intervals, prover: Prover) -> int | None:
        """Return the first dimension whose stride may not exceed the reach of later ones."""
        for at, dim in enumerate(one.intervals[:-1]):
            reach = ZERO
            for other in one.intervals[at + 1 :]:
                reach = reach + other.high * other.stride
            if not self._holds(prover, dim.stride - reach - 1):
                return at
        return None

    def _split(
        self, sums: Pair, side: int, at: int, prover: Prover, depth: int
    ) -> tuple[bool, Traced]:
        """Split a dimension after `at` into its last value and the others, and compare both."""
        one = sums[side]
        name = ("first", "second")[side]
        stride = one.intervals[at].stride
        overlaps: Says = (f"In the {name} set the stride ", stride, " may not pass later ones")
        later = range(at + 1, len(one.intervals))
        which = next((k for k in later if one.intervals[k].high != one.intervals[k].low), None)
        if which is None or depth >= MOST_SPLITS or self._cases >= MOST_CASES:
            why = ", which have one value each." if which is None else ": split too often."
            return False, self._step("split", (*overlaps, why), *sums, failed=True)
        dim = one.intervals[which]
        last = (*one.intervals[:which], Strided(dim.stride, ZERO, ZERO))
        others = (*one.intervals[:which], Strided(dim.stride, dim.low, dim.high - 1))
        rest = one.intervals[which + 1 :]
        says: Says = (*overlaps, ": its dimension of stride ", dim.stride, " is split.")
        step = self._step("split", says, *sums)
        left_over = Prover(prover.facts.with_bounds(dim.high - 1 - dim.low), prover)
        shown, parts = True, []
        for part, facts in (
            (Intervals(dim.high * dim.stride, (*last, *rest)), prover),
            (Intervals(ZERO, (*others, *rest)), left_over),
        ):
            pair = (part, sums[1]) if side == 0 else (sums[0], part)
            found, steps = self._compare(*pair, facts, depth + 1)
            parts.append(steps)
            shown = shown and found
            if not shown:
                break
        return shown, replace(step, parts=tuple(parts), failed=not shown)

    def _apart(self, left: Intervals, right: Intervals, prover: Prover) -> tuple[bool, Traced]:
        """Apply theorem 3.6.2: find one pair of intervals that do not meet."""
        for mine, other in zip(left.intervals, right.intervals, strict=True):
            for low, high in ((other.low, mine.high), (mine.low, other.high)):
                if self._holds(prover, low - high - 1):
                    says: Says = ("Those of stride ", mine.stride, " do not meet.")
                    return True, self._step("apart", says, left, right)
        return False, self._step(
            "apart", ("Intervals of no stride are known not to meet.",), left, right, failed=True
        )


def _as_written(lmad: Lmad[Poly], facts: Facts) -> Intervals:
    """Convert an LMAD to a sum of intervals (figure 3.8), in its order and with its signs."""
    dims = [
        Strided(facts.normal(dim.stride), ZERO, facts.normal(dim.size) - 1) for dim in lmad.dims
    ]
    return Intervals(facts.normal(lmad.offset), tuple(dims))


def _raised(dim: Strided, by: Poly) -> Strided:
    return Strided(dim.stride, dim.low + by, dim.high + by) if by.terms else dim
