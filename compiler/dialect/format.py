r"""Format lines: the concrete syntax of a node, shared by its printer and its parser.

    line   ::= row, newline, row ..        deeper indentation: further in
    row    ::= text or field ..
    field  ::= {name}                      written and read by the kind of its annotation
             | {name:kind}                 by another kind
             | {name?text}                 the text, unless the field has its default
             | {name? text {} text}        the same with the field's value in it
             | {name?text|other}           one text or the other; the field is a flag
             | {*name: other}              two tuples as pairs `a: b, c: d`
             | {{ or }}                    a brace

A tuple is written with commas; the text behind it says where it ends. A row that ends in a tuple of
nodes is repeated for each of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from compiler.base.errors import CompilerBug


class Fixed(NamedTuple):
    """Literal words and punctuation."""

    text: str


class Slot(NamedTuple):
    """A field, and the kind that it is printed as; "" for that of its annotation."""

    field: str
    kind: str = ""


class Option(NamedTuple):
    """`before value after` unless the field has its default; a flag has no value."""

    field: str
    kind: str
    before: str
    after: str
    is_flag: bool
    otherwise: str = ""
    """The text of a flag that is not set."""


class Pairs(NamedTuple):
    """Two tuples of the same length, printed item by item with a text in between."""

    first: Slot
    between: str
    second: Slot


Piece = Fixed | Slot | Option | Pairs


class FormatRow(NamedTuple):
    """The pieces of one line, `indent` columns further in than the node."""

    indent: int
    pieces: tuple[Piece, ...]


_SLOT = re.compile(r"(\w+)(?::(\w+))?")
_OPTION = re.compile(r"(\w+)(?::(\w+))?\?(.+)", re.DOTALL)
_PAIRS = re.compile(r"\*(\w+)(?::(\w+))?(\W+)(\w+)(?::(\w+))?")


def read_format(line: str) -> tuple[FormatRow, ...]:
    """Parse a format line. Raises `CompilerBug` where it is malformed."""
    rows = []
    for text in line.split("\n"):
        bare = text.lstrip(" ")
        if not bare:
            raise CompilerBug(f"a format line has an empty row: {line!r}")
        rows.append(FormatRow(len(text) - len(bare), tuple(_joined(_pieces(bare)))))
    if rows[0].indent:
        raise CompilerBug(f"the first row of a format line is not at its left: {line!r}")
    return tuple(rows)


def _pieces(row: str) -> Iterator[Piece]:
    at = 0
    while at < len(row):
        if row[at : at + 2] in ("{{", "}}"):
            yield Fixed(row[at])
            at += 2
        elif row[at] == "{":
            end = _closing(row, at)
            yield _field(row[at + 1 : end], row)
            at = end + 1
        elif row[at] == "}":
            raise CompilerBug(f"a brace is closed that was not opened: {row!r}")
        else:
            end = min(k for k in (row.find("{", at), row.find("}", at), len(row)) if k >= 0)
            yield Fixed(row[at:end])
            at = end


def _closing(row: str, start: int) -> int:
    """Return the index behind the brace that opens at `start`."""
    depth = 0
    for at in range(start, len(row)):
        depth += (row[at] == "{") - (row[at] == "}")
        if not depth:
            return at
    raise CompilerBug(f"a brace is not closed: {row!r}")


def _joined(pieces: Iterator[Piece]) -> Iterator[Piece]:
    """Merge neighbouring literal texts."""
    text = ""
    for piece in pieces:
        if isinstance(piece, Fixed):
            text += piece.text
            continue
        if text:
            yield Fixed(text)
        text = ""
        yield piece
    if text:
        yield Fixed(text)


def _field(text: str, row: str) -> Piece:
    if found := _SLOT.fullmatch(text):
        return Slot(found[1], found[2] or "")
    if found := _OPTION.fullmatch(text):
        return _option(found[1], found[2] or "", found[3], row)
    if found := _PAIRS.fullmatch(text):
        return Pairs(Slot(found[1], found[2] or ""), found[3], Slot(found[4], found[5] or ""))
    raise CompilerBug(f"`{{{text}}}` is no field of a format line: {row!r}")


def _option(field: str, kind: str, text: str, row: str) -> Option:
    before, slot, after = text.partition("{}")
    yes, choice, no = before.partition("|")
    if not before.strip():
        raise CompilerBug(f"`{field}` may be missing, and no text says so: {row!r}")
    if "{" in before + after or "}" in before + after or (slot and choice):
        raise CompilerBug(f"`{field}` may be missing, and has more in it than itself: {row!r}")
    if not slot and choice:
        return Option(field, kind, yes, "", True, no)
    return Option(field, kind, before, after, not slot)
