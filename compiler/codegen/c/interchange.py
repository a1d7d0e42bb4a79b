"""Run independent iterations of a thread's loop in vector lanes (strip mining and interchange).

A vector-matrix product goes down a column for each result element, cells far apart. Interchanged,
it goes along rows: a strip of elements is accumulated in vector registers. Legal if iterations are
independent.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.base.rules import Rule
from compiler.codegen.c.tiles import TileKernels, given_of, widest
from compiler.codegen.c.types import c_name
from compiler.codegen.free_names import FreeNames
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import host_stms, names
from compiler.codegen.lanes import LaneTiling, lane_tiling
from compiler.codegen.traits import assigned, loaded, stored
from compiler.ir.nodes import Lit
from compiler.ir.sizes import poly_of

FEWEST = 16
"""Minimum number of iterations: a strip of one register of f32."""
INTERCHANGE = Rule(
    "c/interchange",
    "Interchanges a loop with an inner loop over columns, so that vector lanes read rows.",
)
_BECAUSE = (
    "Neighbouring iterations are independent and read neighbouring cells, while the "
    "loop inside them reads cells that are far apart."
)


class LoopKernels(TileKernels):
    """Adds loops of a point in lanes."""

    def count_loop(self, stm: imp.For) -> None:
        """Print a loop, in lanes where it pays."""
        tiles = None if self.label in (None, "tile") else independent(stm)
        uses = FreeNames()
        uses.visit(stm)
        if (
            tiles is None
            or not self.scalars.names.keys().isdisjoint({*uses.scalars, *uses.blocks})
            or not self.choices.take(INTERCHANGE, stm.prov or self.src, _BECAUSE)
        ):
            super().count_loop(stm)
            return
        self.strips(stm, tiles)

    def strips(self, stm: imp.For, tiles: LaneTiling) -> None:
        """Print strips of several registers, of one, and the rest; or the plain loop."""
        kernel = _as_map(stm)
        name, low = f"{c_name(stm.index)}_strip", f"{c_name(stm.index)}_low"
        given = given_of(kernel, {stm.index})
        self.tile_function(name, kernel, tiles, given.parameters)
        narrow = f"SS_REGISTER / {widest(tiles.kept)}"
        with self.function():
            self.open(f"static void {name}s({given.parameters}, int64_t end) {{")
            for step in (f"{narrow} * SS_ACROSS", narrow):
                self.line(f"for (; end - {low} >= {step}; {low} += {step})")
                self.line(f"    {name}({given.arguments}, {step});")
            self.line(f"if ({low} < end) {name}({given.arguments}, end - {low});")
            self.close()
        end = self.once(stm.bound, f"{c_name(stm.index)}_end")
        conds = [] if isinstance(stm.bound, Lit) else [f"{end} >= {FEWEST}"]
        conds += [f"{c_name(one)} != {c_name(other)}" for one, other in _pairs(stm.body)]
        start = given.arguments.replace(low, "0", 1)
        self.open(f"if ({' && '.join(conds) or 'true'}) {{")
        self.line(f"{name}s({start}, {end});")
        self.close("} else {")
        self.indent += "    "
        self.counted(stm, end)
        self.close()


def independent(stm: imp.For) -> LaneTiling | None:
    """Return the tiling of a loop with independent iterations, or None.

    Each stores to cells adjacent to the others', and reads only its own of the stored ones. That
    blocks differ is checked at run time.
    """
    few = isinstance(stm.bound, Lit) and int(stm.bound.value) < FEWEST
    if few or stm.prim != "i64" or not any(isinstance(s, imp.For) for s in stm.body):
        return None
    inside = list(host_stms(stm.body))
    bound = names(stm.body, "bind")
    cells: dict[Name, Poly] = {}
    for one in inside:
        if isinstance(one, imp.Store):
            at = poly_of(one.at)
            rest = None if at is None else at - Poly.var(stm.index)
            if at is None or rest is None or rest.names() & (bound | {stm.index}):
                return None
            if cells.setdefault(one.block, at) != at:
                return None
    for one in inside:
        if isinstance(one, imp.Load) and one.block in cells and poly_of(one.at) != cells[one.block]:
            return None
    if not cells or assigned(stm.body) - bound:
        return None
    return lane_tiling(_as_map(stm))


def _pairs(body: imp.Stms) -> Iterator[tuple[Name, Name]]:
    """Yield the blocks that must differ: a stored one, and any other that is used."""
    written = sorted(stored(body))
    for k, one in enumerate(written):
        for other in (*written[k + 1 :], *sorted(loaded(body) - set(written))):
            yield one, other


def _as_map(stm: imp.For) -> imp.Kernel:
    """Return the loop as a map over its iterations."""
    dims = ((stm.index, stm.bound),)
    return imp.Kernel(stm.index, "grid", dims, stm.body, imp.MapWork(), prov=stm.prov)
