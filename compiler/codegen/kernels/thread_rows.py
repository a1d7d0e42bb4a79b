"""Reductions and scans of many very short segments: one thread each, without communication.

With a lane per element, index arithmetic and shuffles would dominate. So a thread block takes as
many segments as it has threads, and reads them into shared memory, coalesced; there each thread
processes its own segment. The pitch of segments is odd, so that equal elements of all of them lie
in different banks. A reading thread has the same position in all segments that it reads from, so
that it divides once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from compiler.base.prim import BYTES
from compiler.base.remarks import Applied, Outcome
from compiler.base.rules import Limit, Rule
from compiler.base.target import TILE_BYTES, Target
from compiler.codegen.imp.nodes import (
    Alloc,
    Cell,
    Define,
    Fold,
    If,
    Kernel,
    ScanWork,
    Stm,
    Stms,
    Store,
)
from compiler.codegen.index import add, minimum, mul, parts_of, product, sub
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.folds import (
    AT,
    COUNT,
    SEGMENT,
    arrays,
    combine,
    components,
    in_tile,
    own,
    segment,
    starts,
)
from compiler.codegen.kernels.nodes import BLOCK, OWN, THREAD, THREADS, Barrier, Scope
from compiler.codegen.kernels.threads import i64, point
from compiler.codegen.sequential import finish
from compiler.codegen.traits import traits_of
from compiler.ir.build import both
from compiler.ir.nodes import ONE, SE, ZERO, Bin, Lit, Var

MANY = Limit("kernels/thread-rows/segments", "segments of an operator", 1 << 15)
"""As many threads keep a GPU busy; of fewer segments the elements have a thread each."""
THREAD_ROWS = Rule(
    "kernels/thread-rows",
    "Gives each of many very short segments one thread, through shared memory.",
    limits=(MANY,),
)
FEWEST = 3
"""Minimum length of the longest segment for which it pays."""
FIRST, ROW, ROWS, TOP, APART = (f"{OWN}{name}" for name in ("first", "row", "rows", "top", "apart"))


class Short(NamedTuple):
    """Maximum segment length that fits in shared memory, and the condition for its use."""

    longest: int
    where: SE


def thread_rows(kernel: Kernel, folds: Sequence[Fold], target: Target, many: int) -> Outcome[Short]:
    """Choose the maximum length of segments with a thread each, for at least `many`."""
    scan = isinstance(kernel.work, ScanWork)
    width = sum(BYTES[prim] for prim, _ in arrays(folds, in_tile(folds, scan)).values())
    longest = (TILE_BYTES // (target.threads * max(1, width)) - 1) | 1
    if longest < FEWEST:
        return None
    *outer, (_, size) = kernel.dims
    segments = product([count for _, count in outer])
    is_short = both(Bin("<", "i64", ZERO, size), Bin("<=", "i64", size, Lit(longest, "i64")))
    where = both(is_short, Bin("<=", "i64", Lit(many, "i64"), segments))
    because = (
        f"If there are at least {many} segments of up to {longest} elements, each has "
        "one thread, which reads them from shared memory. A block of threads loads as "
        "many segments as it has threads, and neighbouring threads load neighbouring "
        "cells."
    )
    return Applied(Short(longest, where), because)


def thread_row_code(
    kernel: Kernel, folds: Sequence[Fold], longest: int, threads: int
) -> tuple[Stms, SE]:
    """Return the code of one of `threads` threads of a block, and the number of blocks.

    Segments have at most `longest` elements.
    """
    prov, scan = kernel.prov, isinstance(kernel.work, ScanWork)
    *outer, (index, size) = kernel.dims
    segments, thread = product([count for _, count in outer]), i64(THREAD)
    parts, places = components(folds), in_tile(folds, scan)
    staging = arrays(folds, places)
    room = Lit(threads * longest, "i64")
    ends = tuple(stm for fold in folds for stm in finish(fold, prov))

    def elements(*stms: Stm) -> If:
        """Each element by one thread, which has the same place in some of the segments."""
        code = (
            Define(SEGMENT, "i64", add(i64(FIRST), i64(ROW)), prov),
            *segment(kernel),
            Define(AT, "i64", add(mul(i64(ROW), i64(APART)), i64(index)), prov),
            *stms,
        )
        place = Define(index, "i64", sub(thread, mul(i64(TOP), size)), prov)
        loop = k.Stride(ROW, "i64", i64(TOP), i64(COUNT), "+", i64(ROWS), code, prov)
        return If(Bin("<", "i64", i64(TOP), i64(ROWS)), (place, loop), (), prov)

    def join(fold: Fold) -> Scope:
        of = (places[name] for name in fold.op.lhs)
        cells = [one if isinstance(one, Lit) else Cell(one, i64(AT)) for one in of]
        return combine(fold, fold.op.lhs, cells, prov)

    puts = tuple(Store(n, p, i64(AT), value, prov) for n, (p, (value, _)) in staging.items())
    read: Stms = (point(kernel.body + puts),)
    if traits_of(kernel.body).asserts:
        nothing = (Store(n, p, i64(AT), ne, prov) for n, (p, (_, ne)) in staging.items())
        read = (*nothing, *read)
    first = mul(thread, i64(APART))
    prefix = [Store(own(n, "tile"), p, i64(AT), Var(n, p), prov) for n, p, _ in parts if scan]
    turn = (*map(join, folds), *prefix)
    mine: Stms = (k.Stride(AT, "i64", first, add(first, size), "+", ONE, turn, prov),)
    if not scan:
        here = Define(SEGMENT, "i64", add(i64(FIRST), thread), prov)
        mine = (*mine, here, *segment(kernel), *ends)
    code: list[Stm] = [
        Define(FIRST, "i64", mul(i64(BLOCK), i64(THREADS)), prov),
        Define(COUNT, "i64", minimum(sub(segments, i64(FIRST)), i64(THREADS)), prov),
        Define(ROWS, "i64", Bin("//", "i64", i64(THREADS), size), prov),
        Define(TOP, "i64", Bin("//", "i64", thread, size), prov),
        Define(APART, "i64", Bin("|", "i64", size, ONE), prov),
        *(Alloc(n, room, p, "shared", prov) for n, (p, _) in staging.items()),
        elements(*read),
        Barrier(prov),
        *starts(folds, prov),
        If(Bin("<", "i64", thread, i64(COUNT)), mine, (), prov),
    ]
    if scan:
        gets = (k.Fetch(n, p, own(n, "tile"), i64(AT), prov) for n, p, _ in parts)
        code += [Barrier(prov), elements(*gets, *ends)]
    return tuple(code), parts_of(segments, Lit(threads, "i64"))
