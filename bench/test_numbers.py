"""Test the measurements of `bench.numbers`, and that the document shows them."""

from __future__ import annotations

import pytest

from bench import numbers
from compiler.base.context import Options
from testing import numbers as every
from testing.numbers import Function


def test_the_document_shows_what_was_measured() -> None:
    text = numbers.DOCUMENT.read_text()
    assert numbers.filled(text, numbers.load()) == text


def test_a_few_numbers_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numbers, "COUNT", 1 << 11)
    monkeypatch.setattr(numbers, "EXACTLY", 4)
    monkeypatch.setattr(every, "functions", lambda: [Function("exp", 1)])
    found = numbers.measured("f64", {"c": Options(target="c")}, "interpreter")
    assert found["c f64"]["exp"]["units"] < 0.78
    assert found["interpreter f64"]["exp"]["units"] < 0.78
