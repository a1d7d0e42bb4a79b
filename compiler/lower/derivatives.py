"""Lower `jvp2`, `vjp2`, their variants with many seeds, and `with_vjp`.

They become nodes of the core language, which `derive/` expands. Many seeds are a map over one: code
that does not depend on the seed is computed once, as in any map.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from compiler import codes
from compiler.base.errors import CompilerBug, Limitation
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.frontend import typed as ty
from compiler.frontend.types import Record, Type
from compiler.ir import nodes as ir
from compiler.ir.nodes import Lambda
from compiler.ir.types import array_type, prim_type, shape_of
from compiler.ir.walk import rename, subst
from compiler.lower.build import Lowering, origin
from compiler.lower.components import components
from compiler.lower.exps import bind_pat, component_names
from compiler.lower.payloads import fit_all, payload_sizes, shapes_of
from compiler.lower.values import (
    Arr,
    Component,
    Shape,
    Value,
    as_params,
    component_type,
    operand,
)

_OPEN = (
    "The size of an array in a variant depends on the value, so its derivative is not supported."
)
_MATCH = "Take the array out of the variant with `match`, and differentiate with respect to it."


def _function(
    s: Lowering, lam: ty.Exp, args: Sequence[Value], of_result: Sequence[Shape] | None = None
) -> tuple[Lambda, list[Shape]]:
    """Lower a function at values like `args`; return it with the shapes of its results."""
    if not isinstance(lam, ty.Lambda):
        raise CompilerBug("a functional argument that is no lambda", lam.span)
    t = lam.body.type
    stated = [[s.known_size(d) for d in dims] for _, dims, _ in components(t)]
    own = [[name for name, _ in component_names(s, pat)] for pat in lam.params]
    outer = s.open()
    params: list[Component] = []
    for pat, names, x in zip(lam.params, own, args, strict=True):
        value = tuple(
            replace(c, name=name) if isinstance(c, Arr) else ir.Var(name, _prim(c))
            for name, c in zip(names, x, strict=True)
        )
        bind_pat(s, pat, value)
        params += value
    body = s.lower(lam.body)
    shapes = of_result or [
        tuple(mine if size is None else size for size, mine in zip(sizes, shape, strict=True))
        for sizes, shape in zip(stated, shapes_of(body), strict=True)
    ]
    body = fit_all(s, body, shapes, t)
    inside = {p.name for stm in s.stms for p in stm.pat}.union(*own)
    stms = s.close(outer)
    if any(poly.names() & inside for shape in shapes for poly in shape):
        raise Limitation(
            codes.limits.ROWS,
            "The differentiated function returns an array whose size depends on its value.",
            s.prov[0],
            "Give the result a size that is known before, as in `result :> [n]t`.",
        )
    results = ir.Body(tuple(stms), tuple(operand(x) for x in body), origin(lam.body))
    returns = tuple(
        array_type(prim, shape) for (prim, _, _), shape in zip(components(t), shapes, strict=True)
    )
    return Lambda(as_params(tuple(params)), results, returns), list(shapes)


def _prim(component: Component) -> Prim:
    return prim_type(component_type(component))


def _given(s: Lowering, e: ty.Apply, fn: ty.Var) -> tuple[Value, Value]:
    """Lower the point of the derivative, and the seeds."""
    if any(payload_sizes(t) for t in fn.type_args):
        raise Limitation(codes.limits.NOT_BUILT, _OPEN, e.span, _MATCH)
    return s.lower(e.args[1]), s.lower(e.args[2])


def _own(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower `with_vjp f back x`."""
    if any(payload_sizes(t) for t in fn.type_args):
        raise Limitation(codes.limits.NOT_BUILT, _OPEN, e.span, _MATCH)
    x = s.lower(e.args[2])
    s.prov = (e.span,)
    code, shapes = _function(s, e.args[0], (x,))
    value = _fresh(s, e.type, shapes, hint or "y")
    back, _ = _function(s, e.args[1], (value, value), shapes_of(x))
    s.prov = (e.span,)
    s.emit(as_params(value), ir.WithVjp(_operands(x), code, back))
    return value


def _fresh(s: Lowering, t: Type, shapes: Iterable[Shape], hint: Name) -> Value:
    return s.params(s.names(hint, t), t, shapes)


def _one(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower `jvp2 f x seed` and `vjp2 f x seed`."""
    forward = fn.name == "intrinsics.jvp2"
    x, seed = _given(s, e, fn)
    s.prov = (e.span,)
    code, shapes = _function(s, e.args[0], (x,))
    s.prov = (e.span,)
    of_x = shapes_of(x)
    seed = fit_all(s, seed, of_x if forward else shapes, fn.type_args[0 if forward else 1])
    value = _fresh(s, e.type, [*shapes, *(shapes if forward else of_x)], hint or _hint(forward))
    node = ir.Jvp if forward else ir.Vjp
    s.emit(as_params(value), node(_operands(x), _operands(seed), code))
    return value


def _hint(forward: bool) -> str:
    return "tangent" if forward else "adjoint"


def _operands(value: Value) -> tuple[ir.Operand, ...]:
    return tuple(operand(x) for x in value)


def _many(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower `jmp2 f x seeds`, `mjp2 f x seeds`: the function's value, a map over the seeds."""
    forward = fn.name == "intrinsics.jmp2"
    x, seeds = _given(s, e, fn)
    s.prov = (e.span,)
    code, shapes = _function(s, e.args[0], (x,))
    s.prov = (e.span,)
    seed_type, slope_type = fn.type_args[:2] if forward else fn.type_args[1::-1]
    of_seed, of_slope = (shapes_of(x), shapes) if forward else (shapes, shapes_of(x))
    width = s.size(fn.size_args[0]) if not seeds else shapes_of(seeds)[0][0]
    primal = _primal(s, code, _operands(x))
    if not components(slope_type):
        return (*primal, s.array(ir.Replicate((width,), ir.FALSE), "bool", (width,), "units"))
    seeds = fit_all(s, seeds, [(width, *shape) for shape in of_seed], seed_type)
    rows = s.params([s.ctx.fresh("seed") for _ in seeds], seed_type, of_seed)
    results = s.params([s.ctx.fresh("y") for _ in shapes], fn.type_args[1], shapes)
    slopes = s.params([s.ctx.fresh("slope") for _ in of_slope], slope_type, of_slope)
    node = ir.Jvp if forward else ir.Vjp
    inner = node(_operands(x), _operands(rows), rename(code, s.ctx.fresh))
    stm = ir.Stm((*as_params(results), *as_params(slopes)), inner, s.prov)
    each = Lambda(
        as_params(rows),
        ir.Body((stm,), _operands(slopes)),
        tuple(component_type(c) for c in slopes),
    )
    names = s.names(hint or f"{_hint(forward)}s", _second(e.type))
    value = tuple(
        Arr(name, _prim(c), (width, *shape))
        for name, c, shape in zip(names, slopes, of_slope, strict=True)
    )
    s.emit(as_params(value), ir.Map(width, each, tuple(str(operand(a)) for a in seeds)))
    return (*primal, *value)


def _second(pair: Type) -> Type:
    """Return the type of a pair's second part."""
    assert isinstance(pair, Record)
    return pair.fields[1][1]


def _primal(s: Lowering, code: Lambda, args: tuple[ir.Operand, ...]) -> Value:
    """Inline the function's statements."""
    own = rename(code, s.ctx.fresh)
    given = {}
    for param, arg in zip(own.params, args, strict=True):
        if isinstance(arg, str | ir.Var | ir.Lit):
            given[param.name] = arg
        else:
            s.emit((param,), arg)
    body = subst(own.body, given)
    s.stms += body.stms
    pairs = zip(body.results, own.returns, strict=True)
    return tuple(
        Arr(result, prim_type(kind), shape_of(kind)) if isinstance(result, str) else result
        for result, kind in pairs
    )


INTRINSICS: dict[str, Callable[[Lowering, ty.Apply, ty.Var, Name], Value]] = {
    "jvp2": _one,
    "vjp2": _one,
    "jmp2": _many,
    "mjp2": _many,
    "with_vjp": _own,
}
