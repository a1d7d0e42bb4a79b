"""Parallel dimensions (levels) of the fast interpreter.

They are evaluated in chunks, so that intermediate arrays stay small.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod

import numpy as np

from compiler.algebra.poly import Poly
from compiler.base.dtypes import DTYPE
from compiler.base.names import Name
from compiler.ir.nodes import Array, Lambda, Param, Type
from compiler.semantics.arrays import outer_shape
from compiler.semantics.evaluator import Data, Evaluator, TooDeep

CHUNK = 1 << 17
"""Lanes evaluated at once."""
MOST_LEVELS = 16
"""Nested parallel dimensions; NumPy's arrays have at least 32 dimensions."""

Thunk = Callable[[], list[Data]]


def rank_of(kind: Type) -> int:
    """Return the rank of a type; 0 for scalars."""
    return kind.rank if isinstance(kind, Array) else 0


def chunks(m: Evaluator, width: int) -> Iterator[tuple[int, int]]:
    """Split a parallel dimension into chunks; an empty one gives one empty chunk."""
    step = max(1, CHUNK // max(1, prod(m.widths)))
    for low in range(0, max(width, 1), step):
        yield low, min(width, low + step)


def inside(m: Evaluator, width: int, thunk: Thunk) -> list[Data]:
    """Call `thunk` one level deeper."""
    if len(m.widths) >= MOST_LEVELS:
        raise TooDeep
    outer = m.mask
    m.widths.append(width)
    if outer is not None:
        m.mask = outer[..., None]
    try:
        return thunk()
    finally:
        m.widths.pop()
        m.mask = outer


def full(m: Evaluator, data: Data, rank: int, width: int) -> Data:
    """Turn a value from one level deeper into one whose first dimension is the level's `width`."""
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


def joined(m: Evaluator, pieces: list[Data], rank: int) -> Data:
    """Concatenate chunks into a fresh value of this level; `rank` counts the new dimension."""
    level = m.level
    if len(pieces) == 1:
        data = np.array(pieces[0])
    else:
        outer = np.broadcast_shapes(*(p.shape[:level] for p in pieces))
        data = np.concatenate([broadcast(p, outer) for p in pieces], axis=level)
    if level and all(size == 1 for size in data.shape[:level]):
        return data.reshape(data.shape[level:])
    return data


def broadcast(data: Data, outer: tuple[int, ...]) -> Data:
    """Broadcast the first dimensions to `outer`, as a view."""
    return np.broadcast_to(data, outer + data.shape[len(outer) :])


def bind_rows(
    m: Evaluator, params: Sequence[Param], arrays: Sequence[Data], low: int, high: int
) -> None:
    """Bind parameters to rows of arrays, one level deeper."""
    for param, data in zip(params, arrays, strict=True):
        m.bind(param, data[(slice(None),) * m.level + (slice(low, high),)])


def rows(m: Evaluator, name: Name) -> Data:
    """Return an array with all levels' dimensions, to bind its rows one level deeper."""
    data = m.array(name)
    rank = m.ranks[name]
    return data if data.ndim > rank else data.reshape((1,) * m.level + data.shape)


def empty(m: Evaluator, kind: Type, *sizes: int) -> Data:
    """Make an array of no elements, with the sizes of its type."""
    if isinstance(kind, Array):
        shape = sizes + tuple(_size_or_zero(m, size) for size in kind.shape)
        m.room(shape, DTYPE[kind.prim].itemsize)
        return np.zeros(shape, DTYPE[kind.prim])
    return np.zeros(sizes, DTYPE[kind.prim])


def _size_or_zero(m: Evaluator, size: Poly) -> int:
    """Evaluate a size of an empty array's rows; 0 if it is negative or unknown outside the map."""
    return max(m.size(size), 0) if all(name in m.env for name in size.names()) else 0


def mapped(m: Evaluator, width: int, fn: Lambda, arrays: Sequence[Name]) -> list[Data]:
    """Apply `fn` to all rows; each result is an array of `width` rows."""
    m.room((width,), 1)
    if width == 0:
        return [empty(m, kind, 0) for kind in fn.returns]
    sources = [rows(m, name) for name in arrays]
    ranks = [rank_of(kind) for kind in fn.returns]
    pieces = m.in_lanes(
        fn,
        lambda: [map_chunk(m, fn, sources, low, high, ranks) for low, high in chunks(m, width)],
        lambda: [map_row(m, fn, sources, k) for k in range(width)],
    )
    columns = [list(column) for column in zip(*pieces, strict=True)]
    return [joined(m, column, rank + 1) for column, rank in zip(columns, ranks, strict=True)]


def map_chunk(
    m: Evaluator, fn: Lambda, sources: list[Data], low: int, high: int, ranks: list[int]
) -> list[Data]:
    """Apply `fn` to some rows; results have the next level's dimension in full."""
    bind_rows(m, fn.params, sources, low, high)
    found = inside(m, high - low, lambda: m.body(fn.body))
    for param in fn.params:
        m.env.pop(param.name, None)
    return [full(m, data, rank, high - low) for data, rank in zip(found, ranks, strict=True)]


def map_row(m: Evaluator, fn: Lambda, sources: list[Data], k: int) -> list[Data]:
    """Apply `fn` to one row at level 0, for maps with irregular rows."""
    results = m.apply(fn, [data[k] for data in sources])
    return [np.asarray(data)[None] for data in results]
