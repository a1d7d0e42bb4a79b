"""Count the memory requests of a launch's warps: sectors, bank passes, cache misses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import numpy as np

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import statements
from compiler.codegen.kernels import nodes as k
from compiler.explain.warp_work import FirstCache, Mask, Numbers, Spent
from compiler.runtime.observer.records import Sample

SECTOR, BANKS = 32, 32
SAMPLED_WARPS, SAMPLED_STEPS = 4, 4
CELLS, CONDITION = (
    "the cells that it accesses depend on the data",
    "the number of executions depends on the data",
)


@dataclass(slots=True)
class Cost:
    """The cost of an access in all launches; the fields are those of the observer's `Site`.

    `because` explains why there is none. `exact`: no sampling. `full` counts requests of all lanes
    of a warp; the others have from `low` to `high` lanes.
    """

    requests: float = 0
    lanes: float = 0
    bytes: float = 0
    sectors: float = 0
    fewest: float = 0
    passes: float = 0
    least: float = 0
    full: float = 0
    low: int = BANKS
    high: int = 0
    exact: bool = True
    because: str = ""
    samples: list[Sample] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LaneAccess:
    """An access of a statement, which has these lines, to so many neighbouring cells."""

    stm: imp.Stm
    lines: Sequence[int]
    block: Name
    prim: Prim
    cells: int


class Requests:
    """The requests of a launch; `costs` are by line, and `first` is true for the first launch."""

    def __init__(self, kernel: k.Kernel, costs: dict[int, Cost], spent: Spent, first: bool) -> None:
        allocs = [s for s in statements(kernel.body) if isinstance(s, imp.Alloc)]
        self.shared = {s.name for s in allocs if s.space == "shared"}
        self.own = {s.name for s in allocs if s.space != "shared"}
        self.costs = costs
        self.spent = spent
        self.first = first
        self.exact = True
        self.cache = FirstCache(0)

    def unsure(self, lines: Sequence[int], because: str) -> None:
        """Mark accesses as unpredictable."""
        for line in lines:
            cost = self.costs.setdefault(line, Cost())
            cost.because = cost.because or because

    def make(
        self, access: LaneAccess, cell: Numbers | None, mask: Mask, sure: bool, weight: Numbers
    ) -> None:
        """Count the requests of an access to cells that are known or not, by weighted warps.

        `sure`: how often it is made is known.
        """
        block, prim, lines = access.block, access.prim, access.lines
        own = mask.sum(axis=1)
        active, lanes = float(weight @ (own > 0)), float(weight @ own)
        size, shared = BYTES[prim] * access.cells, block in self.shared
        if cell is None:
            if shared:
                self.spent.share(access.stm, active * max(1, size // 4), lanes)
            else:
                self.spent.ask(access.stm, block, active, lanes, lanes, lanes, size)
        if not sure or cell is None:
            self.unsure(lines, CONDITION if not sure else CELLS)
        if cell is None and not sure:
            return
        cost = self.costs.setdefault(lines[0], Cost()) if sure else Cost()
        cost.exact = cost.exact and self.exact
        cost.requests += active
        cost.lanes += lanes
        cost.full += float(weight @ (own == mask.shape[1]))
        some = own[(own > 0) & (own < mask.shape[1])]
        if some.size:
            cost.low, cost.high = min(cost.low, int(some.min())), max(cost.high, int(some.max()))
        if cell is None:
            return
        first = np.broadcast_to(np.asarray(cell, np.int64) * BYTES[prim], mask.shape)
        needed = _different(first, mask) * size
        cost.bytes += float(weight @ needed)
        if sure:
            self.sample(cost, first, mask)
        if shared:
            words = np.concatenate([(first + byte) // 4 for byte in range(0, size, 4)], axis=1)
            both = np.concatenate([mask] * len(range(0, size, 4)), axis=1)
            passes = float(weight @ _conflicts(words, both))
            cost.passes += passes
            cost.least += float(weight @ -(-needed // (4 * BANKS)))
            self.spent.share(access.stm, passes, lanes)
        else:
            ordered, differs = _firsts(first // SECTOR, mask)
            sectors = float(weight @ differs.sum(axis=1))
            cost.sectors += sectors
            cost.fewest += float(weight @ -(-needed // SECTOR))
            missed = float(weight @ self.cache.missed(block, ordered, differs))
            self.spent.ask(access.stm, block, active, lanes, sectors, missed, size)

    def sample(self, cost: Cost, first: Numbers, mask: Mask) -> None:
        """Record the first requests of the first warps, of the first launch."""
        for warp in range(min(SAMPLED_WARPS, len(mask)) if self.first else 0):
            step = sum(one.warp == warp for one in cost.samples)
            if step < SAMPLED_STEPS and mask[warp].any():
                lanes = np.where(mask[warp], first[warp], -1).tolist()
                cost.samples.append(Sample(warp, step, tuple(lanes)))


def _firsts(values: Numbers, mask: Mask) -> tuple[Numbers, Mask]:
    """Sort each row, and mark the first of equal active values."""
    low = np.iinfo(np.int64).min
    ordered = np.sort(np.where(mask, values, low), axis=1)
    first = ordered != low
    first[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    return ordered, first


def _different(values: Numbers, mask: Mask) -> Numbers:
    """Count distinct values of the active lanes of each warp."""
    count: Numbers = _firsts(values, mask)[1].sum(axis=1)
    return count


def _conflicts(words: Numbers, mask: Mask) -> Numbers:
    """Count distinct words in the busiest bank of each warp."""
    ordered, first = _firsts(words, mask)
    rows, _ = np.nonzero(first)
    hits = np.zeros((len(words), BANKS), np.int64)
    np.add.at(hits, (rows, ordered[first] % BANKS), 1)
    most: Numbers = hits.max(axis=1)
    return most
