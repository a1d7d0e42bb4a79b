"""A few of the fuzzer's cases of each kind, and that it sees what it looks for."""

import io
import os
import random
import sys
from collections.abc import Callable
from typing import Any

import pytest

from compiler import codes
from compiler.base.errors import SyntaxError_
from compiler.base.spans import Span
from compiler.base.stack import with_deep_stack
from compiler.driver import worker
from compiler.protocol.answering import ANSWERS
from testing import fuzz
from testing.generators import inputs as generate

CASES = 120


@pytest.fixture(autouse=True)
def output(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command line writes bytes, as to a terminal."""
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "utf-8"))


@pytest.mark.parametrize("kind", fuzz.KINDS)
def test_bad_input_gets_an_answer(kind: str) -> None:
    report = fuzz.Report()

    def work() -> None:
        for case in range(CASES):
            fuzz.try_case(kind, case, report)

    with_deep_stack(work)
    assert report.found == []
    assert sum(report.outcomes.values()) == CASES
    assert report.outcomes["ok"] >= CASES // 20, "hardly anything is valid"
    assert report.outcomes["ok"] <= CASES * 3 // 4, "hardly anything is wrong"


def test_a_case_is_made_from_its_number() -> None:
    makers: dict[str, Callable[[random.Random], Any]] = {
        "check": generate.source,
        "protocol": generate.line,
        "run-text": generate.run_text,
        "run-binary": generate.run_binary,
        "prove": generate.problem,
    }
    assert makers.keys() == set(fuzz.KINDS)
    for kind, make in makers.items():
        made = [make(fuzz.seeded(kind, 7)) for _ in range(2)]
        assert made[0] == made[1] != make(fuzz.seeded(kind, 8))


def test_an_internal_error_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Any:
        raise KeyError("n")

    monkeypatch.setitem(ANSWERS, "check", broken)
    report = fuzz.Report()
    fuzz.try_case("check", 0, report)
    assert report.found == [(0, "KeyError: 'n'")]
    assert report.outcomes == {"wrong": 1}


@pytest.mark.parametrize(
    "span",
    [(1, 0, 1, 1), (3, 1, 3, 1), (1, 4, 1, 5), (2, 1, 1, 1), (1, 1, 2, 5), (1, 1, 3, 1)],
)
def test_a_span_outside_of_the_text_is_reported(
    monkeypatch: pytest.MonkeyPatch, span: tuple[int, int, int, int]
) -> None:
    def misplaced(*_: Any) -> Any:
        raise SyntaxError_(codes.syntax.UNEXPECTED, "Here.", Span(*span))

    monkeypatch.setitem(ANSWERS, "check", misplaced)
    answer = worker.answer({"op": "check", "source": "ab\ncd"})
    with pytest.raises(fuzz.Wrong, match="span"):
        fuzz.check_answer(answer, "ab\ncd")


@pytest.mark.parametrize("span", [(1, 1, 1, 3), (1, 3, 1, 4), (1, 1, 2, 3), (2, 3, 2, 3)])
def test_a_span_inside_of_the_text_is_none(span: tuple[int, int, int, int]) -> None:
    fuzz.check_spans({"lines": [{"src": [list(span)]}]}, "ab\ncd")


def test_a_process_that_dies_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """What dies is named with the case it died of, and the others are tried."""

    def deadly(rng: random.Random) -> str:
        if rng.random() == fuzz.seeded("prove", 4).random():
            os._exit(9)
        return "ok"

    monkeypatch.setattr(fuzz, "START", "fork")
    monkeypatch.setitem(fuzz.TRY, "prove", deadly)
    report = fuzz.run_batch("prove", 3, 3)
    assert report.found == [(4, "the process died, status 9")]
    assert report.outcomes == {"ok": 1}
