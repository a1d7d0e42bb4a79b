"""The autotuner of the thesis (chapter 7): find thresholds that choose the fastest versions.

A tuning tree compares the parallelism of a version at each branch with a threshold: `P >= T` takes
that version, else one further down. For one data set, thresholds are tuned from the innermost one
outwards, with the enclosing ones set so that it is reached (procedure 7.1). The amounts that a
threshold is compared with divide its values into intervals, within which a run takes the same
versions; the fastest is found by a binary search (procedures 7.3 and 7.4), and with a single amount
that is one more run (procedure 7.2). Intervals of several data sets are intersected.

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
"""Written for it where it suffices, as other tools do."""


@dataclass(frozen=True, slots=True)
class Interval:
    """The thresholds `low <= T <= high`, which choose the same version."""

    low: int = 0
    high: int = INFINITE

    def meet(self, other: Interval) -> Interval | None:
        """Intersect intervals; None if they are disjoint."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Interval(low, high) if low <= high else None

    @property
    def middle(self) -> int:
        """Return the value farthest from both ends, or a far one if the interval is infinite."""
        if self.high == INFINITE:
            return max(FAR, self.low) if self.low else 0
        return (self.low + self.high) // 2

    def __contains__(self, value: int) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        return f"[{self.low}, {shown(self.high)}]"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of runs: time, compared amounts, failure.

    `doubt`: the uncertainty of the time.
    """

    time: float
    compared: Mapping[str, Sequence[int]] = field(default_factory=dict)
    failure: str = ""
    doubt: float = 0.0

    def may_be_as(self, other: Outcome) -> bool:
        """Return True if the order of two times is uncertain."""
        return self.time != other.time and abs(self.time - other.time) < self.doubt + other.doubt


Run = Callable[[int, Mapping[str, int]], Outcome]
"""Runs a data set, by number, under thresholds; repeated calls reduce the uncertainty."""
_AGAIN = 3
"""Repetitions of two runs whose order is uncertain."""


@dataclass(frozen=True, slots=True)
class TuningInput:
    """A test whose input a program is tuned on."""

    name: str
    entry: str
    args: list[Value]


@dataclass(frozen=True, slots=True)
class ThresholdPlace:
    """A threshold with its enclosing ones."""

    name: str
    around: tuple[tuple[str, bool], ...]
    """Names of enclosing thresholds; True where it lies on the side that is taken."""


def branches(forests: Iterable[Forest]) -> list[ThresholdPlace]:
    """Return the thresholds of a program in tuning order: inner ones first."""
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
    """The tuning of a threshold on a data set: the best interval, and all times."""

    best: Interval
    times: Mapping[Interval, float]
    violation: str = ""


@dataclass(slots=True)
class Tuned:
    """The result of tuning; `choices` by threshold, then by number of the data set."""

    values: dict[str, int]
    intervals: dict[str, Interval]
    choices: dict[str, dict[int, Choice]]
    runs: list[int]
    """Number of runs on each data set."""
    problems: list[str]


def tune(
    run: Run, order: Sequence[ThresholdPlace], data_sets: Sequence[str], close: float = 0.0
) -> Tuned:
    """Return thresholds with which all data sets take their fastest versions (procedure 7.1).

    Times with a relative difference below `close` count as equal.
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
        """Yield the choice for each threshold that the data set reaches."""
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
        """Return the sorted amounts that a threshold is compared with; [] if it is not reached."""
        found = self._at(name, INFINITE)
        if found.failure:
            self._told(found.failure)
            found = self._at(name, 0)
        return sorted({max(0, amount) for amount in found.compared.get(name, ())})

    def _at(self, name: str, value: int) -> Outcome:
        """Run with one threshold set; results are cached."""
        settings = {**self._now, name: value}
        key = tuple(settings.values())
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._run(self._number, settings)
            self.count += 1
        return found

    def _parted(self, name: str, value: int, other: int) -> Outcome:
        """Run with one threshold set, repeatedly until it compares reliably."""
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
        """Return the best interval (procedure 7.3): the first k amounts do not take the version."""
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
    """Return the thresholds that take the version for `values[k]` and above only."""
    return Interval(values[k - 1] + 1 if k else 0, values[k])


def _lowest(time: Callable[[int, int], float], last: int, close: float) -> int:
    """Return the minimum of unimodal times of `0 ..

    last` (procedures 7.3, 7.4). last` are lowest, which fall and then rise (procedures 7.3, 7.4).

    `time(k, other)` measures `k` for a comparison with `other`. Among equal ones return the last:
    without a gain the version is not taken.
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
    """Describe how times violate the assumption, or return "": see Note [Monotonicity]."""
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
    """Format a threshold."""
    return "infinite" if value == INFINITE else str(value)


def _together(found: Mapping[int, Choice], data_sets: Sequence[str]) -> tuple[Interval, str]:
    """Return the interval for all data sets, and the conflict if there is none."""
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
    """Return the interval with the least total slowdown relative to each best time."""
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
