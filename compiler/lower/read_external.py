"""Parse external values of an entry point, from text and the binary format.

A parameter may also be given as its components, one value after the other, as in binary data.
Unused slots are 0, with the sizes that other values determine, or size 0.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.base.errors import InputError
from compiler.base.names import base_of
from compiler.frontend.check.scope.scope import did_you_mean
from compiler.frontend.show_type import is_tuple, show_type
from compiler.frontend.types import Array, PrimT, Record, Sum, Type
from compiler.ir import entry, values
from compiler.ir.read_values import BINARY, ValueReader, shape_problem
from compiler.ir.values import Value
from compiler.lower.components import components, sum_slots
from compiler.lower.external_values import (
    Outside,
    TagError,
    check_tags,
    comparable,
    divided,
    is_plain,
)

Found = list[Value | None]
"""Components; None: no given variant uses it."""
_EMPTY = re.compile(r"empty\s*\(\s*")
_SIZES = re.compile(r"(?:\[\s*[0-9]{1,15}\s*\]\s*)*")
_NAME = re.compile(r"[^\W\d][\w']*|[0-9]+")
_NOTATION = re.compile(r"(?:\[\s*|empty\s*\(\s*(?:\[\s*[0-9]+\s*\]\s*)+)*[{(#\]]")
_UNIT = re.compile(r"\(\s*\)")


def arguments(of: Outside, data: bytes | str) -> list[Value]:
    """Parse the parameters' components. Raises InputError with its place and parameter."""
    found = _read(of.params, data, _called(of))
    wanted = sum(len(components(kind)) for kind in of.params)
    if len(found) < wanted and not all(map(is_plain, of.params)):
        listed = ", ".join(f"`{show_type(kind)}`" for kind in of.params)
        raise InputError(
            f"The input ends before `{of.fun.name}` has all of its arguments.",
            hint=f"It takes {listed}.",
        )
    return entry.completed(of.fun, found)


def results(of: Outside, data: bytes | str) -> list[Value]:
    """Parse the components of results, normalised as by `comparable`."""
    return comparable(of.results, _read(of.results, data))


def _called(of: Outside) -> list[str]:
    """Describe the parameters: those of one component by name, others by number."""
    own = divided(of.params, entry.external(of.fun))
    return [
        f"the value of `{base_of(parts[0].name)}`" if len(parts) == 1 else f"argument {k}"
        for k, parts in enumerate(own, 1)
    ]


def _read(kinds: Sequence[Type], data: bytes | str, called: Sequence[str] = ()) -> Found:
    text, binary = (data, {}) if isinstance(data, str) else values.notation(data)
    if binary and not text.replace(BINARY, "").strip():
        found = [*binary.values()]
        check(kinds, found)
        return [*found]
    return _Reader(text, binary=binary).all(kinds, called)


def check(kinds: Sequence[Type], flat: Sequence[Value]) -> None:
    """Raise InputError for a tag without a variant."""
    at = 1
    for kind, own in zip(kinds, divided(kinds, flat), strict=True):
        try:
            _check(kind, own)
        except TagError as error:
            error.message = f"Value {at + error.component}: {error.message}"
            raise
        at += len(own)


def _check(kind: Type, flat: Sequence[Value]) -> None:
    """Apply `check_tags` if the components have the right types; else other checks report that."""
    wanted = [(prim, len(dims)) for prim, dims, _ in components(kind)]
    if wanted == [(values.prim_of(one), one.ndim) for one in flat]:
        check_tags(kind, flat)


class _Reader(ValueReader):
    """A position in a text of values with known types."""

    def all(self, kinds: Sequence[Type], called: Sequence[str]) -> Found:
        """Parse the components of all values; those beyond the last type are read untyped.

        An error names its value by `called`.
        """
        found: Found = []
        for k, kind in enumerate(kinds):
            self._skip()
            if self.at == len(self.text):
                return found
            try:
                found += self._one(kind)
            except InputError as error:
                if called and not error.hint:
                    error.hint = f"This is in {called[k]}."
                raise
        return [*found, *self.values()]

    def _one(self, kind: Type) -> Found:
        """Parse a value in either notation."""
        if not components(kind):
            unit = _UNIT.match(self.text, self.at)
            self.at = unit.end() if unit else self.at
            return []
        if not is_plain(kind) and _NOTATION.match(self.text, self.at):
            return self._of(kind)
        found: list[Value] = []
        places: list[int] = []
        for self.default, _, _ in components(kind):
            self._skip()
            if self.at < len(self.text):
                places.append(self.at)
                found.append(self._value())
        try:
            _check(kind, found)
        except TagError as error:
            raise self.error(error.message, places[error.component]) from None
        return [*found]

    # --- the notation ------------------------------------------------------------------------

    def _of(self, kind: Type) -> Found:
        """Parse a value in the notation of its type."""
        self._skip()
        start = self.at
        match kind:
            case Array(dims, elem) if not isinstance(elem, PrimT):
                if _EMPTY.match(self.text, self.at):
                    return self._nothing(kind)
                return self._rows(elem, len(dims))
            case Record(fields):
                return self._record(kind) if not is_tuple(fields) else self._tuple(kind)
            case Sum():
                return self._variant(kind)
        self.default = components(kind)[0][0]
        value = self._value()
        rank = len(kind.dims) if isinstance(kind, Array) else 0
        if (values.prim_of(value), value.ndim) != (self.default, rank):
            said = f"Expected a value of type {show_type(kind)}, found {values.type_text(value)}."
            self.fail(said, start)
        return [value]

    def _take(self, sign: str) -> bool:
        """Consume a sign if it is next; return True if so."""
        here = self._comes(sign)
        self.at += len(sign) if here else 0
        return here

    def _comes(self, sign: str) -> bool:
        """Return True if a sign is next."""
        self._skip()
        return self.text.startswith(sign, self.at)

    def _expect(self, sign: str) -> None:
        if not self._take(sign):
            self.fail(f"Expected `{sign}`, found {self._found()}.")

    def _tuple(self, kind: Record) -> Found:
        found: Found = []
        self._expect("(")
        for k, (_, of) in enumerate(kind.fields):
            if k:
                self._expect(",")
            found += self._of(of)
        self._expect(")")
        return found

    def _record(self, kind: Record) -> Found:
        found: dict[str, Found] = {}
        known = dict(kind.fields)
        self._expect("{")
        while not found or self._take(","):
            start, name = self._name("a field")
            if name not in known or name in found:
                said = "is there twice" if name in found else f"is not a field of {show_type(kind)}"
                hint = did_you_mean(name, known) if name not in known else ""
                self.fail(f"`{name}` {said}. {hint}".strip(), start)
            self._expect("=")
            found[name] = self._of(known[name])
        self._expect("}")
        if missing := [name for name in known if name not in found]:
            self.fail(f"The field `{missing[0]}` is missing.", self.at - 1)
        return [one for name in known for one in found[name]]

    def _name(self, what: str) -> tuple[int, str]:
        self._skip()
        start, name = self.at, _NAME.match(self.text, self.at)
        if name is None:
            self.fail(f"Expected the name of {what}, found {self._found()}.")
        self.at = name.end()
        return start, name[0]

    def _variant(self, kind: Sum) -> Found:
        if self._take("("):
            inside = self._variant(kind)
            self._expect(")")
            return inside
        self._expect("#")
        start, name = self._name("a variant")
        names = [variant for variant, _ in kind.variants]
        if name not in names:
            hint = did_you_mean(name, names) or f"There are #{', #'.join(names)}."
            self.fail(f"`#{name}` is not a variant of {show_type(kind)}. {hint}", start - 1)
        k = names.index(name)
        slots, uses = sum_slots(kind)
        found: Found = [np.int8(k), *(None for _ in slots)]
        payload = [one for of in kind.variants[k][1] for one in self._of(of)]
        for slot, one in zip(uses[k], payload, strict=True):
            found[1 + slot] = one
        for slot, (prim, dims, _) in enumerate(slots):
            if found[1 + slot] is None and not dims:
                found[1 + slot] = DTYPE[prim].type(0)
        return found

    def _rows(self, elem: Type, rank: int) -> Found:
        """Parse an array of `rank` dimensions, row by row."""
        opened = self.at
        self._expect("[")
        if self._take("]"):
            self.fail(f"Write an empty array with its type: `empty([0]{show_type(elem)})`.", opened)
        rows: list[Found] = []
        places: list[int] = []
        while not rows or (self._take(",") and not self._comes("]")):
            self._skip()
            places.append(self.at)
            rows.append(self._rows(elem, rank - 1) if rank > 1 else self._of(elem))
        if not self._take("]"):
            self.fail(f"Expected `,` or `]`, found {self._found()}.")
        if not components(elem) and rank == 1:
            return [np.zeros(len(rows), np.bool_)]
        return [self._stacked(column, places) for column in zip(*rows, strict=True)]

    def _stacked(self, column: Sequence[Value | None], places: Sequence[int]) -> Value | None:
        """Stack one component of the rows; missing ones get zeros."""
        there = [(one, at) for one, at in zip(column, places, strict=True) if one is not None]
        if not there:
            return None
        shape = there[0][0].shape
        for one, at in there:
            if one.shape != shape:
                self.fail(
                    f"The array is not regular: a part of shape {list(one.shape)} follows one of"
                    f" shape {list(shape)}.",
                    at,
                )
        blank = np.zeros(shape, there[0][0].dtype)
        return np.array([blank if one is None else one for one in column])

    # --- arrays without elements -------------------------------------------------------------

    def _nothing(self, kind: Array) -> Found:
        """Parse `empty([0]..)`, whose type gives all sizes."""
        start = self.at
        self.at += len(_match(_EMPTY, self.text, self.at))
        found: Found = []
        for (prim, _, _), shape in zip(components(kind), self._shapes(kind), strict=True):
            if problem := shape_problem(shape, prim):
                self.fail(problem, start)
            if 0 not in shape[: len(kind.dims)]:
                self.fail("An `empty` array needs a size of 0.", start)
            found.append(np.empty(shape, DTYPE[prim]))
        self._expect(")")
        return found

    def _shapes(self, kind: Type) -> list[tuple[int, ...]]:
        """Parse the component shapes of a type with numeric sizes."""
        self._skip()
        match kind:
            case Array(dims, elem):
                start, text = self.at, _match(_SIZES, self.text, self.at)
                sizes = tuple(map(int, re.findall("[0-9]+", text)))
                if len(sizes) != len(dims):
                    self.fail(f"Expected {len(dims)} sizes such as `[0]`.", start)
                self.at += len(text)
                inner = self._shapes(elem) or [()]
                return [(*sizes, *shape) for shape in inner]
            case Record(fields):
                return self._field_shapes(fields)
            case Sum():
                return self._slot_shapes(kind)
        name = show_type(kind)
        self._expect(name)
        return [()]

    def _field_shapes(self, fields: Sequence[tuple[str, Type]]) -> list[tuple[int, ...]]:
        found: list[tuple[int, ...]] = []
        anonymous = is_tuple(tuple(fields))
        self._expect("(" if anonymous else "{")
        for k, (name, of) in enumerate(fields):
            if k:
                self._expect(",")
            if not anonymous:
                self._expect(name)
                self._expect(":")
            found += self._shapes(of)
        self._expect(")" if anonymous else "}")
        return found

    def _slot_shapes(self, kind: Sum) -> list[tuple[int, ...]]:
        slots, uses = sum_slots(kind)
        found: list[tuple[int, ...]] = [() for _ in range(len(slots) + 1)]
        bracket = self._take("(")
        for k, (name, payload) in enumerate(kind.variants):
            if k:
                self._expect("|")
            self._expect(f"#{name}")
            shapes = [shape for of in payload for shape in self._shapes(of)]
            for slot, shape in zip(uses[k], shapes, strict=True):
                found[1 + slot] = shape
        if bracket:
            self._expect(")")
        return found


def _match(pattern: re.Pattern[str], text: str, at: int) -> str:
    found = pattern.match(text, at)
    return found[0] if found else ""
