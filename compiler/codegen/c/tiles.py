"""Maps whose points run side by side (`lanes.py`), as a function for a tile of points."""

from __future__ import annotations

from compiler.base.names import Name
from compiler.codegen.c.kernels import MapKernels
from compiler.codegen.c.types import C_TYPE, c_name
from compiler.codegen.free_names import FreeNames, uses_of
from compiler.codegen.imp.nodes import Kernel, Stms
from compiler.codegen.lanes import LaneLoop, LaneTiling, Part, Uniform, UniformLoop, lane_tiling
from compiler.codegen.traits import traits_of
from compiler.ir.nodes import SE


class TileKernels(MapKernels):
    """Adds maps in lanes."""

    def map(self, kernel: Kernel) -> None:
        """In lanes where it pays."""
        tiles = lane_tiling(kernel)
        if tiles is None:
            super().map(kernel)
        else:
            self.tiled_map(kernel, tiles)

    def tiled_map(self, kernel: Kernel, tiles: LaneTiling) -> None:
        """Share out tiles; those of one index of the last dimension follow each other."""
        *outer, last = kernel.dims
        name = f"{c_name(kernel.name)}_tile"
        uses = uses_of(kernel)
        lane = c_name(last[0])
        low = f"{lane}_low"
        arguments = [(f"int64_t {low}", low)]
        arguments += [(f"int64_t {c_name(i)}", c_name(i)) for i, _ in outer]
        arguments += [
            (f"{C_TYPE[p]} {c_name(n)}", c_name(n)) for n, p in uses.free_scalars().items()
        ]
        arguments += [
            (f"{C_TYPE[p]} *{c_name(n)}", c_name(n)) for n, p in uses.free_blocks().items()
        ]
        self.tile_function(name, kernel, tiles, ", ".join(a for a, _ in arguments))
        given = ", ".join(b for _, b in arguments)
        traits = traits_of(kernel.body)
        self.parallel(kernel, traits, len(kernel.dims))
        end = self.show(last[1])
        self.open(f"for (int64_t {low} = 0; {low} < {end}; {low} += {tiles.lanes}) {{")
        for dim in outer:
            self.loop_over(dim)
        self.line(f"if ({end} - {low} >= {tiles.lanes}) {name}({given}, {tiles.lanes});")
        self.line(f"else {name}({given}, {end} - {low});")
        for _ in kernel.dims:
            self.close()

    def tile_function(self, name: str, kernel: Kernel, tiles: LaneTiling, parameters: str) -> None:
        """What one tile does, for a number of lanes that is mostly a constant."""
        lines, self.lines = self.lines, []
        indent, self.indent = self.indent, ""
        label, self.label = self.label, "tile"
        names = self.scalars.names
        self.line("")
        self.line("static inline __attribute__((always_inline))")
        self.open(f"void {name}({parameters}, int64_t lanes) {{")
        kept: dict[Name, str] = {}
        for variable, prim in tiles.kept.items():
            self.line(f"{C_TYPE[prim]} {c_name(variable)}[{tiles.lanes}];")
            kept[variable] = f"{c_name(variable)}[lane]"
        self.scalars.names = {**names, **kept}
        self.tile_parts(tiles.parts, kernel.dims[-1])
        self.close()
        self.functions.extend(self.lines)
        self.scalars.names = names
        self.lines, self.indent, self.label = lines, indent, label

    def tile_parts(self, parts: list[Part], dim: tuple[Name, SE]) -> None:
        """Parts of a body, one after another."""
        for part in parts:
            match part:
                case Uniform(stm):
                    self.stms((stm,))
                case LaneLoop(stms):
                    self.lane_loop(tuple(stms), dim[0])
                case UniformLoop(loop, inner):
                    index, kind = c_name(loop.index), C_TYPE[loop.prim]
                    end = self.once(loop.bound, f"{index}_end", kind)
                    self.open(f"for ({kind} {index} = 0; {index} < {end}; {index}++) {{")
                    self.tile_parts(inner, dim)
                    self.close()

    def lane_loop(self, stms: Stms, lane: Name) -> None:
        """Statements for each lane, in vector registers."""
        src = self.src
        self.src = stms[0].prov or src
        self.line("#pragma omp simd")
        self.open("for (int64_t lane = 0; lane < lanes; lane++) {")
        uses = FreeNames()
        uses.stms(stms)
        if lane in uses.scalars:
            name = c_name(lane)
            self.line(f"const int64_t {name} = {name}_low + lane;")
        self.stms(stms)
        self.close()
        self.src = src
