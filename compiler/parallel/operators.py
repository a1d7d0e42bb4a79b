"""Reductions, scans, scatters and histograms: their kernels, and what is rewritten before.

    kernel       reduce op ne f xs, in a nest of maps   ==>  segred over the nest and the operator
    split_map    reduce op ne f xs                      ==>  reduce op ne id (map f xs)
    interchange  reduce (map2 op) (replicate m ne) xss  ==>  map (reduce op ne) (transpose xss)

The last two give core language again, which is then flattened in its turn.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from compiler.base.names import Name
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import NodeRule, Rule
from compiler.base.spans import Prov
from compiler.ir.build import var
from compiler.ir.nodes import (
    Array,
    Body,
    Hist,
    HistOp,
    KernelBody,
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
    Write,
)
from compiler.ir.types import as_operand, prim_type, row_type, shape_of, with_dims
from compiler.parallel.lambdas import VectorOp, is_identity, vectorised
from compiler.parallel.lift import lifted_own
from compiler.parallel.nest import (
    At,
    FlatteningScope,
    HostCode,
    Nest,
    ResultNames,
    closed,
    emit,
    indices,
    out_params,
    seg_map,
    sequential_op,
    space,
    widths,
    with_own_names,
)

SEGMENTED = Rule(
    "flatten/segmented",
    "Makes kernels of inner reductions and scans, as there must be some.",
    optional=False,
)
Fold = Reduce | Scan | Scatter | Hist


# --- kernels ---------------------------------------------------------------------------------


def kernel(sc: FlatteningScope, nest: Nest, stm: Stm, names: ResultNames) -> HostCode:
    """One kernel over the nest and the operator's own elements."""
    exp = stm.exp
    assert isinstance(exp, Fold)
    level = sc.enter(nest, exp.width)
    for param, array in zip(exp.fn.params, exp.arrays, strict=True):
        sc.sources[param.name] = At(array, (level.index,))
        sc.types[param.name] = param.type
    inner = (*nest, level)
    match exp:
        case Reduce() | Scan():
            return _segmented(sc, inner, stm, exp, names)
        case Scatter():
            return _scatter(sc, inner, stm, exp, names)
        case Hist():
            return _hist(sc, inner, stm, exp, names)


def _thread(exp: Fold) -> KernelBody:
    return KernelBody(exp.fn.body.stms, exp.fn.body.results, exp.fn.returns)


def _segmented(
    sc: FlatteningScope, inner: Nest, stm: Stm, exp: Reduce | Scan, names: ResultNames
) -> HostCode:
    pat = out_params(sc, widths(inner[:-1]), [p.type for p in stm.pat], names)
    body = closed(sc, _thread(exp), stm.prov)
    kind = SegRed if isinstance(exp, Reduce) else SegScan
    ops = tuple(sequential_op(sc, op) for op in exp.ops)
    out = emit(sc, pat, with_own_names(sc, kind(sc.level, space(inner), ops, body)), stm.prov)
    if len(inner) > 1:
        what = "reduction" if isinstance(exp, Reduce) else "scan"
        because = f"One kernel does all {what}s of the map, a segment for each element of the map."
        sc.ctx.tell("applied", SEGMENTED, stm.prov, because)
    return HostCode([out], [p.name for p in pat])


def _scatter(
    sc: FlatteningScope, inner: Nest, stm: Stm, exp: Scatter, names: ResultNames
) -> HostCode:
    nest = inner[:-1]
    out, dests = _destinations(sc, nest, [d.array for d in exp.dests], stm)
    values = exp.fn.body.results
    pat = out_params(sc, widths(nest), [p.type for p in stm.pat], names)
    outer = tuple(var(i) for i in indices(nest))
    results: list[KernelResult] = []
    at = 0
    for dest, name in zip(exp.dests, dests, strict=True):
        index = tuple(v for v in values[at : at + dest.rank] if not isinstance(v, str))
        results.append(Write(name, (((*outer, *index), values[at + dest.rank]),)))
        at += dest.rank + 1
    returns = (*(param.type for param in pat[: len(dests)]), *exp.fn.returns[at:])
    body = KernelBody(exp.fn.body.stms, (*results, *values[at:]), returns)
    out.extend(seg_map(sc, inner, body, pat, stm.prov))
    return HostCode(out, [p.name for p in pat])


def _hist(sc: FlatteningScope, inner: Nest, stm: Stm, exp: Hist, names: ResultNames) -> HostCode:
    nest = inner[:-1]
    out, dests = _destinations(sc, nest, [d for op in exp.ops for d in op.dests], stm)
    pat = out_params(sc, widths(nest), [p.type for p in stm.pat], names)
    ops: list[HistOp] = []
    at = 0
    for op in exp.ops:
        count = len(op.dests)
        ops.append(HistOp(tuple(dests[at : at + count]), op.rank, sequential_op(sc, op.op)))
        at += count
    body = closed(sc, _thread(exp), stm.prov)
    hist = with_own_names(sc, SegHist(sc.level, space(inner), tuple(ops), body))
    out.append(emit(sc, pat, hist, stm.prov))
    return HostCode(out, [p.name for p in pat])


def _destinations(
    sc: FlatteningScope, nest: Nest, names: list[Name], stm: Stm
) -> tuple[list[Stm], list[Name]]:
    """The arrays that hold all destinations of a nest; the statement's first results are theirs."""
    if not nest:
        return [], names
    out: list[Stm] = []
    found: list[Name] = []
    for name, param in zip(names, stm.pat, strict=False):
        code = lifted_own(sc, nest, name, param.type, stm.prov)
        out.extend(code.stms)
        found.extend(code.names)
    return out, found


# --- rewrites --------------------------------------------------------------------------------


def split_map(sc: FlatteningScope, stm: Stm) -> tuple[Stm, Stm]:
    """The operator's map part as a map of its own, and the operator without one."""
    exp = stm.exp
    assert isinstance(exp, Fold)
    fn, fresh = exp.fn, sc.ctx.fresh
    own = len(stm.pat) - _kept(exp, stm)
    taken = len(fn.returns) - _kept(exp, stm)
    rows = tuple(
        Param(fresh("part"), with_dims((exp.width,), type_)) for type_ in fn.returns[:taken]
    )
    producer = Stm((*rows, *stm.pat[own:]), Map(exp.width, fn, exp.arrays), stm.prov)
    params = tuple(Param(fresh("x"), type_) for type_ in fn.returns[:taken])
    body = Body((), tuple(as_operand(p) for p in params))
    identity = Lambda(params, body, fn.returns[:taken])
    reader = replace(exp, fn=identity, arrays=tuple(p.name for p in rows))
    return producer, Stm(stm.pat[:own], reader, stm.prov)


def _kept(exp: Fold, stm: Stm) -> int:
    """How many results are values to keep."""
    match exp:
        case Reduce(_, ops, _, _) | Scan(_, ops, _, _):
            return len(stm.pat) - sum(len(op.neutral) for op in ops)
        case Scatter(_, dests, _, _):
            return len(stm.pat) - len(dests)
    return 0


def interchange(sc: FlatteningScope, stm: Stm, exp: Reduce | Scan) -> Outcome[list[_Elementwise]]:
    """`reduce (map2 op) (replicate m ne) xss ==> map (reduce op ne) (transpose xss)`.

    Answers the operators on elements, of which `interchanged` makes the new statements.
    """
    if not any(isinstance(p.type, Array) for op in exp.ops for p in op.fn.params):
        return None
    what = "reduction" if isinstance(exp, Reduce) else "scan"
    found = [_elementwise(sc, op) for op in exp.ops]
    inner = [op for op in found if op is not None]
    if len(inner) < len(found):
        because = (
            f"The operator of this {what} works on arrays, but not element by element with the "
            "same neutral element everywhere, so it stays an operator on whole rows."
        )
        hint = "Write the operator as `map2 op`, with `replicate m ne`, to let the map go outside."
        return Missed(because, hint)
    because = (
        f"The operator works element by element, so the {what} of rows becomes a map of "
        f"{what}s over the transposed array."
    )
    return Applied(inner, because)


INTERCHANGE_REDUCE = NodeRule(
    "flatten/interchange-reduce",
    "A reduction of rows becomes a map of reductions of columns.",
    (Reduce, Scan),
    interchange,
)


def interchanged(sc: FlatteningScope, stm: Stm) -> tuple[Stm, ...] | None:
    """A reduction or scan whose operator works element by element, turned inside out."""
    exp = stm.exp
    if not isinstance(exp, Reduce | Scan):
        return None
    outcome = interchange(sc, stm, exp)
    inner = None if outcome is None else sc.ctx.commit(INTERCHANGE_REDUCE, stm.prov, outcome)
    if inner is None:
        return None
    out: list[Stm] = []
    if not is_identity(exp.fn):
        producer, reader = split_map(sc, stm)
        out.append(producer)
        exp = reader.exp
        assert isinstance(exp, Reduce | Scan)
    at = 0
    for old, new in zip(exp.ops, inner, strict=True):
        part = slice(at, at + len(old.neutral))
        single = replace(exp, arrays=exp.arrays[part])
        out.extend(_over_columns(sc, single, new, stm.pat[part], stm.prov))
        at = part.stop
    return tuple(out)


class _Elementwise(NamedTuple):
    """The operator on elements, with statements that make its neutral elements."""

    op: Operator
    stms: list[Stm]
    vector: VectorOp


def _elementwise(sc: FlatteningScope, op: Operator) -> _Elementwise | None:
    vector = vectorised(op, sc.ctx.fresh)
    if vector is None:
        return None
    stms: list[Stm] = []
    neutral: list[Operand] = []
    for name, type_ in zip(op.neutral, vector.fn.returns, strict=True):
        rows = sc.defs.get(name) if isinstance(name, str) else None
        if not isinstance(rows, Replicate):
            return None
        if len(rows.shape) == 1:
            neutral.append(rows.value)
            continue
        param = Param(sc.ctx.fresh("neutral"), with_dims(shape_of(type_), Scalar(prim_type(type_))))
        stms.append(Stm((param,), Replicate(rows.shape[1:], rows.value)))
        neutral.append(param.name)
    return _Elementwise(Operator(vector.fn, tuple(neutral), op.commutative), stms, vector)


def _over_columns(
    sc: FlatteningScope, exp: Reduce | Scan, inner: _Elementwise, pat: tuple[Param, ...], prov: Prov
) -> list[Stm]:
    """`map (reduce op ne) (transpose xss)`, for one operator."""
    fresh = sc.ctx.fresh
    width, element_types = inner.vector.width, inner.op.fn.returns
    out = [Stm(s.pat, s.exp, prov) for s in inner.stms]
    columns: list[Param] = []
    transposed: list[Name] = []
    for array, element in zip(exp.arrays, element_types, strict=True):
        view = Param(fresh(array), with_dims((width, exp.width), element))
        out.append(Stm((view,), _transpose(view, array), prov))
        transposed.append(view.name)
        columns.append(Param(fresh("column"), row_type(view.type)))
    elements = tuple(Param(fresh("x"), t) for t in element_types)
    identity = Lambda(elements, Body((), tuple(as_operand(p) for p in elements)), element_types)
    fold = replace(exp, ops=(inner.op,), fn=identity, arrays=tuple(p.name for p in columns))
    scans = isinstance(exp, Scan)
    results = tuple(
        Param(fresh(p.name), with_dims((exp.width,), t) if scans else t)
        for p, t in zip(pat, element_types, strict=True)
    )
    types = tuple(p.type for p in results)
    body = Body((Stm(results, fold, prov),), tuple(as_operand(p) for p in results))
    mapped = Map(width, Lambda(tuple(columns), body, types), tuple(transposed))
    if not scans:
        return [*out, Stm(pat, mapped, prov)]
    rows = tuple(
        Param(fresh(p.name), with_dims((width,), t)) for p, t in zip(pat, types, strict=True)
    )
    out.append(Stm(rows, mapped, prov))
    views = zip(pat, rows, strict=True)
    return out + [Stm((param,), _transpose(row, row.name), prov) for param, row in views]


def _transpose(like: Param, array: Name) -> Rearrange:
    """The view with the first two dimensions swapped; `like` has as many."""
    return Rearrange((1, 0, *range(2, len(shape_of(like.type)))), array)
