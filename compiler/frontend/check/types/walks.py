"""Walks over types with unknowns: substitution, and the names, sizes and unknowns inside."""

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
    """All array sizes in `t`, from left to right, functions included."""
    found: list[Size] = []
    _collect_sizes(t, found)
    return found


def _collect_sizes(t: Type, found: list[Size]) -> None:
    t = resolve(t)
    match t:
        case Array(dims, elem):
            found.extend(resolve_size(d) for d in dims)
            _collect_sizes(elem, found)
        case Record(fields):
            for _, u in fields:
                _collect_sizes(u, found)
        case Arrow(param, result):
            _collect_sizes(param, found)
            _collect_sizes(result, found)
        case Sum(variants):
            for _, us in variants:
                for u in us:
                    _collect_sizes(u, found)
        case Opaque(meaning=meaning):
            _collect_sizes(meaning, found)


def names_in_type(t: Type, shown: bool = False) -> set[Name]:
    """The variables that occur in the sizes of `t` and are not bound in it.

    `shown`: of an abstract type only in the sizes that are its arguments.
    """
    found: set[Name] = set()
    _names_in_type(t, found, shown)
    return found


def names_in_data(t: Type) -> set[Name]:
    """The variables that are sizes of arrays in `t`, those in the types of functions left out."""
    t = resolve(t)
    match t:
        case Array(dims, elem):
            found = names_in_data(elem)
            for d in dims:
                names_in_size(d, found)
            return found
        case Record(fields):
            return set().union(*[names_in_data(u) for _, u in fields])
        case Sum(variants):
            return set().union(*[names_in_data(u) for _, us in variants for u in us])
        case Opaque(meaning=meaning):
            return names_in_data(meaning)
    return set()


def dimensions(type_: Type) -> set[Name]:
    """The names that are by themselves the size of an array in a type, functions left out."""
    found: set[Name] = set()

    def note(size: Size) -> Size:
        if isinstance(size, SizeVar):
            found.add(size.name)
        return size

    map_sizes(type_, note)
    return found


def _names_in_type(t: Type, found: set[Name], shown: bool) -> None:
    t = resolve(t)
    match t:
        case Array(dims, elem):
            for d in dims:
                names_in_size(d, found)
            _names_in_type(elem, found, shown)
        case _ if is_plain(t):
            return
        case Record(fields):
            for _, u in fields:
                _names_in_type(u, found, shown)
        case Arrow(param, result, name, ext=ext):
            inner = names_in_type(result, shown)
            inner.discard(name)
            inner.difference_update(ext)
            found |= inner
            _names_in_type(param, found, shown)
        case Sum(variants):
            for _, us in variants:
                for u in us:
                    _names_in_type(u, found, shown)
        case Opaque(sizes=dims) if shown:
            for d in dims:
                names_in_size(d, found)
        case Opaque(meaning=meaning):
            _names_in_type(meaning, found, shown)


def metas_in(
    t: Type, types: list[MetaT], sizes: list[MetaS], variables: set[Name] | None = None
) -> None:
    """Collect the unbound metavariables of `t`, in order, with repetitions; and type variables."""
    t = resolve(t)
    match t:
        case TypeVar(name):
            if variables is not None:
                variables.add(name)
        case MetaT():
            types.append(t)
            for u in (t.fields or {}).values():
                metas_in(u, types, sizes, variables)
            for us in (t.variants or {}).values():
                for u in us:
                    metas_in(u, types, sizes, variables)
        case Array(dims, elem):
            for d in dims:
                metas_in_size(d, sizes)
            metas_in(elem, types, sizes, variables)
        case _ if is_plain(t):
            return
        case Record(fields):
            for _, u in fields:
                metas_in(u, types, sizes, variables)
        case Arrow(param, result):
            metas_in(param, types, sizes, variables)
            metas_in(result, types, sizes, variables)
        case Sum(variants):
            for _, us in variants:
                for u in us:
                    metas_in(u, types, sizes, variables)
        case Opaque(args=args, meaning=meaning):
            for u in (*args, meaning):
                metas_in(u, types, sizes, variables)


def shows_arrays(type_: Type) -> bool:
    """Whether a value of this type holds arrays outside of what is abstract."""
    match resolve(type_):
        case Array():
            return True
        case Record(fields):
            return any(shows_arrays(u) for _, u in fields)
        case Sum(variants):
            return any(shows_arrays(u) for _, us in variants for u in us)
    return False


def is_scalar(type_: Type) -> bool:
    """Whether a value of this type certainly holds no array and no function."""
    match resolve(type_):
        case PrimT():
            return True
        case Record(fields):
            return all(is_scalar(u) for _, u in fields)
        case Sum(variants):
            return all(is_scalar(u) for _, us in variants for u in us)
        case Opaque(meaning=meaning):
            return is_scalar(meaning)
    return False


def with_unique_result(type_: Type) -> Type:
    """A function type whose final result has `*`."""
    if not isinstance(type_, Arrow):
        return type_
    if isinstance(type_.result, Arrow):
        return replace(type_, result=with_unique_result(type_.result))
    return replace(type_, unique=True)
