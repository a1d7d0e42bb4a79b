"""Dispatch tables: functions registered by the class of their argument."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from compiler.base.errors import CompilerBug

F = TypeVar("F")


def handles(table: dict[type, F], *classes: type) -> Callable[[F], F]:
    """Register a function for some classes. Raises `CompilerBug` where a class already has one."""

    def enter(function: F) -> F:
        for cls in classes:
            if cls in table:
                raise CompilerBug(f"two functions handle {cls.__name__}")
            table[cls] = function
        return function

    return enter
