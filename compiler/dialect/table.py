"""The table of a language: nodes with format lines, and facts derived from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import MISSING, fields
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from compiler.base.errors import CompilerBug
from compiler.dialect.format import Fixed, Option, Pairs, Piece, Slot, read_format

_C = TypeVar("_C", bound=type)
_MANY = re.compile(r"tuple\[(.*), ?\.\.\.\]", re.DOTALL)
_WORD = re.compile(r"[^\W\d]\w*")
NOTHING = object()
"""Marks a field without a default."""


class FieldSpec(NamedTuple):
    """A field of a node: `kind` is its annotation, or that of its items if `many`."""

    name: str
    kind: str
    many: bool
    default: Any


class NodeTraits(NamedTuple):
    """Traits shared by all nodes of a class."""

    begins: tuple[str, ...] = ()
    """The words that it may begin with, if it has no format line."""
    bare: bool = False
    """True for a statement that binds nothing."""
    binds: Mapping[str, str] | None = None
    """For fields that bind names: the parser's query for their types, and its arguments."""
    called: str | None = None
    """Its action or result, as messages name it."""
    fails: Any = None
    """Its own condition of failure (apart from its parts'), in the terms of its language."""
    views: str | None = None
    """The field with the array that the result is a view of, in the same memory if possible."""
    overwrites: str | None = None
    """Path of fields, joined by dots, to the arrays that it overwrites."""
    parts: str | None = None
    """Methods that a visitor calls with fields, in order: `method:field ..`."""
    method: str | None = None
    """The method of `NodeRules` that receives nodes of the class."""
    waits: bool | None = None
    """True for a statement at which threads wait, or let others go on."""
    finds: Mapping[str, str] | None = None
    """For fields that are not in the line: the parser's query, and its arguments."""


class NodeSpec:
    """A class of nodes with its format line and traits. Raises `CompilerBug` for a bad line."""

    def __init__(self, cls: type, line: str, traits: NodeTraits) -> None:
        self.cls = cls
        self.line = line
        self.traits = traits
        self.fields = {
            f.name: FieldSpec(f.name, *_kind(str(f.type)), _default(f)) for f in fields(cls)
        }
        self.rows = read_format(line) if line else ()
        self.parts = tuple(_pair(text) for text in (traits.parts or "").split())
        """Pairs of a visitor's method and the field that it receives."""
        for name in (*self.written(), *(field for _, field in self.parts)):
            self.field(name)
        if line:
            self._complete()

    def field(self, name: str) -> FieldSpec:
        """Return a field by name. Raises `CompilerBug` if there is none."""
        found = self.fields.get(name)
        if found is None:
            raise CompilerBug(f"{self.cls.__name__} has no field `{name}`: {self.line!r}")
        return found

    def written(self) -> Iterator[str]:
        """Yield the fields of its line, in order."""
        for row in self.rows:
            for piece in row.pieces:
                if isinstance(piece, Pairs):
                    yield from (piece.first.field, piece.second.field)
                elif isinstance(piece, Slot | Option):
                    yield piece.field

    def _complete(self) -> None:
        """Check that every field is on the line, found by the parser, or has a default."""
        written = list(self.written())
        if len(set(written)) < len(written):
            raise CompilerBug(f"{self.cls.__name__} has a field twice: {self.line!r}")
        for name in {*(self.traits.binds or ()), *(self.traits.finds or ())}:
            self.field(name)
        missing = set(self.fields) - set(written) - set(self.traits.finds or ())
        for name in missing:
            if self.fields[name].default is NOTHING:
                raise CompilerBug(f"{self.cls.__name__}: `{name}` is not in {self.line!r}")
        for piece in self.pieces():
            if isinstance(piece, Option) and self.field(piece.field).default is NOTHING:
                raise CompilerBug(f"{self.cls.__name__}: `{piece.field}` has no default")

    def pieces(self) -> Iterator[Piece]:
        """Yield the pieces of its line."""
        for row in self.rows:
            yield from row.pieces

    def words(self) -> set[str]:
        """Return all words of its line."""
        found: set[str] = set()
        for piece in self.pieces():
            texts = (
                (piece.text,)
                if isinstance(piece, Fixed)
                else (piece.before, piece.after, piece.otherwise)
                if isinstance(piece, Option)
                else ()
            )
            found.update(word for text in texts for word in _WORD.findall(text))
        return found


def _pair(text: str) -> tuple[str, str]:
    method, _, field = text.partition(":")
    return method, field


def _kind(annotation: str) -> tuple[str, bool]:
    found = _MANY.fullmatch(annotation)
    return (found[1], True) if found else (annotation, False)


def _default(field: Any) -> Any:
    return NOTHING if field.default is MISSING else field.default


class Dialect:
    """The nodes of a language by their classes; one that extends another has its nodes as well.

    `blocks` are the kinds of fields that are printed on several lines.
    """

    def __init__(
        self, name: str, blocks: Set[str] = frozenset(), extends: Dialect | None = None
    ) -> None:
        self.name = name
        self.extends = extends
        self.blocks: Set[str] = blocks | (extends.blocks if extends else frozenset())
        self.own: dict[type, NodeSpec] = {}

    def node(self, line: str = "", **traits: Any) -> Callable[[_C], _C]:
        """Register a dataclass with its format line; one without has no text of its own.

        Raises `CompilerBug` where the line is malformed or lacks fields.
        """

        def register(cls: _C) -> _C:
            self.own[cls] = NodeSpec(cls, line, NodeTraits(**traits))
            return cls

        return register

    @cached_property
    def nodes(self) -> Mapping[type, NodeSpec]:
        """Return all nodes, those of its own first."""
        return {**self.own, **(self.extends.nodes if self.extends else {})}

    @cached_property
    def _by_name(self) -> Mapping[str, type]:
        above = self.extends._by_name if self.extends else {}
        return {**above, **{cls.__name__: cls for cls in self.own}}

    def find(self, cls: type) -> NodeSpec:
        """Return the entry of a class. Raises `CompilerBug` if the language lacks it."""
        found = self.nodes.get(cls)
        if found is None:
            raise CompilerBug(f"{self.name} has no node {cls.__name__}")
        return found

    def classes(self, kind: str) -> tuple[type, ...]:
        """Return the node classes of an annotation: one, those of a union, or none."""
        names = [name.strip() for name in kind.split("|")]
        found = tuple(self._by_name[name] for name in names if name in self._by_name)
        return found if len(found) == len(names) else ()

    def trait(self, name: str) -> Mapping[type, Any]:
        """Return the values of a trait, by the classes that have it."""
        found = {cls: getattr(node.traits, name) for cls, node in self.nodes.items()}
        return {cls: value for cls, value in found.items() if value is not None}

    @property
    def parts(self) -> Mapping[type, tuple[tuple[str, str], ...]]:
        """Return the visitor parts of the classes that declare them."""
        return {cls: self.nodes[cls].parts for cls in self.trait("parts")}

    def fields_of(self, kind: str) -> Mapping[type, tuple[str, ...]]:
        """Return the fields of a kind by class, such as those that hold statements."""
        found = {
            cls: tuple(spec.name for spec in node.fields.values() if spec.kind == kind)
            for cls, node in self.nodes.items()
        }
        return {cls: names for cls, names in found.items() if names}

    def words(self) -> Set[str]:
        """Return all words of its format lines."""
        return frozenset().union(*(node.words() for node in self.nodes.values()))

    def is_nested(self, node: NodeSpec) -> bool:
        """Return True if nodes of a class are printed on several lines."""
        slots = (p for p in node.pieces() if isinstance(p, Slot | Option))
        return len(node.rows) != 1 or any(self.is_nested_slot(node, slot) for slot in slots)

    def is_nested_slot(self, node: NodeSpec, slot: Slot | Option) -> bool:
        """Return True if a field is printed on several lines."""
        kind = slot.kind or node.field(slot.field).kind
        if kind in self.blocks:
            return True
        nodes = [self.nodes[cls] for cls in self.classes(kind)]
        return any(one.cls is not node.cls and self.is_nested(one) for one in nodes)
