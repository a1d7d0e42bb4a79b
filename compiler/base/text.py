"""A stage's text as records, one per line, so that linking is data and not code."""

from __future__ import annotations

from functools import lru_cache

from compiler.base.dataclass import dataclass
from compiler.base.spans import Prov


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its text, the source it came from, and the statement (numbered from 0) it shows.

    All lines of a statement that spans several have its number; -1 where there is none.
    """

    text: str
    src: Prov = ()
    node: int = -1


Text = tuple[Line, ...]


@lru_cache(maxsize=64)
def lines(text: str) -> Text:
    """The lines of a text that many programs have in theirs, which share them."""
    return tuple(map(Line, text.split("\n")))


DEEPEST = 80
"""Columns of indentation."""


def narrow(text: str) -> str:
    """A line of a tree; what stands further in than `DEEPEST` has its column as a number in front.

    So the text of a tree grows with its nodes, however deep they are.
    """
    column = len(text) - len(text.lstrip(" "))
    return text if column <= DEEPEST else f"{' ' * DEEPEST}[{column}] {text[column:]}"


def plain(text: Text) -> str:
    """The lines as one string, each ended by a newline."""
    return "".join(f"{line.text}\n" for line in text)
