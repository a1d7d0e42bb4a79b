"""Use larger tiles, with more points per thread, if enough tiles remain to fill a GPU.

Per step of the loop, a thread with 8 by 8 points reads 16 numbers from shared memory for 64
products, one with 4 by 4 reads 8 for 16, which shifts the bottleneck away from shared memory. But
with tiles of 128 by 128 points, fewer tiles than multiprocessors leave some idle: then `tiles.py`
applies.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from compiler.base.prim import BYTES
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import Limit, Rule
from compiler.codegen.imp import nodes as imp
from compiler.codegen.kernels.tiled import tile_count
from compiler.codegen.kernels.tiles import MOST_CODE, OWN_BYTES, ROOM, Axis, Tiling
from compiler.codegen.traits import traits_of
from compiler.ir.nodes import SE, TRUE, Bin, Lit

BUSY = Limit("kernels/large-tiles/tiles", "tiles of 8 points a side for each thread", 128)
"""About as many blocks of threads keep each multiprocessor of a GPU busy."""
LARGE_TILES = Rule(
    "kernels/large-tiles",
    "Gives a thread up to 8 by 8 points of a tile, if enough tiles remain.",
    limits=(BUSY,),
)
SIDES = ((8, 8), (8, 4))
"""Points per thread along both sides, best first."""
STEPS = (32, 16, 8)
SMALL = 4
"""Points per thread along each side of a tiling that may be enlarged."""


class Larger(NamedTuple):
    """A tiling, and the condition that there are enough tiles."""

    plan: Tiling
    enough: SE


def enlarge(kernel: imp.Kernel, plan: Tiling, least: int) -> Outcome[Larger]:
    """Return the same tiling with more points per thread, given at least `least` tiles."""
    if len(plan.axes) != 2 or any(axis.each != SMALL for axis in plan.axes):
        return None
    words = sum(BYTES[prim] for prim in plan.kept.values())
    code = max(traits_of(plan.loop.body).weight, traits_of(plan.after).weight)
    for sides in SIDES:
        points = sides[0] * sides[1]
        axes = tuple(
            Axis(axis.index, axis.size, axis.threads, each, axis is plan.axes[0])
            for axis, each in zip(plan.axes, sides, strict=True)
        )
        by_index = {axis.index: axis for axis in axes}
        shared = tuple(
            replace(one, side=by_index[one.side.index] if one.side else None) for one in plan.shared
        )
        operands = sum(BYTES[one.load.prim] * (one.side.each if one.side else 1) for one in shared)
        if points * words + operands > OWN_BYTES or points * code > MOST_CODE:
            continue
        bytes_of_step = sum(one.pitch * BYTES[one.load.prim] for one in shared)
        for steps in STEPS:
            if steps <= plan.steps and steps * bytes_of_step <= ROOM:
                made = replace(plan, axes=axes, shared=shared, steps=steps)
                there = _enough_tiles(kernel, made, least)
                return Applied(Larger(made, there), _because(made)) if there else None
    return Missed(
        f"A thread takes 4 by 4 points of a tile: more points, of {words} bytes and "
        f"{code} statements each, do not fit its registers."
    )


def _enough_tiles(kernel: imp.Kernel, plan: Tiling, least: int) -> SE | None:
    """Return the condition that there are enough tiles; None if there never are."""
    count = tile_count(kernel, plan.axes)
    if isinstance(count, Lit):
        return TRUE if int(count.value) >= least else None
    return Bin("<=", "i64", Lit(least, "i64"), count)


def _because(plan: Tiling) -> str:
    down, across = (axis.each for axis in plan.axes)
    points, reads = down * across, down + across
    return (
        f"If there are enough tiles to keep a GPU busy, a thread takes {down} by "
        f"{across} points: for each step it reads {reads} numbers from shared memory "
        f"for {points} points, instead of 8 for 16."
    )
