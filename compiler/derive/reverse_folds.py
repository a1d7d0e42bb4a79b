"""Reverse mode of plain reductions and scans (`split.py`).

    reduce (+)        each element gets the adjoint of the sum
    reduce min, max   the first element equal to the result gets it
    reduce op         two scans give the folds left and right of each element; between them
                      the operator is derived, for all elements at once
    scan (+)          the sum of the adjoints from each element on
    scan op           adjoints follow a linear recurrence, which is a scan from the right

An operator with active free names, or on arrays, is applied in a loop, one element after the other,
and the loop is derived.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.algebra.poly import Poly
from compiler.derive.reverse import END, Back, Contribution, Reverse
from compiler.derive.reverse_loops import of_loop
from compiler.derive.reverse_maps import over
from compiler.derive.writing import plus
from compiler.ir import nodes as ir
from compiler.ir.build import full_slices, row_at
from compiler.ir.nodes import ONE, SE, ZERO, Operand, Param, Type, Var
from compiler.ir.sizes import se_of
from compiler.ir.types import as_operand, prim_type, row_type, shape_of, with_dims
from compiler.ir.walk import subst

MOST = 4
"""Components of a scan whose recurrence is computed by a scan: matrices grow quadratically."""
Fold = ir.Reduce | ir.Scan


def single(op: ir.Operator) -> str:
    """Return the scalar operation of an operator that is only that, or ""."""
    fn = op.fn
    if len(fn.params) != 2 or len(fn.body.results) != 1:
        return ""
    result: Any = fn.body.results[0]
    if len(fn.body.stms) == 1 and isinstance(result, Var):
        (stm,) = fn.body.stms
        if stm.pat[0].name != result.name:
            return ""
        result = stm.exp
    elif fn.body.stms:
        return ""
    names = {p.name for p in fn.params}
    match result:
        case ir.Bin(name, _, Var(a, _), Var(b, _)) if {a, b} == names:
            return name
    return ""


def _fold(r: Reverse, stm: ir.Stm, exp: Fold) -> Back:
    (op,) = exp.ops
    name = single(op)
    is_sum = name == "+" or (name == "||" and prim_type(op.fn.returns[0]) == "bool")
    inactive = not any(r.activity.has(n) for n in op.neutral)
    if is_sum and inactive:
        return _simple(r, stm, exp, _sum if isinstance(exp, ir.Reduce) else _sums)
    if name in ("min", "max") and inactive and isinstance(exp, ir.Reduce):
        return _simple(r, stm, exp, _extreme)
    scalars = all(isinstance(kind, ir.Scalar) for kind in op.fn.returns)
    alone = inactive and not r.free_active(op.fn)
    if isinstance(exp, ir.Reduce) and alone:
        return _simple(r, stm, exp, _reduce)
    if isinstance(exp, ir.Scan) and alone and scalars and len(op.neutral) <= MOST:
        return _simple(r, stm, exp, _scan)
    return _in_a_loop(r, stm, exp)


def _simple(r: Reverse, stm: ir.Stm, exp: Fold, way: Any) -> Back:
    r.stms.append(stm)

    def back() -> None:
        adjoints = [r.adjoint(p.name) for p in stm.pat]
        if any(a is not None for a in adjoints):
            full = [r.full(p.name) for p in stm.pat]
            way(r, stm, exp, full)

    return back


# --- sums and extremes -------------------------------------------------------------------------


def _sum(r: Reverse, stm: ir.Stm, exp: ir.Reduce, adjoints: list[Operand]) -> None:
    """Each element gets the adjoint of the sum."""
    (array,) = exp.arrays
    kind = r.types[array]
    r.give(array, r.bind(array, kind, ir.Replicate((exp.width,), adjoints[0]), END))


def _sums(r: Reverse, stm: ir.Stm, exp: ir.Scan, adjoints: list[Operand]) -> None:
    """Each element gets the sum of the adjoints from there on."""
    (array,) = exp.arrays
    kind = r.types[array]
    row = row_type(kind)
    turned = _turned(r, str(adjoints[0]), kind)
    op = ir.Operator(r.adder(row), (r.zero(row),), False)
    scan = ir.Scan(exp.width, (op,), r.identity((row,)), (turned,))
    r.give(array, _turned(r, str(r.bind(array, kind, scan, END)), kind))


def _turned(r: Reverse, array: str, kind: Type) -> str:
    """Reverse an array."""
    width, *rest = shape_of(kind)
    last = ir.Bin("-", "i64", se_of(width), ONE)
    dims = (ir.DimSlice(last, width, ir.Lit(-1, "i64")), *full_slices(rest))
    return str(r.bind("turned", kind, ir.Slice(array, dims)))


def _extreme(r: Reverse, stm: ir.Stm, exp: ir.Reduce, adjoints: list[Operand]) -> None:
    """The first element that is the result gets its adjoint."""
    (op,), (array,) = exp.ops, exp.arrays
    prim = prim_type(op.fn.returns[0])
    kinds: tuple[Type, ...] = (ir.Scalar(prim), ir.I64)
    fn = pair_of(r, single(op), prim)
    places = r.bind("is", ir.Array("i64", (exp.width,)), ir.Iota(exp.width, ZERO, ONE, "i64"))
    pairs = ir.Operator(fn, (op.neutral[0], ir.Lit(-1, "i64")), False)
    pat = [r.fresh(stm.pat[0].name, kinds[0]), r.fresh("at", ir.I64)]
    r.add(pat, ir.Reduce(exp.width, (pairs,), r.identity(kinds), (array, str(places))))
    r.parts(array, Contribution((), (as_operand(pat[1]),), adjoints[0]))


def pair_of(r: Reverse, name: str, prim: Any) -> ir.Lambda:
    """Return the operator `min` or `max` on values paired with their indices."""
    kinds = (ir.Scalar(prim), ir.I64)
    params = [r.known(Param(r.ctx.fresh(n), k)) for n, k in zip("aibj", kinds * 2, strict=True)]
    a, i, b, j = (Var(p.name, p.type.prim) for p in params)
    first: SE = ir.Bin("<=" if name == "min" else ">=", prim, a, b)
    if prim[0] == "f":
        first = ir.Bin("||", "bool", first, ir.Fun("isnan", prim, (b,)))
    own = r.known(Param(r.ctx.fresh("first"), ir.BOOL))
    cond = Var(own.name, "bool")
    results = (ir.Select(cond, a, b), ir.Select(cond, i, j))
    return ir.Lambda(tuple(params), ir.Body((ir.Stm((own,), first),), results), kinds)


# --- any operator ------------------------------------------------------------------------------


def _reduce(r: Reverse, stm: ir.Stm, exp: ir.Reduce, adjoints: list[Operand]) -> None:
    """Derive the operator for each element between the folds left and right of it."""
    (op,) = exp.ops
    lefts = _before(r, exp.width, op, list(exp.arrays))
    kinds = [r.types[a] for a in exp.arrays]
    turned = [_turned(r, a, k) for a, k in zip(exp.arrays, kinds, strict=True)]
    rights = _before(r, exp.width, _flipped(r, op), turned)
    rights = [_turned(r, a, k) for a, k in zip(rights, kinds, strict=True)]
    fn = _between(r, op)
    given = [
        r.bind("y", with_dims((exp.width,), kind), ir.Replicate((exp.width,), a), END)
        for kind, a in zip(op.fn.returns, adjoints, strict=True)
    ]
    over(r, exp.width, fn, [*lefts, *exp.arrays, *rights], given)


def _flipped(r: Reverse, op: ir.Operator) -> ir.Operator:
    """Return the operator with swapped operands."""
    fn = r.copied(op.fn)
    width = len(op.neutral)
    params = (*fn.params[width:], *fn.params[:width])
    return ir.Operator(ir.Lambda(params, fn.body, fn.returns), op.neutral, op.commutative)


def _before(r: Reverse, width: Poly, op: ir.Operator, arrays: Sequence[str]) -> list[str]:
    """Return for each element the fold of those before it."""
    kinds = [r.types[a] for a in arrays]
    rows = [row_type(k) for k in kinds]
    own = ir.Operator(r.copied(op.fn), op.neutral, False)
    pat = [r.fresh("folded", kind) for kind in kinds]
    r.add(pat, ir.Scan(width, (own,), r.identity(rows), tuple(arrays)))
    return shifted(r, width, [p.name for p in pat], op.neutral)


def shifted(r: Reverse, width: Poly, arrays: Sequence[str], first: Sequence[Operand]) -> list[str]:
    """Shift arrays by one element, with a new first one and without the last."""
    kinds = [r.types[a] for a in arrays]
    rows = [row_type(k) for k in kinds]
    index = r.known(Param(r.ctx.fresh("i"), ir.I64))
    at = Var(index.name, "i64")
    outer = r.open()
    start = ir.Body((), tuple(first))
    inner = r.open()
    before = ir.Bin("-", "i64", at, ONE)
    ends = [r.bind("x", k, row_at(a, (before,), k)) for a, k in zip(arrays, rows, strict=True)]
    rest = r.close(inner, ends)
    pat = [r.fresh("x", k) for k in rows]
    r.add(pat, ir.If(ir.Bin("==", "i64", at, ZERO), start, rest))
    body = r.close(outer, [as_operand(p) for p in pat])
    places = r.bind("is", ir.Array("i64", (width,)), ir.Iota(width, ZERO, ONE, "i64"))
    whole = [r.fresh("before", k) for k in kinds]
    r.add(whole, ir.Map(width, ir.Lambda((index,), body, tuple(rows)), (str(places),)))
    return [p.name for p in whole]


def _between(r: Reverse, op: ir.Operator) -> ir.Lambda:
    """Return (l, x, r) -> (l op x) op r, of which only x is active."""
    width = len(op.neutral)
    first, second = r.copied(op.fn), r.copied(op.fn)
    left, mine = first.params[:width], first.params[width:]
    r.active.difference_update(p.name for p in (*left, *second.params))
    right = second.params[width:]
    names = dict(zip((p.name for p in second.params), first.body.results, strict=False))
    last = subst(second.body, names)
    stms = (*first.body.stms, *last.stms)
    params = (*left, *mine, *right)
    r.activity.active.update(p.name for p in mine)
    r.activity.learn(stms)
    return ir.Lambda(params, ir.Body(stms, last.results), op.fn.returns)


def _scan(r: Reverse, stm: ir.Stm, exp: ir.Scan, adjoints: list[Operand]) -> None:
    """Solve the linear recurrence of a scan's adjoints, from the right."""
    (op,) = exp.ops
    results = [p.name for p in stm.pat]
    totals = _recurrence(r, exp, results, adjoints)
    before = shifted(r, exp.width, results, op.neutral)
    fn = r.copied(op.fn)
    width = len(op.neutral)
    r.active.difference_update(p.name for p in fn.params[:width])
    fn = _only(r, fn, fn.params[width:])
    over(r, exp.width, fn, [*before, *exp.arrays], totals)


def _only(r: Reverse, fn: ir.Lambda, params: Sequence[Param]) -> ir.Lambda:
    """Make only these parameters of a lambda active."""
    inner = {p.name for s in fn.body.stms for p in s.pat}
    r.active.difference_update(inner, (p.name for p in fn.params))
    r.active.update(p.name for p in params)
    r.activity.learn(fn.body.stms)
    return fn


def _recurrence(
    r: Reverse, exp: ir.Scan, results: list[str], adjoints: list[Operand]
) -> list[Operand]:
    """Compute t_i = adj_i + J_i t_(i+1), where J_i is the Jacobian of the next prefix."""
    (op,) = exp.ops
    count = len(op.neutral)
    rows = list(op.fn.returns)
    matrix = _jacobians(r, exp, results)
    kinds = [with_dims((exp.width,), k) for k in rows]
    turned = [_turned(r, str(a), k) for a, k in zip(adjoints, kinds, strict=True)]
    cells = [with_dims((exp.width,), rows[k // count]) for k in range(count * count)]
    matrix = [_turned(r, m, k) for m, k in zip(matrix, cells, strict=True)]
    fn = _affine(r, rows)
    zeros = [r.zero(k) for k in rows]
    one = [
        ir.Lit(
            _one(prim_type(rows[k // count]), k // count == k % count), prim_type(rows[k // count])
        )
        for k in range(count * count)
    ]
    scan = ir.Operator(fn, (*zeros, *one), False)
    pat = [r.fresh("t", k) for k in (*kinds, *cells)]
    identity = r.identity(fn.returns)
    r.add(pat, ir.Scan(exp.width, (scan,), identity, (*turned, *matrix)))
    return [_turned(r, p.name, p.type) for p in pat[:count]]


def _one(prim: Any, yes: bool) -> Any:
    return float(yes) if prim[0] == "f" else bool(yes) if prim == "bool" else int(yes)


def _affine(r: Reverse, rows: Sequence[Type]) -> ir.Lambda:
    """Compose affine maps t -> b + A t: (b, A), then (d, C) gives (d + C b, C A)."""
    count = len(rows)
    prims = [prim_type(k) for k in rows]
    every = [*rows, *(rows[k // count] for k in range(count * count))]
    left, right = ([r.known(Param(r.ctx.fresh("x"), k)) for k in every] for _ in range(2))
    b, d = ([Var(p.name, prim_type(p.type)) for p in side[:count]] for side in (left, right))
    a, c = ([Var(p.name, prim_type(p.type)) for p in side[count:]] for side in (left, right))

    def dot(i: int, column: Sequence[Var]) -> SE:
        prim = prims[i]
        result: SE | None = None
        for k in range(count):
            times = "&&" if prim == "bool" else "*"
            term: SE = ir.Bin(times, prim, c[i * count + k], _as(column[k], prim))
            result = term if result is None else ir.Bin(plus(prim), prim, result, term)
        assert result is not None
        return result

    sums = [ir.Bin(plus(prims[i]), prims[i], d[i], dot(i, b)) for i in range(count)]
    products = [dot(i, a[j::count]) for i in range(count) for j in range(count)]
    body = ir.Body((), (*sums, *products))
    return ir.Lambda((*left, *right), body, tuple(every))


def _as(value: Var, prim: Any) -> SE:
    return value if value.prim == prim else ir.Conv(value.prim, prim, value)


def _jacobians(r: Reverse, exp: ir.Scan, results: list[str]) -> list[str]:
    """Return the Jacobians between consecutive prefixes, transposed, one array per component.

    The last element, which has no next one, gets zeros.
    """
    (op,) = exp.ops
    count = len(op.neutral)
    index = r.known(Param(r.ctx.fresh("i"), ir.I64))
    at = Var(index.name, "i64")
    rows = [prim_type(k) for k in op.fn.returns]
    cells = [ir.Scalar(rows[k // count]) for k in range(count * count)]
    outer = r.open()
    nothing = ir.Body((), tuple(r.zero(k) for k in cells))
    inner = r.open()
    after = ir.Bin("+", "i64", at, ONE)
    own = [r.bind("y", k, row_at(a, (at,), k)) for a, k in zip(results, op.fn.returns, strict=True)]
    new = [
        r.bind("x", k, row_at(a, (after,), k))
        for a, k in zip(exp.arrays, op.fn.returns, strict=True)
    ]
    found: list[list[Operand]] = []
    for m in range(count):
        found.append(_row(r, op, [*own, *new], m))
    some = r.close(inner, [found[m][k] for k in range(count) for m in range(count)])
    pat = [r.fresh("j", k) for k in cells]
    last = ir.Bin("==", "i64", after, se_of(exp.width))
    r.add(pat, ir.If(last, nothing, some))
    body = r.close(outer, [as_operand(p) for p in pat])
    places = r.bind("is", ir.Array("i64", (exp.width,)), ir.Iota(exp.width, ZERO, ONE, "i64"))
    whole = [r.fresh("j", with_dims((exp.width,), k)) for k in cells]
    r.add(whole, ir.Map(exp.width, ir.Lambda((index,), body, tuple(cells)), (str(places),)))
    return [p.name for p in whole]


def _row(r: Reverse, op: ir.Operator, given: Sequence[Operand], m: int) -> list[Operand]:
    """Return the derivatives of component `m` of the operator's result by each left operand."""
    count = len(op.neutral)
    fn = _only(r, r.copied(op.fn), ())
    fn = _only(r, fn, fn.params[:count])
    r.learn(fn.params)
    for p, value in zip(fn.params, given, strict=True):
        r.add((p,), value if not isinstance(value, str) else ir.Reshape(shape_of(p.type), value))
    outer = r.inside(p.name for p in fn.params)
    prim = prim_type(fn.returns[m])
    one = ir.Lit(_one(prim, True), prim)
    r.there_and_back(fn.body.stms, lambda: r.give(fn.body.results[m], one))
    row = [r.full(p.name) for p in fn.params[:count]]
    r.outside(outer)
    return row


# --- in a loop ---------------------------------------------------------------------------------


def _in_a_loop(r: Reverse, stm: ir.Stm, exp: Fold) -> Back:
    """Turn the fold into a loop over the elements, and derive that."""
    (op,) = exp.ops
    count = len(op.neutral)
    index = r.ctx.fresh("i")
    at = Var(index, "i64")
    fn = r.copied(op.fn)
    r.learn(fn.params)
    left, right = fn.params[:count], fn.params[count:]
    stms: list[ir.Stm] = [
        ir.Stm((p,), row_at(a, (at,), p.type), stm.prov)
        for p, a in zip(right, exp.arrays, strict=True)
    ]
    stms += fn.body.stms
    results = [*fn.body.results]
    params, init = [*left], [*op.neutral]
    pat = list(stm.pat)
    if isinstance(exp, ir.Scan):
        params, init, results, pat = _kept(r, stm, exp, params, init, results, stms, at)
    loop = ir.Loop(
        tuple(params),
        tuple(init),
        ir.ForLoop(index, "i64", se_of(exp.width)),
        ir.Body(tuple(stms), tuple(results)),
    )
    r.activity.learn((ir.Stm(tuple(pat), loop, stm.prov),))
    r.learn(pat)
    return of_loop(r, ir.Stm(tuple(pat), loop, stm.prov), loop)


def _kept(
    r: Reverse,
    stm: ir.Stm,
    exp: ir.Scan,
    params: list[Param],
    init: list[Operand],
    results: list[Operand],
    stms: list[ir.Stm],
    at: SE,
) -> tuple[list[Param], list[Operand], list[Operand], list[Param]]:
    """Extend the loop of a scan by arrays of its prefixes."""
    arrays = [Param(r.ctx.fresh(p.name), p.type, True) for p in stm.pat]
    ends: list[Operand] = []
    for p, value in zip(arrays, results, strict=True):
        new = r.known(Param(r.ctx.fresh(p.name), p.type))
        dims = (ir.DimFix(at), *full_slices(shape_of(row_type(p.type))))
        stms.append(ir.Stm((new,), ir.Update(p.name, dims, value), stm.prov))
        ends.append(new.name)
    starts = [r.zero(p.type) for p in stm.pat]
    folded = [r.known(Param(r.ctx.fresh(p.name), p.type)) for p in params]
    return [*params, *arrays], [*init, *starts], [*results, *ends], [*folded, *stm.pat]


RULES: dict[type, Any] = {ir.Reduce: _fold, ir.Scan: _fold}
