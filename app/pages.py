"""The HTML routes: the page, frozen states (both read without JavaScript), health, metrics."""

from __future__ import annotations

from typing import Any

from flask import (
    Blueprint,
    Response,
    abort,
    current_app,
    jsonify,
    redirect,
    render_template,
    request,
    url_for,
)
from werkzeug.wrappers import Response as BaseResponse

from app.clients import is_local
from app.context import parts
from app.frozen import frozen_view
from app.gallery import Example
from app.highlight import html_lines
from app.http import FOREVER
from app.permalinks import State
from compiler.sandbox import walls

blueprint = Blueprint("pages", __name__)


@blueprint.get("/")
def index() -> str:
    """The page, with the first example (or what this browser had last)."""
    examples = parts().examples()
    front = [example for example in examples if example.name == current_app.config["FRONT_EXAMPLE"]]
    return _ide(example=next(iter(front or examples), None))


@blueprint.get("/examples/<name>")
def example(name: str) -> str:
    """The page, with one example."""
    found = [candidate for candidate in parts().examples() if candidate.name == name]
    if not found:
        abort(404)
    return _ide(example=found[0], chosen=True)


@blueprint.get("/z/<name>")
def permalink(name: str) -> Response:
    """A frozen state: readable as it is, alive with JavaScript."""
    state = _state(name)
    page = render_template("frozen.html", name=name, frozen=frozen_view(state))
    return Response(page, headers={"Cache-Control": "public, max-age=300"})


@blueprint.get("/z/<name>.json")
def permalink_json(name: str) -> Response:
    """All of a frozen state."""
    response = jsonify(_state(name))
    response.headers["Cache-Control"] = FOREVER
    return response


@blueprint.get("/z/<name>/<stage>.txt")
def permalink_stage(name: str, stage: str) -> Response:
    """One stage of a frozen state, or its source."""
    state = _state(name)
    if stage == "source":
        text = str(state["source"])
    else:
        found = state["stages"].get(stage)
        if found is None:
            abort(404, f"This link has no stage `{stage}`; it has {', '.join(state['stages'])}.")
        text = str(found["text"])
    headers = {"Cache-Control": FOREVER}
    return Response(text, mimetype="text/plain", headers=headers)


@blueprint.get("/z/<name>/")
def permalink_slash(name: str) -> BaseResponse:
    """The same page without the slash."""
    return redirect(url_for("pages.permalink", name=name))


@blueprint.get("/health")
def health() -> Response:
    """Whether the server answers; for this machine also how well its processes are confined."""
    local = is_local(request)
    return jsonify(ok=True, **({"sandbox": walls.state().as_json()} if local else {}))


@blueprint.get("/metrics")
def metrics() -> Response:
    """Counters for Prometheus."""
    readers = current_app.config["METRICS"]
    if readers == "nobody" or (readers == "local" and not is_local(request)):
        abort(404)
    return Response(parts().metrics.text(), mimetype="text/plain; version=0.0.4")


def _ide(example: Example | None, chosen: bool = False) -> str:
    lines: list[Any] = html_lines(example.source, "source") if example else []
    return render_template(
        "ide.html", example=example, chosen=chosen, lines=lines, examples=parts().examples()
    )


def _state(name: str) -> State:
    parts().limits.count("read")
    state = parts().permalinks.open(name)
    if state is None:
        abort(404, "There is no such link here. It may have been made on another server.")
    return state
