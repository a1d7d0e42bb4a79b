"""Lines of a stage's text as records, so that linking is data and not code."""

from __future__ import annotations

from functools import lru_cache

from compiler.base.dataclass import dataclass
from compiler.base.spans import Prov


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its text, its provenance, and the number of its statement (from 0).

    All lines of a statement that spans several have its number; -1 where there is none.
    """

    text: str
    src: Prov = ()
    node: int = -1


Text = tuple[Line, ...]


@lru_cache(maxsize=64)
def lines(text: str) -> Text:
    """Return lines to be shared by the texts of many programs."""
    return tuple(map(Line, text.split("\n")))


DEEPEST = 80
"""The deepest indentation, in columns."""


def narrow(text: str) -> str:
    """Cap the indentation of a line at `DEEPEST`; write a deeper column as a number in front.

    So the text of a tree grows with its nodes, however deep they are.
    """
    column = len(text) - len(text.lstrip(" "))
    return text if column <= DEEPEST else f"{' ' * DEEPEST}[{column}] {text[column:]}"


def plain(text: Text) -> str:
    """Join the lines into one string, each ended by a newline."""
    return "".join(f"{line.text}\n" for line in text)
