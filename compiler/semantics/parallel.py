"""Parallel operators of the fast interpreter, before and after flattening."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from compiler.base.by_class import handles
from compiler.base.dtypes import DTYPE
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.scatters import places, writes
from compiler.semantics import levels
from compiler.semantics.evaluator import Data, Evaluator, Irregular, Rule
from compiler.semantics.folds import Folder
from compiler.semantics.writes import combined, written

EXPS: dict[type, Rule] = {}


# --- before flattening -----------------------------------------------------------------------


def _soac_fold(m: Evaluator, exp: ir.Fold, scan: bool) -> list[Data]:
    width = m.size(exp.width)
    ranks = [levels.rank_of(kind) for kind in exp.fn.returns]
    folder = Folder(m, exp.ops, ranks, scan)
    if width == 0:
        return folder.results([levels.empty(m, kind, 0) for kind in exp.fn.returns])
    sources = [levels.rows(m, name) for name in exp.arrays]

    def together() -> list[Data]:
        for low, high in levels.chunks(m, width):
            folder.take(levels.map_chunk(m, exp.fn, sources, low, high, ranks), high - low)
        return folder.results(())

    def alone() -> list[Data]:
        folder = Folder(m, exp.ops, ranks, scan)
        for k in range(width):
            folder.take(levels.map_row(m, exp.fn, sources, k), 1)
        return folder.results(())

    return m.in_lanes(exp.fn, together, alone)


@handles(EXPS, ir.Map)
def _map(m: Evaluator, exp: ir.Map, pat: Sequence[ir.Param]) -> list[Data]:
    return levels.mapped(m, m.size(exp.width), exp.fn, exp.arrays)


@handles(EXPS, ir.Reduce)
def _reduce(m: Evaluator, exp: ir.Reduce, pat: Sequence[ir.Param]) -> list[Data]:
    return _soac_fold(m, exp, scan=False)


@handles(EXPS, ir.Scan)
def _scan(m: Evaluator, exp: ir.Scan, pat: Sequence[ir.Param]) -> list[Data]:
    return _soac_fold(m, exp, scan=True)


@handles(EXPS, ir.Scatter)
def _scatter(m: Evaluator, exp: ir.Scatter, pat: Sequence[ir.Param]) -> list[Data]:
    values = levels.mapped(m, m.size(exp.width), exp.fn, exp.arrays)
    out: list[Data] = []
    for dest, found in zip(exp.dests, writes(exp.dests, values), strict=True):
        rank, data = m.ranks[dest.array], m.array(dest.array)
        for at, value in found:
            index = [_over(m, v, 0, 1) for v in at]
            data = written(m, data, rank, index, _over(m, value, rank - dest.rank, 1), 1)
        out.append(data)
    return out + values[places(exp.dests) :]


@handles(EXPS, ir.Hist)
def _hist(m: Evaluator, exp: ir.Hist, pat: Sequence[ir.Param]) -> list[Data]:
    values = levels.mapped(m, m.size(exp.width), exp.fn, exp.arrays)
    out: list[Data] = []
    at = 0
    for op in exp.ops:
        index = [_over(m, v, 0, 1) for v in values[at : at + op.rank]]
        at += op.rank
        kinds = op.op.fn.returns
        parts = [
            _over(m, v, levels.rank_of(kind), 1)
            for v, kind in zip(values[at : at + len(kinds)], kinds, strict=True)
        ]
        at += len(kinds)
        out += combined(m, op, index, parts, 1)
    return out


# --- accumulators ----------------------------------------------------------------------------


def _accumulate(m: Evaluator, names: Iterable[Name]) -> None:
    """Replace arrays by copies that may be written to; the old values are lost."""
    for name in names:
        m.env[name] = np.array(m.array(name))


@handles(EXPS, ir.Stream)
def _stream(m: Evaluator, exp: ir.Stream, pat: Sequence[ir.Param]) -> list[Data]:
    """Run one row at a time: pushes of a lane are visible to the next one."""
    if m.widths:
        raise Irregular
    _accumulate(m, exp.dests)
    width = m.size(exp.width)
    m.room((width,), 1)
    sources = [levels.rows(m, name) for name in exp.arrays]
    for k in range(width):
        levels.map_row(m, exp.fn, sources, k)
    return [m.array(name) for name in exp.dests]


@handles(EXPS, ir.Push)
def _push(m: Evaluator, exp: ir.Push, pat: Sequence[ir.Param]) -> list[Data]:
    at = tuple(int(m.se(i)) for i in exp.at)
    dests = [m.array(name) for name in exp.dests]
    values = [m.operand(value) for value in exp.values]
    if all(0 <= i < size for i, size in zip(at, dests[0].shape, strict=False)):
        for op in exp.op:
            values = m.apply(op, [*(dest[at].copy() for dest in dests), *values])
        for dest, value in zip(dests, values, strict=True):
            dest[at] = value
    return []


# --- kernels ---------------------------------------------------------------------------------


def over_space(
    m: Evaluator, dims: Sequence[tuple[Name, int]], thunk: levels.Thunk, ranks: list[int]
) -> list[Data]:
    """Run all lanes of a space; each result is an array of this level over the space."""
    if not dims:
        return thunk()
    (name, width), rest = dims[0], dims[1:]
    deeper = [rank + len(rest) for rank in ranks]
    pieces = [
        _space_chunk(m, name, low, high, lambda: over_space(m, rest, thunk, ranks), deeper)
        for low, high in levels.chunks(m, width)
    ]
    columns = [list(column) for column in zip(*pieces, strict=True)]
    return [
        levels.joined(m, column, rank + 1) for column, rank in zip(columns, deeper, strict=True)
    ]


def _space_chunk(
    m: Evaluator, name: Name, low: int, high: int, thunk: levels.Thunk, ranks: list[int]
) -> list[Data]:
    m.env[name] = np.arange(low, high).reshape((1,) * m.level + (high - low,))
    m.ranks[name] = 0
    found = levels.inside(m, high - low, thunk)
    m.env.pop(name)
    return [levels.full(m, data, rank, high - low) for data, rank in zip(found, ranks, strict=True)]


def _bounds(m: Evaluator, space: ir.SegSpace) -> list[tuple[Name, int]]:
    """Evaluate a space's bounds. An empty one may have sizes that no lane would allow."""
    found = [(name, m.size(bound)) for name, bound in space.dims]
    if any(width == 0 for _, width in found):
        return [(name, max(width, 0)) for name, width in found]
    m.room([width for _, width in found], 1)
    return found


class _Kernel:
    """The body of a kernel as a function of lanes, with its results."""

    def __init__(self, m: Evaluator, body: ir.KernelBody) -> None:
        self.m = m
        self.body = body
        self.ranks: list[int] = []
        written = (r for r in body.results if isinstance(r, ir.Write) and not r.writes)
        self.accumulators = [result.dest for result in written]
        for result, kind in zip(body.results, body.returns, strict=True):
            if not isinstance(result, ir.Write):
                self.ranks.append(levels.rank_of(kind))
                continue
            for at, _ in result.writes:
                self.ranks += [0] * len(at) + [levels.rank_of(kind) - len(at)]

    def run(self) -> list[Data]:
        """Return the flattened results of the lanes at the current level."""
        m = self.m
        m.stms(self.body.stms)
        found: list[Data] = []
        for result in self.body.results:
            if isinstance(result, ir.Write):
                for at, value in result.writes:
                    found += [m.se(index) for index in at]
                    found.append(m.operand(value))
            else:
                found.append(m.operand(result))
        for stm in self.body.stms:
            for param in stm.pat:
                m.env.pop(param.name, None)
        return found

    def finish(self, values: list[Data], deep: int, skip: int = 0) -> list[Data]:
        """Return the statement's results from the values of all lanes, after the first `skip`."""
        m = self.m
        at = 0
        out: list[Data] = []
        for result, kind in list(zip(self.body.results, self.body.returns, strict=True))[skip:]:
            if not isinstance(result, ir.Write):
                out.append(values[at])
                at += 1
                continue
            data = m.array(result.dest)
            rank = levels.rank_of(kind)
            for indices, _ in result.writes:
                index = [_over(m, v, 0, deep) for v in values[at : at + len(indices)]]
                at += len(indices)
                value = _over(m, values[at], rank - len(indices), deep)
                at += 1
                data = written(m, data, rank, index, value, deep)
            out.append(data)
        return out


def _over(m: Evaluator, data: Data, own: int, deep: int) -> Data:
    """Give an array over `deep` dimensions of lanes all levels' dimensions."""
    if not m.level or data.ndim > own + deep:
        return data
    return data.reshape((1,) * m.level + data.shape)


def _all_lanes(m: Evaluator, space: ir.SegSpace, kernel: _Kernel) -> list[Data]:
    """Run all lanes of a space, one at a time if they are irregular."""
    dims = _bounds(m, space)
    if 0 in (width for _, width in dims):
        return _no_lanes(m, kernel, [width for _, width in dims])
    try:
        if kernel.accumulators:
            raise Irregular
        return over_space(m, dims, kernel.run, kernel.ranks)
    except Irregular:
        if m.widths:
            raise
        _accumulate(m, kernel.accumulators)
    shape = [width for _, width in dims]
    lanes: list[list[Data]] = []
    for lane in np.ndindex(*shape):
        for (name, _), at in zip(dims, lane, strict=True):
            m.env[name] = np.int64(at)
        lanes.append(kernel.run())
    columns = zip(*lanes, strict=True)
    return [_stacked(list(column), shape) for column in columns]


def _stacked(column: list[Data], shape: list[int]) -> Data:
    data = np.stack(column)
    return data.reshape((*shape, *data.shape[1:]))


def _no_lanes(m: Evaluator, kernel: _Kernel, widths: list[int]) -> list[Data]:
    """Return arrays over an empty space; writes have no indices."""
    found: list[Data] = []
    for result, kind in zip(kernel.body.results, kernel.body.returns, strict=True):
        if not isinstance(result, ir.Write):
            found.append(levels.empty(m, kind, *widths))
            continue
        for at, _ in result.writes:
            found += [np.zeros(widths, np.int64) for _ in at]
            assert isinstance(kind, ir.Array)
            dest = m.array(result.dest)
            own = dest.shape[dest.ndim - kind.rank + len(at) :]
            found.append(np.zeros((*widths, *own), DTYPE[kind.prim]))
    return found


@handles(EXPS, ir.SegMap)
def _segmap(m: Evaluator, exp: ir.SegMap, pat: Sequence[ir.Param]) -> list[Data]:
    kernel = _Kernel(m, exp.body)
    return kernel.finish(_all_lanes(m, exp.space, kernel), len(exp.space.dims))


@handles(EXPS, ir.SegRed)
def _segred(m: Evaluator, exp: ir.SegRed, pat: Sequence[ir.Param]) -> list[Data]:
    return _seg_fold(m, exp, scan=False)


@handles(EXPS, ir.SegScan)
def _segscan(m: Evaluator, exp: ir.SegScan, pat: Sequence[ir.Param]) -> list[Data]:
    return _seg_fold(m, exp, scan=True)


def _seg_fold(m: Evaluator, exp: ir.SegFold, scan: bool) -> list[Data]:
    """Fold along the last dimension of a space, in all lanes of the others together."""
    kernel = _Kernel(m, exp.body)
    carried = sum(len(op.neutral) for op in exp.ops)
    dims = _bounds(m, exp.space)
    values = _all_lanes(m, exp.space, kernel)
    folded = _fold_rows(m, exp.ops, values[:carried], dims, scan)
    return folded + kernel.finish(values[carried:], len(dims), carried)


def _fold_rows(
    m: Evaluator,
    ops: Sequence[ir.Operator],
    values: list[Data],
    dims: list[tuple[Name, int]],
    scan: bool,
) -> list[Data]:
    """Fold arrays over a space along its last dimension; the others become levels."""
    ranks = [levels.rank_of(kind) for op in ops for kind in op.fn.returns]
    sources = [_over(m, v, rank, len(dims)) for v, rank in zip(values, ranks, strict=True)]
    width = dims[-1][1]

    def rows_at_level() -> list[Data]:
        folder = Folder(m, ops, ranks, scan)
        if width:
            folder.take(sources, width)
        pairs = zip(sources, ranks, strict=True)
        empties = [np.zeros((0, *v.shape[v.ndim - r :]), v.dtype) for v, r in pairs]
        return folder.results(empties)

    outer = [w for _, w in dims[:-1]]
    try:
        return _levels(m, outer, rows_at_level, [r + scan for r in ranks])
    except Irregular:
        if m.widths:
            raise
    found: list[list[Data]] = []
    for lane in np.ndindex(*outer):
        folder = Folder(m, ops, ranks, scan)
        for k in range(width):
            folder.take([v[(*lane, k)][None] for v in sources], 1)
        found.append(folder.results(()))
    return [_stacked(list(column), outer) for column in zip(*found, strict=True)]


def _levels(m: Evaluator, widths: list[int], thunk: levels.Thunk, ranks: list[int]) -> list[Data]:
    """Call `thunk` some levels deeper, and return its results as arrays of this level."""
    if not widths:
        return thunk()
    deeper = [rank + len(widths) - 1 for rank in ranks]
    found = levels.inside(m, widths[0], lambda: _levels(m, widths[1:], thunk, ranks))
    wide = [levels.full(m, d, rank, widths[0]) for d, rank in zip(found, deeper, strict=True)]
    return [levels.joined(m, [d], rank + 1) for d, rank in zip(wide, deeper, strict=True)]


@handles(EXPS, ir.SegHist)
def _seghist(m: Evaluator, exp: ir.SegHist, pat: Sequence[ir.Param]) -> list[Data]:
    kernel = _Kernel(m, exp.body)
    deep = len(exp.space.dims)
    values = _all_lanes(m, exp.space, kernel)
    out: list[Data] = []
    at = 0
    for op in exp.ops:
        index = [_over(m, v, 0, deep) for v in values[at : at + op.rank]]
        at += op.rank
        kinds = op.op.fn.returns
        parts = [
            _over(m, v, levels.rank_of(kind), deep)
            for v, kind in zip(values[at : at + len(kinds)], kinds, strict=True)
        ]
        at += len(kinds)
        out += combined(m, op, index, parts, deep, deep - 1)
    return out
