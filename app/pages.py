"""The HTML routes: the page, frozen states (both read without JavaScript), health, metrics."""

from __future__ import annotations

import io
import re
import zipfile
from itertools import count
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
from markupsafe import Markup
from werkzeug.wrappers import Response as BaseResponse

from app import previews
from app.clients import is_local
from app.context import parts
from app.first import first_view
from app.frozen import frozen_view, texts
from app.gallery import Example, front_example
from app.highlight import html_lines, kind_of
from app.http import A_WHILE, FOREVER, tagged, zipped
from app.paths import static_folder
from app.permalinks import State, is_id
from app.renderings import Rendering
from compiler.codes import CODES, Code
from compiler.sandbox import walls

blueprint = Blueprint("pages", __name__)
THEMES = ("", "light", "dark", "contrast", "projector", "lecture")


@blueprint.get("/")
def index() -> str:
    """The page, with the first example (or what this browser had last)."""
    return _ide(example=front_example(current_app.config, parts().examples()))


@blueprint.get("/examples/<name>")
def example(name: str) -> str:
    """The page, with one example."""
    found = [candidate for candidate in parts().examples() if candidate.name == name]
    if not found:
        abort(404)
    return _ide(example=found[0], chosen=True)


@blueprint.get("/explain/")
def explanations() -> str:
    """All codes of errors and warnings."""
    return render_template("explain.html", codes=CODES.values())


@blueprint.get("/explain/<code>")
def explanation(code: str) -> str:
    """What a code of an error or warning means, with a wrong and a mended program."""
    found = _code(code)
    programs = [("Wrong", found.wrong), ("Mended", found.mended)]
    shown = [
        (title, html_lines(text, kind_of(found.main)))
        for title, text in (*found.files, *programs)
        if text
    ]
    return render_template("explain.html", code=found, programs=shown)


@blueprint.get("/explain/<code>/wrong")
def wrong_program(code: str) -> str:
    """The page, with the wrong program of a code."""
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
    """What each pass and rule of the compiler does, and its equation."""
    return render_template("rules.html", **_told_of(""))


@blueprint.get("/rules/<path:name>")
def rule(name: str) -> str:
    """A pass or a rule at work on a tiny program."""
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
    """The page, with the tiny program of a pass or a rule."""
    shown = _told_of(name).get("shown") or abort(404, f"There is no program that shows `{name}`.")
    program = {"source": shown["source"]} | ({"main": shown["main"]} if shown["main"] else {})
    return _ide_with(program, name)


def _told_of(name: str) -> dict[str, Any]:
    return parts().jobs.rule_page(name) or abort(404, f"There is no pass or rule `{name}`.")


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
    response = zipped(made.content, "application/json", made.token, FOREVER)
    response.headers["Link"] = '</api/state.schema.json>; rel="describedby"'
    return response


@blueprint.get("/z/<name>/preview.png")
def permalink_picture(name: str) -> Response:
    """What other sites show beside the link."""
    parts().limits.count("read")
    state, _ = _read(_link_id(name))
    return tagged(Response(previews.picture(state), mimetype="image/png"), name, FOREVER)


@blueprint.get("/z/<name>/offline.html")
def permalink_offline(name: str) -> Response:
    """A file that shows all of a frozen state, and needs nothing else."""
    parts().limits.count("read")
    state, text = _read(_link_id(name))
    styles = (static_folder() / "dist" / "page.css").read_text("utf-8")
    styles = re.sub(r"@font-face\{[^}]*\}", "", styles)
    inside = Markup(text.replace("<", "\\u003c"))
    page = render_template(
        "offline.html", frozen=frozen_view(state), state=inside, styles=Markup(styles)
    )
    response = tagged(Response(page, mimetype="text/html"), name, A_WHILE)
    response.headers["Content-Disposition"] = f'attachment; filename="stridescope-{name}.html"'
    return response


@blueprint.get("/embed/<name>")
def embedded(name: str) -> Response:
    """Parts of a frozen state for pages of others: `stages`, `theme` and `spoiler` say how."""
    parts().limits.count("read")
    state, _ = _read(_link_id(name))
    frozen = frozen_view(state)
    known = frozen.parts()
    asked = [part for part in request.args.get("stages", "").split(",") if part]
    for part in asked:
        if part not in known:
            abort(404, f"This link has no part `{part}`; it has {', '.join(known)}.")
    panes = (state.get("view") or {}).get("panes") or []
    usual = ["source", *(one.get("stage") for one in panes if one.get("stage") in known)]
    theme = request.args.get("theme", "")
    if theme not in THEMES:
        abort(404, f"There is no theme `{theme}`; there are {', '.join(THEMES[1:])}.")
    shown = [(part, known[part]) for part in dict.fromkeys(asked or usual)]
    spoiler = request.args.get("spoiler", "")
    for part in spoiler.split(","):
        if part not in ("", "1", "all", *known):
            abort(404, f"This link has no part `{part}` to fold; it has {', '.join(known)}.")
    page = render_template(
        "embed.html", name=name, frozen=frozen, shown=shown, theme=theme, spoiler=spoiler
    )
    response = Response(page)
    response.headers["Cache-Control"] = A_WHILE
    return response


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


@blueprint.get("/z/<name>/source.zip")
def permalink_files(name: str) -> Response:
    """All files of a frozen program, as its author's folder has them."""
    parts().limits.count("read")
    state, _ = _read(_link_id(name))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in texts(state):
            name_inside = zipfile.ZipInfo(path or _unused_name(state))
            archive.writestr(name_inside, text, zipfile.ZIP_DEFLATED)
    return tagged(Response(packed.getvalue(), mimetype="application/zip"), name, FOREVER)


def _unused_name(state: State) -> str:
    """A name for the program that has none, which is no other file's in any case of letters."""
    taken = {path.lower() for path in state.get("files") or ()}
    names = (f"main{number or ''}.fut" for number in count())
    return next(name for name in names if name not in taken)


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
    lines: list[Any] = html_lines(example.source, kind_of(example.main)) if example else []
    first = first_view(parts().jobs, example) if example else None
    examples = parts().examples()
    return render_template(
        "ide.html", example=example, chosen=chosen, lines=lines, examples=examples, first=first
    )


def _ide_with(program: dict[str, Any], titled: str) -> str:
    """The page, with a program that is no example."""
    lines = html_lines(program["source"], kind_of(program.get("main", "")))
    examples = parts().examples()
    return render_template(
        "ide.html", program=program, titled=titled, lines=lines, examples=examples
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
