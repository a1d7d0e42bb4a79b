"""Print maps in vector lanes (`lanes.py`, `row_tiles.py`), with a function per tile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.base.rules import Rule
from compiler.codegen.c.squares import SquareKernels
from compiler.codegen.c.types import C_TYPE, c_name
from compiler.codegen.free_names import FreeNames, uses_of
from compiler.codegen.imp.nodes import Kernel, Stm, Stms
from compiler.codegen.lanes import LaneLoop, LaneTiling, Part, Uniform, UniformLoop, lane_tiling
from compiler.codegen.row_tiles import RowTile, row_tile
from compiler.codegen.traits import traits_of
from compiler.ir.nodes import SE

ROW_TILES = Rule(
    "c/row-tiles", "Processes rows of points that read the same cells in a loop as one tile."
)
_BECAUSE = (
    "All of these points read the same cells in the loop. A tile of several rows reads "
    "them once and keeps its sums in vector registers."
)
WIDTH = """\
// Bytes of a vector register, and how many registers of lanes a row of a tile has.
#if defined __AVX512F__
enum { SS_REGISTER = 64, SS_ACROSS = 4 };
#elif defined __aarch64__
enum { SS_REGISTER = 16, SS_ACROSS = 4 };
#else
enum { SS_REGISTER = 32, SS_ACROSS = 2 };
#endif
"""


@dataclass(frozen=True, slots=True)
class TileArguments:
    """Parameters and arguments of a tile's function."""

    parameters: str
    arguments: str


class TileKernels(SquareKernels):
    """Adds maps in lanes."""

    tile: RowTile | None = None
    """Rows of the current tile."""

    def map(self, kernel: Kernel) -> None:
        """Print a map, in lanes where it pays."""
        tiles = lane_tiling(kernel)
        if tiles is None:
            super().map(kernel)
            return
        tile = row_tile(kernel, tiles)
        if tile is not None and self.choices.take(ROW_TILES, kernel.prov or self.src, _BECAUSE):
            self.row_tiled_map(kernel, tiles, tile)
        else:
            self.tiled_map(kernel, tiles)

    def tiled_map(self, kernel: Kernel, tiles: LaneTiling) -> None:
        """Distribute tiles; those of one index of the last dimension are consecutive."""
        *outer, last = kernel.dims
        name = f"{c_name(kernel.name)}_tile"
        low = f"{c_name(last[0])}_low"
        given = given_of(kernel, {last[0]})
        self.tile_function(name, kernel, tiles, given.parameters)
        self.parallel(kernel, traits_of(kernel.body), len(kernel.dims))
        end = self.show(last[1])
        self.open(f"for (int64_t {low} = 0; {low} < {end}; {low} += {tiles.lanes}) {{")
        for dim in outer:
            self.loop_over(dim)
        call = f"{name}({given.arguments}"
        self.line(f"if ({end} - {low} >= {tiles.lanes}) {call}, {tiles.lanes});")
        self.line(f"else {call}, {end} - {low});")
        for _ in kernel.dims:
            self.close()

    def row_tiled_map(self, kernel: Kernel, tiles: LaneTiling, tile: RowTile) -> None:
        """Distribute tiles of several rows; the parts of a partial one are consecutive."""
        *outer, (lane, size) = kernel.dims
        name = f"{c_name(kernel.name)}_tile"
        given = given_of(kernel, {lane, tile.index})
        self.tile = tile
        self.tile_function(name, kernel, tiles, given.parameters)
        self.tile = None
        narrow = f"SS_REGISTER / {widest(tiles.kept)}"
        wide = f"{narrow} * SS_ACROSS"
        self.part_function(name, tile, c_name(lane), given, narrow)
        end, low = self.show(size), f"{c_name(lane)}_low"
        many, few = tile.rows
        rows = f"{c_name(tile.index)}_rows"
        self.line(f"const int64_t {rows} = {end} < {wide} ? {few} : {many};")
        self.parallel(kernel, traits_of(kernel.body), len(kernel.dims))
        self.open(f"for (int64_t {low} = 0; {low} < {end}; {low} += {wide}) {{")
        lanes = f"{end} - {low} < {wide} ? {end} - {low} : {wide}"
        height = rows
        for dim in outer:
            if dim[0] != tile.index:
                self.loop_over(dim)
                continue
            top, bottom = self.show(dim[1]), f"{c_name(dim[0])}_low"
            height = f"{top} - {bottom} < {rows} ? {top} - {bottom} : {rows}"
            self.open(f"for (int64_t {bottom} = 0; {bottom} < {top}; {bottom} += {rows}) {{")
        self.line(f"{name}_part({given.arguments}, {lanes}, {height});")
        for _ in kernel.dims:
            self.close()

    def part_function(
        self, name: str, tile: RowTile, lane: str, given: TileArguments, step: str
    ) -> None:
        """Print a tile of any size: whole, in strips of one register, then lane by lane."""
        low, bottom = f"{lane}_low", f"{c_name(tile.index)}_low"
        call, wide = f"{name}({given.arguments}", f"{step} * SS_ACROSS"
        each = f"for (; rows > 0; rows--, {bottom}++)"
        with self.function():
            self.open(
                f"static void {name}_part({given.parameters}, int64_t lanes, int64_t rows) {{"
            )
            self.line(f"if (lanes == {wide} && rows == {tile.rows[0]}) {{")
            self.line(f"    {call}, {wide}, {tile.rows[0]});")
            self.line("    return;")
            self.line("}")
            self.open(f"if (lanes == {wide}) {{")
            self.line(f"{each} {call}, {wide}, 1);")
            self.line("return;")
            self.close()
            self.open(f"for (; lanes >= {step}; lanes -= {step}, {low} += {step}) {{")
            for count in dict.fromkeys(tile.rows):
                self.line(f"if (rows == {count}) {{ {call}, {step}, {count}); continue; }}")
            self.line(f"for (int64_t row = 0; row < rows; row++, {bottom}++) {call}, {step}, 1);")
            self.line(f"{bottom} -= rows;")
            self.close()
            self.line(f"if (lanes > 0) {each} {call}, lanes, 1);")
            self.close()

    def tile_function(self, name: str, kernel: Kernel, tiles: LaneTiling, parameters: str) -> None:
        """Print the function of one tile, for a usually constant number of lanes."""
        names, tile = self.scalars.names, self.tile
        rows = "" if tile is None else ", const int rows"
        with self.function():
            self.line("static inline __attribute__((always_inline))")
            self.open(f"void {name}({parameters}, int64_t lanes{rows}) {{")
            kept: dict[Name, str] = {}
            for variable, prim in tiles.kept.items():
                own = c_name(variable)
                if tile is None:
                    self.line(f"{C_TYPE[prim]} {own}[{tiles.lanes}];")
                    kept[variable] = f"{own}[lane]"
                else:
                    lanes = f"SS_REGISTER / {widest(tiles.kept)} * SS_ACROSS"
                    self.line(f"{C_TYPE[prim]} {own}[{max(tile.rows)}][{lanes}];")
                    kept[variable] = f"{own}[row][lane]"
            self.scalars.names = {**names, **kept}
            self.tile_parts(tiles.parts, kernel.dims[-1], ())
            self.close()
        self.scalars.names = names

    @contextmanager
    def function(self) -> Iterator[None]:
        """Redirect printed lines before the entry point."""
        lines, self.lines = self.lines, []
        indent, self.indent = self.indent, ""
        label, self.label = self.label, "tile"
        self.line("")
        yield
        self.functions.extend(self.lines)
        self.lines, self.indent, self.label = lines, indent, label

    def tile_parts(
        self, parts: Sequence[Part], dim: tuple[Name, SE], before: tuple[Stm, ...]
    ) -> None:
        """Print parts of a body in order; `before` are known row-dependent definitions."""
        for group in _groups(parts):
            if isinstance(group, UniformLoop):
                loop = group.loop
                index, kind = c_name(loop.index), C_TYPE[loop.prim]
                end = self.once(loop.bound, f"{index}_end", kind)
                self.open(f"for ({kind} {index} = 0; {index} < {end}; {index}++) {{")
                self.tile_parts(group.parts, dim, before)
                self.close()
            elif self.tile is None:
                self.group(group, dim)
            else:
                before = self.row_group(group, dim, self.tile, before)

    def group(self, group: Sequence[Part], dim: tuple[Name, SE]) -> None:
        """Print parts without loops."""
        for part in group:
            if isinstance(part, Uniform):
                self.stms((part.stm,))
            elif isinstance(part, LaneLoop):
                self.lane_loop(tuple(part.stms), dim[0])

    def row_group(
        self,
        group: Sequence[Part],
        dim: tuple[Name, SE],
        tile: RowTile,
        before: tuple[Stm, ...],
    ) -> tuple[Stm, ...]:
        """Print parts without loops for each row; return the row-dependent definitions."""
        same = [part for part in group if not _by_row(part, tile)]
        own = [part for part in group if _by_row(part, tile)]
        self.group(same, dim)
        uniform = tuple(part.stm for part in own if isinstance(part, Uniform))
        if len(own) > len(uniform):
            needed, uses = _needed(before, own)
            self.line("#pragma GCC unroll 8")
            self.open("for (int row = 0; row < rows; row++) {")
            if tile.index in uses:
                name = c_name(tile.index)
                self.line(f"const int64_t {name} = {name}_low + row;")
            self.stms(needed)
            self.group(own, dim)
            self.close()
        return before + uniform

    def lane_loop(self, stms: Stms, lane: Name) -> None:
        """Print statements for each lane, vectorised."""
        src = self.src
        self.src = stms[0].prov or src
        self.line("#pragma omp simd")
        self.open("for (int64_t lane = 0; lane < lanes; lane++) {")
        if lane in _uses(stms):
            name = c_name(lane)
            self.line(f"const int64_t {name} = {name}_low + lane;")
        self.stms(stms)
        self.close()
        self.src = src


def given_of(kernel: Kernel, cut: set[Name]) -> TileArguments:
    """Return the arguments of a tile: indices (lower bounds of `cut` dimensions) and free names."""
    uses = uses_of(kernel)
    (lane, _), *outer = reversed(kernel.dims)
    indices = [lane, *reversed([index for index, _ in outer])]
    given = [("int64_t ", f"{c_name(i)}_low" if i in cut else c_name(i)) for i in indices]
    given += [(f"{C_TYPE[p]} ", c_name(n)) for n, p in uses.free_scalars().items()]
    given += [(f"{C_TYPE[p]} *", c_name(n)) for n, p in uses.free_blocks().items()]
    return TileArguments(", ".join(map("".join, given)), ", ".join(name for _, name in given))


def widest(kept: Mapping[Name, Prim]) -> int:
    """Return the bytes of the widest variable kept per point."""
    return max(4, *(BYTES[prim] for prim in kept.values()))


def _groups(parts: Sequence[Part]) -> Iterator[UniformLoop | list[Part]]:
    """Yield loops, and the parts between them."""
    group: list[Part] = []
    for part in parts:
        if not isinstance(part, UniformLoop):
            group.append(part)
            continue
        if group:
            yield group
            group = []
        yield part
    if group:
        yield group


def _by_row(part: Part, tile: RowTile) -> bool:
    """True if a part differs between rows; parts in lanes run for each row."""
    if not isinstance(part, Uniform):
        return True
    uses = FreeNames()
    uses.stms((part.stm,))
    return not tile.varying.isdisjoint({*uses.scalars, *uses.bound})


def _needed(before: tuple[Stm, ...], group: Sequence[Part]) -> tuple[Stms, set[Name]]:
    """Return the statements of `before` that a group needs, and all names that both use."""
    used: set[Name] = set()
    for part in group:
        if isinstance(part, Uniform):
            used |= _uses((part.stm,))
        elif isinstance(part, LaneLoop):
            used |= _uses(tuple(part.stms))
    needed: list[Stm] = []
    for stm in reversed(before):
        uses = FreeNames()
        uses.stms((stm,))
        if not uses.bound.isdisjoint(used):
            needed.append(stm)
            used |= set(uses.scalars)
    return tuple(reversed(needed)), used


def _uses(stms: Stms) -> set[Name]:
    """Return the scalars of statements."""
    uses = FreeNames()
    uses.stms(stms)
    return set(uses.scalars)
