"""Make the state that a permalink freezes, from a request to share."""

from __future__ import annotations

import json
from typing import Any

from app import link_contents
from app.errors import AppError
from app.jobs import OPS, SHARED, ClientJobs
from app.permalinks import FORMAT
from app.unpacking import State
from compiler.protocol.fields import fields
from compiler.protocol.kinds import Json, Own

VIEW_LIMIT = 10_000
KEPT = (
    *("eval", "literate", "profile", "bench", "accesses", "observe", "listing", "flow"),
    *("fusion", "dataflow", "sums", "costs"),
)
"""Operations whose answers a link stores beside the run."""
UPLOADED, FROM_FILE = "\x02", "-- a value from a file, which a link does not keep"
MOST_ASKED = 24


def prepare(jobs: ClientJobs, body: Json, most: int) -> None:
    """Compile and keep, unopened, for `freeze`. AppError above `most` bytes of JSON."""
    program = _program(body)
    told = [jobs.told(op, program) for op in ("show", "attempts", "check")]
    run = body.get("run")
    if isinstance(run, dict) and jobs.last("run", asked := _request("run", program, run)) is None:
        jobs.told("run", asked)
    length = sum(one["packed"].piece.length for one in told if "packed" in one)
    if length > most:
        raise AppError(
            "limitation",
            f"All stages of this program have {length >> 20} MB; a link here has {most >> 20} MB "
            "at most.",
            413,
            "Share a part of the program, or save it as a file with `stridescope show`.",
        )


def freeze(jobs: ClientJobs, version: str, body: Json) -> State:
    """Compile (or take from the cache) a shared program.

    A failed compilation is stored as it is. A failing compile is kept as it fails.

    `body` has a program (`source`, and perhaps `files`, `main` and `options`), and perhaps `run`
    (the fields of a run request), `asked` (further questions: objects with `op`, one of `KEPT`, and
    `request`, its fields) and `view` (the page's own arrangement, stored unchanged). AppError when
    there is no worker for it.
    """
    program = _program(body)
    shown = jobs.must("show", program)
    checked = jobs.must("check", program)
    state: State = {
        "format": FORMAT,
        "version": version,
        "options": {},
        **program,
        "manifest": jobs.manifest(),
        "stages": shown.get("stages") or {},
        "remarks": shown.get("remarks") or [],
        "error": shown.get("error"),
        "entries": checked.get("entries") or [],
        "attempts": None,
        "lifetimes": None,
        "run": None,
        "asked": [],
        "view": _view(body.get("view")),
    }
    if shown.get("ok"):
        state["attempts"] = link_contents.attempts(jobs, program)
        state["lifetimes"] = link_contents.lifetimes(
            jobs, program, state["manifest"], state["stages"]
        )
    if isinstance(body.get("run"), dict):
        state["run"] = _answered(jobs, program, "run", body["run"])
    for one in _asked(body.get("asked") or []):
        found = _answered(jobs, program, one["op"], one["request"])
        if one["op"] == "listing":
            _keep_listing(state, found["answer"])
        else:
            state["asked"].append({"op": one["op"], **found})
    if shown.get("ok") and all(one["op"] != "costs" for one in state["asked"]):
        state["asked"].append({"op": "costs", **_answered(jobs, program, "costs", {"sizes": {}})})
    return state


def _keep_listing(state: State, answer: Json) -> None:
    """Store another compiler's listing of a stage as one more stage, behind that."""
    if not answer.get("ok"):
        return
    info, manifest = answer["info"], state["manifest"]
    at = next((k for k, one in enumerate(manifest) if one["id"] == info["of"]), len(manifest) - 1)
    state["manifest"] = [*manifest[: at + 1], info, *manifest[at + 1 :]]
    state["stages"] = {**state["stages"], info["id"]: answer["stage"]}


def _asked(given: object) -> list[Json]:
    """Check the further questions. AppError for malformed or unsupported ones."""
    found: list[Any] = given if isinstance(given, list) else [None]
    if len(found) > MOST_ASKED or not all(
        isinstance(one, dict) and one.get("op") in KEPT and isinstance(one.get("request"), dict)
        for one in found
    ):
        message = f"`asked` is a list of at most {MOST_ASKED} objects with `op` and `request`."
        raise AppError("usage", message, hint=f"What is kept is {', '.join(KEPT)}.")
    return found


def _answered(jobs: ClientJobs, program: Json, op: str, asked: Json) -> Json:
    """Return a question with the cached answer, or a new one."""
    body = _request(op, program, asked)
    request = {name: value for name, value in body.items() if name not in program}
    answer = jobs.last(op, body)
    if answer is None:
        answer = jobs.must(op, body)
    answer = {name: value for name, value in answer.items() if name != "kept"}
    if request.pop("uploads", None):
        request["input"] = request["input"].replace(UPLOADED, FROM_FILE)
    return {"request": request, "answer": answer}


def _program(body: Json) -> Json:
    return {name: body[name] for name in SHARED if body.get(name) or name == "source"}


def _request(op: str, program: Json, asked: Json) -> Json:
    """Return a request about a program, with the fields that clients give."""
    known = fields(OPS[op].request).items()
    names = [name for name, one in known if name not in SHARED and not one.has(Own)]
    return {**program, **{name: asked[name] for name in names if asked.get(name) is not None}}


def _view(view: object) -> Json:
    if not isinstance(view, dict):
        return {}
    if len(json.dumps(view)) > VIEW_LIMIT:
        raise AppError("usage", "The field `view` is too large.", 413)
    return view
