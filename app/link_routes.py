"""The routes of links: every form of a frozen state, from sheets that makers have made."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Blueprint, Response, abort, g, redirect, render_template, request, url_for
from markupsafe import escape
from werkzeug.wrappers import Response as BaseResponse

from app.clients import client_key
from app.context import parts
from app.errors import AppError
from app.fair_queue import Client
from app.http import A_WHILE, FOREVER, streamed
from app.pieces import Part, part_of
from app.sheet_pool import no_link
from app.sheets import Sheet
from app.unpacking import is_id

blueprint = Blueprint("links", __name__)
THEMES = ("", "light", "dark", "contrast", "projector", "lecture")


@blueprint.get("/z/<name>")
def page(name: str) -> Response:
    """Return a frozen state's page, readable without JavaScript."""
    sheet = _sheet(name, "page")
    g.nonce = sheet.about["token"]
    shown = [sheet.part("before"), part_of(parts().address), sheet.part("after")]
    return streamed(shown, "text/html", _caching(sheet, A_WHILE))


@blueprint.get("/z/<name>.json")
def state(name: str) -> Response:
    """Return all of a frozen state as JSON."""
    response = streamed([_sheet(name, "state").part("state")], "application/json", FOREVER)
    response.headers["Link"] = '</api/state.schema.json>; rel="describedby"'
    return response


@blueprint.get("/z/<name>/preview.png")
def picture(name: str) -> Response:
    """Return the picture that other sites show beside the link."""
    sheet = _sheet(name, "files")
    return streamed([sheet.part("picture")], "image/png", _caching(sheet, FOREVER))


@blueprint.get("/z/<name>/offline.html")
def offline(name: str) -> Response:
    """Return a self-contained file of a frozen state."""
    sheet = _sheet(name, "offline")
    g.nonce = sheet.about["token"]
    response = streamed([sheet.part("offline")], "text/html", _caching(sheet, A_WHILE))
    response.headers["Content-Disposition"] = f'attachment; filename="stridescope-{name}.html"'
    return response


@blueprint.get("/z/<name>/source.zip")
def files(name: str) -> Response:
    """Return the files of a frozen program as a zip."""
    return streamed([_sheet(name, "files").part("zip")], "application/zip", FOREVER)


@blueprint.get("/z/<name>/<stage>.txt")
def stage(name: str, stage: str) -> Response:
    """Return the text of one stage of a frozen state, or its source."""
    sheet = _sheet(name, "files")
    stages = sheet.about["stages"]
    if stage != "source" and stage not in stages:
        abort(404, f"This link has no stage `{stage}`; it has {', '.join(stages)}.")
    piece = sheet.part("source" if stage == "source" else f"text/{stage}")
    return streamed([piece], "text/plain", FOREVER)


@blueprint.get("/embed/<name>")
def embedded(name: str) -> Response:
    """Return parts of a frozen state for embedding; see `stages`, `theme` and `spoiler`."""
    sheet = _sheet(name, "embed")
    known = dict(sheet.about["parts"])
    asked = [part for part in request.args.get("stages", "").split(",") if part]
    for part in asked:
        if part not in known:
            abort(404, f"This link has no part `{part}`; it has {', '.join(known)}.")
    theme = request.args.get("theme", "")
    if theme not in THEMES:
        abort(404, f"There is no theme `{theme}`; there are {', '.join(THEMES[1:])}.")
    spoiler = request.args.get("spoiler", "")
    for part in spoiler.split(","):
        if part not in ("", "1", "all", *known):
            abort(404, f"This link has no part `{part}` to fold; it has {', '.join(known)}.")
    themed = part_of(f' data-theme="{theme}"' if theme else "")
    shown = [sheet.part("before"), themed, sheet.part("head")]
    for k, part in enumerate(dict.fromkeys(asked or sheet.about["usual"])):
        folded = spoiler == "all" or part in spoiler.split(",") or (spoiler == "1" and k > 0)
        shown += _folded(sheet, part, known[part]) if folded else [sheet.part(f"part/{part}")]
    return streamed([*shown, sheet.part("tail")], "text/html", _caching(sheet, A_WHILE))


def _folded(sheet: Sheet, part: str, title: str) -> Sequence[Part]:
    opening = f'<details class="spoiler"><summary>Show: {escape(title)}</summary>'
    return part_of(opening), sheet.part(f"part/{part}"), part_of("</details>")


@blueprint.post("/z/<name>/forget")
def forget(name: str) -> str:
    """Delete one's own link by its key, from the form of its page."""
    parts().limits.count("share")
    gone = give_up(name.lower(), request.form.get("key", "").strip())
    return render_template("forgotten.html", gone=gone, name=name.lower())


def give_up(name: str, key: str) -> bool:
    """Remove the owner with this key; return True if the link is gone. AppError for a wrong key."""
    gone = parts().permalinks.give_up(name, key) if is_id(name) and key else None
    if gone is None:
        message = "There is no link with this id and this key."
        raise AppError("usage", message, 404, "The answer to `share` contained the key.")
    if gone:
        parts().forms.forget(name)
    return gone


@blueprint.get("/z/<name>/")
def page_with_slash(name: str) -> BaseResponse:
    """Redirect to the page without the slash."""
    return redirect(url_for("links.page", name=name))


def _sheet(name: str, sheet: str) -> Sheet:
    """Return a sheet of a link. AppError (404) for an unknown link."""
    parts().limits.count("read")
    link = name.lower()
    if not is_id(link) or not parts().permalinks.is_there(link):
        raise no_link()
    return parts().forms.get(link, sheet, Client(client_key(request)))


def _caching(sheet: Sheet, usual: str) -> str:
    """Return the caching of a sheet: an outdated one is not cached, since it is being remade."""
    return usual if sheet.is_current else "no-cache"
