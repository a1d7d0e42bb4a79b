"""Inspect the fields of a declaration: names, types, optional ones."""

from __future__ import annotations

import dataclasses
from functools import cache
from typing import Annotated, Any, NotRequired, get_args, get_origin, get_type_hints, is_typeddict

from compiler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a request or of a shape."""

    name: str
    type: Any
    required: bool
    default: Any = None

    def has(self, mark: type) -> bool:
        """Return True if `Annotated` marks its type with such a mark."""
        return any(isinstance(one, mark) for one in marks(self.type))


def is_shape(kind: Any) -> bool:
    """Return True if a type has fields."""
    return is_typeddict(kind) or dataclasses.is_dataclass(kind)


def fields(shape: Any) -> dict[str, Field]:
    """Return the fields of a dataclass or a `TypedDict` by name, in order."""
    return _fields(shape)


@cache
def _fields(shape: Any) -> dict[str, Field]:
    hints = get_type_hints(shape, include_extras=True)
    if dataclasses.is_dataclass(shape):
        return {one.name: _of_dataclass(one, hints[one.name]) for one in dataclasses.fields(shape)}
    return {name: _of_dict(name, kind, shape.__total__) for name, kind in hints.items()}


def _of_dataclass(given: dataclasses.Field[Any], kind: Any) -> Field:
    missing = dataclasses.MISSING
    required = given.default is missing and given.default_factory is missing
    return Field(given.name, kind, required, None if given.default is missing else given.default)


def _of_dict(name: str, kind: Any, total: bool) -> Field:
    if get_origin(kind) is NotRequired:
        return Field(name, get_args(kind)[0], False)
    return Field(name, kind, total)


def marks(kind: Any) -> tuple[Any, ...]:
    """Return the marks that `Annotated` adds to a type, or to the optional one (`| None`)."""
    if get_origin(kind) is Annotated:
        return get_args(kind)[1:]
    return tuple(mark for part in get_args(kind) for mark in marks(part) if part is not kind)
