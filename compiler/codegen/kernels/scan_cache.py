"""Cache values of a scan's points between its first and last stage.

Note [Kept points]. Both stages need a point's operator inputs, and the last one also the inputs of
a fused map. Recomputing them repeats their loads. So the first stage stores some intermediate
values, and the last continues from there, if that moves fewer bytes: a one-byte flag in place of
everything that a condition has read. Values that a point stores anyway are read from there; then
the first stage performs all stores of the point. The cost of an access is its cell's bytes if the
address depends on indices alone, since neighbouring threads use the rest of the sector; else a
sector.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.base.remarks import Applied, Outcome
from compiler.base.rules import Rule
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import statements
from compiler.codegen.index import row_major
from compiler.codegen.kernels.fuse_scan_map import KeptValue, own_value
from compiler.codegen.kernels.nodes import OWN
from compiler.codegen.kernels.same_blocks import Blocks
from compiler.codegen.stm_uses import StmUses
from compiler.codegen.traits import assigned, loaded, may_recompute, reads, stored, traits_of
from compiler.ir.nodes import SE, Lit, Var
from compiler.ir.sizes import prim_of
from compiler.ir.walk import map_subexpressions, se_parts

KEPT = Rule(
    "kernels/kept", "Stores the values of a scan's points if computing them again would read more."
)
SECTOR = 32
NEVER = 1 << 40
"""Cost of a value that cannot be recomputed alone, in bytes."""
_PLAIN = (imp.Define, imp.Declare, imp.Assign, imp.Load, imp.Store, imp.If, imp.Assert, imp.Apply)


@dataclass(frozen=True, slots=True)
class KeptPoints:
    """A scan's points: `first` in its first stage and `last` in its last.

    `folds` and `ends` are the inputs of the last stage, `cells` new blocks with a cell per point.
    """

    first: imp.Stms
    last: imp.Stms
    folds: tuple[imp.Fold, ...]
    ends: tuple[KeptValue, ...]
    cells: tuple[tuple[Name, Prim], ...]


def kept_points(
    scan: imp.Kernel, folds: tuple[imp.Fold, ...], ends: tuple[KeptValue, ...], blocks: Blocks
) -> Outcome[KeptPoints]:
    """Choose the values that a scan caches, if any; see Note [Kept points].

    `ends` are values used by a fused map, `blocks` what variables may hold.
    """
    body = scan.body
    if not may_recompute(body, traits_of(body)):
        return None
    if not all(isinstance(stm, _PLAIN) for stm in statements(body)):
        return None
    points = _Points(scan, f"{folds[0].op.lhs[0]}_kept")
    folds = tuple(replace(f, inputs=tuple(map(points.take, f.inputs))) for f in folds)
    ends = tuple(replace(end, value=points.take(end.value)) for end in ends)
    again = {(s.block, s.at): points.fetch(s) for s in statements(body) if isinstance(s, imp.Load)}
    cost = sum(map(points.keep, points.kept))
    cost += sum(points.fetch(s) for s in points.redone.values() if isinstance(s, imp.Load))
    if not points.kept or cost >= sum(again.values()):
        return None

    def of(some: Set[Name]) -> set[Name]:
        return {one for name in some for one in blocks.get(name, frozenset((name,)))}

    redone = tuple(points.redone[stm] for stm in points.made if stm in points.redone)
    if of(stored(body)) & of(loaded(redone)):
        return None
    because = (
        f"The last kernel would read about {sum(again.values())} bytes per point again. "
        f"It reads the values that the first kernel stored instead, about {cost} bytes "
        "written and read."
    )
    made = KeptPoints(
        (*body, *points.stores()), (*points.loads(), *redone), folds, ends, points.cells()
    )
    return Applied(made, because)


class _Points:
    """Statements of a scan's points, with the values chosen so far to keep or recompute."""

    def __init__(self, scan: imp.Kernel, name: Name) -> None:
        self.name, self.prov = name, scan.prov
        own = [Var(index, "i64") for index, _ in scan.dims]
        self.own = row_major(own, [size for _, size in scan.dims])
        body = scan.body
        self.made = {s.name: s for s in body if isinstance(s, imp.Define | imp.Load)}
        self.bound = traits_of(body).bound | assigned(body)
        """All variables of the points."""
        self.data: set[Name] = set()
        """Variables that depend on loads."""
        for stm in statements(body):
            uses = StmUses(stm)
            if not isinstance(stm, imp.Define) or not self.data.isdisjoint(uses.scalars):
                self.data.update(uses.bound)
        stores = (s for s in body if isinstance(s, imp.Store) and not reads(s.at) & self.bound)
        self.stored = {store.value: store for store in stores}
        """Values that the points store anyway."""
        self.kept: dict[SE, Name] = {}
        self.redone: dict[Name, imp.Define | imp.Load] = {}
        self.known: dict[Name, int] = {}

    def fetch(self, load: imp.Load) -> int:
        """Return the bytes of an access."""
        return SECTOR if reads(load.at) & self.data else BYTES[load.prim]

    def keep(self, se: SE) -> int:
        """Return the bytes to write a value, unless stored anyway, and to read it."""
        return BYTES[prim_of(se)] * (1 if se in self.stored else 2)

    def again(self, se: SE) -> int:
        """Return the bytes to recompute a value, from kept values where that is cheaper."""
        if not isinstance(se, Var):
            return sum(map(self.cost, se_parts(se)))
        if se.name not in self.bound:
            return 0
        if se.name not in self.known:
            match self.made.get(se.name):
                case imp.Define(value=value):
                    self.known[se.name] = self.cost(value)
                case imp.Load() as load:
                    self.known[se.name] = self.cost(load.at) + self.fetch(load)
                case None:
                    self.known[se.name] = NEVER
        return self.known[se.name]

    def cost(self, se: SE) -> int:
        """Return the bytes of a value, kept or recomputed."""
        return 0 if isinstance(se, Lit) else min(self.keep(se), self.again(se))

    def take(self, se: SE) -> SE:
        """Return a value in the last stage."""
        if self.cost(se) < self.again(se):
            name = self.kept.setdefault(se, f"{self.name}_{len(self.kept) + 1}")
            return Var(f"{OWN}{own_value(name)}", prim_of(se))
        if not isinstance(se, Var):
            return map_subexpressions(se, self.take)
        stm = self.made.get(se.name) if se.name in self.bound else None
        if stm is not None and se.name not in self.redone:
            if isinstance(stm, imp.Define):
                self.redone[se.name] = replace(stm, value=self.take(stm.value))
            else:
                self.redone[se.name] = replace(stm, at=self.take(stm.at))
        return se

    def cells(self) -> tuple[tuple[Name, Prim], ...]:
        """Return the blocks allocated for kept values."""
        return tuple((n, prim_of(se)) for se, n in self.kept.items() if se not in self.stored)

    def stores(self) -> imp.Stms:
        """Return a point's stores of kept values."""
        values = ((se, name) for se, name in self.kept.items() if se not in self.stored)
        return tuple(imp.Store(n, prim_of(se), self.own, se, self.prov) for se, n in values)

    def loads(self) -> imp.Stms:
        """Return a point's loads of kept values."""
        found: list[imp.Stm] = []
        for se, name in self.kept.items():
            store = self.stored.get(se)
            block, at = (store.block, store.at) if store else (name, self.own)
            found.append(imp.Load(f"{OWN}{own_value(name)}", prim_of(se), block, at, self.prov))
        return tuple(found)
