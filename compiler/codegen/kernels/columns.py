"""Reductions of columns of row-major arrays: lanes take adjacent columns.

A thread block takes as many columns as a warp has lanes (fewer if there are fewer) and a range of
their rows; its threads take rows in turn, so that accesses are coalesced. A tree in shared memory
combines the threads of a column, and one thread per column combines the blocks. No element is
copied.
"""

from __future__ import annotations

from typing import NamedTuple

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.base.target import Target
from compiler.codegen.imp import nodes as imp
from compiler.codegen.index import add, minimum, mul, parts_of, product, row_major
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.folds import (
    BLOCKS,
    CHUNK,
    RANGE,
    SEGMENT,
    STEP,
    combine,
    components,
    ordered,
    own,
    part,
    starts,
)
from compiler.codegen.kernels.nodes import BLOCK, OWN, PLACE, THREAD, WARP
from compiler.codegen.kernels.threads import POINT, i64, point
from compiler.codegen.sequential import accumulate, finish
from compiler.codegen.stm_uses import cell_access
from compiler.ir.build import both
from compiler.ir.nodes import ONE, SE, ZERO, Bin, Lit, Select, Var
from compiler.ir.sizes import poly_of
from compiler.storage.strides import COLUMNS_EACH, lie_by_columns

LANES, TILES = "columns_0", "tiles_0"
"""Columns of a thread block, and blocks across all columns."""
LEAST = 16
"""Minimum rows of a thread where several blocks share a column."""
LANE, GROUP, COLUMNS, MINE = (f"{OWN}{name}" for name in ("lane", "group", "columns", "mine"))


class ByColumns(NamedTuple):
    """A reduction of columns by blocks of so many threads: its host code and its stages."""

    kernel: imp.Kernel
    folds: tuple[imp.Fold, ...]
    threads: int

    def host(self) -> imp.Stms:
        """Define columns and rows of a block, and the memory between the stages."""
        *outer, (_, columns), (_, rows) = self.kernel.dims
        prov, lanes = self.kernel.prov, Lit(WARP, "i64")
        chosen: SE = lanes
        for few in (16, 8, 4, 2, 1):
            fits = Bin("<=", "i64", columns, Lit(few, "i64"))
            chosen = Select(fits, Lit(few, "i64"), chosen)
        tiles = mul(product([size for _, size in outer]), i64(TILES))
        # A block has threads / lanes groups, which take rows in turn.
        least = Bin("//", "i64", Lit(self.threads * LEAST, "i64"), i64(LANES))
        segments = product([size for _, size in self.kernel.dims[:-1]])
        return (
            imp.Define(LANES, "i64", chosen, prov),
            imp.Define(TILES, "i64", parts_of(columns, i64(LANES)), prov),
            k.Ranges(BLOCKS, CHUNK, tiles, rows, least, prov),
            *(
                k.Part(part(lhs), prim, segments, BLOCKS, prov)
                for lhs, prim, _ in components(self.folds)
            ),
        )

    @property
    def blocks(self) -> SE:
        """Number of thread blocks for each range of rows."""
        outer = [size for _, size in self.kernel.dims[:-2]]
        return mul(product(outer), i64(TILES))

    @property
    def segments(self) -> SE:
        """Number of columns over all outer dimensions."""
        return product([size for _, size in self.kernel.dims[:-1]])

    def place(self) -> SE:
        """Return the number of the current column."""
        outer = self.kernel.dims[:-1]
        return row_major([i64(name) for name, _ in outer], [size for _, size in outer])

    def first(self) -> imp.Stms:
        """Fold a range of rows of a block's columns."""
        *outer, (column, columns), (row, rows) = self.kernel.dims
        prov, folds = self.kernel.prov, self.folds
        groups = Bin("//", "i64", Lit(self.threads, "i64"), i64(LANES))
        steps = tuple(s for fold in folds for s in accumulate(fold, prov))
        low, high = own(row, "low"), own(row, "high")
        top = minimum(rows, add(i64(low), i64(CHUNK)))
        is_there: SE = Bin("<", "i64", i64(column), columns)
        cells = [(n, p, own(n, "all")) for n, p, _ in components(folds)]
        turn = point(self.kernel.body + steps)
        start = add(i64(low), i64(GROUP))
        going = k.Stride(row, "i64", start, i64(high), "+", groups, (turn,), prov)
        mine, next_ = i64(MINE), add(i64(MINE), mul(i64(STEP), i64(LANES)))
        joins = tuple(
            combine(fold, fold.op.lhs, [imp.Cell(own(n, "all"), next_) for n in fold.op.lhs], prov)
            for fold in folds
        )
        keep = tuple(imp.Store(cell, p, mine, Var(n, p), prov) for n, p, cell in cells)
        double = Bin("-", "i64", mul(i64(STEP), Lit(2, "i64")), ONE)
        takes: SE = Bin("==", "i64", Bin("&", "i64", i64(GROUP), double), ZERO)
        tree = (imp.If(takes, (*joins, *keep), (), prov), k.Barrier(prov))
        at = add(mul(i64(RANGE), self.segments), self.place())
        ends = tuple(imp.Store(part(n), p, at, Var(n, p), prov) for n, p, _ in cells)
        is_first: SE = Bin("==", "i64", i64(GROUP), ZERO)
        return (
            k.Indices(((SEGMENT, self.blocks), (RANGE, i64(BLOCKS))), i64(BLOCK), prov),
            k.Indices((*outer, (COLUMNS, i64(TILES))), i64(SEGMENT), prov),
            k.Indices(((GROUP, groups), (LANE, i64(LANES))), i64(THREAD), prov),
            imp.Define(column, "i64", add(mul(i64(COLUMNS), i64(LANES)), i64(LANE)), prov),
            imp.Define(MINE, "i64", i64(THREAD), prov),
            imp.Define(low, "i64", mul(i64(RANGE), i64(CHUNK)), prov),
            imp.Define(high, "i64", top, prov),
            *(imp.Alloc(c, Lit(self.threads, "i64"), p, "shared", prov) for _, p, c in cells),
            *starts(folds, prov),
            imp.If(is_there, (going,), (), prov),
            *keep,
            k.Barrier(prov),
            k.Stride(STEP, "i64", ONE, groups, "*", Lit(2, "i64"), tree, prov),
            imp.If(both(is_there, is_first), ends, (), prov),
        )

    def second(self) -> imp.Stms:
        """Combine the blocks' results, one thread per column."""
        prov, outer, block = self.kernel.prov, self.kernel.dims[:-1], "block_0"
        at = add(mul(i64(block), self.segments), i64(POINT))
        joins = tuple(
            combine(fold, fold.op.lhs, [imp.Cell(part(n), at) for n in fold.op.lhs], prov)
            for fold in self.folds
        )
        return (
            imp.Define(POINT, "i64", i64(PLACE), prov),
            k.Exit(Bin(">=", "i64", i64(POINT), self.segments), prov),
            k.Indices(outer, i64(POINT), prov),
            *starts(self.folds, prov),
            k.Stride(block, "i64", ZERO, i64(BLOCKS), "+", ONE, joins, prov),
            *(s for fold in self.folds for s in finish(fold, prov)),
        )


def by_columns(kernel: imp.Kernel, folds: tuple[imp.Fold, ...], target: Target) -> ByColumns | None:
    """Return the stages of a reduction of columns; None for other reductions."""
    if not isinstance(kernel.work, imp.ReduceWork) or len(kernel.dims) < 2 or ordered(folds):
        return None
    if sum(BYTES[prim] for _, prim, _ in components(folds)) > COLUMNS_EACH:
        return None
    known: dict[Name, Poly] = {}
    places: list[Poly | None] = []
    for stm in kernel.body:
        match stm:
            case imp.Define(name, "i64", value) if (poly := poly_of(value)) is not None:
                known[name] = poly.put_in(known)
            case imp.Define() | imp.Assert():
                pass
            case _ if cells := cell_access(stm):
                place = poly_of(cells.at)
                places.append(None if place is None else place.put_in(known))
            case _:
                return None
    (lane, _), (turn, _) = kernel.dims[-2:]
    return ByColumns(kernel, folds, target.threads) if lie_by_columns(places, lane, turn) else None
