"""Reductions, scans, scatters and histograms: their kernels, and what is rewritten before.

    kernel       reduce op ne f xs, in a nest of maps   ==>  segred over the nest and the operator
    split_map    reduce op ne f xs                      ==>  reduce op ne id (map f xs)
    interchange  reduce (map2 op) (replicate m ne) xss  ==>  map (reduce op ne) (transpose xss)

The last two give core language again, which is then flattened in its turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.base.names import Name
from compiler.base.remarks import Applied, Missed
from compiler.base.rules import Rule
from compiler.base.spans import Prov
from compiler.ir.build import var
from compiler.ir.nodes import (
    Array,
    Body,
    Hist,
    HistOp,
    KernelResult,
    Lambda,
    Map,
    Operand,
    Operator,
    Param,
    Rearrange,
    Reduce,
    Replicate,
    Scalar,
    Scan,
    Scatter,
    SegHist,
    SegRed,
    SegScan,
    Stm,
    Type,
    Write,
)
from compiler.ir.types import as_operand, prim_type, row_type, shape_of, with_dims
from compiler.parallel.lambdas import VectorOp, is_identity, vectorised
from compiler.parallel.nest import (
    At,
    Nest,
    Scope,
    emit,
    indices,
    kernel_body,
    out_params,
    seg_fold,
    seg_map,
    sequential_op,
    settle_names,
    space,
    widths,
)
from compiler.parallel.whole import whole

SEGMENTED = Rule(
    "flatten/segmented",
    "Makes kernels of inner reductions and scans, as there must be some.",
    optional=False,
)
INTERCHANGE_REDUCE = Rule(
    "flatten/interchange-reduce", "A reduction of rows becomes a map of reductions of columns."
)

Wish = Sequence[Name | None]
Made = tuple[list[Stm], list[Name]]
Fold = Reduce | Scan | Scatter | Hist


# --- kernels ---------------------------------------------------------------------------------


def kernel(sc: Scope, nest: Nest, stm: Stm, wish: Wish) -> Made:
    """One kernel over the nest and the operator's own elements."""
    exp = stm.exp
    assert isinstance(exp, Fold)
    level = sc.enter(nest, exp.width)
    for param, array in zip(exp.fn.params, exp.arrays, strict=True):
        sc.sources[param.name] = At(array, (level.index,))
        sc.types[param.name] = param.type
    inner = (*nest, level)
    match exp:
        case Reduce():
            return _segmented(sc, inner, stm, exp, SegRed, wish)
        case Scan():
            return _segmented(sc, inner, stm, exp, SegScan, wish)
        case Scatter():
            return _scatter(sc, nest, inner, stm, exp, wish)
        case Hist():
            return _hist(sc, nest, inner, stm, exp, wish)


def _segmented(
    sc: Scope,
    inner: Nest,
    stm: Stm,
    exp: Reduce | Scan,
    kind: type[SegRed] | type[SegScan],
    wish: Wish,
) -> Made:
    fn = exp.fn
    pat = out_params(sc, widths(inner[:-1]), [p.type for p in stm.pat], wish)
    out = seg_fold(
        sc, kind, inner, exp.ops, fn.body.stms, fn.body.results, pat, fn.returns, stm.prov
    )
    if len(inner) > 1:
        what = "reduction" if kind is SegRed else "scan"
        because = (
            f"All {what}s of the map are done in one kernel, one segment of it per element of the "
            "map."
        )
        sc.ctx.tell("applied", SEGMENTED, stm.prov, because)
    return [out], [p.name for p in pat]


def _scatter(sc: Scope, nest: Nest, inner: Nest, stm: Stm, exp: Scatter, wish: Wish) -> Made:
    out, dests = _destinations(
        sc, nest, [d.array for d in exp.dests], [p.type for p in stm.pat], stm.prov
    )
    values = exp.fn.body.results
    pat = [
        *out_params(
            sc,
            widths(nest),
            [p.type for p in stm.pat[: len(dests)]],
            wish[: len(dests)],
        ),
        *out_params(
            sc,
            widths(nest),
            [p.type for p in stm.pat[len(dests) :]],
            wish[len(dests) :],
        ),
    ]
    outer = tuple(var(i) for i in indices(nest))
    results: list[KernelResult] = []
    returns: list[Type] = []
    at = 0
    for dest, name, param in zip(exp.dests, dests, pat, strict=False):
        place = tuple(v for v in values[at : at + dest.rank] if not isinstance(v, str))
        results.append(Write(name, (((*outer, *place), values[at + dest.rank]),)))
        returns.append(param.type)
        at += dest.rank + 1
    results.extend(values[at:])
    returns.extend(exp.fn.returns[at:])
    out.extend(
        seg_map(sc, inner, exp.fn.body.stms, tuple(results), tuple(pat), tuple(returns), stm.prov)
    )
    return out, [p.name for p in pat]


def _hist(sc: Scope, nest: Nest, inner: Nest, stm: Stm, exp: Hist, wish: Wish) -> Made:
    names = [d for op in exp.ops for d in op.dests]
    out, dests = _destinations(sc, nest, names, [p.type for p in stm.pat], stm.prov)
    pat = out_params(sc, widths(nest), [p.type for p in stm.pat], wish)
    ops: list[HistOp] = []
    at = 0
    for op in exp.ops:
        count = len(op.dests)
        ops.append(HistOp(tuple(dests[at : at + count]), op.rank, sequential_op(sc, op.op)))
        at += count
    fn = exp.fn
    body = kernel_body(sc, fn.body.stms, fn.body.results, fn.returns, stm.prov)
    made = SegHist(sc.level, space(inner), tuple(ops), body)
    out.append(emit(sc, pat, settle_names(sc, made), stm.prov))
    return out, [p.name for p in pat]


def _destinations(
    sc: Scope, nest: Nest, names: list[Name], types: list[Type], prov: Prov
) -> tuple[list[Stm], list[Name]]:
    """The arrays that hold all destinations of a nest."""
    if not nest:
        return [], names
    out: list[Stm] = []
    found: list[Name] = []
    for name, type_ in zip(names, types, strict=False):
        stms, array = whole(sc, nest, name, type_, True, None, prov)
        out.extend(stms)
        found.append(array)
    return out, found


# --- rewrites --------------------------------------------------------------------------------


def split_map(sc: Scope, stm: Stm) -> tuple[Stm, ...]:
    """The operator's map part as a map of its own."""
    exp = stm.exp
    assert isinstance(exp, Fold)
    fn, fresh = exp.fn, sc.ctx.fresh
    first_kept = len(fn.returns) - _kept(exp, stm)
    rows = tuple(
        Param(fresh("part"), with_dims((exp.width,), type_)) for type_ in fn.returns[:first_kept]
    )
    producer = Stm(rows + stm.pat[len(stm.pat) - _kept(exp, stm) :], _map_of(exp), stm.prov)
    params = tuple(Param(fresh("x"), type_) for type_ in fn.returns[:first_kept])
    body = Body((), tuple(as_operand(p) for p in params))
    identity = Lambda(params, body, fn.returns[:first_kept])
    arrays = tuple(p.name for p in rows)
    pat = stm.pat[: len(stm.pat) - _kept(exp, stm)]
    reader: Fold
    match exp:
        case Reduce(width, ops, _, _):
            reader = Reduce(width, ops, identity, arrays)
        case Scan(width, ops, _, _):
            reader = Scan(width, ops, identity, arrays)
        case Scatter(width, dests, _, _):
            reader = Scatter(width, dests, identity, arrays)
        case Hist(width, hists, _, _):
            reader = Hist(width, hists, identity, arrays)
    return producer, Stm(pat, reader, stm.prov)


def _map_of(exp: Fold) -> Map:
    return Map(exp.width, exp.fn, exp.arrays)


def _kept(exp: Fold, stm: Stm) -> int:
    """How many results are values to keep."""
    match exp:
        case Reduce(_, ops, _, _) | Scan(_, ops, _, _):
            return len(stm.pat) - sum(len(op.neutral) for op in ops)
        case Scatter(_, dests, _, _):
            return len(stm.pat) - len(dests)
    return 0


def interchange(sc: Scope, stm: Stm) -> tuple[Stm, ...] | None:
    """A reduction or scan whose operator works element by element, turned inside out."""
    exp = stm.exp
    if not isinstance(exp, Reduce | Scan):
        return None
    if not any(isinstance(p.type, Array) for op in exp.ops for p in op.fn.params):
        return None
    what = "reduction" if isinstance(exp, Reduce) else "scan"
    inner = [_inner_operator(sc, op) for op in exp.ops]
    if any(op is None for op in inner):
        because = (
            f"The operator of this {what} works on arrays, but not element by element with the "
            "same neutral element everywhere, so it stays an operator on whole rows."
        )
        hint = "An operator of the form `map2 op`, with `replicate m ne`, can be turned inside out."
        sc.ctx.commit(INTERCHANGE_REDUCE, stm.prov, Missed(because, hint))
        return None
    because = (
        f"The operator works element by element, so the {what} of rows becomes a map of "
        f"{what}s over the transposed array."
    )
    if sc.ctx.commit(INTERCHANGE_REDUCE, stm.prov, Applied(True, because)) is None:
        return None
    out: list[Stm] = []
    if not is_identity(exp.fn):
        split = split_map(sc, stm)
        out.append(split[0])
        exp = split[1].exp
        assert isinstance(exp, Reduce | Scan)
    at = 0
    for old, new in zip(exp.ops, inner, strict=True):
        assert new is not None
        count = len(old.neutral)
        pat, arrays = stm.pat[at : at + count], exp.arrays[at : at + count]
        out.extend(_turned(sc, exp, new, arrays, pat, stm.prov))
        at += count
    return tuple(out)


class _Inner:
    """The operator on elements, with statements that make its neutral elements."""

    __slots__ = ("op", "stms", "width")

    def __init__(self, op: Operator, stms: tuple[Stm, ...], vector: VectorOp) -> None:
        self.op = op
        self.stms = stms
        self.width = vector.width


def _inner_operator(sc: Scope, op: Operator) -> _Inner | None:
    vector = vectorised(op, sc.ctx.fresh)
    if vector is None:
        return None
    stms: list[Stm] = []
    neutral: list[Operand] = []
    for name, type_ in zip(op.neutral, vector.fn.returns, strict=True):
        made = sc.defs.get(name) if isinstance(name, str) else None
        if not isinstance(made, Replicate):
            return None
        shape = shape_of(type_)
        inner_rank = len(made.shape) - 1
        if inner_rank == 0:
            neutral.append(made.value)
            continue
        param = Param(sc.ctx.fresh("neutral"), with_dims(shape, Scalar(prim_type(type_))))
        stms.append(Stm((param,), Replicate(made.shape[1:], made.value)))
        neutral.append(param.name)
    return _Inner(Operator(vector.fn, tuple(neutral), op.commutative), tuple(stms), vector)


def _turned(
    sc: Scope,
    exp: Reduce | Scan,
    inner: _Inner,
    arrays: tuple[Name, ...],
    pat: tuple[Param, ...],
    prov: Prov,
) -> list[Stm]:
    """Map (reduce op ne) (transpose xss), for one operator."""
    fresh = sc.ctx.fresh
    out = [Stm(s.pat, s.exp, prov) for s in inner.stms]
    columns: list[Param] = []
    turned: list[Name] = []
    element_types = inner.op.fn.returns
    for array, element in zip(arrays, element_types, strict=True):
        whole_type = with_dims((inner.width, exp.width), element)
        view = Param(fresh(array), whole_type)
        perm = (1, 0, *range(2, len(shape_of(whole_type))))
        out.append(Stm((view,), Rearrange(perm, array), prov))
        turned.append(view.name)
        columns.append(Param(fresh("column"), row_type(whole_type)))
    elements = tuple(Param(fresh("x"), t) for t in element_types)
    identity = Lambda(elements, Body((), tuple(as_operand(p) for p in elements)), element_types)
    fold = type(exp)(exp.width, (inner.op,), identity, tuple(p.name for p in columns))
    made = tuple(
        Param(fresh(p.name), t if isinstance(exp, Reduce) else with_dims((exp.width,), t))
        for p, t in zip(pat, element_types, strict=True)
    )
    types = tuple(p.type for p in made)
    body = Body((Stm(made, fold, prov),), tuple(as_operand(p) for p in made))
    mapped = Map(inner.width, Lambda(tuple(columns), body, types), tuple(turned))
    if isinstance(exp, Reduce):
        out.append(Stm(pat, mapped, prov))
        return out
    rows = tuple(
        Param(fresh(p.name), with_dims((inner.width,), t)) for p, t in zip(pat, types, strict=True)
    )
    out.append(Stm(rows, mapped, prov))
    for param, row in zip(pat, rows, strict=True):
        perm = (1, 0, *range(2, len(shape_of(row.type))))
        out.append(Stm((param,), Rearrange(perm, row.name), prov))
    return out
