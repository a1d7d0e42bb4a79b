"""Questions about LMADs from outside: types, sizes, and an answer in bounded time."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from compiler.algebra import notation
from compiler.algebra.notation import Reader, facts_of
from compiler.base.errors import UsageError
from compiler.driver import explanations, worker
from compiler.protocol.proofs import CellsRequest

LMAD = {"offset": "n", "dims": [["n", "1"]]}


def asked(assumptions: Any, first: Any = LMAD, second: Any = LMAD) -> dict[str, Any]:
    request = {"op": "prove", "assumptions": assumptions, "a": first, "b": second}
    cells = {"op": "cells", "assumptions": assumptions, "lmads": [first, second], "values": {}}
    for one in (request, cells):
        answer = worker.answer(one)
        if not answer["ok"]:
            assert answer["error"]["kind"] == "runtime", answer["error"]["message"]
            assert answer["error"]["message"]
    return worker.answer(request)


@pytest.mark.parametrize(
    "assumptions",
    [
        [],
        "n",
        1,
        {"nothing": []},
        {"nonnegative": "n"},
        {"nonnegative": {}},
        {"nonnegative": 1},
        {"nonnegative": [[[]]]},
        {"nonnegative": [None]},
        {"equalities": [1]},
        {"equalities": ["n"]},
        {"equalities": {}},
        {"upper_bounds_exclusive": []},
        {"upper_bounds_exclusive": {"n": [1]}},
        {"upper_bounds_exclusive": {"": "1"}},
        {"lower_bounds_exclusive": 7},
        {"lower_bounds_exclusive": {"n": None}},
        {"other": [[]]},
        {"other": [1]},
        {"other": "n < 1"},
        {"other": ["n"]},
        {"nonnegative": ["n"] * 501},
        {"nonnegative": ["n" * 5000]},
        {"other": ["n < 1e5"]},
        {"other": ["n < 1 \0"]},
    ],
)
def test_assumptions_have_types(assumptions: Any) -> None:
    assert not asked(assumptions)["ok"]


@pytest.mark.parametrize(
    "lmad",
    [None, 1, [], {}, {"dims": {}}, {"dims": [1]}, {"dims": [[1]]}, {"dims": [[1, 2, 3]]},
     {"dims": [[["n"], 1]]}, {"offset": [[]], "dims": []}, {"dims": [[1, 1]] * 17}, "{",
     "n + {(n)}", "{(n : 1}", "x" * 100_000, {"offset": 10**200, "dims": []},
     {"offset": True, "dims": []}],
)  # fmt: skip
def test_an_lmad_has_its_form(lmad: Any) -> None:
    assert not asked({}, lmad)["ok"]


@pytest.mark.parametrize("absent", [None, {}, {"other": None, "nonnegative": None}])
def test_what_is_not_assumed_can_be_left_out(absent: Any) -> None:
    assert asked(absent)["ok"]


@pytest.mark.parametrize(
    "text",
    [
        "((((a+b+c+d)**16)**16)**16)",
        "(a+b+c+d+e)**16",
        "a**17",
        "(a**16)**2",
        "9" * 80,
        "9" * 4000,
        "0x" + "f" * 3000,
        "2**16**16",
        "1 // 0",
        "n/2",
        "f(n)",
        "n +",
        "(" * 1000 + "n" + ")" * 1000,
    ],
)
def test_a_polynomial_is_of_a_size_that_can_be_worked_with(text: str) -> None:
    with pytest.raises(UsageError):
        Reader().poly(text)


@pytest.mark.parametrize(
    "equalities",
    [
        ["a = b**16", "b = c**16", "c = d**16"],
        [f"x{k} = (x{k + 1} + y{k})**3" for k in range(12)],
        [f"x{k} = x{(k + 1) % 9}**4 * x{(k + 2) % 9}" for k in range(9)],
    ],
)
def test_equalities_that_grow_in_each_other_are_refused(equalities: list[str]) -> None:
    with pytest.raises(UsageError, match="too large"):
        facts_of(Reader(), {"equalities": equalities})


def test_values_that_grow_in_each_other_are_left() -> None:
    names = "abcdefgh"
    powers = [f"{x} > {y}**8 + 9" for x, y in pairwise(names)]
    facts = facts_of(Reader(), {"other": [*powers, "h > 9"]})
    assert all(abs(value) <= 1 << 256 for point in facts.points for value in point.values())


def test_a_quotient_of_itself_has_no_picture() -> None:
    with pytest.raises(UsageError, match="by that quotient"):
        explanations.cells(
            CellsRequest(
                assumptions={"equalities": ["n = n//b + 1"]}, lmads=[{"offset": "n", "dims": []}]
            )
        )


def test_the_time_for_a_question_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: Any) -> Any:
        while True:
            pass

    monkeypatch.setattr(explanations, "LONGEST_PROOF", 0.05)
    monkeypatch.setattr(explanations, "decide", endless)
    answer = worker.answer({"op": "prove", "a": LMAD, "b": LMAD})
    assert answer["error"]["kind"] == "timeout"
    assert "The proof did not finish" in answer["error"]["message"]


def test_the_document_names_the_bounds() -> None:
    text = " ".join((Path(__file__).parents[2] / "docs" / "proving.md").read_text().split())
    assert f"at most {notation.MOST_TERMS} terms of degree {notation.MOST_DEGREE}" in text
    assert f"numbers of {notation.MOST_BITS} bits" in text
    assert f"at most {notation.MOST_DIMS} dimensions" in text
    assert f"at most {notation.MOST_ASSUMPTIONS} assumptions" in text


def test_a_long_chain_of_bounds_has_points() -> None:
    names = [f"x{k}" for k in range(60)]
    chain = [f"{low} <= {high}" for low, high in pairwise(names)]
    facts = facts_of(Reader(), {"other": [*chain[::-1], "3 < x0", "q*b <= n", "n < q*b + b"]})
    assert facts.points
    for point in facts.points:
        assert all(bound.evaluate(point) >= 0 for bound in facts.bounds)


def test_answers_can_be_asked_about_again() -> None:
    """`docs/proving.md`: the data of an answer stands wherever text does."""
    a, b = "2*b*i - 1 + {(n : 1)}", "n//b + {(n : 1)}"
    known = {"nonnegative": ["i", "b - 1"], "other": ["n >= 1"]}
    first = asked(known, a, b)
    assert first["a"]["offset"] == [[2, "b", "i"], [-1]]
    assert first["b"]["offset"] == [[1, {"op": "//", "of": [[[1, "n"]], [[1, "b"]]]}]]
    data = {"nonnegative": [[[1, "i"]], [[1, "b"], [-1]], [[1, "n"], [-1]]]}
    second = asked(data, first["a"], first["b"])
    assert {**first, "ms": 0} == {**second, "ms": 0}
