"""Predict the cost of a run of a CUDA program, kernel by kernel.

The host's program runs on a mock device, which has sizes but no memory and records launches.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from math import prod
from types import MappingProxyType
from typing import Any

import numpy as np

from compiler.base.dataclass import dataclass
from compiler.base.deadline import within
from compiler.base.errors import RuntimeError_, TimeoutError_
from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.base.text import Text, plain
from compiler.codegen.cuda.program import split
from compiler.codegen.cuda.runtime import THREADS, blocks_for, threads_for
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import host_stms
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.walk import shared_bytes
from compiler.codegen.signature import Plain, choose_entry, solve_sizes
from compiler.explain import instructions
from compiler.explain.requests import Cost, Requests
from compiler.explain.warp_work import Spent
from compiler.explain.warps import HOST, Effort, Launch, Place, places
from compiler.ir.values import Value
from compiler.runtime.cuda_device import Device, about

MOST_LAUNCHES = 4096
"""Of a kernel with more distinct launches, so many are sampled."""
SECONDS = 5.0
"""Seconds after which the host's program is stopped."""
LONG = (
    "the host launches more kernels than can be simulated in {:g} s, so only those up to "
    "then are counted"
)


class _Unknown:
    """A number that the host reads from the device; results computed from it are unknown too."""

    def _same(self, *_: Any) -> _Unknown:
        return self

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __neg__ = __abs__ = _same
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __truediv__ = __rtruediv__ = _same
    __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = __invert__ = _same
    __pow__ = __rpow__ = __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = _same  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        raise _Stops

    __int__ = __float__ = __index__ = __bool__


class _Stops(Exception):
    """The host's control flow depends on data."""


class _Types:
    """NumPy's types, lifted to unknown numbers."""

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        kind = getattr(np, name)
        return lambda value: value if isinstance(value, _Unknown) else kind(value)


_Launched = tuple[int, int, tuple[tuple[Name, Any], ...]]
"""Blocks of threads, threads per block, and the integer arguments of a launch."""


class _Differing:
    """The distinct launches of a kernel with their counts; a random sample if there are many.

    Random, since in nested loops every n-th launch may be the first of its loop.
    """

    def __init__(self) -> None:
        self.found: dict[_Launched, int] = {}
        self._slots: list[_Launched] = []
        self._differ, self._total = 0, 0
        self._chance = random.Random(1)

    def add(self, launch: _Launched) -> None:
        """Add a launch."""
        self._total += 1
        if launch in self.found:
            self.found[launch] += 1
            return
        self._differ += 1
        if self._differ <= MOST_LAUNCHES:
            self._slots.append(launch)
        elif (slot := self._chance.randrange(self._differ)) < MOST_LAUNCHES:
            del self.found[self._slots[slot]]
            self._slots[slot] = launch
        else:
            return
        self.found[launch] = 1

    def weighted(self) -> Iterator[tuple[_Launched, float]]:
        """Yield the sampled launches with their weights."""
        weight = self._total / max(1, sum(self.found.values()))
        for launch, times in self.found.items():
            yield launch, times * weight

    @property
    def all_found(self) -> bool:
        """Return True if nothing was sampled."""
        return self._differ <= MOST_LAUNCHES


@dataclass(eq=False, slots=True)
class _Block:
    """A block of memory: only its size and that of an element, in bytes."""

    bytes: int
    each: int


@dataclass(slots=True)
class Work:
    """The work of all launches of a kernel."""

    launches: int = 0
    blocks: int = 0
    """of threads"""
    threads: int = 0
    """in total"""
    shared: int = 0
    """bytes of a block of threads, at most"""
    spent: Spent = field(default_factory=Spent)
    memory: dict[Name, list[tuple[int, int]]] = field(default_factory=dict)
    """By block, for each launch: its bytes, and the reuse distance: bytes of all blocks used
    since; -1 for the first use."""


class _Planned(Device):
    """A mock device that records launches."""

    def __init__(self, described: Plain, kernels: Mapping[str, k.Kernel], effort: Effort) -> None:
        self.about = described
        self.effort = effort
        self.described = kernels
        self.launches: list[tuple[str, int]] = []
        """Kernel and blocks of threads, in order."""
        self.differ: dict[str, _Differing] = {}
        self.works: dict[str, Work] = {}
        self.thresholds: Mapping[str, int] = {}
        self.compared: dict[str, list[int]] = {}
        """By threshold, the amounts that were compared with it."""
        self.reads = 0
        """Number of times that the host waits for a value."""
        self.copies: list[int] = []
        """Bytes of device copies that the host requests."""
        self._recent: dict[_Block, None] = {}

    def alloc(self, count: int, prim: Prim, site: int) -> Any:
        """Make a block."""
        return self.part(count, prim)

    def part(self, count: int, prim: Prim) -> Any:
        """Make a block for partial results."""
        count = 0 if isinstance(count, _Unknown) else int(count)
        return _Block(count * BYTES[prim], BYTES[prim])

    zeros = part

    def launch(
        self,
        name: str,
        points: int = -1,
        blocks: int = -1,
        busy: int = THREADS,
        most: int = 0,
        shared: int = 0,
    ) -> Callable[..., None]:
        """Record a launch, with its blocks of threads and threads per block."""
        count = blocks_for(points, blocks)

        def start(*arguments: Any) -> None:
            if count > 0:
                self.effort.spend(0)
                self.launches.append((name, int(count)))
                given = _numbers(self.described[name], arguments)
                self._note(name, int(count), threads_for(int(busy)), int(shared), arguments)
                differing = self.differ.setdefault(name, _Differing())
                differing.add((int(count), threads_for(int(busy)), given))

        return start

    def _note(
        self, name: str, blocks: int, threads: int, shared: int, given: Sequence[Any]
    ) -> None:
        """Add a launch to its kernel's work."""
        work = self.works.setdefault(name, Work())
        work.launches += 1
        work.blocks += blocks
        work.threads += blocks * threads
        work.shared = max(work.shared, shared + shared_bytes(self.described[name]))
        params = self.described[name].params
        had = {p.name: b for p, b in zip(params, given, strict=True) if isinstance(b, _Block)}
        for param, block in had.items():
            work.memory.setdefault(param, []).append((block.bytes, self._distance(block)))
        for block in had.values():
            self._recent.pop(block, None)
            self._recent[block] = None

    def _distance(self, block: _Block) -> int:
        """Return the reuse distance of a block in bytes, itself included; -1 for the first use."""
        if block not in self._recent:
            return -1
        total = 0
        for one in reversed(self._recent):
            total += one.bytes
            if one is block:
                break
        return total

    def rounds(self, count: int, turning: object, numbered: bool = False) -> Iterator[int]:
        """Plan all iterations."""
        yield from range(count)

    def check(self) -> None:
        """Pass: no check fails."""

    def reached(self, threshold: str, amount: Any) -> bool:
        """Return True if a known amount of parallelism reaches a threshold."""
        found = int(amount)
        amounts = self.compared.setdefault(threshold, [])
        if found not in amounts:
            amounts.append(found)
        return found >= self.thresholds[threshold]

    def sure(self, count: Any) -> Any:
        """Return a number of iterations as it is."""
        return count

    def read(self, *cells: tuple[Any, int]) -> Any:
        """Return unknown values."""
        self.reads += 1
        return [_Unknown() for _ in cells] if len(cells) > 1 else _Unknown()

    def write(self, block: Any, at: int, value: Any) -> None:
        """Do nothing: there is no memory."""

    def copy(self, dest: Any, to: int, source: Any, start: int, count: int) -> None:
        """Record the bytes of a copy."""
        self.copies.append(0 if isinstance(count, _Unknown) else int(count) * dest.each)


@dataclass(slots=True)
class Prediction:
    """The launches of a run, and the cost of accesses by their lines in the text.

    `because` explains why there may be more launches.
    """

    launches: list[tuple[str, int]] = field(default_factory=list)
    costs: dict[int, Cost] = field(default_factory=dict)
    because: str = ""
    works: dict[str, Work] = field(default_factory=dict)
    reads: int = 0
    copies: list[int] = field(default_factory=list)
    compared: dict[str, list[int]] = field(default_factory=dict)
    """by threshold that was given, the amounts that were compared with it"""


def kernels_of(prog: imp.ImpProg, text: Text) -> dict[str, tuple[k.Kernel, tuple[Place, ...]]]:
    """Return the kernels of a program by name, with their statements."""
    launches = (s for f in prog.funs for s in host_stms(f.body) if isinstance(s, k.Launch))
    return {s.kernel.name: (s.kernel, places(text, s.kernel)) for s in launches}


def predict(
    prog: imp.ImpProg,
    text: Text,
    entry: str,
    shapes: Sequence[Sequence[int] | None],
    numbers: Sequence[Value | None],
    thresholds: Mapping[str, int] = MappingProxyType({}),
    effort: Effort | None = None,
) -> Prediction:
    """Predict the cost of a run for arrays of these shapes and these numbers.

    `thresholds`: for a text in which comparisons call the device. Raises TooMuch if it
    takes more than the `effort` left.
    """
    effort = effort or Effort()
    code = plain(text)
    described = about(code)
    chosen = choose_entry(described, entry)
    by_name: dict[str, Any] = dict(solve_sizes(chosen, shapes))
    for taken, shape, number in zip(chosen["takes"], shapes, numbers, strict=True):
        is_number = taken["shape"] is None
        by_name[taken["name" if is_number else "block"]] = (
            np.asarray(number).item()
            if is_number
            else _Block(prod(shape or ()) * BYTES[taken["prim"]], BYTES[taken["prim"]])
        )
    env: dict[str, Any] = {}
    exec(compile(split(code)[1], "<cuda host>", "exec"), env)
    env["np"] = _Types()
    kernels = kernels_of(prog, text)
    device = _Planned(described, {name: kernel for name, (kernel, _) in kernels.items()}, effort)
    device.thresholds = thresholds
    given = [by_name[slot["name"]] for slot in chosen["params"]]
    found = Prediction(device.launches)
    try:
        within(SECONDS, lambda: env[chosen["symbol"]](device, *given))
    except _Stops:
        found.because = HOST
    except TimeoutError_:
        found.because = LONG.format(SECONDS)
    except RuntimeError_ as error:
        found.because = error.message
    found.works, found.reads, found.copies = device.works, device.reads, device.copies
    found.compared = device.compared
    for name, differing in device.differ.items():
        kernel, body = kernels[name]
        takes = instructions.taken(kernel)
        for at, ((blocks, threads, whole_numbers), times) in enumerate(differing.weighted()):
            asks = Requests(kernel, found.costs, device.works[name].spent, not at)
            launch = Launch(kernel, threads, asks, times, differing.all_found, effort, takes)
            launch.run(body, blocks, dict(whole_numbers))
    return found


def _numbers(kernel: k.Kernel, arguments: Sequence[Any]) -> tuple[tuple[Name, Any], ...]:
    """Return the known integer arguments of a launch."""
    return tuple(
        (param.name, given)
        for param, given in zip(kernel.params, arguments, strict=True)
        if not param.block and param.prim[0] != "f" and not isinstance(given, _Unknown)
    )
