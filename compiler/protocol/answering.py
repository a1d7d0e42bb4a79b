"""Which function answers which operation; its module is imported when that is asked first.

So a worker holds no notebooks, editor or tests of programs before somebody wants them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Concatenate, ParamSpec, TypeVar

from compiler.protocol.kinds import Operation, R

P = ParamSpec("P")
A = TypeVar("A")
Tell = Callable[[Any], None]
ANSWERS: dict[str, Callable[..., Any]] = {}
"""The function that answers each operation, by its id, as far as its module has been imported.

It takes the request; that of one that streams also what is told of the parts of its answer.
"""


def answers(
    operation: Operation[R],
) -> Callable[[Callable[Concatenate[R, P], A]], Callable[Concatenate[R, P], A]]:
    """Make a function the one that answers an operation."""

    def register(function: Callable[Concatenate[R, P], A]) -> Callable[Concatenate[R, P], A]:
        ANSWERS[operation.id] = function
        return function

    return register


def answering(operation: Operation[Any]) -> Callable[..., Any]:
    """The function that answers an operation."""
    import_module(operation.answered_in)
    return ANSWERS[operation.id]
