"""Parallel operators of the reference interpreter: maps, folds, scatters and kernels.

A parallel dimension becomes one more level, in chunks so that intermediate arrays stay small. Folds
whose operator is a single associative NumPy operation use that; others combine neighbours in about
log2(n) rounds, which keeps the order of the operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from compiler.base.names import Name
from compiler.base.prim import DTYPE
from compiler.ir.interp_arrays import Irregular, outer_shape, widened
from compiler.ir.nodes import (
    Array,
    Bin,
    Hist,
    HistOp,
    KernelBody,
    Lambda,
    Map,
    Operator,
    Param,
    Reduce,
    Scan,
    Scatter,
    SegHist,
    SegMap,
    SegRed,
    SegScan,
    SegSpace,
    Type,
    Var,
    Write,
)

if TYPE_CHECKING:
    from compiler.ir.interp import Machine

Data = Any
CHUNK = 1 << 17
"""Points that are evaluated at once."""

Thunk = Callable[[], list[Data]]


def rank_of(kind: Type) -> int:
    """The rank of a type; 0 for scalars."""
    return kind.rank if isinstance(kind, Array) else 0


# --- levels ----------------------------------------------------------------------------------


def chunks(m: Machine, width: int) -> Iterator[tuple[int, int]]:
    """Pieces of a parallel dimension; just one, empty, if there is nothing."""
    step = max(1, CHUNK // max(1, prod(m.widths)))
    for low in range(0, max(width, 1), step):
        yield low, min(width, low + step)


def inside(m: Machine, width: int, thunk: Thunk) -> list[Data]:
    """What `thunk` gives one level deeper."""
    outer = m.mask
    m.widths.append(width)
    if outer is not None:
        m.mask = outer[..., None]
    try:
        m.tick()
        return thunk()
    finally:
        m.widths.pop()
        m.mask = outer


def full(m: Machine, data: Data, rank: int, width: int) -> Data:
    """A value of one level deeper as one whose first own dimension is the level's `width`."""
    level = m.level
    if data.ndim == rank:
        own = data.shape
        return np.broadcast_to(data.reshape((1,) * (level + 1) + own), (1,) * level + (width, *own))
    if data.ndim - rank <= level:
        gap = (1,) * (level + 1 - (data.ndim - rank))
        outer = outer_shape(data, rank)
        data = data.reshape(outer + gap + data.shape[data.ndim - rank :])
    if data.shape[level] == width:
        return data
    return np.broadcast_to(data, (*data.shape[:level], width, *data.shape[level + 1 :]))


def joined(m: Machine, pieces: list[Data], rank: int) -> Data:
    """Chunks one after another, as a fresh value of this level; `rank` counts the new dimension."""
    level = m.level
    if len(pieces) == 1:
        data = np.array(pieces[0])
    else:
        outer = np.broadcast_shapes(*(p.shape[:level] for p in pieces))
        data = np.concatenate([_spread(p, outer) for p in pieces], axis=level)
    if level and all(size == 1 for size in data.shape[:level]):
        return data.reshape(data.shape[level:])
    return data


def _spread(data: Data, outer: tuple[int, ...]) -> Data:
    return np.broadcast_to(data, outer + data.shape[len(outer) :])


def bind_rows(
    m: Machine, params: Sequence[Param], arrays: Sequence[Data], low: int, high: int
) -> None:
    """Make rows of arrays of this level the values of parameters one level deeper."""
    for param, data in zip(params, arrays, strict=True):
        m.bind(param, data[(slice(None),) * m.level + (slice(low, high),)])


def rows(m: Machine, name: Name) -> Data:
    """An array whose rows can be bound one level deeper: with all levels' dimensions."""
    data = m.array(name)
    rank = m.ranks[name]
    return data if data.ndim > rank else data.reshape((1,) * m.level + data.shape)


def empty(m: Machine, kind: Type, *sizes: int) -> Data:
    """An array of no elements, with the sizes that its type says."""
    if isinstance(kind, Array):
        shape = sizes + tuple(_size_or_zero(m, size) for size in kind.shape)
        return np.zeros(shape, DTYPE[kind.prim])
    return np.zeros(sizes, DTYPE[kind.prim])


def _size_or_zero(m: Machine, size: Any) -> int:
    """A size of an empty array's rows; 0 if it is only known inside of the map."""
    return m.size(size) if all(name in m.env for name in size.names()) else 0


def mapped(m: Machine, width: int, fn: Lambda, arrays: Sequence[Name]) -> list[Data]:
    """`fn` on all rows; each result an array of `width` rows."""
    m.room((width,), 1)
    if width == 0:
        return [empty(m, kind, 0) for kind in fn.returns]
    sources = [rows(m, name) for name in arrays]
    ranks = [rank_of(kind) for kind in fn.returns]
    try:
        pieces = [_map_chunk(m, fn, sources, low, high, ranks) for low, high in chunks(m, width)]
    except Irregular:
        if m.widths:
            raise
        pieces = [_map_point(m, fn, sources, k) for k in range(width)]
    columns = [list(column) for column in zip(*pieces, strict=True)]
    return [joined(m, column, rank + 1) for column, rank in zip(columns, ranks, strict=True)]


def _map_chunk(
    m: Machine, fn: Lambda, sources: list[Data], low: int, high: int, ranks: list[int]
) -> list[Data]:
    bind_rows(m, fn.params, sources, low, high)
    found = inside(m, high - low, lambda: m.body(fn.body))
    for param in fn.params:
        m.env.pop(param.name, None)
    return [full(m, data, rank, high - low) for data, rank in zip(found, ranks, strict=True)]


def _map_point(m: Machine, fn: Lambda, sources: list[Data], k: int) -> list[Data]:
    """One row at level 0, for maps whose rows differ in shape inside."""
    results = m.apply(fn, [data[k] for data in sources])
    return [np.asarray(data)[None] for data in results]


# --- folds -----------------------------------------------------------------------------------

_UFUNCS: dict[tuple[str, str], Any] = {
    **{("+", k): np.add for k in "iuf"},
    **{("*", k): np.multiply for k in "iuf"},
    **{("min", k): np.minimum for k in "iu"},
    **{("max", k): np.maximum for k in "iu"},
    ("min", "f"): np.fmin,
    ("max", "f"): np.fmax,
    **{("&", k): np.bitwise_and for k in "iub"},
    **{("|", k): np.bitwise_or for k in "iub"},
    **{("^", k): np.bitwise_xor for k in "iub"},
    ("&&", "b"): np.logical_and,
    ("||", "b"): np.logical_or,
}


def ufunc_of(op: Operator) -> Any | None:
    """NumPy's function if the operator is one scalar operation on its two parameters, in order."""
    fn = op.fn
    if len(fn.params) != 2 or len(fn.body.results) != 1:
        return None
    result: Any = fn.body.results[0]
    if len(fn.body.stms) == 1 and isinstance(result, Var):
        stm = fn.body.stms[0]
        if len(stm.pat) != 1 or stm.pat[0].name != result.name:
            return None
        result = stm.exp
    elif fn.body.stms:
        return None
    match result:
        case Bin(name, at, Var(a, _), Var(b, _)) if (a, b) == tuple(p.name for p in fn.params):
            return _UFUNCS.get((name, at[0]))
    return None


def _along(level: int, start: int | None, stop: int | None, step: int | None = None) -> Any:
    return (slice(None),) * level + (slice(start, stop, step),)


def combine(
    m: Machine, op: Operator, left: list[Data], right: list[Data], width: int
) -> list[Data]:
    """The operator on two sequences of `width` values each, along the next level's dimension."""

    def apply() -> list[Data]:
        return m.apply(op.fn, [*left, *right])

    found = inside(m, width, apply)
    return [full(m, d, rank_of(kind), width) for d, kind in zip(found, op.fn.returns, strict=True)]


def fold(m: Machine, op: Operator, values: list[Data], width: int) -> list[Data]:
    """All `width` values combined in order; at least one."""
    level = m.level
    ufunc = ufunc_of(op)
    if ufunc is not None:
        (data,) = values
        return [ufunc.reduce(data, axis=level, dtype=data.dtype)]
    while width > 1:
        half = width // 2
        left = [v[_along(level, 0, 2 * half, 2)] for v in values]
        right = [v[_along(level, 1, 2 * half, 2)] for v in values]
        merged = combine(m, op, left, right, half)
        if width % 2:
            last = [v[_along(level, width - 1, width)] for v in values]
            merged = [_append(a, b, level) for a, b in zip(merged, last, strict=True)]
        values, width = merged, half + width % 2
    return [v[(slice(None),) * level + (0,)] for v in values]


def _append(a: Data, b: Data, axis: int) -> Data:
    outer = np.broadcast_shapes(a.shape[:axis], b.shape[:axis])
    return np.concatenate([_spread(a, outer), _spread(b, outer)], axis=axis)


def prefixes(m: Machine, op: Operator, values: list[Data], width: int) -> list[Data]:
    """All prefixes of `width` values combined in order."""
    level = m.level
    ufunc = ufunc_of(op)
    if ufunc is not None:
        (data,) = values
        return [ufunc.accumulate(data, axis=level, dtype=data.dtype)]
    step = 1
    while step < width:
        left = [v[_along(level, 0, width - step)] for v in values]
        right = [v[_along(level, step, width)] for v in values]
        merged = combine(m, op, left, right, width - step)
        values = [
            _append(v[_along(level, 0, step)], new, level)
            for v, new in zip(values, merged, strict=True)
        ]
        step *= 2
    return values


Points = Callable[[int, int], list[Data]]
"""The results of the points from one position to another, each with that dimension in full."""


class Folder:
    """Folds or scans what the points of the next level give, chunk by chunk."""

    def __init__(self, m: Machine, ops: Sequence[Operator], ranks: list[int], scan: bool) -> None:
        self.m = m
        self.ops = ops
        self.ranks = ranks
        self.scan = scan
        self.state = [[m.operand(value) for value in op.neutral] for op in ops]
        self.carried = sum(len(op.neutral) for op in ops)
        self.pieces: list[list[Data]] = []

    def take(self, values: list[Data], width: int) -> None:
        """Combine the values of one chunk with what came before."""
        m, level = self.m, self.m.level
        out: list[Data] = []
        at = 0
        for k, op in enumerate(self.ops):
            part = values[at : at + len(op.neutral)]
            at += len(op.neutral)
            if not self.scan:
                total = fold(m, op, part, width)
                self.state[k] = m.apply(op.fn, [*self.state[k], *total])
                continue
            scanned = prefixes(m, op, part, width)
            kinds = [rank_of(kind) for kind in op.fn.returns]
            start = [full(m, s, r, width) for s, r in zip(self.state[k], kinds, strict=True)]
            scanned = combine(m, op, start, scanned, width)
            self.state[k] = [v[(slice(None),) * level + (width - 1,)] for v in scanned]
            out += scanned
        self.pieces.append(out + values[at:])

    def results(self, empties: Sequence[Data]) -> list[Data]:
        """The folded values, then the kept arrays; `empties` stand for arrays of no points."""
        folded = [] if self.scan else [np.array(v)[()] for state in self.state for v in state]
        if not self.pieces:
            return folded + list(empties[0 if self.scan else self.carried :])
        columns = [list(column) for column in zip(*self.pieces, strict=True)]
        ranks = self.ranks if self.scan else self.ranks[self.carried :]
        pairs = zip(columns, ranks, strict=True)
        return folded + [joined(self.m, column, rank + 1) for column, rank in pairs]


def _soac_fold(m: Machine, exp: Reduce | Scan, scan: bool) -> list[Data]:
    width = m.size(exp.width)
    ranks = [rank_of(kind) for kind in exp.fn.returns]
    folder = Folder(m, exp.ops, ranks, scan)
    if width == 0:
        return folder.results([empty(m, kind, 0) for kind in exp.fn.returns])
    sources = [rows(m, name) for name in exp.arrays]
    try:
        for low, high in chunks(m, width):
            folder.take(_map_chunk(m, exp.fn, sources, low, high, ranks), high - low)
    except Irregular:
        if m.widths:
            raise
        folder = Folder(m, exp.ops, ranks, scan)
        for k in range(width):
            folder.take(_map_point(m, exp.fn, sources, k), 1)
    return folder.results(())


def _map(m: Machine, exp: Map, pat: Sequence[Param]) -> list[Data]:
    return mapped(m, m.size(exp.width), exp.fn, exp.arrays)


def _reduce(m: Machine, exp: Reduce, pat: Sequence[Param]) -> list[Data]:
    return _soac_fold(m, exp, scan=False)


def _scan(m: Machine, exp: Scan, pat: Sequence[Param]) -> list[Data]:
    return _soac_fold(m, exp, scan=True)


# --- writes to computed places ---------------------------------------------------------------


def written(
    m: Machine, dest: Data, rank: int, at: list[Data], value: Data, deep: int, mask: Any
) -> Data:
    """`dest` (of this level, with `rank` dimensions) with values at places.

    Indices and values have `deep` more dimensions of points than the levels here. Places outside
    of the array, and points that `mask` leaves out, are ignored. Of two values at one place the
    last stays.
    """
    level = m.level
    own = rank - len(at)
    places = level + deep
    shapes = [i.shape for i in at] + [outer_shape(value, own), (1,) * places]
    if mask is not None:
        shapes.append(mask.shape)
    points = np.broadcast_shapes(*shapes)
    outer = np.broadcast_shapes(outer_shape(dest, rank) or (1,) * level, points[:level])
    points = outer + points[level:]
    result = np.array(widened(dest, rank, outer))
    index = [np.broadcast_to(i, points) for i in at]
    chosen = np.ones(points, np.bool_) if mask is None else np.broadcast_to(mask, points)
    for i, size in zip(index, result.shape[level:], strict=False):
        chosen = chosen & (i >= 0) & (i < size)
    grids = [
        np.broadcast_to(np.arange(size).reshape((size,) + (1,) * (places - axis - 1)), points)
        for axis, size in enumerate(outer)
    ]
    values = widened(value, own, points)
    result[tuple(g[chosen] for g in [*grids, *index])] = values[chosen]
    if level and all(size == 1 for size in outer):
        return result.reshape(result.shape[level:])
    return result


def _deeper(m: Machine, deep: int) -> Any:
    """The mask with dimensions for further levels."""
    return None if m.mask is None else m.mask.reshape(m.mask.shape + (1,) * deep)


def _scatter(m: Machine, exp: Scatter, pat: Sequence[Param]) -> list[Data]:
    values = mapped(m, m.size(exp.width), exp.fn, exp.arrays)
    out: list[Data] = []
    at = 0
    for dest in exp.dests:
        index = [_points(m, v) for v in values[at : at + dest.rank]]
        value = values[at + dest.rank]
        at += dest.rank + 1
        own = m.ranks[dest.array] - dest.rank
        value = _points(m, value, own)
        rank = m.ranks[dest.array]
        out.append(written(m, m.array(dest.array), rank, index, value, 1, _deeper(m, 1)))
    return out + values[at:]


def _points(m: Machine, data: Data, own: int = 0) -> Data:
    """An array of values, one per point, with all levels' dimensions."""
    return data if data.ndim > own + 1 or not m.level else data.reshape((1,) * m.level + data.shape)


def _hist(m: Machine, exp: Hist, pat: Sequence[Param]) -> list[Data]:
    values = mapped(m, m.size(exp.width), exp.fn, exp.arrays)
    out: list[Data] = []
    at = 0
    for op in exp.ops:
        index = [_points(m, v) for v in values[at : at + op.rank]]
        at += op.rank
        kinds = op.op.fn.returns
        parts = [
            _points(m, v, rank_of(kind))
            for v, kind in zip(values[at : at + len(kinds)], kinds, strict=True)
        ]
        at += len(kinds)
        out += _combined(m, op, index, parts, 1)
    return out


def _combined(
    m: Machine, op: HistOp, index: list[Data], parts: list[Data], deep: int, first: int = 0
) -> list[Data]:
    """The destinations with values combined into their places.

    The last `deep` dimensions of indices and parts are points; the destinations' dimensions before
    the indexed ones (`first` of them) are the points' own first dimensions.
    """
    level = m.level
    kinds = op.op.fn.returns
    dests = [m.array(name) for name in op.dests]
    ranks = [m.ranks[name] for name in op.dests]
    mask = _deeper(m, deep)
    shapes = [i.shape for i in index]
    shapes += [outer_shape(p, rank_of(k)) for p, k in zip(parts, kinds, strict=True)]
    shapes += [] if mask is None else [mask.shape]
    points = np.broadcast_shapes(*shapes)
    outers = [outer_shape(d, r) or (1,) * level for d, r in zip(dests, ranks, strict=True)]
    outer = np.broadcast_shapes(points[:level], *outers)
    points = outer + points[level:]
    # In row-major order whatever the operands had: the cells below must be views.
    results = [
        np.array(widened(d, r, outer), order="C") for d, r in zip(dests, ranks, strict=True)
    ]
    fixed = level + first
    extents = results[0].shape[: fixed + op.rank]
    chosen = np.ones(points, np.bool_) if mask is None else np.broadcast_to(mask, points)
    for i, size in zip(index, extents[fixed:], strict=True):
        chosen = chosen & (i >= 0) & (i < size)
    grids = [
        np.broadcast_to(np.arange(size).reshape((size,) + (1,) * (len(points) - axis - 1)), points)
        for axis, size in enumerate(extents[:fixed])
    ]
    places = [g[chosen] for g in [*grids, *(np.broadcast_to(i, points) for i in index)]]
    flat = np.ravel_multi_index(places, extents) if places[0].size else np.zeros(0, np.int64)
    chosen_parts = [
        widened(p, rank_of(k), points)[chosen] for p, k in zip(parts, kinds, strict=True)
    ]
    cells = [r.reshape((-1, *r.shape[len(extents) :])) for r in results]
    _accumulate(m, op.op, cells, flat, chosen_parts)
    return [
        r.reshape(r.shape[level:]) if level and all(s == 1 for s in outer) else r for r in results
    ]


def _accumulate(
    m: Machine, op: Operator, cells: list[Data], flat: npt.NDArray[Any], parts: list[Data]
) -> None:
    """Combine `parts[k]` into row `flat[k]` of the cells, in order."""
    if not flat.size:
        return
    ufunc = ufunc_of(op)
    if ufunc is not None:
        ufunc.at(cells[0], flat, parts[0])
        return
    order = np.argsort(flat, kind="stable")
    bins = flat[order]
    values = [p[order] for p in parts]
    widths, m.widths, mask, m.mask = m.widths, [], m.mask, None
    step = 1
    while step < bins.size:
        same = bins[step:] == bins[:-step]
        if not same.any():
            break
        new = combine(m, op, [v[:-step] for v in values], [v[step:] for v in values], same.size)
        values = [_where_rows(same, step, n, v) for n, v in zip(new, values, strict=True)]
        step *= 2
    last = np.append(bins[1:] != bins[:-1], True)
    places = bins[last]
    found = combine(m, op, [c[places] for c in cells], [v[last] for v in values], places.size)
    m.widths, m.mask = widths, mask
    for cell, new in zip(cells, found, strict=True):
        cell[places] = new


def _where_rows(same: npt.NDArray[np.bool_], step: int, new: Data, old: Data) -> Data:
    result = np.array(old)
    result[step:][same] = new[same]
    return result


# --- kernels ---------------------------------------------------------------------------------


def over_space(
    m: Machine, dims: Sequence[tuple[Name, int]], thunk: Thunk, ranks: list[int]
) -> list[Data]:
    """The results of all points of a space, each an array of this level over the space."""
    if not dims:
        return thunk()
    (name, width), rest = dims[0], dims[1:]
    deeper = [rank + len(rest) for rank in ranks]
    pieces = [
        _space_chunk(m, name, low, high, lambda: over_space(m, rest, thunk, ranks), deeper)
        for low, high in chunks(m, width)
    ]
    columns = [list(column) for column in zip(*pieces, strict=True)]
    return [joined(m, column, rank + 1) for column, rank in zip(columns, deeper, strict=True)]


def _space_chunk(
    m: Machine, name: Name, low: int, high: int, thunk: Thunk, ranks: list[int]
) -> list[Data]:
    m.env[name] = np.arange(low, high).reshape((1,) * m.level + (high - low,))
    m.ranks[name] = 0
    found = inside(m, high - low, thunk)
    m.env.pop(name)
    return [full(m, data, rank, high - low) for data, rank in zip(found, ranks, strict=True)]


def _bounds(m: Machine, space: SegSpace) -> list[tuple[Name, int]]:
    found = [(name, m.size(bound)) for name, bound in space.dims]
    m.room([width for _, width in found], 1)
    return found


class _Kernel:
    """The body of a kernel as a function of points, and what its results are."""

    def __init__(self, m: Machine, body: KernelBody) -> None:
        self.m = m
        self.body = body
        self.ranks: list[int] = []
        for result, kind in zip(body.results, body.returns, strict=True):
            if not isinstance(result, Write):
                self.ranks.append(rank_of(kind))
                continue
            for at, _ in result.writes:
                self.ranks += [0] * len(at) + [rank_of(kind) - len(at)]

    def run(self) -> list[Data]:
        """The flattened results of the points at the current level."""
        m = self.m
        m.stms(self.body.stms)
        found: list[Data] = []
        for result in self.body.results:
            if isinstance(result, Write):
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
        """The statement's results from the values of all points, after the first `skip`."""
        m = self.m
        at = 0
        out: list[Data] = []
        for result, kind in list(zip(self.body.results, self.body.returns, strict=True))[skip:]:
            if not isinstance(result, Write):
                out.append(values[at])
                at += 1
                continue
            data = m.array(result.dest)
            rank = rank_of(kind)
            for indices, _ in result.writes:
                index = [_over(m, v, 0, deep) for v in values[at : at + len(indices)]]
                at += len(indices)
                value = _over(m, values[at], rank - len(indices), deep)
                at += 1
                data = written(m, data, rank, index, value, deep, _deeper(m, deep))
            out.append(data)
        return out


def _over(m: Machine, data: Data, own: int, deep: int) -> Data:
    """An array over `deep` dimensions of points, with all levels' dimensions."""
    if not m.level or data.ndim > own + deep:
        return data
    return data.reshape((1,) * m.level + data.shape)


def _by_point(m: Machine, space: SegSpace, kernel: _Kernel) -> list[Data]:
    """All points of a space, one at a time if they cannot be done together."""
    dims = _bounds(m, space)
    if 0 in (width for _, width in dims):
        return _no_points(m, kernel, [width for _, width in dims])
    try:
        return over_space(m, dims, kernel.run, kernel.ranks)
    except Irregular:
        if m.widths:
            raise
    shape = [width for _, width in dims]
    points: list[list[Data]] = []
    for point in np.ndindex(*shape):
        for (name, _), at in zip(dims, point, strict=True):
            m.env[name] = np.int64(at)
        points.append(kernel.run())
    columns = zip(*points, strict=True)
    return [_stacked(list(column), shape) for column in columns]


def _stacked(column: list[Data], shape: list[int]) -> Data:
    data = np.stack(column)
    return data.reshape((*shape, *data.shape[1:]))


def _no_points(m: Machine, kernel: _Kernel, widths: list[int]) -> list[Data]:
    """Arrays over an empty space; writes have no places."""
    found: list[Data] = []
    for result, kind in zip(kernel.body.results, kernel.body.returns, strict=True):
        if not isinstance(result, Write):
            found.append(empty(m, kind, *widths))
            continue
        for at, _ in result.writes:
            found += [np.zeros(widths, np.int64) for _ in at]
            assert isinstance(kind, Array)
            dest = m.array(result.dest)
            own = dest.shape[dest.ndim - kind.rank + len(at) :]
            found.append(np.zeros((*widths, *own), DTYPE[kind.prim]))
    return found


def _segmap(m: Machine, exp: SegMap, pat: Sequence[Param]) -> list[Data]:
    kernel = _Kernel(m, exp.body)
    return kernel.finish(_by_point(m, exp.space, kernel), len(exp.space.dims))


def _segred(m: Machine, exp: SegRed, pat: Sequence[Param]) -> list[Data]:
    return _seg_fold(m, exp, scan=False)


def _segscan(m: Machine, exp: SegScan, pat: Sequence[Param]) -> list[Data]:
    return _seg_fold(m, exp, scan=True)


def _seg_fold(m: Machine, exp: SegRed | SegScan, scan: bool) -> list[Data]:
    """Folds along the last dimension of a space, at all points of the others together."""
    kernel = _Kernel(m, exp.body)
    carried = sum(len(op.neutral) for op in exp.ops)
    dims = _bounds(m, exp.space)
    values = _by_point(m, exp.space, kernel)
    folded = _fold_rows(m, exp.ops, values[:carried], dims, scan)
    return folded + kernel.finish(values[carried:], len(dims), carried)


def _fold_rows(
    m: Machine,
    ops: Sequence[Operator],
    values: list[Data],
    dims: list[tuple[Name, int]],
    scan: bool,
) -> list[Data]:
    """Fold arrays over a space along its last dimension; the others become levels."""
    ranks = [rank_of(kind) for op in ops for kind in op.fn.returns]
    sources = [_over(m, v, rank, len(dims)) for v, rank in zip(values, ranks, strict=True)]
    width = dims[-1][1]

    def rows_at_level() -> list[Data]:
        folder = Folder(m, ops, ranks, scan)
        if width:
            folder.take(sources, width)
        pairs = zip(sources, ranks, strict=True)
        empties = [np.zeros((0, *v.shape[v.ndim - r :]), v.dtype) for v, r in pairs]
        return folder.results(empties)

    return _levels(m, [w for _, w in dims[:-1]], rows_at_level, [r + scan for r in ranks])


def _levels(m: Machine, widths: list[int], thunk: Thunk, ranks: list[int]) -> list[Data]:
    """What `thunk` gives inside of some more levels, as arrays of this level."""
    if not widths:
        return thunk()
    deeper = [rank + len(widths) - 1 for rank in ranks]
    found = inside(m, widths[0], lambda: _levels(m, widths[1:], thunk, ranks))
    wide = [full(m, d, rank, widths[0]) for d, rank in zip(found, deeper, strict=True)]
    return [joined(m, [d], rank + 1) for d, rank in zip(wide, deeper, strict=True)]


def _seghist(m: Machine, exp: SegHist, pat: Sequence[Param]) -> list[Data]:
    kernel = _Kernel(m, exp.body)
    deep = len(exp.space.dims)
    values = _by_point(m, exp.space, kernel)
    out: list[Data] = []
    at = 0
    for op in exp.ops:
        index = [_over(m, v, 0, deep) for v in values[at : at + op.rank]]
        at += op.rank
        kinds = op.op.fn.returns
        parts = [
            _over(m, v, rank_of(kind), deep)
            for v, kind in zip(values[at : at + len(kinds)], kinds, strict=True)
        ]
        at += len(kinds)
        out += _combined(m, op, index, parts, deep, deep - 1)
    return out


EXPS: dict[type, Callable[[Machine, Any, Sequence[Param]], list[Data]]] = {
    Map: _map,
    Reduce: _reduce,
    Scan: _scan,
    Scatter: _scatter,
    Hist: _hist,
    SegMap: _segmap,
    SegRed: _segred,
    SegScan: _segscan,
    SegHist: _seghist,
}
