"""The HTML routes: the page, frozen states (both read without JavaScript), health, metrics."""

from __future__ import annotations

from typing import Any

from flask import (
    Blueprint,
    Response,
    abort,
    copy_current_request_context,
    current_app,
    g,
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
from app.http import A_WHILE, FOREVER, tagged, zipped
from app.permalinks import State, is_id
from app.renderings import Rendering
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
    parts().limits.count("read")
    made = rendered_page(_link_id(name))
    g.nonce = made.token
    caching = A_WHILE if made.current else "no-cache"
    return zipped(made.content, "text/html", made.token, caching)


@blueprint.get("/z/<name>.json")
def permalink_json(name: str) -> Response:
    """All of a frozen state."""
    parts().limits.count("read")
    link = _link_id(name)
    make = copy_current_request_context(lambda _: _read(link)[1])
    made = parts().renderings.get(link, "state", make)
    return zipped(made.content, "application/json", made.token, FOREVER)


@blueprint.get("/z/<name>/<stage>.txt")
def permalink_stage(name: str, stage: str) -> Response:
    """One stage of a frozen state, or its source."""
    parts().limits.count("read")
    state, _ = _read(_link_id(name))
    if stage == "source":
        text = str(state["source"])
    else:
        found = state["stages"].get(stage)
        if found is None:
            abort(404, f"This link has no stage `{stage}`; it has {', '.join(state['stages'])}.")
        text = str(found["text"])
    return tagged(Response(text, mimetype="text/plain"), name, FOREVER)


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


def _link_id(name: str) -> str:
    """The id that an address means. 404 where it can be none."""
    return name.lower() if is_id(name) else abort(404)


def rendered_page(name: str) -> Rendering:
    """The page of a frozen state. 404 where there is none."""

    def make(nonce: str) -> str:
        g.nonce = nonce
        state, _ = _read(name)
        return render_template("frozen.html", name=name, frozen=frozen_view(state))

    return parts().renderings.get(name, "page", copy_current_request_context(make))


def _read(name: str) -> tuple[State, str]:
    """A frozen state, and the same as JSON. 404 where there is none."""
    found = parts().permalinks.read(name)
    if found is None:
        abort(404, "There is no such link here. It may have been made on another server.")
    return found
