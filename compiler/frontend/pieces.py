"""A text in pieces, each of whole declarations: what an edit does not touch is not read again.

A text is cut where a line begins as a declaration does. A piece that is no sequence of declarations
by itself, since the line was in the middle of an expression or of a module, is joined with those
behind it. Of pieces that are, the parser makes one by one what it makes of all: behind a whole
declaration, a word that begins another one begins another one.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from dataclasses import dataclass

from compiler.base.errors import SyntaxError_
from compiler.frontend import decs
from compiler.frontend.check.program import later
from compiler.frontend.files import imports
from compiler.frontend.lexer import tokenise
from compiler.frontend.parser import end_of, parse

MOST_JOINED = 8
"""Pieces that are tried as one."""
KEPT_CHARACTERS = 400_000
"""Of all pieces of which it is kept what is in them, but for those of the last text."""

_WORDS = "def|entry|let|type|module|open|import|local"
_HEAD = re.compile(rf"^(?:(?:{_WORDS})(?![A-Za-z0-9_'])|#\[)", re.MULTILINE)
_PARTS = re.compile(r"[A-Za-z_][A-Za-z0-9_']*|[^A-Za-z_.\s][^A-Za-z_\s]*")


@dataclass(slots=True, eq=False)
class Piece:
    """A part of a text: the words in it, the paths that it imports, what it declares.

    `declares`: kinds and names, with the lines in the piece, from 0.
    """

    text: str
    words: frozenset[str]
    imports: tuple[str, ...]
    declares: dict[tuple[str, str], int]
    tree: tuple[tuple[str, int], tuple[decs.Dec, ...]] | None
    """Its declarations, where it begins there; None once nobody is expected to ask."""

    def at(self, file: str, line: int) -> tuple[decs.Dec, ...]:
        """Its declarations, where it begins at that line of a file."""
        if self.tree is not None and self.tree[0] == (file, line):
            return self.tree[1]
        return parse(self.text, file, line=line).decs


Cut = list[tuple[int, Piece]]
"""A text in pieces, each with its first line."""


@dataclass(frozen=True, slots=True)
class _Broken:
    """A text that is no sequence of declarations."""

    is_open: bool
    """Whether all that is wrong is that it ends."""


_known: OrderedDict[str, Piece | _Broken] = OrderedDict()
"""What has been read."""


def forget() -> None:
    """Forget all that has been read."""
    _known.clear()


def cut(source: str, file: str = "") -> Cut | None:
    """The pieces of a file's text with their first lines; None: it cannot be cut into whole ones.

    Errors: as those of `parse`, where it is clear which they are.
    """
    heads = [found.start() for found in _HEAD.finditer(source)]
    ends = [*(head for head in heads if head), len(source)]
    found: Cut = []
    broken: tuple[int, int] | None = None
    behind: int | None = None
    start, line, at = 0, 1, 0
    while at < len(ends):
        end = _whole(source, file, start, ends, at, line)
        if end is None:
            end, behind = at, None
            broken = broken[0] if broken else start, ends[at]
        else:
            piece = _known[source[start : ends[end]]]
            assert isinstance(piece, Piece)
            found.append((line, piece))
            behind = behind or ends[end]
        line += source.count("\n", start, ends[end])
        start, at = ends[end], end + 1
    _forget(len(source))
    if broken is None:
        return found
    _tell(source, file, *broken, behind)
    return None


def _whole(source: str, file: str, start: int, ends: list[int], at: int, line: int) -> int | None:
    """Where in `ends` the piece ends that begins at `start`; None: there is none."""
    for end in range(at, min(at + MOST_JOINED, len(ends))):
        found = _read(source[start : ends[end]], file, line)
        if isinstance(found, Piece):
            return end
        if not found.is_open:
            break
    return None


def _tell(source: str, file: str, first: int, last: int, behind: int | None) -> None:
    """Raise what is wrong with a text, if a part of it tells.

    All in front of `first` is whole, and all behind `last`, up to `behind` a single piece. Where
    that piece is read from its beginning, it and all others are read as they are by themselves.
    """
    part = source[first : last if behind is None else behind]
    if "#[" in part:  # it might be closed further on
        return
    line = source.count("\n", 0, first) + 1
    next_line = line + source.count("\n", first, last)
    try:
        parse(part, file, line=line)
    except SyntaxError_ as error:
        if behind is None or all(e.span[:2] <= (next_line, 1) for e in (error, *error.others)):
            raise


def _forget(latest: int) -> None:
    characters = sum(map(len, _known))
    while characters > KEPT_CHARACTERS + latest:
        characters -= len(_known.popitem(last=False)[0])


def _read(text: str, file: str, line: int) -> Piece | _Broken:
    """What begins at that line of a file."""
    if text in _known:
        _known.move_to_end(text)
    else:
        _known[text] = _piece(text, file, line)
    return _known[text]


def _piece(text: str, file: str, line: int) -> Piece | _Broken:
    try:
        tree = parse(text, file, line=line).decs
    except SyntaxError_ as error:
        return _Broken(error.span == end_of(text, file, line))
    words = {word for token in tokenise(text).tokens for word in _PARTS.findall(token)}
    paths = tuple(one.path for one in imports(tree))
    declares = {name: at - line for name, at in later(tree).items()}
    return Piece(text, frozenset(words), paths, declares, ((file, line), tree))
