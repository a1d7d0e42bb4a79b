"""What a round of the simplifier left as it was is not gone through again in vain."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from compiler.analysis.facts import IntegerFacts
from compiler.base.context import Options
from compiler.driver.pipeline import Compilation
from compiler.ir.nodes import SE
from compiler.optimise.simplify.state import State
from compiler.optimise.simplify.unchanged import Some, Unchanged

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))
STAGES = ("simplified", "fused", "flat")

LOOP = """
def main (n: i64) (xs: [n]i32) (k: i32): i32 =
  loop x = k for i < 100 do
    let y = loop y = x for j < 50 do if y > 7 then y * y - k else y + xs[i % n]
    in if y == 3 then x else y
"""


def texts(source: str) -> list[str]:
    """The stages in which the simplifier has run."""
    work = Compilation(source, Options())
    return [line.text for stage in STAGES for line in work.result(stage).text]


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """A simplifier that goes through everything in each round, and asks everything again."""
    monkeypatch.setattr(Unchanged, "find", lambda self, body: None)
    monkeypatch.setattr(State, "is_undecided", lambda self, exp, limit=0: False)
    return monkeypatch


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_become_what_they_became(path: Path, without: pytest.MonkeyPatch) -> None:
    source = path.read_text()
    plain = texts(source)
    without.undo()
    assert texts(source) == plain


def gone_through(patch: pytest.MonkeyPatch, source: str) -> Counter[str]:
    """How many bodies the rounds of each stage have gone through."""
    found: Counter[str] = Counter()
    stays = State.stays

    def counted(self: State, body: Some, told: tuple[object, ...] = ()) -> bool | None:
        known = stays(self, body, told)
        found[self.ctx.stage] += known is None
        return known

    patch.setattr(State, "stays", counted)
    Compilation(source, Options()).result("flat")
    return found


def test_half_of_two_rounds_are_saved_where_the_first_finds_nothing(
    without: pytest.MonkeyPatch,
) -> None:
    with without.context() as patch:
        plain = gone_through(patch, LOOP)
    without.undo()
    with without.context() as patch:
        found = gone_through(patch, LOOP)
    assert 0 < found["flat"] <= plain["flat"] // 2
    assert found["simplified"] < plain["simplified"]


UNDECIDED = """
def main [n] (xs: [n]i64) (k: i64): [n]i64 =
  map (\\x -> loop y = x for i < k do if y % 7 == xs[y] then i64.min y k else y / 2) xs
"""


def asked(patch: pytest.MonkeyPatch, source: str) -> Counter[str]:
    """How often each stage has asked for the truth of a comparison."""
    found: Counter[str] = Counter()
    stage = [""]
    decide, decided = IntegerFacts.decide, State.decided

    def of_stage(self: State, cond: SE) -> SE | None:
        stage[0] = self.ctx.stage
        return decided(self, cond)

    def counted(self: IntegerFacts, op: str, lhs: SE, rhs: SE) -> bool | None:
        found[stage[0]] += 1
        return decide(self, op, lhs, rhs)

    patch.setattr(State, "decided", of_stage)
    patch.setattr(IntegerFacts, "decide", counted)
    Compilation(source, Options()).result("flat")
    return found


def test_what_two_rounds_have_not_decided_is_not_asked_again(without: pytest.MonkeyPatch) -> None:
    with without.context() as patch:
        plain = asked(patch, UNDECIDED)
    without.undo()
    with without.context() as patch:
        found = asked(patch, UNDECIDED)
    assert found["simplified"] == plain["simplified"] > 0
    assert found["flat"] == 0 < plain["flat"]


MADE_OTHERWISE = """
def main [n] [m] (rows: [n][m]i32): [n]i32 =
  map (\\row -> loop s = 0 for i < m do s * 3 + row[i]) rows
"""


def test_an_array_that_became_a_part_of_another_is_read_there() -> None:
    flat = [line.text for line in Compilation(MADE_OTHERWISE, Options()).result("flat").text]
    reads = [line for line in flat if "rows" in line and "i32) =" in line]
    assert any("[" in line and "," in line.split("=", 1)[1] for line in reads), flat
    assert not any("0:+" in line for line in flat), flat
