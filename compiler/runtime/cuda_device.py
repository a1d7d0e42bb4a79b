"""What a CUDA host program calls: CuPy's memory and launches, and the failure flag."""

from __future__ import annotations

import ast
import json
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from compiler.base.errors import RuntimeError_, UsageError
from compiler.base.prim import DTYPE, Prim
from compiler.base.spans import NOWHERE, Span
from compiler.codegen.cuda.program import split
from compiler.codegen.cuda.runtime import THREADS
from compiler.codegen.signature import Plain, choose_entry
from compiler.runtime.runs import RunResult, Value, arguments, failed_check, prepare, results

TARGET_BLOCKS = 1024
"""Blocks of threads that fill a GPU."""
LARGEST = 2**63 - 1
MOST_CELLS = 1 << 58
"""Cells of a block; more bytes than can be told in 64 bits are not asked for."""


def cupy() -> Any:
    """The module CuPy with a device. Raises UsageError where there is none."""
    hint = "Run with the C back end, or install `stridescope[cuda13]` on a machine with a GPU."
    try:
        import cupy
    except ImportError:
        raise UsageError("CuPy is not installed, which runs CUDA programs", hint=hint) from None
    try:
        count = cupy.cuda.runtime.getDeviceCount()
    except cupy.cuda.runtime.CUDARuntimeError:
        count = 0
    if not count:
        raise UsageError("This machine has no GPU that CUDA can use.", hint=hint)
    return cupy


class Device:
    """One run on a GPU."""

    def __init__(self, cp: Any, kernels: str, about: Plain) -> None:
        self.cp = cp
        self.module = cp.RawModule(code=kernels, options=("--fmad=false", "--std=c++17"))
        self.module.compile()
        self.about = about
        self.failure = cp.zeros(16, np.int64)

    def alloc(self, count: int, prim: Prim, site: int) -> Any:
        """A block; `count` is exact."""
        try:
            if 0 <= count <= MOST_CELLS:
                return self.cp.empty(max(count, 1), DTYPE[prim])
        except self.cp.cuda.memory.OutOfMemoryError:
            pass
        values = [max(-LARGEST, min(count, LARGEST))]
        raise failed_check(self.about, {"site": site, "values": values})

    def part(self, count: int, prim: Prim) -> Any:
        """A block for partial results."""
        return self.cp.empty(max(count, 1), DTYPE[prim])

    def zeros(self, count: int, prim: Prim) -> Any:
        """A block of zeros."""
        return self.cp.zeros(count, DTYPE[prim])

    def launch(self, name: str, points: int = -1, blocks: int = -1) -> Callable[..., None]:
        """A kernel for so many points, or blocks of threads."""
        kernel = self.module.get_function(name)
        count = blocks if points < 0 else (points + THREADS - 1) // THREADS

        def start(*arguments: Any) -> None:
            if count > 0:
                kernel((count,), (THREADS,), (*map(_bits, arguments), self.failure))

        return start

    def ranges(self, segments: int, size: int, least: int) -> tuple[int, int]:
        """How many blocks of threads share a segment, and how many elements each takes."""
        most = max(1, (size + least - 1) // least)
        blocks = max(1, min(most, TARGET_BLOCKS // max(1, segments)))
        return blocks, (size + blocks - 1) // blocks

    def check(self) -> None:
        """Wait for all kernels, and raise if a check failed in one of them."""
        failure = self.failure.get()
        if failure[0]:
            answer = {"site": int(failure[1]), "values": [int(v) for v in failure[2:]]}
            raise failed_check(self.about, answer)

    def fail(self, site: int, values: Sequence[object]) -> None:
        """A check of the host failed."""
        message = self.about["sites"][site]
        shown = iter(values)
        parts = [p if isinstance(p, str) else _shown(next(shown)) for p in message["parts"]]
        span = NOWHERE if message["span"] is None else Span(*message["span"])
        error = RuntimeError_("".join(parts), span)
        error.site = site
        raise error

    def read(self, block: Any, at: int) -> Any:
        """One cell, after all kernels."""
        self.check()
        return block[at].item()

    def write(self, block: Any, at: int, value: Any) -> None:
        """One cell."""
        block[at] = value

    def copy(self, dest: Any, to: int, source: Any, start: int, count: int) -> None:
        """Cells that lie together."""
        dest[to : to + count] = source[start : start + count]


def _bits(argument: Any) -> Any:
    """Halves are given to kernels as their bits."""
    return argument.view(np.uint16) if isinstance(argument, np.float16) else argument


def _shown(value: object) -> str:
    return ("false", "true")[value] if isinstance(value, bool) else str(value)


def about(code: str) -> Plain:
    """Entry points and checks of a CUDA text, as `cuda.py` wrote them at its end."""
    return dict(json.loads(ast.literal_eval(code.rpartition("\nABOUT = ")[2])))


def run_cuda(code: str, entry: str, values: Sequence[Value], runs: int = 1) -> RunResult:
    """Run an entry point of a CUDA text of ours on this machine's GPU, in this process."""
    return run_on(cupy(), code, entry, values, runs)


def run_on(cp: Any, code: str, entry: str, values: Sequence[Value], runs: int = 1) -> RunResult:
    """As `run_cuda`, with CuPy, or with what stands in for it."""
    kernels, host = split(code)
    env: dict[str, Any] = {}
    exec(compile(host, "<cuda host>", "exec"), env)
    said = about(code)
    chosen = choose_entry(said, entry)
    arrays, sizes = prepare(chosen, values)
    function = env[chosen["symbol"].removeprefix("entry_")]
    device = Device(cp, kernels, said)
    times: list[float] = []
    outcome: tuple[Any, ...] = ()
    for _ in range(runs):
        given = arguments(chosen, arrays, sizes, lambda cells: cp.asarray(cells).copy())
        cp.cuda.runtime.deviceSynchronize()
        start = time.perf_counter()
        outcome = function(device, *given)
        cp.cuda.runtime.deviceSynchronize()
        times.append((time.perf_counter() - start) * 1000)
    found = results(chosen, outcome, sizes, lambda block, count, _: block[:count].get())
    peak = int(cp.get_default_memory_pool().total_bytes())
    return RunResult(found, min(times), tuple(times), peak, 0)
