"""Select maps that read cells around each point, and plan shared windows for them.

Adjacent points of a stencil read the same cells. A thread block takes a tile of points, reads the
cells of the tile and around it into shared memory, and its points find them there.
`stencil_code.py` generates the code.

Note [A window]. The window of a tile are the cells that its points may read: those of the points,
and some more on each side, clipped to the points. A point that needs a cell outside the window, for
example where indices wrap around, reads it from memory as before: the window must be correct, not
complete. It is correct:
- a cell of the window is read by some point in any case: its own point, or the points
  on both sides of it, of which there is one. So it exists, and has been written;
- no point writes to the array, under any alias (`same_blocks.py`), so that the time of reading
  does not matter;
- where an index is clamped or wrapped, the host tests that the bounds are those of the points
  before it launches this kernel, unless that is evident. The alternative kernel has no windows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import Rule
from compiler.base.target import Target
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import statements
from compiler.codegen.kernels.nodes import WARP
from compiler.codegen.kernels.same_blocks import NOBODY, Same
from compiler.codegen.kernels.shifts import CellPlace, CellPlaces, Defs, Points
from compiler.codegen.kernels.tiles import ROOM, Axis, bound_names, whole_numbers
from compiler.codegen.stm_uses import BlockUses
from compiler.ir.nodes import SE, Bin, Lit
from compiler.ir.sizes import poly_of

STENCILS = Rule(
    "kernels/stencils", "Lets a block of threads read the cells around its points once."
)
SECTOR = 32
"""Bytes fetched at once."""
WIDTHS = (32, 64, 128)
"""Points per row of a tile."""
EACH = 4
"""Points per thread, so that border cells are amortised."""


@dataclass(frozen=True, slots=True)
class CellWindow:
    """Cells of a block that a tile reads once: `base + row * stride + column`.

    `rows` and `columns`: offsets of the first and last ones from the tile's first and last points.
    `places`: the loads redirected to it, by the names that they define.
    """

    block: Name
    prim: Prim
    base: SE
    stride: SE
    rows: tuple[int, int]
    columns: tuple[int, int]
    places: dict[Name, CellPlace]

    def near(self, axes: tuple[Axis, ...]) -> bool:
        """True if no cell is further away than half of a tile."""
        ends = (self.rows, self.columns)[-len(axes) :]
        return all(
            2 * max(-low, high) <= axis.points for axis, (low, high) in zip(axes, ends, strict=True)
        )

    def height(self, axes: tuple[Axis, ...]) -> int:
        """Return the rows of the window."""
        points = axes[0].points if len(axes) > 1 else 1
        return points + self.rows[1] - self.rows[0]

    def width(self, axes: tuple[Axis, ...]) -> int:
        """Return the cells of a row."""
        return axes[-1].points + self.columns[1] - self.columns[0]

    def asked(self, axes: tuple[Axis, ...]) -> tuple[int, int]:
        """Return the first column and the number of columns, rounded to whole sectors."""
        unit = SECTOR // BYTES[self.prim]
        first = self.columns[0] // unit * unit
        end = -((axes[-1].points + self.columns[1]) // -unit) * unit
        return first, end - first

    def bytes(self, axes: tuple[Axis, ...]) -> int:
        """Return the bytes of shared memory."""
        return self.height(axes) * self.width(axes) * BYTES[self.prim]

    def sectors(self, axes: tuple[Axis, ...]) -> Fraction:
        """Return the sectors fetched to fill it, per warp-size number of points."""
        _, width = self.asked(axes)
        count = self.height(axes) * width * BYTES[self.prim] // SECTOR
        points = axes[-1].points * (axes[0].points if len(axes) > 1 else 1)
        return Fraction(count * WARP, points)


@dataclass(frozen=True, slots=True)
class Stencil:
    """A tile of points with its windows, valid if `needs` hold at launch.

    `before` and `after`: sectors per warp-size number of points.
    """

    axes: tuple[Axis, ...]
    windows: tuple[CellWindow, ...]
    needs: tuple[SE, ...]
    before: Fraction
    after: Fraction

    @property
    def large(self) -> tuple[SE, ...]:
        """Conditions under which it pays."""
        least = [Bin("<=", "i64", Lit(axis.points, "i64"), axis.size) for axis in self.axes]
        return (*least, *self.needs)


def stencil(
    kernel: imp.Kernel, target: Target, same: Same | None, known: Mapping[Name, Poly]
) -> Outcome[Stencil]:
    """Plan the shared reads of a map's points; None if there are none.

    `same`: blocks that may be equal; None if unknown. `known`: host numbers as polynomials.
    """
    if kernel.per_block or same is None:
        return None
    found = _Found(kernel, known)
    groups = {key: places for key, places in found.groups() if _shifted(places)}
    if not groups:
        return None
    uses = BlockUses(kernel.body)
    written = uses.written.keys() | uses.aliased.keys()
    windows: list[CellWindow] = []
    missed: Missed | None = None
    for (block, prim, base, stride), places in groups.items():
        if written & (same.get(block, NOBODY) | {block}):
            missed = missed or Missed(
                "Points read the cells around them, but the kernel may write to that "
                "array, so no thread may read a cell early."
            )
        elif not found.covered(places):
            missed = missed or Missed(
                "Points read the cells around them, but under conditions, and a tile "
                "must not read a cell that no point reads."
            )
        else:
            windows.append(_window(block, prim, found.meaning(base), found.meaning(stride), places))
    return _best(kernel, target.threads, tuple(windows), found) if windows else missed


def _shifted(places: dict[Name, CellPlace]) -> bool:
    """True if loads have different distances from their points."""
    return (
        len({(p.rows.low, p.rows.high, p.columns.low, p.columns.high) for p in places.values()}) > 1
    )


def _window(
    block: Name, prim: Prim, base: SE, stride: SE, places: dict[Name, CellPlace]
) -> CellWindow:
    rows, columns = ([p.rows for p in places.values()], [p.columns for p in places.values()])
    return CellWindow(
        block,
        prim,
        base,
        stride,
        (min(s.low for s in rows), max(s.high for s in rows)),
        (min(s.low for s in columns), max(s.high for s in columns)),
        places,
    )


def _best(
    kernel: imp.Kernel, threads: int, windows: tuple[CellWindow, ...], found: _Found
) -> Outcome[Stencil]:
    """Return the tile with the fewest sectors, with the windows that fit."""
    plans = []
    for axes in _tiles(kernel, threads):
        chosen: list[CellWindow] = []
        after, room = Fraction(0), ROOM
        for window in windows:
            fewer = found.cost(window.places) > window.sectors(axes)
            if fewer and window.near(axes) and window.bytes(axes) <= room:
                room -= window.bytes(axes)
                after += window.sectors(axes)
                chosen.append(window)
        places = {name: place for one in chosen for name, place in one.places.items()}
        before = found.cost(places)
        needs = (n for p in places.values() for s in (p.rows, p.columns) for n in s.needs)
        plan = Stencil(axes, tuple(chosen), tuple(dict.fromkeys(needs)), before, after)
        if chosen and not _small(axes):
            plans.append(plan)
    if not plans:
        return Missed(
            "Points read the cells around them, but there are too few points, or a tile of them "
            "would ask for as many sectors, or for more shared memory than there is."
        )
    best = max(plans, key=lambda plan: plan.before - plan.after)
    return Applied(best, _because(best), (("sectors for 32 points", _numbers(best)),))


def _tiles(kernel: imp.Kernel, threads: int) -> Iterator[tuple[Axis, ...]]:
    """Yield the possible tiles, of 1,024 points."""
    *outer, last = kernel.dims
    if not outer:
        yield (Axis(*last, threads, EACH),)
        return
    for width in (w for w in WIDTHS if w <= threads):
        yield Axis(*outer[-1], threads // width, EACH), Axis(*last, width, 1)


def _small(axes: tuple[Axis, ...]) -> bool:
    """True if there are certainly fewer points than in a tile."""
    return any(isinstance(a.size, Lit) and int(a.size.value) < a.points for a in axes)


def _numbers(plan: Stencil) -> str:
    return f"{float(plan.before):.1f} -> {float(plan.after):.1f}"


def _because(plan: Stencil) -> str:
    sides = " by ".join(str(axis.points) for axis in plan.axes)
    arrays = "an array" if len(plan.windows) == 1 else f"{len(plan.windows)} arrays"
    asked = " and the bounds of indices are those of the points" if plan.needs else ""
    return (
        f"Where there are at least {sides} points{asked}, a block of threads takes so many, and "
        f"reads the cells of {arrays} that they and those around them have into shared memory, "
        f"once: {_numbers(plan).replace('->', 'sectors for 32 points become')}, since neighbouring "
        "points read the same cells."
    )


class _Found:
    """Loads of a kernel's points."""

    def __init__(self, kernel: imp.Kernel, known: Mapping[Name, Poly]) -> None:
        self.kernel = kernel
        names = bound_names(kernel.body)
        indices = {name for name, _ in kernel.dims}
        stms = tuple(statements(kernel.body))
        self.defs: Defs = whole_numbers(stms, names, indices)
        data = frozenset(names - self.defs.keys())

        def poly(se: SE) -> Poly | None:
            found = poly_of(se)
            return found and found.subst(known)

        sides = tuple(Points(*dim, self.defs, poly) for dim in kernel.dims[-2:])
        self.places = CellPlaces(sides, data)
        self.split: dict[Name, CellPlace] = {}
        self.loads: dict[Name, imp.Load] = {}
        for stm in stms:
            if isinstance(stm, imp.Load) and stm.block not in names:
                place = self.places.split(stm.at)
                if place is not None:
                    self.loads[stm.name], self.split[stm.name] = stm, place

    def groups(self) -> Iterator[tuple[tuple[Name, Prim, Poly, Poly], dict[Name, CellPlace]]]:
        """Yield the loads that share a window."""
        found: dict[tuple[Name, Prim, Poly, Poly], dict[Name, CellPlace]] = {}
        for name, place in self.split.items():
            load = self.loads[name]
            key = (load.block, load.prim, place.base, place.stride)
            found.setdefault(key, {})[name] = place
        yield from found.items()

    def meaning(self, poly: Poly) -> SE:
        """Return a polynomial over names and parts as an expression."""
        return self.places.exp(poly)

    def covered(self, places: dict[Name, CellPlace]) -> bool:
        """True if each cell of a window is read by some point in any case."""
        sure, _ = self.sure(self.kernel.body, places)
        return any((-up, -along) in sure and 0 in (up, along) for up, along in sure)

    def sure(
        self, stms: imp.Stms, places: dict[Name, CellPlace]
    ) -> tuple[set[tuple[int, int]], bool]:
        """Return the offsets of unconditionally read cells, and whether control continues."""
        found: set[tuple[int, int]] = set()
        for stm in stms:
            match stm:
                case imp.Load(name) if name in places:
                    rows, columns = places[name].rows.same, places[name].columns.same
                    if rows is not None and columns is not None:
                        found.add((rows, columns))
                case imp.If():
                    then, on = self.sure(stm.then, places)
                    orelse, also = self.sure(stm.orelse, places)
                    found |= then & orelse
                    if not (on and also):
                        return found, False
                case _ if any(isinstance(one, imp.Assert) for one in statements((stm,))):
                    return found, False
        return found, True

    def cost(self, places: dict[Name, CellPlace]) -> Fraction:
        """Return the sectors that loads fetch per warp."""
        return self._cost(self.kernel.body, places)

    def _cost(self, stms: imp.Stms, places: dict[Name, CellPlace]) -> Fraction:
        total = Fraction(0)
        for stm in stms:
            match stm:
                case imp.Load(name, prim) if name in places:
                    unit = SECTOR // BYTES[prim]
                    aside = places[name].columns.low % unit or places[name].columns.high % unit
                    total += max(1, WARP // unit) + bool(aside)
                case imp.If():
                    total += max(self._cost(stm.then, places), self._cost(stm.orelse, places))
        return total
