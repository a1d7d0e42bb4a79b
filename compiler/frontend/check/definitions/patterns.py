"""Patterns: bind names to the parts of a value."""

from __future__ import annotations

from compiler import codes
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompilerBug, Related, TypeError_
from compiler.base.spans import Span
from compiler.frontend import ast
from compiler.frontend import typed as t
from compiler.frontend.check.definitions.literals import literal
from compiler.frontend.check.definitions.type_exps import Anon, record_type, resolve_type
from compiler.frontend.check.scope.hints import (
    COMPARED,
    ONE_EQUATION,
    first_and_others,
    not_of_fields,
    not_taken_apart,
)
from compiler.frontend.check.scope.state import Checker
from compiler.frontend.check.types.metas import MetaT, resolve
from compiler.frontend.check.types.substitute import subst
from compiler.frontend.check.types.wording import arguments, describe
from compiler.frontend.types import UNIT, Record, Sum, Type, tuple_type


@dataclass(frozen=True, slots=True)
class Bound:
    """A pattern with its type; `unique` if the type has a `*`."""

    pat: t.Pat
    unique: bool


def bind_pattern(
    st: Checker, pat: ast.Pat, type_: Type | None, anon: Anon, refutable: bool = False
) -> Bound:
    """Bind the names of `pat` in the current scope.

    `type_` is the type of the value; None: whatever the pattern says. Errors: other types, a name
    bound twice, a literal or constructor where every value must match.
    """
    pattern_names(pat)
    ctx = _PatternContext(st, anon, refutable)
    typed = _pattern(ctx, pat, type_ if type_ is not None else st.meta(pat.span))
    return Bound(typed, ctx.unique)


@dataclass(slots=True)
class _PatternContext:
    st: Checker
    anon: Anon
    refutable: bool
    unique: bool = False


def pattern_names(pat: ast.Pat) -> list[str]:
    """Return the names that a pattern binds.

    Errors: one is bound twice.
    """
    names: dict[str, Span] = {}
    for one in ast.names_bound(pat):
        if one.name in names:
            first = (Related(names[one.name], "It is bound here first."),)
            message = f"The name `{one.name}` is bound twice in one pattern."
            raise TypeError_(codes.names.BOUND_TWICE, message, one.span, "", first)
        names[one.name] = one.span
    return list(names)


def _pattern(ctx: _PatternContext, pat: ast.Pat, type_: Type) -> t.Pat:
    st = ctx.st
    match pat:
        case ast.PName(span=span, name=name):
            known = resolve(type_)
            if isinstance(known, MetaT) and known.variants:
                known.named = True
            return t.PVar(type_, span, st.bind_local(name, type_, span))
        case ast.PWild(span=span):
            return t.PWild(type_, span)
        case ast.PTyped(span=span, pat=inner, type=type_exp):
            return _typed(ctx, span, inner, type_exp, type_)
        case ast.PTuple(span=span, elems=elems):
            return _tuple(ctx, span, elems, type_)
        case ast.PRecord(span=span, fields=fields):
            return _record(ctx, span, fields, type_)
        case ast.PAttr(pat=inner):
            return _pattern(ctx, inner, type_)
        case ast.PLit(span=span, value=value):
            return _literal(ctx, span, value, type_)
        case ast.PConstr():
            return _constructor(ctx, pat, type_)
    raise CompilerBug("This is not a pattern.", pat.span)


def _typed(
    ctx: _PatternContext, span: Span, inner: ast.Pat, type_exp: ast.TypeExp, type_: Type
) -> t.Pat:
    try:
        found = resolve_type(ctx.st, type_exp, ctx.anon)
    except TypeError_ as error:
        error.hint = first_and_others(inner, type_exp) or error.hint
        raise
    written = found.type
    if found.ext:
        written = subst(written, {}, {name: ctx.anon(span) for name in found.ext})
    ctx.st.unify(written, type_, span, "The value bound here")
    ctx.unique = ctx.unique or found.unique
    if found.unique:
        ctx.st.starred(written, type_exp.span)
    typed = _pattern(ctx, inner, written)
    return _consuming(typed) if found.unique else typed


def _consuming(pat: t.Pat) -> t.Pat:
    """Mark all variables of a pattern as consumed."""
    match pat:
        case t.PVar():
            return t.PVar(pat.type, pat.span, pat.name, consumes=True)
        case t.PRecord():
            fields = tuple([(f, _consuming(p)) for f, p in pat.fields])
            return t.PRecord(pat.type, pat.span, fields)
    return pat


def _tuple(ctx: _PatternContext, span: Span, elems: tuple[ast.Pat, ...], type_: Type) -> t.Pat:
    known = resolve(type_)
    if isinstance(known, Record) and len(known.fields) == len(elems):
        parts = [u for _, u in known.fields]
        if [f for f, _ in known.fields] == [str(i) for i in range(len(elems))]:
            return _fields(ctx, span, known, list(zip(elems, parts, strict=True)))
    if isinstance(known, MetaT) and not known.fields and known.prims is None:
        fresh: tuple[Type, ...] = tuple(ctx.st.meta(p.span) for p in elems)
        record = tuple_type(fresh) if elems else UNIT
        ctx.st.unify(record, type_, span, "The value bound here")
        assert isinstance(record, Record)
        return _fields(ctx, span, record, list(zip(elems, fresh, strict=True)))
    raise TypeError_(
        codes.types.PATTERN,
        f"This pattern matches a tuple of {len(elems)} components, but the value is "
        f"{describe(type_)}.",
        span,
        not_taken_apart(type_),
    )


def _fields(
    ctx: _PatternContext, span: Span, record: Record, parts: list[tuple[ast.Pat, Type]]
) -> t.PRecord:
    pats = [_pattern(ctx, p, u) for p, u in parts]
    names = [f for f, _ in record.fields]
    return t.PRecord(record, span, tuple(zip(names, pats, strict=True)))


def _record(
    ctx: _PatternContext, span: Span, fields: tuple[tuple[str, ast.Pat], ...], type_: Type
) -> t.Pat:
    table = dict(fields)
    if len(table) != len(fields):
        raise TypeError_(codes.names.BOUND_TWICE, "A field occurs twice in this pattern.", span)
    known = resolve(type_)
    if isinstance(known, MetaT) and known.prims is None:
        fresh = record_type([(f, ctx.st.meta(p.span)) for f, p in fields])
        ctx.st.unify(fresh, type_, span, "The value bound here")
        known = fresh
    if not isinstance(known, Record) or {f for f, _ in known.fields} != set(table):
        listed = ", ".join(table)
        raise TypeError_(
            codes.types.PATTERN,
            f"This pattern matches a record with exactly the fields {listed}, but the value is"
            f" {describe(type_)}.",
            span,
            not_of_fields(type_, table),
        )
    return _fields(ctx, span, known, [(table[f], u) for f, u in known.fields])


def _literal(ctx: _PatternContext, span: Span, value: ast.Exp, type_: Type) -> t.Pat:
    _must_be_refutable(ctx, span)
    negative = isinstance(value, ast.Negate)
    inner = value.exp if isinstance(value, ast.Negate) else value
    if isinstance(inner, ast.StringLit):
        raise TypeError_(codes.types.PATTERN, "A pattern cannot match a string.", span, COMPARED)
    typed = literal(ctx.st, inner)
    ctx.st.unify(type_, typed.type, span, "The literal")
    return t.PLit(type_, span, -typed.value if negative else typed.value)


def _constructor(ctx: _PatternContext, pat: ast.PConstr, type_: Type) -> t.Pat:
    st = ctx.st
    known = resolve(type_)
    if isinstance(known, Sum):
        table = dict(known.variants)
        if pat.name not in table:
            options = ", ".join(f"`#{c}`" for c in table)
            raise TypeError_(
                codes.types.CONSTRUCTOR,
                f"There is no `#{pat.name}` here, only {options}.",
                pat.span,
            )
        if len(known.variants) > 1:
            _must_be_refutable(ctx, pat.span)
        args = table[pat.name]
    else:
        _must_be_refutable(ctx, pat.span)
        args = tuple(st.meta(p.span) for p in pat.args)
        require_variant(st, type_, pat.name, args, pat.span, "The value matched here")
    if len(args) != len(pat.args):
        given = len(pat.args) or "none"
        raise TypeError_(
            codes.types.CONSTRUCTOR,
            f"`#{pat.name}` has {arguments(len(args))}, but this pattern has {given}.",
            pat.span,
            f"Write `{' '.join([f'#{pat.name}', *'_' * len(args)])}`, or names for `_`.",
        )
    parts = tuple(_pattern(ctx, p, u) for p, u in zip(pat.args, args, strict=True))
    return t.PConstr(type_, pat.span, pat.name, parts)


def require_variant(
    st: Checker, type_: Type, name: str, args: tuple[Type, ...], span: Span, what: str
) -> None:
    """Constrain `type_` to a sum type with that variant."""
    meta = st.meta(span)
    meta.variants = {name: args}
    st.overloaded.append(meta)
    st.unify(type_, meta, span, what)


def _must_be_refutable(ctx: _PatternContext, span: Span) -> None:
    if not ctx.refutable:
        raise TypeError_(
            codes.types.REFUTABLE,
            "This pattern does not match every value.",
            span,
            ONE_EQUATION,
        )
