"""Parse source text to a syntax tree, with several errors per run.

The grammar is `grammar.lark` (LALR), the tokens come from `lexer.py`, the tree from `builder.py`.
After an error, parsing resumes at the next declaration that starts a line.
"""

from __future__ import annotations

import functools
import hashlib
import io
import math
import sys
from bisect import bisect_left
from collections.abc import Iterator
from importlib import resources
from typing import Any

import lark
from lark import Lark, Token, Tree
from lark.exceptions import UnexpectedToken, VisitError

from compiler import codes
from compiler.base import cache
from compiler.base.errors import SyntaxError_
from compiler.base.spans import Span, span_at
from compiler.frontend import decs
from compiler.frontend.ast import Exp
from compiler.frontend.builder import TreeBuilder
from compiler.frontend.lexer import MAX_ERRORS, Lexed, tokenise
from compiler.frontend.syntax_hints import BEFORE_THE_TEXT, DECLARED, Slip, way_out

_DECLARATION = frozenset(
    ("DEF", "ENTRY", "LET", "TYPE", "MODULE", "OPEN", "IMPORT", "LOCAL", "ATTR")
)

_WORDS = {
    "ID": "a name",
    "FIELD": "a field",
    "INT": "a number",
    "EQ": "`=`",
    "ARROW": "`->`",
    "RPAR": "`)`",
    "RBRACK": "`]`",
    "RCURL": "`}`",
    "COLON": "`:`",
    "COMMA": "`,`",
    "LT": "`<`",
    "DOT": "`.`",
    "STRING": "a string",
}
_LONGEST = 60
"""Most characters of a word in an error."""
_KEYWORDS = ("IN", "THEN", "ELSE", "DO", "FOR", "WHILE", "CASE")
_ATOMS = frozenset(("ID", "INT", "FLOAT", "STRING", "FIELD"))
_OPERATORS = frozenset(("OP", "MINUS", "STAR", "LT", "BAR", "QUALOP", "BANG", "TICK"))


class _Tokens(lark.lexer.Lexer):
    """Feeds lark the tokens of `tokenise`."""

    def __init__(self, lexer_conf: object) -> None:
        pass

    def lex(self, lexer_state: Any, parser_state: Any = None) -> Iterator[Token]:
        """Return the tokens, which lark was given as its text."""
        return iter(lexer_state)


@functools.cache
def _grammar() -> Lark:
    """Return the parser's tables, cached across runs under the versions of their sources."""
    text = resources.files("compiler.frontend").joinpath("grammar.lark").read_text("utf-8")
    key = hashlib.sha256(f"{text}{lark.__version__}{sys.version}".encode()).hexdigest()[:24]
    name = f"grammar-{key}.pickle"
    if kept := cache.load(name):
        try:
            return _shared(Lark.load(io.BytesIO(kept)))
        except Exception:  # a damaged file: the tables are made anew
            pass
    made = Lark(
        text,
        parser="lalr",
        lexer=_Tokens,
        start="program",
        keep_all_tokens=True,
        maybe_placeholders=False,
        transformer=TreeBuilder(),
    )
    tables = io.BytesIO()
    made.save(tables)
    cache.keep(name, tables.getvalue())
    return made


def _shared(made: Lark) -> Lark:
    """Share equal objects in a loaded parser's tables, which saves a megabyte."""
    one: dict[object, object] = {}
    table: Any = made.parser.parser
    for row in table._parse_table.states.values():
        for token, action in row.items():
            row[token] = one.setdefault(action, action)
    return made


@functools.cache
def _concrete() -> Lark:
    """Return the same tables, for concrete syntax trees."""
    kept = io.BytesIO()
    _grammar().save(kept, ["transformer"])
    kept.seek(0)
    return _shared(Lark.load(kept))


def concrete(lexed: Lexed) -> Tree[Token]:
    """Parse a text without errors to a concrete syntax tree, token by token."""
    tokens: Any = lexed.tokens
    return _concrete().parse(tokens)


def parse_expression(source: str, file: str) -> Exp:
    """Parse an expression.

    Raises as `parse` does.
    """
    first, *more = parse(source, file, _HEAD).decs
    if more:
        raise SyntaxError_(
            codes.syntax.UNEXPECTED,
            "Expected the end of the expression, but found a declaration.",
            more[0].span,
            DECLARED,
        )
    assert isinstance(first, decs.ValDec)
    return first.body


_HEAD = tuple(
    Token(*one, BEFORE_THE_TEXT, 1, 1, 1, 1, 0)
    for one in (("DEF", "def"), ("ID", "it"), ("EQ", "="))
)
"""Tokens before an expression that make it a program."""


def parse(source: str, file: str = "", head: tuple[Token, ...] = (), line: int = 1) -> decs.Program:
    """Parse a program; `head`: tokens before it, `line`: its first line.

    Raises `SyntaxError_` for the first error in the text; its `others` are the errors after it.
    """
    lexed = tokenise(source, file, line)
    if head:
        lexed.tokens[:0], lexed.docs = head, {}
    errors = list(lexed.errors)
    tokens, at = lexed.tokens, 0
    program = decs.Program(())
    while len(errors) < MAX_ERRORS:
        try:
            program = _parse_from(lexed, at, file)
            break
        except SyntaxError_ as error:
            errors.append(error)
            break
        except VisitError as error:
            assert isinstance(error.orig_exc, SyntaxError_)
            errors.append(error.orig_exc)
            break
        except UnexpectedToken as error:
            bad = error.token
            if not _follows(lexed.errors, tokens, bad):
                errors.append(_explain(error, tokens, source, file, line))
            at = _next_declaration(tokens, at, bad)
            if at >= len(tokens):
                break
    if errors:
        errors.sort(key=lambda e: e.span[:2])
        first = errors[0]
        first.others = tuple(errors[1:])
        raise first
    return program


def _parse_from(lexed: Lexed, start: int, file: str) -> decs.Program:
    tokens: Any = lexed.tokens[start:] if start else lexed.tokens
    docs = {lexed.tokens[i].start_pos or 0: text for i, text in lexed.docs.items()}
    with TreeBuilder.reading(file, docs):
        result: object = _grammar().parse(tokens)
    assert isinstance(result, decs.Program)
    return result


def _follows(skipped: list[SyntaxError_], tokens: list[Token], bad: Token) -> bool:
    """Test whether an error follows from a skipped character in the same declaration."""
    end = (bad.line or 0, bad.column or 0) if bad.type != "$END" else (math.inf, 0)
    heads = [t.line or 0 for t in tokens if t.column == 1 and t.type in _DECLARATION]
    first = max((line for line in heads if (line, 1) < end), default=0)
    return any(first <= error.span.line and error.span[:2] < end for error in skipped)


def _next_declaration(tokens: list[Token], start: int, bad: Token) -> int:
    """Return the index of the next declaration that begins a line, at or behind `bad`."""
    if bad.type == "$END":
        return len(tokens)
    reached = bad.start_pos or 0
    for index in range(start + 1, len(tokens)):
        token = tokens[index]
        if (token.start_pos or 0) >= reached and token.column == 1 and token.type in _DECLARATION:
            return index
    return len(tokens)


def _explain(
    error: UnexpectedToken, tokens: list[Token], source: str, file: str, first: int
) -> SyntaxError_:
    token = error.token
    accepts = set(error.accepts or error.expected)
    wanted = expected_in_words(accepts)
    if token.type == "$END":
        span, found = end_of(source, file, first), "the text ends here"
    else:
        line, column = token.line or 1, token.column or 1
        span = Span(line, column, token.end_line or line, token.end_column or column, file)
        found = f"found {_shown(token)}"
    if wanted:
        message = f"Expected {wanted}, but {found}."
    elif token.type == "$END":
        message = "The text ends before the program is complete."
    else:
        message = f"Did not expect {_shown(token)} here."
    at = len(source) if token.type == "$END" else token.start_pos or 0
    before = tokens[: bisect_left(tokens, at, key=lambda t: t.start_pos or 0)]
    return SyntaxError_(
        codes.syntax.UNEXPECTED, message, span, way_out(Slip(token, frozenset(accepts), before))
    )


def end_of(source: str, file: str = "", line: int = 1) -> Span:
    """Return the end of a text without trailing space; the text begins at that line."""
    span = span_at(source, len(source.rstrip(" \t\r\n")), file)
    return span._replace(line=span.line + line - 1, end_line=span.end_line + line - 1)


def _shown(token: Token) -> str:
    text = str(token)
    short = text[:_LONGEST].partition("\n")[0]
    return f"`{text}`" if short == text else f"`{short}..`"


def expected_in_words(accepts: set[str]) -> str:
    """Describe the accepted tokens, at most four things."""
    words: list[str] = []
    rest = set(accepts)
    if rest >= {"IF", "FLOAT"}:
        words.append("an expression")
        rest -= _ATOMS | _OPERATORS
    elif rest >= {"FLOAT", "OP"}:
        words.append("an operator or an argument")
        rest -= _ATOMS | _OPERATORS
    elif "UNDERSCORE" in rest:
        words.append("a pattern")
        rest -= _ATOMS
    elif rest >= {"STAR", "LBRACK"}:
        words.append("a type")
        rest -= _ATOMS
    elif rest >= {"OP", "MINUS"}:
        words.append("an operator")
        rest -= _OPERATORS
    words += [f"`{word.lower()}`" for word in _KEYWORDS if word in rest]
    words += [_WORDS[name] for name in _WORDS if name in rest]
    if rest >= {"DEF", "ENTRY", "MODULE"}:
        words.append("a declaration (`def`, `entry`, `type`)")
    if not words and "$END" in rest:
        words = ["the end of the program"]
    words = words[:4]
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)
