"""Fuse a scan with the map that consumes its prefixes, which then bypass memory.

Note [Handed prefixes]. The map runs at the end of the scan's last kernel, at the map's place among
the host's statements: after those that use the last prefix, which the second stage provides. There
the scan's points are recomputed, so nothing may have changed their inputs, and the map must not
change them either: other threads still read. Values that both load at their point, and that the
scan's point stores for the map's, wait in shared memory until the prefix is known.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import replace

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import Rule
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import names, statements
from compiler.codegen.index import sub
from compiler.codegen.kernels.nodes import OWN
from compiler.codegen.kernels.same_blocks import Blocks
from compiler.codegen.kernels.walk import free_names
from compiler.codegen.sequential import with_updates
from compiler.codegen.stm_uses import BlockUses
from compiler.codegen.traits import loaded, may_recompute, stored, traits_of
from compiler.ir.nodes import ONE, SE, ZERO, Var

HANDED = Rule(
    "kernels/handed", "Fuses a map that reads prefixes into the last kernel of their scan."
)
NEAR = 64
"""Maximum number of statements after a scan searched for the map."""


@dataclass(frozen=True, slots=True)
class KeptValue:
    """A value of a point that the map uses: `name` is its shared block per tile."""

    name: Name
    prim: Prim
    value: SE


@dataclass(frozen=True, slots=True)
class ScanMapFusion:
    """A fused scan and the host statements after it.

    `ends` consumes each prefix. After the first two stages comes `between`, with `totals` in place
    of last prefixes; then the third stage, and `behind`. The blocks `gone` are unused.
    """

    scan: imp.Kernel
    kept: tuple[KeptValue, ...]
    ends: imp.Stms
    between: imp.Stms
    behind: imp.Stms
    totals: tuple[tuple[Name, Prim], ...]
    gone: frozenset[Name]


def own_value(block: Name) -> Name:
    """Return the name of a point's kept value."""
    return f"{block}_own"


def total(lhs: Name) -> Name:
    """Return the name of the block with a component's last prefix."""
    return f"{lhs}_total"


class Users:
    """Index from blocks to the statements of a list that use them."""

    def __init__(self, stms: Iterable[imp.Stm]) -> None:
        self.of: dict[Name, list[imp.Stm]] = {}
        for stm in stms:
            self.add(stm)

    def add(self, stm: imp.Stm) -> None:
        """Add a statement."""
        if not isinstance(stm, imp.Alloc):
            for block in free_names((stm,)).blocks:
                self.of.setdefault(block, []).append(stm)

    def replace(self, old: imp.Stm, new: imp.Stm) -> None:
        """Replace a statement."""
        for block in free_names((old,)).blocks:
            self.of[block] = [stm for stm in self.of[block] if stm is not old]
        self.add(new)

    def others(self, blocks: Iterable[Name], but: imp.Stms) -> set[Name]:
        """Return those blocks used by a statement other than `but`."""
        known = set(map(id, but))
        return {b for b in blocks if any(id(stm) not in known for stm in self.of.get(b, ()))}


def plan_fusion(
    scan: imp.Kernel, rest: imp.Stms, fresh: Set[Name], users: Users, blocks: Blocks
) -> Outcome[ScanMapFusion]:
    """Plan the fusion of a map after a scan, if there is one; see Note [Handed prefixes].

    `rest` are up to NEAR statements after the scan, `fresh` the blocks allocated by its list that
    are no results, `users` those of the list, `blocks` what the program's variables may hold.
    """
    assert isinstance(scan.work, imp.ScanWork)
    if len(scan.dims) != 1:
        return None
    (index, size), folds = scan.dims[0], scan.work.folds
    prefixes: dict[Name, tuple[Name, Prim]] = {}
    for fold in folds:
        for into, lhs, prim in zip(fold.into, fold.op.lhs, fold.op.prims, strict=True):
            if not isinstance(into, imp.Cell) or into.at != Var(index, "i64"):
                return None
            prefixes[into.block] = (lhs, prim)
    at = next((n for n, s in enumerate(rest) if _takes(s, prefixes.keys())), None)
    if at is None:
        return None
    taker = rest[at]
    assert isinstance(taker, imp.Kernel)
    if len(taker.dims) != 1 or taker.dims[0][1] != size or taker.per_block:
        return Missed("The map that reads the prefixes has other points than the scan.")
    between = tuple(_with_totals(s, prefixes, sub(size, ONE)) for s in rest[:at])
    behind = rest[at + 1 :]
    out = _why_not(scan, taker, between, blocks)
    if out is not None:
        return Missed(out)
    stores = _own_stores(scan.body, Var(index, "i64"))
    used = users.others((*prefixes, *stores), (scan, taker, *rest[:at]))
    fetched = free_names(between).blocks
    used |= fetched.keys()
    remade = _own_stores(taker.body, Var(taker.dims[0][0], "i64")).keys()
    unused = prefixes.keys() - remade
    if prefixes.keys() & fetched.keys() or unused & used or not unused <= fresh:
        return Missed("Other statements also read the prefixes.")
    own, kept = taker.dims[0][0], dict[Name, KeptValue]()
    taken = _taken(taker.body, own, _known(scan, index, prefixes, stores), kept)
    ends = (imp.Define(own, "i64", Var(index, "i64"), taker.prov), *taken)
    if loaded(ends) & (prefixes.keys() | stored(scan.body)):
        return Missed("The map also reads prefixes of other points.")
    gone = frozenset(unused) | ((stores.keys() & kept.keys() & fresh) - used)
    body = tuple(s for s in scan.body if not (isinstance(s, imp.Store) and s.block in gone))
    totals = tuple((lhs, prim) for lhs, prim in prefixes.values() if total(lhs) in fetched)
    made = ScanMapFusion(
        replace(scan, body=body), tuple(kept.values()), ends, between, behind, totals, gone
    )
    return Applied(
        made,
        "Each prefix is used where it is computed: the map has the same points as the "
        "scan, and nothing that they read is written before the map ends.",
    )


def _known(
    scan: imp.Kernel,
    index: Name,
    prefixes: Mapping[Name, tuple[Name, Prim]],
    stores: Mapping[Name, imp.Store],
) -> dict[Name, tuple[SE, bool]]:
    """Return the values known at each scan point for its own cells, and whether to keep them."""
    at = Var(index, "i64")
    known: dict[Name, tuple[SE, bool]] = {
        s.block: (Var(s.name, s.prim), True)
        for s in scan.body
        if isinstance(s, imp.Load) and s.at == at
    }
    known |= {block: (store.value, True) for block, store in stores.items()}
    return known | {block: (Var(*lhs), False) for block, lhs in prefixes.items()}


def _taken(
    stms: imp.Stms, own: Name, known: Mapping[Name, tuple[SE, bool]], kept: dict[Name, KeptValue]
) -> imp.Stms:
    """Replace a map's loads by known values; registers those to keep."""
    found: list[imp.Stm] = []
    for stm in stms:
        if isinstance(stm, imp.If):
            then, orelse = (_taken(part, own, known, kept) for part in (stm.then, stm.orelse))
            stm = replace(stm, then=then, orelse=orelse)
        if isinstance(stm, imp.Load) and stm.at == Var(own, "i64") and stm.block in known:
            value, waits = known[stm.block]
            if waits:
                name = f"{OWN}{stm.block}_kept"
                kept[stm.block] = KeptValue(name, stm.prim, value)
                value = Var(own_value(name), stm.prim)
            stm = imp.Define(stm.name, stm.prim, value, stm.prov)
        found.append(stm)
    return tuple(found)


def _takes(stm: imp.Stm, prefixes: Set[Name]) -> bool:
    """True for a map that loads prefixes."""
    is_map = isinstance(stm, imp.Kernel) and isinstance(stm.work, imp.MapWork)
    return is_map and bool(prefixes & loaded((stm,)))


def _own_stores(body: imp.Stms, own: SE) -> dict[Name, imp.Store]:
    """Return the stores of each point to its own cell, in blocks stored nowhere else."""
    every = [s for s in statements(body) if isinstance(s, imp.Store)]
    times = Counter(s.block for s in every)
    found = (s for s in body if isinstance(s, imp.Store) and s.at == own)
    return {s.block: s for s in found if times[s.block] == 1}


def _with_totals(stm: imp.Stm, prefixes: dict[Name, tuple[Name, Prim]], last: SE) -> imp.Stm:
    """Replace reads of the last prefix in a host statement by the second stage's total."""
    if isinstance(stm, imp.If):
        then, orelse = (
            tuple(_with_totals(s, prefixes, last) for s in part) for part in (stm.then, stm.orelse)
        )
        return replace(stm, then=then, orelse=orelse)
    if isinstance(stm, imp.Load) and stm.block in prefixes and stm.at == last:
        return replace(stm, block=total(prefixes[stm.block][0]), at=ZERO)
    return stm


def _why_not(scan: imp.Kernel, taker: imp.Kernel, between: imp.Stms, blocks: Blocks) -> str | None:
    """Return why the scan's points cannot be recomputed at the map, or None."""
    traits, own = traits_of(scan.body), traits_of(taker.body)
    if traits.asserts or traits.allocs or not may_recompute(scan.body, traits):
        return "The scan's points have loops or checks, so they are not computed twice."
    if own.loops or own.allocs or with_updates(taker.body, lambda *_: ()) is not taker.body:
        return "The map has its own loops, memory or histograms."
    uses = free_names(scan.body)

    def of(some: Set[Name]) -> set[Name]:
        return {one for name in some for one in blocks.get(name, frozenset((name,)))}

    touched = of(loaded(scan.body) | stored(scan.body))
    if touched & of(stored(taker.body) | BlockUses(between).written.keys()):
        return "The memory that the scan's points read is written before the map ends."
    ended = names(between, "frees") | names(between, "assigns")
    if (touched | uses.free_scalars().keys()) & of(ended):
        return "The memory that the scan's points read is freed before the map begins."
    if stored(scan.body) & free_names(between).blocks.keys():
        return "The results of the scan's points are used before the map begins."
    return None
