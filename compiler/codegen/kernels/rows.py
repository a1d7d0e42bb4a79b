"""Reductions and scans of short segments: a warp each, or fewer lanes.

A thread block takes several segments, without synchronisation between warps. The lanes of a segment
take its elements in turn, so that accesses coalesce. Blocks of whole warps ensure that no segment
is split between blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.base.names import Name
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import Rule
from compiler.base.target import SHORT_SEGMENT
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.nodes import Assign, Define, Fold, If, Kernel, ScanWork, Stm, Stms
from compiler.codegen.imp.parts import statements
from compiler.codegen.index import add, product
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.folds import (
    LANE,
    SEGMENT,
    carries,
    combine,
    components,
    in_warp,
    ordered,
    own,
    segment,
    starts,
)
from compiler.codegen.kernels.nodes import OWN, PLACE, THREAD, WARP
from compiler.codegen.kernels.threads import POINT, i64, point
from compiler.codegen.sequential import accumulate, finish
from compiler.codegen.traits import reads
from compiler.ir.build import both
from compiler.ir.nodes import SE, ZERO, Bin, Conv, Lit, Select, Var

ROWS = Rule("kernels/rows", "Short segments of a reduction or scan have a warp each, or less.")
LANES = "lanes_0"
_LANES, _WIDE = Var(LANES, "i32"), Conv("i32", "i64", Var(LANES, "i32"))
_LAST = Bin("-", "i32", _LANES, Lit(1, "i32"))
_REST = f"{OWN}rest"


def rows(kernel: Kernel) -> Outcome[SE]:
    """Return the lanes per segment, if a warp or less suffices."""
    *outer, (index, size) = kernel.dims
    if not outer:
        return None
    loads = list(_loads(kernel.body))
    turning: dict[Name, SE] = {index: Var(index, "i64")}
    for stm in statements(kernel.body):
        if isinstance(stm, Define) and not turning.keys().isdisjoint(reads(stm.value)):
            turning[stm.name] = stm.value
    if loads and not any(_is_beside(load.at, index, turning) for load in loads):
        return Missed(
            "The elements of a segment do not lie together, so that neighbouring lanes would not "
            "touch neighbouring cells: no segments share a warp.",
            "Transpose the array before, or exchange the two dimensions.",
        )
    lanes: SE = Lit(WARP, "i32")
    for few in (16, 8, 4, 2, 1):
        fits = Bin("<=", "i64", size, Lit(few, "i64"))
        lanes = Select(fits, Lit(few, "i32"), lanes)
    because = (
        f"Segments of up to {SHORT_SEGMENT} elements have a warp each, or a part of one: a block "
        "of threads takes several, which do not wait for each other."
    )
    return Applied(lanes, because)


def _loads(stms: Iterable[Stm]) -> Iterable[imp.Load]:
    for stm in stms:
        match stm:
            case imp.Load():
                yield stm
            case If(_, then, orelse):
                yield from _loads((*then, *orelse))


def _is_beside(at: SE, index: Name, turning: Mapping[Name, SE]) -> bool:
    """True if consecutive elements are in adjacent cells.

    `turning`: names that vary with the element, with their definitions.
    """
    match at:
        case Var(name):
            return name == index or (name in turning and _is_beside(turning[name], index, turning))
        case Bin("+" | "-", _, lhs, rhs):
            sides = [se for se in (lhs, rhs) if not turning.keys().isdisjoint(reads(se))]
            return len(sides) == 1 and _is_beside(sides[0], index, turning)
    return False


def row_code(kernel: Kernel, folds: tuple[Fold, ...]) -> Stms:
    """Return the code of a thread for its segment; threads without one take part in shuffles."""
    prov, scan = kernel.prov, isinstance(kernel.work, ScanWork)
    *outer, (index, end) = kernel.dims
    lane, thread = Var(LANE, "i32"), Var(THREAD, "i32")
    segments = product([size for _, size in outer])
    is_there: SE = Bin("<", "i64", i64(SEGMENT), segments)
    is_last = both(is_there, Bin("==", "i32", lane, _LAST))
    parts = components(folds)
    steps = tuple(s for fold in folds for s in accumulate(fold, prov))
    ends = tuple(s for fold in folds for s in finish(fold, prov))
    first = Conv("i32", "i64", lane)
    code: list[Stm] = [
        Define(POINT, "i64", i64(PLACE), prov),
        k.Indices(((SEGMENT, segments), (_REST, _WIDE)), i64(POINT), prov),
        Define(LANE, "i32", Conv("i64", "i32", i64(_REST)), prov),
        *segment(kernel),
        *starts(folds, prov),
    ]
    prefixes = tuple(s for fold in folds for s in in_warp(fold, prov, _LANES))
    if not (scan or ordered(folds)):
        body = k.Stride(index, "i64", first, end, "+", _WIDE, (point(kernel.body + steps),), prov)
        return (*code, If(is_there, (body,), (), prov), *prefixes, If(is_last, ends, (), prov))
    tile = own(index, "tile")
    inside = both(is_there, Bin("<", "i64", i64(index), end))
    nothing = tuple(Assign(n, ne, prov) for n, _, ne in parts)
    joined = (combine(f, [own(n, "carry") for n in f.op.lhs], f.op.lhs, prov) for f in folds)
    last = Bin("|", "i32", thread, _LAST)
    turn: list[Stm] = [
        Define(index, "i64", add(i64(tile), first), prov),
        *nothing,
        If(inside, (point(kernel.body + steps),), (), prov),
        *prefixes,
        *joined,
        *([If(inside, ends, (), prov)] if scan else []),
        *(k.Shuffle(own(n, "carry"), p, Var(n, p), last, prov) for n, p, _ in parts),
    ]
    code += carries(folds)
    code.append(k.Stride(tile, "i64", ZERO, end, "+", _WIDE, tuple(turn), prov))
    if not scan:
        code += [Assign(n, Var(own(n, "carry"), p), prov) for n, p, _ in parts]
        code.append(If(is_last, ends, (), prov))
    return tuple(code)
