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
        """The smallest span from the start of this one to the end of `other`."""
        return Span(self.line, self.col, other.end_line, other.end_col, self.file)

    def holds(self, other: Span) -> bool:
        """Whether all of `other` is in it."""
        same = self.file == other.file
        return same and self[:2] <= other[:2] and other[2:4] <= self[2:4]

    @property
    def in_prelude(self) -> bool:
        """Whether it is in a file of the prelude, not in one of the user's."""
        return self.file[:1] == PRELUDE[0] and self.file.startswith(PRELUDE)

    @property
    def is_own(self) -> bool:
        """Whether it is somewhere in the user's files."""
        return self.line > 0 and not self.in_prelude and self.file != INPUT

    @property
    def position(self) -> str:
        """`file:line:col`, as error messages begin."""
        is_file = self.file[:1] != "<" or self.file[-1:] != ">"
        file = self.file if is_file else self.file[1:-1]
        prefix = f"{file}:" if file else ""
        return f"{prefix}{self.line}:{self.col}"


NOWHERE = Span(0, 0, 0, 0)
INPUT = "<input>"
"""The file of places in input values, which is none of the program's."""
EXPRESSION = "<expression>"
"""The file of places in an expression that is evaluated over a program's definitions."""
_STAGE = "<stage {}>"
"""The file of places in the text of a stage that its reader has written."""
PRELUDE = "<prelude>/"
"""How the names of the prelude's files begin, and of no other's."""

Prov = tuple[Span, ...]
"""Provenance: the source spans that a statement came from, most specific first."""


def file_of_stage(stage: str) -> str:
    """The file of places in the text of a stage, where that was written by its reader."""
    return _STAGE.format(stage)


def merge_prov(*provs: Prov) -> Prov:
    """The spans of all of `provs`, each once, in order; spans outside any source are left out."""
    seen: dict[Span, None] = {}
    for prov in provs:
        for span in prov:
            if span.line:
                seen[span] = None
    return tuple(seen)


def lines(source: str) -> list[str]:
    """The lines of a text, without the ends that belong to the newline; at least one."""
    return [line.removesuffix("\r") for line in source.split("\n")]


def span_at(source: str, at: int, file: str = "") -> Span:
    """The span of the character at an offset; nothing wide at the end of the text."""
    line = source.count("\n", 0, at) + 1
    column = at - source.rfind("\n", 0, at)
    return Span(line, column, line, column + (at < len(source)), file)


def caret(source: str, span: Span) -> str:
    """The first line of `span` with a run of `^` under it, or "" when there is no such line.

    Of a line that is too long to read it is what stands around the span.
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
"""Characters of a line in an error."""
_BLANKS = dict.fromkeys([*range(32), *range(127, 160), 0x2028, 0x2029], " ")
"""What a terminal or a page would not show as one character."""


def user_spans(prov: Iterable[Span]) -> list[list[int | str]]:
    """Spans in the user's own files, in the protocol's shape: not to be written.

    A kernel that hundreds of others were fused into has hundreds; so has all that is said of it.
    """
    return _user_spans(tuple(prov))


@lru_cache(maxsize=64)
def _user_spans(prov: Prov) -> list[list[int | str]]:
    return [plain(span) for span in prov if span.is_own]


def by_file(span: Span) -> tuple[str, Span]:
    """A key that sorts spans file by file, the main program first."""
    return span.file, span


def line_of(prov: Iterable[Span]) -> str:
    """The line that something is from, in the middle of a sentence; "" if that is not known."""
    found = next((span for span in prov if span.is_own), None)
    if found is None:
        return ""
    where = "the expression" if found.file == EXPRESSION else f"`{found.file}`"
    return f"line {found.line} of {where}" if found.file else f"line {found.line}"


def called_from(prov: Iterable[Span]) -> list[Span]:
    """Of what is from an imported file: the places in other files that led there."""
    own = [span for span in prov if span.is_own]
    return [span for span in own[1:] if span.file != own[0].file]


def plain(span: Span) -> list[int | str]:
    """A span in the protocol's shape: `[line, col, end_line, end_col]`, and the imported file."""
    return list(span if span.file else span[:4])
