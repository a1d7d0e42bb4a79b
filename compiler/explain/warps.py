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
from compiler.base.prim import Prim
from compiler.base.text import Text
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import bodies
from compiler.codegen.index import add
from compiler.codegen.kernels import nodes as k
from compiler.codegen.stm_uses import StmUses
from compiler.explain.instructions import Instructions
from compiler.explain.requests import CONDITION, LaneAccess, Requests
from compiler.explain.warp_work import FirstCache, Mask, Numbers
from compiler.ir import nodes as ir
from compiler.ir import scalar

WARP = 32
MOST_WARPS = 512
"""Of a launch with more warps, so many are sampled at even distances."""
MOST_STEPS = 256
"""Of a loop with more iterations, so many are sampled at even distances."""
RUN = 4
"""Samples in a row, so that repeated requests are seen."""
MOST_ROUNDS = 32
"""Samples of a loop with nested loops, in a launch that is estimated in any case."""
HOST = "the launches of the host depend on the data"


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
    """A launch that is analysed."""

    kernel: k.Kernel
    threads: int
    """per block"""
    asks: Requests
    times: float = 1
    """the number of launches that it stands for"""
    all_launches: bool = True
    """true if these are all equal to it"""
    effort: Effort = field(default_factory=Effort)
    takes: Mapping[int, Instructions] = field(default_factory=dict)
    """instructions of statements, by their `id`"""
    known: dict[Name, tuple[Numbers, Mask]] = field(default_factory=dict)

    def run(self, body: Sequence[Place], blocks: int, given: Mapping[Name, Any]) -> None:
        """Run the kernel for so many blocks of threads, with its arguments."""
        each = self.threads // WARP
        total = blocks * each
        # The last block may have less to do: it stands for itself alone.
        chosen = np.concatenate([_some(total - each, MOST_WARPS), np.arange(total - each, total)])
        self.asks.exact = self.all_launches and len(chosen) == total
        weight = np.where(chosen < total - each, (total - each) / max(1, len(chosen) - each), 1.0)
        weight = self.times * weight
        warp = chosen[:, None]
        thread = warp % each * WARP + np.arange(WARP)
        block = warp // each
        everyone = np.ones(thread.shape, np.bool_)
        self.asks.cache = FirstCache(len(chosen))
        kinds = {param.name: DTYPE[param.prim] for param in self.kernel.params}
        self.known = {n: (np.asarray(value, kinds[n]), everyone) for n, value in given.items()}
        numbers = thread, block, np.int64(self.threads), block * self.threads + thread
        for name, value in zip(k.IDS, numbers, strict=True):
            self.known[name] = np.asarray(value), everyone
        self.alive = everyone
        with np.errstate(all="ignore"):
            self.stms(body, everyone, True, weight)

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
        self.asks.spent.carry_out(place.stm, self.takes.get(id(place.stm)), warps, sure)
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
        self.asks.unsure(place.lines, CONDITION)
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
        rounds = not self.asks.exact and any(_turns(one.stm) for one in all_places(place.bodies[0]))
        chosen = _some(most, MOST_ROUNDS if rounds else MOST_STEPS)
        # The last may have less to do, as the last block: it stands for itself alone.
        usual = (most - 1) / max(1, len(chosen) - 1)
        if len(chosen) < most:
            self.asks.exact = False
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
        for uses in map(StmUses, inner):
            if not (uses.read.keys() | uses.written.keys()) <= self.asks.own:
                return False
            if not uses.assigned.keys() <= names:
                return False
        return all(isinstance(stm, _PRIVATE) for stm in inner)

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
                    self.asks.spent.carry_out(one.stm, takes, warps, known and not at)

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
        if block not in self.asks.own:
            access = LaneAccess(place.stm, place.lines, block, prim, cells)
            self.asks.make(access, self.value(at, mask), mask, sure, weight)

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


_SCALAR = imp.Define | imp.Apply | imp.Declare | imp.Assign
_PRIVATE = _SCALAR | imp.Load | imp.Store | k.Fetch | k.Scope | imp.If | imp.For
"""Statements of a loop that may concern its thread alone."""


def _turns(stm: object) -> bool:
    return isinstance(stm, imp.For | k.Stride | imp.While)


def _some(total: int, most: int) -> npt.NDArray[np.int64]:
    """Return numbers below `total`: all, or about `most` in evenly spread runs."""
    if total <= most:
        return np.arange(total)
    starts = np.linspace(0, total - RUN, most // RUN).astype(np.int64)
    return np.unique(starts[:, None] + np.arange(RUN))
