"""Ask for the answers of which a permalink's state is made (`app/freezing.py`)."""

from __future__ import annotations

import json
from typing import Any

from app import link_contents
from app.compressed_answers import PackedAnswer
from app.errors import AppError, status_of
from app.failure_messages import UNAVAILABLE
from app.jobs import OPS, SHARED, ClientJobs
from app.worker import ATTACHED
from compiler.protocol.fields import fields
from compiler.protocol.kinds import Json, Own

VIEW_LIMIT = 10_000
KEPT = (
    *("eval", "literate", "profile", "bench", "accesses", "observe", "listing", "flow"),
    *("fusion", "dataflow", "sums", "costs"),
)
"""Operations whose answers a link stores beside the run."""
UPLOADED, FROM_FILE = "\x02", "-- a value from a file, which a link does not store"
MOST_ASKED = 24


def answers_for(jobs: ClientJobs, body: Json, most: int, keep: bool = True) -> Json:
    """Compile (or take from the cache) a shared program; return what `freezing.state_of` takes.

    `body` has a program (`source`, and perhaps `files`, `main` and `options`), and perhaps `run`
    (the fields of a run request), `asked` (further questions: objects with `op`, one of `KEPT`, and
    `request`, its fields) and `view` (the page's own arrangement, stored unchanged).

    The answers stay packed; without `keep` they are left to the cache. AppError when there is no
    worker for one, or above `most` bytes of JSON.
    """
    asked = _Asked(jobs, most, keep)
    program = {name: body[name] for name in SHARED if body.get(name) or name == "source"}
    view, questions = _view(body.get("view")), _questions(body.get("asked") or [])
    shown = asked.answer("show", program)
    manifest = jobs.manifest()
    found: Json = {
        "program": program,
        "manifest": manifest,
        "view": view,
        "show": shown,
        "check": asked.answer("check", program),
        "attempts": None,
        "lifetimes": {},
        "run": None,
        "asked": [],
    }
    compiles = bool(shown[-1].get("ok"))
    if compiles:
        found["attempts"] = asked.answer("attempts", link_contents.of_attempts(program))
        for stage, fields_ in link_contents.of_lifetimes(program, manifest).items():
            found["lifetimes"][stage] = asked.answer("lifetimes", fields_)
    if isinstance(body.get("run"), dict):
        found["run"] = asked.question("run", program, body["run"])
    if compiles and all(one["op"] != "costs" for one in questions):
        questions.append({"op": "costs", "request": {"sizes": {}}})
    for one in questions:
        told = asked.question(one["op"], program, one["request"])
        found["asked"].append({"op": one["op"], **told})
    return {**found, ATTACHED: asked.pieces}


class _Asked:
    """The answers so far: their compressed bytes apart from what tells their lengths."""

    def __init__(self, jobs: ClientJobs, most: int, keep: bool) -> None:
        self._jobs = jobs
        self._most = most
        self._keep = keep
        self._length = 0
        self.pieces: list[bytes] = []

    def answer(self, op: str, body: Json) -> list[Json]:
        """Return an answer's parts. AppError where there was no worker for it."""
        return self._noted(self._must(op, body))

    def question(self, op: str, program: Json, asked: Json) -> Json:
        """Return a question with the parts of its cached answer, or of a new one."""
        known = fields(OPS[op].request).items()
        names = [name for name, one in known if name not in SHARED and not one.has(Own)]
        request = {name: asked[name] for name in names if asked.get(name) is not None}
        body = {**program, **request}
        told = self._jobs.last_parts(op, body) or self._must(op, body)
        if request.pop("uploads", None):
            request["input"] = request["input"].replace(UPLOADED, FROM_FILE)
        return {"request": request, "answer": self._noted(told)}

    def _must(self, op: str, body: Json) -> list[Json]:
        parts = self._jobs.parts(op, body)
        error = parts[-1].get("error") or {}
        if error.get("kind") in UNAVAILABLE:
            raise AppError(error["kind"], error["message"], status_of(parts[-1]), error["hint"])
        return parts

    def _noted(self, told: list[Json]) -> list[Json]:
        parts = []
        for one in told:
            packed: PackedAnswer | None = one.get("packed")
            if packed is None:
                parts.append(one)
                continue
            self._length += packed.piece.length
            if self._length > self._most:
                raise _too_long(self._length, self._most)
            rest = {"length": packed.piece.length, "crc": packed.piece.crc}
            parts.append({**one, "packed": {"number": len(self.pieces), **rest}})
            if self._keep:
                self.pieces.append(packed.data)
        return parts


def _too_long(length: int, most: int) -> AppError:
    return AppError(
        "limitation",
        f"The stages of this program have {length >> 20} MB, but a link on this server "
        f"may have at most {most >> 20} MB.",
        413,
        "Share a part of the program, or save it as a file with `stridescope show`.",
    )


def _questions(given: object) -> list[Json]:
    """Check the further questions. AppError for malformed or unsupported ones."""
    found: list[Any] = given if isinstance(given, list) else [None]
    if len(found) > MOST_ASKED or not all(
        isinstance(one, dict) and one.get("op") in KEPT and isinstance(one.get("request"), dict)
        for one in found
    ):
        message = f"`asked` must be a list of at most {MOST_ASKED} objects with `op` and `request`."
        raise AppError("usage", message, hint=f"A link can store {', '.join(KEPT)}.")
    return list(found)


def _view(view: object) -> Json:
    if not isinstance(view, dict):
        return {}
    if len(json.dumps(view)) > VIEW_LIMIT:
        raise AppError("usage", "The field `view` is too large.", 413)
    return view
