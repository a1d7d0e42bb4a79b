"""Sizes known only from the result of a functional argument.

In `apply iota n`, with `apply '^a '^b : (a -> b) -> a -> b`, the unknown `b` is `[k]i64` with a `k`
of its own (`MetaT.own`). Each application has a new size in its result wherever `b` occurs, so that
no two calls are assumed to return equal sizes. No parameter can have such a type.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from compiler import codes
from compiler.base.errors import TypeError_
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend.check.types.metas import MetaT, resolve
from compiler.frontend.check.types.substitute import subst
from compiler.frontend.check.types.walks import names_in_data, names_in_type
from compiler.frontend.types import Arrow, Opaque, Record, SizeVar, Sum, Type


class Namer(Protocol):
    """A source of fresh names."""

    def fresh(self, base: str) -> Name: ...  # noqa: D102


def no_parameter(span: Span) -> TypeError_:
    """Return the error for a parameter whose size each call of a functional argument makes anew."""
    return TypeError_(
        codes.sizes.HIDDEN,
        "This argument's size would have to be a size that may differ at each call of "
        "an earlier argument.",
        span,
        "Apply the functions directly instead.",
    )


def own_in(type_: Type) -> tuple[Name, ...]:
    """Return the sizes in a type that differ from value to value, as metavariables name them."""
    while isinstance(type_, MetaT):
        if type_.own or type_.ref is None:
            return type_.own
        type_ = type_.ref
    if isinstance(type_, Opaque):
        return ()
    return tuple([name for part in type_.parts for name in own_in(part)])


def open_own(st: Namer, type_: Type, ext: list[Name], span: Span) -> Type:
    """Rename the sizes in a result that calls differ in; the new names go to `ext`.

    Errors: one is only part of the type of a function that takes arrays of that size.
    """
    while isinstance(type_, MetaT):
        if type_.own:
            names = {n: st.fresh(n) for n in type_.own}
            known = subst(type_, {}, {n: SizeVar(new) for n, new in names.items()})
            told = names_in_data(known)
            ext += [n for n in names.values() if n in told]
            return _in_functions(known, set(names.values()) - told, span)
        if type_.ref is None:
            return type_
        type_ = type_.ref
    match type_:
        case Record() | Sum():
            return type_.map_parts(lambda u: open_own(st, u, ext, span))
        case Arrow(param, result):
            inner = list(type_.ext)
            param, result = opened_parameter(st, param, span), open_own(st, result, inner, span)
            return replace(type_, param=param, result=result, ext=tuple(inner))
    return type_


def opened_parameter(st: Namer, type_: Type, span: Span) -> Type:
    """Move the sizes of a parameter that calls differ in to the results of functions.

    Errors: one is the size of an array of the parameter itself.
    """
    if not own_in(type_):
        return type_
    hidden: list[Name] = []
    opened = open_own(st, type_, hidden, span)
    if hidden:
        raise no_parameter(span)
    return opened


def _in_functions(type_: Type, names: set[Name], span: Span) -> Type:
    """Make some sizes of a type existential in the results of functions inside it."""
    if not names:
        return type_
    type_ = resolve(type_)
    match type_:
        case Record():
            return type_.map_parts(lambda u: _in_functions(u, names, span))
        case Arrow(param, result):
            if names & names_in_type(param):
                raise no_parameter(span)
            inner = resolve(result)
            if isinstance(inner, Arrow):
                return replace(type_, result=_in_functions(inner, names, span))
            own = tuple(sorted(names & names_in_type(inner)))
            return replace(type_, ext=(*type_.ext, *own))
    return type_
