"""The HTML routes: the page, explanations and rules, health, metrics."""

from __future__ import annotations

from typing import Any

from flask import (
    Blueprint,
    Response,
    abort,
    current_app,
    jsonify,
    render_template,
    request,
)

from app.clients import is_local
from app.context import parts
from app.first_view import first_view
from app.gallery import Example, front_example
from app.highlight import html_lines, kind_of
from compiler.codes import CODES, Code
from compiler.sandbox import walls

blueprint = Blueprint("pages", __name__)


@blueprint.get("/")
def index() -> str:
    """Render the page with the first example (the browser may restore its last program)."""
    return _ide(example=front_example(current_app.config, parts().examples()))


@blueprint.get("/examples/<name>")
def example(name: str) -> str:
    """Render the page with one example."""
    found = [candidate for candidate in parts().examples() if candidate.name == name]
    if not found:
        abort(404)
    return _ide(example=found[0], chosen=True)


@blueprint.get("/explain/")
def explanations() -> str:
    """Render the list of all codes of errors and warnings."""
    return render_template("explain.html", codes=CODES.values())


@blueprint.get("/explain/<code>")
def explanation(code: str) -> str:
    """Render the explanation of a code, with a wrong and a mended program."""
    found = _code(code)
    programs = [("Wrong", found.wrong), ("Fixed", found.mended)]
    shown = [
        (title, html_lines(text, kind_of(found.main)))
        for title, text in (*found.files, *programs)
        if text
    ]
    return render_template("explain.html", code=found, programs=shown)


@blueprint.get("/explain/<code>/wrong")
def wrong_program(code: str) -> str:
    """Render the page with the wrong program of a code."""
    found = _code(code)
    if not found.wrong:
        abort(404, f"There is no program that shows `{found.id}`.")
    program = {"source": found.wrong, "files": dict(found.files)}
    program |= {"main": found.main} if found.main else {}
    return _ide_with(program, f"{found.id}: {found.title}")


def _code(name: str) -> Code:
    return CODES.get(name.upper()) or abort(404, f"There is no error or warning `{name}`.")


@blueprint.get("/rules/")
def rules() -> str:
    """Render the list of passes and rules, with their equations."""
    return render_template("rules.html", **_told_of(""))


@blueprint.get("/rules/<path:name>")
def rule(name: str) -> str:
    """Render a pass or a rule at work on a tiny program."""
    parts().limits.count("read")
    told = _told_of(name)
    shown = told.get("shown")
    kinds = {stage["id"]: stage for stage in parts().jobs.manifest()}
    versions = [] if shown is None else [shown[when] for when in ("before", "after")]
    texts = [
        (kinds[one["stage"]], html_lines(one["text"], kinds[one["stage"]]["kind"]), one["changed"])
        for one in versions
        if one["stage"]
    ]
    source = html_lines(shown["source"], kind_of(shown["main"])) if shown else []
    return render_template("rules.html", name=name, source=source, texts=texts, **told)


@blueprint.get("/rules/<path:name>/program")
def rule_program(name: str) -> str:
    """Render the page with the tiny program of a pass or a rule."""
    shown = _told_of(name).get("shown") or abort(404, f"There is no program that shows `{name}`.")
    program = {"source": shown["source"]} | ({"main": shown["main"]} if shown["main"] else {})
    return _ide_with(program, name)


def _told_of(name: str) -> dict[str, Any]:
    return parts().jobs.rule_page(name) or abort(404, f"There is no pass or rule `{name}`.")


@blueprint.get("/health")
def health() -> Response:
    """Report that the server answers; for this machine also the state of its sandbox."""
    local = is_local(request)
    return jsonify(ok=True, **({"sandbox": walls.state().as_json()} if local else {}))


@blueprint.get("/metrics")
def metrics() -> Response:
    """Return the counters for Prometheus."""
    readers = current_app.config["METRICS"]
    if readers == "nobody" or (readers == "local" and not is_local(request)):
        abort(404)
    return Response(parts().metrics.text(), mimetype="text/plain; version=0.0.4")


def _ide(example: Example | None, chosen: bool = False) -> str:
    lines: list[Any] = html_lines(example.source, kind_of(example.main)) if example else []
    first = first_view(parts().jobs, example) if example else None
    examples = parts().examples()
    return render_template(
        "ide.html", example=example, chosen=chosen, lines=lines, examples=examples, first=first
    )


def _ide_with(program: dict[str, Any], titled: str) -> str:
    """Render the page with a program that is no example."""
    lines = html_lines(program["source"], kind_of(program.get("main", "")))
    examples = parts().examples()
    return render_template(
        "ide.html", program=program, titled=titled, lines=lines, examples=examples
    )
