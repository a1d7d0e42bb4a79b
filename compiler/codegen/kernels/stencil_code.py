"""Generate tiled stencil kernels: a thread block computes a tile of points.

The threads read a window into shared memory, coalesced along a row, and synchronise. Then each
computes its points from the window. A point that may need a cell outside the window tests for that,
and reads it from memory.

Note [Equally many rounds]. The threads of a block run the loop that fills a window equally often,
even past its end. A compiler that unrolls such a loop runs the remaining iterations first: threads
with one iteration less would be one ahead of the others, and would fetch shared sectors twice.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.nodes import Alloc, Declare, Define, If, Load, Stm, Stms, Store
from compiler.codegen.index import add, minimum, mul, sub
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.folds import own
from compiler.codegen.kernels.nodes import OWN, THREAD, THREADS, Barrier
from compiler.codegen.kernels.shifts import CellPlace
from compiler.codegen.kernels.stencils import CellWindow, Stencil
from compiler.codegen.kernels.threads import i64, point
from compiler.codegen.kernels.tiled import each_point, first_of, of_block
from compiler.codegen.kernels.tiles import Axis
from compiler.ir.build import conjunction
from compiler.ir.nodes import SE, ZERO, Bin, Lit, Scalar, Var

AT, ROW, COLUMN = (f"{OWN}{name}" for name in ("at", "row", "column"))


def stencil_code(kernel: imp.Kernel, plan: Stencil, threads: int) -> Stms:
    """Return the code of each of `threads` threads of a block for a tile."""
    views = [
        _View(window, own(window.block, str(number)), plan.axes, kernel.prov)
        for number, window in enumerate(plan.windows)
    ]
    body = kernel.body
    for view in views:
        body = view.looked(body)
    return (
        *of_block(kernel, plan.axes),
        *(stm for view in views for stm in view.filled(threads)),
        Barrier(kernel.prov),
        *each_point((point(body),), plan.axes, kernel.prov),
    )


class _View:
    """A window of a tile, with a name for its variables."""

    def __init__(self, window: CellWindow, name: Name, axes: tuple[Axis, ...], prov: Prov) -> None:
        self.window, self.name, self.axes, self.prov = window, name, axes, prov
        self.width = window.width(axes)
        self.tile = f"{name}_window"
        *rows, columns = axes
        self.row = _Side(f"{name}_row", rows[0], window.rows) if rows else None
        self.column = _Side(f"{name}_column", columns, window.columns)
        self.sides = [side for side in (self.row, self.column) if side is not None]

    def filled(self, threads: int) -> Stms:
        """Fill the window; see Note [Equally many rounds]."""
        window, prov, prim = self.window, self.prov, self.window.prim
        first, width = window.asked(self.axes)
        height = window.height(self.axes)
        name = f"{self.name}_cell"
        along = add(i64(COLUMN), Lit(first - window.columns[0], "i64"))
        column = add(self.column.first, along)
        cell, slot, inside = column, along, [self.column.holds(column)]
        if self.row:
            row = add(self.row.first, i64(ROW))
            inside.insert(0, self.row.holds(row))
            cell = add(mul(row, window.stride), column)
            slot = add(mul(i64(ROW), Lit(self.width, "i64")), along)
        moved: Stms = (
            Load(name, prim, window.block, add(window.base, cell), prov),
            Store(self.tile, prim, slot, Var(name, prim), prov),
        )
        cells = height * width
        if not self.row and cells % threads:  # rows behind the last are outside the window
            inside.append(Bin("<", "i64", i64(AT), Lit(cells, "i64")))
        end = Lit(-(-cells // threads) * threads, "i64")
        dims = ((ROW, Lit(height, "i64")), (COLUMN, Lit(width, "i64")))
        turn: Stms = (k.Indices(dims, i64(AT), prov), If(conjunction(inside), moved, (), prov))
        return (
            Alloc(self.tile, Lit(height * self.width, "i64"), prim, "shared", prov),
            *(stm for side in self.sides for stm in side.bounds(prov)),
            k.Stride(AT, "i64", i64(THREAD), end, "+", i64(THREADS), turn, prov),
        )

    def slot(self, row: SE | None, column: SE) -> SE:
        """Return the position of a cell in the window."""
        along = sub(column, self.column.first)
        if row is None or self.row is None:
            return along
        return add(mul(sub(row, self.row.first), Lit(self.width, "i64")), along)

    def looked(self, stms: Stms) -> Stms:
        """Redirect loads to the window."""
        out: list[Stm] = []
        for stm in stms:
            match stm:
                case Load(name) if name in self.window.places:
                    out += self.load(stm, self.window.places[name])
                case If():
                    then, orelse = self.looked(stm.then), self.looked(stm.orelse)
                    out.append(replace(stm, then=then, orelse=orelse))
                case _:
                    out.append(stm)
        return tuple(out)

    def load(self, load: Load, place: CellPlace) -> Stms:
        """Return a load that tries the window first."""
        found = replace(load, block=self.tile, at=self.slot(place.row, place.column))
        unsure: list[SE] = []
        for side, at, shift in (
            (self.row, place.row, place.rows),
            (self.column, place.column, place.columns),
        ):
            if side is not None and at is not None:
                unsure += [side.from_low(at)] * (not shift.above)
                unsure += [side.to_high(at)] * (not shift.below)
        if not unsure:
            return (found,)
        name, prim, prov = load.name, load.prim, load.prov
        near = k.Fetch(name, prim, self.tile, found.at, prov)
        far = k.Fetch(name, prim, load.block, load.at, prov)
        return (
            Declare(name, Scalar(prim), None, prov),
            If(conjunction(unsure), (near,), (far,), prov),
        )


class _Side:
    """Rows or columns of a window, clipped to the points."""

    def __init__(self, name: Name, axis: Axis, ends: tuple[int, int]) -> None:
        self.name, self.axis, self.ends = name, axis, ends
        self.first, self.low, self.high = map(self.end, ("first", "low", "high"))

    def end(self, which: str) -> SE:
        """Return one of its bounds."""
        return i64(f"{self.name}_{which}")

    def bounds(self, prov: Prov) -> Stms:
        """Define its origin, and its first and last cell."""
        low, high = self.ends
        end = add(first_of(self.axis), Lit(self.axis.points + high, "i64"))
        first = add(first_of(self.axis), Lit(low, "i64"))
        return (
            Define(f"{self.name}_first", "i64", first, prov),
            Define(f"{self.name}_low", "i64", Bin("max", "i64", ZERO, self.first), prov),
            Define(f"{self.name}_high", "i64", minimum(end, self.axis.size), prov),
        )

    def holds(self, at: SE) -> SE:
        """Return the condition that it contains a cell."""
        return conjunction((self.from_low(at), self.to_high(at)))

    def from_low(self, at: SE) -> SE:
        """Return the condition that a cell is not before it."""
        return Bin("<=", "i64", self.low, at)

    def to_high(self, at: SE) -> SE:
        """Return the condition that a cell is not after it."""
        return Bin("<", "i64", at, self.high)
