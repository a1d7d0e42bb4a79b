"""Whether a function's result is its own: fresh memory, shared with nobody and in no two parts."""

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
    """The program's constants that a result may share memory with."""
    return frozenset(n for n in flat(result) if root(n) not in walk.variables)


def no_constants(walk: Walk, what: str, body: t.Exp, type_: Type, result: Aliases) -> None:
    """Demand that the arrays that a function's result shows are no constants, nor parts of them.

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
    """The aliases of the arrays in a value, those left out that its type keeps abstract."""
    type_ = resolve(type_)
    if isinstance(type_, Record):
        return NONE.union(*[_of_arrays(u, field(aliases, f)) for f, u in type_.fields])
    return flat(aliases) if shows_arrays(type_) else NONE


def may_alias(type_: Type) -> bool:
    """Whether a value of this type can share memory with another."""
    if isinstance(type_, Record):
        return any(may_alias(u) for _, u in type_.fields)
    return not isinstance(type_, (PrimT, Arrow))


def consumes(pat: t.Pat) -> bool:
    """A `*` anywhere in a parameter's type makes all of it consumable."""
    return any(v.consumes for v in pattern_variables(pat))


def _borrowed(walk: Walk, names: Names, owned: set[Name]) -> Name | None:
    """A name that belongs to somebody else: a parameter without `*`, or something from outside."""
    for name in sorted(names):
        variable = walk.variables.get(root(name))
        if variable is None or variable.depth < walk.depth:
            return name
        if not variable.consumable and root(name) not in owned:
            return name
    return None


def is_fresh(walk: Walk, result: Aliases, owned: set[Name]) -> bool:
    """Whether a result is all one's own, each part of it apart from the others."""
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
            "Return a copy, or leave the `*` out of the result's type.",
        )
    seen: set[Name] = set()
    for part in components(result):
        again = seen & part
        if again:
            raise TypeError_(
                codes.uniqueness.NOT_FRESH,
                f"Two parts of the result of {what} share `{shown(min(again))}`, but"
                " the result is declared fresh (`*`).",
                result_span(body),
                "Return a copy of one of them.",
            )
        seen |= part


def result_span(e: t.Exp) -> Span:
    """The span of the expression whose value is the result."""
    while isinstance(e, (t.Let, t.LetFun)):
        e = e.body
    return e.span
