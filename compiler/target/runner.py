"""Runs compiled C programs in a process of their own: limits, deadline, crashes, timing.

Values are NumPy arrays and scalars. They travel through files in memory, and are not copied on the
way in. The process is kept for the next run; it is replaced after a crash or a timeout.
"""

from __future__ import annotations

import json
import mmap
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np

from compiler.base.errors import CompilerBug, RuntimeError_, UsageError
from compiler.base.prim import BYTES, DTYPE, INTS
from compiler.base.spans import NOWHERE, Span
from compiler.base.text import Line, Text, plain
from compiler.target import sanitize
from compiler.target.cc import compile_c, find_compiler
from compiler.target.runner_child import memory_file, receive, send
from compiler.target.signature import Plain, check_shapes, choose_entry, poly_value, solve_sizes

Value = np.ndarray[Any, np.dtype[Any]] | np.generic | int | float | bool
"""An array or a scalar; what comes back are arrays and NumPy scalars."""

MAX_LIBRARIES = 64
_ROOT = Path(__file__).resolve().parents[2]


class Timeout(RuntimeError_):
    """The deadline passed."""

    kind = "timeout"


@dataclass(frozen=True, slots=True)
class RunResult:
    """Results in the entry point's order; `ms` is the best run, `times` all of them.

    `peak_bytes`: inputs, results and everything that the program allocates, at the worst moment.
    The last three are of one run: blocks allocated, their bytes, and, where the program was
    compiled with `cc.COUNTING`, the bytes that copies moved (else 0) and what threads allocated.
    """

    values: list[Any]
    ms: float
    times: tuple[float, ...]
    peak_bytes: int
    cores: int
    allocations: int = 0
    allocated_bytes: int = 0
    copied_bytes: int = 0


def run_c(
    code: str | Text,
    entry: str,
    values: Sequence[Value],
    deadline_s: float = 60.0,
    memory_bytes: int | None = None,
    cores: int | None = None,
    runs: int = 1,
    flags: Sequence[str] = (),
    sanitized: bool = False,
) -> RunResult:
    """Compile `code`, a C text of ours, and run an entry point of it `runs` times.

    The text says all about itself; `flags` are further ones for the C compiler. Raises
    RuntimeError_ for what goes wrong in the program (its kind is `timeout` if the deadline passed),
    UsageError for values or names that do not fit. `sanitized`: under sanitisers; raises
    sanitize.Report for what they find, with its place if `code` has lines that know theirs.
    """
    if sanitized:
        sanitize.library()
        flags = (*sanitize.FLAGS, *flags)
    library = compile_c(code if isinstance(code, str) else plain(code), flags)
    count = cores or (available_cores() if find_compiler().parallel else 1)
    limit = memory_bytes or default_memory()
    with _LOCK:
        runner = _runner(count, sanitized)
        try:
            return runner.run(library, entry, values, deadline_s, limit, runs)
        except Crash as crash:
            lines = tuple(map(Line, code.split("\n"))) if isinstance(code, str) else code
            raise (sanitize.report(crash.said, lines) or crash) from None


def run_cuda(
    code: str,
    entry: str,
    values: Sequence[Value],
    deadline_s: float = 60.0,
    runs: int = 1,
) -> RunResult:
    """Run an entry point of `code`, a CUDA text of ours, through CuPy.

    Raises UsageError where there is no CuPy or no GPU.
    """
    from compiler.target import cuda_device

    return cuda_device.run_cuda(code, entry, values, runs)


def compiler_available() -> bool:
    """Whether there is a C compiler."""
    try:
        find_compiler()
    except UsageError:
        return False
    return True


def available_cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_memory() -> int:
    """Three quarters of the machine's memory, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4 * 3


def close_runners() -> None:
    """End all runner processes of this process."""
    with _LOCK:
        for runner in _RUNNERS.values():
            runner.close()
        _RUNNERS.clear()


def _runner(cores: int, sanitized: bool = False) -> _Runner:
    runner = _RUNNERS.get((cores, sanitized))
    if runner is None or not runner.usable():
        if runner is not None:
            runner.close()
        runner = _RUNNERS[cores, sanitized] = _Runner(cores, sanitized)
    return runner


class Crash(RuntimeError_):
    """The process is gone; `said` is what it left on standard error, where that is kept."""

    said = ""


class _Runner:
    """One runner process; `said` keeps what sanitisers write on its standard error."""

    def __init__(self, cores: int, sanitized: bool = False) -> None:
        self.cores = cores
        self.said = FileIO(memory_file()) if sanitized else None
        self.abouts: dict[Path, Plain] = {}
        self.channel, other = socket.socketpair()
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": str(cores),
            "OMP_WAIT_POLICY": "passive",
            "OMP_STACKSIZE": "16M",
            "PYTHONPATH": str(_ROOT),
        }
        if sanitized:
            environment = sanitize.environment(environment)
        self.process = subprocess.Popen(
            [sys.executable, "-S", "-E", str(Path(__file__).with_name("runner_child.py"))],
            stdin=other.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if self.said is None else self.said,
            env=environment,
            close_fds=True,
        )
        other.close()

    def usable(self) -> bool:
        """Whether the process can take another library."""
        return self.process.poll() is None and len(self.abouts) < MAX_LIBRARIES

    def close(self) -> None:
        """End the process."""
        self.channel.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()

    def ask(self, message: Plain, deadline_s: float, fd: int = -1) -> tuple[Plain, list[int]]:
        """One request; kills the process when the deadline passes."""
        self.channel.settimeout(deadline_s)
        try:
            send(self.channel, message, fd)
            answer, fds = receive(self.channel)
        except TimeoutError:
            self.close()
            raise Timeout(
                f"The program did not finish within {deadline_s:g} s.",
                hint="Try a smaller input, or look for a loop that does not end.",
            ) from None
        except OSError:
            answer, fds = None, []
        if answer is None:
            raise self.crash()
        return answer, fds

    def crash(self) -> RuntimeError_:
        """Why the process is gone."""
        self.close()
        code = self.process.returncode or 0
        if code == -signal.SIGXCPU:
            return Timeout("The program used up its processor time.")
        if code == -signal.SIGKILL:
            return RuntimeError_("The program was killed, most likely for lack of memory.")
        name = signal.Signals(-code).name if code < 0 else f"exit status {code}"
        crash = Crash(f"The compiled program crashed ({name}).")
        if self.said is not None:
            self.said.seek(0)
            crash.said = self.said.read().decode(errors="replace")
        return crash

    def about(self, library: Path, deadline_s: float) -> Plain:
        """Entry points and checks of a library."""
        if library not in self.abouts:
            answer, _ = self.ask({"op": "load", "library": str(library)}, deadline_s)
            if "error" in answer:
                raise CompilerBug(f"a compiled program could not be loaded: {answer['error']}")
            self.abouts[library] = json.loads(answer["about"])
        return self.abouts[library]

    def run(
        self,
        library: Path,
        entry_name: str,
        values: Sequence[Value],
        deadline_s: float,
        memory_bytes: int,
        runs: int,
    ) -> RunResult:
        """Run an entry point."""
        about = self.about(library, deadline_s)
        entry = choose_entry(about, entry_name)
        arrays, sizes = prepare(entry, values)
        slots, fd, total = pack(entry, arrays, sizes)
        if total > memory_bytes:
            os.close(fd)
            raise RuntimeError_(f"The inputs need {total} bytes, more than the limit.")
        message = {
            "op": "run",
            "library": str(library),
            "entry": entry["symbol"],
            "slots": slots,
            "input_bytes": total,
            "runs": runs,
            "results": entry["results"],
            "gives": [{**g, "bytes": BYTES[g["prim"]]} for g in entry["gives"]],
            "sizes": sizes,
            "cpu_seconds": int(deadline_s * self.cores * 2) + 2,
            "memory_bytes": memory_bytes,
            "address_space": self.said is None,
        }
        try:
            answer, fds = self.ask(message, deadline_s, fd)
        finally:
            if fd >= 0:
                os.close(fd)
        if "site" in answer:
            raise failed_check(about, answer)
        if "error" in answer:
            raise RuntimeError_(f"The program could not be run: {answer['error']}.")
        results = unpack(entry, answer["slots"], sizes, fds)
        times = tuple(answer["times"])
        return RunResult(
            results,
            min(times),
            times,
            answer["peak"],
            self.cores,
            answer["allocs"],
            answer["bytes_allocated"],
            answer["bytes_copied"],
        )


_LOCK = threading.Lock()
_RUNNERS: dict[tuple[int, bool], _Runner] = {}


# --- values ----------------------------------------------------------------------------------


def prepare(entry: Plain, values: Sequence[Value]) -> tuple[list[Any], dict[str, int]]:
    """Values with the types of the entry point's parameters, and all of its integer parameters."""
    takes = entry["takes"]
    if len(values) != len(takes):
        raise UsageError(
            f"The entry point `{entry['name']}` takes {len(takes)} values, not {len(values)}."
        )
    arrays: list[Any] = []
    for k, (taken, value) in enumerate(zip(takes, values, strict=True)):
        arrays.append(_fitting(taken, value, k + 1))
    shapes = [
        a.shape if t["shape"] is not None else None for t, a in zip(takes, arrays, strict=True)
    ]
    sizes = solve_sizes(entry, shapes)
    for taken, array in zip(takes, arrays, strict=True):
        if taken["shape"] is None and taken["prim"] in INTS:
            sizes[taken["name"]] = int(array)
    check_shapes(entry, shapes, sizes)
    return arrays, sizes


def _fitting(taken: Plain, value: Value, number: int) -> Any:
    array = np.asarray(value)
    rank = 0 if taken["shape"] is None else len(taken["shape"])
    want = DTYPE[taken["prim"]]
    if array.ndim != rank:
        kind = "a scalar" if rank == 0 else f"an array of {rank} dimensions"
        got = "a scalar" if array.ndim == 0 else f"one of {array.ndim} dimensions"
        raise UsageError(f"Input {number} must be {kind}, not {got}.")
    if array.dtype != want:
        if not isinstance(value, (int, float, bool)) and array.size:
            raise UsageError(
                f"Input {number} must be of type {taken['prim']}, not {array.dtype.name}."
            )
        array = array.astype(want)
    return np.ascontiguousarray(array) if rank else array


def pack(entry: Plain, arrays: Sequence[Any], sizes: dict[str, int]) -> tuple[list[Any], int, int]:
    """Input slots, a file with the arrays (or -1), and its size.

    A slot is whether the program may consume it, its bits or its place in the file, and its bytes
    (-1 for scalars).
    """
    by_name: dict[str, Any] = {}
    by_block: dict[str, tuple[bool, Any]] = {}
    for taken, array in zip(entry["takes"], arrays, strict=True):
        by_name[taken["name"]] = array
        if taken["shape"] is not None:
            by_block[taken["block"]] = (taken["unique"], array)
    slots: list[Any] = []
    places: list[tuple[int, Any]] = []
    total = 0
    for slot in entry["params"]:
        name = slot["name"]
        if slot["block"]:
            unique, array = by_block[name]
            slots.append((unique, total, array.nbytes))
            places.append((total, array))
            total += (array.nbytes + 63) // 64 * 64
        elif name in by_name:
            slots.append((False, _bits(by_name[name]), -1))
        elif name in sizes:
            slots.append((False, sizes[name], -1))
        else:
            raise UsageError(f"The size `{name}` does not follow from the shapes of the inputs.")
    if not total:
        return slots, -1, 0
    fd = memory_file()
    os.ftruncate(fd, total)
    with mmap.mmap(fd, total) as area:
        whole = np.frombuffer(area, np.uint8)
        for at, array in places:
            whole[at : at + array.nbytes] = array.reshape(-1).view(np.uint8)
        del whole
    return slots, fd, total


def _bits(scalar: Any) -> int:
    if scalar.dtype.kind == "f":
        raw = scalar.tobytes()
        return int(struct.unpack("<q", raw + bytes(8 - len(raw)))[0])
    value = int(scalar)
    return value - (1 << 64) if value >= 1 << 63 else value


def unpack(
    entry: Plain, slots: Sequence[int], sizes: dict[str, int], fds: Sequence[int]
) -> list[Any]:
    """The external results from the result slots."""
    env = {**sizes}
    at = {}
    for slot, value in zip(entry["results"], slots, strict=True):
        at[slot["name"]] = value
        if not slot["block"]:
            env[slot["name"]] = value
    area = b""
    if fds:
        size = os.fstat(fds[0]).st_size
        area = mmap.mmap(fds[0], size, mmap.MAP_SHARED)  # type: ignore[assignment]
        os.close(fds[0])
    found: list[Any] = []
    for give in entry["gives"]:
        dtype = DTYPE[give["prim"]]
        if give["shape"] is None:
            found.append(_scalar(at[give["name"]], dtype))
            continue
        shape = [poly_value(size, env) for size in give["shape"]]
        count = int(np.prod(shape, dtype=np.int64))
        flat = np.frombuffer(area, dtype, count, at[give["block"]]) if count else np.empty(0, dtype)
        found.append(flat.reshape(shape))
    return found


def _scalar(bits: int, dtype: Any) -> Any:
    if dtype.kind == "f":
        double = struct.unpack("<d", struct.pack("<q", bits))[0]
        return np.dtype(dtype).type(double)
    if dtype.kind == "b":
        return np.bool_(bits)
    return np.array(bits, np.int64).astype(dtype)[()]


def failed_check(about: Plain, answer: Plain) -> RuntimeError_:
    """The error of a failed check, with its values and place."""
    site = about["sites"][answer["site"]]
    values = iter(answer["values"])
    parts = [p if isinstance(p, str) else _shown(next(values, 0), p["prim"]) for p in site["parts"]]
    span = NOWHERE if site["span"] is None else Span(*site["span"])
    return RuntimeError_("".join(parts), span)


def _shown(bits: int, prim: str) -> str:
    if prim[0] == "f":
        return str(struct.unpack("<d", struct.pack("<q", bits))[0])
    if prim == "bool":
        return "true" if bits else "false"
    return str(bits % (1 << 64) if prim == "u64" else bits)
