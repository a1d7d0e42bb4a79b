"""Predict the cost of a kernel's memory requests from its index expressions.

Nothing is run. All threads (or a sample of warps) go through the kernel at once, as columns of
numbers. Values that a thread computes from its number, loop counters and the kernel's arguments are
known; values that it reads are not. So accesses are predicted where their cells do not depend on
data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from itertools import count
from typing import Any

import numpy as np
import numpy.typing as npt

from compiler.base.dataclass import dataclass
from compiler.base.dtypes import DTYPE
from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.base.text import Text
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import bodies, statements
from compiler.codegen.index import add
from compiler.codegen.kernels import nodes as k
from compiler.explain.instructions import Instructions
from compiler.explain.warp_work import FirstCache, Mask, Numbers, Spent
from compiler.ir import nodes as ir
from compiler.ir import scalar
from compiler.runtime.observer.records import Sample

WARP, SECTOR, BANKS = 32, 32, 32
MOST_WARPS = 512
"""Of a launch with more warps, so many are sampled at even distances."""
SAMPLED_WARPS, SAMPLED_STEPS = 4, 4
MOST_STEPS = 256
"""Of a loop with more iterations, so many are sampled at even distances."""
RUN = 4
"""Samples in a row, so that repeated requests are seen."""
MOST_ROUNDS = 32
"""Samples of a loop with nested loops, in a launch that is estimated in any case."""
CELLS, CONDITION, HOST = (
    "which cells it touches depends on the data",
    "how often it is made depends on the data",
    "what the host launches depends on the data",
)


@dataclass(slots=True)
class Cost:
    """The cost of an access in all launches; the fields are those of the observer's `Site`.

    `because` explains why there is none. `exact`: no sampling.
    """

    requests: float = 0
    lanes: float = 0
    bytes: float = 0
    sectors: float = 0
    fewest: float = 0
    passes: float = 0
    least: float = 0
    exact: bool = True
    because: str = ""
    samples: list[Sample] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Place:
    """A statement of a kernel, with its lines in the text and its nested bodies."""

    stm: imp.Stm
    lines: tuple[int, ...]
    bodies: tuple[tuple[Place, ...], ...]


def lines_of(text: Text, kernel: str) -> tuple[int, int]:
    """Return the first line of a kernel in the text, and the one behind its last, from 1."""
    head = f'extern "C" __global__ void {kernel}('
    start = next(at for at, line in enumerate(text) if line.text.startswith(head))
    return start + 1, next(at for at in range(start, len(text)) if text[at].text == "}") + 2


def places(text: Text, kernel: k.Kernel) -> tuple[Place, ...]:
    """Return the kernel's statements with their lines in the text, from 1."""
    start, end = lines_of(text, kernel.name)
    lines: dict[int, list[int]] = {}
    for number in range(start + 1, end):
        lines.setdefault(text[number - 1].node, []).append(number)
    # The printer gives statements numbers in the order in which they stand.
    return _places(kernel.body, lines, count(text[start - 1].node + 1))


def _places(
    stms: imp.Stms, lines: Mapping[int, list[int]], numbers: Iterator[int]
) -> tuple[Place, ...]:
    found = []
    for stm in stms:
        own = tuple(lines.get(next(numbers), ()))
        inside = tuple([_places(body, lines, numbers) for body in bodies(stm)])
        found.append(Place(stm, own, inside))
    return tuple(found)


def all_places(found: Sequence[Place]) -> Iterator[Place]:
    """Yield statements with nested ones."""
    for place in found:
        yield place
        for body in place.bodies:
            yield from all_places(body)


WIDE_LINE, EACH_LINE = 1, 3
"""Lines of an access to neighbouring cells: the single request, and the first of one each."""


class TooMuch(Exception):
    """Counting takes more effort than allowed."""


@dataclass(slots=True)
class Effort:
    """The remaining effort, in statements: the same on every machine."""

    left: float = float("inf")

    def spend(self, lanes: int) -> None:
        """Spend effort on a statement for so many threads. Raises TooMuch."""
        self.left -= 1 + lanes / LANES_AS_MUCH
        if self.left < 0:
            raise TooMuch


LANES_AS_MUCH = 8192
"""Threads whose numbers take as long as the fixed cost of a statement."""


@dataclass(slots=True)
class Launch:
    """A launch that is analysed; `costs` are by line."""

    kernel: k.Kernel
    threads: int
    """per block"""
    costs: dict[int, Cost]
    times: float = 1
    """the number of launches that it stands for"""
    all_launches: bool = True
    """true if these are all equal to it"""
    known: dict[Name, tuple[Numbers, Mask]] = field(default_factory=dict)
    shared: set[Name] = field(default_factory=set)
    own: set[Name] = field(default_factory=set)
    exact: bool = True
    cache: FirstCache = field(default_factory=lambda: FirstCache(0))
    effort: Effort = field(default_factory=Effort)
    takes: Mapping[int, Instructions] = field(default_factory=dict)
    """instructions of statements, by their `id`"""

    def run(self, body: Sequence[Place], blocks: int, given: Mapping[Name, Any]) -> None:
        """Run the kernel for so many blocks of threads, with its arguments."""
        each = self.threads // WARP
        total = blocks * each
        # The last block may have less to do: it stands for itself alone.
        chosen = np.concatenate([_some(total - each, MOST_WARPS), np.arange(total - each, total)])
        self.exact = self.all_launches and len(chosen) == total
        weight = np.where(chosen < total - each, (total - each) / max(1, len(chosen) - each), 1.0)
        weight = self.times * weight
        warp = chosen[:, None]
        thread = warp % each * WARP + np.arange(WARP)
        block = warp // each
        everyone = np.ones(thread.shape, np.bool_)
        self.cache = FirstCache(len(chosen))
        kinds = {param.name: DTYPE[param.prim] for param in self.kernel.params}
        self.known = {n: (np.asarray(value, kinds[n]), everyone) for n, value in given.items()}
        numbers = thread, block, np.int64(self.threads), block * self.threads + thread
        for name, value in zip(k.IDS, numbers, strict=True):
            self.known[name] = np.asarray(value), everyone
        allocs = [s for s in statements(self.kernel.body) if isinstance(s, imp.Alloc)]
        self.shared = {s.name for s in allocs if s.space == "shared"}
        self.own = {s.name for s in allocs if s.space != "shared"}
        self.alive = everyone
        with np.errstate(all="ignore"):
            self.stms(body, everyone, True, weight)

    first: bool = True
    spent: Spent = field(default_factory=Spent)
    alive: Mask = field(default_factory=lambda: np.ones(0, np.bool_))

    # --- statements --------------------------------------------------------------------------

    def stms(self, body: Sequence[Place], mask: Mask, sure: bool, weight: Numbers) -> None:
        """Run statements by the threads of `mask`; `sure`: their count is exact up to `weight`."""
        for place in body:
            now = mask & self.alive
            if now.any():
                self.stm(place, now, sure, weight)

    def stm(self, place: Place, mask: Mask, sure: bool, weight: Numbers) -> None:
        """Run a statement."""
        self.effort.spend(mask.size)
        warps = float(weight @ mask.any(axis=1))
        self.spent.carry_out(place.stm, self.takes.get(id(place.stm)), warps, sure)
        match place.stm:
            case imp.Define(name, _, value):
                self.set(name, self.value(value, mask), mask)
            case imp.Declare(name, _, value):
                self.known.pop(name, None)
                if value is not None and not isinstance(value, str):
                    self.set(name, self.value(value, mask), mask)
            case imp.Assign(name, value):
                number = self.value(value, mask) if sure and not isinstance(value, str) else None
                self.set(name, number, mask, keep=True)
            case imp.Load() | k.Fetch() | imp.Store() | k.Atomic() as stm:
                self.access(place, stm.block, stm.prim, stm.at, mask, sure, weight)
                self.known.pop(getattr(stm, "name", ""), None)
            case k.Loads() | k.Stores() as stm:
                self.wide(place, stm, mask, sure, weight)
                for name in getattr(stm, "names", ()):
                    self.known.pop(name, None)
            case k.Shuffle(name):
                self.known.pop(name, None)
            case k.Exit(cond):
                leaves = self.value(cond, mask)
                if leaves is not None:
                    self.alive = self.alive & ~(mask & leaves)
            case k.Indices(dims, flat):
                self.indices(dims, self.value(flat, mask), mask)
            case k.Scope():
                self.stms(place.bodies[0], mask, sure, weight)
            case imp.If(cond):
                test = self.value(cond, mask)
                arms = (mask, mask) if test is None else (mask & test, mask & ~test)
                for body, arm in zip(place.bodies, arms, strict=True):
                    self.stms(body, arm, sure and test is not None, weight)
            case imp.For() | k.Stride():
                self.loop(place, place.stm, mask, sure, weight)
            case imp.While(cond):
                self.forget(place)
                self.stms(place.bodies[0], mask, False, weight)
                self.forget(place)
            case k.Exchange() | k.Locked() | k.Ticket() | k.Publish() | k.Await():
                self.together(place, mask, weight)

    def together(self, place: Place, mask: Mask, weight: Numbers) -> None:
        """Run a statement that waits for other threads, or retries."""
        self.unsure(place.lines, CONDITION)
        match place.stm:
            case k.Exchange(name, prim, block, at):
                self.access(place, block, prim, at, mask, False, weight)
                self.known.pop(name, None)
            case k.Await(name):
                self.known.pop(name, None)
            case k.Ticket(name):
                self.known[name] = self.known[k.BLOCK]  # each is taken once, whoever comes first
        for body in place.bodies:
            self.stms(body, mask, False, weight)

    def indices(self, dims: Sequence[tuple[Name, ir.SE]], flat: Numbers | None, mask: Mask) -> None:
        """Bind indices to quotients and remainders of a flat index."""
        for at, (name, size) in reversed(list(enumerate(dims))):
            extent = self.value(size, mask) if at else None
            if at and (flat is None or extent is None):
                flat = None
            here = flat if flat is None or extent is None else flat % np.maximum(extent, 1)
            self.set(name, here, mask)
            if flat is not None and extent is not None:
                flat = flat // np.maximum(extent, 1)

    def loop(
        self, place: Place, stm: imp.For | k.Stride, mask: Mask, sure: bool, weight: Numbers
    ) -> None:
        """Run a counting loop: all iterations, or a sample."""
        if self.is_private(place):
            self.private(place, mask, sure, weight)
            return
        start, end, by = (
            (ir.Lit(0, stm.prim), stm.bound, ir.Lit(1, stm.prim))
            if isinstance(stm, imp.For)
            else (stm.start, stm.end, stm.by)
        )
        first, last, step = (self.counted(se, mask) for se in (start, end, by))
        if first is None or last is None or step is None:
            self.known.pop(stm.index, None)
            self.forget(place)
            self.stms(place.bodies[0], mask, False, weight)
            self.forget(place)
            return
        doubles = isinstance(stm, k.Stride) and stm.op == "*"
        if doubles:
            trips: Numbers = np.ceil(np.log2(np.maximum(last / first, 1)) / np.log2(step))
        else:
            trips = np.maximum(0, -((first - last) // step))
        trips = np.broadcast_to(np.where(mask, trips, 0).astype(np.int64), mask.shape)
        most = int(trips.max(initial=0))
        rounds = not self.exact and any(_turns(one.stm) for one in all_places(place.bodies[0]))
        chosen = _some(most, MOST_ROUNDS if rounds else MOST_STEPS)
        # The last may have less to do, as the last block: it stands for itself alone.
        usual = (most - 1) / max(1, len(chosen) - 1)
        if len(chosen) < most:
            self.exact = False
            self.forget(place)
        for turn in chosen.tolist():
            index = first * step**turn if doubles else first + turn * step
            now = mask & (turn < trips)
            self.set(stm.index, index, now)
            self.stms(place.bodies[0], now, sure, weight * (usual if turn < most - 1 else 1))

    def counted(self, se: ir.SE, mask: Mask) -> Numbers | None:
        """Return a loop bound or step as integers, or None."""
        value = self.value(se, mask)
        return None if value is None else value.astype(np.int64)

    def is_private(self, place: Place) -> bool:
        """Return True if a loop touches only private variables and arrays."""
        inner = [one.stm for one in all_places(place.bodies[0])]
        names = {stm.name for stm in inner if isinstance(stm, imp.Declare)}
        for stm in inner:
            match stm:
                case imp.Load() | imp.Store() | k.Fetch() if stm.block not in self.own:
                    return False
                case imp.Assign() | k.Fetch() if stm.name not in names:
                    return False
                case (
                    imp.Define()
                    | imp.Apply()
                    | imp.Declare()
                    | imp.Assign()
                    | imp.Load()
                    | imp.Store()
                ):
                    pass
                case imp.Apply() | k.Fetch() | k.Scope() | imp.If() | imp.For():
                    pass
                case _:
                    return False
        return True

    def private(self, place: Place, mask: Mask, sure: bool, weight: Numbers) -> None:
        """Count the instructions of a private loop."""
        stm = place.stm
        bound = stm.bound if isinstance(stm, imp.For) else getattr(stm, "end", None)
        trips = self.counted(bound, mask) if bound is not None else None
        turns = weight if trips is None else weight * np.broadcast_to(trips, mask.shape).max(axis=1)
        for inner in place.bodies[0]:
            if isinstance(inner.stm, imp.For | k.Stride):
                self.private(inner, mask, sure, turns)
            else:
                known = sure and trips is not None
                for at, one in enumerate(all_places([inner])):
                    takes = self.takes.get(id(one.stm))
                    warps = float(turns @ mask.any(axis=1))
                    self.spent.carry_out(one.stm, takes, warps, known and not at)

    def forget(self, place: Place) -> None:
        """Forget variables assigned in a body with an unknown execution count."""
        for inner in all_places(place.bodies[0]):
            if isinstance(inner.stm, imp.Assign):
                self.known.pop(inner.stm.name, None)

    # --- numbers -----------------------------------------------------------------------------

    def set(self, name: Name, value: Numbers | None, mask: Mask, keep: bool = False) -> None:
        """Set a variable for the threads of `mask`; `keep`: others keep theirs."""
        if value is None:
            self.known.pop(name, None)
            return
        old = self.known.get(name) if keep else None
        if old is None:
            self.known[name] = value, mask
        else:
            self.known[name] = np.where(mask, value, old[0]), mask | old[1]

    def value(self, se: ir.SE, mask: Mask) -> Numbers | None:
        """Evaluate an expression for the threads of `mask`; None if unknown."""
        match se:
            case ir.Var(name, prim):
                value, known = self.known.get(name, (None, mask))
                if value is None or (mask & ~known).any():
                    return None
                return value.astype(DTYPE[prim], copy=False)  # a thread's number has either width
            case ir.Lit(value, prim):
                return None if prim[0] == "f" else np.asarray(value, DTYPE[prim])
            case ir.Bin(op, at, lhs, rhs):
                a, b = self.value(lhs, mask), self.value(rhs, mask)
                for one in (a, b):
                    if op == "&&" and one is not None and not (one & mask).any():
                        return one
                if a is None or b is None or at[0] == "f":
                    return None
                return np.asarray(scalar.bin_function(op, at)(a, b))
            case ir.Un(op, at, arg):
                a = self.value(arg, mask)
                if a is None or at[0] == "f":
                    return None
                return np.asarray(scalar.un_function(op, at)(a))
            case ir.Conv(src, dst, arg):
                a = self.value(arg, mask)
                if a is None or "f" in (src[0], dst[0]):
                    return None
                return np.asarray(scalar.convert(src, dst, a))
            case ir.Select(cond, then, orelse):
                parts = [self.value(one, mask) for one in (cond, then, orelse)]
                test, a, b = parts
                if test is None or a is None or b is None:
                    return None
                chosen: Numbers = np.where(test, a, b)
                return chosen
        return None

    # --- accesses ----------------------------------------------------------------------------

    def unsure(self, lines: Sequence[int], because: str) -> None:
        """Mark accesses as unpredictable."""
        for line in lines:
            cost = self.costs.setdefault(line, Cost())
            cost.because = cost.because or because

    def wide(
        self, place: Place, stm: k.Loads | k.Stores, mask: Mask, sure: bool, weight: Numbers
    ) -> None:
        """Count one request for neighbouring cells, or one for each where they are not aligned."""
        first = self.value(stm.at, mask)
        whole = mask if first is None else mask & (first % stm.number == 0)
        apart = mask & ~whole
        if whole.any():
            there = Place(stm, place.lines[WIDE_LINE:], ())
            self.access(there, stm.block, stm.prim, stm.at, whole, sure, weight, stm.number)
        for number in range(stm.number) if apart.any() else ():
            at = add(stm.at, ir.Lit(number, "i64"))
            there = Place(stm, place.lines[EACH_LINE + number :], ())
            self.access(there, stm.block, stm.prim, at, apart, sure, weight)

    def access(
        self,
        place: Place,
        block: Name,
        prim: Prim,
        at: ir.SE,
        mask: Mask,
        sure: bool,
        weight: Numbers,
        cells: int = 1,
    ) -> None:
        """Count the requests of an access to one cell, or to `cells` neighbours."""
        if block in self.own:
            return
        cell = self.value(at, mask)
        active, lanes = float(weight @ mask.any(axis=1)), float(weight @ mask.sum(axis=1))
        size, shared = BYTES[prim] * cells, block in self.shared
        if cell is None:
            if shared:
                self.spent.share(place.stm, active * max(1, size // 4), lanes)
            else:
                self.spent.ask(place.stm, block, active, lanes, lanes, lanes, size)
        if not sure or cell is None:
            self.unsure(place.lines, CONDITION if not sure else CELLS)
        if cell is None and not sure:
            return
        cost = self.costs.setdefault(place.lines[0], Cost()) if sure else Cost()
        cost.exact = cost.exact and self.exact
        cost.requests += active
        cost.lanes += lanes
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
            self.spent.share(place.stm, passes, lanes)
        else:
            ordered, differs = _firsts(first // SECTOR, mask)
            sectors = float(weight @ differs.sum(axis=1))
            cost.sectors += sectors
            cost.fewest += float(weight @ -(-needed // SECTOR))
            missed = float(weight @ self.cache.missed(block, ordered, differs))
            self.spent.ask(place.stm, block, active, lanes, sectors, missed, size)

    def sample(self, cost: Cost, first: Numbers, mask: Mask) -> None:
        """Record the first requests of the first warps, of the first launch."""
        for warp in range(min(SAMPLED_WARPS, len(mask)) if self.first else 0):
            step = sum(one.warp == warp for one in cost.samples)
            if step < SAMPLED_STEPS and mask[warp].any():
                lanes = np.where(mask[warp], first[warp], -1).tolist()
                cost.samples.append(Sample(warp, step, tuple(lanes)))


def _turns(stm: object) -> bool:
    return isinstance(stm, imp.For | k.Stride | imp.While)


def _some(total: int, most: int) -> npt.NDArray[np.int64]:
    """Return numbers below `total`: all, or about `most` in evenly spread runs."""
    if total <= most:
        return np.arange(total)
    starts = np.linspace(0, total - RUN, most // RUN).astype(np.int64)
    return np.unique(starts[:, None] + np.arange(RUN))


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
