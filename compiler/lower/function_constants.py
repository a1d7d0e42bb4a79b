"""Specialise constants that hold functions and have existential sizes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from compiler.base.names import Name
from compiler.base.spans import Span
from compiler.frontend import typed as ty
from compiler.frontend.check.types.size_exps import size_to_exp
from compiler.frontend.parts import parts, pattern_variables
from compiler.frontend.types import ANY_SIZE, Record, Size, SizeVar, Sum, Type
from compiler.lower.naming import Binding, Specialiser, own_sizes, type_of
from compiler.lower.static import I64, Closure, Rec, Tagged, Value, collect_sizes, match_sizes


def functional_constant(sp: Specialiser, fun: Closure, out: list[Binding]) -> Value:
    """Evaluate a constant that holds functions and has existential sizes.

    It is evaluated once, so that all uses have the same sizes: its data become constants of their
    own. Its checks are repeated wherever it is used.
    """
    assert isinstance(fun.code, ty.Def)
    code, key = fun.code, (fun.code.name, *(fun.types or ()))
    if key not in sp.held:
        inner, site, found = fun.enter(), sp.site, list[Binding]()
        sp.site = None
        ext = own_sizes(sp, code, inner)
        value = sp.static(code.body, inner, found)
        to = type_of(sp, code.ret, inner)
        bind_sizes(ext, to, type_of(sp, code.body.type, inner), value, code.span, found)
        sp.held[key] = value, _as_constants(sp, code, found)
        sp.site = site
    value, checks = sp.held[key]
    out += checks
    return value


def _as_constants(sp: Specialiser, code: ty.Def, bindings: list[Binding]) -> list[Binding]:
    """Turn `bindings` into constants; return those that only check."""

    def define(name: Name, t: Type, sizes: tuple[Name, ...], body: ty.Exp) -> ty.Var:
        ext = (*sizes, *_sizes_from(t, body))
        made = ty.Def(name, code.source_name, (), (), (), t, False, ext, body, False, body.span)
        sp.done.append(made)
        return ty.Var(t, body.span, name)

    checks: list[Binding] = []
    for sizes, pat, rhs in _flattened(bindings):
        if isinstance(pat, ty.PVar):
            define(pat.name, pat.type, sizes, rhs)
            continue
        whole = define(sp.ctx.fresh(code.name), pat.type, sizes, rhs)
        variables = pattern_variables(pat)
        for part in variables:
            alone = ty.PVar(part.type, part.span, sp.ctx.fresh(part.name))
            taken = _with_only(pat, part, alone)
            var = ty.Var(part.type, part.span, alone.name)
            define(part.name, part.type, (), ty.Let(part.type, part.span, (), taken, whole, var))
        if not variables and not sizes:
            checks.append(((), pat, whole))
    return checks


def _flattened(bindings: list[Binding]) -> Iterator[Binding]:
    """Flatten nested bindings; inner ones come first."""
    for sizes, pat, rhs in bindings:
        inner = rhs
        while isinstance(inner, ty.Let):
            yield from _flattened([(inner.sizes, inner.pat, inner.rhs)])
            inner = inner.body
        yield sizes, pat, inner


def _sizes_from(t: Type, body: ty.Exp) -> tuple[Name, ...]:
    """Return the sizes in `t` that `body` introduces."""
    sizes: list[Size] = []
    collect_sizes(t, sizes)
    wanted = dict.fromkeys(size.name for size in sizes if isinstance(size, SizeVar))
    brought: set[Name] = set()
    todo = [body] if wanted else []
    while todo:
        e = todo.pop()
        brought.update(getattr(e, "ext", ()), getattr(e, "sizes", ()))
        if isinstance(e, ty.Let):
            brought.update(v.name for v in pattern_variables(e.pat))
        todo += parts(e)
    return tuple(name for name in wanted if name in brought)


def _with_only(pat: ty.Pat, part: ty.PVar, alone: ty.PVar) -> ty.Pat:
    """Return a pattern that binds only one of its variables, under another name."""
    match pat:
        case ty.PRecord(fields=fields):
            return replace(pat, fields=tuple((f, _with_only(q, part, alone)) for f, q in fields))
        case ty.PConstr(args=args):
            return replace(pat, args=tuple(_with_only(q, part, alone) for q in args))
        case ty.PVar():
            return alone if pat is part else ty.PWild(pat.type, pat.span)
    return pat


def bind_sizes(
    sizes: tuple[Name, ...],
    t: Type,
    have: Type,
    value: Value,
    span: Span,
    out: list[Binding],
) -> None:
    """Bind each size from the body's type, else from the closure's data."""
    found: dict[Name, Size] = {}
    match_sizes(set(sizes), t, have, found)
    for name, size in found.items():
        if size is ANY_SIZE:
            _bind_by_data(name, t, value, out)
        else:
            out.append(((), ty.PVar(I64, span, name), size_to_exp(size, span)))


def _bind_by_data(name: Name, t: Type, value: Value, out: list[Binding]) -> None:
    """Bind a size to that of an array in `value`, which has type `t`."""
    if isinstance(value, Rec) and isinstance(t, Record):
        for (_, field), (_, ft) in zip(value.fields, t.fields, strict=True):
            _bind_by_data(name, ft, field, out)
    elif isinstance(value, Tagged) and isinstance(t, Sum):
        for arg, ft in zip(value.args, dict(t.variants)[value.name], strict=True):
            _bind_by_data(name, ft, arg, out)
    elif isinstance(value, ty.Exp) and not any(name in sizes for sizes, _, _ in out):
        sizes: list[Size] = []
        collect_sizes(t, sizes)
        if SizeVar(name) in sizes:
            out.append(((name,), ty.Pat(t, value.span), value))
