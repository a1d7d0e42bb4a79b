"""Walks over types with unknowns: collect names, sizes and metavariables."""

from __future__ import annotations

from dataclasses import replace

from compiler.base.names import Name
from compiler.frontend.check.types.metas import MetaS, MetaT, resolve, resolve_size
from compiler.frontend.check.types.size_exps import metas_in_size, names_in_size
from compiler.frontend.check.types.substitute import map_sizes
from compiler.frontend.types import (
    Array,
    Arrow,
    Opaque,
    PrimT,
    Record,
    Size,
    SizeVar,
    Sum,
    Type,
    TypeVar,
    is_plain,
)


def sizes_of(t: Type) -> list[Size]:
    """Return all array sizes in `t`, from left to right, functions included."""
    found: list[Size] = []
    _collect_sizes(t, found)
    return found


def _collect_sizes(t: Type, found: list[Size]) -> None:
    t = resolve(t)
    if isinstance(t, Array):
        found.extend(resolve_size(d) for d in t.dims)
    for part in t.parts:
        _collect_sizes(part, found)


def names_in_type(t: Type, shown: bool = False) -> set[Name]:
    """Return the free variables of the sizes in `t`.

    `shown`: of an abstract type only in the sizes that are its arguments.
    """
    found: set[Name] = set()
    _names_in_type(t, found, shown)
    return found


def names_in_data(t: Type) -> set[Name]:
    """Return the variables that are sizes of arrays in `t`, those in function types excluded."""
    t = resolve(t)
    found: set[Name] = set().union(*map(names_in_data, t.held))
    for d in t.dims if isinstance(t, Array) else ():
        names_in_size(d, found)
    return found


def dimensions(type_: Type) -> set[Name]:
    """Return the names that are, by themselves, sizes of arrays in a type; not in functions."""
    found: set[Name] = set()

    def note(size: Size) -> Size:
        if isinstance(size, SizeVar):
            found.add(size.name)
        return size

    map_sizes(type_, note)
    return found


def _names_in_type(t: Type, found: set[Name], shown: bool) -> None:
    t = resolve(t)
    parts = t.parts
    match t:
        case Array(dims):
            for d in dims:
                names_in_size(d, found)
        case _ if is_plain(t):
            return
        case Arrow(param, result, name, ext=ext):
            inner = names_in_type(result, shown)
            inner.discard(name)
            inner.difference_update(ext)
            found |= inner
            parts = (param,)
        case Opaque(sizes=dims) if shown:
            for d in dims:
                names_in_size(d, found)
            return
    for part in parts:
        _names_in_type(part, found, shown)


def metas_in(
    t: Type, types: list[MetaT], sizes: list[MetaS], variables: set[Name] | None = None
) -> None:
    """Collect the unbound metavariables of `t`, in order, with repetitions; and type variables."""
    t = resolve(t)
    parts = t.parts
    match t:
        case TypeVar(name):
            if variables is not None:
                variables.add(name)
        case MetaT():
            types.append(t)
            variants = (t.variants or {}).values()
            parts = (*(t.fields or {}).values(), *[u for us in variants for u in us])
        case Array(dims):
            for d in dims:
                metas_in_size(d, sizes)
        case _ if is_plain(t):
            return
        case Opaque(args=args):
            parts = (*args, *parts)
    for part in parts:
        metas_in(part, types, sizes, variables)


def shows_arrays(type_: Type) -> bool:
    """Test whether values of this type hold arrays outside of abstract types."""
    type_ = resolve(type_)
    if isinstance(type_, Record | Sum):
        return any(map(shows_arrays, type_.parts))
    return isinstance(type_, Array)


def is_scalar(type_: Type) -> bool:
    """Test whether values of this type certainly hold no array and no function."""
    type_ = resolve(type_)
    if isinstance(type_, Record | Sum | Opaque):
        return all(map(is_scalar, type_.parts))
    return type(type_) is PrimT


def with_unique_result(type_: Type) -> Type:
    """Return a function type whose final result has `*`."""
    if not isinstance(type_, Arrow):
        return type_
    if isinstance(type_.result, Arrow):
        return replace(type_, result=with_unique_result(type_.result))
    return replace(type_, unique=True)
