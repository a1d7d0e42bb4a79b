"""Messages for jobs that did not finish."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.errors import AppError, failure
from app.pool import (
    AnswerTooLong,
    Busy,
    ClientGone,
    DeadlinePassed,
    MemoryExceeded,
    Stopping,
    WorkerDied,
)
from compiler.protocol.kinds import Json

STOPS = (
    Busy,
    Stopping,
    DeadlinePassed,
    MemoryExceeded,
    AnswerTooLong,
    ClientGone,
    WorkerDied,
)
UNAVAILABLE = ("busy", "gone")
"""Kinds of errors that say nothing about the program."""
PASSING = (*UNAVAILABLE, "timeout", "internal")
"""Kinds of errors that may not recur for the same request."""


def why(problem: Exception, what: str, config: Mapping[str, Any]) -> Json:
    """Return the error shape for one of STOPS; `what` is `run` or `compile`."""
    again = "Try smaller inputs" if what == "run" else "Try a smaller program"
    match problem:
        case Busy():
            return failure(
                "busy",
                "Every worker is busy and the queue is full.",
                "Try again in a moment.",
                position=problem.position,
            )
        case Stopping():
            return failure("busy", "The server is shutting down.", "Try again in a moment.")
        case DeadlinePassed():
            took = f"The {what} took longer than {problem.seconds:g} s and was stopped"
            if problem.hurried:
                return failure(
                    "timeout",
                    f"{took}: its time was limited because others were waiting.",
                    f"{again}, or try again when fewer people use the server.",
                )
            loop = ", or look for a loop that does not end" if what == "run" else ""
            return failure("timeout", f"{took}.", f"{again}{loop}.")
        case MemoryExceeded():
            return failure(
                "runtime" if what == "run" else "limitation",
                f"The {what} needed more than {config['WORKER_MEMORY_MB']} MB of memory "
                "and was stopped.",
                f"{again}.",
            )
        case AnswerTooLong():
            return failure(
                "limitation",
                f"The answer is longer than the {config['ANSWER_MB']} MB that this "
                "server can send.",
                f"{again}, or use the command line.",
            )
        case ClientGone():
            return failure("gone", f"Nobody was waiting for the {what} any more.")
        case WorkerDied():
            return failure(
                "internal",
                f"The compiler's process ended (status {problem.code}) before it answered.",
                "This is a defect of Stridescope. A new process has been started: try again.",
            )
    raise problem


def with_wait(answer: Json, seconds: float) -> Json:
    """Add to a timeout how long the job had waited before it began."""
    error = answer.get("error") or {}
    if error.get("kind") != "timeout" or seconds < 1.0:
        return answer
    waited = f"It had waited {seconds:.0f} s in the queue before that."
    return {**answer, "error": {**error, "hint": f"{error.get('hint', '')} {waited}".strip()}}


def too_many(config: Mapping[str, Any]) -> AppError:
    """Make the error for a client with too many jobs."""
    running, waiting = config["CLIENT_RUNNING"], config["CLIENT_WAITING"]
    return AppError(
        "busy",
        f"Your page has as many jobs as it may have at a time: {running} running, "
        f"{waiting} waiting.",
        429,
        "Try again when one of them has ended.",
    )
