"""Generate a parser from a language's format lines: the inverse of `printing.py`.

The functions are written as Python text, one for each class of nodes, and compiled when a node of
the class is first read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, Protocol

from compiler.base.errors import CompilerBug, SyntaxError_
from compiler.dialect.format import Fixed, Option, Pairs, Piece, Slot
from compiler.dialect.table import Dialect, NodeSpec
from compiler.dialect.tokens import Tokens, words_of


class TextReader(Protocol):
    """The reader of a language; its methods give types of names and fields that lines leave out."""

    tokens: Tokens
    types: dict[str, Any]


_Pieces = tuple[Piece, ...]
Read = Callable[[Any], Any]
"""Reads the next item with a `TextReader`."""


class FormatParser:
    """Parser of the nodes of a language.

    `reads` has a function for each kind of field that is no node, `wholes` for kinds that are read
    as a tuple; `by_hand` reads the nodes that no format line can describe. `forms` are the classes
    that `form` tells apart by their first tokens.
    """

    def __init__(
        self,
        dialect: Dialect,
        reads: Mapping[str, Read],
        wholes: Mapping[str, Read],
        by_hand: Mapping[type, Read],
        forms: Iterable[type],
    ) -> None:
        self._dialect = dialect
        self._reads = reads
        self._wholes = wholes
        self._made: dict[type, Read] = dict(by_hand)
        self._begun: dict[str, tuple[type, ...]] = {}
        self._led: dict[str, tuple[type, ...]] = {}
        for cls in forms:
            self._add(cls)

    @property
    def words(self) -> Set[str]:
        """Return the words that forms begin with."""
        return self._begun.keys()

    def _add(self, cls: type) -> None:
        """Register a class by its first word, or by the token behind its first field."""
        node = self._dialect.find(cls)
        table, words = self._begun, heads(node)
        if not words:
            table, words = self._led, _second(node)
        for head in words:
            table[head] = (*table.get(head, ()), cls)

    def form(self, p: TextReader) -> Any:
        """Read any of the forms, or return None if none begins here. Errors: a malformed text."""
        t = p.tokens
        found = self._begun.get(t.word, ())
        if not found and t.kind == "name":
            found = self._led.get(t.peek().text, ())
        return self.first_of(p, found) if found else None

    def first_of(self, p: TextReader, classes: tuple[type, ...]) -> Any:
        """Read a node of the first class that matches.

        Once what is nested in a node has begun, no other class is tried. Raises `SyntaxError_`: of
        all classes', the error that is furthest in the text.
        """
        t = p.tokens
        start, best, furthest = t.place, None, -1
        for cls in classes:
            try:
                return self.read(p, cls)
            except SyntaxError_ as error:
                if t.place > furthest:
                    best, furthest = error, t.place
                if t.committed > start:
                    break
                t.back(start)
        assert best is not None
        raise best

    def read(self, p: TextReader, cls: type) -> Any:
        """Read a node of that class. Errors: a malformed text."""
        made = self._made.get(cls)
        if made is None:
            made = self._made[cls] = _Code(self, self._dialect, self._dialect.find(cls)).function()
        return made(p)

    def read_of(self, node: NodeSpec, slot: Slot | Option) -> tuple[Read, bool]:
        """Return the reader of a field, and True if it reads one item of many."""
        spec = node.field(slot.field)
        kind = slot.kind or spec.kind
        if kind in self._wholes:
            return self._wholes[kind], False
        if kind in self._reads:
            return self._reads[kind], spec.many
        classes = self._dialect.classes(kind)
        if len(classes) == 1:
            return (lambda p: self.read(p, classes[0])), spec.many
        if classes:
            return self._any_of(classes), spec.many
        raise CompilerBug(f"{node.cls.__name__}: nobody reads a `{kind}`: {node.line!r}")

    def _any_of(self, classes: tuple[type, ...]) -> Read:
        """Return a reader for a node of one of the classes, which begin with different words."""

        def read(p: TextReader) -> Any:
            begun = [c for c in classes if p.tokens.word in heads(self._dialect.find(c))]
            return self.first_of(p, tuple(begun) or classes)

        return read


def heads(node: NodeSpec) -> tuple[str, ...]:
    """Return the tokens that a node's text may begin with; none if it begins with a field."""
    if node.traits.begins:
        return node.traits.begins
    first = next(node.pieces(), None)
    if isinstance(first, Fixed):
        return words_of(first.text)[:1]
    if isinstance(first, Option) and first.otherwise:
        return (words_of(first.before)[0], words_of(first.otherwise)[0])
    return ()


def _second(node: NodeSpec) -> tuple[str, ...]:
    """Return the token behind the first field of a line. Raises `CompilerBug` if there is none."""
    pieces = node.rows[0].pieces
    if len(pieces) < 2 or not isinstance(pieces[1], Fixed):
        raise CompilerBug(f"nothing tells where {node.cls.__name__} begins: {node.line!r}")
    return words_of(pieces[1].text)[:1]


class _Code:
    """Builds the Python source of a function that reads nodes of one class."""

    def __init__(self, forms: FormatParser, dialect: Dialect, node: NodeSpec) -> None:
        self._forms = forms
        self._dialect = dialect
        self._node = node
        self._names: dict[str, Any] = {"cls": node.cls}
        self._given: list[str] = []
        """Fields read so far."""
        self._lines = ["t = p.tokens"]
        self._bound: set[str] = set()
        """Fields whose names have their types."""

    def function(self) -> Read:
        node = self._node
        if not node.rows:
            raise CompilerBug(f"{node.cls.__name__} has no format line")
        rows = [row.pieces for row in node.rows]
        for row, below in zip(rows, [*rows[1:], ()], strict=True):
            for number, piece in enumerate(row):
                self._piece(piece, row[:number], row[number + 1 :], below)
        found = node.traits.finds or {}
        for field, question in found.items():
            self._lines.append(f"f_{field} = {self._asked(question)}")
        self._bind()
        self._given += [field for field in found if field not in self._given]
        self._lines.append(f"return cls({', '.join(f'{name}=f_{name}' for name in self._given)})")
        body = "\n".join(f"    {line}" for line in self._lines)
        name = f"{__file__} ({node.cls.__name__})"
        exec(compile(f"def read(p):\n{body}", name, "exec"), self._names)
        made: Read = self._names["read"]
        return made

    def _name(self, value: Any) -> str:
        name = f"k{len(self._names)}"
        self._names[name] = value
        return name

    def _asked(self, question: str) -> str:
        """Return the source of a call of a parser's method with fields."""
        method, *fields = question.split()
        return f"p.{method}({', '.join(f'f_{field}' for field in fields)})"

    def _bind(self) -> None:
        """Emit the type declarations of bound names."""
        for field, question in (self._node.traits.binds or {}).items():
            if field in self._bound:
                continue
            self._bound.add(field)
            if self._node.field(field).many:
                _, of = question.split()
                pairs = f"zip(f_{field}, f_{of}, strict=True)"
                asked = question.replace(f" {of}", "")
                self._lines.append(f"for a, b in {pairs}: p.types[a] = p.{asked}(b)")
            else:
                self._lines.append(f"p.types[f_{field}] = {self._asked(question)}")

    def _piece(self, piece: Piece, before: _Pieces, after: _Pieces, below: _Pieces) -> None:
        """Emit code that reads a piece of a row; `below` is the next row."""
        match piece:
            case Fixed(text):
                if before or not self._is_repeated(after):
                    self._lines += _needs(words_of(text))
            case Slot(field):
                self._given.append(field)
                self._slot(piece, before, after or below)
            case Option(field):
                self._given.append(field)
                self._option(piece)
            case Pairs(first, between, second):
                self._given += [first.field, second.field]
                self._pairs(first, between, second, after or below)

    def _is_repeated(self, rest: _Pieces) -> bool:
        """Return True for a row of a text and a tuple of nodes, which repeats for each of them."""
        if len(rest) != 1 or not isinstance(rest[0], Slot):
            return False
        nested = self._dialect.is_nested_slot(self._node, rest[0])
        return nested and self._node.field(rest[0].field).many

    def _slot(self, slot: Slot, before: _Pieces, after: _Pieces) -> None:
        read, each = self._forms.read_of(self._node, slot)
        field, name = slot.field, self._name(read)
        nested = self._dialect.is_nested_slot(self._node, slot)
        if nested:
            self._bind()
            self._lines.append("t.committed = t.place")
        if not each:
            self._lines.append(f"f_{field} = {name}(p)")
        elif nested:
            self._repeated(slot, name, before)
        else:
            self._lines += [f"f_{field} = []", *_listed(f"f_{field}.append({name}(p))", after)]
            self._lines.append(f"f_{field} = tuple(f_{field})")

    def _repeated(self, slot: Slot, name: str, before: _Pieces) -> None:
        """Emit a loop that reads items while the row's first word (or the item's) comes next."""
        field = slot.field
        if before and isinstance(before[0], Fixed):
            (word,) = words_of(before[0].text)
            asked = f"t.take_word({word!r})"
        else:
            classes = self._dialect.classes(slot.kind or self._node.field(field).kind)
            words = {word for cls in classes for word in heads(self._dialect.find(cls))}
            asked = f"t.word in {sorted(words)!r}"
        self._lines += [f"f_{field} = []", f"while {asked}:", f"    f_{field}.append({name}(p))"]
        self._lines.append(f"f_{field} = tuple(f_{field})")

    def _option(self, piece: Option) -> None:
        field = piece.field
        first, *rest = words_of(piece.before)
        if piece.is_flag:
            self._lines.append(f"f_{field} = t.take_word({first!r})")
            inside = _needs(rest)
        else:
            default = self._name(self._node.field(field).default)
            inside = [*_needs(rest), *self._optional(piece), *_needs(words_of(piece.after))]
            self._lines += [f"f_{field} = {default}"]
        self._lines.append(f"if f_{field}:" if piece.is_flag else f"if t.take_word({first!r}):")
        self._lines += [f"    {line}" for line in inside or ["pass"]]
        if piece.otherwise:
            self._lines += ["else:", *(f"    {n}" for n in _needs(words_of(piece.otherwise)))]

    def _optional(self, piece: Option) -> list[str]:
        """Return statements that read the value of an optional field."""
        field = piece.field
        read, each = self._forms.read_of(self._node, piece)
        one = f"{self._name(read)}(p)"
        if not each:
            return [f"f_{field} = {one}"]
        listed = _listed(f"f_{field}.append({one})", (Fixed(piece.after),))
        return [f"f_{field} = []", *listed, f"f_{field} = tuple(f_{field})"]

    def _pairs(self, first: Slot, between: str, second: Slot, after: _Pieces) -> None:
        a, b = (self._name(self._forms.read_of(self._node, slot)[0]) for slot in (first, second))
        needs = "".join(f"t.need({word!r}); " for word in words_of(between))
        one, two = f"f_{first.field}", f"f_{second.field}"
        step = f"{one}.append({a}(p)); {needs}{two}.append({b}(p))"
        self._lines += [f"{one}, {two} = [], []", *_listed(step, after)]
        self._lines.append(f"{one}, {two} = tuple({one}), tuple({two})")


def _needs(words: Iterable[str]) -> list[str]:
    """Return statements that consume words."""
    return [f"t.need({word!r})" for word in words]


def _listed(step: str, after: _Pieces) -> list[str]:
    """Return statements that read items with commas, up to the text behind them."""
    end = after[0] if after else None
    if not isinstance(end, Fixed) or not words_of(end.text):
        raise CompilerBug("nothing tells where a tuple of a format line ends")
    close = repr(words_of(end.text)[0])
    return [f"while t.word != {close}:", f"    {step}", f"    if t.word != {close}: t.need(',')"]
