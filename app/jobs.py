"""Ask the compiler for clients: check, queue, answer, cache and count requests."""

from __future__ import annotations

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from app.cache import AnswerCache, cache_key
from app.clients import page_of
from app.compressed_answers import at_once, is_short, opened
from app.errors import AppError, status_of
from app.failure_messages import PASSING, STOPS, UNAVAILABLE, too_many, why, with_wait
from app.long_texts import LongText, shortened
from app.metrics import Metrics
from app.origin_check import refuse_native, refuse_unsafe
from app.pool import (
    MOST_STRETCHED,
    Client,
    Pool,
    PoolLimits,
    TooMany,
    collect,
)
from app.results import Results
from app.seeds import SEEDS
from app.uploads import Uploads
from app.worker import COMMAND
from compiler.protocol.fields import fields
from compiler.protocol.kinds import Json, OfProgram, Operation
from compiler.protocol.operations import OPERATIONS
from compiler.protocol.reading import WrongRequest, checked
from compiler.sandbox import walls

OPS = {name: op for name, op in OPERATIONS.items() if op.served}
"""Operations served to clients."""
SHARED = tuple(fields(OfProgram))
"""Fields shared by all requests of a batch: the program."""
NOTHING: tuple[tuple[str, Any], ...] = (("options", {}), ("files", {}), ("main", ""))
"""Fields with default values, left out of requests."""
MOST_REQUESTS = 24
CHECK = "check"
OVERTIME = 2.0
"""Seconds for a run that has ended by its deadline to report its outcome."""
CHARACTER_SECONDS = 80e-6
"""Seconds of compiling per character of a program, see `docs/figures.md`."""


@dataclass(slots=True)
class _Asked:
    """A checked request, and its answers so far."""

    op: Operation[Any]
    request: Json
    key: str
    began: float = field(default_factory=time.perf_counter)
    parts: list[Json] = field(default_factory=list)
    """The answers so far: `show` answers stage by stage."""

    @property
    def outcome(self) -> str:
        """Return `ok`, or the kind of the error."""
        last = self.parts[-1] if self.parts else {}
        error = last.get("error", {})
        return "ok" if last.get("ok") else str(error.get("kind", "internal"))


def members(body: Json) -> list[Json]:
    """Return the requests of a batch. AppError for invalid ones, or ones that cannot be batched."""
    requests = body.get("requests")
    if not isinstance(requests, list) or len(requests) > MOST_REQUESTS:
        message = f"`requests` must be a list of at most {MOST_REQUESTS} requests."
        raise AppError("usage", message)
    for one in requests:
        op = OPS.get(str(one.get("op"))) if isinstance(one, dict) else None
        if op is None or not op.batched:
            raise AppError(
                "usage", "Each request of a batch needs an `op`, and may not run a program."
            )
    return requests


def stretched() -> float:
    """Return by how much a run may last longer, as others want the processors as well."""
    with suppress(OSError):
        return min(MOST_STRETCHED, max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)))
    return 1.0


class Jobs:
    """Sends operations to the worker pools."""

    def __init__(self, config: Mapping[str, Any], metrics: Metrics) -> None:
        self._config = config
        self._metrics = metrics
        self._cache = AnswerCache(int(config["CACHE_MB"]) << 20)
        self.uploads = Uploads(config)
        self.results = Results(int(config["RESULTS_MB"]) << 20)
        self._manifest: list[Json] | None = None
        self._rules: list[Json] | None = None
        self._listings: list[Json] | None = None
        self._backends: list[Json] | None = None
        self._rule_pages: dict[str, Json] = {}
        self._asking = threading.Lock()
        self.compile_pool = self._pool("compile")
        self.check_pool = self._pool("check", "compile")
        self.run_pool = self._pool("run")
        self.pools = (self.compile_pool, self.check_pool, self.run_pool)
        for pool in self.pools:
            pool.peers = self.pools
        self.run_pool.before = (self.compile_pool,)

    def of(self, client: Client) -> ClientJobs:
        """Return the jobs of one client."""
        return ClientJobs(self, client)

    def manifest(self) -> list[Json]:
        """Return the pipeline's stages: id, title, explain, kind, in order. Cached."""
        if self._manifest is None:
            given = self._config.get("MANIFEST")
            self._manifest = list(self._ask("manifest")["stages"] if given is None else given)
        return self._manifest

    @property
    def known_manifest(self) -> list[Json] | None:
        """Return the manifest if it is cached."""
        return self._manifest

    def rules(self) -> list[Json]:
        """Return the passes and rules that can be switched off, in order. Cached."""
        if self._rules is None:
            self._rules = list(self._ask("manifest")["switches"])
        return self._rules

    def rule_page(self, name: str) -> Json | None:
        """Describe a pass or a rule (all: ""), cached; None for an unknown one.

        AppError if there is no worker for it.
        """
        if name and not any(
            name == one["id"]
            for p in (self.rule_page("") or {})["passes"]
            for one in (p, *p["rules"])
        ):
            return None
        with self._asking:
            if name not in self._rule_pages:
                self._rule_pages[name] = self._ask("rule", rule=name)
            return self._rule_pages[name]

    def listings(self) -> list[Json]:
        """Return the listings of other compilers, in the shape of stages. Cached."""
        if self._listings is None:
            self._listings = list(self._ask("manifest")["listings"])
        return self._listings

    def backends(self) -> list[Json]:
        """Return the back ends: `id`, and `missing`, why it cannot run here.

        Cached. Asked for once.

        AppError if there is no worker for it.
        """
        with self._asking:
            if self._backends is None:
                self._backends = list(self._ask("backends")["backends"])
            return self._backends

    def _ask(self, name: str, **fields: str) -> Json:
        """Ask on behalf of the server. AppError if there is no worker."""
        operation, who = OPERATIONS[name], Client("the server")
        answer = collect(self._guarded(operation, {"op": name, **fields}, who, operation.share))
        if not answer.get("ok"):
            error = answer.get("error", {})
            raise AppError(error.get("kind", "internal"), error.get("message", ""), 503)
        return answer

    def _pool(self, name: str, bounded_as: str = "") -> Pool:
        config, kind = self._config, (bounded_as or name).upper()
        bounds = PoolLimits(
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
        policy = replace(policy, reads=(*policy.reads, self.uploads.folder))
        size = config[f"{name.upper()}_WORKERS"]
        command = config["WORKER_COMMAND"]
        ready = SEEDS.wait if command == COMMAND else None
        return Pool(name, size, command, bounds, policy, ready, self.results.folder)

    def warm(self) -> None:
        """Start all workers, in the background; first those that one who types waits for."""
        if self._config["WORKER_COMMAND"] == COMMAND:
            SEEDS.begin()
        for pool in self.pools:
            pool.warm()

    def close(self, grace: float = 0.0) -> None:
        """Refuse new jobs; stop idle workers, and all others after `grace` seconds."""
        closing = [threading.Thread(target=pool.close, args=(grace,)) for pool in self.pools]
        for one in closing:
            one.start()
        for one in closing:
            one.join()
        self.uploads.close()
        self.results.close()

    def stream(self, name: str, body: Json, client: Client, whole: bool = False) -> Iterator[Json]:
        """Like `ClientJobs.stream`; `whole`: no long answer in parts.

        Long texts are taken out of the body, which lives as long as the request.
        """
        op = OPS[name]
        if name == "batch":
            yield from self._batch(body, client, whole)
            return
        if name == "show":  # its stages come one by one
            yield from _unwrapped(self._batch(_batch_of_one(name, body), client, whole, name))
            return
        asked = self._asked(op, body)
        asked.request = shortened(asked.request)
        for field_ in [name for name, value in body.items() if isinstance(value, LongText)]:
            del body[field_]
        known = self._cache.parts(asked.key) if op.cached else None
        if known is not None:
            yield from known
            return
        request = {**self._bounded(asked), "packed": True}
        for answer in self._guarded(op, request, client, op.share, followed=not whole):
            if "queued" not in answer:
                answer = self.results.take(request.get("kept", ""), answer)
                asked.parts.append(answer)
            yield answer
        self._end(asked)

    def _batch(
        self, body: Json, client: Client, whole: bool, name: str = "batch"
    ) -> Iterator[Json]:
        """Yield the answers of a batch by number, cached ones first; then the end."""
        given = self._fields(OPS["batch"], body)
        questions = [self._part(given, one) for one in members(given)]
        left: list[tuple[int, _Asked]] = []
        for number, asked in enumerate(questions):
            known = self._cache.parts(asked.key)
            if known is None or (whole and len(known) > 1 and not is_short(known)):
                left.append((number, asked))
                continue
            for part in known:
                yield {"ok": True, "partial": True, "request": number, "answer": part}
        ahead = {}
        if self.compile_pool.is_full:
            checks = [(number, asked) for number, asked in left if asked.op.id == CHECK]
            ahead = {number: asked for number, asked in checks if self._ahead(asked, client)}
        for number, asked in ahead.items():
            yield {"ok": True, "partial": True, "request": number, "answer": asked.parts[-1]}
        left = [(number, asked) for number, asked in left if number not in ahead]
        if not left:
            yield {"ok": True}
            return
        requests = [
            {k: v for k, v in self._bounded(asked).items() if k not in SHARED} for _, asked in left
        ]
        told = {"op": "batch", "requests": requests, "stream": True, "packed": True}
        request = {**given, **told, **({"whole": True} if whole else {})}
        share = min(1.0, sum(asked.op.share for _, asked in left))
        begun = len(left) < len(questions)
        for answer in self._told(request, client, share, begun):
            if "answer" not in answer:
                if "error" in answer:
                    self._metrics.job(name, str(answer["error"]["kind"]), 0.0)
                yield answer
                continue
            number, asked = left[answer["request"]]
            asked.parts.append(answer["answer"])
            if not answer["answer"].get("partial"):
                self._end(asked)
            yield {**answer, "request": number}

    def _ahead(self, asked: _Asked, client: Client) -> bool:
        """Check a program before compiling it; return True if there was an answer.

        The author waits for this while typing, and it takes a fiftieth of the time.
        """
        try:
            request = {**self._bounded(asked), "packed": True}
            *_, answer = self._guarded(asked.op, request, client, 0.0, self.check_pool)
        except AppError:
            return False
        if (answer.get("error") or {}).get("kind") in PASSING:
            return False
        asked.parts.append(answer)
        self._end(asked)
        return True

    def _told(self, request: Json, client: Client, share: float, begun: bool) -> Iterator[Json]:
        """Like `_guarded`; once answers have `begun`, a refusal becomes one too."""
        try:
            yield from self._guarded(OPS["batch"], request, client, share)
        except AppError as error:
            if not begun:
                raise
            yield error.shape()

    def _part(self, batch: Json, one: Json) -> _Asked:
        """Check one request of a batch. AppError for an invalid one."""
        op = OPS[one["op"]]
        own = {name: value for name, value in one.items() if name not in SHARED}
        shared = {name: batch.get(name) for name in SHARED if name in fields(op.request)}
        return self._asked(op, {**own, **shared})

    def _asked(self, op: Operation[Any], body: Json) -> _Asked:
        request = self._request(op, body)
        return _Asked(op, request, cache_key(request))

    def _bounded(self, asked: _Asked) -> Json:
        """Return a request with the bounds of its answer."""
        request = dict(asked.request)
        own = fields(asked.op.request)
        if "deadline" in own:
            request["deadline"] = float(self._config["RUN_SECONDS"]) * stretched()
        if "seconds" in own:
            request["seconds"] = float(self._config["RUN_SECONDS"]) / 3
        if "longest" in own:
            of_what = "OUTPUT_LIMIT" if asked.op.runs else "INPUT_LIMIT"
            request["longest"] = int(self._config[of_what])
        if "binary" in own:
            request["binary"] = min(self.results.most, int(self._config["ANSWER_MB"]) << 19)
            request["kept"] = self.results.name()
        return request

    def _end(self, asked: _Asked) -> None:
        """Count an answer, and cache it if it is reproducible."""
        self._metrics.job(asked.op.id, asked.outcome, time.perf_counter() - asked.began)
        if asked.outcome not in PASSING:
            self._cache.keep(asked.key, asked.parts)

    def _guarded(
        self,
        op: Operation[Any],
        request: Json,
        client: Client,
        share: float,
        pool: Pool | None = None,
        followed: bool = False,
    ) -> Iterator[Json]:
        """Yield the pool's answers; convert its failures to answers in the error shape."""
        request = self._with_paths(request, page_of(client.key))
        pool = pool or (self.run_pool if op.runs else self.compile_pool)
        seconds = float(self._config["COMPILE_SECONDS"])
        if op.runs:  # the worker ends it by itself at the deadline, and says so
            seconds = float(self._config["RUN_SECONDS"]) + OVERTIME
        expected = share * CHARACTER_SECONDS * sum(map(len, texts_of(request).values()))
        began, waited = time.monotonic(), 0.0
        same = "" if op.runs else cache_key(request)
        try:
            for answer in pool.stream(request, seconds, client, expected, same, followed):
                if answer.get("queued") == 0:
                    waited = time.monotonic() - began
                if followed or answer.get("queued") != 0:
                    yield with_wait(answer, waited)
        except TooMany:
            self._metrics.job(op.id, "busy", 0.0)
            raise too_many(self._config) from None
        except STOPS as problem:
            told = why(problem, "run" if op.runs else "compile", self._config)
            yield with_wait(told, waited)

    def _with_paths(self, request: Json, page: str) -> Json:
        """A request with paths in the place of ids of uploads. AppError for one of another page."""
        found = dict(request)
        if "uploads" in request:
            found["uploads"] = [self.uploads.path(page, str(one)) for one in request["uploads"]]
        if "requests" in request:
            found["requests"] = [self._with_paths(one, page) for one in request["requests"]]
        return found

    def _request(self, op: Operation[Any], body: Json) -> Json:
        """Normalise a request, so that equivalent ones are equal."""
        found = self._fields(op, body)
        return {"op": op.id, **{k: v for k, v in found.items() if (k, v) not in NOTHING}}

    def _fields(self, op: Operation[Any], body: Json) -> Json:
        """Check the fields of a request's body. AppError on missing or wrong ones."""
        options = body.get("options")
        refuse_unsafe(options if isinstance(options, dict) else {})
        try:
            found = checked(op, body, own=False)
        except WrongRequest as wrong:
            raise AppError("usage", wrong.message, hint=wrong.hint) from None
        refuse_native(op, found)
        self._check_texts(found)
        return found

    def _check_texts(self, found: Json) -> None:
        limits = dict.fromkeys(("source", "lesson"), self._config["SOURCE_LIMIT"])
        limits["input"] = self._config["INPUT_LIMIT"]
        for name, value in found.items():
            if isinstance(value, str):
                self._check_length(f"The field `{name}` has", len(value), limits.get(name, 1000))
                _check_text(name, value)
        for stage, text in (found.get("options", {}).get("edited") or {}).items():
            self._check_length(f"The text of `{stage}` has", len(text), limits["source"])
            _check_text(stage, text)
        if files := found.get("files"):
            length = sum(map(len, texts_of(found).values()))
            self._check_length("The files of the program have", length, limits["source"])
            for path, text in files.items():
                _check_text("files", path)
                _check_text(path, text)

    @staticmethod
    def _check_length(what: str, length: int, most: int) -> None:
        if length > most:
            message = f"{what} {length} characters; at most {most} are accepted."
            raise AppError("usage", message, 413)

    def last(self, name: str, body: Json) -> Json | None:
        """Like `ClientJobs.last`."""
        return self._cache.get(cache_key(self._request(OPS[name], body)))

    def last_parts(self, name: str, body: Json) -> list[Json] | None:
        """Like `ClientJobs.last_parts`."""
        return self._cache.parts(cache_key(self._request(OPS[name], body)))


@dataclass(frozen=True, slots=True)
class ClientJobs:
    """The requests of one client."""

    _jobs: Jobs
    _client: Client

    def call(self, name: str, body: Json) -> Json:
        """Answer one operation; never raises for what the user's program does.

        Raises AppError for a wrong request, or if the client has too many jobs.
        """
        return opened(self.told(name, body))

    def told(self, name: str, body: Json) -> Json:
        """Like `call`; a long answer stays packed."""
        if name == "batch":
            return _together(self._jobs.stream(name, body, self._client, whole=True))
        return at_once(self.parts(name, body))

    def parts(self, name: str, body: Json) -> list[Json]:
        """Like `told`, in the parts that the worker gave, all packed."""
        answers = self._jobs.stream(name, body, self._client, whole=True)
        return [answer for answer in answers if "queued" not in answer]

    def must(self, name: str, body: Json) -> Json:
        """Like `call`, for answers that are stored. AppError also if there was no worker."""
        answer = self.call(name, body)
        error = answer.get("error") or {}
        if error.get("kind") in UNAVAILABLE:
            raise AppError(error["kind"], error["message"], status_of(answer), error["hint"])
        return answer

    def stream(self, name: str, body: Json) -> Iterator[Json]:
        """Yield one operation's answers as they come: queue positions, partial ones, the last."""
        return self._jobs.stream(name, body, self._client)

    def last(self, name: str, body: Json) -> Json | None:
        """Return the cached answer to this request, or None."""
        return self._jobs.last(name, body)

    def last_parts(self, name: str, body: Json) -> list[Json] | None:
        """Return the parts of the cached answer to this request, packed, or None."""
        return self._jobs.last_parts(name, body)

    def manifest(self) -> list[Json]:
        """Like `Jobs.manifest`."""
        return self._jobs.manifest()


def texts_of(request: Json) -> dict[str, str]:
    """Return the texts of a request's program by path; the program's own path is ""."""
    return {"": request.get("source") or "", **(request.get("files") or {})}


def _check_text(name: str, value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError as error:
        line = value.count("\n", 0, error.start) + 1
        raise AppError(
            "syntax", f"Line {line} of `{name}` contains a character that is not valid UTF-8."
        ) from None


def _together(answers: Iterator[Json]) -> Json:
    """Join the answers of a batch in order; or return the error that prevented them."""
    found: defaultdict[int, list[Json]] = defaultdict(list)
    last: Json = {}
    for last in answers:
        if "answer" in last:
            found[last["request"]].append(last["answer"])
    if not last.get("ok"):
        return last
    return {"ok": True, "answers": [at_once(found[number]) for number in sorted(found)]}


def _batch_of_one(name: str, body: Json) -> Json:
    shared = {field: value for field, value in body.items() if field in SHARED}
    own = {field: value for field, value in body.items() if field not in SHARED}
    return {**shared, "requests": [{**own, "op": name}]}


def _unwrapped(answers: Iterator[Json]) -> Iterator[Json]:
    """Unwrap the answers of a batch of one request.

    The last answer is sent after the batch has ended, when the client may send the next.
    """
    last: Json | None = None
    for answer in answers:
        if "answer" not in answer:
            if "queued" in answer or "error" in answer:
                last = None
                yield answer
        elif answer["answer"].get("partial"):
            yield answer["answer"]
        else:
            last = answer["answer"]
    if last is not None:
        yield last
