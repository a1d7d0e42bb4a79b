"""Makes the state that a permalink freezes, from what the user asked to share."""

from __future__ import annotations

import json

from app import kept
from app.errors import AppError
from app.jobs import SHARED, ClientJobs
from app.permalinks import FORMAT, State
from compiler.protocol.fields import fields
from compiler.protocol.kinds import Json, Own
from compiler.protocol.runs import RUN

VIEW_LIMIT = 10_000
RUN_FIELDS = [
    name for name, one in fields(RUN.request).items() if name not in SHARED and not one.has(Own)
]


def freeze(jobs: ClientJobs, version: str, body: Json) -> State:
    """Compile (or take from the cache) what is shared. A failing compile is kept as it fails.

    `body` has a program (`source`, and perhaps `files`, `main` and `options`), and perhaps `run`
    (the fields of a run request) and `view` (the page's own arrangement, kept as it is). AppError
    when there is no worker for it.
    """
    program = {name: body[name] for name in SHARED if body.get(name) or name == "source"}
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
        "view": _view(body.get("view")),
    }
    if shown.get("ok"):
        state["attempts"] = kept.attempts(jobs, program)
        state["lifetimes"] = kept.lifetimes(jobs, program, state["manifest"], state["stages"])
    if isinstance(body.get("run"), dict):
        state["run"] = _run(jobs, program, body["run"])
    return state


def _run(jobs: ClientJobs, program: Json, asked: Json) -> Json:
    """What the run was asked, and the answer that was seen, or a new one if that is forgotten."""
    request = {name: asked[name] for name in RUN_FIELDS if asked.get(name) is not None}
    body = {**program, **request}
    answer = jobs.last_run(body)
    if answer is None:
        answer = jobs.must("run", body)
    return {"request": request, "answer": answer}


def _view(view: object) -> Json:
    if not isinstance(view, dict):
        return {}
    if len(json.dumps(view)) > VIEW_LIMIT:
        raise AppError("usage", "The field `view` is too large.", 413)
    return view
