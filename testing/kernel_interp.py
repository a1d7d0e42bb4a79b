"""Interpret the kernel IR: run threads in turn, from barrier to barrier, and check their accesses.

Blocks of threads run one after the other. If threads of one wait for what those of another publish,
they run in turns, each up to where it waits, or has published something; that all wait is an error.

A kernel becomes a Python generator for each thread, which stops at barriers. It is an error to do
what a device may do otherwise the next time: a race (Note [Races] in `codegen/kernels/nodes.py`), a
barrier that not all threads come to, a cell outside of its block, or one that is read before
anything has been written to it. So one run tells about all schedules, as far as its inputs reach,
and on a machine that has no such device.

A failed check ends the run with the launch; a device would go on until the host asks.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from types import MappingProxyType
from typing import Any, Literal, NoReturn, TypeVar

import numpy as np

from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.base.spans import NOWHERE
from compiler.codegen.c.stms import Sites
from compiler.codegen.cuda.runtime import THREADS, threads_for
from compiler.codegen.imp.nodes import Alloc, ImpFun, ImpProg, Load, Store
from compiler.codegen.imp.parts import called_functions
from compiler.codegen.index import add
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.host import Host
from compiler.codegen.py_scalar import py_name, show
from compiler.codegen.signature import symbol
from compiler.ir.nodes import Bin, Lit, Var
from compiler.runtime.imp_interp import MAX_CELLS, RUNTIME, PythonText, add_functions, call
from compiler.runtime.runs import Value
from compiler.storage.state import SHARED_BYTES

Order = Literal["ascending", "descending", "random"]
UNWRITTEN = object()
RESIDENT = 40
"""Blocks of threads that run in turns: more than a warp has lanes."""
T = TypeVar("T")


class Fault(CompilerBug):
    """An operation that no program may do on a device, with its place."""


@dataclass(frozen=True, slots=True)
class _Access:
    """An access to a cell by a thread, after `barriers` barriers.

    `together`: its lock, or "atomic". `published`: how many publications of the thread came before.
    """

    block: int
    thread: int
    barriers: int
    together: object
    published: int = 0

    def meets(self, other: _Access, known: Sequence[_Access] = ()) -> bool:
        """Return True if two accesses race: nothing orders them, and the order matters.

        `known`: publications that the thread of `self` has waited for.
        """
        if self.together is not None and self.together == other.together:
            return False
        if self.block != other.block:
            return not any(other.is_told_by(one) for one in known)
        return self.thread != other.thread and self.barriers == other.barriers

    def is_told_by(self, told: _Access) -> bool:
        """Return True if the access precedes what a thread of its block has published."""
        earlier = self.thread == told.thread and self.published < told.published
        return self.block == told.block and (earlier or self.barriers < told.barriers)


@dataclass(slots=True)
class _Traces:
    """The accesses of a launch, by cell."""

    written: dict[int, set[_Access]] = field(default_factory=dict)
    read: dict[int, set[_Access]] = field(default_factory=dict)

    def add(
        self,
        cell: int,
        access: _Access,
        writes: bool,
        known: Sequence[_Access] = (),
        stays: bool = False,
    ) -> bool:
        """Remember an access; whether it meets an earlier one.

        Where the cell stays as it is, writes may come in any order.
        """
        earlier = () if stays else self.written.get(cell, ())
        clash = any(access.meets(one, known) for one in earlier)
        if writes and not clash:
            clash = any(access.meets(one, known) for one in self.read.get(cell, ()))
        (self.written if writes else self.read).setdefault(cell, set()).add(access)
        return clash


class Cells:
    """A block of memory whose accesses are watched while a kernel runs."""

    def __init__(self, device: WatchedDevice, values: list[Any]) -> None:
        self.device = device
        self.values = values
        self.traces = _Traces()
        self.launch = 0

    def __getitem__(self, at: int | slice) -> Any:
        """Cells, as the host reads them."""
        found = self.values[at]
        if found is UNWRITTEN or (isinstance(found, list) and UNWRITTEN in found):
            raise Fault("the host reads a cell that nothing has written")
        return found

    def touch(self, at: int, writes: bool, stays: bool = False) -> None:
        """Watch an access."""
        device = self.device
        if not 0 <= at < len(self.values):
            device.fault(f"touches cell {at} of {len(self.values)}")
        if self.launch != device.launches:
            self.launch, self.traces = device.launches, _Traces()
        if self.traces.add(at, device.access(), writes, device.known(), stays):
            device.fault(f"races with another thread for cell {at}")
        device.touched(self, at, writes)

    def read(self, at: int) -> Any:
        """A cell's value."""
        self.touch(at, False)
        if self.values[at] is UNWRITTEN:
            self.device.fault(f"reads cell {at}, which nothing has written")
        return self.values[at]

    def write(self, at: int, value: Any) -> None:
        """A cell's next value."""
        self.touch(at, True, 0 <= at < len(self.values) and _equal(self.values[at], value))
        self.values[at] = value


def _equal(one: object, other: object) -> bool:
    """Return True if two values have the same bits."""
    if isinstance(one, float) and isinstance(other, float):
        return struct.pack("<d", one) == struct.pack("<d", other)
    return one is not UNWRITTEN and one == other


@dataclass(slots=True, eq=False)
class _Block:
    """A block of threads: how far they are, and what they share.

    `given`: what threads are given that go on, `waits`: at which barrier others are. `rests`: those
    that go on only when other blocks have had their turn.
    """

    number: int
    size: int
    alive: dict[int, Generator[Any, Any, None]]
    given: dict[int, Any]
    waits: dict[int, int] = field(default_factory=dict)
    asked: dict[int, tuple[int, Any, int]] = field(default_factory=dict)
    rests: set[int] = field(default_factory=set)
    barriers: int = 0
    shared: dict[Name, Cells] = field(default_factory=dict)
    published: dict[int, int] = field(default_factory=dict)
    known: dict[int, list[_Access]] = field(default_factory=dict)


class WatchedDevice:
    """The device of the host's text, on which kernels run, with `threads` threads in a block."""

    def __init__(self, threads: int, order: Order, sites: Sites) -> None:
        self.threads, self.order, self.sites = threads, order, sites
        self.kernels: dict[str, tuple[k.Kernel, Callable[..., Generator[Any, Any, None]]]] = {}
        self.launches = self.thread = 0
        self.block = _Block(0, 0, {}, {})
        self.told: dict[tuple[int, int], list[_Access]] = {}
        """Published accesses, by block of memory and cell of the flag."""
        self.news = 0
        """The number of publications so far."""
        self.together: object = None
        self.running = ""
        self.random = random.Random(threads)

    # --- what the host calls -----------------------------------------------------------------

    def alloc(self, count: int, prim: Prim, site: int) -> Cells:
        """A block; `count` is exact."""
        if not 0 <= count <= MAX_CELLS:
            self.fail(site, (count,))
        return self.part(count, prim)

    def part(self, count: int, prim: Prim) -> Cells:
        """A block with any contents."""
        return Cells(self, [UNWRITTEN] * count)

    def zeros(self, count: int, prim: Prim) -> Cells:
        """A block of zeros."""
        return Cells(self, [0] * count)

    def rounds(self, count: int, turning: object, numbered: bool = False) -> range:
        """Each is interpreted."""
        return range(count)

    def sure(self, count: int) -> int:
        """A number of rounds, which is right: a failed check has ended the run."""
        return count

    def ranges(self, segments: int, size: int, least: int) -> tuple[int, int]:
        """Return the number of blocks of threads for each segment, and of elements for each block.

        Both are several for long segments, so that a block has more than one tile.
        """
        blocks = max(1, min(3 * self.threads, -(-size // (2 * self.threads))))
        return blocks, -(-size // blocks)

    def check(self) -> None:
        """A failed check has ended the run by now."""

    def fail(self, site: int, values: Sequence[Any]) -> NoReturn:
        """A check of the host failed."""
        prov, message = self.sites[site]
        shown = iter(values)
        parts = [p if isinstance(p, str) else next(shown) for p in message]
        RUNTIME["fail"](prov[0] if prov else NOWHERE, parts)
        raise AssertionError

    def read(self, *cells: tuple[Cells, int]) -> Any:
        """The value of a cell, or those of several."""
        found = [block[at] for block, at in cells]
        return found if len(found) > 1 else found[0]

    def write(self, block: Cells, at: int, value: Any) -> None:
        """One cell."""
        block.values[at] = value

    def copy(self, dest: Cells, to: int, source: Cells, start: int, count: int) -> None:
        """Cells that lie together."""
        dest.values[to : to + count] = source.values[start : start + count]

    def launch(
        self, name: str, points: int = -1, blocks: int = -1, busy: int = THREADS, shared: int = 0
    ) -> Callable[..., None]:
        """A kernel for so many threads, or blocks of threads, with so much shared memory."""
        if not 0 <= shared <= SHARED_BYTES:
            raise Fault(f"kernel `{name}` is launched with {shared} bytes of shared memory")
        size = self.kernels[name][0].threads or min(self.threads, threads_for(busy))
        total = blocks if points < 0 else -(-points // size)

        def start(*arguments: Any) -> None:
            self.launches += 1
            self.running = name
            self.told = {}
            self.run_blocks(total, size, arguments)

        return start

    # --- what threads do ---------------------------------------------------------------------

    def run_blocks(self, total: int, size: int, arguments: Sequence[Any]) -> None:
        """All blocks of threads; those that rest go on when others have run."""
        _, function = self.kernels[self.running]
        running: list[_Block] = []
        numbers = iter(self.ordered(list(range(total))))
        quiet = 0
        while True:
            number = next(numbers, None) if len(running) < RESIDENT else None
            if number is not None:
                threads = {
                    t: function(t, number, size, number * size + t, *arguments) for t in range(size)
                }
                running.append(_Block(number, size, threads, dict.fromkeys(threads)))
            if not running:
                return
            news = self.news
            turns = self.ordered(running[-1:] if number is not None else running[:])
            ended = [block for block in turns if not self.run_block(block)]
            running = [block for block in running if block not in ended]
            quiet = 0 if number is not None or ended or news != self.news else quiet + 1
            if quiet > 1:  # who had published something has come to where it waits
                self.fault("waits, as all do, for what no block that has begun publishes")

    def run_block(self, block: _Block) -> bool:
        """Threads of a block, each up to the next barrier before any goes on; whether some rest."""
        self.block = block
        while block.alive:
            while block.given:
                given, block.given = block.given, {}
                for thread in self.ordered(list(given)):
                    self.thread = thread
                    match self.resume(block.alive[thread], given[thread]):
                        case int(barrier):
                            block.waits[thread] = barrier
                        case (_, _, _) as shuffle:
                            block.asked[thread] = shuffle
                        case "rests":
                            block.rests.add(thread)
                block.given = self.shuffled(block)
            if block.rests:
                block.given = dict.fromkeys(block.rests)
                block.rests = set()
                return True
            waits = block.waits
            if len(set(waits.values())) > 1 or len(waits) not in (0, len(block.alive)):
                self.fault("is at another barrier than other threads of its block, or at none")
            block.alive = {thread: block.alive[thread] for thread in waits}
            block.given, block.waits = dict.fromkeys(waits), {}
            block.barriers += 1
        return False

    def resume(self, thread: Generator[Any, Any, None], given: Any) -> Any:
        """Go on up to a barrier or shuffle; None at the end."""
        try:
            return thread.send(given)
        except StopIteration:
            return None

    def shuffled(self, block: _Block) -> dict[int, Any]:
        """Return the values for threads at a shuffle that all threads of their warp have reached.

        If some threads of the warp rest, the others wait for them. Raises Fault for a divergent
        warp.
        """
        given = {}
        asked, block.asked = block.asked, {}
        warps: dict[int, dict[int, tuple[int, Any, int]]] = {}
        for thread, shuffle in asked.items():
            warps.setdefault(thread - thread % k.WARP, {})[thread] = shuffle
        for first, here in warps.items():
            warp = range(first, min(first + k.WARP, block.size))
            if not block.rests.isdisjoint(warp):
                block.asked |= here
                continue
            if len(here) < len(warp) or len({place for place, _, _ in here.values()}) > 1:
                self.fault("is at a shuffle to which not all threads of its warp have come")
            for thread, (_, value, lane) in here.items():
                other = first + lane % k.WARP
                given[thread] = here[other][1] if other in here else value
        return given

    def ordered(self, threads: list[T]) -> list[T]:
        """Threads, or blocks of them, in the order in which they run."""
        if self.order == "random":
            self.random.shuffle(threads)
        return threads[::-1] if self.order == "descending" else threads

    def access(self) -> _Access:
        """Return the access of the running thread."""
        block, thread = self.block, self.thread
        published = block.published.get(thread, 0)
        return _Access(block.number, thread, block.barriers, self.together, published)

    def known(self) -> Sequence[_Access]:
        """The publications that the thread which runs has waited for."""
        return self.block.known.get(self.thread, ())

    # --- what blocks tell each other ---------------------------------------------------------

    def ticket(self, block: Cells, at: int) -> int:
        """Return the number of blocks of threads that were here before."""
        counter = f"{k.OWN}ticket {id(block)} {at}"
        if counter not in self.block.shared:
            self.together = "atomic"
            self.block.shared[counter] = Cells(self, [block.read(at)])
            block.write(at, block.values[at] + 1)
            self.together = None
        return int(self.block.shared[counter].values[0])

    def publish(self, block: Cells, at: int, value: int) -> None:
        """A flag is set."""
        self.together = "atomic"
        block.write(at, value)
        self.together = None
        own = self.block
        own.published[self.thread] = own.published.get(self.thread, 0) + 1
        self.told.setdefault((id(block), at), []).append(self.access())
        self.news += 1

    def awaited(self, block: Cells, at: int) -> int:
        """A flag, with all that was published with it; 0 while it has to be waited for."""
        self.together = "atomic"
        found = int(block.read(at))
        self.together = None
        if found:
            self.block.known.setdefault(self.thread, []).extend(self.told[id(block), at])
        return found

    def fault(self, what: str) -> NoReturn:
        """Stop at what no program may do."""
        where = f"kernel `{self.running}`, block {self.block.number}, thread {self.thread}"
        raise Fault(f"{where}: {what}")

    def touched(self, block: Cells, at: int, writes: bool) -> None:
        """A thread has touched a cell, for those who record it."""

    def of_block(self, name: Name, count: int) -> Cells:
        """A shared array: that of the block of threads that runs."""
        shared = self.block.shared
        if name not in shared:
            shared[name] = self.part(count, "i64")
        return shared[name]


class ThreadText(PythonText):
    """Prints a kernel as a generator, over the `device`."""

    language = k.KERNELS

    def __init__(self, env: dict[str, Any]) -> None:
        super().__init__(env)
        self.barriers = count(1)

    def kernel_function(self, kernel: k.Kernel) -> str:
        """The function of a thread's numbers and the kernel's parameters."""
        names = [py_name(name) for name in (*k.IDS, *(p.name for p in kernel.params))]
        self.line(f"def {kernel.name}({', '.join(names)}):")
        self.line("    if False: yield")
        self.block(kernel.body)
        return "\n".join(self.lines)

    def alloc(self, s: Alloc) -> None:
        size = show(s.count)
        if s.space == "shared":
            self.line(f"{py_name(s.name)} = device.of_block({s.name!r}, {size})")
        else:
            self.line(f'{py_name(s.name)} = device.part({size}, "{s.prim}")')

    def load(self, s: Load | k.Fetch) -> None:
        self.line(f"{py_name(s.name)} = {py_name(s.block)}.read({show(s.at)})")

    fetch = load

    def loads(self, s: k.Loads) -> None:
        for at, name in enumerate(s.names):
            self.load(Load(name, s.prim, s.block, add(s.at, Lit(at, "i64"))))

    def stores(self, s: k.Stores) -> None:
        for at, value in enumerate(s.values):
            self.store(Store(s.block, s.prim, add(s.at, Lit(at, "i64")), value))

    def store(self, s: Store) -> None:
        self.line(f"{py_name(s.block)}.write({show(s.at)}, {show(s.value)})")

    def indices(self, s: k.Indices) -> None:
        self.line(f"_rest = {show(s.flat)}")  # no kernel has this name
        for name, size in reversed(s.dims[1:]):
            self.line(f"_rest, {py_name(name)} = divmod(_rest, {show(size)})")
        self.line(f"{py_name(s.dims[0][0])} = _rest")

    def stride(self, s: k.Stride) -> None:
        index = Var(s.index, s.prim)
        self.line(f"{py_name(s.index)} = {show(s.start)}")
        self.line(f"while {show(Bin('<', s.prim, index, s.end))}:")
        self.block(s.body)
        self.line(f"    {py_name(s.index)} = {show(Bin(s.op, s.prim, index, s.by))}")

    def scope(self, s: k.Scope) -> None:
        for stm in s.body:
            self.rules[type(stm)](self, stm)

    def exit(self, s: k.Exit) -> None:
        self.line(f"if {show(s.cond)}: return")

    def barrier(self, s: k.Barrier) -> None:
        self.line(f"yield {next(self.barriers)}")

    def shuffle(self, s: k.Shuffle) -> None:
        given = f"{next(self.barriers)}, {show(s.value)}, {show(s.lane)}"
        self.line(f"{py_name(s.name)} = yield {given}")

    def atomic(self, s: k.Atomic) -> None:
        old = Var(f"{k.OWN}old", s.prim)
        self.line("device.together = 'atomic'")
        self.line(f"old = {py_name(s.block)}.read({show(s.at)})")
        value = show(Bin(s.op, s.prim, old, s.value))
        self.line(f"{py_name(s.block)}.write({show(s.at)}, {value})")
        self.line("device.together = None")

    def exchange(self, s: k.Exchange) -> None:
        cell = f"{py_name(s.block)}.{{}}({show(s.at)}"
        self.line("device.together = 'atomic'")
        self.line(f"{py_name(s.name)} = {cell.format('read')})")
        self.scope(k.Scope(s.body))
        self.line(f"{cell.format('write')}, {py_name(s.name)})")
        self.line("device.together = None")

    def locked(self, s: k.Locked) -> None:
        self.line(f"device.together = {show(s.at)}")
        self.scope(k.Scope(s.body))
        self.line("device.together = None")

    def ticket(self, s: k.Ticket) -> None:
        self.line(f"{py_name(s.name)} = device.ticket({py_name(s.block)}, {show(s.at)})")
        self.line(f"yield {next(self.barriers)}")

    def publish(self, s: k.Publish) -> None:
        given = f"{py_name(s.block)}, {show(s.at)}, {show(s.value)}"
        self.line(f"device.publish({given})")
        self.line('yield "rests"')

    def wait(self, s: k.Await) -> None:
        found = f"device.awaited({py_name(s.block)}, {show(s.at)})"
        self.line(f"while not ({py_name(s.name)} := {found}):")
        self.line('    yield "rests"')


def run(
    prog: ImpProg,
    entry: str,
    args: Sequence[Value],
    threads: int = 32,
    order: Order = "ascending",
    device_class: type[WatchedDevice] = WatchedDevice,
    text_class: type[ThreadText] = ThreadText,
    more: Mapping[str, Any] = MappingProxyType({}),
) -> list[Any]:
    """The results of an entry point of a program with kernels, as NumPy arrays and scalars.

    Other classes, and `more` names in what is run, are for those who record what happens.

    Raises RuntimeError_ for a failed check, UsageError for inputs that do not fit, and Fault for
    what the program may not do.
    """
    sites: Sites = []
    device = device_class(threads, order, sites)
    env = {**RUNTIME, **more, "device": device, "np": np}
    add_functions(prog, env)

    def launched(launch: k.Launch, host: Host) -> None:
        kernel = launch.kernel
        text = text_class(env).kernel_function(kernel)
        exec(compile(text, f"<kernel {kernel.name}>", "exec"), env)
        device.kernels[kernel.name] = kernel, env[kernel.name]

    def function(fun: ImpFun) -> Callable[..., Sequence[Any]]:
        host = Host(count(), sites, launched)
        called = called_functions(prog)
        for name, one in {**called, fun.name: fun}.items():
            host.function(one, name in called)
        text = "\n".join(line.text for line in host.lines)
        exec(compile(text, f"<host {entry}>", "exec"), env)
        chosen = env[symbol(fun.name)]
        return lambda *given: chosen(device, *given)

    return call(prog, entry, args, function, lambda cells: Cells(device, cells))
