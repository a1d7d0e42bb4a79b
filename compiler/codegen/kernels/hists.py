"""Histograms with private bins per thread block in shared memory.

A thread block processes a range of the points, and merges its bins into the result. Where not all
bins fit, several blocks process the same range, each for a part of the bins, numbered by PASS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import Rule
from compiler.base.target import Target
from compiler.codegen.imp.nodes import (
    Alloc,
    Cell,
    Define,
    Histogram,
    HistWork,
    If,
    Kernel,
    Load,
    Stm,
    Stms,
    Store,
)
from compiler.codegen.index import add, minimum, mul, product, row_major, sub
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.bins import needs_lock, update_cells, update_result
from compiler.codegen.kernels.folds import distribute, own, own_range
from compiler.codegen.kernels.nodes import OWN, THREAD, THREADS, Barrier
from compiler.codegen.kernels.threads import i64, point
from compiler.codegen.traits import stored, traits_of
from compiler.ir.build import both, inside
from compiler.ir.nodes import FALSE, ONE, SE, TRUE, ZERO, Bin, Lit, Var

SHARED_BINS = Rule("kernels/shared-bins", "Keeps the bins of a histogram in shared memory.")
ROOM = 24 << 10
"""Bytes of bins per thread block, such that eight blocks are resident."""
PASSES = "passes_0"
MOST_PASSES = 4
"""Maximum number of passes over the points, each for other bins."""
WORTH = 4
"""Minimum points per bin of a thread block: with fewer, merging dominates."""
LOCKED = 1 << 10
"""Locks of a thread block for bins that are not single words."""
BIN, PASS, START, NUMBER, LOCKS = (
    f"{OWN}{name}" for name in ("bin", "pass_number", "start", "number", "locks")
)


@dataclass(frozen=True, slots=True)
class Plan:
    """Bins per thread block at a time, and the resulting number of `passes`.

    `worth`: condition under which that beats direct updates. `least`: points per thread block.
    """

    room: int
    passes: SE
    worth: SE
    least: SE


def plan(kernel: Kernel, hists: Sequence[Histogram], target: Target) -> Outcome[Plan]:
    """Plan the shared-memory bins of a kernel's histograms."""
    if any(stored(hist.op.body) for hist in hists):
        because = "Combining two values needs memory, so threads update the result directly."
        return Missed(because, "Use an operator that combines numbers, or tuples of numbers.")
    locks = 4 * LOCKED * any(map(needs_lock, hists))
    room = (ROOM - locks) // sum(BYTES[prim] for hist in hists for prim in hist.op.prims)
    bins = reduce(_larger, (product(hist.shape) for hist in hists))
    known = int(bins.value) if type(bins) is Lit else None
    again = not (stored(kernel.body) or traits_of(kernel.body).loops)
    most = room * (MOST_PASSES if again else 1)
    if (known or 1) > most:
        return Missed(
            f"A block of threads has shared memory for only {room} of these bins, so "
            "threads update the result directly."
        )
    room = room if known is None else max(1, min(room, known))
    passes = ONE if not again or (known or most) <= room else _passes(bins, room)
    points = mul(bins, Lit(WORTH, "i64"))
    worth: SE = Bin("<=", "i64", points, kernel.dims[-1][1])
    if known is None:
        worth = both(Bin("<=", "i64", bins, Lit(most, "i64")), worth)
    elif known <= target.threads and len(kernel.dims) == 1:
        worth = TRUE
    because = (
        f"Each block of threads has {'all bins' if known == room else f'{room} bins at a time'} in "
        "shared memory, where its threads do not wait for those of others, and combines them "
        "with the result at the end."
    )
    if worth != TRUE:
        because += f" Where there are fewer than {WORTH} points for each bin"
        because += f", or more than {most} bins" if known is None else ""
        because += ", threads update the result directly."
    least = _larger(Lit(WORTH * target.threads, "i64"), points)
    return Applied(Plan(room, passes, worth, least), because)


def _larger(lhs: SE, rhs: SE) -> SE:
    """Return the larger of two i64 expressions."""
    if type(lhs) is Lit and type(rhs) is Lit:
        return max(lhs, rhs, key=lambda literal: literal.value)
    return Bin("max", "i64", lhs, rhs)


def _passes(bins: SE, room: int) -> SE:
    """Return the number of passes for so many bins."""
    if type(bins) is Lit:
        return Lit(-(-int(bins.value) // room), "i64")
    whole = Bin("/", "i64", add(bins, Lit(room - 1, "i64")), Lit(room, "i64"))
    return _larger(ONE, whole)


def hist_stage(kernel: Kernel, work: HistWork, of: Plan, target: Target) -> Stms:
    """Return the code of a thread block for one range of a segment, and some of the bins."""
    prov, hists = kernel.prov, work.hists
    many = of.passes != ONE
    head, low, high = own_range(kernel, *([(PASS, i64(PASSES))] if many else []))
    code: list[Stm] = list(head)
    start: SE = ZERO
    if many:
        code.append(Define(START, "i64", mul(i64(PASS), Lit(of.room, "i64")), prov))
        start = i64(START)
    room = Lit(of.room, "i64")
    for hist in hists:
        pairs = zip(hist.op.lhs, hist.op.prims, strict=True)
        code += [Alloc(own(lhs, "bins"), room, prim, "shared", prov) for lhs, prim in pairs]
    if any(map(needs_lock, hists)):
        code.append(Alloc(LOCKS, Lit(LOCKED, "i64"), "i32", "shared", prov))
        free: Stms = (Store(LOCKS, "i32", i64(BIN), Lit(0, "i32"), prov),)
        code.append(_each(Lit(LOCKED, "i64"), free, kernel))
    for hist in hists:
        op, count = hist.op, product(hist.shape)
        if many:
            count = minimum(sub(count, start), room)
        code.append(Define(_count(hist), "i64", count, prov))
        nothing: Stms = tuple(
            Store(own(lhs, "bins"), prim, i64(BIN), ne, prov)
            for lhs, prim, ne in zip(op.lhs, op.prims, op.neutral, strict=True)
        )
        code.append(_each(i64(_count(hist)), nothing, kernel))
    code.append(Barrier(prov))
    updates = tuple(_own_bin(hist, start, of, target, kernel) for hist in hists)
    code += distribute(kernel, low, high, (point(kernel.body + updates),))
    code.append(Barrier(prov))
    for hist in hists:
        update = _to_result(hist, start, target, kernel)
        code.append(_each(i64(_count(hist)), update, kernel))
    return tuple(code)


def _count(hist: Histogram) -> Name:
    """Return the name of the current number of bins of a histogram."""
    return own(hist.op.lhs[0], "bins_here")


def _each(count: SE, body: Stms, kernel: Kernel) -> Stm:
    """Distribute the bins of a thread block over its threads."""
    return k.Stride(BIN, "i64", i64(THREAD), count, "+", i64(THREADS), body, kernel.prov)


def _own_bin(hist: Histogram, start: SE, of: Plan, target: Target, kernel: Kernel) -> If:
    """Combine a private bin with a point's values, if it belongs to this pass."""
    prov = kernel.prov
    number = i64(NUMBER)
    cells = [Cell(own(lhs, "bins"), number) for lhs in hist.op.lhs]
    lock = Cell(LOCKS, Bin("%%", "i64", number, Lit(LOCKED, "i64")))
    code = update_cells(hist, cells, lock, target, prov)
    if start != ZERO:
        code = (If(inside([number], [Lit(of.room, "i64")]), code, (), prov),)
    flat = sub(row_major(hist.bins, hist.shape), start)
    return If(inside(hist.bins, hist.shape), (Define(NUMBER, "i64", flat, prov), *code), (), prov)


def _to_result(hist: Histogram, start: SE, target: Target, kernel: Kernel) -> Stms:
    """Merge a private bin into the result, if it has values."""
    op, prov = hist.op, kernel.prov
    code: list[Stm] = []
    values: list[SE] = []
    changed: SE = FALSE
    for lhs, prim, ne in zip(op.lhs, op.prims, op.neutral, strict=True):
        name = own(lhs, "found")
        code.append(Load(name, prim, own(lhs, "bins"), i64(BIN), prov))
        values.append(Var(name, prim))
        differs = Bin("!=", prim, values[-1], ne)
        changed = differs if isinstance(changed, Lit) else Bin("||", "bool", changed, differs)
    number = add(start, i64(BIN))
    at = [own(op.lhs[0], f"at_{axis}") for axis in range(len(hist.shape))]
    dims = tuple(zip(at, hist.shape, strict=True))
    there = replace(hist, bins=tuple(map(i64, at)), values=tuple(values))
    code.append(k.Indices(dims, number, prov))
    update = update_result(there, number, target, prov)
    return (*code, If(changed, update, (), prov))
