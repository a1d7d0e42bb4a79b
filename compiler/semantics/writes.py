"""Writes to computed indices in the fast interpreter: scatters and histograms.

For two values of one element a scatter keeps the last, and a histogram combines them in order.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from compiler.ir.nodes import HistOp, Operator
from compiler.semantics.arrays import outer_shape, widened
from compiler.semantics.evaluator import Data, Evaluator, Mask
from compiler.semantics.folds import combine, ufunc_of
from compiler.semantics.levels import rank_of


def written(m: Evaluator, dest: Data, rank: int, at: list[Data], value: Data, deep: int) -> Data:
    """Return `dest` (of this level, with `rank` dimensions) with values written at indices.

    Indices and values have `deep` more dimensions of lanes than the levels here. Indices outside
    the array, and masked lanes, are ignored. Of two values for one element the last stays.
    """
    level, mask = m.level, deeper(m, deep)
    own = rank - len(at)
    axes = level + deep
    shapes = [i.shape for i in at] + [outer_shape(value, own), (1,) * axes]
    if mask is not None:
        shapes.append(mask.shape)
    lanes = np.broadcast_shapes(*shapes)
    outer = np.broadcast_shapes(outer_shape(dest, rank) or (1,) * level, lanes[:level])
    lanes = outer + lanes[level:]
    result = np.array(widened(dest, rank, outer))
    index = [np.broadcast_to(i, lanes) for i in at]
    chosen = np.ones(lanes, np.bool_) if mask is None else np.broadcast_to(mask, lanes)
    for i, size in zip(index, result.shape[level:], strict=False):
        chosen = chosen & (i >= 0) & (i < size)
    grids = [
        np.broadcast_to(np.arange(size).reshape((size,) + (1,) * (axes - axis - 1)), lanes)
        for axis, size in enumerate(outer)
    ]
    values = widened(value, own, lanes)
    result[tuple(g[chosen] for g in [*grids, *index])] = values[chosen]
    if level and all(size == 1 for size in outer):
        return result.reshape(result.shape[level:])
    return result


def deeper(m: Evaluator, deep: int) -> Mask:
    """Extend the mask by dimensions for further levels."""
    return None if m.mask is None else m.mask.reshape(m.mask.shape + (1,) * deep)


def combined(
    m: Evaluator, op: HistOp, index: list[Data], parts: list[Data], deep: int, first: int = 0
) -> list[Data]:
    """Return the destinations with values combined into their elements.

    The last `deep` dimensions of indices and parts are lanes; the destinations' dimensions before
    the indexed ones (`first` of them) are the lanes' own first dimensions.
    """
    level = m.level
    kinds = op.op.fn.returns
    dests = [m.array(name) for name in op.dests]
    ranks = [m.ranks[name] for name in op.dests]
    mask = deeper(m, deep)
    shapes = [i.shape for i in index]
    shapes += [outer_shape(p, rank_of(k)) for p, k in zip(parts, kinds, strict=True)]
    shapes += [] if mask is None else [mask.shape]
    lanes = np.broadcast_shapes(*shapes)
    outers = [outer_shape(d, r) or (1,) * level for d, r in zip(dests, ranks, strict=True)]
    outer = np.broadcast_shapes(lanes[:level], *outers)
    lanes = outer + lanes[level:]
    # In row-major order whatever the operands had: the cells below must be views.
    results = [np.array(widened(d, r, outer), order="C") for d, r in zip(dests, ranks, strict=True)]
    fixed = level + first
    extents = results[0].shape[: fixed + op.rank]
    chosen = np.ones(lanes, np.bool_) if mask is None else np.broadcast_to(mask, lanes)
    for i, size in zip(index, extents[fixed:], strict=True):
        chosen = chosen & (i >= 0) & (i < size)
    grids = [
        np.broadcast_to(np.arange(size).reshape((size,) + (1,) * (len(lanes) - axis - 1)), lanes)
        for axis, size in enumerate(extents[:fixed])
    ]
    where = [g[chosen] for g in [*grids, *(np.broadcast_to(i, lanes) for i in index)]]
    flat = np.ravel_multi_index(where, extents) if where[0].size else np.zeros(0, np.int64)
    chosen_parts = [
        widened(p, rank_of(k), lanes)[chosen] for p, k in zip(parts, kinds, strict=True)
    ]
    # The number of cells is given, as rows without elements leave it open.
    count = math.prod(extents)
    cells = [r.reshape((count, *r.shape[len(extents) :])) for r in results]
    _accumulate(m, op.op, cells, flat, chosen_parts)
    return [
        r.reshape(r.shape[level:]) if level and all(s == 1 for s in outer) else r for r in results
    ]


def _accumulate(
    m: Evaluator, op: Operator, cells: list[Data], flat: npt.NDArray[np.int64], parts: list[Data]
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
    rows = bins[last]
    found = combine(m, op, [c[rows] for c in cells], [v[last] for v in values], rows.size)
    m.widths, m.mask = widths, mask
    for cell, new in zip(cells, found, strict=True):
        cell[rows] = new


def _where_rows(same: npt.NDArray[np.bool_], step: int, new: Data, old: Data) -> Data:
    result = np.array(old)
    result[step:][same] = new[same]
    return result
