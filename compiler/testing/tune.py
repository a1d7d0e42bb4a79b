"""The autotuner of the thesis (chapter 7): which thresholds choose the fastest versions.

A tuning tree compares at each branch how parallel a version is with a threshold: `P >= T` takes
that version, else one further down. For one data set, thresholds are tuned from the innermost one
outwards, each while those around it are set such that it is met (procedure 7.1). What a threshold
is compared with divides all its values into intervals, within which a run takes the same versions;
the fastest is found by a binary search (procedures 7.3 and 7.4), and with a single amount that is
one more run (procedure 7.2). Intervals of several data sets are intersected.

Note [Monotonicity]
All this rests on an assumption: a version that is faster than those further down stays so with more
parallelism (definition 7.4.1). Then run times fall and rise again along the intervals, once, and
the intervals of data sets meet (theorem 7.4.1). Where times that were measured do not, or no value
suits all data sets, that is told, and the value that costs least is taken.

Note [Where the thesis is corrected]
The search of procedure 7.3 ends when one interval is left without having looked at it, which may
be the fastest; here it is looked at. What it answers, from `ePar_(best-1) + 1` to
`ePar_(best+1) - 1`, has values that choose another version: `P >= T` holds for `P = ePar_best` and
for no smaller amount with thresholds up to `ePar_best`. And a threshold inside of what another one
takes is never met while that one is infinite.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field

from compiler.base.dataclass import dataclass
from compiler.ir.sizes import HIGH
from compiler.ir.values import Value
from compiler.protocol.storage import Forest, TreeNode

INFINITE = HIGH
"""A threshold that no amount reaches."""
FAR = 2_000_000_000
"""What is written for it, where it is enough: so other tools write it."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The thresholds `low <= T <= high` that choose the same version."""

    low: int = 0
    high: int = INFINITE

    def meet(self, other: Interval) -> Interval | None:
        """The thresholds in both; None if there are none."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Interval(low, high) if low <= high else None

    @property
    def middle(self) -> int:
        """The value that is farthest from both ends; none is far enough from an infinite one."""
        if self.high == INFINITE:
            return max(FAR, self.low) if self.low else 0
        return (self.low + self.high) // 2

    def __contains__(self, value: int) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"[{self.low}, {shown(self.high)}]"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What runs came to: their time, or why they failed; and the amounts that were compared.

    `doubt`: by how much the time may be off.
    """

    time: float
    compared: Mapping[str, Sequence[int]] = field(default_factory=dict)
    failure: str = ""
    doubt: float = 0.0

    def may_be_as(self, other: Outcome) -> bool:
        """Whether one of two different times may be the other."""
        return self.time != other.time and abs(self.time - other.time) < self.doubt + other.doubt


Run = Callable[[int, Mapping[str, int]], Outcome]
"""Runs on a data set, by its number, with thresholds by name; asked again, it knows more."""
_AGAIN = 3
"""So often two runs are repeated of which it is in doubt which takes longer."""


@dataclass(frozen=True, slots=True)
class TuningInput:
    """A test whose input a program is tuned on."""

    name: str
    entry: str
    args: list[Value]


@dataclass(frozen=True, slots=True)
class ThresholdPlace:
    """A threshold with those around it."""

    name: str
    around: tuple[tuple[str, bool], ...]
    """Their names, and whether they are reached where it is."""


def branches(forests: Iterable[Forest]) -> list[ThresholdPlace]:
    """The thresholds of a program, in the order in which they are tuned: inner ones first."""
    found: dict[str, ThresholdPlace] = {}
    for forest in forests:
        for tree in reversed(forest["trees"]):
            for branch in _inner_first(tree, ()):
                found.setdefault(branch.name, branch)
    return list(found.values())


def _inner_first(node: TreeNode, around: tuple[tuple[str, bool], ...]) -> Iterable[ThresholdPlace]:
    name = node.get("threshold", "")
    for key, reached in (("orelse", False), ("then", True), ("body", False)):
        inside = around
        if name:
            inside = (*around, (name, reached))
        for child in reversed(node.get(key, ())):  # type: ignore[call-overload]
            yield from _inner_first(child, inside)
    if name:
        yield ThresholdPlace(name, around)


@dataclass(frozen=True, slots=True)
class Choice:
    """What was found of a threshold on a data set: the best interval, and all that were timed."""

    best: Interval
    times: Mapping[Interval, float]
    violation: str = ""


@dataclass(slots=True)
class Tuned:
    """What tuning has come to; `choices` by threshold, then by number of the data set."""

    values: dict[str, int]
    intervals: dict[str, Interval]
    choices: dict[str, dict[int, Choice]]
    runs: list[int]
    """How many there were on each data set."""
    problems: list[str]


def tune(
    run: Run, order: Sequence[ThresholdPlace], data_sets: Sequence[str], close: float = 0.0
) -> Tuned:
    """The thresholds with which all data sets take their fastest versions (procedure 7.1).

    Times that are `close`, as a part of them, are the same.
    """
    choices: dict[str, dict[int, Choice]] = {branch.name: {} for branch in order}
    problems: list[str] = []
    runs: list[int] = []
    for number, called in enumerate(data_sets):
        one = _OneDataSet(run, number, order, close)
        for name, choice in one.tuned():
            choices[name][number] = choice
            if choice.violation:
                problems.append(f"{name} on {called}: {choice.violation}")
        problems += [f"{called}: {failure}" for failure in one.failures]
        runs.append(one.count)
    values: dict[str, int] = {}
    intervals: dict[str, Interval] = {}
    for branch in order:
        found = choices[branch.name]
        interval, problem = _together(found, data_sets)
        intervals[branch.name] = interval
        values[branch.name] = interval.middle
        if problem:
            problems.append(f"{branch.name}: {problem}")
        if not found:
            del values[branch.name]
    return Tuned(values, intervals, choices, runs, problems)


class _OneDataSet:
    """Tunes all thresholds on one data set."""

    def __init__(
        self, run: Run, number: int, order: Sequence[ThresholdPlace], close: float
    ) -> None:
        self._run = run
        self._number = number
        self._order = order
        self._close = 1 + close
        self._now = {branch.name: INFINITE for branch in order}
        self._known: dict[tuple[int, ...], Outcome] = {}
        self.count = 0
        self.failures: list[str] = []

    def tuned(self) -> Iterable[tuple[str, Choice]]:
        """The choice for each threshold that the data set meets."""
        for branch in self._order:
            before = dict(self._now)
            for name, reached in branch.around:
                self._now[name] = 0 if reached else INFINITE
            compared = self._met(branch.name)
            if compared:
                yield branch.name, self._threshold(branch.name, compared)
            best = self._now[branch.name]
            self._now = {**before, branch.name: best}

    def _met(self, name: str) -> list[int]:
        """The amounts that a threshold is compared with, in order; none if it is not met."""
        found = self._at(name, INFINITE)
        if found.failure:
            self._told(found.failure)
            found = self._at(name, 0)
        return sorted({max(0, amount) for amount in found.compared.get(name, ())})

    def _at(self, name: str, value: int) -> Outcome:
        """A run with one threshold set; one that is known already is not run again."""
        settings = {**self._now, name: value}
        key = tuple(settings.values())
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._run(self._number, settings)
            self.count += 1
        return found

    def _parted(self, name: str, value: int, other: int) -> Outcome:
        """A run with one threshold set, and again until it is known how it compares."""
        found, against = self._at(name, value), self._at(name, other)
        for _ in range(_AGAIN):
            if not found.may_be_as(against):
                break
            for one in (value, other):
                del self._known[tuple({**self._now, name: one}.values())]
            found, against = self._at(name, value), self._at(name, other)
        return found

    def _told(self, failure: str) -> None:
        if failure not in self.failures:
            self.failures.append(failure)

    def _threshold(self, name: str, amounts: list[int]) -> Choice:
        """The best interval (procedure 7.3): by the first k amounts the version is not taken."""
        values = [*amounts, INFINITE]
        times: dict[int, float] = {}

        def time(k: int, against: int) -> float:
            found = self._parted(name, values[k], values[against])
            if found.failure:
                self._told(found.failure)
            times[k] = math.inf if found.failure else found.time
            return times[k]

        best = _lowest(time, len(amounts), self._close)
        self._now[name] = values[best]
        seen = {_interval(values, k): times[k] for k in sorted(times)}
        return Choice(_interval(values, best), seen, _violation(values, times, self._close))


def _interval(values: Sequence[int], k: int) -> Interval:
    """The thresholds that take the version for `values[k]` and above, and for nothing below."""
    return Interval(values[k - 1] + 1 if k else 0, values[k])


def _lowest(time: Callable[[int, int], float], last: int, close: float) -> int:
    """Where the times of `0 .. last` are lowest, which fall and then rise (procedures 7.3, 7.4).

    `time` answers that of one that is compared with that of another. Of equal ones it is the last:
    where nothing is won, nothing is chosen for it.
    """

    def less(one: int, other: int, by: float = 1.0) -> bool:
        return time(one, other) * by < time(other, one)

    best = 0 if less(0, last, close) else last
    low, high = 0, last
    while low <= high:
        middle = (low + high) // 2
        if less(last, middle):
            low = middle + 1
            continue
        if less(0, middle):
            high = middle - 1
            continue
        after = min(middle + 1, last)
        ahead = less(middle, after)
        here = middle if ahead else after
        if less(here, best, close):
            best = here
        low, high = (low, middle - 1) if ahead else (middle + 2, high)
    return best


def _violation(values: Sequence[int], times: Mapping[int, float], close: float) -> str:
    """How times speak against the assumption; "" if they do not: see Note [Monotonicity]."""
    seen = sorted(times)
    lowest = min(seen, key=lambda k: times[k])
    for one, other in itertools.pairwise(seen):
        rising = other <= lowest
        near, far = (other, one) if rising else (one, other)
        if times[near] > times[far] * close:
            faster, slower = values[far], values[near]
            return (
                "more parallelism does not stay the better choice: a run with the threshold"
                f" {shown(faster)} takes less time than one with {shown(slower)}, and one with"
                f" {shown(values[lowest])} less than both"
            )
    return ""


def shown(value: int) -> str:
    """A threshold as text."""
    return "infinite" if value == INFINITE else str(value)


def _together(found: Mapping[int, Choice], data_sets: Sequence[str]) -> tuple[Interval, str]:
    """What suits all data sets, and what is wrong where nothing does."""
    interval = Interval()
    for number, choice in found.items():
        both = interval.meet(choice.best)
        if both is None:
            against = [data_sets[k] for k, one in found.items() if not one.best.meet(choice.best)]
            least = _least_loss(found)
            return least, (
                f"no value suits all data sets: {data_sets[number]} needs one in {choice.best}, and"
                f" {' and '.join(against)} one in {interval}; {least.middle} costs least"
            )
        interval = both
    return interval, ""


def _least_loss(found: Mapping[int, Choice]) -> Interval:
    """The interval with which data sets take the least more than their best time, in parts."""
    ends = sorted({choice.best.low for choice in found.values()})

    def loss(low: int) -> float:
        total = 0.0
        for choice in found.values():
            if low in choice.best:
                continue
            best = choice.times[choice.best]
            here = [time for interval, time in choice.times.items() if low in interval]
            total += max(here, default=2 * best) / best - 1 if 0 < best < math.inf else 0.0
        return total

    low = min(ends, key=loss)
    highs = [c.best.high for c in found.values() if low in c.best]
    return Interval(low, min(highs))
