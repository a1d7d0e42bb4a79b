"""Flatten reductions, scans, scatters and histograms, after rewriting them.

    kernel       reduce op ne f xs, in a nest of maps   ==>  segred over the nest and the operator
    split_map    reduce op ne f xs                      ==>  reduce op ne id (map f xs)
    interchange  reduce (map2 op) (replicate m ne) xss  ==>  map (reduce op ne) (transpose xss)
    elements     hist (map2 op) (replicate m ne) is xss ==>  hist op ne (is x iota m) (flatten xss)

The last three give core language, which is flattened again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from compiler.base.names import Name
from compiler.base.prim import INTS, Prim
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import NodeRule, Rule
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.aliases import consumed_params
from compiler.ir.build import var
from compiler.ir.scatters import places, writes
from compiler.ir.sizes import se_of
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
    "Turns inner reductions and scans into segmented kernels.",
    optional=False,
)
Folding = ir.Fold | ir.Scatter | ir.Hist


# --- kernels ---------------------------------------------------------------------------------


def kernel(sc: FlatteningScope, nest: Nest, stm: ir.Stm, names: ResultNames) -> HostCode:
    """Make one kernel over the nest and the operator's own elements."""
    exp = stm.exp
    assert isinstance(exp, Folding)
    level = sc.enter(nest, exp.width)
    for param, array in zip(exp.fn.params, exp.arrays, strict=True):
        sc.sources[param.name] = At(array, (level.index,))
        sc.types[param.name] = param.type
    inner = (*nest, level)
    match exp:
        case ir.Reduce() | ir.Scan():
            return _segmented(sc, inner, stm, exp, names)
        case ir.Scatter():
            return _scatter(sc, inner, stm, exp, names)
        case ir.Hist():
            return _hist(sc, inner, stm, exp, names)


def _thread(exp: Folding) -> ir.KernelBody:
    body = exp.fn.body
    return ir.KernelBody(body.stms, body.results, exp.fn.returns, body.prov)


def _segmented(
    sc: FlatteningScope, inner: Nest, stm: ir.Stm, exp: ir.Fold, names: ResultNames
) -> HostCode:
    pat = out_params(sc, widths(inner[:-1]), [p.type for p in stm.pat], names)
    body = closed(sc, _thread(exp), stm.prov)
    kind = ir.SegRed if isinstance(exp, ir.Reduce) else ir.SegScan
    ops = tuple(sequential_op(sc, op) for op in exp.ops)
    out = emit(sc, pat, with_own_names(sc, kind(sc.level, space(inner), ops, body)), stm.prov)
    if len(inner) > 1:
        what = "reduction" if isinstance(exp, ir.Reduce) else "scan"
        because = (
            f"One kernel runs all {what}s of the map, with one segment for each element of the map."
        )
        sc.ctx.tell("applied", SEGMENTED, stm.prov, because)
    return HostCode([out], [p.name for p in pat])


def _scatter(
    sc: FlatteningScope, inner: Nest, stm: ir.Stm, exp: ir.Scatter, names: ResultNames
) -> HostCode:
    nest = inner[:-1]
    out, dests = _destinations(sc, nest, [d.array for d in exp.dests], stm)
    values = exp.fn.body.results
    pat = out_params(sc, widths(nest), [p.type for p in stm.pat], names)
    outer = tuple(var(i) for i in indices(nest))
    results: list[ir.KernelResult] = []
    at = places(exp.dests)
    for name, found in zip(dests, writes(exp.dests, values), strict=True):
        to = (
            ((*outer, *(i for i in own if not isinstance(i, str))), value) for own, value in found
        )
        results.append(ir.Write(name, tuple(to)))
    returns = (*(param.type for param in pat[: len(dests)]), *exp.fn.returns[at:])
    plain = exp.fn.body
    body = ir.KernelBody(plain.stms, (*results, *values[at:]), returns, plain.prov)
    out.extend(seg_map(sc, inner, body, pat, stm.prov))
    return HostCode(out, [p.name for p in pat])


def _hist(
    sc: FlatteningScope, inner: Nest, stm: ir.Stm, exp: ir.Hist, names: ResultNames
) -> HostCode:
    nest = inner[:-1]
    out, dests = _destinations(sc, nest, [d for op in exp.ops for d in op.dests], stm)
    pat = out_params(sc, widths(nest), [p.type for p in stm.pat], names)
    ops: list[ir.HistOp] = []
    at = 0
    for op in exp.ops:
        count = len(op.dests)
        ops.append(ir.HistOp(tuple(dests[at : at + count]), op.rank, sequential_op(sc, op.op)))
        at += count
    body = closed(sc, _thread(exp), stm.prov)
    hist = with_own_names(sc, ir.SegHist(sc.level, space(inner), tuple(ops), body))
    out.append(emit(sc, pat, hist, stm.prov))
    return HostCode(out, [p.name for p in pat])


def _destinations(
    sc: FlatteningScope, nest: Nest, names: list[Name], stm: ir.Stm
) -> tuple[list[ir.Stm], list[Name]]:
    """Make arrays of the destinations of a nest; they become the statement's first results."""
    if not nest:
        return [], names
    out: list[ir.Stm] = []
    found: list[Name] = []
    for name, param in zip(names, stm.pat, strict=False):
        code = lifted_own(sc, nest, name, param.type, stm.prov)
        out.extend(code.stms)
        found.extend(code.names)
    return out, found


# --- rewrites --------------------------------------------------------------------------------


def split_map(sc: FlatteningScope, stm: ir.Stm) -> tuple[ir.Stm, ...]:
    """Split an operator into a map of its own, and the operator without a map part.

    The operator reads directly arrays that the map part passes on unchanged.
    """
    exp = stm.exp
    assert isinstance(exp, Folding)
    fn, fresh = exp.fn, sc.ctx.fresh
    own = len(stm.pat) - _kept(exp, stm)
    taken = len(fn.returns) - _kept(exp, stm)
    given = dict(zip((p.name for p in fn.params), exp.arrays, strict=True))
    arrays: list[Name] = []
    rows: list[ir.Param] = []
    made: list[int] = []
    for at, (result, type_) in enumerate(zip(fn.body.results, fn.returns[:taken], strict=False)):
        whole = given.get(result.name if isinstance(result, ir.Var) else str(result))
        if whole is None:
            made.append(at)
            rows.append(ir.Param(fresh("part"), with_dims((exp.width,), type_)))
            whole = rows[-1].name
        arrays.append(whole)
    made += range(taken, len(fn.returns))
    params = tuple(ir.Param(fresh("x"), type_) for type_ in fn.returns[:taken])
    body = ir.Body((), tuple(as_operand(p) for p in params))
    identity = ir.Lambda(params, body, fn.returns[:taken])
    reader = ir.Stm(stm.pat[:own], replace(exp, fn=identity, arrays=tuple(arrays)), stm.prov)
    if not made:
        return (reader,)
    results = tuple(fn.body.results[at] for at in made)
    returns = tuple(fn.returns[at] for at in made)
    fn = ir.Lambda(fn.params, replace(fn.body, results=results), returns)
    pat = (*rows, *stm.pat[own:])
    return ir.Stm(pat, ir.Map(exp.width, fn, exp.arrays), stm.prov), reader


def _kept(exp: Folding, stm: ir.Stm) -> int:
    """Return the number of results that are mapped values."""
    match exp:
        case ir.Reduce(_, ops, _, _) | ir.Scan(_, ops, _, _):
            return len(stm.pat) - sum(len(op.neutral) for op in ops)
        case ir.Scatter(_, dests, _, _):
            return len(stm.pat) - len(dests)
    return 0


def interchange(sc: FlatteningScope, stm: ir.Stm, exp: ir.Fold) -> Outcome[list[_Elementwise]]:
    """`reduce (map2 op) (replicate m ne) xss ==> map (reduce op ne) (transpose xss)`.

    Answers the operators on elements, of which `interchanged` makes the new statements.
    """
    if not any(isinstance(p.type, ir.Array) for op in exp.ops for p in op.fn.params):
        return None
    what = "reduction" if isinstance(exp, ir.Reduce) else "scan"
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
    "Turns a reduction of rows into a map of reductions of columns.",
    (ir.Reduce, ir.Scan),
    interchange,
)


def elements(sc: FlatteningScope, stm: ir.Stm, exp: ir.Hist) -> Outcome[_Elementwise]:
    """`hist (map2 op) (replicate m ne) is xss ==> hist op ne (is x iota m) (flatten xss)`.

    Answers the operator on elements.
    """
    if len(exp.ops) > 1 or not isinstance(exp.ops[0].op.fn.params[0].type, ir.Array):
        return None
    found = _elementwise(sc, exp.ops[0].op)
    if found is None:
        because = (
            "The operator of this histogram works on arrays, but not element by element with the "
            "same neutral element everywhere, so one thread combines all rows."
        )
        hint = (
            "Write the operator as `map2 op`, with `replicate m ne`, to combine elements at once."
        )
        return Missed(because, hint)
    because = (
        "The operator works element by element, so the histogram of rows becomes a "
        "histogram of elements, each with its own bin."
    )
    return Applied(found, because)


ELEMENTS = NodeRule(
    "flatten/elements",
    "Turns a histogram of rows into a histogram of elements.",
    (ir.Hist,),
    elements,
)


def _of_elements(sc: FlatteningScope, stm: ir.Stm, exp: ir.Hist) -> tuple[ir.Stm, ...] | None:
    """Rewrite a histogram with an element-wise operator to one over all elements of all rows."""
    outcome = elements(sc, stm, exp)
    inner = None if outcome is None else sc.ctx.commit(ELEMENTS, stm.prov, outcome)
    if inner is None:
        return None
    out = [ir.Stm(s.pat, s.exp, stm.prov) for s in inner.stms]
    fresh, (old,) = sc.ctx.fresh, exp.ops
    exp, narrow = _narrow_bins(exp, old.rank)
    if not is_identity(exp.fn):
        *producer, reader = split_map(sc, replace(stm, exp=exp))
        out += producer
        assert isinstance(reader.exp, ir.Hist)
        exp = reader.exp
    width, total = inner.vector.width, exp.width * inner.vector.width

    def row(kind: ir.Type) -> ir.Param:
        return ir.Param(fresh("of_elements"), with_dims((total,), kind))

    numbers = row(ir.Scalar("i64"))
    out.append(ir.Stm((numbers,), ir.Iota(total, ir.ZERO, ir.ONE, "i64"), stm.prov))
    number = ir.Param(fresh("element"), ir.Scalar("i64"))
    columns = [numbers]
    for array, kind in zip(exp.arrays[old.rank :], inner.op.fn.returns, strict=True):
        columns.append(row(kind))
        shape = (total, *shape_of(kind))
        out.append(ir.Stm((columns[-1],), ir.Reshape(shape, array), stm.prov))
    values = tuple(ir.Param(fresh("x"), kind) for kind in inner.op.fn.returns)
    size = se_of(width)
    bins = tuple(ir.Param(fresh("bin"), ir.Scalar(prim)) for prim in narrow)
    which: ir.SE = ir.Bin("//", "i64", var(number.name), size)
    body = tuple(
        ir.Stm((bin_,), ir.Index(array, (which,)), stm.prov)
        for bin_, array in zip(bins, exp.arrays, strict=False)
    )
    within: ir.SE = ir.Bin("%%", "i64", var(number.name), size)
    wide = (
        ir.Var(bin_.name, prim) if prim == "i64" else ir.Conv(prim, "i64", ir.Var(bin_.name, prim))
        for bin_, prim in zip(bins, narrow, strict=True)
    )
    results = (*wide, within, *map(as_operand, values))
    returns = (*(ir.Scalar("i64") for _ in results[: old.rank + 1]), *inner.op.fn.returns)
    fn = ir.Lambda((number, *values), ir.Body(body, results), returns)
    op = ir.HistOp(old.dests, old.rank + 1, inner.op)
    hist = ir.Hist(total, (op,), fn, tuple(p.name for p in columns))
    return (*out, ir.Stm(stm.pat, hist, stm.prov))


def _narrow_bins(exp: ir.Hist, rank: int) -> tuple[ir.Hist, tuple[Prim, ...]]:
    """Narrow bins to the types of their inputs; return the operator, and their types then.

    Otherwise the conversion would make an array, which is read for each element.
    """
    params = {param.name for param in exp.fn.params}
    results, returns = list(exp.fn.body.results), list(exp.fn.returns)
    narrow: list[Prim] = []
    for at, result in enumerate(results[:rank]):
        narrow.append("i64")
        match result:
            case ir.Conv(source, "i64", ir.Var(name)) if name in params and source in INTS:
                narrow[-1] = source
                results[at], returns[at] = ir.Var(name, source), ir.Scalar(source)
    fn = replace(exp.fn, body=replace(exp.fn.body, results=tuple(results)), returns=tuple(returns))
    return replace(exp, fn=fn), tuple(narrow)


def interchanged(sc: FlatteningScope, stm: ir.Stm) -> tuple[ir.Stm, ...] | None:
    """Interchange an operation with an element-wise operator, or return None."""
    exp = stm.exp
    if isinstance(exp, ir.Hist):
        return _of_elements(sc, stm, exp)
    if not isinstance(exp, ir.Fold):
        return None
    outcome = interchange(sc, stm, exp)
    inner = None if outcome is None else sc.ctx.commit(INTERCHANGE_REDUCE, stm.prov, outcome)
    if inner is None:
        return None
    out: list[ir.Stm] = []
    if not is_identity(exp.fn):
        *producer, reader = split_map(sc, stm)
        out += producer
        exp = reader.exp
        assert isinstance(exp, ir.Fold)
    at = 0
    for old, new in zip(exp.ops, inner, strict=True):
        part = slice(at, at + len(old.neutral))
        single = replace(exp, arrays=exp.arrays[part])
        out.extend(_over_columns(sc, single, new, stm.pat[part], stm.prov))
        at = part.stop
    return tuple(out)


def makes_rows(sc: FlatteningScope, exp: Folding) -> bool:
    """True if a processor is better off without a reduction's interchange, given enough rows.

    The map part makes the rows. Added up as they are made, they are never all in memory.
    """
    if sc.ctx.target.in_step or sc.level != "grid" or not isinstance(exp, ir.Reduce):
        return False
    passed = {p.name for p in exp.fn.params}
    results = zip(exp.fn.body.results, exp.fn.returns, strict=True)
    made = any(isinstance(kind, ir.Array) and value not in passed for value, kind in results)
    return made and not consumed_params(exp.fn)


class _Elementwise(NamedTuple):
    """The operator on elements, and statements that make its neutral elements."""

    op: ir.Operator
    stms: list[ir.Stm]
    vector: VectorOp


def _elementwise(sc: FlatteningScope, op: ir.Operator) -> _Elementwise | None:
    vector = vectorised(op, sc.ctx.fresh)
    if vector is None:
        return None
    stms: list[ir.Stm] = []
    neutral: list[ir.Operand] = []
    for name, type_ in zip(op.neutral, vector.fn.returns, strict=True):
        rows = sc.defs.get(name) if isinstance(name, str) else None
        if not isinstance(rows, ir.Replicate):
            return None
        if len(rows.shape) == 1:
            neutral.append(rows.value)
            continue
        param = ir.Param(
            sc.ctx.fresh("neutral"), with_dims(shape_of(type_), ir.Scalar(prim_type(type_)))
        )
        stms.append(ir.Stm((param,), ir.Replicate(rows.shape[1:], rows.value)))
        neutral.append(param.name)
    return _Elementwise(ir.Operator(vector.fn, tuple(neutral), op.commutative), stms, vector)


def _over_columns(
    sc: FlatteningScope,
    exp: ir.Fold,
    inner: _Elementwise,
    pat: tuple[ir.Param, ...],
    prov: Prov,
) -> list[ir.Stm]:
    """Return `map (reduce op ne) (transpose xss)`, for one operator."""
    fresh = sc.ctx.fresh
    width, element_types = inner.vector.width, inner.op.fn.returns
    out = [ir.Stm(s.pat, s.exp, prov) for s in inner.stms]
    columns: list[ir.Param] = []
    transposed: list[Name] = []
    for array, element in zip(exp.arrays, element_types, strict=True):
        view = ir.Param(fresh(array), with_dims((width, exp.width), element))
        out.append(ir.Stm((view,), _transpose(view, array), prov))
        transposed.append(view.name)
        columns.append(ir.Param(fresh("column"), row_type(view.type)))
    elements = tuple(ir.Param(fresh("x"), t) for t in element_types)
    identity = ir.Lambda(
        elements, ir.Body((), tuple(as_operand(p) for p in elements)), element_types
    )
    fold = replace(exp, ops=(inner.op,), fn=identity, arrays=tuple(p.name for p in columns))
    scans = isinstance(exp, ir.Scan)
    results = tuple(
        ir.Param(fresh(p.name), with_dims((exp.width,), t) if scans else t)
        for p, t in zip(pat, element_types, strict=True)
    )
    types = tuple(p.type for p in results)
    body = ir.Body((ir.Stm(results, fold, prov),), tuple(as_operand(p) for p in results))
    mapped = ir.Map(width, ir.Lambda(tuple(columns), body, types), tuple(transposed))
    if not scans:
        return [*out, ir.Stm(pat, mapped, prov)]
    rows = tuple(
        ir.Param(fresh(p.name), with_dims((width,), t)) for p, t in zip(pat, types, strict=True)
    )
    out.append(ir.Stm(rows, mapped, prov))
    views = zip(pat, rows, strict=True)
    return out + [ir.Stm((param,), _transpose(row, row.name), prov) for param, row in views]


def _transpose(like: ir.Param, array: Name) -> ir.Rearrange:
    """Return the view with the first two dimensions swapped; `like` has the same rank."""
    return ir.Rearrange((1, 0, *range(2, len(shape_of(like.type)))), array)
