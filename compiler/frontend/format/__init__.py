"""A program's text in one layout.

What a text says stays: all tokens but those that say nothing, the tree, and all comments in their
order. Blank lines between declarations and definitions stay too, one at a time.
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
    """A file's text in the layout of its language, which its name says. Errors: as `formatted`."""
    return flat_packed(source) if path.endswith(FLATPACK) else formatted(source, width=width)


def formatted(source: str, file: str = "", width: int = WIDTH) -> str:
    """The text in lines of at most `width` characters, where it can be broken so.

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
        f"In another layout this would be another program{f': `{found}`' if found else ''}.",
        span,
        "The text is left as it is.",
    )


def _words(lexed: Lexed) -> list[Token]:
    """What must stay in order: comments, and tokens but for those that may be left out."""
    return [t for t in lexed.tokens if t.type not in _DROPPED] + [
        Token("COMMENT", str(c).rstrip(), c.start_pos) for c in lexed.comments
    ]


def _tree(node: object) -> object:
    """A syntax tree without places."""
    if isinstance(node, Span):
        return None
    if isinstance(node, tuple):
        return tuple(map(_tree, node))
    if isinstance(node, str):
        return node.replace("\r\n", "\n")
    if not is_dataclass(node):
        return node
    return type(node), *(_tree(getattr(node, field.name)) for field in fields(node))
