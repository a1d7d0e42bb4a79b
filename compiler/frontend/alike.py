"""Whether what two checks have found is the same to everybody, but for places and new names."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

from compiler.base.names import Name, base_of
from compiler.base.spans import NOWHERE
from compiler.frontend.check.scope.scope import Module
from compiler.frontend.types import SizeExp

_KINDS = ("values", "types", "modules", "module_types")


def names_in(module: Module) -> set[str]:
    """The names that a module binds, of all kinds."""
    return {*module.values, *module.types, *module.modules, *module.module_types}


def alike(one: Any, other: Any, new: set[Name], same: dict[Name, Name]) -> bool:
    """Whether two values differ in nothing but names that are `new` in the one.

    `same` gets those names, and what each is in the other; places do not count.
    """
    if isinstance(one, str):
        if one in same or one in new:
            fits = isinstance(other, str) and base_of(one) == base_of(other)
            taken = one not in same and other in same.values()
            return fits and not taken and same.setdefault(one, other) == other
        return bool(one == other)
    if type(one) is not type(other):
        return False
    if isinstance(one, frozenset):
        return bool(frozenset(same.get(name, name) for name in one) == other)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(
            alike(a, b, new, same) for a, b in zip(one, other, strict=True)
        )
    if is_dataclass(one):
        return all(
            alike(getattr(one, f.name), getattr(other, f.name), new, same)
            for f in fields(one)
            if f.compare
        )
    return bool(one == other)


def in_same_places(one: object, other: object) -> bool:
    """Whether two meanings of names, which are equal, are told to be from the same places."""
    if one is other:
        return True
    if isinstance(one, tuple) and isinstance(other, tuple):
        return all(map(in_same_places, one, other))
    if isinstance(one, Module) and isinstance(other, Module):
        return all(
            in_same_places(value, getattr(other, kind)[name])
            for kind in _KINDS
            for name, value in getattr(one, kind).items()
        )
    return bool(getattr(one, "span", NOWHERE) == getattr(other, "span", NOWHERE))


def has_places(value: Any) -> bool:
    """Whether a value, or a type in it, holds an expression, which says where it stands."""
    if isinstance(value, SizeExp):
        return True
    if isinstance(value, list | tuple):
        return any(map(has_places, value))
    return is_dataclass(value) and any(has_places(getattr(value, f.name)) for f in fields(value))
