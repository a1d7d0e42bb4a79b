"""Sequentialise reductions, scans and histograms whose operators need arrays.

The operands of such an operator, or arrays that it creates, would need memory that no point of the
kernel owns. So one thread processes each row of the space in a loop that carries the operands.
Elementwise operators do not get here: flattening interchanges them, so that scalars are combined.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler import codes
from compiler.algebra.poly import Poly
from compiler.base.errors import Limitation
from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.base.spans import Prov
from compiler.base.target import PRIVATE_BYTES
from compiler.ir import nodes as ir
from compiler.ir.build import Builder, Fresh, count_loop, row_at, var
from compiler.ir.types import as_operand, as_scalar, prim_type, row_type, shape_of, with_dims
from compiler.ir.walk import all_stms

Folding = ir.SegFold | ir.SegHist


def combines_arrays(op: ir.Operator) -> bool:
    """True if an operator's operands are arrays."""
    return any(isinstance(param.type, ir.Array) for param in op.fn.params)


def needs_memory(op: ir.Operator) -> bool:
    """True if an operator combines arrays, or allocates more than fits in private memory.

    Half of a thread's private memory is reserved for copies in loops and branches.
    """
    made = [s.pat[0].type for s in all_stms(op.fn.body.stms) if isinstance(s.exp, ir.Fresh)]
    size = sum(
        (Poly.product(shape_of(k)) * BYTES[prim_type(k)] for k in made), Poly.const(0)
    ).constant
    return combines_arrays(op) or size is None or size > PRIVATE_BYTES // 2


def sequential(stm: ir.Stm, fresh: Fresh) -> list[ir.Stm]:
    """Return statements equivalent to a `SegRed`, `SegScan` or `SegHist`, looping over each row.

    Copies a histogram's destinations, since a kernel cannot update an outer array.
    """
    exp = stm.exp
    assert isinstance(exp, Folding)
    row = Builder(fresh, stm.prov)
    results = _histogram(row, exp, stm.pat) if isinstance(exp, ir.SegHist) else _fold(row, exp)
    outer = exp.space.dims[:-1]
    if exp.level == "thread" and not outer:
        for param, result in zip(stm.pat, results, strict=True):
            _bind(row, param, result)
        return row.stms
    space = ir.SegSpace(outer or ((fresh("row"), Poly.const(1)),))
    operands = tuple(map(as_operand, results))
    body = ir.KernelBody(tuple(row.stms), operands, tuple(result.type for result in results))
    kernel = ir.SegMap(exp.level, space, body)
    if outer:
        return [ir.Stm(stm.pat, kernel, stm.prov)]
    after = Builder(fresh, stm.prov)
    pat = [ir.Param(fresh(p.name), with_dims((Poly.const(1),), p.type)) for p in stm.pat]
    after.add(pat, kernel)
    for param, single in zip(stm.pat, pat, strict=True):
        _bind(after, param, single, ir.ZERO)
    return after.stms


# --- reductions and scans ---


def _fold(row: Builder, exp: ir.SegFold) -> list[ir.Param]:
    """Build a loop along the last dimension: final totals for a reduction, all for a scan."""
    index, count = exp.space.dims[-1]
    totals: list[ir.Param] = []
    init: list[ir.Operand] = []
    for op in exp.ops:
        for param, neutral in zip(op.fn.params, op.neutral, strict=False):
            totals.append(row.param(param))
            init.append(neutral)
    iteration = row.nested(exp.body.stms)
    values = [_plain(result, row.prov) for result in exp.body.results]
    kept = values[len(totals) :]
    new: list[ir.Operand] = []
    so_far = list(map(as_operand, totals))
    for op in exp.ops:
        width = len(op.neutral)
        new += iteration.applied(op.fn, [*so_far[:width], *values[:width]]).results
        so_far, values = so_far[width:], values[width:]
    types = list(exp.body.returns[len(totals) :])
    if isinstance(exp, ir.SegScan):
        kept, types = new + kept, [param.type for param in totals] + types
    gathered = [ir.Param(row.fresh("rows"), with_dims((count,), kind), True) for kind in types]
    pairs = zip(gathered, kept, strict=True)
    ends = [iteration.update(array, (var(index),), value).name for array, value in pairs]
    init += [row.scratch(array).name for array in gathered]
    last = _loop(row, [*totals, *gathered], init, exp, iteration.body([*new, *ends]))
    return last[len(totals) :] if isinstance(exp, ir.SegScan) else last


# --- histograms ---


def _histogram(row: Builder, exp: ir.SegHist, pat: Sequence[ir.Param]) -> list[ir.Param]:
    """Copy each row's histograms and update them in place in a loop."""
    outer = [var(name) for name, _ in exp.space.dims[:-1]]
    kinds = [row_type(param.type, len(outer)) for param in pat]
    iteration = row.nested(exp.body.stms)
    values = [_plain(result, row.prov) for result in exp.body.results]
    params: list[ir.Param] = []
    init: list[ir.Operand] = []
    ends: list[ir.Operand] = []
    for op in exp.ops:
        bins = [_copied(row, dest, kinds.pop(0), outer) for dest in op.dests]
        init += [bin_.name for bin_ in bins]
        here = [row.param(bin_, unique=True) for bin_ in bins]
        params += here
        indices, values = values[: op.rank], values[op.rank :]
        ends += _combined(iteration, op, here, indices, values[: len(bins)])
        values = values[len(bins) :]
    return _loop(row, params, init, exp, iteration.body(ends))


def _combined(
    iteration: Builder,
    op: ir.HistOp,
    bins: Sequence[ir.Param],
    indices: Sequence[ir.Operand],
    values: Sequence[ir.Operand],
) -> list[Name]:
    """Combine values into the histograms at a position, if it is in bounds."""
    at = [index for index in indices if not isinstance(index, str)]
    then = iteration.nested()
    old = [_copied(then, bin_.name, row_type(bin_.type, len(at)), at) for bin_ in bins]
    new = then.applied(op.op.fn, [*map(as_operand, old), *values]).results
    changed = [then.update(b, at, v) for b, v in zip(bins, new, strict=True)]
    return [param.name for param in iteration.update_inside(bins, at, then, changed)]


# --- building ---


def _plain(result: ir.Operand | ir.Write, prov: Prov) -> ir.Operand:
    """Return a result that is no `Write`, which a loop inside a kernel cannot do."""
    if isinstance(result, ir.Write):
        raise Limitation.at(
            codes.limits.ARRAY_OPERATOR,
            "An operator on whole arrays together with a scatter is not supported.",
            prov,
            "Compute the two in separate steps.",
        )
    return result


def _bind(into: Builder, param: ir.Param, array: ir.Param, *at: ir.SE) -> None:
    """Bind `param` to the part of an array at outer indices; to all of it without any."""
    if isinstance(array.type, ir.Scalar):
        into.add((param,), as_scalar(array))
    else:
        into.add((param,), row_at(array.name, at, param.type))


def _copied(into: Builder, array: Name, kind: ir.Type, at: Sequence[ir.SE]) -> ir.Param:
    """Return the element, or a copy of the row, of an array at its outer indices."""
    seen = into.bind(array, kind, row_at(array, at, kind))
    return seen if isinstance(kind, ir.Scalar) else into.copy(seen)


def _loop(
    row: Builder,
    params: Sequence[ir.Param],
    init: Sequence[ir.Operand],
    exp: Folding,
    body: ir.Body,
) -> list[ir.Param]:
    """Append a loop along the last dimension of the space; return its results."""
    pat = list(map(row.param, params))
    row.add(pat, count_loop(params, init, *exp.space.dims[-1], body))
    return pat
