"""The outcome of a run, its results or its failure, and whether two failures are of one kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from compiler.base.errors import RuntimeError_, TimeoutError_
from compiler.runtime.runner import Crash

Outcome = list[Any] | RuntimeError_
LIMITS = ("memory", "bytes", "did not finish", "processor time")
"""Words of errors that depend on what a run may use."""


def outcome(run: Callable[[], list[Any]]) -> Outcome:
    """The results of a run, or how it fails as a program may; what else it raises goes on."""
    try:
        return run()
    except Crash:
        raise
    except RuntimeError_ as error:
        return error


def is_limit(found: Outcome) -> bool:
    """Return True if a run ended because of a limit of memory or time."""
    if not isinstance(found, RuntimeError_):
        return False
    return isinstance(found, TimeoutError_) or any(word in found.message for word in LIMITS)


def kind(failure: RuntimeError_) -> str:
    """Return the kind of a failure: its cause, or the first word of its message (never a number).

    Of several points that fail, or several checks of one, each back end may come to another first.
    """
    return failure.cause or failure.message.replace(":", " ").split(" ", 1)[0].lower()
