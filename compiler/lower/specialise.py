"""Specialise typed expressions.

`ev` returns the residual expression of a non-function; `static` the value of a function. Every
binding gets a new name, so that code can be inlined any number of times.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compiler import codes
from compiler.base.by_class import handles
from compiler.base.errors import CompilerBug, Limitation
from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import typed as ty
from compiler.frontend.check.types.size_exps import size_to_exp
from compiler.frontend.parts import fields_with_parts
from compiler.frontend.types import (
    UNIT,
    Arrow,
    PrimT,
    Record,
    Size,
    SizeConst,
    SizeVar,
    Sum,
    Type,
    TypeVar,
)
from compiler.lower.accumulators import HINT, joined, looped
from compiler.lower.calls import Result, call, global_function, sized_constant
from compiler.lower.naming import (
    Binding,
    Specialiser,
    bind,
    constant,
    fresh_sizes,
    is_functional,
    named,
    named_sizes,
    pattern,
    residual,
    size_of,
    trivial,
    type_of,
    user_span,
    with_sizes,
    wrap,
)
from compiler.lower.static import Closure, Env, Rec, Tagged, Value, collect_sizes, match_sizes

FUNCTION = Arrow(UNIT, UNIT)
"""Stands for a functional type whose details do not matter."""
RULES: dict[type, Callable[..., ty.Exp]] = {}
VALUES: dict[type, Callable[..., Value]] = {}


# --- values of functions, and of what holds them -------------------------------------------


@handles(VALUES, ty.Lambda)
def _static_lambda(sp: Specialiser, e: ty.Lambda, env: Env, out: list[Binding]) -> Value:
    return Closure(e, env)


@handles(VALUES, ty.RecordExp)
def _static_record(sp: Specialiser, e: ty.RecordExp, env: Env, out: list[Binding]) -> Value:
    return Rec(tuple((name, _either(sp, x, env, out)) for name, x in e.fields))


@handles(VALUES, ty.Project)
def _static_project(sp: Specialiser, e: ty.Project, env: Env, out: list[Binding]) -> Value:
    return _field(sp.static(e.exp, env, out), e.field)


@handles(VALUES, ty.Constr)
def _static_constr(sp: Specialiser, e: ty.Constr, env: Env, out: list[Binding]) -> Value:
    return Tagged(e.name, tuple(_either(sp, x, env, out) for x in e.args))


@handles(VALUES, ty.Attr)
def _static_attr(sp: Specialiser, e: ty.Attr, env: Env, out: list[Binding]) -> Value:
    return sp.static(e.exp, env, out)


@handles(VALUES, ty.Apply)
def _static_apply(sp: Specialiser, e: ty.Apply, env: Env, out: list[Binding]) -> Value:
    args = _args(sp, e, env, out)
    fun = sp.static(e.fn, env, out)
    ext = fresh_sizes(sp, e.ext, env)
    plain = not ext and is_functional(sp, e.type, env)
    t = FUNCTION if plain else type_of(sp, e.type, env)
    return call(sp, fun, args, Result(t, user_span(sp, e.span), ext), out)


@handles(VALUES, ty.Let)
def _static_let(sp: Specialiser, e: ty.Let, env: Env, out: list[Binding]) -> Value:
    _let(sp, e.sizes, e.pat, e.rhs, env, out)
    return sp.static(e.body, env, out)


@handles(VALUES, ty.LetFun)
def _static_let_fun(sp: Specialiser, e: ty.LetFun, env: Env, out: list[Binding]) -> Value:
    env.names[e.fun.name] = Closure(e.fun, env, None)
    return sp.static(e.body, env, out)


@handles(VALUES, ty.RecordUpdate)
def _static_update(sp: Specialiser, e: ty.RecordUpdate, env: Env, out: list[Binding]) -> Value:
    base = sp.static(e.exp, env, out)
    return _updated(base, e.path, _either(sp, e.value, env, out))


@handles(VALUES, ty.Assert)
def _static_assert(sp: Specialiser, e: ty.Assert, env: Env, out: list[Binding]) -> Value:
    check = ty.Assert(UNIT, e.span, sp.ev(e.cond, env), ty.RecordExp(UNIT, e.span, ()), e.text)
    out.append(((), ty.Pat(UNIT, e.span), check))
    return sp.static(e.exp, env, out)


@handles(VALUES, ty.Match)
def _static_match(sp: Specialiser, e: ty.Match, env: Env, out: list[Binding]) -> Value:
    if is_functional(sp, e.exp.type, env):
        return sp.static(_chosen(sp, e, env, out), env, out)
    return _static_cases(sp, e, env, out)


@handles(VALUES, ty.If)
def _static_if(sp: Specialiser, e: ty.If, env: Env, out: list[Binding]) -> Value:
    cond = sp.ev(e.cond, env)
    bodies = [_arm(sp, body, env) for body in (e.then, e.orelse)]
    ext = fresh_sizes(sp, e.ext, env)

    def made(t: Type, arms: list[ty.Exp]) -> ty.Exp:
        return ty.If(t, user_span(sp, e.span), cond, arms[0], arms[1], ext)

    return joined(sp, e, bodies, env, ext, made, out)


def _arm(sp: Specialiser, body: ty.Exp, env: Env) -> tuple[Value, list[Binding]]:
    inner: list[Binding] = []
    return sp.static(body, env, inner), inner


def _static_cases(sp: Specialiser, e: ty.Match, env: Env, out: list[Binding]) -> Value:
    exp = sp.ev(e.exp, env)
    pats: list[ty.Pat] = []
    bodies = []
    for case in e.cases:
        pats.append(pattern(sp, case.pat, env))
        bodies.append(_arm(sp, case.body, env))
    ext = fresh_sizes(sp, e.ext, env)

    def made(t: Type, arms: list[ty.Exp]) -> ty.Exp:
        cases = tuple(ty.Case(p, arm) for p, arm in zip(pats, arms, strict=True))
        return ty.Match(t, user_span(sp, e.span), exp, cases, ext)

    return joined(sp, e, bodies, env, ext, made, out)


@handles(VALUES, ty.Loop)
def _static_loop(sp: Specialiser, e: ty.Loop, env: Env, out: list[Binding]) -> Value:
    init = sp.static(e.init, env, out)

    def rest(start: ty.Exp, pat: Callable[[], ty.Pat], body: Callable[[], ty.Exp]) -> ty.Loop:
        return _looped(sp, e, env, start, pat, body)

    return looped(sp, e, init, env, rest, out)


@handles(VALUES, ty.Exp)
def _static_data(sp: Specialiser, e: ty.Exp, env: Env, out: list[Binding]) -> Value:
    if is_functional(sp, e.type, env):
        raise Limitation(
            codes.limits.FUNCTION,
            "A function cannot be the result of this kind of expression.",
            user_span(sp, e.span),
            HINT,
        )
    return trivial(sp, sp.ev(e, env), out)


@handles(VALUES, ty.Var)
def _static_var(sp: Specialiser, e: ty.Var, env: Env, out: list[Binding]) -> Value:
    value = env.lookup(e.name)
    if value is None:
        return global_function(sp, e, env, out)
    if isinstance(value, Closure) and value.types is None:
        types = tuple(type_of(sp, t, env) for t in e.type_args)
        return replace(value, types=types, sizes=tuple(size_of(sp, s, env) for s in e.size_args))
    return value


@handles(VALUES, ty.Hole)
def _static_hole(sp: Specialiser, e: ty.Hole, env: Env, out: list[Binding]) -> Value:
    """Fail here; the code behind gets functions that are holes themselves."""
    out.append(((), ty.Pat(UNIT, e.span), _hole(sp, replace(e, type=UNIT), env)))
    type_ = env.lookup(e.type.name) if isinstance(e.type, TypeVar) else e.type

    def part(t: Type) -> Value:
        return _either(sp, replace(e, type=t), env, out)

    match type_:
        case Record(fields):
            return Rec(tuple((name, part(t)) for name, t in fields))
        case Sum(variants):
            return Tagged(variants[0][0], tuple(part(t) for t in variants[0][1]))
        case Arrow(param, result, name):
            pat = ty.PVar(param, e.span, name or sp.ctx.fresh("x"))
            return Closure(ty.Lambda(type_, e.span, (pat,), replace(e, type=result)), env)
    return trivial(sp, _hole(sp, e, env), out)


def _either(sp: Specialiser, e: ty.Exp, env: Env, out: list[Binding]) -> Value:
    """Evaluate a function, or data bound to a name unless it is atomic."""
    if is_functional(sp, e.type, env):
        return sp.static(e, env, out)
    return trivial(sp, sp.ev(e, env), out)


def _field(value: Value, field: str) -> Value:
    if isinstance(value, Rec):
        return dict(value.fields)[field]
    if isinstance(value, ty.Exp) and isinstance(value.type, Record):
        return ty.Project(dict(value.type.fields)[field], value.span, value, field)
    raise CompilerBug(f"no field {field}")


def _updated(value: Value, path: tuple[str, ...], new: Value) -> Value:
    if not path:
        return new
    if not isinstance(value, Rec):
        raise CompilerBug(f"no field {path[0]}")
    return Rec(
        tuple(
            (name, _updated(old, path[1:], new) if name == path[0] else old)
            for name, old in value.fields
        )
    )


# --- names and functions -----------------------------------------------------------------


def _args(sp: Specialiser, e: ty.Apply, env: Env, out: list[Binding]) -> tuple[Value, ...]:
    """Evaluate the arguments before the function, whose instance may mention sizes from them.

    Data are evaluated before functional arguments, for the same reason.
    """
    data = {
        k: sp.ev(arg, env) for k, arg in enumerate(e.args) if not is_functional(sp, arg.type, env)
    }
    return tuple(data[k] if k in data else sp.static(arg, env, out) for k, arg in enumerate(e.args))


@handles(RULES, ty.Var)
def _var(sp: Specialiser, e: ty.Var, env: Env) -> ty.Exp:
    value = env.lookup(e.name)
    if value is None:
        if e.name in sp.size_owner:
            return size_to_exp(size_of(sp, SizeVar(e.name), env), user_span(sp, e.span))
        sizes: list[Size] = []
        for t in e.type_args:
            collect_sizes(type_of(sp, t, env), sizes)
        if e.size_args or not all(isinstance(size, SizeConst) for size in sizes):
            return sized_constant(sp, e, env)
        return constant(sp, e, env)
    if isinstance(value, ty.Var):
        return ty.Var(value.type, user_span(sp, e.span), value.name)
    return residual(sp, value, e.type, user_span(sp, e.span))


@handles(RULES, ty.Apply)
def _apply(sp: Specialiser, e: ty.Apply, env: Env) -> ty.Exp:
    out: list[Binding] = []
    args = _args(sp, e, env, out)
    fun = sp.static(e.fn, env, out)
    t, ext = with_sizes(sp, e.type, e.ext, env)
    span = user_span(sp, e.span)
    return wrap(out, residual(sp, call(sp, fun, args, Result(t, span, ext), out), t, span))


@handles(RULES, ty.Lambda)
def _lambda(sp: Specialiser, e: ty.Lambda, env: Env) -> ty.Exp:
    return residual(sp, Closure(e, env), e.type, e.span)


@handles(RULES, ty.Let)
def _let_exp(sp: Specialiser, e: ty.Let, env: Env) -> ty.Exp:
    out: list[Binding] = []
    spans: list[Span] = []
    rest: ty.Exp = e
    while isinstance(rest, ty.Let):
        _let(sp, rest.sizes, rest.pat, rest.rhs, env, out)
        span = user_span(sp, rest.span)
        spans.extend([span] * (len(out) - len(spans)))
        rest = rest.body
    body = sp.ev(rest, env)
    for (sizes, pat, rhs), span in zip(reversed(out), reversed(spans), strict=True):
        body = ty.Let(body.type, span, sizes, pat, rhs, body)
    return body


def _let(
    sp: Specialiser,
    sizes: tuple[Name, ...],
    pat: ty.Pat,
    rhs: ty.Exp,
    env: Env,
    out: list[Binding],
) -> None:
    """Bind `pat` to `rhs`; nested bindings in `rhs` come before it."""
    if is_functional(sp, rhs.type, env):
        functional = sp.static(rhs, env, out)
        if sizes:
            found: dict[Name, Size] = {}
            match_sizes(set(sizes), pat.type, type_of(sp, rhs.type, env), found)
            env.names.update(found)
        bind(sp, pat, functional, env, out)
        return
    value = sp.ev(rhs, env)
    while isinstance(value, ty.Let):
        out.append((value.sizes, value.pat, value.rhs))
        value = value.body
    names = fresh_sizes(sp, sizes, env)
    if rhs.span.in_prelude and not sizes:
        bind(sp, pat, value, env, out)
    else:
        out.append((names, pattern(sp, pat, env), value))


@handles(RULES, ty.LetFun)
def _let_fun(sp: Specialiser, e: ty.LetFun, env: Env) -> ty.Exp:
    env.names[e.fun.name] = Closure(e.fun, env, None)
    return sp.ev(e.body, env)


# --- control -----------------------------------------------------------------------------


def _chosen(sp: Specialiser, e: ty.Match, env: Env, out: list[Binding]) -> ty.Exp:
    """Return the body of the case that matches a static value, with its pattern bound."""
    value = sp.static(e.exp, env, out)
    for case in e.cases:
        fits = matches(case.pat, value)
        if fits is None:
            break
        if fits:
            bind(sp, case.pat, value, env, out)
            return case.body
    raise Limitation(
        codes.limits.FUNCTION,
        "This value holds a function: which case it matches must be known here.",
        user_span(sp, e.exp.span),
        HINT,
    )


@handles(RULES, ty.Match)
def _match(sp: Specialiser, e: ty.Match, env: Env) -> ty.Exp:
    if is_functional(sp, e.exp.type, env):
        out: list[Binding] = []
        body = sp.ev(_chosen(sp, e, env, out), env)
        return wrap(out, body)
    exp = sp.ev(e.exp, env)
    cases = tuple(ty.Case(pattern(sp, case.pat, env), sp.ev(case.body, env)) for case in e.cases)
    t, ext = with_sizes(sp, e.type, e.ext, env)
    return ty.Match(t, user_span(sp, e.span), exp, cases, ext)


@handles(RULES, ty.Loop)
def _loop(sp: Specialiser, e: ty.Loop, env: Env) -> ty.Exp:
    init = sp.ev(e.init, env)
    return _looped(sp, e, env, init, lambda: pattern(sp, e.pat, env), lambda: sp.ev(e.body, env))


def _looped(
    sp: Specialiser,
    e: ty.Loop,
    env: Env,
    init: ty.Exp,
    carried: Callable[[], ty.Pat],
    inside: Callable[[], ty.Exp],
) -> ty.Loop:
    """Rebuild a loop, evaluating its parts."""
    span = user_span(sp, e.span)
    form: ty.For | ty.ForIn | ty.While
    if isinstance(e.form, ty.For):
        bound = sp.ev(e.form.bound, env)
    elif isinstance(e.form, ty.ForIn):
        array = sp.ev(e.form.array, env)
    sizes = fresh_sizes(sp, e.sizes, env)
    pat = carried()
    carried_type, told = named_sizes(sp, pat.type)
    match e.form:
        case ty.For(name, prim, _):
            index = sp.ctx.fresh(name)
            env.names[name] = ty.Var(PrimT(prim), span, index)
            form = ty.For(index, prim, bound)
        case ty.ForIn(row, _):
            form = ty.ForIn(pattern(sp, row, env), array)
        case ty.While(cond):
            form = ty.While(sp.ev(cond, env))
    body = inside()
    t, ext = with_sizes(sp, e.type, e.ext, env)
    pat = replace(pat, type=carried_type)
    return ty.Loop(t, span, (*sizes, *told), pat, init, form, body, ext)


# --- data --------------------------------------------------------------------------------


@handles(RULES, ty.If, ty.ArrayLit, ty.Range, ty.Coerce, ty.Assert, ty.Constr)
def _rebuilt(sp: Specialiser, e: ty.Exp, env: Env) -> ty.Exp:
    """Rebuild the parts in the order of evaluation; then sizes."""
    new = {name: _part(sp, getattr(e, name), env) for name in fields_with_parts(e)}
    if isinstance(e, ty.If | ty.Range):
        type_, new["ext"] = with_sizes(sp, e.type, e.ext, env)
    else:
        type_ = type_of(sp, e.type, env)
    return replace(e, type=type_, span=user_span(sp, e.span), **new)


def _part(sp: Specialiser, part: object, env: Env) -> object:
    if isinstance(part, ty.Exp):
        return sp.ev(part, env)
    return tuple(sp.ev(x, env) for x in part) if isinstance(part, tuple) else part


@handles(RULES, ty.Hole)
def _hole(sp: Specialiser, e: ty.Hole, env: Env) -> ty.Exp:
    return replace(e, type=type_of(sp, e.type, env), span=user_span(sp, e.span))


@handles(RULES, ty.Const, ty.StringConst)
def _const(sp: Specialiser, e: ty.Const | ty.StringConst, env: Env) -> ty.Exp:
    return replace(e, span=sp.site) if e.span.in_prelude and sp.site is not None else e


@handles(RULES, ty.PrimOp)
def _prim_op(sp: Specialiser, e: ty.PrimOp, env: Env) -> ty.Exp:
    args = tuple(sp.ev(a, env) for a in e.args)
    return ty.PrimOp(e.type, user_span(sp, e.span), e.op, e.at, args)


@handles(RULES, ty.PrimFun)
def _prim_fun(sp: Specialiser, e: ty.PrimFun, env: Env) -> ty.Exp:
    args = tuple(sp.ev(a, env) for a in e.args)
    return ty.PrimFun(e.type, user_span(sp, e.span), e.fun, e.at, args)


@handles(RULES, ty.Convert)
def _convert(sp: Specialiser, e: ty.Convert, env: Env) -> ty.Exp:
    return ty.Convert(e.type, user_span(sp, e.span), e.to, sp.ev(e.exp, env))


@handles(RULES, ty.RecordExp)
def _record(sp: Specialiser, e: ty.RecordExp, env: Env) -> ty.Exp:
    fields = tuple((name, sp.ev(x, env)) for name, x in e.fields)
    return ty.RecordExp(type_of(sp, e.type, env), user_span(sp, e.span), fields)


@handles(RULES, ty.Project)
def _project(sp: Specialiser, e: ty.Project, env: Env) -> ty.Exp:
    """Project from a record, evaluated first: its sizes may mention names of its arguments."""
    if is_functional(sp, e.exp.type, env):
        out: list[Binding] = []
        value = _field(sp.static(e.exp, env, out), e.field)
        t = type_of(sp, e.type, env)
        return wrap(out, residual(sp, value, t, user_span(sp, e.span)))
    inner = _shared(sp, e.exp, env)
    t = type_of(sp, e.type, env)
    if isinstance(inner, ty.RecordExp) and all(
        isinstance(x, ty.Var | ty.Const) for _, x in inner.fields
    ):
        return dict(inner.fields)[e.field]
    return ty.Project(t, user_span(sp, e.span), inner, e.field)


@handles(RULES, ty.RecordUpdate)
def _record_update(sp: Specialiser, e: ty.RecordUpdate, env: Env) -> ty.Exp:
    out: list[Binding] = []
    exp = _source(sp, e.exp, e.value, env, out)
    value = sp.ev(e.value, env)
    t = type_of(sp, e.type, env)
    return wrap(out, ty.RecordUpdate(t, user_span(sp, e.span), exp, e.path, value))


def _dims(sp: Specialiser, dims: tuple[ty.DimIndex, ...], env: Env) -> tuple[ty.DimIndex, ...]:
    return tuple(
        ty.IndexFix(sp.ev(d.at, env))
        if isinstance(d, ty.IndexFix)
        else ty.IndexSlice(
            None if d.start is None else sp.ev(d.start, env),
            None if d.stop is None else sp.ev(d.stop, env),
            None if d.step is None else sp.ev(d.step, env),
        )
        for d in dims
    )


@handles(RULES, ty.Index)
def _index(sp: Specialiser, e: ty.Index, env: Env) -> ty.Exp:
    array = _shared(sp, e.array, env)
    dims = _dims(sp, e.dims, env)
    ext = fresh_sizes(sp, e.ext, env)
    return ty.Index(type_of(sp, e.type, env), user_span(sp, e.span), array, dims, ext)


@handles(RULES, ty.Update)
def _update(sp: Specialiser, e: ty.Update, env: Env) -> ty.Exp:
    out: list[Binding] = []
    array = _source(sp, e.array, e.value, env, out)
    dims = _dims(sp, e.dims, env)
    value = sp.ev(e.value, env)
    t = type_of(sp, e.type, env)
    return wrap(out, ty.Update(t, user_span(sp, e.span), array, dims, value))


def _source(sp: Specialiser, source: ty.Exp, value: ty.Exp, env: Env, out: list[Binding]) -> ty.Exp:
    """Evaluate the source of an update; bind it to a name if the new value reads it again.

    `e with a[i].b = v` is an update whose value is an update of `e.a[i]`, with `e` repeated.
    """
    inner = value
    while isinstance(inner, ty.RecordUpdate | ty.Update):
        inner = inner.exp if isinstance(inner, ty.RecordUpdate) else inner.array
    while isinstance(inner, ty.Project | ty.Index):
        inner = inner.exp if isinstance(inner, ty.Project) else inner.array
        if inner.span == source.span and not isinstance(source, ty.Var):
            result = _shared(sp, source, env)
            if not isinstance(result, ty.Var):
                result = named(sp, result, "source", out)
                sp.once[source.span] = result
            return result
    return _shared(sp, source, env)


def _shared(sp: Specialiser, e: ty.Exp, env: Env) -> ty.Exp:
    """Evaluate `e`, or return the name that it is bound to already."""
    known = sp.once.get(e.span) if sp.once else None
    return sp.ev(e, env) if known is None or isinstance(e, ty.Var) else known


@handles(RULES, ty.Attr)
def _attr(sp: Specialiser, e: ty.Attr, env: Env) -> ty.Exp:
    inner = sp.ev(e.exp, env)
    return ty.Attr(inner.type, user_span(sp, e.span), e.attr, inner)


def matches(p: ty.Pat, value: Value) -> bool | None:
    """Return whether a pattern matches a value; None if that is known only at run time."""
    match p:
        case ty.PConstr(name=name, args=args) if isinstance(value, Tagged):
            return name == value.name and _all(list(zip(args, value.args, strict=True)))
        case ty.PRecord(fields=fields) if isinstance(value, Rec):
            parts = dict(value.fields)
            return _all([(q, parts[name]) for name, q in fields])
        case ty.PRecord(fields=fields):
            return True if all(matches(q, value) for _, q in fields) else None
        case ty.PLit(value=wanted):
            return value.value == wanted if isinstance(value, ty.Const) else None
        case ty.PConstr():
            return None
    return True


def _all(pairs: list[tuple[ty.Pat, Value]]) -> bool | None:
    found = [matches(p, value) for p, value in pairs]
    return False if False in found else None if None in found else True
