"""Tile rows of points that share the operands of their lanes (register tiling).

A matrix product reads a row of the second matrix for each row of the first. A tile of several rows
by some registers of lanes (`lanes.py`) reads it once for all of them, and keeps as many sums as a
processor has registers. Points are independent, and each runs its loops in the same order as
before: the results are bit-identical.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.codegen.free_names import FreeNames
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import names
from compiler.codegen.lanes import LaneLoop, LaneTiling, Part, Uniform, UniformLoop
from compiler.codegen.traits import reads

MOST_ROWS = 6
"""Rows of a tile with one variable per point, for several registers of lanes; such variables
take 24 of 32 registers."""
MOST_OF_ONE = 8
"""Rows of a tile that is one register wide."""


@dataclass(frozen=True, slots=True)
class RowTile:
    """`index`: the dimension of the tile's rows. `varying`: names that differ between rows.

    `rows`: number of rows, for tiles of several registers and of one.
    """

    index: Name
    varying: frozenset[Name]
    rows: tuple[int, int]


def row_tile(kernel: imp.Kernel, tiling: LaneTiling) -> RowTile | None:
    """Return the innermost dimension whose points share the lanes' operands, or None."""
    variables = len(tiling.kept)
    if not 0 < variables <= MOST_ROWS // 2:
        return None
    for index, _ in reversed(kernel.dims[:-1]):
        varying = _varying(tiling.parts, index)
        loops = list(_loops(tiling.parts))
        if any(reads(loop.loop.bound) & varying for loop in loops):
            continue
        if any(_shared(loop.parts, kernel.dims[-1][0], varying) for loop in loops):
            rows = MOST_ROWS // variables, MOST_OF_ONE // variables
            return RowTile(index, frozenset(varying), rows)
    return None


def _loops(parts: list[Part]) -> Iterator[UniformLoop]:
    for part in parts:
        if isinstance(part, UniformLoop):
            yield part
            yield from _loops(part.parts)


def _statements(parts: list[Part]) -> Iterator[imp.Stm]:
    for part in parts:
        match part:
            case Uniform(stm):
                yield stm
            case LaneLoop(stms):
                yield from stms
            case UniformLoop(_, inner):
                yield from _statements(inner)


def _varying(parts: list[Part], index: Name) -> set[Name]:
    """Return the names that differ between points of an index; variables are assumed to."""
    found = {index}
    for stm in _statements(parts):
        uses = FreeNames()
        uses.stms((stm,))
        if isinstance(stm, imp.Declare | imp.If) or not found.isdisjoint(uses.scalars):
            found |= uses.bound | names((stm,), "assigns")
    return found


def _shared(parts: list[Part], lane: Name, by_row: set[Name]) -> bool:
    """True if lanes read adjacent cells that are the same for all rows."""
    return any(
        isinstance(stm, imp.Load) and lane in reads(stm.at) and not reads(stm.at) & by_row
        for part in parts
        if isinstance(part, LaneLoop)
        for stm in part.stms
    )
