"""Search for thresholds without knowing their trees, by several techniques that share results.

So OpenTuner goes about it, which the thesis compares its autotuner with: a bandit gives the next
try to the technique that has led to new bests, weighing late ones more and rarely used ones too.
Here they are random values, mutations of the best one, halving and doubling of one value, and
differences of earlier ones. What takes the same versions as an earlier try is not run again.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from compiler.testing.tune import Outcome, Run

MOST = 1 << 31
"""Values are from 0 to this; their logarithms are what is drawn and changed."""
WINDOW = 50
"""So many tries, the latest ones, count for a technique."""
CURIOSITY = 0.1
"""The weight of a technique's being rarely used."""
KEPT = 12
"""Tries that differences are taken of."""
IDLE = 200
"""So many tries that need no run end the search."""

Thresholds = dict[str, int]


@dataclass(slots=True)
class Found:
    """The best thresholds so far, the time of all data sets with them, and the number of runs."""

    values: Thresholds
    time: float
    runs: int
    history: list[tuple[int, float]] = field(default_factory=list)
    """After how many runs which time was the best."""

    def until(self, time: float) -> int | None:
        """After how many runs a time was reached; None: never."""
        return next((runs for runs, found in self.history if found <= time), None)


class Search:
    """The search for one program; a `seed` makes it the same again."""

    def __init__(self, run: Run, names: Sequence[str], data_sets: int, seed: int) -> None:
        self._run = run
        self._names = names
        self._sets = range(data_sets)
        self._rng = random.Random(seed)
        self._known: list[dict[tuple[object, ...], float]] = [{} for _ in self._sets]
        self._amounts: list[dict[str, set[int]]] = [{} for _ in self._sets]
        self._best: list[tuple[float, Thresholds]] = []
        self._used: list[tuple[int, bool]] = []
        self._techniques: tuple[Callable[[], Thresholds], ...] = (
            self._random, self._mutated, self._doubled, self._difference,
        )  # fmt: skip
        self.found = Found({}, math.inf, 0)

    def go_on(self, most: int, wanted: float = 0.0) -> Found:
        """Search until there were so many runs, or the time is no longer than that."""
        idle = 0
        while self.found.runs < most and self.found.time > wanted and idle < IDLE:
            number, before = self._next(), self.found.runs
            better = self._try(self._techniques[number]())
            self._used.append((number, better))
            idle = idle + 1 if self.found.runs == before else 0
        return self.found

    # --- techniques ---

    def _next(self) -> int:
        """The technique with the highest score: late successes count more than early ones."""
        latest = self._used[-WINDOW:]
        scores = []
        for number in range(len(self._techniques)):
            mine = [better for used, better in latest if used == number]
            if not mine:
                return number
            area = sum(k * better for k, better in enumerate(mine, 1))
            rare = math.sqrt(2 * math.log2(len(latest)) / len(mine)) if len(latest) > 1 else 0
            scores.append(2 * area / (len(mine) * (len(mine) + 1)) + CURIOSITY * rare)
        return max(range(len(scores)), key=scores.__getitem__)

    def _value(self, logarithm: float) -> int:
        return int(min(MOST, 2 ** max(0.0, min(31.0, logarithm)))) if logarithm > 0 else 0

    def _log(self, value: int) -> float:
        return math.log2(value) if value > 0 else 0.0

    def _random(self) -> Thresholds:
        return {name: self._value(self._rng.uniform(0, 31)) for name in self._names}

    def _mutated(self) -> Thresholds:
        """The best with some values moved, most of them a little."""
        return {
            name: self._value(self._log(value) + self._rng.gauss(0, 4))
            if self._rng.random() < 0.3
            else value
            for name, value in self._center().items()
        }

    def _doubled(self) -> Thresholds:
        """The best with one value halved or doubled some times."""
        values = dict(self._center())
        name = self._rng.choice(list(self._names))
        step = self._rng.choice((-1, 1)) * 2 ** self._rng.randint(0, 4)
        values[name] = self._value(self._log(values[name]) + step)
        return values

    def _difference(self) -> Thresholds:
        """One try moved by the difference of two others (differential evolution)."""
        if len(self._best) < 3:
            return self._random()
        base, one, other = (values for _, values in self._rng.sample(self._best, 3))
        return {
            name: self._value(
                self._log(base[name]) + 0.8 * (self._log(one[name]) - self._log(other[name]))
            )
            if self._rng.random() < 0.9
            else base[name]
            for name in self._names
        }

    def _center(self) -> Thresholds:
        return self._best[0][1] if self._best else self._random()

    # --- runs ---

    def _try(self, values: Thresholds) -> bool:
        """Measure thresholds; return True if they are better than all before."""
        time = math.fsum(self._time(number, values) for number in self._sets)
        self._best = sorted([*self._best, (time, values)], key=lambda one: one[0])[:KEPT]
        if time < self.found.time:
            self.found.time, self.found.values = time, values
            self.found.history.append((self.found.runs, time))
            return True
        return False

    def _time(self, number: int, values: Mapping[str, int]) -> float:
        """The time on a data set, of an earlier run where that took the same versions."""
        known = self._known[number].get(self._taken(number, values))
        if known is not None:
            return known
        outcome: Outcome = self._run(number, values)
        self.found.runs += 1
        for name, amounts in outcome.compared.items():
            self._amounts[number].setdefault(name, set()).update(amounts)
        time = math.inf if outcome.failure else outcome.time
        self._known[number][self._taken(number, values)] = time
        return time

    def _taken(self, number: int, values: Mapping[str, int]) -> tuple[object, ...]:
        """Return the versions taken, as far as the amounts compared with thresholds are known."""
        seen = self._amounts[number]
        return tuple(
            (name, tuple(amount >= values[name] for amount in sorted(seen[name])))
            for name in sorted(seen)
        )
