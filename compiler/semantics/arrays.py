"""Array operations of the fast interpreter, for all lanes of the surrounding levels at once."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import numpy as np

from compiler.base.by_class import handles
from compiler.base.dtypes import DTYPE
from compiler.base.prim import Prim
from compiler.ir import nodes as ir
from compiler.semantics.evaluator import Data, Evaluator, Rule
from compiler.semantics.limits import of_rows

_PRIM_OF: dict[np.dtype[np.generic], Prim] = {dtype: prim for prim, dtype in DTYPE.items()}
EXPS: dict[type, Rule] = {}


def prim_of_dtype(dtype: np.dtype[np.generic]) -> Prim:
    """Return the primitive type of a NumPy type."""
    return _PRIM_OF[dtype]


def outer_shape(data: Data, rank: int) -> tuple[int, ...]:
    """Return the dimensions of a value that belong to surrounding levels."""
    shape: tuple[int, ...] = data.shape
    return shape[: len(shape) - rank]


def widened(data: Data, rank: int, outer: tuple[int, ...]) -> Data:
    """Broadcast a value to `outer` level dimensions, as a view."""
    own = data.shape[data.ndim - rank :]
    if data.ndim == rank and outer:
        data = data.reshape((1,) * len(outer) + own)
    return np.broadcast_to(data, outer + own)


def _grids(outer: tuple[int, ...], after: int) -> list[Data]:
    """Return an index for each level's dimension that selects every lane's own row."""
    total = len(outer) + after
    grids: list[Data] = []
    for axis, size in enumerate(outer):
        index = np.arange(size) if size != 1 else np.zeros(1, np.int64)
        grids.append(index.reshape((1,) * axis + (size,) + (1,) * (total - axis - 1)))
    return grids


def _checked(m: Evaluator, index: Data, size: int) -> Data:
    """Check an index in all active lanes, and clamp it in the others."""
    if index.ndim == 0:
        if 0 <= index < size:
            return index
        if m.any_active():
            raise m.error(f"Index {int(index)} is out of bounds for size {size}.", "bounds")
        return np.int64(0)
    outside = (index < 0) | (index >= size)
    if not outside.any():
        return index
    bad = m.active(outside)
    if np.any(bad):
        wrong = np.broadcast_to(index, np.shape(bad))[bad].flat[0]
        raise m.error(f"Index {int(wrong)} is out of bounds for size {size}.", "bounds")
    return np.where(outside, 0, index)


@handles(EXPS, ir.Index)
def _index(m: Evaluator, exp: ir.Index, pat: Sequence[ir.Param]) -> list[Data]:
    data = m.array(exp.array)
    rank = len(exp.at)
    own = data.shape[data.ndim - rank :]
    index = [_checked(m, m.se(at), size) for at, size in zip(exp.at, own, strict=True)]
    outer = outer_shape(data, rank)
    if 0 in own:
        return [np.zeros((1,) * m.level, data.dtype)[()]]
    if not outer:
        return [data[tuple(index)]]
    if all(i.ndim == 0 for i in index):
        return [data[(slice(None),) * len(outer) + tuple(index)]]
    return [data[tuple(_grids(outer, 0)) + tuple(index)]]


class _Dims:
    """The positions that indices and slices select, uniform or per lane."""

    def __init__(self, m: Evaluator, dims: tuple[ir.DimIndex, ...], own: tuple[int, ...]) -> None:
        self.parts: list[tuple[Data, list[int], list[Data]]] = []
        self.counts: list[int] = []
        self._own = own
        for dim, size in zip(dims, own, strict=True):
            counts = [m.size(count) for count in dim.counts]
            counts = list(of_rows((*self.counts, *counts))[len(self.counts) :])
            start, strides = m.se(dim.start), [m.se(stride) for stride in dim.strides]
            m.room(tuple(counts), 1)
            if 0 not in counts:
                corners = [start]
                for count, stride in zip(counts, strides, strict=True):
                    corners += [corner + (count - 1) * stride for corner in corners]
                for corner in corners:
                    _checked(m, corner, size)
            self.counts += counts
            self.parts.append((start, counts, strides))

    def simple(self) -> bool:
        """Return True if `basic` applies: equal in all lanes, at most one stride each, not 0."""
        return all(
            start.ndim == 0
            and len(strides) <= 1
            and all(stride.ndim == 0 and stride != 0 for stride in strides)
            for start, _, strides in self.parts
        )

    def basic(self) -> tuple[int | slice, ...]:
        """Return NumPy's basic indices; only for simple ones."""
        found: list[int | slice] = []
        for start, counts, strides in self.parts:
            first = int(start)
            if not counts:
                found.append(first)
            elif not counts[0]:
                found.append(slice(0, 0))
            else:
                step = int(strides[0])
                stop = first + (counts[0] - 1) * step + (1 if step > 0 else -1)
                found.append(slice(first, None if stop < 0 else stop, step))
        return tuple(found)

    def grids(self) -> list[Data]:
        """Return an array of positions per dimension, over the levels' and the slice's ones."""
        found: list[Data] = []
        kept = len(self.counts)
        at = 0
        for (start, counts, strides), size in zip(self.parts, self._own, strict=True):
            position = _inner(start, kept)
            for count, stride in zip(counts, strides, strict=True):
                at += 1
                steps = np.arange(count).reshape((count,) + (1,) * (kept - at))
                position = position + steps * _inner(stride, kept)
            found.append(np.clip(position, 0, max(0, size - 1)))
        return found


def _inner(value: Data, kept: int) -> Data:
    """Reshape a value of each lane to be constant over `kept` slice dimensions."""
    return value.reshape(value.shape + (1,) * kept) if value.ndim else value


@handles(EXPS, ir.Slice)
def _slice(m: Evaluator, exp: ir.Slice, pat: Sequence[ir.Param]) -> list[Data]:
    data = m.array(exp.array)
    rank = len(exp.dims)
    own = data.shape[data.ndim - rank :]
    dims = _Dims(m, exp.dims, own)
    outer = outer_shape(data, rank)
    if dims.simple():
        return [data[(slice(None),) * len(outer) + dims.basic()]]
    kept = len(dims.counts)
    if 0 in own or 0 in dims.counts:
        m.room(dims.counts, data.dtype.itemsize)
        return [np.zeros(tuple(dims.counts), data.dtype)]
    grids = dims.grids()
    found = data[tuple(_grids(outer, kept)) + tuple(grids)]
    full = m.level if any(g.ndim > kept for g in grids) or outer else 0
    return [found.reshape((1,) * (full + kept - found.ndim) + found.shape)]


@handles(EXPS, ir.Update)
def _update(m: Evaluator, exp: ir.Update, pat: Sequence[ir.Param]) -> list[Data]:
    rank = len(exp.dims)
    value = m.operand(exp.value)
    if not m.widths and m.mask is None:
        return [_update_one(m, exp, value)]
    data = m.array(exp.array)
    dims = _Dims(m, exp.dims, data.shape[data.ndim - rank :])
    kept = len(dims.counts)
    grids = dims.grids()
    shapes = [outer_shape(data, rank), outer_shape(value, kept)]
    shapes += [g.shape[: g.ndim - kept] for g in grids if g.ndim > kept]
    if m.mask is not None:
        shapes.append(m.mask.shape)
    outer = np.broadcast_shapes(*shapes)
    m.env.pop(exp.array)
    # The references are `data` and the argument of `getrefcount`.
    owned = sys.getrefcount(data) == 2 and data.base is None and data.flags.writeable
    if not owned or outer_shape(data, rank) != outer:
        data = np.array(widened(data, rank, outer))
    if 0 in dims.counts or data.size == 0:
        return [data]
    full = outer + tuple(dims.counts)
    index = [np.broadcast_to(g, full) for g in _grids(outer, kept) + grids]
    values = widened(value, kept, outer)
    if m.mask is None:
        data[tuple(index)] = values
    else:
        chosen = np.broadcast_to(m.mask.reshape(m.mask.shape + (1,) * kept), full)
        data[tuple(i[chosen] for i in index)] = values[chosen]
    return [data]


def _update_one(m: Evaluator, exp: ir.Update, value: Data) -> Data:
    """Update at level 0: in place, unless the array is referenced elsewhere."""
    data = m.array(exp.array)
    dims = _Dims(m, exp.dims, data.shape)
    m.env.pop(exp.array)
    # The references are `data` and the argument of `getrefcount`.
    if sys.getrefcount(data) > 2 or data.base is not None or not data.flags.writeable:
        data = np.array(data)
    if 0 not in dims.counts:
        data[dims.basic() if dims.simple() else tuple(dims.grids())] = value
    return data


@handles(EXPS, ir.Rearrange)
def _rearrange(m: Evaluator, exp: ir.Rearrange, pat: Sequence[ir.Param]) -> list[Data]:
    data = m.array(exp.array)
    outer = data.ndim - len(exp.perm)
    return [data.transpose((*range(outer), *(outer + k for k in exp.perm)))]


@handles(EXPS, ir.Reshape)
def _reshape(m: Evaluator, exp: ir.Reshape, pat: Sequence[ir.Param]) -> list[Data]:
    data = m.array(exp.array)
    rank = m.ranks[exp.array]
    shape = m.shape(exp.shape)
    outer = outer_shape(data, rank)
    own = data.shape[data.ndim - rank :]
    if np.prod(own, dtype=object) != np.prod(shape, dtype=object) or min(shape) < 0:
        raise m.error(f"An array of shape {list(own)} cannot have the shape {list(shape)}.")
    m.room(shape, data.dtype.itemsize)
    return [data.reshape(outer + shape)]


@handles(EXPS, ir.Copy)
def _copy(m: Evaluator, exp: ir.Copy, pat: Sequence[ir.Param]) -> list[Data]:
    return [np.array(m.array(exp.array))]


@handles(EXPS, ir.Concat)
def _concat(m: Evaluator, exp: ir.Concat, pat: Sequence[ir.Param]) -> list[Data]:
    parts = [m.array(name) for name in exp.arrays]
    rank = m.ranks[exp.arrays[0]]
    outer = np.broadcast_shapes(*(outer_shape(p, rank) for p in parts))
    return [np.concatenate([widened(p, rank, outer) for p in parts], axis=len(outer))]


@handles(EXPS, ir.Iota)
def _iota(m: Evaluator, exp: ir.Iota, pat: Sequence[ir.Param]) -> list[Data]:
    count = m.size(exp.count)
    dtype = DTYPE[exp.prim]
    m.room((count,), dtype.itemsize)
    start, step = m.se(exp.start), m.se(exp.step)
    numbers = np.arange(count, dtype=np.int64).astype(dtype)
    start = start.reshape((*start.shape, 1)) if start.ndim else start
    step = step.reshape((*step.shape, 1)) if step.ndim else step
    return [start + numbers * step]


@handles(EXPS, ir.Replicate)
def _replicate(m: Evaluator, exp: ir.Replicate, pat: Sequence[ir.Param]) -> list[Data]:
    shape = m.shape(exp.shape)
    value = m.operand(exp.value)
    rank = m.rank_of(exp.value)
    outer = outer_shape(value, rank)
    own = value.shape[value.ndim - rank :]
    m.room(shape + own, value.dtype.itemsize)
    wide = value.reshape(outer + (1,) * len(shape) + own)
    return [np.array(np.broadcast_to(wide, outer + shape + own))]


@handles(EXPS, ir.Scratch)
def _scratch(m: Evaluator, exp: ir.Scratch, pat: Sequence[ir.Param]) -> list[Data]:
    shape = m.shape(exp.shape)
    m.room(shape, DTYPE[exp.prim].itemsize)
    return [np.zeros(shape, DTYPE[exp.prim])]


@handles(EXPS, ir.ArrayLit)
def _array_lit(m: Evaluator, exp: ir.ArrayLit, pat: Sequence[ir.Param]) -> list[Data]:
    if not exp.elems:
        kind = pat[0].type
        assert isinstance(kind, ir.Array)
        shape = m.shape(kind.shape)
        m.room(shape, DTYPE[kind.prim].itemsize)
        return [np.zeros(shape, DTYPE[kind.prim])]
    parts = [m.operand(elem) for elem in exp.elems]
    rank = m.rank_of(exp.elems[0])
    outer = np.broadcast_shapes(*(outer_shape(p, rank) for p in parts))
    return [np.stack([widened(p, rank, outer) for p in parts], len(outer))]
