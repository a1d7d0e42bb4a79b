"""Freshness of results: new memory that nothing else aliases, and no two parts share."""

from __future__ import annotations

from compiler import codes
from compiler.base.errors import TypeError_
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import typed as t
from compiler.frontend.check.consumption.aliases import (
    NONE,
    Aliases,
    Names,
    components,
    field,
    flat,
    is_returned,
    root,
    shown,
)
from compiler.frontend.check.consumption.ownership import Walk
from compiler.frontend.check.types.metas import resolve
from compiler.frontend.check.types.walks import shows_arrays
from compiler.frontend.parts import pattern_variables
from compiler.frontend.types import Arrow, PrimT, Record, Type


def constants_in(walk: Walk, result: Aliases) -> Names:
    """Return the program constants that a result may alias."""
    return frozenset(n for n in flat(result) if root(n) not in walk.variables)


def no_constants(walk: Walk, what: str, body: t.Exp, type_: Type, result: Aliases) -> None:
    """Demand that the arrays in a function's result alias no constant.

    Errors: one may be; its callers could not tell whether it is theirs.
    """
    if walk.applying:
        return
    for name in sorted(constants_in(walk, _of_arrays(type_, result))):
        if not is_returned(name) and root(name) not in walk.given:
            raise TypeError_(
                codes.uniqueness.RESULT_CONSTANT,
                f"The result of {what} may alias `{shown(name)}`, a constant of the program.",
                result_span(body),
                f"Return a copy: `copy {shown(name)}`.",
            )


def _of_arrays(type_: Type, aliases: Aliases) -> Names:
    """Return the aliases of the arrays in a value, those of abstract type excluded."""
    type_ = resolve(type_)
    if isinstance(type_, Record):
        return NONE.union(*[_of_arrays(u, field(aliases, f)) for f, u in type_.fields])
    return flat(aliases) if shows_arrays(type_) else NONE


def may_alias(type_: Type) -> bool:
    """Test whether values of this type can share memory with others."""
    if isinstance(type_, Record):
        return any(may_alias(u) for _, u in type_.fields)
    return not isinstance(type_, (PrimT, Arrow))


def consumes(pat: t.Pat) -> bool:
    """Test for a `*` anywhere in a parameter's type: it makes all of it consumable."""
    return any(v.consumes for v in pattern_variables(pat))


def _borrowed(walk: Walk, names: Names, owned: set[Name]) -> Name | None:
    """Return a name that is not owned: a parameter without `*`, or one from outside."""
    for name in sorted(names):
        variable = walk.variables.get(root(name))
        if variable is None or variable.depth < walk.depth:
            return name
        if not variable.consumable and root(name) not in owned:
            return name
    return None


def is_fresh(walk: Walk, result: Aliases, owned: set[Name]) -> bool:
    """Test whether a result is owned, and its parts do not alias each other."""
    parts = components(result)
    if _borrowed(walk, flat(result), owned) is not None:
        return False
    return sum(len(p) for p in parts) == len(flat(result))


def must_be_fresh(walk: Walk, what: str, body: t.Exp, result: Aliases, owned: set[Name]) -> None:
    """Demand a fresh result.

    Errors: it may alias what belongs to somebody else, or a part of itself.
    """
    name = _borrowed(walk, flat(result), owned)
    if name is not None:
        raise TypeError_(
            codes.uniqueness.NOT_FRESH,
            f"The result of {what} is declared fresh (`*`), but may alias `{shown(name)}`.",
            result_span(body),
            "Return a copy, or remove the `*` from the result's type.",
        )
    seen: set[Name] = set()
    for part in components(result):
        again = seen & part
        if again:
            raise TypeError_(
                codes.uniqueness.NOT_FRESH,
                f"Two components of the result of {what} share `{shown(min(again))}`, "
                "but the result is declared fresh (`*`).",
                result_span(body),
                "Return a copy of one of them.",
            )
        seen |= part


def result_span(e: t.Exp) -> Span:
    """Return the span of the expression that is the result."""
    while isinstance(e, (t.Let, t.LetFun)):
        e = e.body
    return e.span
