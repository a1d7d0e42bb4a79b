"""The thesis' procedure against counting out, and its own example step by step."""

from __future__ import annotations

import json
import random
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from compiler.__main__ import main
from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.no_overlap import Traced, no_overlap
from compiler.algebra.poly import Poly
from compiler.algebra.second_opinion import ask_z3
from compiler.base.errors import UsageError
from compiler.driver.three_ways import three_ways
from compiler.protocol.polynomials import shown_sum
from compiler.protocol.proofs import NoOverlapAnswer, NoOverlapRequest
from testing import problems
from testing.codes import by_the_thesis, codes, twins
from testing.forgeries import FAMILIES, random_lmad

PAIRS = json.loads((Path(__file__).parents[2] / "testing" / "pairs.json").read_text())
WAVEFRONT = {
    "assumptions": {"equalities": ["n = q*b + 1"], "other": ["q > 1", "b > 1", "i >= 1"]},
    "a": "i*b + n + 1 + {(i + 1 : n*b - b), (b : n), (b : 1)}",
    "b": "i*b + {(i + 1 : n*b - b), (b + 1 : n)}",
}


def asked(problem: Any) -> NoOverlapAnswer:
    known = {name: problem[name] for name in ("assumptions", "a", "b")}
    return three_ways(NoOverlapRequest(**known))


def test_the_example_of_the_text_takes_its_steps() -> None:
    """3.6.3, whose four pairs of sums come of splitting both sets once; n is `q*b + 1` here."""
    found = asked(WAVEFRONT)
    assert found["thesis"]["disjoint"]
    assert found["ours"]["verdict"] == "disjoint"
    distributed = found["thesis"]["steps"][2]
    assert shown_sum(distributed["a"]) == "[0, i]*b**2*q + [1, b]*(b*q + 1) + [1, b]*1"
    assert shown_sum(distributed["b"]) == "[0, i]*b**2*q + [0, b]*(b*q + 1) + [0, 0]*1"
    split = found["thesis"]["steps"][3]
    assert [step["rule"] for step in found["thesis"]["steps"]] == [
        "normalise", "match", "distribute", "split",
    ]  # fmt: skip
    first, second = split["parts"]
    assert shown_sum(first[0]["a"]) == "[1, i + 1]*b**2*q + [0, 0]*(b*q + 1) + [b + 1, 2*b]*1"
    ends = [case[-1] for part in (first, second) for case in part[-1]["parts"]]
    assert len(ends) == 4
    assert all(end["rule"] == "apart" and not end["failed"] for end in ends)
    assert "stride b*q + 1" in "".join(
        part if isinstance(part, str) else "b*q + 1" for part in ends[2]["says"]
    )


def leaves(steps: tuple[Traced, ...]) -> list[Traced]:
    last = steps[-1]
    return [one for part in last.parts for one in leaves(part)] if last.parts else [last]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_meets_is_never_called_disjoint(family: str) -> None:
    """Random pairs over n, m >= 1 and 0 <= i < n, counted out for small values."""
    rng = random.Random(5)
    n, m, i = map(Poly.var, "nmi")
    facts = Facts.of((n - 1, m - 1, i, n - i - 1), names="nmi")
    proved = meeting = 0
    for _ in range(250):
        first, second = random_lmad(rng, family), random_lmad(rng, family)
        shown, steps = no_overlap(first, second, facts)
        assert shown == all(not end.failed for end in leaves(steps))
        grid = [
            {"n": x, "m": y, "i": z} for x in range(1, 7) for y in range(1, 7) for z in range(x)
        ]
        meet = any(
            set(first.evaluate(point).points()) & set(second.evaluate(point).points())
            for point in grid
        )
        assert not (shown and meet), (str(first), str(second))
        proved, meeting = proved + shown, meeting + meet
    assert proved > 5
    assert meeting > 5


def test_numbers_that_meet_are_never_called_disjoint() -> None:
    rng = random.Random(8)
    proved = apart = 0
    for _ in range(1500):
        numbers = [
            Lmad(
                rng.randint(0, 40),
                tuple(
                    Dim(rng.randint(1, 5), rng.choice([-9, -4, -1, 1, 2, 3, 5, 8, 12]))
                    for _ in range(rng.randint(0, 3))
                ),
            )
            for _ in range(2)
        ]
        first, second = (
            Lmad(
                Poly.const(one.offset),
                tuple(Dim(Poly.const(d.size), Poly.const(d.stride)) for d in one.dims),
            )
            for one in numbers
        )
        shown, _ = no_overlap(first, second, Facts(()))
        disjoint = not set(numbers[0].points()) & set(numbers[1].points())
        assert disjoint or not shown, (str(first), str(second))
        proved, apart = proved + shown, apart + disjoint
    assert proved > 0.3 * apart


def test_pairs_of_programs_and_codes_that_meet_are_never_called_disjoint() -> None:
    rng = random.Random(2)
    pairs = [{**group, **pair} for group in PAIRS for pair in group["pairs"]]
    wrong = [one["name"] for one in pairs if one["verdict"] == "overlap" and by_the_thesis(one)]
    assert wrong == []
    proved = meeting = 0
    for code in rng.sample(codes(), 60):
        proved += by_the_thesis(code.problem)
        for twin in twins(code, rng, 2):
            if problems.meeting(twin.problem, draw=(rng, 40)) is None:
                continue
            with suppress(UsageError):  # a divisor may have lost its sign
                assert not by_the_thesis(twin.problem), twin.problem
                meeting += 1
    assert proved > 30
    assert meeting > 10


def test_z3_is_asked_of_the_same_pair_and_believed_only_with_a_cell() -> None:
    n = Poly.var("n")
    facts = Facts.of((n - 1,))
    row = Lmad(Poly.const(0), (Dim(n, Poly.const(1)),))
    assert ask_z3(row, Lmad(n, row.dims), facts, 3).verdict == "disjoint"
    found = ask_z3(row, Lmad(n - 1, row.dims), facts, 3)
    assert found.verdict == "overlap"
    assert found.says.startswith("Both hold cell")
    late = asked(WAVEFRONT)["z3"]
    assert late["verdict"] in ("unknown", "disjoint")
    assert late["ms"] > 0


def test_what_stops_it_is_named() -> None:
    problem = {"assumptions": {"other": ["n >= 1", "m >= 1"]}, "a": "{(3 : n)}", "b": "{(2 : m)}"}
    found = asked(problem)["thesis"]
    assert not found["disjoint"]
    assert found["because"][0] == "It is not known which stride is larger, "
    assert (
        found["steps"][-1]["missing"] == [[[1, "n"], [-1, "m"]], [[1, "m"], [-1, "n"]]]
        or (found["steps"][-1]["missing"])
    )


def test_splitting_ends() -> None:
    """Each split takes one value off: a row of a hundred is not taken apart."""
    problem = {"assumptions": {}, "a": "{(2 : 10), (100 : 1)}", "b": "500 + {(2 : 10), (100 : 1)}"}
    found = asked(problem)["thesis"]
    assert not found["disjoint"]
    assert "split too often" in "".join(p for p in found["because"] if isinstance(p, str))


def test_the_command_prints_all_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "pair.json"
    rows = {"assumptions": {"other": ["n >= 1"]}, "a": "{(2 : n), (n : 1)}", "b": "2*n + {(n : 1)}"}
    file.write_text(json.dumps(rows))
    assert main(["prove", "--no-overlap", str(file)]) == 0
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in said[:3]] == [
        ["NOOVERLAP", "disjoint"],
        ["Stridescope", "disjoint"],
        ["Z3", "disjoint"],
    ]
    assert "distribute: The offset is a part of the intervals." in said
    assert main(["prove", "--no-overlap", "--json", str(file)]) == 0
    assert json.loads(capsys.readouterr().out)["thesis"]["disjoint"]
