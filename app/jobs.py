"""What the server can ask the compiler: requests checked, queued, answered, cached, counted."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from app.door import refuse_unsafe
from app.errors import AppError, failure
from app.metrics import Metrics
from app.pool import Busy, DeadlinePassed, MemoryExceeded, Pool, WorkerDied, collect

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


OPS: dict[str, Op] = {
    op.name: op
    for op in (
        Op("check", "Parse and type-check: entry points, warnings, errors.", ("options?",)),
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
            "interference",
            "Which blocks are needed at once, and which can share memory.",
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
        ),
        Op(
            "cells",
            "The cells of LMADs for values of their names.",
            ("assumptions?", "lmads", "values?"),
            program=False,
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


class Jobs:
    """Sends operations to the worker pools."""

    def __init__(self, config: Mapping[str, Any], metrics: Metrics) -> None:
        self._config = config
        self._metrics = metrics
        self._lock = threading.Lock()
        self._cache: OrderedDict[str, Answer] = OrderedDict()
        self._manifest: list[dict[str, Any]] | None = None
        self.compile_pool = self._pool("compile", config["COMPILE_WORKERS"])
        self.run_pool = self._pool("run", config["RUN_WORKERS"])
        metrics.watch(self.compile_pool, self.run_pool)

    def manifest(self) -> list[dict[str, Any]]:
        """The pipeline's stages: id, title, explain, kind, in order. Asked for once."""
        if self._manifest is None:
            given = self._config.get("MANIFEST")
            self._manifest = list(given) if given is not None else self._ask_manifest()
        return self._manifest

    def _ask_manifest(self) -> list[dict[str, Any]]:
        answer = collect(self._guarded(OPS["check"], {"op": "manifest"}))
        if not answer.get("ok"):
            error = answer.get("error", {})
            raise AppError(error.get("kind", "internal"), error.get("message", ""), 503)
        return list(answer["stages"])

    def _pool(self, name: str, size: int) -> Pool:
        config = self._config
        return Pool(
            name,
            size,
            config["WORKER_COMMAND"],
            config["QUEUE_LIMIT"],
            config["QUEUE_SECONDS"],
            config["WORKER_MEMORY_MB"],
            config["WORKER_JOBS"],
        )

    def close(self) -> None:
        """Stop all workers."""
        self.compile_pool.close()
        self.run_pool.close()

    def call(self, name: str, body: Answer) -> Answer:
        """The answer to one operation; never raises for what the user's program does."""
        return collect(self.stream(name, body))

    def stream(self, name: str, body: Answer) -> Iterator[Answer]:
        """The answers to one operation as they come: queue positions, partial ones, the last."""
        op = OPS[name]
        request = {"op": name, **self._fields(op, body)}
        if op.runs:
            request["deadline"] = float(self._config["RUN_SECONDS"])
        key = cache_key(request)
        known = self._cached(key) if op.cached else None
        if known is not None:
            yield known
            return
        if name == "show":
            request["stream"] = True
        began = time.perf_counter()
        last: Answer = {}
        stages: dict[str, Any] = {}
        for last in self._guarded(op, request):
            if name == "show":
                fresh = {k: v for k, v in (last.get("stages") or {}).items() if k not in stages}
                stages.update(fresh)
                last = {**last, "stages": fresh}
            yield last
        outcome = "ok" if last.get("ok") else str(last.get("error", {}).get("kind", "internal"))
        self._metrics.job(name, outcome, time.perf_counter() - began)
        whole = {**last, "stages": stages} if name == "show" else last
        if outcome not in ("busy", "timeout", "internal"):
            self._keep(key, whole)

    def _guarded(self, op: Op, request: Answer) -> Iterator[Answer]:
        """The pool's answers, with failures of the machinery as answers in the error shape."""
        pool = self.run_pool if op.runs else self.compile_pool
        seconds = float(self._config["COMPILE_SECONDS"])
        if op.runs:
            # A back end compiles first, and stops the program by itself at the deadline.
            own = 0.0 if request.get("backend") == "ref" else seconds
            seconds = float(self._config["RUN_SECONDS"]) + own
            request = {**request, "longest": int(self._config["OUTPUT_LIMIT"])}
        what = "run" if op.runs else "compile"
        try:
            for answer in pool.stream(request, seconds):
                yield self._trimmed(answer) if op.runs else answer
        except Busy as busy:
            yield failure(
                "busy",
                "Every worker is busy and the queue is full.",
                "Try again in a moment.",
                position=busy.position,
            )
        except DeadlinePassed:
            yield failure(
                "timeout",
                f"The {what} took longer than {seconds:g} s and was stopped.",
                "Try smaller inputs, or look for a loop that does not end."
                if op.runs
                else "Try a smaller program.",
            )
        except MemoryExceeded:
            limit = self._config["WORKER_MEMORY_MB"]
            yield failure(
                "runtime" if op.runs else "limitation",
                f"The {what} needed more than {limit} MB of memory and was stopped.",
                "Try smaller inputs." if op.runs else "Try a smaller program.",
            )
        except WorkerDied as died:
            yield failure(
                "internal",
                f"The compiler's process ended (status {died.code}) before it answered.",
                "This is a defect in Stridescope; a new process has taken its place.",
            )

    def _trimmed(self, answer: Answer) -> Answer:
        """Cut an output that is too long for a page, and say so."""
        output, limit = answer.get("output"), int(self._config["OUTPUT_LIMIT"])
        if isinstance(output, str) and len(output) > limit:
            return {**answer, "output": output[:limit], "cut": len(output) - limit}
        return answer

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

    def _cached(self, key: str) -> Answer | None:
        with self._lock:
            answer = self._cache.get(key)
            if answer is not None:
                self._cache.move_to_end(key)
        return answer

    def _keep(self, key: str, answer: Answer) -> None:
        with self._lock:
            self._cache[key] = answer
            while len(self._cache) > int(self._config["CACHE_ENTRIES"]):
                self._cache.popitem(last=False)

    def last_run(self, body: Answer) -> Answer | None:
        """The answer that this run request last got, if it is still known."""
        return self._cached(cache_key({"op": "run", **self._fields(OPS["run"], body)}))


def all_fields(op: Op) -> tuple[str, ...]:
    """The fields of an operation, `source` first; optional ones end in `?`."""
    return (*(("source",) if op.program else ()), *op.fields)


def cache_key(request: Answer) -> str:
    """The same for requests that mean the same."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
