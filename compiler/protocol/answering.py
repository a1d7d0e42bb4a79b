"""Find the function that answers an operation; its module is imported on first use.

So a worker loads notebooks, editor or tests of programs only when they are needed.
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
"""Functions that answer operations, by operation id, of the modules imported so far.

A function takes the request, and for streaming also a callback for partial answers.
"""


def answers(
    operation: Operation[R],
) -> Callable[[Callable[Concatenate[R, P], A]], Callable[Concatenate[R, P], A]]:
    """Register a function as the one that answers an operation."""

    def register(function: Callable[Concatenate[R, P], A]) -> Callable[Concatenate[R, P], A]:
        ANSWERS[operation.id] = function
        return function

    return register


def answering(operation: Operation[Any]) -> Callable[..., Any]:
    """Return the function that answers an operation."""
    import_module(operation.answered_in)
    return ANSWERS[operation.id]
