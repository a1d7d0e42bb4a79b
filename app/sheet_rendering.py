"""Make the sheets of a link from its state.

| sheet | pieces |
|---|---|
| `page` | its page, before and behind the address of the server, which its picture needs |
| `state` | all of it as JSON |
| `embed` | the HTML before, between and behind the parts that others embed |
| `files` | the picture, the program's files as a zip, the text of each stage |
| `offline` | one file with all of it |
"""

from __future__ import annotations

import io
import re
import secrets
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from typing import Any

from flask import Flask, g, render_template
from markupsafe import Markup

from app import previews
from app.frozen import FrozenView, frozen_view, texts
from app.paths import static_folder
from app.unpacking import State

PREPARED = ("page", "state", "embed", "files")
"""Sheets that are made with their link. `offline` is rarely wanted, and the largest."""
SHEETS = (*PREPARED, "offline")

Made = tuple[Mapping[str, Any], Mapping[str, bytes]]
"""Metadata of a sheet, and its pieces."""


@dataclass(frozen=True)
class Link:
    """A link whose sheets are made: its id, its state, and that as JSON."""

    name: str
    state: State
    text: str

    @cached_property
    def frozen(self) -> FrozenView:
        """Return the view of its pages."""
        return frozen_view(self.state)


def make(app: Flask, sheet: str, link: Link) -> Made:
    """Make one sheet of a link, by the templates of an application."""
    # Drawn when the text is fixed, so that nothing in it can have known it: the nonce of its
    # styles, or what stands between parts until they are cut.
    token = secrets.token_hex(16)
    with app.test_request_context():
        g.nonce = token
        return _MAKERS[sheet](link, token)


def _page(link: Link, token: str) -> Made:
    address = secrets.token_hex(16)  # for which the server's is put in when it is sent
    text = render_template("frozen.html", name=link.name, frozen=link.frozen, address=address)
    before, after = text.split(address)
    return {"token": token}, {"before": _bytes(before), "after": _bytes(after)}


def _state(link: Link, token: str) -> Made:
    return {}, {"state": _bytes(link.text)}


def _embed(link: Link, token: str) -> Made:
    known = link.frozen.parts()
    text = render_template(
        "embed.html", name=link.name, frozen=link.frozen, parts=list(known), cut=Markup(token)
    )
    before, head, *parts, tail = text.split(token)
    panes = (link.state.get("view") or {}).get("panes") or []
    usual = ["source", *(one.get("stage") for one in panes if one.get("stage") in known)]
    about = {"parts": list(known.items()), "usual": list(dict.fromkeys(usual))}
    pieces = {"before": before, "head": head, "tail": tail}
    pieces |= {f"part/{name}": part for name, part in zip(known, parts, strict=True)}
    return about, {name: _bytes(piece) for name, piece in pieces.items()}


def _files(link: Link, token: str) -> Made:
    state = link.state
    stages = {name: str(stage["text"]) for name, stage in state["stages"].items()}
    written = {f"text/{name}": _bytes(text) for name, text in stages.items()}
    pieces = {"picture": previews.picture(state), "zip": _zip(state), **written}
    return {"stages": list(stages)}, {**pieces, "source": _bytes(str(state["source"]))}


def _offline(link: Link, token: str) -> Made:
    styles = (static_folder() / "dist" / "page.css").read_text("utf-8")
    styles = re.sub(r"@font-face\{[^}]*\}", "", styles)
    inside = Markup(link.text.replace("<", "\\u003c"))
    text = render_template("offline.html", frozen=link.frozen, state=inside, styles=Markup(styles))
    return {"token": token}, {"offline": _bytes(text)}


_MAKERS: Mapping[str, Callable[[Link, str], Made]] = {
    "page": _page,
    "state": _state,
    "embed": _embed,
    "files": _files,
    "offline": _offline,
}


def _bytes(text: str) -> bytes:
    return text.encode(errors="replace")


def _zip(state: State) -> bytes:
    """Return all files of a program as a zip."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for path, text in texts(state):
            name_inside = zipfile.ZipInfo(path or _unused_name(state))
            archive.writestr(name_inside, text, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _unused_name(state: State) -> str:
    """Return a name for a program without one, unlike any other file's, ignoring case."""
    taken = {path.lower() for path in state.get("files") or ()}
    names = (f"main{number or ''}.fut" for number in count())
    return next(name for name in names if name not in taken)
