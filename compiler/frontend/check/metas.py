"""Unknowns of inference: type and size metavariables, and how to see through them.

A metavariable is bound at most once, by setting `ref`. `level` counts the functions around the
place that made it: what is deeper than the current level when a function ends may become a
parameter of that function. Only this folder ever sees metavariables; `zonk.py` removes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import count

from compiler.base.names import Name
from compiler.base.spans import NOWHERE, Span
from compiler.frontend.types import (
    Array,
    Arrow,
    PrimT,
    Record,
    Size,
    SizeExp,
    SizeOp,
    SizeVar,
    Sum,
    Type,
    TypeVar,
)

_SERIAL = count()

PRIM_T = {
    p: PrimT(p)
    for p in (
        "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bool",
    )
}  # fmt: skip
I64 = PRIM_T["i64"]
BOOL = PRIM_T["bool"]


class MetaT(Type):
    """A type not known yet, and what is known about it.

    `prims`: it is one of these primitive types. `fields`, `variants`: it is a record or sum with at
    least these. `equality`, `data`: it may not contain functions.
    """

    __slots__ = (
        "data",
        "equality",
        "fields",
        "level",
        "lifted",
        "prims",
        "ref",
        "span",
        "variants",
    )

    def __init__(self, level: int, span: Span = NOWHERE) -> None:
        self.ref: Type | None = None
        self.level = level
        self.span = span
        self.prims: frozenset[str] | None = None
        self.fields: dict[str, Type] | None = None
        self.variants: dict[str, tuple[Type, ...]] | None = None
        self.equality = False
        self.data = False
        self.lifted = False
        """An instance of `'~t` or `'^t`, which take types with sizes of their own."""


class MetaS(Size):
    """A size not known yet."""

    __slots__ = ("key", "level", "ref", "span", "start")

    def __init__(self, level: int, span: Span = NOWHERE) -> None:
        self.ref: Size | None = None
        self.start: Size | None = None
        """For a parameter's size, which branches must not settle: the only size that a branch may
        take it to be. For a loop's parameter, what it is before the loop; otherwise itself."""
        self.level = level
        self.span = span
        self.key = f"?{next(_SERIAL)}"


class AnySize(Size):
    """A `[]` inside an abbreviation's definition; replaced wherever the abbreviation is used."""

    __slots__ = ()


ANY_SIZE = AnySize()


def resolve(t: Type) -> Type:
    """`t` with its outermost constructor visible, arrays flattened."""
    while type(t) is MetaT:
        if t.ref is None:
            return t
        t = t.ref
    if type(t) is Array:
        elem = t.elem
        if type(elem) is MetaT and elem.ref is not None:
            elem = resolve(elem)
            if type(elem) is Array:
                return Array(t.dims + elem.dims, elem.elem)
            return Array(t.dims, elem)
    return t


def resolve_size(s: Size) -> Size:
    """`s` without bound metavariables around it."""
    while type(s) is MetaS and s.ref is not None:
        s = s.ref
    return s


TypeMap = Mapping[Name, Type]
SizeMap = Mapping[Name, Size]


def subst(t: Type, types: TypeMap, sizes: SizeMap) -> Type:
    """`t` with type variables and size variables replaced."""
    t = resolve(t)
    match t:
        case PrimT() | MetaT():
            return t
        case TypeVar(name):
            return types.get(name, t)
        case Array(dims, elem):
            return _subst_array(t, dims, elem, types, sizes)
        case Record(fields):
            new = tuple([(f, subst(u, types, sizes)) for f, u in fields])
            return Record(new)
        case Arrow():
            return with_parts(t, subst(t.param, types, sizes), subst(t.result, types, sizes))
        case Sum(variants):
            return Sum(
                tuple([(c, tuple([subst(u, types, sizes) for u in us])) for c, us in variants])
            )
    return t


def with_parts(t: Arrow, param: Type, result: Type) -> Arrow:
    """The function type `t` with another parameter and result type."""
    return Arrow(param, result, t.name, t.consumes, t.unique, t.ext, t.fresh_fields)


def _subst_array(
    t: Array, dims: tuple[Size, ...], elem: Type, types: TypeMap, sizes: SizeMap
) -> Type:
    new_dims = tuple([subst_size(d, sizes) for d in dims])
    new = subst(elem, types, sizes)
    if type(new) is Array:
        return Array(new_dims + new.dims, new.elem)
    return Array(new_dims, new)


def subst_size(s: Size, sizes: SizeMap) -> Size:
    """`s` with variables replaced."""
    s = resolve_size(s)
    match s:
        case SizeVar(name):
            return sizes.get(name, s)
        case SizeOp(op, lhs, rhs):
            return SizeOp(op, subst_size(lhs, sizes), subst_size(rhs, sizes))
        case SizeExp():
            from compiler.frontend.check.size_exps import subst_in_size_exp

            return subst_in_size_exp(s, sizes)
    return s


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


def names_in_size(s: Size, found: set[Name]) -> None:
    """Add the variables of `s` to `found`."""
    s = resolve_size(s)
    match s:
        case SizeVar(name):
            found.add(name)
        case SizeOp(_, lhs, rhs):
            names_in_size(lhs, found)
            names_in_size(rhs, found)
        case SizeExp():
            from compiler.frontend.check.size_exps import names_in_size_exp

            names_in_size_exp(s, found)


def names_in_type(t: Type) -> set[Name]:
    """The variables that occur in the sizes of `t` and are not bound in it."""
    found: set[Name] = set()
    _names_in_type(t, found)
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
    return set()


def _names_in_type(t: Type, found: set[Name]) -> None:
    t = resolve(t)
    match t:
        case Array(dims, elem):
            for d in dims:
                names_in_size(d, found)
            _names_in_type(elem, found)
        case Record(fields):
            for _, u in fields:
                _names_in_type(u, found)
        case Arrow(param, result, name, ext=ext):
            inner = names_in_type(result)
            inner.discard(name)
            inner.difference_update(ext)
            found |= inner
            _names_in_type(param, found)
        case Sum(variants):
            for _, us in variants:
                for u in us:
                    _names_in_type(u, found)


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


def metas_in_size(s: Size, found: list[MetaS]) -> None:
    """Collect the unbound metavariables of a size."""
    s = resolve_size(s)
    match s:
        case MetaS():
            found.append(s)
        case SizeOp(_, lhs, rhs):
            metas_in_size(lhs, found)
            metas_in_size(rhs, found)
        case SizeExp(key) if "?" in key:
            from compiler.frontend.check.size_exps import holes_in

            holes_in(s, found)
