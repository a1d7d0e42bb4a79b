"""Follow a teacher's lecture: pages joined by a code, publishing and polling.

Nothing here waits: a poll without news is answered at once. If the server can park a request
without a thread (`app/intake.py`), it does so before it comes here.
"""

from __future__ import annotations

import gzip
import json
import time
from typing import Any

from flask import (
    Blueprint,
    Response,
    current_app,
    jsonify,
    redirect,
    render_template,
    request,
    url_for,
)
from werkzeug.wrappers import Response as BaseResponse

from app.api import json_body
from app.clients import address_key
from app.context import parts
from app.errors import AppError
from app.highlight import html_lines, kind_of
from app.http import zipped
from app.lectures import code_of
from app.unpacking import is_id
from compiler.protocol.kinds import Json

blueprint = Blueprint("follow", __name__)
REST_LIMIT = 60_000
"""Characters of a view beside its program, as JSON."""


@blueprint.get("/follow/")
def ask() -> str | BaseResponse:
    """Render the form for a code."""
    typed = request.args.get("code", "")
    if plain := code_of(typed[:100]):
        return redirect(url_for("follow.follow", code=plain))
    return render_template("follow.html", typed=typed[:100], wrong=bool(typed))


@blueprint.get("/follow/<code>")
def follow(code: str) -> str | tuple[str, int]:
    """Render the page that follows a teacher; without JavaScript the current program."""
    parts().limits.count("join")
    name = parts().lectures.join(code[:100])
    if name is None:
        return render_template("follow.html", typed=code[:100], wrong=True), 404
    found = parts().lectures.shown(name)
    view = found and json.loads(gzip.decompress(found.content))["view"]
    source = view["source"].encode("utf-8", "replace").decode() if view else ""
    lines = html_lines(source, kind_of(view.get("main") or "")) if view else []
    plain = code_of(code)
    return render_template(
        "ide.html", lecture=name, code_of_lecture=plain, lines=lines, examples=()
    )


@blueprint.post("/api/lecture")
def start() -> Response:
    """Begin a lecture."""
    parts().limits.count("teach")
    json_body()
    name, code, secret = parts().lectures.start(address_key(request))
    url = f"{request.url_root.rstrip('/')}{url_for('follow.follow', code=code)}"
    return jsonify(ok=True, id=name, code=code, secret=secret, url=url)


@blueprint.post("/api/lecture/<name>")
def publish(name: str) -> Response:
    """Publish a view, end the lecture, or report that the teacher is there."""
    parts().limits.count("follow")
    body = json_body()
    secret, page, view = body.get("secret"), body.get("page"), body.get("view")
    if not isinstance(secret, str) or not isinstance(page, str) or not 1 <= len(page) <= 64:
        raise AppError(
            "usage", "`secret` and `page` must be strings, `page` of at most 64 characters."
        )
    number = parts().lectures.publish(
        name[:100],
        secret,
        page,
        None if view is None else _checked(view),
        take=body.get("take") is True,
        end=body.get("end") is True,
    )
    return jsonify(ok=True, number=number)


@blueprint.get("/api/lecture/<name>")
def newer(name: str) -> Response:
    """Return the view of a lecture, if it is newer than `after`."""
    parts().limits.count("follow")
    found = parts().lectures.shown(name[:100])
    if found is None:
        raise AppError("gone", "This lecture has ended.", 410)
    if found.number <= request.args.get("after", -1, int):
        silent = max(0, round(time.time() - found.heard))
        return jsonify(ok=True, number=found.number, ended=found.ended, silent=silent)
    return zipped(found.content, "application/json", f"{name}-{found.number}", "no-store")


def _checked(view: Any) -> Json:
    """Check a view: its programs and its length. AppError otherwise."""
    if not isinstance(view, dict):
        raise AppError("usage", "`view` must be an object.")
    rest = _beside_program(view)
    if (a := view.get("a")) is not None:
        if not isinstance(a, dict) or not isinstance(a.get("text"), dict):
            raise AppError("usage", "`a` must have a `text`, which is a program.")
        rest["a"] = a | {"text": _beside_program(a["text"])}
        if not isinstance(link := a.get("link", ""), str) or (link and not is_id(link)):
            raise AppError("usage", "The `link` of `a` must be the id of a link.")
    if not isinstance(view.get("panes", []), list):
        raise AppError("usage", "`panes` must be a list.")
    if len(json.dumps(rest)) > REST_LIMIT:
        raise AppError("usage", "The content shown next to the program is too large.", 413)
    return view


def _beside_program(view: Json) -> Json:
    """Return all but a program's texts, checking these. AppError otherwise."""
    program = {name: view.get(name) for name in ("source", "files", "main", "open", "frozen")}
    source, files = program.pop("source"), program.pop("files")
    files = {} if files is None else files
    if (
        not isinstance(files, dict)
        or not all(isinstance(text, str) for text in (source, *files.values()))
        or not all(isinstance(one or "", str) for one in program.values())
        or not (is_id(program["frozen"] or "") or not program["frozen"])
        or not isinstance(view.get("options", {}), dict)
    ):
        raise AppError("usage", "`view` must contain a program, as a link does.")
    longest = current_app.config["SOURCE_LIMIT"]
    if sum(map(len, (source, *files, *files.values()))) > longest:
        raise AppError("usage", f"A lecture can show at most {longest} characters.", 413)
    return {name: value for name, value in view.items() if name not in ("source", "files")}
