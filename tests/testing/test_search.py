"""The search without trees: it finds what there is to find, and runs no versions twice."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from compiler.testing.tune import Outcome, branches, tune
from testing.search import Search
from testing.tuning_trees import random_tree


def test_it_finds_the_fastest_version_of_one_threshold() -> None:
    def run(_: int, values: Mapping[str, int]) -> Outcome:
        return Outcome(1.0 if values["t"] <= 4096 else 3.0, {"t": [4096]})

    for seed in range(5):
        found = Search(run, ["t"], 1, seed).go_on(50)
        assert found.time == 1.0
        assert found.values["t"] <= 4096
        assert found.runs <= 3


@pytest.mark.parametrize("seed", range(12))
def test_what_it_answers_takes_as_long_as_it_says(seed: int) -> None:
    made = random_tree(seed, varies=True)
    names = [branch.name for branch in branches(made.forest())]
    found = Search(made.run, names, len(made.data_sets), seed).go_on(300)
    times = [made.run(number, found.values).time for number in range(len(made.data_sets))]
    assert found.time == pytest.approx(sum(times))
    assert [time for _, time in found.history] == sorted(
        (time for _, time in found.history), reverse=True
    )
    best = sum(made.best(number) for number in range(len(made.data_sets)))
    assert found.time >= best * (1 - 1e-9)


def test_it_is_worse_somewhere_than_the_tuner_with_as_many_runs() -> None:
    behind = 0
    for seed in range(30):
        made = random_tree(seed, varies=True)
        order = branches(made.forest())
        tuned = tune(made.run, order, [str(k) for k in range(len(made.data_sets))])
        best = sum(made.best(number) for number in range(len(made.data_sets)))
        names = [branch.name for branch in order]
        search = Search(made.run, names, len(made.data_sets), seed)
        behind += search.go_on(sum(tuned.runs)).time > best * 1.01
    assert 0 < behind < 30
