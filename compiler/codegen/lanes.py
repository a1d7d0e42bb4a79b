"""Vectorise a map over its last dimension: inner loops outside, loops over lanes inside.

The points `j .. j + lanes` of a map's last dimension run in lockstep: an inner loop with a uniform
bound stays outside, and the statements between loops become loops over lanes, which compilers
vectorise. Uniform values are computed once. This is legal for every map, since points are
independent; it pays where adjacent points read adjacent cells.
"""

from __future__ import annotations

from dataclasses import field

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.codegen.free_names import FreeNames
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import defined_scalars, holds_block
from compiler.codegen.stm_uses import StmUses, cell_access
from compiler.codegen.traits import assigned, reads, stored
from compiler.ir.nodes import SE
from compiler.ir.sizes import poly_of

_STRAIGHT = imp.Define | imp.Apply | imp.Load | imp.Store | imp.Declare | imp.Assign
TILE_BYTES = 512
"""Bytes of a variable for all lanes of a tile."""


@dataclass(slots=True)
class LaneLoop:
    """Statements that every lane runs."""

    stms: list[imp.Stm] = field(default_factory=list)


@dataclass(slots=True)
class Uniform:
    """A uniform statement."""

    stm: imp.Stm


@dataclass(slots=True)
class UniformLoop:
    """A loop that all lanes run in lockstep."""

    loop: imp.For
    parts: list[Part]


Part = LaneLoop | Uniform | UniformLoop


@dataclass(slots=True)
class LaneTiling:
    """A body in parts; `kept` are variables live across lane loops."""

    parts: list[Part]
    kept: dict[Name, Prim]
    lanes: int


def lane_tiling(kernel: imp.Kernel) -> LaneTiling | None:
    """Return the split of the last dimension into lanes; None if impossible or unprofitable."""
    if not isinstance(kernel.work, imp.MapWork) or kernel.per_block or not kernel.dims:
        return None
    splitter = _Splitter(kernel)
    parts = splitter.split(kernel.body)
    if parts is None or not splitter.loops or not splitter.pays:
        return None
    kept: dict[Name, Prim] = {}
    splitter.crossing(parts, kept)
    widest = max([BYTES[p] for p in kept.values()], default=4)
    return LaneTiling(parts, kept, TILE_BYTES // max(4, widest))


def _stored_before_the_end(body: imp.Stms) -> set[Name]:
    """Return the blocks that a point may write and then read.

    Excludes final stores to existing arrays: no other point reads those cells, and the point's own
    reads come before.
    """
    end = len(body)
    while end and isinstance(body[end - 1], imp.Store):
        end -= 1
    return stored(body[:end])


class _Splitter:
    """Splits a body; `varying` are the names that differ between lanes."""

    def __init__(self, kernel: imp.Kernel) -> None:
        self.lane = kernel.dims[-1][0]
        self.varying: set[Name] = {self.lane}
        self.written = _stored_before_the_end(kernel.body)
        self.prims: dict[Name, Prim] = {}
        self.loops = 0
        self.pays = True

    def varies(self, se: SE) -> bool:
        """True if an expression differs between lanes."""
        return bool(reads(se) & self.varying)

    def split(self, stms: imp.Stms, inner: bool = False) -> list[Part] | None:
        """Split a statement list into parts; None if a statement does not fit."""
        parts: list[Part] = []
        for stm in stms:
            part = self.part(stm, inner)
            if part is None:
                return None
            if isinstance(part, LaneLoop) and parts and isinstance(parts[-1], LaneLoop):
                parts[-1].stms.extend(part.stms)
            elif isinstance(part, Uniform) and parts and isinstance(parts[-1], LaneLoop):
                parts.insert(len(parts) - 1, part)
            else:
                parts.append(part)
        return parts

    def part(self, stm: imp.Stm, inner: bool) -> Part | None:
        """Split one statement."""
        if isinstance(stm, imp.For):
            return self.uniform_loop(stm)
        if isinstance(stm, imp.If):
            return LaneLoop([stm]) if self.simple(stm) else None
        if not isinstance(stm, _STRAIGHT) or holds_block(stm):
            return None
        self.prims.update(defined_scalars(stm))
        uses, is_constant = StmUses(stm), not isinstance(stm, imp.Declare | imp.Assign)
        varies = not self.varying.isdisjoint(uses.scalars) or not self.written.isdisjoint(uses.read)
        if uses.bound and is_constant and not varies:
            return Uniform(stm)
        self.varying.update(uses.bound)
        cells = cell_access(stm)
        if inner and cells and not self.next_to(cells.at):
            self.pays = False
        return LaneLoop([stm])

    def uniform_loop(self, stm: imp.For) -> UniformLoop | None:
        """Split a loop with a uniform bound."""
        if self.varies(stm.bound):
            return None
        self.loops += 1
        parts = self.split(stm.body, inner=True)
        return None if parts is None else UniformLoop(stm, parts)

    def simple(self, stm: imp.If) -> bool:
        """True for a branch without loops or escaping definitions."""
        for inner in (*stm.then, *stm.orelse):
            if isinstance(inner, imp.If):
                if not self.simple(inner):
                    return False
            elif not isinstance(inner, _STRAIGHT) or holds_block(inner):
                return False
            else:
                self.prims.update(defined_scalars(inner))
                self.varying.update(name for name, _ in defined_scalars(inner))
        return True

    def next_to(self, at: SE) -> bool:
        """True if adjacent lanes address adjacent cells."""
        poly = poly_of(at)
        if poly is None:
            return False
        rest = poly - Poly.var(self.lane)
        return not rest.names() & self.varying

    def crossing(self, parts: list[Part], kept: dict[Name, Prim]) -> None:
        """Collect varying names that are defined in one lane loop and used in another."""
        for part in parts:
            if isinstance(part, UniformLoop):
                self.crossing(part.parts, kept)
            elif isinstance(part, LaneLoop):
                uses = FreeNames()
                stms = tuple(part.stms)
                uses.stms(stms)
                outer = (set(uses.scalars) | assigned(stms)) - uses.bound
                for name in sorted(outer & self.varying - {self.lane}):
                    kept[name] = self.prims[name]
