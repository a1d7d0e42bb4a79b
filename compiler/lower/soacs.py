"""Lower intrinsics: parallel operators, views, copies and identities."""

from __future__ import annotations

from collections.abc import Callable

from compiler import codes
from compiler.algebra.poly import Poly
from compiler.base.errors import CompilerBug, Limitation
from compiler.base.names import Name, base_of
from compiler.frontend import typed as ty
from compiler.frontend.types import Type
from compiler.ir import nodes as ir
from compiler.ir.build import both
from compiler.ir.nodes import FALSE, ONE, SE, ZERO, Bin, Lambda, Param, Var
from compiler.ir.sizes import se_of
from compiler.ir.types import array_type, as_operand
from compiler.lower import derivatives, lmads
from compiler.lower.build import Lowering, origin
from compiler.lower.components import components
from compiler.lower.exps import bind_pat, component_names, se, unwritten
from compiler.lower.payloads import (
    FoldSizes,
    Sizes,
    alike,
    fit,
    fit_all,
    payload_sizes,
    row_sizes,
    shapes_in,
    shapes_of,
    sizes_in,
)
from compiler.lower.values import (
    Arr,
    Message,
    Shape,
    Value,
    as_params,
    component_type,
    operand,
    show_shape,
)


def arrays_of(value: Value) -> tuple[Arr, ...]:
    """Return the components of an array value."""
    return tuple(x for x in value if isinstance(x, Arr))


def no_size(shape: Shape) -> Message:
    """Return the message for an invalid array size."""
    return (
        "Array of shape ",
        *show_shape(shape),
        " has a size that is too large for an array, or negative.",
    )


def outer_size(value: Value) -> Poly:
    """Return the number of rows of an array value."""
    return arrays_of(value)[0].shape[0]


def intrinsic(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower an applied intrinsic."""
    return _INTRINSICS[fn.name.removeprefix("intrinsics.")](s, e, fn, hint)


# --- parallel operators ------------------------------------------------------------------------


def _row_params(s: Lowering, pat: ty.Pat, rows: Value) -> Value:
    """Make variables for one row of each array, bound to `pat`."""
    names = [name for name, _ in component_names(s, pat)]
    if not names:
        bind_pat(s, pat, ())
        return ()
    result: list[SE | Arr] = []
    for name, array in zip(names, arrays_of(rows), strict=True):
        if len(array.shape) > 1:
            result.append(Arr(name, array.prim, array.shape[1:]))
            continue
        result.append(Var(name, array.prim))
        count = s.iotas.get(array.name)
        if count is not None:
            s.facts.index(name, count)
            s.facts.runs(count)
    bind_pat(s, pat, tuple(result))
    return tuple(result)


def _lambda_of(s: Lowering, e: ty.Exp) -> ty.Lambda:
    """Return a functional argument, which is a lambda."""
    if not isinstance(e, ty.Lambda):
        raise CompilerBug("a functional argument that is no lambda", e.span)
    return e


def _map(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower `map f xs`."""
    lam = _lambda_of(s, e.args[0])
    xs = s.lower(e.args[1])
    s.prov = (e.span,)
    width = outer_size(xs)
    result_type = fn.type_args[1]
    declared = components(result_type)
    stated = _lambda_shapes(s, result_type)
    outer = s.open()
    params = _row_params(s, lam.params[0], xs)
    used = tuple(a.name for a in arrays_of(xs)) if params else ()
    s.points += 1
    body = s.lower(lam.body)
    s.points -= 1
    s.prov = (e.span,)
    if declared and not s.stms and all(x in params for x in body):
        s.close(outer)
        rows = dict(zip(params, arrays_of(xs), strict=True))
        return tuple(s.borrowed(rows[x]) for x in body)
    if not declared:
        body, stated, declared = (FALSE,), [()], (("bool", (), ""),)
    shapes = [
        s if s is not None else x.shape if isinstance(x, Arr) else ()
        for s, x in zip(stated, body, strict=True)
    ]
    inside = _bound_inside(s, params)
    own = _own_sizes(s, result_type, body, inside)
    if own:
        inner, s.stms = s.stms, outer
        sizes = row_sizes(s, width, (params, inner), used, own)
        s.stms = inner
        shapes = shapes_in(shapes_of(body), result_type, sizes)
    _check_regular(s, shapes, inside)
    body = fit_all(s, body, shapes, result_type) if components(result_type) else body
    stms = s.close(outer)
    returns = tuple(array_type(prim, s) for (prim, _, _), s in zip(declared, shapes, strict=True))
    results = tuple(operand(x) for x in body)
    code = Lambda(as_params(params), ir.Body(tuple(stms), results, origin(lam.body)), returns)
    names = s.names(hint or "map", e.type)
    value = tuple(
        Arr(name, prim, (width, *shape))
        for name, (prim, _, _), shape in zip(names, declared, shapes, strict=True)
    )
    s.emit(as_params(value), ir.Map(width, code, used))
    return value


def _bound_inside(s: Lowering, params: Value) -> set[Name]:
    """Return the names that the current block binds."""
    inside = {p.name for stm in s.stms for p in stm.pat}
    return inside | {x.name for x in params if isinstance(x, Arr | Var)}


def _own_sizes(s: Lowering, t: Type, row: Value, inside: set[Name]) -> Sizes:
    """Return the payload sizes of a row that are unknown outside."""
    found = sizes_in(t, [row] if components(t) else [])
    own = ((dim, [p for p in polys if p.names() & inside]) for dim, polys in found.items())
    return {dim: polys[0] for dim, polys in own if polys}


def _check_regular(s: Lowering, shapes: list[Shape], inside: set[Name]) -> None:
    """Refuse rows whose size is unknown outside."""
    names = {name for shape in shapes for poly in shape for name in poly.names()}
    if names & inside:
        raise Limitation(
            codes.limits.ROWS,
            "The rows of this array may have different sizes.",
            s.prov[0],
            "Give all rows one size that is known before, as in `row :> [n]t`.",
        )


def _lambda_shapes(s: Lowering, t: Type) -> list[Shape | None]:
    """Return the declared shapes of a lambda's results; None where they mention unknown names."""
    found: list[Shape | None] = []
    for _, dims, _ in components(t):
        polys = [s.known_size(d) for d in dims]
        found.append(tuple(p for p in polys if p is not None) if None not in polys else None)
    return found


def _operator(s: Lowering, lam: ty.Lambda, shapes: list[Shape], carried: FoldSizes) -> Lambda:
    """Lower a binary operator on elements of these shapes."""
    elem = carried.elem
    sides: list[SE | Arr] = []
    for pat in lam.params:
        names = [name for name, _ in component_names(s, pat)]
        side = s.params(names, elem, shapes)
        bind_pat(s, pat, side)
        sides.extend(side)
    outer = s.open()
    found = s.lower(lam.body)
    carried.makes(found)
    body = fit_all(s, found, shapes, elem)
    stms = s.close(outer)
    returns = tuple(component_type(x) for x in s.params(["_"] * len(shapes), elem, shapes))
    results = tuple(operand(x) for x in body)
    code = ir.Body(tuple(stms), results, origin(lam.body))
    return Lambda(as_params(tuple(sides)), code, returns)


def _identity(s: Lowering, types: tuple[tuple[str, ir.Type], ...]) -> Lambda:
    """Return the identity function."""
    params = tuple(Param(s.ctx.fresh(base), t) for base, t in types)
    results = tuple(map(as_operand, params))
    return Lambda(params, ir.Body((), results), tuple(p.type for p in params))


def _same_width(s: Lowering, first: Value, other: Value) -> Value:
    """Give `other` as many rows as `first`."""
    width = outer_size(first)
    have = outer_size(other)
    if have == width:
        return other
    what = (
        "Arrays of different outer sizes: ",
        *show_shape((width,)),
        " and ",
        *show_shape((have,)),
        ".",
    )
    return s.expect_all(other, [(width, *a.shape[1:]) for a in arrays_of(other)], what)


def _fold(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower `reduce`, `reduce_comm` and `scan`."""
    elem = fn.type_args[0]
    neutral, xs = s.lower(e.args[1]), s.lower(e.args[2])
    s.prov = (e.span,)
    if not components(elem):
        return () if fn.name != "intrinsics.scan" else xs
    width = outer_size(xs)
    carried = FoldSizes(s, elem)
    shapes = carried.shapes(a.shape[1:] for a in arrays_of(xs))
    first, neutral = neutral, fit_all(s, neutral, shapes, elem)
    lam = _operator(s, _lambda_of(s, e.args[0]), shapes, carried)
    s.prov = (e.span,)
    carried.close(first, xs)
    xs = fit_all(s, xs, [(width, *shape) for shape in shapes], elem)
    commutative = fn.name == "intrinsics.reduce_comm"
    op = ir.Operator(lam, tuple(operand(x) for x in neutral), commutative)
    rows = _identity(s, tuple(("x", t) for t in lam.returns))
    arrays = tuple(a.name for a in arrays_of(xs))
    if fn.name == "intrinsics.scan":
        names = s.names(hint or "scan", elem)
        value: Value = tuple(
            Arr(n, a.prim, (width, *a.shape[1:])) for n, a in zip(names, arrays_of(xs), strict=True)
        )
        s.emit(as_params(value), ir.Scan(width, (op,), rows, arrays))
        return value
    names = s.names(hint or "red", elem)
    value = s.params(names, elem, shapes)
    s.emit(as_params(value), ir.Reduce(width, (op,), rows, arrays))
    return value


def _dests(s: Lowering, value: Value) -> tuple[Arr, ...]:
    """Return destinations to consume: each array once."""
    result: list[Arr] = []
    for a in arrays_of(value):
        if a.borrowed or any(a.name == b.name for b in result):
            a = s.copied(a)
        result.append(a)
    return tuple(result)


def _scatter(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower `scatter_1d`, `scatter_2d`, `scatter_3d`."""
    rank = int(fn.name[-2])
    dests = _dests(s, s.lower(e.args[0]))
    at = s.lower(e.args[1])
    values = _same_width(s, at, s.lower(e.args[2]))
    s.prov = (e.span,)
    dests, values = map(arrays_of, alike(s, e.type, dests, values))
    values = fit_all(s, values, [(outer_size(at), *d.shape[rank:]) for d in dests], e.type)
    types = [
        *(("i", ir.I64) for _ in at),
        *(("v", array_type(v.prim, v.shape[1:])) for v in arrays_of(values)),
    ]
    plain = _identity(s, tuple(types))
    places, items = plain.body.results[:rank], plain.body.results[rank:]
    results = tuple(x for item in items for x in (*places, item))
    returns = tuple(t for r in plain.returns[rank:] for t in (*plain.returns[:rank], r))
    code = Lambda(plain.params, ir.Body((), results), returns)
    arrays = tuple(a.name for a in (*arrays_of(at), *arrays_of(values)))
    value = _like(s, dests, e.type, hint or base_of(dests[0].name))
    to = tuple(ir.Dest(d.name, rank) for d in dests)
    s.emit(as_params(value), ir.Scatter(outer_size(at), to, code, arrays))
    return value


def _like(s: Lowering, arrays: tuple[Arr, ...], t: Type, hint: Name) -> Value:
    """Make new variables for arrays like these, which are a value of type `t`."""
    names = s.names(hint, t)
    return tuple(Arr(n, a.prim, a.shape) for n, a in zip(names, arrays, strict=True))


def _hist(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower `hist_1d`, `hist_2d`, `hist_3d`."""
    rank = int(fn.name[-2])
    elem = fn.type_args[0]
    dests = _dests(s, s.lower(e.args[0]))
    neutral, at = s.lower(e.args[2]), s.lower(e.args[3])
    values = _same_width(s, at, s.lower(e.args[4]))
    s.prov = (e.span,)
    if not components(elem):
        return dests
    carried = FoldSizes(s, elem)
    shapes = carried.shapes(d.shape[rank:] for d in dests)
    given = (dests, neutral, values)
    neutral = fit_all(s, neutral, shapes, elem)
    values = fit_all(s, values, [(outer_size(at), *shape) for shape in shapes], elem)
    lam = _operator(s, _lambda_of(s, e.args[1]), shapes, carried)
    s.prov = (e.span,)
    carried.close(*given)
    whole = [(*d.shape[:rank], *shape) for d, shape in zip(dests, shapes, strict=True)]
    dests = arrays_of(fit_all(s, dests, whole, elem))
    types = [*(("i", ir.I64) for _ in at), *(("v", t) for t in lam.returns)]
    rows = _identity(s, tuple(types))
    op = ir.Operator(lam, tuple(operand(x) for x in neutral))
    value = _like(s, dests, e.type, hint or base_of(dests[0].name))
    hist_op = ir.HistOp(tuple(d.name for d in dests), rank, op)
    arrays = tuple(a.name for a in (*arrays_of(at), *arrays_of(values)))
    s.emit(as_params(value), ir.Hist(outer_size(at), (hist_op,), rows, arrays))
    return value


# --- accumulators ------------------------------------------------------------------------------


def _stream(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower `scatter_stream`, `hist_stream`; writes find the arrays by the token's name."""
    dests = _dests(s, s.lower(e.args[0]))
    for neutral in e.args[1:-2]:
        s.lower(neutral)  # What is there already is combined with what comes.
    lam, xs = _lambda_of(s, e.args[-2]), s.lower(e.args[-1])
    s.prov = (e.span,)
    if not components(fn.type_args[0]):
        return dests
    token, pat = lam.params
    assert isinstance(token, ty.PVar)
    dests = _wide(s, dests, fn.type_args[0])
    s.env[token.name] = dests
    outer = s.open()
    params = _row_params(s, pat, xs)
    s.lower(lam.body)
    code = Lambda(as_params(params), ir.Body(tuple(s.close(outer)), ()), ())
    s.prov = (e.span,)
    arrays = tuple(a.name for a in arrays_of(xs)) if params else ()
    value = _like(s, dests, e.type, hint or base_of(dests[0].name))
    to = tuple(d.name for d in dests)
    s.emit(as_params(value), ir.Stream(outer_size(xs), to, code, arrays))
    return value


def _wide(s: Lowering, dests: tuple[Arr, ...], elem: Type) -> tuple[Arr, ...]:
    """Extend destinations to hold any payload that is written to them."""
    if not payload_sizes(elem):
        return dests
    sizes = {
        dim: s.largest([*polys, s.at_least_none(s.size(dim.size))])
        for dim, polys in sizes_in(elem, [dests]).items()
    }
    return arrays_of(fit_all(s, dests, shapes_in(shapes_of(dests), elem, sizes), elem))


def _push(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower `acc_write`; an operator is its last argument."""
    dests = arrays_of(s.lower(e.args[0]))
    at, value = se(s, e.args[1], "at"), s.lower(e.args[2])
    s.prov = (e.span,)
    shapes = [d.shape[1:] for d in dests]
    elem = fn.type_args[0]
    value = fit_all(s, value, shapes, elem) if components(elem) else value
    carried = FoldSizes(s, elem)
    op = tuple(_operator(s, _lambda_of(s, f), shapes, carried) for f in e.args[3:])
    s.prov = (e.span,)
    names = tuple(d.name for d in dests)
    s.emit((), ir.Push(names, (at,), tuple(operand(x) for x in value), op))
    return ()


# --- pairs -------------------------------------------------------------------------------------


def _zip(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Return the components of both; an array of unit vanishes beside another."""
    xs, ys = s.lower(e.args[0]), s.lower(e.args[1])
    s.prov = (e.span,)
    ys = _same_width(s, xs, ys)
    left, right = (bool(components(t)) for t in fn.type_args[:2])
    value = xs + ys if left and right else xs if left else ys
    return tuple(map(s.borrowed, arrays_of(value)))


def _unzip(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Split the components; an array of unit is made up."""
    value = s.lower(e.args[0])
    first, second = fn.type_args[:2]
    if components(first) and components(second):
        return value
    width = (outer_size(value),)
    units = s.array(ir.Replicate(width, FALSE), "bool", width, "units")
    if not components(first):
        return (units, *(value if components(second) else (units,)))
    return (*value, units)


# --- making arrays -----------------------------------------------------------------------------


def _count(s: Lowering, e: ty.Apply) -> Poly:
    """Lower a number of elements, the first argument of `e`, asserted not to be negative."""
    n = s.poly(se(s, e.args[0], "n"), "n")
    s.prov = (e.span,)
    s.check_size(n, ("Range 0..1..<", se_of(n), " is invalid."))
    return n


def _iota(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower `iota n`."""
    n = _count(s, e)
    s.prov = (e.span,)
    array = s.array(ir.Iota(n, ZERO, ONE, "i64"), "i64", (n,), hint or "iota")
    s.iotas[array.name] = n
    return (array,)


def _replicate(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower `replicate n x`."""
    n = _count(s, e)
    value = s.lower(e.args[1]) or (FALSE,)
    s.prov = (e.span,)
    names = s.names(hint or "rep", e.type)
    result: list[Arr] = []
    for component, name in zip(value, names, strict=True):
        shape = component.shape if isinstance(component, Arr) else ()
        exp = ir.Replicate((n,), operand(component))
        t = component_type(component)
        assert not isinstance(t, ir.Mem)
        result.append(s.array(exp, t.prim, (n, *shape), name))
    return tuple(result)


def _concat(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Lower `xs ++ ys`."""
    xs, ys = s.lower(e.args[0]), s.lower(e.args[1])
    s.prov = (e.span,)
    names = s.names(hint or "cat", e.type)
    result: list[Arr] = []
    xs, ys = alike(s, e.type, xs, ys)
    declared = components(e.type)
    for a, b, name, (_, dims, _) in zip(arrays_of(xs), arrays_of(ys), names, declared, strict=True):
        second = fit(s, b, (b.shape[0], *a.shape[1:]), dims)
        total = s.short(a.shape[0] + b.shape[0])
        s.check_size(total, ("Array of size [", se_of(total), "] is too large."))
        shape = (total, *a.shape[1:])
        exp = ir.Concat((a.name, str(operand(second))))
        result.append(s.array(exp, a.prim, shape, name))
    return tuple(result)


def _views(
    s: Lowering, e: ty.Apply, hint: Name, view: Callable[[Arr], tuple[ir.Exp, Shape]]
) -> Value:
    """Make one view per component."""
    value = s.lower(e.args[0])
    s.prov = (e.span,)
    result: list[Arr] = []
    for array in arrays_of(value):
        exp, shape = view(array)
        single = hint if len(value) == 1 else ""
        result.append(s.view(exp, array, shape, single or base_of(array.name)))
    return tuple(result)


def _transpose(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Swap the first two dimensions."""

    def view(a: Arr) -> tuple[ir.Exp, Shape]:
        s.check_size(a.shape[1], no_size(a.shape))
        perm = (1, 0, *range(2, len(a.shape)))
        return ir.Rearrange(perm, a.name), (a.shape[1], a.shape[0], *a.shape[2:])

    return _views(s, e, hint, view)


def _flatten(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Merge the first two dimensions."""

    def view(a: Arr) -> tuple[ir.Exp, Shape]:
        total = s.times(a.shape[0], a.shape[1])
        s.check_size(total, no_size(a.shape), (a.shape[0], a.shape[1]))
        shape = (total, *a.shape[2:])
        return ir.Reshape(shape, a.name), shape

    return _views(s, e, hint, view)


def _unflatten(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Split the first dimension in two."""
    outer, inner = (s.size(size) for size in fn.size_args[:2])

    def view(a: Arr) -> tuple[ir.Exp, Shape]:
        total = s.times(outer, inner)
        wanted = ("array of shape ", *show_shape((outer, inner)), ".")
        text = ("Cannot unflatten array of shape ", *show_shape(a.shape[:1]), " to ", *wanted)
        for size in (outer, inner):
            s.check_size(size, text)
        ok = s.product_fits(outer, inner)
        if a.shape[0] != total:
            ok = both(ok, Bin("==", "i64", se_of(a.shape[0]), se_of(total)))
        s.check(ok, text)
        shape = (outer, inner, *a.shape[1:])
        return ir.Reshape(shape, a.name), shape

    return _views(s, e, hint, view)


def _copy(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Make fresh arrays; scalars stay."""
    value = s.lower(e.args[0])
    s.prov = (e.span,)
    single = hint if len(value) == 1 else ""
    return tuple(
        s.array(ir.Copy(x.name), x.prim, x.shape, single or base_of(x.name))
        if isinstance(x, Arr)
        else x
        for x in value
    )


def _scratch(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Make uninitialised arrays of those shapes, which are written before they are read."""
    value = s.lower(e.args[0])
    s.prov = (e.span,)
    return unwritten(s, value, hint)


def _opaque(s: Lowering, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
    """Return the argument."""
    return s.lower(e.args[0], hint)


_INTRINSICS: dict[str, Callable[[Lowering, ty.Apply, ty.Var, Name], Value]] = {
    "map": _map,
    "reduce": _fold,
    "reduce_comm": _fold,
    "scan": _fold,
    "zip": _zip,
    "unzip": _unzip,
    "scatter_1d": _scatter,
    "scatter_2d": _scatter,
    "scatter_3d": _scatter,
    "scatter_stream": _stream,
    "hist_stream": _stream,
    "acc_write": _push,
    "hist_1d": _hist,
    "hist_2d": _hist,
    "hist_3d": _hist,
    "iota": _iota,
    "replicate": _replicate,
    "concat": _concat,
    "transpose": _transpose,
    "flatten": _flatten,
    "unflatten": _unflatten,
    "copy": _copy,
    "scratch": _scratch,
    "opaque": _opaque,
    **lmads.INTRINSICS,
    **derivatives.INTRINSICS,
}
