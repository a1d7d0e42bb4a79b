"""Render stage texts as HTML on the server, for pages without JavaScript."""

from __future__ import annotations

import html
from collections.abc import Iterator
from functools import cache
from itertools import chain, groupby, pairwise
from operator import itemgetter

from markupsafe import Markup, escape
from pygments.lexer import Lexer
from pygments.lexers.c_like import CudaLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, String, Text, _TokenType

from compiler.public.lexers import FlatPackLexer, FutharkLexer, StageLexer

CLASSES: dict[_TokenType, str] = {
    Comment: "comment",
    Comment.Preproc: "op",
    Comment.PreprocFile: "op",
    Keyword: "keyword",
    Keyword.Type: "type",
    Name.Builtin: "fun",
    Name.Function: "def",
    Name.Label: "block",
    Name.Namespace: "fun",
    Number: "number",
    Operator: "op",
    String: "string",
}
"""CSS classes (without `t-`) by token; other tokens take that of their parent."""
LEXERS: dict[str, type[Lexer]] = {
    "futhark": FutharkLexer,
    "flatpack": FlatPackLexer,
    "ir": StageLexer,
    "c": CudaLexer,
}
LONGEST = 200_000
"""Texts longer than this are shown without colours."""


def language(kind: str) -> str:
    """Return the language of a stage's text, by its kind in the manifest or its own name."""
    return {"text": "c", "listing": "c", "typed": "futhark", "source": "futhark"}.get(
        kind, kind if kind in LEXERS else "ir"
    )


def kind_of(path: str) -> str:
    """Return the kind of a program's text, by the path of its file: "" is Futhark's."""
    return "flatpack" if path.endswith(".fp") else "source"


def quoted(text: str) -> Markup:
    """Render a sentence as HTML, with backquoted text as code."""
    pieces = str(text).split("`")
    if len(pieces) % 2 == 0:
        return escape(text)
    code = Markup("<code>{}</code>")
    return Markup("").join(
        code.format(piece) if k % 2 else escape(piece) for k, piece in enumerate(pieces)
    )


def grouped(number: object) -> str:
    """Format a whole number with thousands separators; "" for anything else."""
    return f"{number:,}" if isinstance(number, int) else ""


def html_lines(text: str, kind: str) -> list[Markup]:
    """Render the text's lines as HTML, each complete in itself."""
    text = text.removesuffix("\n")
    if len(text) > LONGEST:
        return [escape(line) for line in text.split("\n")]
    known: dict[tuple[str, str], str] = {}
    merged = (
        (kind, "".join(run for _, run in same))
        for kind, same in groupby(runs(language(kind), text + "\n"), itemgetter(0))
    )
    made = (known.get(run) or known.setdefault(run, _html(*run)) for run in merged)
    return [Markup(line) for line in "".join(made).split("\n")[:-1]]


def runs(name: str, text: str) -> Iterator[tuple[str, str]]:
    """Split a text of the language `name` into runs with their classes ("" for none)."""
    tokens = LEXERS[name]().get_tokens_unprocessed(text)
    for (_, token, run), (_, _, after) in pairwise(chain(tokens, [(0, Text, "")])):
        called = token is Name and after.startswith("(") and name == "c"
        yield "def" if called else _class(token), run


@cache
def _class(token: _TokenType) -> str:
    """Return the class of a token, or of its nearest parent that has one."""
    return next((CLASSES[one] for one in reversed(token.split()) if one in CLASSES), "")


def _html(name: str, run: str) -> str:
    """Render a run of a class, closed on each line."""
    safe = html.escape(run, quote=False)
    if not name:
        return safe
    opening, closing = f'<span class="t-{name}">', "</span>"
    return opening + safe.replace("\n", f"{closing}\n{opening}") + closing
