"""JSON routes. `GET /api/` lists the request and answer of each, from `OPS`.

`POST /api/show`, `/api/batch` and what runs programs, with `Accept: text/event-stream`, send events
as the work goes on: `queued` (a position), `part` (stages that are ready, by lines, or an answer of
a batch) and `done` (the rest); else they answer at once.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from flask import Blueprint, Response, current_app, jsonify, render_template, request

from app.bodies import UNCOUNTED, longest, too_long
from app.clients import address_key, client_key, page_key
from app.context import parts
from app.errors import AppError, status_of
from app.event_stream import events
from app.fair_queue import Client
from app.http import packed_json
from app.jobs import OPS, ClientJobs, members
from app.link_owners import Sharer
from app.link_routes import give_up
from app.presence import left
from app.sheet_rendering import PREPARED
from app.state_schema import document as state_schema_document
from app.states import answers_for
from app.version import compiler_version
from compiler.protocol import openapi
from compiler.protocol.fields import fields
from compiler.protocol.kinds import Json, Own

blueprint = Blueprint("api", __name__, url_prefix="/api")
SHARING = threading.Semaphore(1)
SHARING_SECONDS = 20.0


@blueprint.get("/")
def index() -> Response:
    """List the operations and routes."""
    operations = [
        {"path": f"/api/{op.id}", "method": "POST", "help": op.help, "fields": fields_of(op.id)}
        for op in OPS.values()
    ]
    return jsonify(
        version=compiler_version(),
        operations=operations,
        also={
            "GET /api/openapi.json": "The operations, their fields and answers (OpenAPI).",
            "GET /api/reference": "The same as a page to read, with examples.",
            "GET /api/state.schema.json": "The contents of a frozen state (JSON Schema).",
            "GET /embed/<id>": "Parts of a frozen state for other pages: stages, theme, spoiler.",
            "GET /api/manifest": "The pipeline's stages: id, title, explain, kind, memory.",
            "GET /api/backends": (
                "The backends that run programs here: id, and what is missing for one that cannot."
            ),
            "GET /api/examples": "The example programs.",
            "GET /api/results/<kept>/<number>": "A run's result, binary; ?part=0:10,::2 of it.",
            "POST /api/uploads": (
                "Begin an upload of `size` bytes; answers id and piece (largest number of "
                "bytes in a part)."
            ),
            "PUT /api/uploads/<id>": "Add bytes at ?offset=<number>; answers have (bytes there).",
            "DELETE /api/uploads/<id>": "Delete an uploaded file.",
            "POST /api/share": "Freeze source, options, run, asked, view; answers id, url, key.",
            "POST /api/forget": "Delete your own link, by its id and key.",
            "POST /api/lecture": "Begin a lecture; answers id, code, secret and url.",
            "POST /api/lecture/<id>": "With secret, page: show a view, take the lecture, end it.",
            "GET /api/lecture/<id>": "The view of a lecture, if it is newer than ?after=<number>.",
            "GET /z/<id>": "A frozen state as a page; .json has all of it, /<stage>.txt a stage.",
        },
        errors='{"ok": false, "error": {"kind", "message", "hint", "span"}}',
    )


def fields_of(op: str) -> list[str]:
    """Return the fields of an operation that clients set; optional ones end in `?`."""
    known = [one for one in fields(OPS[op].request).values() if not one.has(Own)]
    return [one.name if one.required else f"{one.name}?" for one in known]


@blueprint.get("/openapi.json")
def description() -> Response:
    """Return the operations as an OpenAPI document."""
    return jsonify(openapi.document(OPS, compiler_version()))


@blueprint.get("/reference")
def reference() -> str:
    """Render the reference for people, each operation with a valid request."""
    shown = [
        (op, fields_of(op.id), json.dumps(openapi.example(op), indent=2)) for op in OPS.values()
    ]
    return render_template("reference.html", operations=shown, root=request.url_root.rstrip("/"))


@blueprint.get("/state.schema.json")
def state_schema() -> Response:
    """Return the JSON Schema of a frozen state."""
    return jsonify(state_schema_document())


@blueprint.get("/manifest")
def manifest() -> Response:
    """Return the pipeline's stages."""
    jobs = parts().jobs
    told = {"switches": jobs.rules, "listings": jobs.listings}
    given = current_app.config.get("MANIFEST") is not None
    more = {name: [] if given else ask() for name, ask in told.items()}
    return jsonify(version=compiler_version(), stages=jobs.manifest(), **more)


@blueprint.get("/backends")
def backends() -> Response:
    """List the back ends of this machine."""
    return jsonify(backends=parts().jobs.backends())


@blueprint.get("/examples")
def examples() -> Response:
    """Return the gallery."""
    return jsonify(examples=[example.shape() for example in parts().examples()])


@blueprint.get("/results/<name>/<int:number>")
def result(name: str, number: int) -> Response:
    """Return a result of a run, or the part of it in `part`, in Futhark's binary format."""
    parts().limits.count("ask")
    part = parts().jobs.results.part(name, number, request.args.get("part", ""))
    response = Response(part.chunks, mimetype="application/octet-stream")
    response.content_length = part.length
    response.headers["Cache-Control"] = "private, max-age=3600, immutable"
    return response


@blueprint.post("/<any({}):op>".format(", ".join(OPS)))
def operation(op: str) -> Response | tuple[Response, int]:
    """Answer one operation of the worker protocol."""
    if op != "batch":
        parts().limits.count(OPS[op].limit)
    body = json_body()
    if op == "batch":
        parts().limits.count(OPS[op].limit, *(OPS[one["op"]].limit for one in members(body)))
    follows = OPS[op].partial or OPS[op].runs
    if follows and "text/event-stream" in request.headers.get("Accept", ""):
        return events(asked_by_client(is_told=True).stream(op, body))
    answer = asked_by_client().told(op, body)
    if answer["ok"] and any("packed" in one for one in (answer, *answer.get("answers", ()))):
        return packed_json(answer)
    return jsonify(answer), status_of(answer)


@blueprint.post("/share")
def share() -> Response:
    """Make a permalink."""
    parts().limits.count("share")
    body, most = json_body(), int(current_app.config["SHARE_MB"]) << 20
    answers_for(asked_by_client(), body, most, keep=False)
    sharer = Sharer(page_key(request), address_key(request), parts().limits.factor())
    with _alone():
        answers = answers_for(asked_by_client(), body, most)
        state = parts().makers.freeze(answers, Client(client_key(request)))
        kept = parts().permalinks.keep(state, sharer)
        del answers, state
    if kept.new:
        parts().metrics.shared.inc()
        parts().forms.prepare(kept.name, PREPARED)
    url = f"{request.url_root.rstrip('/')}/z/{kept.name}"
    return jsonify(ok=True, id=kept.name, url=url, key=kept.key)


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the answers of one state at a time. AppError: it took too long."""
    if not SHARING.acquire(timeout=SHARING_SECONDS):
        raise AppError("busy", "Too many links are being made.", 503, "Try again in a moment.")
    try:
        yield
    finally:
        SHARING.release()


@blueprint.post("/forget")
def forget() -> Response:
    """Delete one's own link: `gone` unless others have shared the same."""
    parts().limits.count("share")
    body = json_body()
    gone = give_up(str(body.get("id", "")), str(body.get("key", "")))
    return jsonify(ok=True, gone=gone)


def asked_by_client(is_told: bool = False) -> ClientJobs:
    """Return the jobs of the client of the current request, which may be told its place."""
    return parts().jobs.of(Client(client_key(request), left(request.environ), is_told))


def json_body() -> Json:
    """Parse the request's JSON object.

    AppError if it is none, or longer than its operation allows.
    """
    length, most = request.content_length or 0, longest(request.path, current_app.config)
    if length > most:
        raise too_long(most)
    if length > UNCOUNTED:
        parts().limits.count(kilobytes=length >> 10)
    return parts().bodies.read(request.get_data(cache=False))
