"""What a scan's points come to, kept by its first stage for its last.

Note [Kept points]. Both stages need a point's inputs of the operator, and the last one also what
its end takes. Computing them again reads again what they come from. So the first stage stores some
of the values between, and the last goes on from there, if that moves fewer bytes: a flag of a byte
in place of all that a condition has read. What a point stores for others in any case is read from
where it lies; then the first stage stores it, and all else that a point stores. The bytes of an
access are those of its cell where the address depends on indices alone, since the neighbours of a
thread use the rest of the sector; else a sector.
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
from compiler.codegen.index import row_major
from compiler.codegen.kernels.fuse_scan_map import KeptValue, own_value
from compiler.codegen.kernels.nodes import OWN
from compiler.codegen.kernels.same_blocks import Blocks
from compiler.codegen.kernels.walk import statements
from compiler.codegen.traits import assigned, loaded, may_recompute, reads, stored, traits_of
from compiler.ir.nodes import SE, Lit, Var
from compiler.ir.sizes import prim_of
from compiler.ir.walk import map_subexpressions, se_parts

KEPT = Rule("kernels/kept", "A scan keeps what its points come to where reading again costs more.")
SECTOR = 32
NEVER = 1 << 40
"""The bytes of what cannot be computed again on its own."""
_PLAIN = (imp.Define, imp.Declare, imp.Assign, imp.Load, imp.Store, imp.If, imp.Assert, imp.Apply)


@dataclass(frozen=True, slots=True)
class KeptPoints:
    """A scan's points, `first` in its first stage and `last` in its last.

    `folds` and `ends` have what the last stage needs of each point, `cells` are new blocks with a
    cell for each.
    """

    first: imp.Stms
    last: imp.Stms
    folds: tuple[imp.Fold, ...]
    ends: tuple[KeptValue, ...]
    cells: tuple[tuple[Name, Prim], ...]


def kept_points(
    scan: imp.Kernel, folds: tuple[imp.Fold, ...], ends: tuple[KeptValue, ...], blocks: Blocks
) -> Outcome[KeptPoints]:
    """What a scan had better keep, if anything: see Note [Kept points].

    `ends` are the values of a point that its end takes, `blocks` what variables may hold.
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
        f"The last stage would read about {sum(again.values())} bytes of each point once more; it "
        f"takes what the first has kept, which is about {cost} bytes to write and to read."
    )
    made = KeptPoints(
        (*body, *points.stores()), (*points.loads(), *redone), folds, ends, points.cells()
    )
    return Applied(made, because)


class _Points:
    """The statements of a scan's points, and what is kept and computed again of them so far."""

    def __init__(self, scan: imp.Kernel, name: Name) -> None:
        self.name, self.prov = name, scan.prov
        own = [Var(index, "i64") for index, _ in scan.dims]
        self.own = row_major(own, [size for _, size in scan.dims])
        body = scan.body
        self.made = {s.name: s for s in body if isinstance(s, imp.Define | imp.Load)}
        self.bound = traits_of(body).bound | assigned(body)
        """All variables of the points."""
        self.data: set[Name] = set()
        """Those that depend on what is read."""
        for stm in statements(body):
            if isinstance(stm, imp.Load | imp.Declare):
                self.data.add(stm.name)
            elif isinstance(stm, imp.Apply):
                self.data.update(stm.names)
            elif isinstance(stm, imp.Define) and reads(stm.value) & self.data:
                self.data.add(stm.name)
        stores = (s for s in body if isinstance(s, imp.Store) and not reads(s.at) & self.bound)
        self.stored = {store.value: store for store in stores}
        """What the points store in any case."""
        self.kept: dict[SE, Name] = {}
        self.redone: dict[Name, imp.Define | imp.Load] = {}
        self.known: dict[Name, int] = {}

    def fetch(self, load: imp.Load) -> int:
        """The bytes of an access."""
        return SECTOR if reads(load.at) & self.data else BYTES[load.prim]

    def keep(self, se: SE) -> int:
        """The bytes to write a value, unless that is done in any case, and to read it."""
        return BYTES[prim_of(se)] * (1 if se in self.stored else 2)

    def again(self, se: SE) -> int:
        """The bytes to compute a value again, from values that are kept where that is better."""
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
        """The bytes that a value takes."""
        return 0 if isinstance(se, Lit) else min(self.keep(se), self.again(se))

    def take(self, se: SE) -> SE:
        """A value in the last stage."""
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
        """The blocks that are made for what is kept."""
        return tuple((n, prim_of(se)) for se, n in self.kept.items() if se not in self.stored)

    def stores(self) -> imp.Stms:
        """A point keeps what nothing else stores."""
        values = ((se, name) for se, name in self.kept.items() if se not in self.stored)
        return tuple(imp.Store(n, prim_of(se), self.own, se, self.prov) for se, n in values)

    def loads(self) -> imp.Stms:
        """A point reads what was kept."""
        found: list[imp.Stm] = []
        for se, name in self.kept.items():
            store = self.stored.get(se)
            block, at = (store.block, store.at) if store else (name, self.own)
            found.append(imp.Load(f"{OWN}{own_value(name)}", prim_of(se), block, at, self.prov))
        return tuple(found)
