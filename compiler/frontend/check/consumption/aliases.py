"""Aliases: which variables' memory a value may share.

A value of record type has aliases per field; any other value that may hold an array has one set of
names; scalars have the empty set. A variable's own name is among the aliases of its value; that
of a record's field is `r.field`.
"""

from __future__ import annotations

from compiler.base.names import Name, base_of
from compiler.frontend.check.types.walks import is_scalar
from compiler.frontend.types import Arrow, PrimT, Record, Sum, Type, TypeVar

Names = frozenset[Name]
NONE: Names = frozenset()
Aliases = Names | dict[str, "Aliases"]


def broadcast(type_: Type, names: Names) -> Aliases:
    """Return the aliases of a value of `type_` all of whose arrays may alias `names`."""
    if isinstance(type_, PrimT):
        return NONE
    if isinstance(type_, Record):
        return {f: broadcast(u, names) for f, u in type_.fields}
    return NONE if is_scalar(type_) else names


def of_constant(type_: Type, names: Names) -> Aliases:
    """Return the aliases of a program constant; functions return fresh values."""
    if isinstance(type_, Record):
        return {f: of_constant(u, names) for f, u in type_.fields}
    return NONE if isinstance(type_, Arrow | TypeVar) or is_scalar(type_) else names


def flat(aliases: Aliases) -> Names:
    """Return the union over all fields."""
    if isinstance(aliases, frozenset):
        return aliases
    if not aliases:
        return NONE
    return NONE.union(*[flat(a) for a in aliases.values()])


def union_of(a: Aliases, b: Aliases) -> Aliases:
    """Return the union of two alias sets, by field."""
    if isinstance(a, dict) and isinstance(b, dict):
        return {f: union_of(x, b[f]) if f in b else x for f, x in a.items()}
    return flat(a) | flat(b)


def with_name(aliases: Aliases, type_: Type, name: Name) -> Aliases:
    """Return the aliases of a variable `name` bound to a value with these."""
    if isinstance(type_, PrimT):
        return NONE
    if isinstance(type_, Sum) and is_scalar(type_):
        return NONE
    if isinstance(type_, Record):
        return {f: with_name(field(aliases, f), u, f"{name}.{f}") for f, u in type_.fields}
    return flat(aliases) | {name}


def root(name: Name) -> Name:
    """Return the variable of a name such as `r_5.xs`."""
    return name.partition(".")[0]


def shown(name: Name) -> str:
    """Return a name as its author wrote it."""
    variable, dot, path = name.partition(".")
    return base_of(variable) + (dot + path if path else "")


def returned(constants: Names) -> Names:
    """Mark constants as returned by a function.

    The error for that is reported at the function's definition; its callers may return them as
    well, and nobody may consume them.
    """
    return frozenset(f"{root(name)}." for name in constants)


def is_returned(name: Name) -> bool:
    """Test for a constant that a function returned."""
    return name.endswith(".")


def without(aliases: Aliases, names: Names) -> Aliases:
    """Remove `names` from `aliases`."""
    if isinstance(aliases, dict):
        return {f: without(a, names) for f, a in aliases.items()}
    return aliases - names


def field(aliases: Aliases, name: str) -> Aliases:
    """Return the aliases of a field."""
    if isinstance(aliases, dict):
        return aliases.get(name, NONE)
    return aliases


def with_field(aliases: Aliases, path: tuple[str, ...], new: Aliases) -> Aliases:
    """Return the aliases of a record after an update of one field."""
    if not path:
        return new
    if not isinstance(aliases, dict):
        return aliases | flat(new)
    inner = with_field(aliases.get(path[0], NONE), path[1:], new)
    return {**aliases, path[0]: inner}


def components(aliases: Aliases) -> list[Names]:
    """Return the sets of all fields, from left to right."""
    if isinstance(aliases, frozenset):
        return [aliases]
    return [names for a in aliases.values() for names in components(a)]
