"""Spans of a source text, and the caret drawing that error messages use.

Lines and columns count from 1, in characters; the end is exclusive. A line ends at a newline and
nowhere else, as in the language. `file` is empty for the program that the user typed, and a name
for the prelude and imported files.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple


class Span(NamedTuple):
    """A piece of source text."""

    line: int
    col: int
    end_line: int
    end_col: int
    file: str = ""

    def to(self, other: Span) -> Span:
        """Return the smallest span from the start of this one to the end of `other`."""
        return Span(self.line, self.col, other.end_line, other.end_col, self.file)

    def holds(self, other: Span) -> bool:
        """Return True if `other` lies within this span."""
        same = self.file == other.file
        return same and self[:2] <= other[:2] and other[2:4] <= self[2:4]

    @property
    def in_prelude(self) -> bool:
        """Return True for a place in a file of the prelude."""
        return self.file[:1] == PRELUDE[0] and self.file.startswith(PRELUDE)

    @property
    def is_own(self) -> bool:
        """Return True for a place in one of the user's files."""
        return self.line > 0 and not self.in_prelude and self.file != INPUT

    @property
    def position(self) -> str:
        """`file:line:col`, the beginning of an error message."""
        is_file = self.file[:1] != "<" or self.file[-1:] != ">"
        file = self.file if is_file else self.file[1:-1]
        prefix = f"{file}:" if file else ""
        return f"{prefix}{self.line}:{self.col}"


NOWHERE = Span(0, 0, 0, 0)
INPUT = "<input>"
"""The file of places in input values, which belong to no source file."""
EXPRESSION = "<expression>"
"""The file of places in an expression that is evaluated over a program's definitions."""
_STAGE = "<stage {}>"
"""The file of places in the text of a stage that the user has edited."""
PRELUDE = "<prelude>/"
"""Prefix of the names of the prelude's files; no other file has it."""

Prov = tuple[Span, ...]
"""Provenance: the source spans that a statement came from, most specific first."""


def file_of_stage(stage: str) -> str:
    """Return the file of places in a stage's text that the user has edited."""
    return _STAGE.format(stage)


def merge_prov(*provs: Prov) -> Prov:
    """Concatenate provenances without duplicates; spans outside any source are left out."""
    seen: dict[Span, None] = {}
    for prov in provs:
        for span in prov:
            if span.line:
                seen[span] = None
    return tuple(seen)


def lines(source: str) -> list[str]:
    """Split a text into lines, without CR or LF; at least one."""
    return [line.removesuffix("\r") for line in source.split("\n")]


def span_at(source: str, at: int, file: str = "") -> Span:
    """Return the span of the character at an offset; empty at the end of the text."""
    line = source.count("\n", 0, at) + 1
    column = at - source.rfind("\n", 0, at)
    return Span(line, column, line, column + (at < len(source)), file)


def caret(source: str, span: Span) -> str:
    """Draw the first line of `span` with `^` under it; "" if the line does not exist.

    A line that is too long is cut to the surroundings of the span.
    """
    every = lines(source)
    if not source or not 1 <= span.line <= len(every):
        return ""
    text = every[span.line - 1].translate(_BLANKS)
    column = span.col - 1
    end = span.end_col - 1 if span.end_line == span.line else len(text)
    if len(text) > _LONGEST:
        start = max(0, column - _LONGEST // 2)
        text = text[start : start + _LONGEST]
        column, end = column - start, min(end - start, len(text))
    margin = f"{span.line} | "
    under = " " * (len(margin) - 2) + "| " + " " * column
    return f"{margin}{text}\n{under}{'^' * max(1, end - column)}"


_LONGEST = 200
"""Characters of a source line shown in an error."""
_BLANKS = dict.fromkeys([*range(32), *range(127, 160), 0x2028, 0x2029], " ")
"""Control characters and separators, shown as blanks."""


def user_spans(prov: Iterable[Span]) -> list[list[int | str]]:
    """Return spans in the user's files in the protocol's shape; do not mutate the result.

    The result is cached: a kernel fused from hundreds has hundreds of spans, as has each remark.
    """
    return _user_spans(tuple(prov))


@lru_cache(maxsize=64)
def _user_spans(prov: Prov) -> list[list[int | str]]:
    return [plain(span) for span in prov if span.is_own]


def by_file(span: Span) -> tuple[str, Span]:
    """Sort key: file by file, the main program first."""
    return span.file, span


def line_of(prov: Iterable[Span]) -> str:
    """Name the source line of a provenance for the middle of a sentence; "" if unknown."""
    found = next((span for span in prov if span.is_own), None)
    if found is None:
        return ""
    where = "the expression" if found.file == EXPRESSION else f"`{found.file}`"
    return f"line {found.line} of {where}" if found.file else f"line {found.line}"


def called_from(prov: Iterable[Span]) -> list[Span]:
    """Return the places in other files that led to code of an imported file."""
    own = [span for span in prov if span.is_own]
    return [span for span in own[1:] if span.file != own[0].file]


def plain(span: Span) -> list[int | str]:
    """Return `[line, col, end_line, end_col]` as in the protocol, with the file if imported."""
    return list(span if span.file else span[:4])
