"""Places in a source text, and the caret drawing that error messages use.

Lines and columns count from 1, in characters; the end is exclusive. `file` is empty for the
program that the user typed, and a name for the prelude and imported files.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Span(NamedTuple):
    """A piece of source text."""

    line: int
    col: int
    end_line: int
    end_col: int
    file: str = ""

    def to(self, other: Span) -> Span:
        """The smallest span from the start of this one to the end of `other`."""
        return Span(self.line, self.col, other.end_line, other.end_col, self.file)

    @property
    def place(self) -> str:
        """`file:line:col`, as error messages begin."""
        prefix = f"{self.file}:" if self.file else ""
        return f"{prefix}{self.line}:{self.col}"


NOWHERE = Span(0, 0, 0, 0)

Prov = tuple[Span, ...]
"""Provenance: the source spans that a statement came from, most specific first."""


def merge_prov(*provs: Prov) -> Prov:
    """The spans of all of `provs`, each once, in order; places outside any source are left out."""
    seen: dict[Span, None] = {}
    for prov in provs:
        for span in prov:
            if span.line:
                seen[span] = None
    return tuple(seen)


def caret(source: str, span: Span) -> str:
    """The first line of `span` with a run of `^` under it, or "" when there is no such line."""
    lines = source.splitlines()
    if not 1 <= span.line <= len(lines):
        return ""
    text = lines[span.line - 1].replace("\t", " ")
    end = span.end_col if span.end_line == span.line else len(text) + 1
    margin = f"{span.line} | "
    under = " " * (len(margin) - 2) + "| " + " " * (span.col - 1)
    return f"{margin}{text}\n{under}{'^' * max(1, end - span.col)}"


def user_spans(prov: Iterable[Span]) -> list[list[int]]:
    """Spans in the user's own text as `[line, col, end_line, end_col]`, the protocol's shape."""
    return [list(span[:4]) for span in prov if not span.file and span.line]
