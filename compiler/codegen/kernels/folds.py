"""Reductions and scans by blocks of threads, for any associative operator.

Threads take elements in order, so that operators need not commute, and combine them in a tree in
shared memory. What stands before the next tile of elements is carried in every thread.

Many elements are cut into ranges, one for each block of threads: the first kernel folds each range,
the second combines the ranges' outcomes, and for scans a third goes over the ranges again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.base.spans import Prov
from compiler.codegen.imp.nodes import (
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
from compiler.codegen.index import add, product, sub
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.nodes import BLOCK, OWN, THREAD, THREADS, Barrier, Scope
from compiler.codegen.kernels.threads import FIRST, i64, point, thread_code
from compiler.codegen.sequential import accumulate, assign_all, begin, finish, loops
from compiler.codegen.traits import builtin, may_recompute, traits_of, without_stores
from compiler.ir.nodes import ONE, SE, ZERO, Bin, Lit, Scalar, Select, Var

SEGMENT, RANGE, TILE, STEP, OTHER = (
    f"{OWN}{name}" for name in ("segment", "range", "tile", "step", "other")
)
BLOCKS, CHUNK = "blocks_0", "chunk_0"
"""How many blocks of threads share a segment, and how many elements each takes."""
LAST: SE = sub(i64(THREADS), ONE)


def own(name: Name, what: str) -> Name:
    """A name for something that belongs to a component or an index."""
    return f"{OWN}{name}_{what}"


def part(lhs: Name) -> Name:
    """The block with the ranges' outcomes."""
    return f"{lhs}_part"


def components(folds: Sequence[Fold]) -> list[tuple[Name, Prim, SE]]:
    """Left operand, type and neutral element of all components."""
    return [
        one
        for fold in folds
        for one in zip(fold.op.lhs, fold.op.prims, fold.op.neutral, strict=True)
    ]


def slots(folds: Sequence[Fold]) -> Stms:
    """Shared memory for one value per thread and component."""
    out: list[Stm] = []
    offset = 0
    for lhs, prim, _ in components(folds):
        out.append(k.Slots(own(lhs, "all"), prim, offset))
        offset += k.slot_bytes(prim)
    return tuple(out)


def carries(folds: Sequence[Fold], known: bool = True) -> Stms:
    """What stands before the next tile, in every thread: nothing yet, if that is known."""
    return tuple(
        Declare(own(lhs, "carry"), Scalar(prim), ne if known else None)
        for lhs, prim, ne in components(folds)
    )


def block_fold(kernel: Kernel, folds: tuple[Fold, ...]) -> Stms:
    """An inner reduction or scan of a block: segment by segment, tile by tile."""
    scan = isinstance(kernel.work, ScanWork)
    end = kernel.dims[-1][1]
    body = carries(folds) + tiles(kernel, folds, ZERO, end, scan, kernel.body)
    if not scan:
        body += results(folds, kernel.prov)
    return slots(folds) + loops(kernel.dims[:-1], body, kernel.prov)


# --- tiles -----------------------------------------------------------------------------------


def tiles(
    kernel: Kernel, folds: tuple[Fold, ...], low: SE, high: SE, scan: bool, body: Stms
) -> Stms:
    """Tile after tile of as many elements as there are threads, from `low` up to `high`."""
    if not scan and all(builtin(fold.op) or fold.op.commutative for fold in folds):
        return strided(kernel, folds, low, high, body)
    prov, index = kernel.prov, kernel.dims[-1][0]
    tile = own(index, "tile")
    inside: SE = Bin("<", "i64", i64(index), high)
    steps = tuple(s for fold in folds for s in accumulate(fold, prov))
    code: list[Stm] = [Define(index, "i64", add(i64(tile), i64(THREAD)), prov)]
    code += starts(folds, prov)
    code.append(If(inside, (point(body + steps),), (), prov))
    for fold in folds:
        code += tree(fold, prov)
    if scan:
        ends = tuple(s for fold in folds for s in (before(fold, prov), *finish(fold, prov)))
        code.append(If(inside, ends, (), prov))
    code += [next_carry(fold, prov) for fold in folds]
    code.append(Barrier(prov))
    return (k.Stride(tile, "i64", low, high, "+", i64(THREADS), tuple(code), prov),)


def strided(kernel: Kernel, folds: tuple[Fold, ...], low: SE, high: SE, body: Stms) -> Stms:
    """Operators that commute: every thread takes elements of its own, one tree at the end."""
    prov = kernel.prov
    steps = tuple(s for fold in folds for s in accumulate(fold, prov))
    out = starts(folds, prov)
    out += every(kernel, low, high, (point(body + steps),))
    for fold in folds:
        out += tree(fold, prov)
        out += tuple(
            k.Fetch(own(lhs, "carry"), prim, own(lhs, "all"), LAST, prov)
            for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True)
        )
    return (*out, Barrier(prov))


def every(kernel: Kernel, low: SE, high: SE, body: Stms) -> Stms:
    """The elements from `low` up to `high`, each by one of the threads."""
    start = add(low, i64(THREAD))
    index = kernel.dims[-1][0]
    return (k.Stride(index, "i64", start, high, "+", i64(THREADS), body, kernel.prov),)


def starts(folds: Sequence[Fold], prov: Prov) -> Stms:
    """Every thread's accumulators, at the neutral element."""
    return tuple(s for fold in folds for s in begin(fold.op, prov))


def tree(fold: Fold, prov: Prov) -> Stms:
    """Inclusive prefixes over the threads, in shared memory, in log2 steps and in order.

    The last slot has the total. Afterwards the left operands hold the thread's prefix.
    """
    lhs, prims = fold.op.lhs, fold.op.prims
    publish = tuple(
        Store(own(name, "all"), prim, i64(THREAD), Var(name, prim), prov)
        for name, prim in zip(lhs, prims, strict=True)
    )
    thread, step = Var(THREAD, "i32"), Var(STEP, "i32")
    other = [Cell(own(name, "all"), Var(OTHER, "i32")) for name in lhs]
    join = (Define(OTHER, "i32", Bin("-", "i32", thread, step), prov), combine(fold, other, lhs))
    body = (If(Bin(">=", "i32", thread, step), join, (), prov), Barrier(prov), *publish)
    one, threads = Lit(1, "i32"), Var(THREADS, "i32")
    doubling = k.Stride(STEP, "i32", one, threads, "*", Lit(2, "i32"), (*body, Barrier(prov)), prov)
    return (*publish, Barrier(prov), doubling)


def combine(
    fold: Fold, first: Sequence[Cell | Name], second: Sequence[Cell | Name], prov: Prov = ()
) -> Scope:
    """`lhs := first op second`; operands are cells and variables.

    A check that fails in it leaves no more than it: the thread still comes to the barriers behind.
    """
    op = fold.op
    code: list[Stm] = []
    for rhs, prim, value in zip(op.rhs, op.prims, second, strict=True):
        code.append(
            Load(rhs, prim, value.block, value.at, prov)
            if isinstance(value, Cell)
            else Define(rhs, prim, Var(value, prim), prov)
        )
    for lhs, prim, value in zip(op.lhs, op.prims, first, strict=True):
        if isinstance(value, Cell):
            code.append(k.Fetch(lhs, prim, value.block, value.at, prov))
        elif value != lhs:
            code.append(Assign(lhs, Var(value, prim), prov))
    code += thread_code(op.body)
    code += assign_all(op.lhs, op.prims, op.results, prov)
    return Scope(tuple(code), traits_of(op.body).asserts, prov)


def before(fold: Fold, prov: Prov) -> Scope:
    """Put what stands before the tile in front of the thread's prefix."""
    return combine(fold, [own(n, "carry") for n in fold.op.lhs], fold.op.lhs, prov)


def next_carry(fold: Fold, prov: Prov) -> Scope:
    """What stands before the next tile."""
    last = [Cell(own(n, "all"), LAST) for n in fold.op.lhs]
    joined = combine(fold, [own(n, "carry") for n in fold.op.lhs], last, prov)
    kept = tuple(
        Assign(own(n, "carry"), Var(n, prim), prov)
        for n, prim in zip(fold.op.lhs, fold.op.prims, strict=True)
    )
    return Scope((joined, *kept), prov=prov)


def by_first(stms: Stms, prov: Prov) -> Stms:
    """One thread of the block does it."""
    return (If(FIRST, stms, (), prov),)


def results(folds: Sequence[Fold], prov: Prov) -> Stms:
    """A reduction's outcome: variables in all threads, cells by one."""
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


def own_range(kernel: Kernel) -> tuple[Stms, SE, SE]:
    """Which range of which segment a block of threads works on: from where, and up to where."""
    *outer, (index, end) = kernel.dims
    prov = kernel.prov
    segments = product([size for _, size in outer])
    code: list[Stm] = [
        k.Indices(((SEGMENT, segments), (RANGE, i64(BLOCKS))), i64(BLOCK), prov),
        *segment(kernel),
    ]
    low, high = i64(own(index, "low")), i64(own(index, "high"))
    code.append(Define(own(index, "low"), "i64", Bin("*", "i64", i64(RANGE), i64(CHUNK)), prov))
    is_last: SE = Bin("<", "i64", sub(end, low), i64(CHUNK))
    top = Select(is_last, end, add(low, i64(CHUNK)))
    return (*code, Define(own(index, "high"), "i64", top, prov)), low, high


def segment(kernel: Kernel) -> Stms:
    """The outer indices of the segment that a block of threads works on."""
    outer = kernel.dims[:-1]
    return (k.Indices(outer, i64(SEGMENT), kernel.prov),) if outer else ()


def first_stage(kernel: Kernel, folds: tuple[Fold, ...]) -> Stms:
    """Every block of threads folds its range of a segment.

    A scan whose points are cheap computes them again in the third stage; others store here.
    """
    scan, body, prov = isinstance(kernel.work, ScanWork), kernel.body, kernel.prov
    if scan and may_recompute(body, traits_of(body)):
        scan, body = False, without_stores(body)
    head, low, high = own_range(kernel)
    code = head + slots(folds) + carries(folds) + tiles(kernel, folds, low, high, scan, body)
    for lhs, prim, _ in components(folds):
        total = Var(own(lhs, "carry"), prim)
        code += by_first((Store(part(lhs), prim, i64(BLOCK), total, prov),), prov)
    return code


def second_stage(kernel: Kernel, folds: tuple[Fold, ...]) -> Stms:
    """One block of threads per segment combines the ranges' outcomes.

    For a scan they become what stands before each range.
    """
    prov = kernel.prov
    scan = isinstance(kernel.work, ScanWork)
    number = add(i64(TILE), i64(THREAD))
    block = "block_0"
    inside: SE = Bin("<", "i64", i64(block), i64(BLOCKS))
    at = add(Bin("*", "i64", i64(SEGMENT), i64(BLOCKS)), i64(block))
    code: list[Stm] = [Define(block, "i64", number, prov), *starts(folds, prov)]
    taken = tuple(k.Fetch(lhs, p, part(lhs), at, prov) for lhs, p, _ in components(folds))
    code.append(If(inside, taken, (), prov))
    for fold in folds:
        code += tree(fold, prov)
        if scan:
            code.append(exclusive(fold, prov))
            kept = tuple(
                Store(part(lhs), prim, at, Var(lhs, prim), prov)
                for lhs, prim in zip(fold.op.lhs, fold.op.prims, strict=True)
            )
            code.append(If(inside, kept, (), prov))
        code.append(next_carry(fold, prov))
    code.append(Barrier(prov))
    loop = k.Stride(TILE, "i64", ZERO, i64(BLOCKS), "+", i64(THREADS), tuple(code), prov)
    head = (Define(SEGMENT, "i64", i64(BLOCK), prov), *segment(kernel))
    end = () if scan else results(into_cells(folds), prov)
    return (*head, *slots(folds), *carries(folds), loop, *end)


def into_cells(folds: Sequence[Fold]) -> list[Fold]:
    """Results that are variables of the host go to cells of their own first."""
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
    """The block with one cell for a variable of the host."""
    return f"{variable}_cell"


def exclusive(fold: Fold, prov: Prov) -> Scope:
    """Replace a thread's inclusive prefix by what stands before it and before the tile."""
    op = fold.op
    previous = sub(i64(THREAD), ONE)
    left = tuple(
        k.Fetch(lhs, prim, own(lhs, "all"), previous, prov)
        for lhs, prim in zip(op.lhs, op.prims, strict=True)
    )
    nothing = tuple(Assign(lhs, ne, prov) for lhs, ne in zip(op.lhs, op.neutral, strict=True))
    choice = If(Bin(">", "i64", i64(THREAD), ZERO), left, nothing, prov)
    return Scope((choice, before(fold, prov)), prov=prov)


def third_stage(kernel: Kernel, folds: tuple[Fold, ...]) -> Stms:
    """Every block of threads scans its range, from what stands before it on."""
    head, low, high = own_range(kernel)
    if not may_recompute(kernel.body, traits_of(kernel.body)):
        return head + add_prefixes(kernel, folds, low, high)
    start = tuple(
        k.Fetch(own(lhs, "carry"), prim, part(lhs), i64(BLOCK), kernel.prov)
        for lhs, prim, _ in components(folds)
    )
    scan = tiles(kernel, folds, low, high, True, kernel.body)
    return head + slots(folds) + carries(folds, known=False) + start + scan


def add_prefixes(kernel: Kernel, folds: tuple[Fold, ...], low: SE, high: SE) -> Stms:
    """Put what stands before the range in front of each prefix that the first stage made."""
    body: list[Stm] = []
    for fold in folds:
        cells = [into for into in fold.into if isinstance(into, Cell)]
        start = [Cell(part(lhs), i64(BLOCK)) for lhs in fold.op.lhs]
        names = zip(fold.op.lhs, fold.op.prims, strict=True)
        body += [Declare(lhs, Scalar(prim), None, kernel.prov) for lhs, prim in names]
        body += (combine(fold, start, cells, kernel.prov), *finish(fold, kernel.prov))
    return every(kernel, low, high, tuple(body))
