"""What the server can ask the compiler: requests checked, queued, answered, cached, counted."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.cache import AnswerCache, cache_key
from app.door import refuse_unsafe
from app.errors import AppError, status_of
from app.metrics import Metrics
from app.pool import (
    Bounds,
    Client,
    Pool,
    TooMany,
    collect,
)
from app.stops import PASSING, STOPS, UNAVAILABLE, too_many, why
from compiler.sandbox import walls

Answer = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Op:
    """An operation of the worker protocol that the page may use."""

    name: str
    help: str
    fields: tuple[str, ...]
    """Fields beside `source`; those ending in `?` may be left out."""
    runs: bool = False
    """Whether it executes the user's program: other workers, another deadline."""
    cached: bool = True
    """Whether the same request gets the same answer again."""
    program: bool = True
    """Whether it is about a program, the field `source`."""
    share: float = 1.0
    """What part of a whole compile it takes, roughly."""


OPS: dict[str, Op] = {
    op.name: op
    for op in (
        Op(
            "check",
            "Parse and type-check: entry points, warnings, errors.",
            ("options?",),
            share=0.15,
        ),
        Op("show", "Compile: stages as text lines, counts, remarks.", ("stages?", "options?")),
        Op(
            "memory",
            "Blocks and arrays; an array's cells, or a kernel's, for given sizes.",
            ("stage", "array?", "kernel?", "values?", "options?"),
        ),
        Op(
            "lifetimes",
            "Which blocks and arrays are needed where, and how many bytes that is.",
            ("stage", "values?", "options?"),
        ),
        Op(
            "interference",
            "Which blocks are needed at the same time, and which can share memory.",
            ("stage?", "options?"),
        ),
        Op(
            "attempts",
            "Attempts to build arrays in their places, and what had to be proved.",
            ("options?",),
        ),
        Op(
            "prove",
            "Whether two LMADs ever share a cell, under assumptions.",
            ("assumptions?", "a", "b"),
            program=False,
            share=0.0,
        ),
        Op(
            "cells",
            "The cells of LMADs for values of their names.",
            ("assumptions?", "lmads", "values?"),
            program=False,
            share=0.0,
        ),
        Op("tuning", "The tree of code versions under their thresholds.", ("options?",)),
        Op(
            "generate",
            "Inputs for an entry point, from sizes and a seed.",
            ("entry", "sizes?", "seed?", "options?"),
        ),
        Op(
            "run",
            "Run an entry point on one back end.",
            ("entry?", "input?", "sizes?", "seed?", "backend?", "stage?", "options?"),
            runs=True,
            cached=False,
        ),
        Op(
            "validity",
            "Run every stage on one input and compare the results.",
            ("entry?", "input?", "sizes?", "seed?", "options?"),
            runs=True,
        ),
    )
}

TYPES: dict[str, tuple[type, ...]] = {
    "source": (str,),
    "entry": (str,),
    "input": (str,),
    "backend": (str,),
    "stage": (str,),
    "array": (str,),
    "kernel": (str,),
    "stages": (list,),
    "options": (dict,),
    "values": (dict,),
    "assumptions": (dict,),
    "a": (str, dict),
    "b": (str, dict),
    "lmads": (list,),
    "sizes": (dict,),
    "seed": (int,),
}


CHARACTER_SECONDS = 80e-6
"""What compiling takes for each character of a program, see `docs/figures.md`."""


class Jobs:
    """Sends operations to the worker pools."""

    def __init__(self, config: Mapping[str, Any], metrics: Metrics) -> None:
        self._config = config
        self._metrics = metrics
        self._cache = AnswerCache(int(config["CACHE_MB"]) << 20)
        self._manifest: list[dict[str, Any]] | None = None
        self.compile_pool = self._pool("compile")
        self.run_pool = self._pool("run")
        metrics.watch(self.compile_pool, self.run_pool)

    def of(self, client: Client) -> ClientJobs:
        """The jobs of one client."""
        return ClientJobs(self, client)

    def manifest(self) -> list[Answer]:
        """The pipeline's stages: id, title, explain, kind, in order. Asked for once."""
        if self._manifest is None:
            given = self._config.get("MANIFEST")
            self._manifest = list(given) if given is not None else self._ask_manifest()
        return self._manifest

    def _ask_manifest(self) -> list[Answer]:
        answer = collect(self._guarded(OPS["check"], {"op": "manifest"}, Client("the server")))
        if not answer.get("ok"):
            error = answer.get("error", {})
            raise AppError(error.get("kind", "internal"), error.get("message", ""), 503)
        return list(answer["stages"])

    def _pool(self, name: str) -> Pool:
        config, kind = self._config, name.upper()
        bounds = Bounds(
            queue=config["QUEUE_LIMIT"],
            queue_seconds=config["QUEUE_SECONDS"],
            client_running=config["CLIENT_RUNNING"],
            client_waiting=config["CLIENT_WAITING"],
            memory_mb=config["WORKER_MEMORY_MB"],
            answer_mb=config["ANSWER_MB"],
            worker_jobs=config["WORKER_JOBS"],
            hurry_seconds=config[f"{kind}_SECONDS_SHARED"],
        )
        policy = walls.worker_policy(runs=name == "run")
        return Pool(name, config[f"{kind}_WORKERS"], config["WORKER_COMMAND"], bounds, policy)

    def warm(self) -> None:
        """Start all workers, in the background."""
        self.compile_pool.warm()
        self.run_pool.warm()

    def close(self, grace: float = 0.0) -> None:
        """Take no jobs any more; stop workers that have none, and all after `grace` seconds."""
        pools = (self.compile_pool, self.run_pool)
        closing = [threading.Thread(target=pool.close, args=(grace,)) for pool in pools]
        for one in closing:
            one.start()
        for one in closing:
            one.join()

    def stream(self, name: str, body: Answer, client: Client) -> Iterator[Answer]:
        """As `ClientJobs.stream`."""
        op = OPS[name]
        request = self._request(op, body)
        key = cache_key(request)
        known = self._cache.get(key) if op.cached else None
        if known is not None:
            yield known
            return
        if op.runs:
            request["deadline"] = float(self._config["RUN_SECONDS"])
        if name == "show":
            request["stream"] = True
        began = time.perf_counter()
        last: Answer = {}
        stages: dict[str, Any] = {}
        for last in self._guarded(op, request, client):
            if name == "show":
                fresh = {k: v for k, v in (last.get("stages") or {}).items() if k not in stages}
                stages.update(fresh)
                last = {**last, "stages": fresh}
            yield last
        outcome = "ok" if last.get("ok") else str(last.get("error", {}).get("kind", "internal"))
        self._metrics.job(name, outcome, time.perf_counter() - began)
        whole = {**last, "stages": stages} if name == "show" else last
        if outcome not in PASSING:
            self._cache.keep(key, whole)

    def _guarded(self, op: Op, request: Answer, client: Client) -> Iterator[Answer]:
        """The pool's answers, with failures of the machinery as answers in the error shape."""
        pool = self.run_pool if op.runs else self.compile_pool
        seconds = float(self._config["COMPILE_SECONDS"])
        if op.runs:
            # A back end compiles first, and stops the program by itself at the deadline.
            own = 0.0 if request.get("backend") == "ref" else seconds
            seconds = float(self._config["RUN_SECONDS"]) + own
            request = {**request, "longest": int(self._config["OUTPUT_LIMIT"])}
        if op.name == "generate":
            request = {**request, "longest": int(self._config["INPUT_LIMIT"])}
        expected = op.share * CHARACTER_SECONDS * len(request.get("source", ""))
        try:
            for answer in pool.stream(request, seconds, client, expected):
                yield self._trimmed(answer) if op.runs else answer
        except TooMany:
            self._metrics.job(op.name, "busy", 0.0)
            raise too_many(self._config) from None
        except STOPS as problem:
            yield why(problem, "run" if op.runs else "compile", self._config)

    def _trimmed(self, answer: Answer) -> Answer:
        """Cut an output that is too long for a page, and say so."""
        output, limit = answer.get("output"), int(self._config["OUTPUT_LIMIT"])
        if isinstance(output, str) and len(output) > limit:
            return {**answer, "output": output[:limit], "cut": len(output) - limit}
        return answer

    def _request(self, op: Op, body: Answer) -> Answer:
        """What is asked, in the same words wherever it means the same."""
        fields = self._fields(op, body)
        return {"op": op.name, **{k: v for k, v in fields.items() if (k, v) != ("options", {})}}

    def _fields(self, op: Op, body: Answer) -> Answer:
        """The operation's fields out of a request's body. AppError on missing or wrong ones."""
        found: Answer = {}
        for field in all_fields(op):
            name = field.rstrip("?")
            value = body.get(name)
            if value is None:
                if not field.endswith("?"):
                    raise AppError("usage", f"`{op.name}` needs the field `{name}`.")
                continue
            if not isinstance(value, TYPES[name]) or isinstance(value, bool):
                wanted = " or ".join(kind.__name__ for kind in TYPES[name])
                raise AppError("usage", f"The field `{name}` must be a {wanted}.")
            found[name] = value
        refuse_unsafe(found.get("options") or {})
        self._check_texts(found)
        return found

    def _check_texts(self, found: Answer) -> None:
        limits = {"source": self._config["SOURCE_LIMIT"], "input": self._config["INPUT_LIMIT"]}
        for name, value in found.items():
            if not isinstance(value, str):
                continue
            if len(value) > limits.get(name, 1000):
                raise AppError(
                    "usage",
                    f"The field `{name}` has {len(value)} characters; "
                    f"at most {limits.get(name, 1000)} are taken.",
                    413,
                )
            try:
                value.encode()
            except UnicodeEncodeError as error:
                line = value.count("\n", 0, error.start) + 1
                raise AppError(
                    "syntax", f"Line {line} of `{name}` holds a character that is not valid UTF-8."
                ) from None

    def last_run(self, body: Answer) -> Answer | None:
        """As `ClientJobs.last_run`."""
        return self._cache.get(cache_key(self._request(OPS["run"], body)))


@dataclass(frozen=True, slots=True)
class ClientJobs:
    """What one client asks, and is answered."""

    _jobs: Jobs
    _client: Client

    def call(self, name: str, body: Answer) -> Answer:
        """The answer to one operation; never raises for what the user's program does.

        Raises AppError for a wrong request, or if the client has too many jobs.
        """
        return collect(self.stream(name, body))

    def must(self, name: str, body: Answer) -> Answer:
        """As `call`, for answers that are kept. AppError as well if there was no worker for it."""
        answer = self.call(name, body)
        error = answer.get("error") or {}
        if error.get("kind") in UNAVAILABLE:
            raise AppError(error["kind"], error["message"], status_of(answer), error["hint"])
        return answer

    def stream(self, name: str, body: Answer) -> Iterator[Answer]:
        """The answers to one operation as they come: queue positions, partial ones, the last."""
        return self._jobs.stream(name, body, self._client)

    def last_run(self, body: Answer) -> Answer | None:
        """The answer that this run request last got, if it is still known."""
        return self._jobs.last_run(body)

    def manifest(self) -> list[Answer]:
        """As `Jobs.manifest`."""
        return self._jobs.manifest()


def all_fields(op: Op) -> tuple[str, ...]:
    """The fields of an operation, `source` first; optional ones end in `?`."""
    return (*(("source",) if op.program else ()), *op.fields)
