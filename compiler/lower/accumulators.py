"""Lower branches, cases and loops whose values are or hold accumulators.

At run time there is only the data. The resulting accumulator is known statically: it is the one
that went in, since there are never two to choose from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from compiler import codes
from compiler.base.errors import Limitation
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import typed as ty
from compiler.frontend.types import UNIT, Record, Type, tuple_type
from compiler.lower.naming import Binding, Specialiser, pattern, type_of, user_span, wrap
from compiler.lower.static import Accumulator, Env, Rec, Value

ONE = "Two accumulators meet here, but a value may hold only the accumulator that it was given."
HINT = "Apply the functions inside the branches, so that each branch returns data."

Leaf = tuple[Type, ty.Exp]


def joined(
    sp: Specialiser,
    e: ty.If | ty.Match,
    bodies: list[tuple[Value, list[Binding]]],
    env: Env,
    ext: tuple[Name, ...],
    made: Callable[[Type, list[ty.Exp]], ty.Exp],
    out: list[Binding],
) -> Value:
    """Return one of several static values; `made` builds an expression of their data."""
    span = user_span(sp, e.span)
    t = type_of(sp, e.type, env)
    first = bodies[0][0]
    leaves = [_leaves(value, first, t, span) for value, _ in bodies]
    data = tuple_type(tuple(kind for kind, _ in leaves[0]))
    pairs = zip(leaves, bodies, strict=True)
    arms = [wrap(inner, _tuple(data, span, [e for _, e in found])) for found, (_, inner) in pairs]
    names = [ty.Var(kind, span, sp.ctx.fresh("r")) for kind, _ in leaves[0]]
    pats: list[ty.Pat] = [ty.PVar(v.type, span, v.name) for v in names]
    out.append((ext, _pattern(data, span, pats), made(data, arms)))
    return _with_data(first, iter(names))


def looped(
    sp: Specialiser,
    e: ty.Loop,
    init: Value,
    env: Env,
    rest: Callable[[ty.Exp, Callable[[], ty.Pat], Callable[[], ty.Exp]], ty.Loop],
    out: list[Binding],
) -> Value:
    """Lower a loop that carries a static value; `rest` builds the loop."""
    span = user_span(sp, e.span)
    start = _leaves(init, init, type_of(sp, e.init.type, env), span)
    data = tuple_type(tuple(kind for kind, _ in start))

    def pat() -> ty.Pat:
        pats = _bound(sp, e.pat, init, env)
        return _pattern(tuple_type(tuple(p.type for p in pats)), span, pats)

    def body() -> ty.Exp:
        inner: list[Binding] = []
        value = sp.static(e.body, env, inner)
        found = _leaves(value, init, type_of(sp, e.body.type, env), span)
        kind = tuple_type(tuple(kind for kind, _ in found))
        return wrap(inner, _tuple(kind, span, [e for _, e in found]))

    loop = rest(_tuple(data, span, [e for _, e in start]), pat, body)
    kinds = [kind for kind, _ in _leaves(init, init, loop.type, span)]
    names = [ty.Var(kind, span, sp.ctx.fresh("r")) for kind in kinds]
    pats: list[ty.Pat] = [ty.PVar(v.type, span, v.name) for v in names]
    kind = tuple_type(tuple(kinds))
    loop = ty.Loop(kind, span, loop.sizes, loop.pat, loop.init, loop.form, loop.body, loop.ext)
    out.append((loop.ext, _pattern(kind, span, pats), loop))
    return _with_data(init, iter(names))


def _leaves(value: Value, like: Value, t: Type, span: Span) -> list[Leaf]:
    """Return the data in a value, with its types in `t`.

    Its accumulators must be those of `like`.
    """
    if isinstance(value, Accumulator):
        if not isinstance(like, Accumulator) or like.token.name != value.token.name:
            raise Limitation(codes.limits.FUNCTION, ONE, span)
        return []
    if isinstance(value, Rec) and isinstance(t, Record):
        known = dict(like.fields) if isinstance(like, Rec) else {}
        kinds = dict(t.fields)
        return [
            leaf for f, v in value.fields for leaf in _leaves(v, known.get(f, v), kinds[f], span)
        ]
    if isinstance(value, ty.Exp):
        return [(t, value)]
    raise Limitation(
        codes.limits.FUNCTION,
        "A function cannot be the result of this kind of expression.",
        span,
        HINT,
    )


def _with_data(value: Value, data: Iterator[ty.Exp]) -> Value:
    """Replace the data in a value."""
    if isinstance(value, Rec):
        return Rec(tuple((f, _with_data(v, data)) for f, v in value.fields))
    return next(data) if isinstance(value, ty.Exp) else value


def _bound(sp: Specialiser, p: ty.Pat, value: Value, env: Env) -> list[ty.Pat]:
    """Make patterns for the data of such a value; bind its static parts to `p` here."""
    if isinstance(value, ty.Exp):
        return [pattern(sp, p, env)]
    if isinstance(p, ty.PRecord) and isinstance(value, Rec):
        parts = dict(value.fields)
        return [q for f, inner in p.fields for q in _bound(sp, inner, parts[f], env)]
    span, t = user_span(sp, p.span), type_of(sp, p.type, env)
    consumes = isinstance(p, ty.PVar) and p.consumes
    kinds = [kind for kind, _ in _leaves(value, value, t, span)]
    names = [ty.Var(kind, span, sp.ctx.fresh("r")) for kind in kinds]
    if isinstance(p, ty.PVar):
        env.names[p.name] = _with_data(value, iter(names))
    return [ty.PVar(v.type, span, v.name, consumes) for v in names]


def _tuple(t: Type, span: Span, parts: list[ty.Exp]) -> ty.Exp:
    if len(parts) == 1:
        return parts[0]
    return ty.RecordExp(t, span, tuple((str(k), part) for k, part in enumerate(parts)))


def _pattern(t: Type, span: Span, parts: list[ty.Pat]) -> ty.Pat:
    if len(parts) == 1:
        return parts[0]
    fields = tuple((str(k), part) for k, part in enumerate(parts))
    return ty.PRecord(t, span, fields) if parts else ty.PWild(UNIT, span)
