"""Format programs.

The formatter keeps the text's meaning: all tokens but redundant ones, the tree, and all comments in
order. Blank lines between declarations and definitions stay too, at most one.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass

from lark import Token

from compiler.base.errors import CompilerBug
from compiler.base.spans import Span, span_at
from compiler.frontend.files import FLATPACK
from compiler.frontend.flatpack.layout import laid_out as flat_packed
from compiler.frontend.format.document import rendered
from compiler.frontend.format.layout import Documents
from compiler.frontend.lexer import Lexed, tokenise
from compiler.frontend.parser import concrete, parse

WIDTH = 100
_DROPPED = frozenset(("IN", "COMMA"))


def laid_out(source: str, path: str, width: int = WIDTH) -> str:
    """Format a file in the layout of its language, which its extension tells.

    Errors: as `formatted`.
    """
    return flat_packed(source) if path.endswith(FLATPACK) else formatted(source, width=width)


def formatted(source: str, file: str = "", width: int = WIDTH) -> str:
    """Format a text in lines of at most `width` characters, where possible.

    Lines end as the first one of `source` does. Errors: `SyntaxError_`; `CompilerBug` where the
    result would not mean the same.
    """
    program = parse(source, file)
    lexed = tokenise(source, file)
    end = Token("$END", "", len(source), source.count("\n") + 1, end_line=0)
    layout = Documents((*lexed.tokens, end), lexed.comments)
    lines = rendered(layout.program(concrete(lexed).children, end), width)
    ending = "\r\n" if re.match(r"[^\n]*\r\n", source) else "\n"
    made = re.sub(r"\r*\n", ending, "".join(f"{line}\n" for line in lines))
    if made != source:
        again = tokenise(made, file)
        for before, after in zip(_words(lexed), _words(again), strict=False):
            if before != after:
                at = before.start_pos or 0
                raise _changed(span_at(source, at, file), str(after))
        if len(_words(lexed)) != len(_words(again)) or _tree(parse(made, file)) != _tree(program):
            raise _changed(span_at(source, 0, file), "")
    return made


def _changed(span: Span, found: str) -> CompilerBug:
    return CompilerBug(
        "With another layout this text would be a different "
        f"program{f': `{found}`' if found else ''}.",
        span,
        "The formatter left the text unchanged.",
    )


def _words(lexed: Lexed) -> list[Token]:
    """Return what must stay in order: comments, and all tokens that are not redundant."""
    return [t for t in lexed.tokens if t.type not in _DROPPED] + [
        Token("COMMENT", str(c).rstrip(), c.start_pos) for c in lexed.comments
    ]


def _tree(node: object) -> object:
    """Return a syntax tree without spans."""
    if isinstance(node, Span):
        return None
    if isinstance(node, tuple):
        return tuple(map(_tree, node))
    if isinstance(node, str):
        return node.replace("\r\n", "\n")
    if not is_dataclass(node):
        return node
    return type(node), *(_tree(getattr(node, field.name)) for field in fields(node))
