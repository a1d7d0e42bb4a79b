"""The pool of processes that make sheets of links (`app/sheet_worker.py`), and its errors."""

from __future__ import annotations

import sys
from base64 import b64decode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from app.errors import AppError
from app.failure_messages import STOPS
from app.fair_queue import Busy, TooMany
from app.link_owners import Quotas
from app.metrics import Metrics
from app.paths import HERE, static_folder, template_folder
from app.permalinks import Frozen, Permalinks, now_in_seconds, tell_damaged
from app.pool import (
    AnswerTooLong,
    Client,
    DeadlinePassed,
    MemoryExceeded,
    Pool,
    PoolLimits,
    WorkerDied,
)
from app.version import compiler_version
from app.worker import ATTACHED
from compiler.protocol.kinds import Json
from compiler.sandbox import walls

COMMAND = (sys.executable, "-m", "app.sheet_worker", "--with-parent")
TOLD = ("INPUT_LIMIT",)
"""Settings that a link's page passes to its script."""
LONGEST_MB = 256
"""Limit of all sheets of a link together; larger ones are not made."""
SHEET_SECONDS = 0.1
"""Expected seconds of making one sheet."""
FREEZE_SECONDS = 0.1
"""Expected seconds of making a state."""


def pool_of(config: Mapping[str, Any]) -> Pool:
    """Make a pool of makers, which see the files of workers, templates and style sheets."""
    bounds = PoolLimits(
        queue=config["QUEUE_LIMIT"],
        queue_seconds=config["QUEUE_SECONDS"],
        client_running=config["FORM_WORKERS"],
        client_waiting=config["QUEUE_LIMIT"],
        memory_mb=config["FORM_MEMORY_MB"],
        answer_mb=LONGEST_MB,
        worker_jobs=config["WORKER_JOBS"],
    )
    reads = {str(path) for path in (HERE, static_folder(), template_folder())}
    policy = replace(walls.worker_policy(runs=False), name="make", reads=tuple(sorted(reads)))
    return Pool("form", config["FORM_WORKERS"], COMMAND, bounds, policy)


class Makers:
    """Asks makers for sheets of links."""

    def __init__(
        self, config: Mapping[str, Any], metrics: Metrics, permalinks: Permalinks, renderer: str
    ) -> None:
        self._seconds = float(config["FORM_SECONDS"])
        self._longest = Quotas.of(config).link
        self._metrics = metrics
        self._permalinks = permalinks
        self._shared = config.get("MAKERS")
        self.pool: Pool = self._shared or pool_of(config)
        settings = {name: config[name] for name in TOLD}
        self._known = {
            "op": "make",
            "renderer": renderer,
            "version": compiler_version(),
            "settings": settings,
        }

    def close(self, grace: float = 0.0) -> None:
        """Stop the makers, unless they are shared."""
        if self._shared is None:
            self.pool.close(grace)

    def make(self, link: str, sheets: Sequence[str], client: Client) -> Iterator[Json]:
        """Yield a maker's answers about sheets of a link.

        AppError on failure. AppError where there are none.

        A maker that dies is replaced, and asked once more.
        """
        begun = False
        try:
            for answer in self._answers(link, sheets, client):
                begun = True
                yield answer
        except WorkerDied:
            if begun:
                raise _broken() from None
            try:
                yield from self._answers(link, sheets, client)
            except WorkerDied:
                raise _broken() from None

    def _answers(self, link: str, sheets: Sequence[str], client: Client) -> Iterator[Json]:
        outcome = "stopped"
        request = partial(self._request, link, sheets)
        try:
            for answer in self.pool.stream(
                request, self._seconds, client, SHEET_SECONDS * len(sheets)
            ):
                if not answer.get("ok", True):
                    outcome = "refused"
                    raise _refused(link, answer)
                yield answer
            outcome = "ok"
        except WorkerDied:
            raise
        except (Busy, TooMany):
            outcome = "busy"
            raise busy() from None
        except STOPS as problem:
            raise self._stopped(problem) from None
        finally:
            self._metrics.forms.labels(outcome).inc(len(sheets))

    def _request(self, link: str, sheets: Sequence[str]) -> Json:
        content = self._permalinks.content(link)
        if content is None:
            raise no_link()
        return {**self._known, "name": link, "sheets": list(sheets), ATTACHED: [content]}

    def freeze(self, answers: Json, client: Client) -> Frozen:
        """Make the state of a new link from `states.answers_for`. AppError on failure."""
        made = now_in_seconds()
        told = {"op": "freeze", "version": compiler_version(), "made": made.isoformat()}
        content, last = bytearray(), Json()
        try:
            for last in self.pool.stream(
                {**answers, **told, "most": self._longest}, self._seconds, client, FREEZE_SECONDS
            ):
                content += b64decode(last.get("data", ""))
        except (Busy, TooMany):
            raise busy() from None
        except WorkerDied:
            raise _broken() from None
        except STOPS as problem:
            raise self._stopped(problem) from None
        if not last.get("ok"):
            error = last["error"]
            raise AppError(error["kind"], error["message"], last.get("status", 500), error["hint"])
        return Frozen(last["digest"], told["version"], made, bytes(content))

    def _stopped(self, problem: Exception) -> AppError:
        match problem:
            case DeadlinePassed():
                message = f"This link could not be prepared within {self._seconds:g} s."
                return AppError("timeout", message, 504)
            case MemoryExceeded() | AnswerTooLong():
                return AppError("limitation", "This link is too large to prepare.", 500)
        return AppError("busy", "The server is shutting down.", 503, "Try again in a moment.")


def _refused(link: str, answer: Json) -> AppError:
    if "damaged" in answer:
        tell_damaged(link, answer["damaged"])
        return no_link()
    return AppError("internal", answer["error"]["message"], 500)


def no_link() -> AppError:
    """Make the error for an unknown link."""
    message = "This server has no such link. It may have been made on another server."
    return AppError("usage", message, 404)


def busy() -> AppError:
    """Make the error for too many readers waiting for makers."""
    message = "The server is preparing too many links."
    refusal = AppError("busy", message, 503, "Try again in a moment.")
    refusal.headers["Retry-After"] = "2"
    return refusal


def _broken() -> AppError:
    return AppError("internal", "The process that prepares links ended.", 500)
