"""The autotuner on trees that are made up: the optimum, in as many runs as the thesis says."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping

import pytest

from compiler.testing.tune import (
    FAR,
    INFINITE,
    Interval,
    Outcome,
    ThresholdPlace,
    Tuned,
    _lowest,
    branches,
    tune,
)
from testing.tuning_trees import Simulated, random_tree

TREES = range(60)


def tuned(made: Simulated) -> Tuned:
    return tune(made.run, branches(made.forest()), [f"d{k}" for k in range(len(made.data_sets))])


@pytest.mark.parametrize("varies", [False, True])
def test_while_the_assumption_holds_every_data_set_takes_its_fastest_versions(
    varies: bool,
) -> None:
    for seed in TREES:
        made = random_tree(seed, varies)
        found = tuned(made)
        assert not found.problems
        usual = dict.fromkeys((branch.name for branch in branches(made.forest())), INFINITE)
        for number in range(len(made.data_sets)):
            time = made.run(number, {**usual, **found.values}).time
            assert time == pytest.approx(made.best(number), rel=1e-9), seed


def test_if_amounts_do_not_vary_there_is_a_run_for_each_threshold_and_one_more() -> None:
    """Procedures 7.1 and 7.2. A threshold inside of what another one takes begins anew."""
    seen = 0
    for seed in TREES:
        made = random_tree(seed, False)
        order = branches(made.forest())
        inside = sum(any(reached for _, reached in branch.around) for branch in order)
        found = tuned(made)
        for runs in found.runs:
            assert runs <= 1 + len(order) + inside + (inside > 0)
            if not inside:
                assert runs == 1 + len(order)
                seen += 1
    assert seen > 20


def test_if_amounts_vary_runs_grow_with_their_logarithm() -> None:
    """Procedure 7.3: no more than two for each halving, and both ends."""
    for seed in TREES:
        made = random_tree(seed, True)
        order = branches(made.forest())
        inside = sum(any(reached for _, reached in branch.around) for branch in order)
        found = tuned(made)
        for runs, steps in zip(found.runs, made.data_sets, strict=True):
            amounts = [len({step[branch.name] for step in steps}) for branch in order]
            most = sum(2 * math.ceil(math.log2(m + 1)) + 2 for m in amounts)
            assert runs <= 1 + most + inside


def test_the_search_looks_at_the_last_interval_that_is_left() -> None:
    """The procedure as it is printed ends at 6 here, and 5 is the fastest."""
    times = [20.0, 20.0, 15.0, 12.0, 10.0, 5.0, 8.0, 13.0]
    assert _lowest(lambda k, _: times[k], 7, 1.0) == 5


@pytest.mark.parametrize("last", [1, 2, 3, 7, 8, 33, 64])
def test_the_search_finds_the_lowest_of_times_that_fall_and_rise(last: int) -> None:
    rng = random.Random(last)
    for _ in range(50):
        lowest = rng.randrange(last + 1)
        falling = sorted((rng.uniform(1, 9) for _ in range(lowest + 1)), reverse=True)
        times = falling + sorted(rng.uniform(falling[-1], 9) for _ in range(last - lowest))
        seen = set()

        def time(k: int, _: int, times: list[float] = times, seen: set[int] = seen) -> float:
            seen.add(k)
            return times[k]

        assert times[_lowest(time, last, 1.0)] == min(times)
        assert len(seen) <= 2 * math.ceil(math.log2(last + 1)) + 2


ONE = [ThresholdPlace("t", ())]


def simple(*sets: tuple[int, float, float]) -> Tuned:
    """Data sets with an amount, and times with the version and without it."""

    def run(number: int, thresholds: Mapping[str, int]) -> Outcome:
        amount, taken, other = sets[number]
        return Outcome(taken if amount >= thresholds["t"] else other, {"t": [amount]})

    return tune(run, ONE, [f"d{k}" for k in range(len(sets))])


def test_intervals_of_data_sets_are_intersected() -> None:
    """Those of the thesis: (10, infinite) and [0, 100]."""
    found = simple((10, 2.0, 1.0), (100, 1.0, 2.0))
    assert found.intervals["t"] == Interval(11, 100)
    assert found.values["t"] in found.intervals["t"]
    assert not found.problems


def test_what_no_value_suits_is_told_with_the_data_sets() -> None:
    """The version is faster for 10 and slower for 100: less is lost with an infinite threshold."""
    found = simple((10, 1.0, 1.1), (100, 5.0, 1.0))
    (problem,) = found.problems
    assert problem.startswith("t: no value suits all data sets: d1 needs one in [101, infinite]")
    assert "d0" in problem
    assert found.values["t"] == FAR
    assert simple((10, 1.0, 5.0), (100, 1.1, 1.0)).values["t"] <= 10


def test_times_that_fall_twice_are_told() -> None:
    """The version wins for small amounts and for large ones, and loses in between."""
    wins = [3, 3, 3, -4, -4, -4, 1, 1, 1]

    def run(_: int, thresholds: Mapping[str, int]) -> Outcome:
        won = sum(win for amount, win in enumerate(wins) if amount >= thresholds["t"])
        return Outcome(20.0 - won, {"t": list(range(len(wins)))})

    (problem,) = tune(run, ONE, ["d"]).problems
    assert problem.startswith("t on d: more parallelism does not stay the better choice")


def test_a_version_that_fails_is_not_chosen() -> None:
    def run(_: int, thresholds: Mapping[str, int]) -> Outcome:
        if thresholds["t"] <= 50:
            return Outcome(math.inf, {}, "Out of memory.")
        return Outcome(1.0, {"t": [50]})

    found = tune(run, ONE, ["d"])
    assert found.intervals["t"] == Interval(51, INFINITE)
    assert found.problems == ["d: Out of memory."]


def test_where_the_last_version_fails_the_first_is_found() -> None:
    def run(_: int, thresholds: Mapping[str, int]) -> Outcome:
        if thresholds["t"] > 50:
            return Outcome(math.inf, {}, "Out of memory.")
        return Outcome(1.0, {"t": [50]})

    assert tune(run, ONE, ["d"]).intervals["t"] == Interval(0, 50)


def test_a_data_set_that_fails_in_every_version_leaves_thresholds_as_they_are() -> None:
    found = tune(lambda *_: Outcome(math.inf, {}, "It fails."), ONE, ["d"])
    assert found.values == {}
    assert found.problems == ["d: It fails."]


def test_runs_are_repeated_until_it_is_known_which_takes_longer() -> None:
    asked: list[int] = []

    def run(_: int, thresholds: Mapping[str, int]) -> Outcome:
        asked.append(thresholds["t"])
        taken = thresholds["t"] <= 5
        return Outcome(1.0 if taken else 1.1, {"t": [5]}, doubt=1.0 / len(asked))

    found = tune(run, ONE, ["d"])
    assert found.intervals["t"] == Interval(0, 5)
    assert 2 < len(asked) == found.runs[0] < 40


def test_where_the_assumption_is_broken_that_is_told() -> None:
    """Not always: what was not run may be faster, and nobody knows."""
    broken, told = 0, 0
    for seed in range(60):
        made = random_tree(seed, False, True)
        if not all(branch.rising for branch in made.tree.branches()):
            broken, told = broken + 1, told + bool(tuned(made).problems)
    assert broken > 30
    assert told > broken // 4
