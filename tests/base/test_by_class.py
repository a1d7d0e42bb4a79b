"""Functions by class: each enters itself, and none takes the place of another."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compiler.base.by_class import handles
from compiler.base.errors import CompilerBug


def test_a_function_is_entered_for_its_classes() -> None:
    table: dict[type, Callable[[object], str]] = {}

    @handles(table, int, float)
    def number(value: object) -> str:
        return f"number {value}"

    assert table == {int: number, float: number}
    assert number(3) == "number 3"


def test_a_class_has_one_function() -> None:
    table: dict[type, Callable[[object], str]] = {}
    handles(table, int)(str)
    with pytest.raises(CompilerBug, match="two functions handle int"):
        handles(table, float, int)(repr)
