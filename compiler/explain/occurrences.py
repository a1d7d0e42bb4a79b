"""Find the lines of a stage's text that come from an expression of the source.

The page finds them by itself in the texts that it has (`linesFor` in `static/src/spans.ts`, by the
same rules), and sends requests for other stages.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from compiler.base.dataclass import dataclass
from compiler.base.spans import Prov, user_spans
from compiler.base.text import Text
from compiler.protocol.editing import Occurrence

MOST_AROUND = 60
"""If more lines than these enclose a place, none is shown."""
_WORD = re.compile(r"\w", re.ASCII)
_Place = list[int | str]


@dataclass(slots=True)
class _Lines:
    """Lines of one provenance: their number, and the first one, preferably with a word."""

    count: int
    line: int
    text: str
    has_word: bool


class Index:
    """Lines of a text by provenance; much smaller than the text."""

    __slots__ = ("_lines",)

    def __init__(self, text: Text) -> None:
        self._lines: dict[Prov, _Lines] = {}
        for number, line in enumerate(text):
            known = self._lines.get(line.src)
            if known is None:
                has_word = _WORD.search(line.text) is not None
                self._lines[line.src] = _Lines(1, number, line.text.strip(), has_word)
                continue
            known.count += 1
            if not known.has_word and _WORD.search(line.text):
                known.line, known.text, known.has_word = number, line.text.strip(), True

    def places(self) -> Iterable[_Place]:
        """Yield all places that lines come from; some several times."""
        for prov in self._lines:
            yield from user_spans(prov)

    def occurrence(self, place: _Place) -> Occurrence:
        """Return the lines from a place."""
        of, shared, around = [], [], []
        for prov, lines in self._lines.items():
            src = user_spans(prov)
            if not src:
                continue
            if _contains(place, src[0]):
                of.append(lines)
            elif any(_contains(place, one) for one in src):
                shared.append(lines)
            elif _contains(src[0], place):
                around.append(lines)
        if not of and not shared and sum(one.count for one in around) <= MOST_AROUND:
            shared = around
        return {"lines": sum(one.count for one in of), "text": _first(of or shared)}


def _first(found: list[_Lines]) -> str:
    best = min(found, key=lambda one: (not one.has_word, one.line), default=None)
    return best.text if best else ""


def _contains(outer: _Place, inner: _Place) -> bool:
    """Return True if the place `outer` contains `inner`."""
    if outer[4:] != inner[4:]:
        return False
    return tuple(outer[:2]) <= tuple(inner[:2]) and tuple(inner[2:4]) <= tuple(outer[2:4])
