"""Cut a text into pieces of whole declarations, to reuse the trees of unchanged ones.

A text is cut where a line begins as a declaration does. A piece that does not parse by itself, as
the line was inside an expression or a module, is joined with its successors. Separate pieces parse
as the whole does: behind a whole declaration, a keyword that begins a declaration begins another
one.

The body of a module is cut in the same way. The module itself is parsed with a blank body, so that
everything else keeps its span.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Iterator

from compiler.base.dataclass import dataclass
from compiler.base.errors import SyntaxError_
from compiler.frontend import decs
from compiler.frontend.check.program import declaration_lines
from compiler.frontend.files import Import, imports
from compiler.frontend.lexer import tokenise
from compiler.frontend.parser import end_of, parse

MOST_JOINED = 8
"""Most pieces that are tried as one."""
KEPT_CHARACTERS = 400_000
"""Limit on the characters of cached pieces, without those of the latest text."""

_HEAD = r"(?:(?:def|entry|let|type|module|open|import|local)(?![A-Za-z0-9_'])|#\[)"
_TOP = re.compile(f"^{_HEAD}", re.MULTILINE)
_FIRST = re.compile(f"^([ \\t]*){_HEAD}", re.MULTILINE)
_MODULE = re.compile(
    r"(?:\s|--[^\n]*\n)*(?:local\s+)?module\s+[A-Za-z_][A-Za-z0-9_']*\s*"
    r"(?:[(:](?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)?=\s*\{[ \t]*\n"
)
_END = re.compile(r"^[ \t]*\}[ \t]*$", re.MULTILINE)
_CLOSED = re.compile(r"^\}", re.MULTILINE)
_PARTS = re.compile(r"[A-Za-z_][A-Za-z0-9_']*|[^A-Za-z_.\s][^A-Za-z_\s]*")


@dataclass(slots=True, eq=False)
class Piece:
    """A part of a text: its words, its imports, its declarations.

    `declares`: kinds and names, with the lines in the piece, from 0.
    """

    text: str
    words: frozenset[str]
    imports: tuple[str, ...]
    declares: dict[tuple[str, str], int]
    tree: tuple[tuple[str, int], tuple[decs.Dec, ...]] | None
    """Its declarations, for that position; None once nobody is expected to ask."""
    around: str = ""
    """For a cut module, its text with a blank body, which `tree` is parsed from."""
    body: Cut | None = None
    """The pieces of that body, by lines of the piece, from 0."""

    def at(self, file: str, line: int) -> tuple[decs.Dec, ...]:
        """Return its declarations, parsed at that line of a file."""
        if self.tree is None or self.tree[0] != (file, line):
            self.tree = (file, line), parse(self.around or self.text, file, line=line).decs
        return self.tree[1]

    def importing(self, file: str, line: int) -> Iterator[Import]:
        """Yield its imports, in order of text, at that line of a file."""
        if self.imports:
            yield from imports(self.at(file, line))
            for at, piece in self.body or ():
                yield from piece.importing(file, line + at)


Cut = list[tuple[int, Piece]]
"""A text in pieces, each with its first line."""


@dataclass(frozen=True, slots=True)
class _Broken:
    """A text that is no sequence of declarations."""

    is_open: bool
    """True if only its end is missing."""
    part: str
    """The text with certainly whole parts blanked."""


_known: OrderedDict[str, Piece | _Broken] = OrderedDict()
"""Cache of pieces by text."""


def forget() -> None:
    """Clear the cache."""
    _known.clear()


@dataclass(slots=True)
class _Pieces:
    """A text cut as far as possible."""

    whole: Cut
    broken: tuple[int, int] | None = None
    """Start and end of the text that is no declaration."""
    behind: int | None = None
    """End of the piece behind that."""
    last: str = ""
    """The last text that is no declaration."""


def cut(source: str, file: str = "") -> Cut | None:
    """Cut a file's text into pieces with their first lines; None if that is impossible.

    Errors: as those of `parse`, where it is clear which they are.
    """
    found = _cut(source, file, 1, _TOP)
    _forget(len(source))
    if found.broken is None:
        return found.whole
    _tell(source, file, found)
    return None


def _cut(source: str, file: str, line: int, head: re.Pattern[str]) -> _Pieces:
    """Cut a text at that line of a file; `head` matches the starts of declarations."""
    heads = [one.start() for one in head.finditer(source)]
    ends = [*(head for head in heads if head), len(source)]
    found = _Pieces([])
    start, at = 0, 0
    while at < len(ends):
        end = _whole(source, file, start, ends, at, line)
        if end is None:
            end, found.behind = at, None
            found.broken = found.broken[0] if found.broken else start, ends[at]
            found.last = source[start : ends[at]]
        else:
            piece = _known[source[start : ends[end]]]
            assert isinstance(piece, Piece)
            found.whole.append((line, piece))
            found.behind = found.behind or ends[end]
        line += source.count("\n", start, ends[end])
        start, at = ends[end], end + 1
    return found


def _whole(source: str, file: str, start: int, ends: list[int], at: int, line: int) -> int | None:
    """Return the index in `ends` of the end of the piece at `start`; None: there is none."""
    tried = range(at, min(at + MOST_JOINED, len(ends)))
    head = _MODULE.match(source, start, ends[at])
    if head is not None and (closed := _CLOSED.search(source, head.end())):
        tried = range(bisect_left(ends, closed.end(), at), len(ends))[:MOST_JOINED]
    for end in tried:
        found = _read(source[start : ends[end]], file, line)
        if isinstance(found, Piece):
            return end
        if not found.is_open:
            break
    return None


def _tell(source: str, file: str, found: _Pieces) -> None:
    """Raise the syntax error of a text, if a part of it determines that.

    Everything before the broken part is whole, and everything behind it, up to `behind`, is a
    single piece. Parsed from its beginning, that piece and all others have the errors that they
    have by themselves.
    """
    assert found.broken is not None
    first, last = found.broken
    alone = _known.get(found.last) if source[first:last] == found.last else None
    part = alone.part if isinstance(alone, _Broken) else source[first:last]
    behind = found.behind
    if behind is not None:
        part += source[last:behind]
    if "#[" in part:  # an attribute may be closed further on
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
    while characters > KEPT_CHARACTERS + 2 * latest:
        characters -= len(_known.popitem(last=False)[0])


def _read(text: str, file: str, line: int) -> Piece | _Broken:
    """Return the piece or broken text at that line of a file, with a cache."""
    if text in _known:
        _known.move_to_end(text)
    else:
        _known[text] = _module(text, file, line) or _piece(text, file, line)
    return _known[text]


def _piece(text: str, file: str, line: int) -> Piece | _Broken:
    try:
        tree = parse(text, file, line=line).decs
    except SyntaxError_ as error:
        return _Broken(error.span == end_of(text, file, line), text)
    paths = tuple(one.path for one in imports(tree))
    declares = {name: at - line for name, at in declaration_lines(tree).items()}
    return Piece(text, _words(text), paths, declares, ((file, line), tree))


def _module(text: str, file: str, line: int) -> Piece | _Broken | None:
    """Cut a module; None: it is none, or cannot be cut."""
    head, ends = _MODULE.match(text), [found.start() for found in _END.finditer(text)]
    if head is None or not ends or ends[-1] < head.end():
        return None
    start, end = head.end(), ends[-1]
    body = text[start:end]
    indented = _FIRST.search(body)
    if indented is None:
        return None
    around = _blank(text, start, end)
    try:
        tree = parse(around, file, line=line).decs
    except SyntaxError_:
        return None
    if not _is_module(tree):
        return None
    before = text.count("\n", 0, start)
    found = _cut(body, file, line + before, re.compile(f"^{indented[1]}{_HEAD}", re.MULTILINE))
    if found.broken is not None:
        first, last = (start + at for at in found.broken)
        kept, most = text, None
        if found.behind is not None:
            kept = _blank(text, start + found.behind, end)
            most = line + text.count("\n", 0, last), len(indented[1]) + 1
        return _broken_inside(_blank(kept, start, first), file, line, most)
    inside = [(at - line, piece) for at, piece in found.whole]
    paths = tuple(path for _, piece in inside for path in piece.imports)
    declares = {name: at - line for name, at in declaration_lines(tree).items()}
    words = _words(around).union(*(piece.words for _, piece in inside))
    return Piece(text, words, paths, declares, ((file, line), tree), around, inside)


def _broken_inside(part: str, file: str, line: int, most: tuple[int, int] | None) -> _Broken | None:
    """Return a broken module with its certainly whole parts blanked.

    None: its error is behind `most`, where a piece begins that is whole by itself.
    """
    try:
        parse(part, file, line=line)
    except SyntaxError_ as error:
        if most is None or all(e.span[:2] <= most for e in (error, *error.others)):
            return _Broken(error.span == end_of(part, file, line), part)
    return None


def _is_module(tree: tuple[decs.Dec, ...]) -> bool:
    """Test whether a tree is one module with a body, perhaps with parameters."""
    dec = decs.without_local(tree[0]) if len(tree) == 1 else None
    return isinstance(dec, decs.ModDec) and isinstance(dec.body, decs.MBody)


def _blank(text: str, start: int, end: int) -> str:
    """Replace the text between two places by its line breaks."""
    return text[:start] + "\n" * text.count("\n", start, end) + text[end:]


def _words(text: str) -> frozenset[str]:
    return frozenset(word for token in tokenise(text).tokens for word in _PARTS.findall(token))
