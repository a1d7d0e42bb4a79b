"""Tokens of text forms, and a cursor over them that reports errors with positions."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Set
from functools import cached_property
from typing import Literal, NamedTuple, NoReturn

from compiler import codes
from compiler.base.errors import SyntaxError_
from compiler.base.spans import Span

Kind = Literal["name", "word", "number", "string", "op", "end"]

_TOKEN = re.compile(
    r"""(?P<space>(?:\s|--[^\n]*)+)
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?:[iuf]\d+)?)
    |(?P<name>(?:(?<![\w')\]`])%)?[^\W\d][\w']*)
    |`(?P<quoted>[^`]*)`
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<op>->|:\+|\*\*|//|%%|<<|>>|==|!=|<=|>=|&&|\|\||[-+*/%&|^<>!=()\[\]{},:@\\.])""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """`at` is the offset in the text; `word` is a keyword."""

    kind: Kind
    text: str
    at: int


class Tokens:
    """A cursor: `kind` and `text` of the current token, and steps forward."""

    def __init__(self, source: str, keywords: Set[str] = frozenset()) -> None:
        self._source = source
        self._keywords = keywords
        self._all = self._split(source)
        self._at = 0
        self.kind, self.text, _ = self._all[0]
        self.committed = 0
        """The token from which on no other form is tried."""

    def _split(self, source: str) -> list[Token]:
        tokens: list[Token] = []
        at = 0
        while at < len(source):
            match = _TOKEN.match(source, at)
            if match is None:
                raise self._error(f"`{source[at]}` does not begin any token", at, at + 1)
            kind = match.lastgroup
            if kind == "name":
                word = match["name"] in self._keywords
                tokens.append(Token("word" if word else "name", match["name"], at))
            elif kind == "quoted":
                tokens.append(Token("name", match["quoted"], at))
            elif kind != "space":
                tokens.append(Token(kind, match[0], at))  # type: ignore[arg-type]
            at = match.end()
        tokens.append(Token("end", "", at))
        return tokens

    @property
    def place(self) -> int:
        """Return the number of the current token."""
        return self._at

    def back(self, place: int) -> None:
        """Go back to the token with that number."""
        self._at = place
        self.kind, self.text, _ = self._all[place]

    @property
    def word(self) -> str:
        """Return the next operator or word, reserved or not; "" for any other token.

        A name in backquotes is not a word.
        """
        if self.kind == "name":
            return "" if self._source[self._all[self._at].at] == "`" else self.text
        return self.text if self.kind in ("op", "word") else ""

    def take_word(self, text: str) -> bool:
        """Consume an operator or word if it is next; return True if so."""
        found = self.word == text
        if found:
            self.next()
        return found

    def need(self, text: str) -> None:
        """Consume an operator or word. Raises an error if another token is next."""
        if not self.take_word(text):
            self.fail(f"expected `{text}`")

    def next(self) -> str:
        """Consume the current token and return its text."""
        text = self.text
        if self.kind != "end":
            self._at += 1
            self.kind, self.text, _ = self._all[self._at]
        return text

    def peek(self) -> Token:
        """Return the token after the current one."""
        return self._all[min(self._at + 1, len(self._all) - 1)]

    def take(self, text: str) -> bool:
        """Consume the operator or keyword `text` if it is next; return True if so."""
        if self.text == text and self.kind in ("op", "word"):
            self.next()
            return True
        return False

    def expect(self, text: str) -> None:
        """Consume the operator or keyword `text`, or fail."""
        if not self.take(text):
            self.fail(f"expected `{text}`")

    def name(self, what: str = "a name") -> str:
        """Consume a name, or fail."""
        if self.kind != "name":
            self.fail(f"expected {what}")
        return self.next()

    def integer(self, what: str = "a number") -> int:
        """Consume an integer without a suffix, with its sign, or fail."""
        negative = self.take("-")
        if not self.text.isdigit():
            self.fail(f"expected {what}")
        value = int(self.next())
        return -value if negative else value

    def string(self) -> str:
        """Consume a string in double quotes, or fail."""
        if self.kind != "string":
            self.fail("expected a text in double quotes")
        return str(json.loads(self.next(), strict=False))

    def fail(self, message: str) -> NoReturn:
        """Raise an error at the current token."""
        raise self.error(message)

    def error(self, message: str) -> SyntaxError_:
        """Make an error at the current token."""
        token = self._all[self._at]
        found = f"found `{token.text}`" if token.kind != "end" else "found the end of the text"
        return self._error(f"{message}, {found}", token.at, token.at + max(1, len(token.text)))

    @cached_property
    def _lines(self) -> list[int]:
        """Return the offsets at which lines begin."""
        return [0, *(match.end() for match in re.finditer("\n", self._source))]

    def _error(self, message: str, start: int, end: int) -> SyntaxError_:
        line = bisect_right(self._lines, start)
        col = start - self._lines[line - 1] + 1
        return SyntaxError_(
            codes.syntax.UNEXPECTED, message, Span(line, col, line, col + end - start)
        )


def words_of(text: str) -> tuple[str, ...]:
    """Split a text into tokens; strings and quoted names are not recognised."""
    return tuple(m[0] for m in _TOKEN.finditer(text) if m.lastgroup != "space")
