"""Stage texts as HTML on the server, for pages that work without JavaScript."""

from __future__ import annotations

import html

from markupsafe import Markup, escape

from app.lexers import LANGUAGES

LONGEST = 200_000
"""Texts above so many characters are shown without colours."""


def language(kind: str) -> str:
    """The language of a stage's text, by the kind that the manifest gives it, or its own name."""
    return {"text": "c", "listing": "c", "typed": "futhark", "source": "futhark"}.get(
        kind, kind if kind in LANGUAGES else "ir"
    )


def kind_of(path: str) -> str:
    """What a program's text is, by the path of its file: "" is Futhark's."""
    return "flatpack" if path.endswith(".fp") else "source"


def quoted(text: str) -> Markup:
    """A sentence as HTML, what stands in backquotes as code."""
    pieces = str(text).split("`")
    if len(pieces) % 2 == 0:
        return escape(text)
    code = Markup("<code>{}</code>")
    return Markup("").join(
        code.format(piece) if k % 2 else escape(piece) for k, piece in enumerate(pieces)
    )


def grouped(number: object) -> str:
    """A whole number with its thousands apart; nothing for what is none."""
    return f"{number:,}" if isinstance(number, int) else ""


def html_lines(text: str, kind: str) -> list[Markup]:
    """The text's lines as HTML, each complete in itself."""
    text = text.removesuffix("\n")
    if len(text) > LONGEST:
        return [escape(line) for line in text.split("\n")]
    known: dict[tuple[str, str], str] = {}
    runs = LANGUAGES[language(kind)].runs(text)
    made = (known.get(run) or known.setdefault(run, _html(*run)) for run in runs)
    return [Markup(line) for line in "".join(made).split("\n")]


def _html(name: str, run: str) -> str:
    """HTML for a run of a class, which no line of it leaves open."""
    safe = html.escape(run, quote=False)
    if not name:
        return safe
    opening, closing = f'<span class="t-{name}">', "</span>"
    return opening + safe.replace("\n", f"{closing}\n{opening}") + closing
