"""Expand equality of compound values to equality of primitives.

Records: all fields. Arrays of one shape: all elements, by a map and a reduction. Sums: the same
constructor and equal arguments, by `match`.
"""

from __future__ import annotations

from compiler.base.context import Ctx
from compiler.base.spans import Span
from compiler.frontend import typed as t
from compiler.frontend.check.types.metas import BOOL
from compiler.frontend.types import (
    Array,
    Arrow,
    PrimT,
    Record,
    Sum,
    Type,
    row_of,
    tuple_type,
)


def equal(ctx: Ctx, type_: Type, lhs: t.Exp, rhs: t.Exp, span: Span) -> t.Exp:
    """Return the bool expression `lhs == rhs` at `type_`; each side is evaluated once."""
    match type_:
        case PrimT(prim):
            return t.PrimOp(BOOL, span, "==", prim, (lhs, rhs))
        case _:
            return _shared(ctx, type_, lhs, rhs, span)


def _shared(ctx: Ctx, type_: Type, lhs: t.Exp, rhs: t.Exp, span: Span) -> t.Exp:
    """Bind both sides to names unless they are names."""
    bound: list[tuple[str, t.Exp]] = []
    sides: list[t.Exp] = []
    for side in (lhs, rhs):
        if isinstance(side, t.Var):
            sides.append(side)
        else:
            name = ctx.fresh("side")
            bound.append((name, side))
            sides.append(t.Var(side.type, side.span, name))
    result = _compare(ctx, type_, sides[0], sides[1], span)
    for name, side in reversed(bound):
        result = t.Let(BOOL, span, (), t.PVar(side.type, side.span, name), side, result)
    return result


def _compare(ctx: Ctx, type_: Type, lhs: t.Exp, rhs: t.Exp, span: Span) -> t.Exp:
    match type_:
        case Record(fields):
            parts = [
                equal(ctx, u, t.Project(u, span, lhs, f), t.Project(u, span, rhs, f), span)
                for f, u in fields
            ]
            return _all(parts, span)
        case Array():
            return _arrays(ctx, type_, lhs, rhs, span)
        case Sum():
            return _sums(ctx, type_, lhs, rhs, span)
    return t.Const(BOOL, span, True)


def _all(parts: list[t.Exp], span: Span) -> t.Exp:
    if not parts:
        return t.Const(BOOL, span, True)
    result = parts[-1]
    for part in reversed(parts[:-1]):
        result = t.If(BOOL, span, part, result, t.Const(BOOL, span, False))
    return result


def _arrays(ctx: Ctx, type_: Array, lhs: t.Exp, rhs: t.Exp, span: Span) -> t.Exp:
    """Map equality of rows over both arrays, and reduce by `&&`."""
    row, size = row_of(type_), type_.dims[0]
    pair = tuple_type((row, row))
    zipped_type = Array((size,), pair)
    zip_type = Arrow(type_, Arrow(type_, zipped_type))
    zip_ = t.Var(zip_type, span, "intrinsics.zip", (row, row), (size,))
    zipped = t.Apply(zipped_type, span, zip_, (lhs, rhs))
    x, y = ctx.fresh("x"), ctx.fresh("y")
    pat = t.PRecord(pair, span, (("0", t.PVar(row, span, x)), ("1", t.PVar(row, span, y))))
    same = equal(ctx, row, t.Var(row, span, x), t.Var(row, span, y), span)
    test = t.Lambda(Arrow(pair, BOOL), span, (pat,), same)
    bools = Array((size,), BOOL)
    map_type = Arrow(test.type, Arrow(zipped_type, bools, unique=True))
    map_ = t.Var(map_type, span, "intrinsics.map", (pair, BOOL), (size,))
    mapped = t.Apply(bools, span, map_, (test, zipped))
    op_type = Arrow(BOOL, Arrow(BOOL, BOOL))
    reduce_type = Arrow(op_type, Arrow(BOOL, Arrow(bools, BOOL)))
    reduce_ = t.Var(reduce_type, span, "intrinsics.reduce", (BOOL,), (size,))
    both = _and(ctx, span)
    return t.Apply(BOOL, span, reduce_, (both, t.Const(BOOL, span, True), mapped))


def _and(ctx: Ctx, span: Span) -> t.Exp:
    a, b = ctx.fresh("a"), ctx.fresh("b")
    params = (t.PVar(BOOL, span, a), t.PVar(BOOL, span, b))
    body = t.PrimOp(BOOL, span, "&&", "bool", (t.Var(BOOL, span, a), t.Var(BOOL, span, b)))
    return t.Lambda(Arrow(BOOL, Arrow(BOOL, BOOL)), span, params, body)


def _sums(ctx: Ctx, type_: Sum, lhs: t.Exp, rhs: t.Exp, span: Span) -> t.Exp:
    pair = tuple_type((type_, type_))
    both = t.RecordExp(pair, span, (("0", lhs), ("1", rhs)))
    cases: list[t.Case] = []
    for name, args in type_.variants:
        xs = [ctx.fresh("x") for _ in args]
        ys = [ctx.fresh("y") for _ in args]
        left = tuple(t.PVar(u, span, n) for n, u in zip(xs, args, strict=True))
        right = tuple(t.PVar(u, span, n) for n, u in zip(ys, args, strict=True))
        pat = t.PRecord(
            pair,
            span,
            (("0", t.PConstr(type_, span, name, left)), ("1", t.PConstr(type_, span, name, right))),
        )
        parts = [
            equal(ctx, u, t.Var(u, span, x), t.Var(u, span, y), span)
            for x, y, u in zip(xs, ys, args, strict=True)
        ]
        cases.append(t.Case(pat, _all(parts, span)))
    cases.append(t.Case(t.PWild(pair, span), t.Const(BOOL, span, False)))
    return t.Match(BOOL, span, both, tuple(cases))
