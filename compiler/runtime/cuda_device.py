"""The device interface that host programs of CUDA texts call: memory, launches, failure flag."""

from __future__ import annotations

import ast
import json
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from math import isqrt
from types import CodeType
from typing import Any

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompilerBug, RuntimeError_
from compiler.base.prim import Prim
from compiler.base.spans import NOWHERE, Span
from compiler.codegen.cuda.program import split
from compiler.codegen.cuda.runtime import NEXT, ROUND, THREADS, blocks_for, threads_for
from compiler.codegen.kernels.host import BLOCK, ROUNDS
from compiler.codegen.kernels.narrow import LIMIT
from compiler.codegen.signature import Plain, choose_entry
from compiler.runtime.gpu import BEGIN, END, Gpu
from compiler.runtime.gpu_errors import FULL, OUT_OF_MEMORY, DeviceError
from compiler.runtime.runs import (
    Cells,
    RunResult,
    Value,
    arguments,
    failed_check,
    prepare,
    results,
)

TARGET_BLOCKS = 1024
"""Blocks of threads that saturate a GPU."""
LARGEST = 2**63 - 1
MOST_CELLS = 1 << 58
"""Cells of a block; more bytes do not fit 64 bits."""
MOST_BLOCKS = 2**31 - 1
"""Blocks of threads of a launch."""
MOST_ROUNDS = 16
"""Iterations after which a loop's blocks must return to their places to be captured; usually 3."""
KEPT_BYTES = 1 << 28
"""Freed memory that a run keeps for later blocks of the same size."""
UNSURE_ROUNDS = 1000
"""Iterations of host loops after which the host asks whether a check has failed."""
MAKING = 8
"""Launches that cost about as much as capturing, instantiating and freeing a graph."""
_FLAG = 16
"""Words of the failure flag: whether, which check, and the values of its message."""


_WORDS = {
    "bool": "?7x",
    "i8": "b7x",
    "i16": "h6x",
    "i32": "i4x",
    "i64": "q",
    "u8": "B7x",
    "u16": "H6x",
    "u32": "I4x",
    "u64": "Q",
    "f16": "e6x",
    "f32": "f4x",
    "f64": "d",
    BLOCK: "Q",
    ROUNDS: "Q",
}
"""Layout of a kernel's argument in a word, for `struct`."""


Spare = dict[tuple[int, int], list[tuple[int, int]]]
"""Addresses and serials of freed blocks, by the key of blocks of the
same loop that can take their place (`DeviceBlock.like`)."""


class TooWide(Exception):
    """A launch needs indices of 64 bits, but the kernels are compiled for fewer."""


class DeviceBlock:
    """Cells on the device, freed with the last reference."""

    __slots__ = ("address", "bytes", "count", "device", "dtype", "like", "serial")

    constant = False
    """True for memory that must not be written."""

    def __init__(self, device: Device, count: int, dtype: np.dtype[np.generic]) -> None:
        """Raise DeviceError where memory is exhausted."""
        self.address = 0
        itemsize = dtype.itemsize
        size = max(count, 1) * itemsize
        self.device, self.count, self.dtype, self.bytes = device, count, dtype, size
        self.like = size, itemsize
        """The key of blocks that can take its place."""
        if device.spare is not None:
            kept = device.spare.setdefault(self.like, [])
            if kept:
                self.address, self.serial = kept.pop()
                return
        if device.gpu.capturing:
            raise CompilerBug("A block is made in rounds that are captured.")
        device.made = self.serial = device.made + 1
        self.address = device.memory(size, itemsize)
        device.used += size
        device.peak = max(device.peak, device.used)

    def __del__(self) -> None:
        if not self.address:
            return
        spare = self.device.spare
        if spare is not None and self.like in spare:
            spare[self.like].append((self.address, self.serial))
        else:
            self.device.give_back(self.address, self.bytes)

    def __index__(self) -> int:
        """Return the kernel argument for it: its address."""
        return self.address

    def at(self, index: int) -> int:
        """Return the address of a cell."""
        return self.address + index * self.dtype.itemsize


class _Kernel:
    """A kernel of a run, and the arguments of its next launch.

    Words of 64 bits hold its arguments, the last of which is the failure flag; their addresses lie
    at `places`.
    """

    __slots__ = (
        *("count", "threads", "shared"),
        *("addresses", "device", "function", "is_numbered", "name", "pack", "places", "words"),
    )

    def __init__(self, device: Device, name: str, function: int, taken: Sequence[str]) -> None:
        """`taken`: the types of numbers, `BLOCK` for blocks, and `ROUNDS`."""
        self.device, self.name, self.function = device, name, function
        self.count = self.threads = self.shared = 0
        self.is_numbered = ROUNDS in taken
        self.pack = struct.Struct("<" + "".join(_WORDS[one] for one in (*taken, BLOCK))).pack_into
        self.words: Any = np.zeros(len(taken) + 1, np.uint64)
        first = _start(self.words)
        self.addresses = np.arange(first, first + self.words.nbytes, 8, dtype=np.uint64)
        self.places = _start(self.addresses)

    def start(self, *arguments: Any) -> None:
        """Launch the kernel. The words are read before the call returns."""
        device = self.device
        if self.count <= 0:
            return
        gpu = device.gpu
        if self.is_numbered:
            arguments += (device.failure.at(ROUND) if gpu.capturing else 0,)
        self.pack(self.words, 0, *arguments, device.failure)
        if gpu.watches:
            device.launches.append((self.name, self.count))
        device.running = True
        device.asked += 1
        gpu.launch(self.function, self.count, self.threads, self.shared, self.places)


class Device:
    """One run on a GPU, with `most` bytes of its memory; `wide`: indices have 64 bits."""

    asked = 0
    """Launches, block copies and zero fills requested in the current loop."""
    spare: Spare | None = None
    """Blocks that iterations of a capturable loop leave for later ones."""

    def __init__(self, gpu: Gpu, image: bytes, about: Plain, most: int, wide: bool = False) -> None:
        self.gpu, self.about, self.most, self.wide = gpu, about, most, wide
        self.used = self.peak = self.made = 0
        self.unsure = 0
        """Iterations since the host last checked the failure flag."""
        self.running = False
        """True if kernels may still be running."""
        self.kernels: dict[str, _Kernel] = {}
        """The kernels launched so far."""
        self.launches: list[tuple[str, int]] = []
        """Kernels in launch order with their blocks, where accesses are observed."""
        self.idle: dict[int, list[int]] = {}
        """Addresses of free memory by size in bytes."""
        self.idle_bytes = 0
        self.open = True
        self.landed = gpu.landing
        """Host memory that receives copies from the device, the failure flag first."""
        self.landing = _start(gpu.landing)
        self.module = gpu.load(image)
        self.failure = self.zeros(_FLAG, "i64")

    def call(self, function: Callable[..., Any], given: Sequence[Any]) -> Any:
        """Call a host function.

        After a check has failed in a kernel the host may fail too: the error is then the check's.
        """
        self.unsure = 0
        try:
            return function(self, *given)
        except Exception:
            with suppress(DeviceError):
                self.check()
            raise

    def close(self) -> None:
        """Free everything unused, after the results have been read."""
        del self.failure  # it knows the device
        self.open = False
        self.let_go_idle()
        self.gpu.trim()
        self.gpu.unload(self.module)

    def forgive(self) -> None:
        """Clear the failure flag, which stops kernels, for the next run."""
        self.gpu.wait()
        self.gpu.zero(self.failure.address, self.failure.bytes)
        self.running = False

    def alloc(self, count: int, prim: Prim, site: int) -> DeviceBlock:
        """Allocate a block; `count` is exact."""
        try:
            if 0 <= count <= MOST_CELLS:
                return DeviceBlock(self, count, DTYPE[prim])
        except DeviceError as error:
            if error.number != OUT_OF_MEMORY:
                raise
        values = [max(-LARGEST, min(count, LARGEST))]
        full = failed_check(self.about, {"site": site, "values": values})
        full.hint = FULL[1]
        raise full

    def memory(self, size: int, cell: int) -> int:
        """Return the address of memory, for cells of `cell` bytes.

        Raises DeviceError if it is full.
        """
        kept = self.idle.get(size)
        if kept:
            self.idle_bytes -= size
            return kept.pop()
        if self.used + self.idle_bytes + size > self.most:
            self.let_go_idle()
        if self.used + size > self.most:
            self.let_go(self.spare or {})
        if self.used + size > self.most:
            full = DeviceError(f"{FULL[0]} for one program.", hint=FULL[1])
            full.number = OUT_OF_MEMORY
            raise full
        try:
            return self.gpu.allocate(size, cell)
        except DeviceError as error:
            found = self.let_go_idle(), self.let_go(self.spare or {})
            if error.number != OUT_OF_MEMORY or not any(found):
                raise
        return self.gpu.allocate(size, cell)

    def give_back(self, address: int, size: int) -> None:
        """Take memory back for reuse; work already requested still completes first.

        Memory of a failed device is gone already.
        """
        self.used -= size
        if self.open and self.gpu.keeps and self.idle_bytes + size <= KEPT_BYTES:
            self.idle.setdefault(size, []).append(address)
            self.idle_bytes += size
        else:
            self.gpu.free(address)

    def let_go_idle(self) -> bool:
        """Free the memory kept for reuse; return True if there was some."""
        found = self.idle_bytes > 0
        for kept in self.idle.values():
            while kept:
                self.gpu.free(kept.pop())
        self.idle_bytes = 0
        return found

    def let_go(self, spare: Spare) -> bool:
        """Free the blocks kept for the next iteration; return True if there were some."""
        any_kept = False
        for (size, _), kept in spare.items():
            while kept:
                self.used -= size
                self.gpu.free(kept.pop()[0])
                any_kept = True
        return any_kept

    def part(self, count: int, prim: Prim) -> DeviceBlock:
        """Allocate a block for partial results."""
        return DeviceBlock(self, count, DTYPE[prim])

    def zeros(self, count: int, prim: Prim) -> DeviceBlock:
        """Allocate a block of zeros."""
        made = DeviceBlock(self, count, DTYPE[prim])
        self.asked += 1
        self.gpu.zero(made.address, made.bytes)
        return made

    def given(self, cells: Cells) -> DeviceBlock:
        """Copy host cells into a new block."""
        made = DeviceBlock(self, cells.size, cells.dtype)
        if cells.size:
            self.gpu.copy_in(made.address, _start(cells), cells.nbytes)
        return made

    def again(self, block: DeviceBlock) -> DeviceBlock:
        """Copy a block."""
        made = DeviceBlock(self, block.count, block.dtype)
        self.copy(made, 0, block, 0, block.count)
        return made

    def taken(self, block: DeviceBlock, count: int, dtype: np.dtype[np.generic]) -> Cells:
        """Copy the first cells of a block to the host."""
        cells = np.empty(count, dtype)
        if count:
            self.gpu.copy_out(_start(cells), block.address, cells.nbytes)
        return cells

    def launch(
        self,
        name: str,
        points: int = -1,
        blocks: int = -1,
        busy: int = THREADS,
        most: int = 0,
        shared: int = 0,
    ) -> Callable[..., None]:
        """Prepare a kernel for so many points, or blocks of threads; no index exceeds `most`.

        At most `busy` threads of a block have work. Each block has `shared` bytes of dynamic shared
        memory.

        Errors: `RuntimeError_` for more blocks of threads than a GPU takes at once, `TooWide` where
        its indices have too few bits.
        """
        kernel = self.kernels.get(name) or self._kernel(name)
        count = blocks_for(points, blocks)
        if count > MOST_BLOCKS:
            raise RuntimeError_(
                f"The kernel `{name}` would have {count:,} blocks of threads, but a GPU "
                f"takes at most {MOST_BLOCKS:,}.",
                hint="Try smaller inputs, or run with the C backend.",
            )
        if most >= LIMIT and not self.wide and count > 0:
            raise TooWide
        kernel.count, kernel.threads, kernel.shared = count, threads_for(busy), shared
        return kernel.start

    def _kernel(self, name: str) -> _Kernel:
        """Look up a kernel at its first launch."""
        function = self.gpu.kernel(self.module, name)
        taken = ["i64"] if name == NEXT else self.about["kernels"][name]
        self.kernels[name] = made = _Kernel(self, name, function, taken)
        return made

    def rounds(
        self, count: int, turning: Callable[[], Sequence[DeviceBlock]], numbered: bool = False
    ) -> Iterator[int]:
        """Yield the iterations that the host runs; the device runs `count`.

        The work of an iteration depends only on `turning()`, the blocks of some variables, on
        blocks that earlier iterations left for it, and, if `numbered`, on its number in kernels,
        unless a block is made (Note [Rounds] in `codegen/kernels/repeats.py`). Repeated iterations
        are captured as a graph of several, so that the host makes few requests.
        """
        spare: Spare = {}
        self.spare, self.asked = spare, 0
        try:
            yield from self._rounds(count, turning, numbered)
        finally:  # which is late where a check of the host ends the loop
            self.let_go(spare)
            if self.spare is spare:
                self.spare = None

    def _rounds(
        self, count: int, turning: Callable[[], Sequence[DeviceBlock]], numbered: bool
    ) -> Iterator[int]:
        seen: dict[object, tuple[int, int, int]] = {}
        begun, made = 0, -1
        while begun < count:
            kept = [tuple(serial for _, serial in one) for one in (self.spare or {}).values()]
            serials = tuple(0 if block is None else block.serial for block in turning())
            state = (serials, *kept)
            before, made, asked = seen.get(state, (begun, -1, 0))
            if made == self.made or begun == MOST_ROUNDS:
                break
            seen[state] = begun, self.made, self.asked
            yield begun
            begun += 1
        if made == self.made and begun < count:
            period = begun - before
            together, launches = _shared_out((count - begun) // period, self.asked - asked)
            if together:
                inside = together * period
                yield from self._captured(range(begun, begun + inside), launches, numbered)
                begun += inside * launches
        yield from range(begun, count)

    def _captured(self, rounds: Sequence[int], launches: int, numbered: bool) -> Iterator[int]:
        """Capture iterations as a graph, and launch it so often."""
        first = len(self.launches)
        with self.gpu.capture() as graph:
            yield from rounds
            if numbered:
                self.launch(NEXT, blocks=1)(len(rounds))
        captured = self.launches[first:]
        del self.launches[first:]
        for _ in range(launches):
            self.launches += captured
            graph.launch()
        graph.close()
        if numbered:
            self.gpu.zero(self.failure.at(ROUND), 8)

    def ranges(self, segments: int, size: int, least: int) -> tuple[int, int]:
        """Return the number of blocks of threads per segment, and of elements per block."""
        most = max(1, (size + least - 1) // least)
        blocks = max(1, min(most, TARGET_BLOCKS // max(1, segments)))
        return blocks, (size + blocks - 1) // blocks

    def check(self) -> None:
        """Wait for all kernels, and raise the error of a failed check."""
        if self.running:
            self._land(self.failure, 0, _FLAG, 0)
            self._checked()

    def fail(self, site: int, values: Sequence[object]) -> None:
        """Raise the error of a failed host check, unless a kernel's check failed before."""
        self.check()
        message = self.about["sites"][site]
        shown = iter(values)
        parts = [p if isinstance(p, str) else _shown(next(shown)) for p in message["parts"]]
        span = NOWHERE if message["span"] is None else Span(*message["span"])
        error = RuntimeError_("".join(parts), span)
        error.site = site
        raise error

    def read(self, *cells: tuple[DeviceBlock, int]) -> Any:
        """Read cells after all kernels, with one wait: the value of one cell, or a list.

        There is one wait for all.

        They arrive with the failure flag, in consecutive words of 64 bits.
        """
        for block, at in cells:
            self.inside(block, at)
        self._land(self.failure, 0, _FLAG, 0)
        for number, (block, at) in enumerate(cells, _FLAG):
            self._land(block, at, 1, 8 * number)
        self._checked()
        area = self.landed
        kinds = enumerate((block.dtype for block, _ in cells), _FLAG)
        found = [np.frombuffer(area, kind, 1, 8 * at).item() for at, kind in kinds]
        return found if len(found) > 1 else found[0]

    def write(self, block: DeviceBlock, at: int, value: Any) -> None:
        """Write one cell."""
        self.inside(block, at)
        cell = np.array([value], block.dtype)
        self.gpu.copy_in(block.at(at), _start(cell), cell.nbytes)

    def copy(self, dest: DeviceBlock, to: int, source: DeviceBlock, start: int, count: int) -> None:
        """Copy contiguous cells."""
        if count > 0:
            self.inside(dest, to, count)
            self.inside(source, start, count)
            size = count * dest.dtype.itemsize
            there, here = dest.at(to), source.at(start)
            self.asked += 1
            self.gpu.copy(there, here, size)

    def sure(self, count: int) -> int:
        """Return a number of iterations, unless a failed check that it depends on raises its error.

        The flag is read only once per so many iterations; fewer end soon in any case.
        """
        self.unsure += max(0, count)
        if self.unsure > UNSURE_ROUNDS:
            self.check()
            self.unsure = 0
        return count

    def inside(self, block: DeviceBlock, at: int, count: int = 1) -> None:
        """Check that cells are in their block.

        Raises the error of a failed check, else CompilerBug.
        """
        if not 0 <= at <= at + count <= block.count:
            self.check()
            what = f"cells {at} up to {at + count} of a block of {block.count}"
            raise CompilerBug(f"The host touches {what}.")

    def _land(self, block: DeviceBlock, at: int, count: int, where: int) -> None:
        """Copy cells to the landing area, without waiting."""
        size = count * block.dtype.itemsize
        self.gpu.copy_out(self.landing + where, block.at(at), size)

    def _checked(self) -> None:
        """Wait, and test the flag in the landing area."""
        self.gpu.wait()
        self.running = False
        if self.landed[0]:
            _, site, *values = self.landed[:_FLAG].tolist()
            raise failed_check(self.about, {"site": site, "values": values})


def _shared_out(times: int, asked: int) -> tuple[int, int]:
    """Return how many iterations to capture together, and how often to launch them.

    The host runs the remainder. (0, 0) where a graph saves no work.
    """
    found, least = (0, 0), times * max(1, asked) - MAKING
    for together in range(1, isqrt(times) + 1):
        launches = times // together
        work = (together + times % together) * max(1, asked) + launches
        if work <= least:
            found, least = (together, launches), work
    return found


def _start(cells: Cells) -> int:
    """Return the address of a contiguous host array."""
    return int(cells.__array_interface__["data"][0])


def _shown(value: object) -> str:
    return ("false", "true")[value] if isinstance(value, bool) else str(value)


@lru_cache(maxsize=8)
def about(code: str) -> Plain:
    """Read the description of entry points and checks at the end of a CUDA text."""
    return dict(json.loads(ast.literal_eval(code.rpartition("\nABOUT = ")[2])))


def host_functions(code: str) -> dict[str, Any]:
    """Return the host functions of a generated CUDA text by name: each takes the device first."""
    env: dict[str, Any] = {}
    exec(_host(code), env)
    return env


@lru_cache(maxsize=8)
def _host(code: str) -> CodeType:
    return compile(split(code)[1], "<cuda host>", "exec")


def run_on(
    device: Device, code: str, entry: str, values: Sequence[Value], runs: int = 1
) -> RunResult:
    """Run an entry point of a generated CUDA text whose kernels are loaded.

    Times are between two device events, without copies of inputs and results. Inputs are copied to
    the device once; each run gets its own copy of those that it may overwrite.
    """
    chosen = choose_entry(device.about, entry)
    arrays, sizes = prepare(chosen, values)
    function = host_functions(code)[chosen["symbol"]]
    gpu = device.gpu
    times: list[float] = []
    outcome: tuple[Any, ...] = ()
    given = arguments(chosen, arrays, sizes, device.given)
    taken = {one["block"] for one in chosen["takes"] if one["shape"] is not None and one["unique"]}
    own = [slot["name"] in taken for slot in chosen["params"]]

    def mine(one: object, overwritten: bool) -> object:
        return device.again(one) if overwritten and isinstance(one, DeviceBlock) else one

    for left in reversed(range(runs)):
        outcome = ()
        now = list(map(mine, given, own)) if left else given
        gpu.mark(BEGIN)
        outcome = device.call(function, now)
        gpu.mark(END)
        times.append(gpu.elapsed_ms())
    found = results(chosen, outcome, sizes, device.taken)
    gpu.wait()
    return RunResult(found, min(times), tuple(times), device.peak, 0)
