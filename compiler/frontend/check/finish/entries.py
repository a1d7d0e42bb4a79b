"""Entry points: the external view of their types."""

from __future__ import annotations

from collections.abc import Collection

from compiler import codes
from compiler.base.errors import TypeError_
from compiler.base.names import Name, base_of
from compiler.frontend import decs
from compiler.frontend import typed as t
from compiler.frontend.check.definitions.functions import CheckedDef
from compiler.frontend.check.types.size_exps import names_in_size
from compiler.frontend.check.types.substitute import map_sizes
from compiler.frontend.check.types.unify import final_type
from compiler.frontend.check.types.walks import sizes_of
from compiler.frontend.check.types.wording import arguments
from compiler.frontend.show_type import is_tuple, show_type
from compiler.frontend.types import (
    ACC,
    Arrow,
    Opaque,
    Record,
    Size,
    SizeVar,
    Type,
    TypeVar,
)


def entry_point(
    dec: decs.ValDec, made: CheckedDef, definition: t.Def, functional: Collection[Name]
) -> t.EntryPoint:
    """Return the external view of an entry point.

    `functional` are the abstract types that may be functions.
    Errors: type parameters, functions as parameters or results.
    """
    type_ = final_type(made.scheme.type)
    arrows = _arrows(type_)
    if definition.type_params:
        more = len(arrows) - len(dec.params)
        still = (
            dec.params and more and f"Its body is a function that still takes {arguments(more)}."
        )
        raise TypeError_(
            codes.types.POLYMORPHIC_ENTRY,
            f"The entry point `{dec.name}` cannot have type parameters.",
            dec.name_span,
            still or "Give its parameters types without type variables.",
        )
    for part in (*(arrow.param for arrow in arrows), arrows[-1].result if arrows else type_):
        if function := _function_in(part, functional):
            raise TypeError_(
                codes.types.FUNCTION,
                f"The entry point `{dec.name}` takes or returns {function}.",
                dec.name_span,
                "Callers can pass only data: take a number or a variant that selects the function.",
            )
    _sizes_from_arguments(dec, definition)
    explicit = {p.name for p in dec.type_params}
    named = {n for n in definition.size_params if n.rpartition("_")[0] in explicit}
    named |= {p.name for p in definition.params if isinstance(p, t.PVar)}
    names = tuple(_param_name(p, i) for i, p in enumerate(definition.params))
    params = tuple(
        ("*" if arrow.consumes else "") + _outside(p.type, named)
        for p, arrow in zip(definition.params, arrows, strict=True)
    )
    results: tuple[Type, ...] = (definition.ret,)
    if isinstance(definition.ret, Record) and is_tuple(definition.ret.fields):
        results = tuple(u for _, u in definition.ret.fields)
    star = "*" if definition.unique and dec.ret is not None else ""
    shown = tuple(star + _outside(u, named) for u in results)
    return t.EntryPoint(dec.name, names, params, shown)


def _sizes_from_arguments(dec: decs.ValDec, definition: t.Def) -> None:
    """Demand that every size parameter is the size of an argument."""
    given = {
        size.name
        for param in definition.params
        for size in sizes_of(param.type)
        if isinstance(size, SizeVar)
    }
    for name in definition.size_params:
        if name not in given:
            raise TypeError_(
                codes.sizes.ENTRY,
                f"The entry point `{dec.name}` depends on the size `{base_of(name)}`, which is not"
                " the size of any of its arguments.",
                dec.name_span,
                f"Take `{base_of(name)}` as an argument of type i64.",
            )


def _param_name(pat: t.Pat, index: int) -> str:
    if isinstance(pat, t.PVar):
        return pat.name.rpartition("_")[0]
    return f"arg{index}"


def _outside(type_: Type, named: set[Name]) -> str:
    """Print a type with the sizes that the author named; others are anonymous."""

    def size(s: Size) -> Size:
        seen: set[Name] = set()
        names_in_size(s, seen)
        return s if seen <= named else SizeVar("")

    return show_type(map_sizes(type_, size))


def _arrows(type_: Type) -> list[Arrow]:
    """Return the arrow of each parameter of a definition of this type."""
    arrows = []
    while isinstance(type_, Arrow):
        arrows.append(type_)
        type_ = type_.result
    return arrows


def _function_in(type_: Type, functional: Collection[Name]) -> str:
    """Describe the function in a type; "" if there is none."""
    match type_:
        case Arrow():
            return "a function"
        case Opaque(name=name) if name == ACC:
            return "an accumulator"
        case Opaque(name=name, shown=shown, meaning=meaning) if name in functional:
            is_data = not isinstance(meaning, Opaque | TypeVar) and not _function_in(
                meaning, functional
            )
            return (
                ""
                if is_data
                else f"a value of the abstract type `{shown}`, which may be a function"
            )
        case Opaque():
            return ""
    return next(filter(None, (_function_in(u, functional) for u in type_.parts)), "")
