"""Copies that transpose two dimensions, through tiles in shared memory.

A thread block takes a tile of both dimensions: it reads the tile along the source's cells into
shared memory, and writes it along the destination's, so that both accesses coalesce. Rows of the
tile are padded by a word, so that cells of a column lie in different banks. Tiles are square, with
more elements if those are small; a dimension known to be shorter than a square's side is covered
completely, and the tile extended along the other.
"""

from __future__ import annotations

from compiler.base.prim import BYTES
from compiler.base.remarks import NOTHING, Applied, Missed, Outcome
from compiler.base.rules import Rule
from compiler.codegen.imp import nodes as imp
from compiler.codegen.index import add, cell, mul, parts_of, poly_exp, product
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.nodes import BLOCK, OWN, THREAD, THREADS
from compiler.codegen.kernels.threads import i64
from compiler.ir.nodes import SE, Bin, Lit, Var
from compiler.storage.strides import sectors

SQUARES = Rule("kernels/squares", "Copies in another order through square tiles in shared memory.")
SIDE = 32
"""Side of a square of words, in elements: the number of lanes."""
CELLS = SIDE * SIDE
"""Minimum cells of a tile: fewer would be little work for a thread block."""
SMALL = 8
"""Row length below which accesses share sectors in any order."""
_SQUARE, _AT, _ROW, _LANE = (f"{OWN}{name}" for name in ("square", "at", "row", "lane"))


def unit_stride_dims(copy: imp.Copy) -> Outcome[tuple[int, int]]:
    """Return the unit-stride dimensions of destination and source, if they differ."""
    ends, lmads = [], (copy.dest_lmad, copy.source_lmad)
    for lmad in lmads:
        found = [at for at, dim in enumerate(lmad.dims) if dim.stride == 1 and dim.size != 1]
        if len(found) != 1:
            return None
        ends += found
    dest, source = ends
    if dest == source:
        return None
    if any((copy.dest_lmad.dims[at].size.constant or SIDE) < SMALL for at in ends):
        because = f"Rows of fewer than {SMALL} elements share sectors in any order."
        return Missed(f"The copy does not use square tiles. {because}", NOTHING)
    size = BYTES[copy.prim]
    rows, columns = sides(copy, (dest, source))
    shape = "squares" if rows == columns else "tiles"
    before = size + sectors(copy.source_lmad.dims[dest].stride, size)
    because = (
        "Elements that are neighbours in the copy are far apart in what is copied: "
        f"{shape} of {rows} x {columns} go through shared memory, so that neighbouring threads "
        "read and write what lies together."
    )
    return Applied(
        (dest, source), because, (("sectors for 32 threads", f"{before} -> {2 * size}"),)
    )


def sides(copy: imp.Copy, ends: tuple[int, int]) -> tuple[int, int]:
    """Return the elements of a tile along each of two dimensions."""
    words = 4 // min(4, BYTES[copy.prim])
    known = (copy.dest_lmad.dims[at].size.constant or SIDE for at in ends)
    first, second = (min(size, SIDE) for size in known)
    if first == second == SIDE:
        return SIDE * max(1, words // 2), SIDE * min(words, 2)
    long = max(1, CELLS * words // min(first, second) // SIDE) * SIDE
    return first if first < SIDE else long, second if second < SIDE else long


def transposition(copy: imp.Copy, ends: tuple[int, int]) -> tuple[imp.Stms, SE]:
    """Return the code of a thread block, and the number of blocks."""
    prov, dims = copy.prov, copy.dest_lmad.dims
    of_dest, of_source = sides(copy, ends)
    pitch = Lit(of_source + max(1, 4 // BYTES[copy.prim]), "i64")
    side = dict(zip(ends, (Lit(of_dest, "i64"), Lit(of_source, "i64")), strict=True))
    names = [f"{OWN}c{at}" for at in range(len(dims))]
    sizes = [poly_exp(dim.size) for dim in dims]
    tiles = [parts_of(size, side[at]) if at in side else size for at, size in enumerate(sizes)]
    value = Var("cell_0", copy.prim)

    def half(along: int, across: int, put: bool) -> k.Stride:
        """Visit a tile; adjacent lanes take adjacent positions along a dimension."""
        point = [i64(name) for name in names]
        for at, inner in ((along, _LANE), (across, _ROW)):
            point[at] = add(mul(point[at], side[at]), i64(inner))
        low, high = (Bin("<", "i64", point[at], sizes[at]) for at in (across, along))
        first, second = (_LANE, _ROW) if put else (_ROW, _LANE)
        kept = _SQUARE, add(mul(i64(first), pitch), i64(second))
        block, lmad = (copy.dest, copy.dest_lmad) if put else (copy.source, copy.source_lmad)
        outside = block, cell(lmad, point)
        (source, come), (dest, to) = (kept, outside) if put else (outside, kept)
        moved = (
            imp.Load(value.name, copy.prim, source, come, prov),
            imp.Store(dest, copy.prim, to, value, prov),
        )
        body = (
            k.Indices(((_ROW, side[across]), (_LANE, side[along])), i64(_AT), prov),
            imp.If(Bin("&&", "bool", low, high), moved, (), prov),
        )
        cells = Lit(of_dest * of_source, "i64")
        return k.Stride(_AT, "i64", i64(THREAD), cells, "+", i64(THREADS), body, prov)

    dest, source = ends
    code = (
        k.Indices(tuple(zip(names, tiles, strict=True)), i64(BLOCK), prov),
        imp.Alloc(_SQUARE, mul(Lit(of_dest, "i64"), pitch), copy.prim, "shared", prov),
        half(source, dest, put=False),
        k.Barrier(prov),
        half(dest, source, put=True),
    )
    return code, product(tiles)
