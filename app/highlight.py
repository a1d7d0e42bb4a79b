"""Stage texts as HTML on the server, for pages that work without JavaScript."""

from __future__ import annotations

import html
from collections.abc import Iterable
from functools import cache

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    String,
    _TokenType,
)

from app.lexers import LEXERS

CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "t-comment"),
    (Keyword.Type, "t-type"),
    (Keyword, "t-keyword"),
    (Name.Function, "t-def"),
    (Name.Builtin, "t-fun"),
    (Name.Label, "t-block"),
    (Name.Variable, "t-type"),
    (Name.Namespace, "t-fun"),
    (Number, "t-number"),
    (String, "t-string"),
    (Operator, "t-op"),
)
"""Class names that the page's editor uses as well; the first that fits."""

LONGEST = 200_000
"""Texts above so many characters are shown without colours."""


def language(kind: str) -> str:
    """The language of a stage's text, by the kind that the manifest gives it."""
    return {"text": "c", "typed": "futhark", "source": "futhark"}.get(kind, "ir")


def quoted(text: str) -> Markup:
    """A sentence as HTML, what stands in backquotes as code."""
    pieces = str(text).split("`")
    if len(pieces) % 2 == 0:
        return escape(text)
    code = Markup("<code>{}</code>")
    return Markup("").join(
        code.format(piece) if k % 2 else escape(piece) for k, piece in enumerate(pieces)
    )


def html_lines(text: str, kind: str) -> list[Markup]:
    """The text's lines as HTML, each complete in itself."""
    if len(text) > LONGEST:
        return [escape(line) for line in text.removesuffix("\n").split("\n")]
    lexer: Lexer = LEXERS[language(kind)]()
    # Not `get_tokens`, which makes a newline of every carriage return.
    return list(_lines((kind, text) for _, kind, text in lexer.get_tokens_unprocessed(text)))


def _lines(tokens: Iterable[tuple[_TokenType, str]]) -> Iterable[Markup]:
    line: list[str] = []
    for token, text in tokens:
        first, *rest = text.split("\n")
        line.append(_piece(token, first))
        for piece in rest:
            yield Markup("".join(line))
            line = [_piece(token, piece)]
    if line and any(line):
        yield Markup("".join(line))


def _piece(token: _TokenType, text: str) -> str:
    """HTML."""
    if not text:
        return ""
    name, safe = _class(token), html.escape(text)
    return f'<span class="{name}">{safe}</span>' if name else safe


@cache
def _class(token: _TokenType) -> str:
    return next((name for kind, name in CLASSES if token[: len(kind)] == kind), "")
