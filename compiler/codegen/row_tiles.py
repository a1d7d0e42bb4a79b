"""Rows of points that run side by side in a tile, since all of them read what its lanes read.

A product of matrices reads a row of the second matrix for each row of the first. A tile of several
rows by some registers of lanes (`lanes.py`) reads it once for all of them, and has as many sums
under way as a processor has registers. Points are independent, and each goes through its loops in
the same order as before: the results are the same bits.
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
"""Rows of a tile with one variable for each point, as long as there are several registers of
lanes; a variable for each point takes 24 of 32 registers then."""
MOST_OF_ONE = 8
"""Rows of a tile that is one register wide."""


@dataclass(frozen=True, slots=True)
class RowTile:
    """`index`: the dimension that a tile has several points of. `varying`: what differs by it.

    `rows`: how many, of tiles of several registers and of one.
    """

    index: Name
    varying: frozenset[Name]
    rows: tuple[int, int]


def row_tile(kernel: imp.Kernel, tiling: LaneTiling) -> RowTile | None:
    """The innermost dimension whose points share what lanes read; None if there is none."""
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
    """The names that differ between points of an index; variables are taken to."""
    found = {index}
    for stm in _statements(parts):
        uses = FreeNames()
        uses.stms((stm,))
        if isinstance(stm, imp.Declare | imp.If) or not found.isdisjoint(uses.scalars):
            found |= uses.bound | names((stm,), "assigns")
    return found


def _shared(parts: list[Part], lane: Name, by_row: set[Name]) -> bool:
    """Whether neighbouring lanes read cells of their own that are the same for all rows."""
    return any(
        isinstance(stm, imp.Load) and lane in reads(stm.at) and not reads(stm.at) & by_row
        for part in parts
        if isinstance(part, LaneLoop)
        for stm in part.stms
    )
