"""Reductions and scans by thread blocks, for any associative operator.

Threads take elements in order, so that operators need not commute. The threads of a warp combine
theirs by shuffles, in log2 steps; the warps' totals go through shared memory, once per tile of
elements. The prefix before the next tile is carried in every thread. Many elements are cut into
ranges, one per thread block: the first kernel folds each range, the second combines the ranges'
results, and for scans a third traverses the ranges again.

Note [Several elements a thread]. Fewer tiles mean fewer synchronisations. But adjacent cells must
be read by adjacent threads (coalescing). So a tile is read into shared memory, interleaved; there
each thread traverses its own elements, which are contiguous; and results of a scan are written back
like this. The number of elements per thread is odd, so that equal elements of all threads lie in
different banks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import Rule
from compiler.base.spans import Prov
from compiler.base.target import TILE_BYTES, Target
from compiler.codegen.imp.nodes import (
    Alloc,
    Assign,
    Cell,
    Declare,
    Define,
    Fold,
    If,
    Kernel,
    Load,
    ScanWork,
    Stm,
    Stms,
    Store,
)
from compiler.codegen.index import add, minimum, mul, parts_of, product, sub
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.fuse_scan_map import KeptValue, ScanMapFusion, own_value, total
from compiler.codegen.kernels.nodes import BLOCK, OWN, THREAD, THREADS, WARP, Barrier, Scope
from compiler.codegen.kernels.threads import FIRST, i64, point, thread_code
from compiler.codegen.kernels.wide import NEXT, WHOLE, WIDE_HIGH, WIDE_LOW, Point, wide_range
from compiler.codegen.sequential import accumulate, assign_all, begin, finish, loops
from compiler.codegen.traits import builtin, may_recompute, traits_of, without_stores
from compiler.ir.nodes import ONE, SE, ZERO, Bin, Lit, Scalar, Select, Var

SEGMENT, RANGE, TILE, STEP, LANE, WARP_OF, COUNT, ITEMS, AT = (
    f"{OWN}{name}"
    for name in ("segment", "range", "tile", "step", "lane", "warp", "count", "items", "at")
)
BLOCKS, CHUNK = "blocks_0", "chunk_0"
"""Number of thread blocks per segment, and of elements that each takes."""
SEVERAL = Rule(
    "kernels/several", "Lets a thread process several elements of a reduction or scan at once."
)
MOST_ITEMS, FEWEST_ITEMS = 23, 3


def own(name: Name, what: str) -> Name:
    """Return a name derived from a component or an index."""
    return f"{OWN}{name}_{what}"


def part(lhs: Name) -> Name:
    """Return the name of the block with the ranges' results."""
    return f"{lhs}_part"


def components(folds: Sequence[Fold]) -> list[tuple[Name, Prim, SE]]:
    """Return left operand, type and neutral element of all components."""
    return [
        one
        for fold in folds
        for one in zip(fold.op.lhs, fold.op.prims, fold.op.neutral, strict=True)
    ]


def totals(kernel: Kernel, folds: Sequence[Fold]) -> Stms:
    """Allocate shared memory for warp totals, and define a thread's warp and lane."""
    prov, thread = kernel.prov, Var(THREAD, "i32")
    warps = Lit(WARP, "i64")  # the maximum number of warps per block
    return (
        Define(LANE, "i32", Bin("&", "i32", thread, Lit(WARP - 1, "i32")), prov),
        Define(WARP_OF, "i32", Bin("//", "i32", thread, Lit(WARP, "i32")), prov),
        *(Alloc(own(n, "all"), warps, prim, "shared", prov) for n, prim, _ in components(folds)),
    )


def carries(folds: Sequence[Fold], known: bool = True) -> Stms:
    """Declare the prefix before the next tile in every thread; initialised if `known`."""
    return tuple(
        Declare(own(lhs, "carry"), Scalar(prim), ne if known else None)
        for lhs, prim, ne in components(folds)
    )


def block_fold(kernel: Kernel, folds: tuple[Fold, ...]) -> Stms:
    """Return an inner reduction or scan of a block: segment by segment, tile by tile."""
    scan = isinstance(kernel.work, ScanWork)
    end = kernel.dims[-1][1]
    body = carries(folds) + tiles(kernel, folds, ZERO, end, scan, kernel.body)
    if not scan:
        body += results(folds, kernel.prov)
    return totals(kernel, folds) + loops(kernel.dims[:-1], body, kernel.prov)


# --- tiles -----------------------------------------------------------------------------------


class Tile(NamedTuple):
    """Maximum elements per thread in a tile, and per tile."""

    each: int
    size: int


def elements_per_thread(
    folds: Sequence[Fold], scan: bool, target: Target, kept: Sequence[KeptValue] = ()
) -> Outcome[Tile]:
    """Choose the elements per thread for order-dependent folds, including kept values."""
    if not (scan or ordered(folds)):
        return None
    width = sum(BYTES[prim] for prim, _ in arrays(folds, in_tile(folds, scan)).values())
    width = max(1, width + sum(BYTES[one.prim] for one in kept))
    each = min(MOST_ITEMS, (TILE_BYTES // (target.threads * width) - 1) | 1)
    if each < FEWEST_ITEMS:
        each = FEWEST_ITEMS
    if (each * target.threads + WARP) * width > target.shared_bytes:
        return Missed(
            f"Each thread takes one element of {width} bytes at a time, because shared "
            "memory has no room for several."
        )
    because = (
        f"Each thread takes up to {each} consecutive elements, so threads wait for each "
        f"other once per {each * target.threads} elements. They read and write these "
        "through shared memory, so neighbouring threads access neighbouring cells."
    )
    return Applied(Tile(each, each * target.threads), because)


def in_tile(folds: Sequence[Fold], scan: bool) -> dict[Name, Name | Lit]:
    """Map each left operand to its tile array, or to a constant element.

    Reductions share the array of equal inputs; a scan writes its prefixes to all arrays.
    """
    found: dict[Name, Name | Lit] = {}
    shared: dict[tuple[Prim, SE], Name] = {}
    inputs = [value for fold in folds for value in fold.inputs]
    for (name, prim, _), value in zip(components(folds), inputs, strict=True):
        if isinstance(value, Lit) and not scan:
            found[name] = value
        else:
            mine = own(name, "tile")
            found[name] = mine if scan else shared.setdefault((prim, value), mine)
    return found


def arrays(
    folds: Sequence[Fold], places: Mapping[Name, Name | Lit]
) -> dict[Name, tuple[Prim, tuple[SE, SE]]]:
    """Map tile array to (type, (stored value, value if its check fails))."""
    inputs = [value for fold in folds for value in fold.inputs]
    return {
        place: (prim, (value, neutral))
        for (name, prim, neutral), value in zip(components(folds), inputs, strict=True)
        if isinstance(place := places[name], str)
    }


def ordered(folds: Sequence[Fold]) -> bool:
    """True if the order of elements matters."""
    return not all(builtin(fold.op) or fold.op.commutative for fold in folds)


def tiles(
    kernel: Kernel,
    folds: tuple[Fold, ...],
    low: SE,
    high: SE,
    scan: bool,
    body: Stms,
    tile_of: Tile | None = None,
    taken: ScanMapFusion | None = None,
) -> Stms:
    """Return the loop over tiles of elements, from `low` up to `high`."""
    if not (scan or ordered(folds)):
        return strided(kernel, folds, low, high, body)
    if tile_of is not None:
        return staged(kernel, folds, low, high, scan, body, tile_of, taken)
    prov, index = kernel.prov, kernel.dims[-1][0]
    tile = own(index, "tile")
    inside: SE = Bin("<", "i64", i64(index), high)
    steps = tuple(s for fold in folds for s in accumulate(fold, prov))
    code: list[Stm] = [Define(index, "i64", add(i64(tile), i64(THREAD)), prov)]
    code += starts(folds, prov)
    code.append(If(inside, (point(body + steps),), (), prov))
    code += combined(folds, scan, prov)
    if scan:
        ends = tuple(s for fold in folds for s in (up_to(fold, prov), *finish(fold, prov)))
        code.append(If(inside, ends, (), prov))
    code.append(Barrier(prov))
    return (k.Stride(tile, "i64", low, high, "+", i64(THREADS), tuple(code), prov),)


def staged(
    kernel: Kernel,
    folds: tuple[Fold, ...],
    low: SE,
    high: SE,
    scan: bool,
    body: Stms,
    tile_of: Tile,
    taken: ScanMapFusion | None = None,
) -> Stms:
    """Return tiles with several elements per thread; see Note [Several elements a thread]."""
    prov, index = kernel.prov, kernel.dims[-1][0]
    made = one_tile(kernel, folds, high, scan, body, tile_of, taken)
    threads, size = i64(THREADS), own(index, "size")
    needed = parts_of(sub(high, low), threads)
    items = Bin("|", "i64", minimum(needed, Lit(tile_of.each, "i64")), ONE)
    code = made.fold + made.ends
    return (
        *made.room,
        Define(ITEMS, "i64", items, prov),
        Define(size, "i64", Bin("*", "i64", i64(ITEMS), threads), prov),
        k.Stride(own(index, "tile"), "i64", low, high, "+", i64(size), code, prov),
    )


class TileCode(NamedTuple):
    """Code of a tile: shared memory, the fold up to the tile's total, and the rest."""

    room: Stms
    fold: Stms
    ends: Stms


def one_tile(
    kernel: Kernel,
    folds: tuple[Fold, ...],
    high: SE,
    scan: bool,
    body: Stms,
    tile_of: Tile,
    taken: ScanMapFusion | None = None,
) -> TileCode:
    """Return a tile with ITEMS elements per thread, or fewer if it ends at `high`."""
    prov, index = kernel.prov, kernel.dims[-1][0]
    tile, parts = own(index, "tile"), components(folds)
    at, size_of_tile = i64(AT), Lit(tile_of.size, "i64")
    places = in_tile(folds, scan)
    staging = arrays(folds, places)
    kept = tuple(Alloc(n, size_of_tile, p, "shared", prov) for n, (p, _) in staging.items())
    came = {places[name]: fold.prov or prov for fold in folds for name in fold.op.lhs}
    puts = tuple(Store(n, p, at, value, came[n]) for n, (p, (value, _)) in staging.items())
    more = taken.kept if taken else ()
    kept += tuple(Alloc(one.name, size_of_tile, one.prim, "shared", prov) for one in more)
    puts += tuple(Store(one.name, one.prim, at, one.value, prov) for one in more)
    whole = Define(index, "i64", add(i64(tile), at), prov)
    read: Stms = (whole, point(body + puts))
    if traits_of(body).asserts:
        read = (*(Store(n, p, at, ne, prov) for n, (p, (_, ne)) in staging.items()), *read)
    first = Bin("*", "i64", i64(THREAD), i64(ITEMS))
    last = minimum(add(first, i64(ITEMS)), i64(COUNT))

    def own_elements(*stms: Stm) -> k.Stride:
        return k.Stride(AT, "i64", first, last, "+", ONE, stms, prov)

    def all_elements(*stms: Stm) -> k.Stride:
        return k.Stride(AT, "i64", i64(THREAD), i64(COUNT), "+", i64(THREADS), stms, prov)

    def join(fold: Fold) -> Scope:
        elements = (places[name] for name in fold.op.lhs)
        cells = [one if isinstance(one, Lit) else Cell(one, at) for one in elements]
        return combine(fold, fold.op.lhs, cells, prov)

    code: list[Stm] = [
        Define(COUNT, "i64", minimum(sub(high, i64(tile)), i64(own(index, "size"))), prov),
        all_elements(*read),
        Barrier(prov),
        *starts(folds, prov),
        own_elements(*map(join, folds)),
        *combined(folds, scan, prov),
    ]
    behind: list[Stm] = []
    if scan:
        prefix = tuple(Store(own(n, "tile"), p, at, Var(n, p), prov) for n, p, _ in parts)
        gets: Stms = tuple(k.Fetch(n, p, own(n, "tile"), at, prov) for n, p, _ in parts)
        gets += tuple(Load(own_value(one.name), one.prim, one.name, at, prov) for one in more)
        ends = tuple(stm for fold in folds for stm in finish(fold, prov))
        if taken:
            ends = (point(taken.ends),)
        behind += [stm for fold in folds for stm in before(fold, prov)]
        behind += [own_elements(*map(join, folds), *prefix), Barrier(prov)]
        behind.append(all_elements(whole, *gets, *ends))
    return TileCode(kept, tuple(code), tuple(behind))


def strided(kernel: Kernel, folds: tuple[Fold, ...], low: SE, high: SE, body: Stms) -> Stms:
    """Return a fold with a commutative operator: strided elements, and one tree at the end."""
    prov = kernel.prov
    steps = tuple(s for fold in folds for s in accumulate(fold, prov))
    out = starts(folds, prov)
    out += distribute(kernel, low, high, (point(body + steps),))
    return (*out, *combined(folds, False, prov), Barrier(prov))


def several_at_once(
    kernel: Kernel, folds: tuple[Fold, ...], low: Name, high: Name, wide: Point
) -> Stms:
    """Fold elements from `low` up to `high`; each thread takes neighbours at once."""
    prov, (index, end) = kernel.prov, kernel.dims[-1]
    steps = tuple(s for fold in folds for s in accumulate(fold, prov))
    each, first = Lit(wide.each, "i64"), i64(NEXT)
    joins: list[Stm] = []
    for at in range(wide.each):
        for fold in folds:
            values = tuple(wide.value(value, at) for value in fold.inputs)
            joins.append(Scope(thread_code(accumulate(replace(fold, inputs=values), prov))))
    start = add(i64(WIDE_LOW), mul(i64(THREAD), each))
    body = (*wide.several(first, prov), *joins)
    by = mul(i64(THREADS), each)
    tail = add(i64(WHOLE), i64(THREAD)), i64(WIDE_HIGH)
    return (
        *wide_range(low, high, end, wide.each, prov),
        *starts(folds, prov),
        k.Stride(NEXT, "i64", start, i64(WHOLE), "+", by, body, prov),
        k.Stride(index, "i64", *tail, "+", i64(THREADS), (point(kernel.body + steps),), prov),
        *combined(folds, False, prov),
        Barrier(prov),
    )


def distribute(kernel: Kernel, low: SE, high: SE, body: Stms) -> Stms:
    """Distribute the elements from `low` up to `high` over the threads."""
    start = add(low, i64(THREAD))
    index = kernel.dims[-1][0]
    return (k.Stride(index, "i64", start, high, "+", i64(THREADS), body, kernel.prov),)


def starts(folds: Sequence[Fold], prov: Prov) -> Stms:
    """Initialise every thread's accumulators with the neutral element."""
    return tuple(s for fold in folds for s in begin(fold.op, prov))


def combined(folds: Sequence[Fold], scan: bool, prov: Prov) -> Stms:
    """Combine the threads' left operands with the carry, in order.

    For a scan, `before` is the prefix of the thread's warp, and `own` the thread's prefix within
    it.
    """
    return tuple(
        stm
        for fold in folds
        for stm in (*in_warp(fold, prov, Lit(WARP, "i32")), *over_warps(fold, scan, prov))
    )


def in_warp(fold: Fold, prov: Prov, lanes: SE) -> Stms:
    """Compute inclusive prefixes over `lanes` adjacent lanes by shuffles.

    LANE is the number of a lane among them.
    """
    pairs = zip(fold.op.lhs, fold.op.prims, strict=True)
    left = tuple(Declare(own(name, "left"), Scalar(prim), None, prov) for name, prim in pairs)
    return (*left, doubling_loop(fold, prov, lanes))


def doubling_loop(fold: Fold, prov: Prov, lanes: SE) -> k.Stride:
    """Return the doubling loop of `in_warp`, given variables for the left neighbour."""
    lane, step = Var(LANE, "i32"), Var(STEP, "i32")
    left = [own(name, "left") for name in fold.op.lhs]
    join = If(Bin(">=", "i32", lane, step), (combine(fold, left, fold.op.lhs, prov),), (), prov)
    body = (*shuffled(fold, fold.op.lhs, step, prov), join)
    return k.Stride(STEP, "i32", Lit(1, "i32"), lanes, "*", Lit(2, "i32"), body, prov)


def shuffled(fold: Fold, names: Sequence[Name], by: SE, prov: Prov) -> Stms:
    """Read variables of the thread `by` lanes before into `left`."""
    parts = zip(fold.op.lhs, fold.op.prims, names, strict=True)
    lane = Bin("-", "i32", Var(THREAD, "i32"), by)
    return tuple(k.Shuffle(own(n, "left"), p, Var(name, p), lane, prov) for n, p, name in parts)


def over_warps(fold: Fold, scan: bool, prov: Prov) -> Stms:
    """Fold the warps' totals, starting from the carry; the result is the next carry."""
    lhs, pairs = fold.op.lhs, list(zip(fold.op.lhs, fold.op.prims, strict=True))
    warp, at = Var(WARP_OF, "i32"), Var(STEP, "i32")
    thread, threads = Var(THREAD, "i32"), Var(THREADS, "i32")
    ends = Bin("==", "i32", Var(LANE, "i32"), Lit(WARP - 1, "i32"))
    is_last = Bin("==", "i32", thread, Bin("-", "i32", threads, Lit(1, "i32")))
    publish = tuple(Store(own(n, "all"), p, warp, Var(n, p), prov) for n, p in pairs)
    warps = Bin("//", "i32", Bin("+", "i32", threads, Lit(WARP - 1, "i32")), Lit(WARP, "i32"))
    body: Stms = (combine(fold, lhs, [Cell(own(n, "all"), at) for n in lhs], prov),)
    kept: list[Stm] = []
    if scan:
        here = tuple(Assign(own(n, "before"), Var(n, p), prov) for n, p in pairs)
        body = (If(Bin("==", "i32", at, warp), here, (), prov), *body)
        for n, p in pairs:
            kept.append(Define(own(n, "own"), p, Var(n, p), prov))
            kept.append(Declare(own(n, "before"), Scalar(p), Var(own(n, "carry"), p), prov))
    return (
        If(Bin("||", "bool", ends, is_last), publish, (), prov),
        Barrier(prov),
        *kept,
        *(Assign(n, Var(own(n, "carry"), p), prov) for n, p in pairs),
        k.Stride(STEP, "i32", Lit(0, "i32"), warps, "+", Lit(1, "i32"), body, prov),
        *(Assign(own(n, "carry"), Var(n, p), prov) for n, p in pairs),
    )


def up_to(fold: Fold, prov: Prov) -> Scope:
    """Return the prefix of the thread, including its own elements."""
    first, whole = ([own(n, what) for n in fold.op.lhs] for what in ("before", "own"))
    return combine(fold, first, whole, prov)


def before(fold: Fold, prov: Prov) -> Stms:
    """Return the prefix before the thread, excluding its own elements."""
    lhs = fold.op.lhs
    first, left, whole = ([own(n, what) for n in lhs] for what in ("before", "left", "own"))
    join = combine(fold, first, left, prov)
    pairs = zip(lhs, fold.op.prims, first, strict=True)
    alone = tuple(Assign(n, Var(name, p), prov) for n, p, name in pairs)
    is_first = Bin("==", "i32", Var(LANE, "i32"), Lit(0, "i32"))
    return (*shuffled(fold, whole, Lit(1, "i32"), prov), If(is_first, alone, (join,), prov))


def combine(
    fold: Fold, first: Sequence[Cell | Name], second: Sequence[Cell | Name | Lit], prov: Prov = ()
) -> Scope:
    """Return `lhs := first op second`; operands are cells, variables, and constants on the right.

    A failed check leaves only this scope: the thread still reaches later barriers.
    """
    op = fold.op
    code: list[Stm] = []
    for rhs, prim, value in zip(op.rhs, op.prims, second, strict=True):
        code.append(
            Load(rhs, prim, value.block, value.at, prov)
            if isinstance(value, Cell)
            else Define(rhs, prim, value if isinstance(value, Lit) else Var(value, prim), prov)
        )
    for lhs, prim, value in zip(op.lhs, op.prims, first, strict=True):
        if isinstance(value, Cell):
            code.append(k.Fetch(lhs, prim, value.block, value.at, prov))
        elif value != lhs:
            code.append(Assign(lhs, Var(value, prim), prov))
    code += thread_code(op.body)
    code += assign_all(op.lhs, op.prims, op.results, op.prov or prov)
    return Scope(tuple(code), traits_of(op.body).asserts, prov)


def by_first(stms: Stms, prov: Prov) -> Stms:
    """Run statements in one thread of the block."""
    return (If(FIRST, stms, (), prov),)


def results(folds: Sequence[Fold], prov: Prov) -> Stms:
    """Store a reduction's result: variables in all threads, cells by one."""
    out: Stms = ()
    for fold in folds:
        for into, lhs, prim in zip(fold.into, fold.op.lhs, fold.op.prims, strict=True):
            total = Var(own(lhs, "carry"), prim)
            if isinstance(into, Cell):
                out += by_first((Store(into.block, prim, into.at, total, prov),), prov)
            else:
                out += (Assign(into, total, prov),)
    return out


# --- ranges ----------------------------------------------------------------------------------


def own_range(kernel: Kernel, *more: tuple[Name, SE]) -> tuple[Stms, SE, SE]:
    """Return code that determines a thread block's range, with its bounds.

    `more`: further coordinates of thread blocks, with their extents.
    """
    *outer, (index, end) = kernel.dims
    prov = kernel.prov
    segments = product([size for _, size in outer])
    code: list[Stm] = [
        k.Indices(((SEGMENT, segments), (RANGE, i64(BLOCKS)), *more), i64(BLOCK), prov),
        *segment(kernel),
    ]
    low, high = i64(own(index, "low")), i64(own(index, "high"))
    code.append(Define(own(index, "low"), "i64", Bin("*", "i64", i64(RANGE), i64(CHUNK)), prov))
    is_last: SE = Bin("<", "i64", sub(end, low), i64(CHUNK))
    top = Select(is_last, end, add(low, i64(CHUNK)))
    return (*code, Define(own(index, "high"), "i64", top, prov)), low, high


def segment(kernel: Kernel) -> Stms:
    """Define the outer indices of a thread block's segment."""
    outer = kernel.dims[:-1]
    return (k.Indices(outer, i64(SEGMENT), kernel.prov),) if outer else ()


def first_stage(
    kernel: Kernel,
    folds: tuple[Fold, ...],
    tile_of: Tile | None,
    points: Stms | None = None,
    wide: Point | None = None,
) -> Stms:
    """Fold a range of a segment in every thread block.

    A scan with cheap points recomputes them in the third stage, except what `points` keep; others
    store here.
    """
    scan, body, prov = isinstance(kernel.work, ScanWork), kernel.body, kernel.prov
    if scan and may_recompute(body, traits_of(body)):
        scan, body = False, points or without_stores(body)
    head, low, high = own_range(kernel)
    code = head + totals(kernel, folds) + carries(folds)
    if wide is None:
        code += tiles(kernel, folds, low, high, scan, body, tile_of)
    else:
        index = kernel.dims[-1][0]
        code += several_at_once(kernel, folds, own(index, "low"), own(index, "high"), wide)
    for lhs, prim, _ in components(folds):
        total = Var(own(lhs, "carry"), prim)
        code += by_first((Store(part(lhs), prim, i64(BLOCK), total, prov),), prov)
    return code


def second_stage(
    kernel: Kernel,
    folds: tuple[Fold, ...],
    tile_of: Tile | None,
    taken: ScanMapFusion | None = None,
) -> Stms:
    """Combine the ranges' results of each segment in one thread block.

    For a scan, computes the prefix before each range, and its last prefixes if wanted.
    """
    prov = kernel.prov
    scan = isinstance(kernel.work, ScanWork)
    number = add(i64(TILE), i64(THREAD))
    block = "block_0"
    inside: SE = Bin("<", "i64", i64(block), i64(BLOCKS))
    at = add(Bin("*", "i64", i64(SEGMENT), i64(BLOCKS)), i64(block))
    code: list[Stm] = [Define(block, "i64", number, prov), *starts(folds, prov)]
    outcomes = tuple(k.Fetch(lhs, p, part(lhs), at, prov) for lhs, p, _ in components(folds))
    code.append(If(inside, outcomes, (), prov))
    code += combined(folds, scan, prov)
    if scan:
        code += [stm for fold in folds for stm in before(fold, prov)]
        kept = tuple(Store(part(n), p, at, Var(n, p), prov) for n, p, _ in components(folds))
        code.append(If(inside, kept, (), prov))
    code.append(Barrier(prov))
    loop = k.Stride(TILE, "i64", ZERO, i64(BLOCKS), "+", i64(THREADS), tuple(code), prov)
    head = (Define(SEGMENT, "i64", i64(BLOCK), prov), *segment(kernel))
    end = () if scan else results(into_cells(folds), prov)
    for lhs, prim in taken.totals if taken else ():
        end += by_first((Store(total(lhs), prim, ZERO, Var(own(lhs, "carry"), prim), prov),), prov)
    return (*head, *totals(kernel, folds), *carries(folds), loop, *end)


def into_cells(folds: Sequence[Fold]) -> list[Fold]:
    """Redirect results that are host variables to cells."""
    return [
        replace(
            fold,
            into=tuple(
                into if isinstance(into, Cell) else Cell(result_cell(into), ZERO)
                for into in fold.into
            ),
        )
        for fold in folds
    ]


def result_cell(variable: Name) -> Name:
    """Return the name of the one-cell block for a host variable."""
    return f"{variable}_cell"


def third_stage(
    kernel: Kernel,
    folds: tuple[Fold, ...],
    tile_of: Tile | None,
    taken: ScanMapFusion | None = None,
) -> Stms:
    """Scan a range in every thread block, from the prefix before it."""
    head, low, high = own_range(kernel)
    if not may_recompute(kernel.body, traits_of(kernel.body)):
        return head + add_prefixes(kernel, folds, low, high)
    start = tuple(
        k.Fetch(own(lhs, "carry"), prim, part(lhs), i64(BLOCK), kernel.prov)
        for lhs, prim, _ in components(folds)
    )
    scan = tiles(kernel, folds, low, high, True, kernel.body, tile_of, taken)
    return head + totals(kernel, folds) + carries(folds, known=False) + start + scan


def add_prefixes(kernel: Kernel, folds: tuple[Fold, ...], low: SE, high: SE) -> Stms:
    """Combine the prefix before the range with each prefix of the first stage."""
    body: list[Stm] = []
    for fold in folds:
        cells = [into for into in fold.into if isinstance(into, Cell)]
        start = [Cell(part(lhs), i64(BLOCK)) for lhs in fold.op.lhs]
        names = zip(fold.op.lhs, fold.op.prims, strict=True)
        body += [Declare(lhs, Scalar(prim), None, kernel.prov) for lhs, prim in names]
        body += (combine(fold, start, cells, kernel.prov), *finish(fold, kernel.prov))
    return distribute(kernel, low, high, tuple(body))
