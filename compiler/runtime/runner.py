"""Run compiled C programs, each in a sandboxed process with limits, deadline and timing.

Values are NumPy arrays and scalars. They are passed in memory files, without a copy on the way in.
The process that runs are forked from (`runner_child.py`) is kept. The answer of a run is trusted as
little as the program: it is read up to a limit, and checked before use.
"""

from __future__ import annotations

import contextlib
import json
import math
import mmap
import os
import resource
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from io import FileIO
from pathlib import Path

import numpy as np

from compiler.base.dataclass import dataclass
from compiler.base.deadline import Deadline
from compiler.base.dtypes import DTYPE
from compiler.base.errors import (
    CompilerBug,
    RuntimeError_,
    TimeoutError_,
    UsageError,
    without_folders,
)
from compiler.base.prim import BYTES
from compiler.base.text import Line, Text, plain
from compiler.codegen.signature import Plain, choose_entry, shape_of
from compiler.ir import values
from compiler.runtime import runner_child as child
from compiler.runtime import sanitize
from compiler.runtime.cc import compile_c, find_compiler
from compiler.runtime.runs import (
    Cells,
    RunResult,
    Value,
    WindowOf,
    apart,
    exchange,
    failed_check,
    memory_file,
    prepare,
    seal,
    senseless,
    shaped,
)
from compiler.sandbox import walls
from compiler.sandbox.policies import PROGRAM

Slot = tuple[bool, int, int]
START_SECONDS = 20.0
SHORT_RUNS = 3
"""Repetitions to time a short single run: each process is new, with cold memory."""
END_SECONDS = 2.0
"""Seconds for a killed run to end."""
_PRELOADED = (
    "libc.so.6",
    "libm.so.6",
    "libmvec.so.1",
    "libgcc_s.so.1",
    "libgomp.so.1",
    "libomp.so.5",
)
"""Libraries that ours need: preloaded, because a run can open no file."""
_ABOUT = "const char ss_about[] ="


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a run: repetitions, memory in bytes, cores (None: all there are).

    `flags` are further ones for the C compiler. `sanitized`: under sanitisers, without a sandbox,
    which would forbid what they need.
    """

    memory_bytes: int | None = None
    cores: int | None = None
    runs: int = 1
    flags: tuple[str, ...] = ()
    sanitized: bool = False
    measured: int = 0
    """The length of the array of counters in a program that measures itself."""
    given: tuple[int, ...] = ()
    """Initial values of these counters in each run; () for zeros."""
    processor: bool = False
    """Measure CPU time of the running thread: with one core that is all of it."""


USUAL = Settings()


def run_c(
    code: str | Text,
    entry: str,
    values: Sequence[Value],
    deadline: float | Deadline = 60.0,
    settings: Settings = USUAL,
) -> RunResult:
    """Compile `code`, a generated C text with its own description, and run an entry point.

    A number of seconds starts with the run; a deadline that has begun covers compiling too.

    Raises RuntimeError_ for errors of the program, TimeoutError_ at the deadline, UsageError for
    values or names that do not fit, and sanitize.Report for findings of sanitisers, with their
    places if `code` has lines with provenance.
    """
    flags = settings.flags
    if settings.sanitized:
        if walls.is_confined():
            raise UsageError("Only the command line runs programs under sanitisers.")
        sanitize.library()
        flags = (*sanitize.FLAGS, *flags)
    text = code if isinstance(code, str) else plain(code)
    cores = settings.cores or (available_cores() if find_compiler().parallel else 1)
    with _LOCK:
        _runner(cores, settings.sanitized)  # starts while the program is compiled
    began = time.perf_counter()
    library = compile_c(text, flags)
    took = (time.perf_counter() - began) * 1000
    deadline = Deadline.of(deadline)
    deadline.left("Compiling the program", "Try a smaller program, or a longer deadline.")
    limit = settings.memory_bytes or default_memory()
    counted = settings.runs, settings.measured, settings.given, settings.processor
    job = _Job(about(text), library, entry, values, deadline, limit, *counted)
    with _LOCK:
        try:
            return replace(_runner(cores, settings.sanitized).run(job), compile_ms=took)
        except Crash as crash:
            lines = tuple(map(Line, code.split("\n"))) if isinstance(code, str) else code
            raise (sanitize.report(crash.said, lines) or crash) from None


def run_often(
    code: str | Text,
    entry: str,
    values: Sequence[Value],
    deadline: float | Deadline = 60.0,
    runs: int = 1,
) -> RunResult:
    """Like `run_c`, with so many runs in one process."""
    return run_c(code, entry, values, deadline, Settings(runs=runs))


def stream_c(
    code: str | Text,
    entry: str,
    steps: Sequence[Sequence[Value | WindowOf]],
    files: Sequence[int],
    deadline: float | Deadline = 60.0,
    settings: Settings = USUAL,
) -> tuple[list[list[values.Value]], RunResult]:
    """Run an entry point once for each step, in one process, on windows of files.

    Return the results of all steps, and the cost of the run: `peak_bytes` is the peak memory of its
    process. Inputs that are arrays are the same for all steps. Errors: as `run_c`.
    """
    text = code if isinstance(code, str) else plain(code)
    cores = settings.cores or (available_cores() if find_compiler().parallel else 1)
    library = compile_c(text, settings.flags)
    limit = settings.memory_bytes or default_memory()
    job = _Job(about(text), library, entry, (), Deadline.of(deadline), limit, 1, 0)
    with _LOCK:
        return _runner(cores, False).stream(job, steps, files)


def run_sanitized(
    code: str | Text, entry: str, values: Sequence[Value], deadline: float | Deadline = 60.0
) -> RunResult:
    """Like `run_c`, under sanitisers."""
    return run_c(code, entry, values, deadline, Settings(sanitized=True))


@dataclass(frozen=True, slots=True)
class _Job:
    """An entry point of a compiled library, by name, with repetitions and limits."""

    about: Plain
    library: Path
    entry: str
    values: Sequence[Value]
    deadline: Deadline
    memory_bytes: int
    runs: int
    measured: int
    given: tuple[int, ...] = ()
    processor: bool = False


@lru_cache(maxsize=8)
def about(code: str) -> Plain:
    """Read the description of entry points and checks at the end of a C text."""
    _, found, rest = code.rpartition(_ABOUT)
    if not found:
        raise CompilerBug("a C text does not say what it is about")
    pieces = [line.strip().removesuffix(";") for line in rest.splitlines() if line.strip()]
    text = "".join(json.loads(piece.replace("\\?", "?")) for piece in pieces)
    return dict(json.loads(text))


def why_not() -> str:
    """Explain why no C program can run here; "" if one can."""
    try:
        find_compiler()
    except UsageError as error:
        return error.message
    return ""


def compiler_available() -> bool:
    """Return True if there is a C compiler."""
    return not why_not()


def available_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def default_memory() -> int:
    """Return three quarters of the machine's memory, or this process's limit, in bytes."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 4 * 3
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return machine
    return max(1 << 20, min(machine, limit - walls.ADDRESS_SPACE))


def close_runners() -> None:
    """End all runner processes of this process."""
    with _LOCK:
        for runner in _RUNNERS.values():
            runner.close()
        _RUNNERS.clear()


def _runner(cores: int, sanitized: bool) -> _Runner:
    runner = _RUNNERS.get((cores, sanitized))
    if runner is None or not runner.usable():
        if runner is not None:
            runner.close()
        runner = _RUNNERS[cores, sanitized] = _Runner(cores, sanitized)
    return runner


class Crash(RuntimeError_):
    """A run ended without an answer; `said` is its standard error, where that is kept."""

    said = ""


class _Runner:
    """The process that runs are forked from, for a number of cores, in the best sandbox available.

    `said` keeps the standard error of sanitisers, which run without a sandbox.
    """

    wall: walls.Wall | None = None
    """The wall that worked, for all runners of this process."""

    def __init__(self, cores: int, sanitized: bool) -> None:
        self.cores = cores
        self.said = FileIO(memory_file(), "r+") if sanitized else None
        self.walls = [self.wall] if self.wall is not None else walls.walls()
        if sanitized:
            self.walls = [walls.Wall()]
        self.ready = False
        self.processes: int | None = None
        self.start()

    def start(self) -> None:
        """Start the process behind the first wall, without waiting for it."""
        self.control, other = socket.socketpair()
        orders = {"user": walls.fresh_user(self.walls[0]), "preload": _PRELOADED}
        made = walls.script(self.walls[0], PROGRAM, Path(child.__file__), json.dumps(orders))
        environment = {
            **made.environment,
            "OMP_NUM_THREADS": str(self.cores),
            "OMP_WAIT_POLICY": "passive",
            "OMP_STACKSIZE": "16M",
        }
        self.process = subprocess.Popen(
            made.command,
            stdin=other.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL if self.said is None else self.said,
            env=environment if self.said is None else sanitize.environment(environment),
            close_fds=True,
            **apart(),
        )
        other.close()

    def wait(self) -> None:
        """Wait until the process is ready; fall back to the next wall if this one fails."""
        if self.ready:
            return
        while not self.ready:
            self.control.settimeout(START_SECONDS)
            said = b""
            with contextlib.suppress(OSError):
                said = self.control.recv(1)
            self.ready = said == child.HELLO
            if not self.ready:
                self.close()
                self.walls = self.walls[1:]
                if not self.walls:
                    raise CompilerBug("the process for runs could not be started")
                self.start()
        self.processes = walls.most_processes(self.walls[0], PROGRAM.processes + self.cores)
        if self.said is None:
            _Runner.wall = self.walls[0]

    def usable(self) -> bool:
        """Return True if the process is alive and its priority is not below the caller's."""
        if self.process.poll() is not None:
            return False
        mine, its = (os.getpriority(os.PRIO_PROCESS, pid) for pid in (0, self.process.pid))
        return its <= mine

    def close(self) -> None:
        """Kill the process with its run."""
        self.control.close()
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def ask(self, message: Plain, files: Sequence[int], deadline: Deadline) -> Plain:
        """Run once in a forked process; return its answer after it has ended."""
        if self.said is not None:
            self.said.seek(0)
            self.said.truncate()
        until = deadline.until
        channel, other = socket.socketpair()
        with channel:
            with other:
                socket.send_fds(self.control, [child.RUN], [other.fileno(), *files])
            try:
                data = exchange(channel, json.dumps(message).encode(), until)
                status = self.status(until)
            except TimeoutError:
                self.kill()
                raise deadline.late() from None
            except RuntimeError_:
                self.kill()
                raise
            except BaseException:
                self.close()  # how this run ends must not be taken for the end of the next one
                raise
        if status or data is None:
            raise self.crash(status)
        return _parsed(data)

    def status(self, until: float) -> int:
        """Return the exit status of the run. Raises TimeoutError if it has not ended."""
        data = b""
        while len(data) < child.WAIT.size:
            self.control.settimeout(max(0.001, until - time.monotonic()))
            piece = self.control.recv(child.WAIT.size - len(data))
            if not piece:
                self.close()
                return -signal.SIGKILL
            data += piece
        return int(child.WAIT.unpack(data)[0])

    def crash(self, status: int) -> RuntimeError_:
        """Make the error for a run that ended without an answer."""
        if status == -signal.SIGXCPU:
            return TimeoutError_("The program exceeded its limit of processor time.")
        if status == -signal.SIGKILL:
            return RuntimeError_("The program was killed, most likely for lack of memory.")
        name = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        crash = Crash(f"The compiled program crashed ({name}).")
        if self.said is not None:
            self.said.seek(0)
            crash.said = self.said.read().decode(errors="replace")
        return crash

    def kill(self) -> None:
        """Kill the run, and the process too if the run does not end."""
        try:
            self.control.sendall(child.KILL)
            self.status(time.monotonic() + END_SECONDS)
        except OSError:
            self.close()

    def run(self, job: _Job) -> RunResult:
        """Run an entry point."""
        entry = choose_entry(job.about, job.entry)
        arrays, sizes = prepare(entry, job.values)
        with contextlib.ExitStack() as opened:
            slots, inputs, total = pack(entry, arrays, sizes, job.memory_bytes)
            results, code = memory_file(), library_file(job.library)
            for fd in (*inputs, results, code):
                opened.callback(os.close, fd)
            message = {
                **self.orders(job, entry),
                "slots": slots,
                "input_bytes": total,
                "sizes": sizes,
            }
            answer = self.ask(message, [code, results, *inputs], job.deadline)
            self.check(job, answer)
            found = unpack(entry, answer["slots"], sizes, mapped(results))
        times = tuple(answer["times"])
        counts = answer["allocs"], answer["bytes_allocated"], tuple(answer["copies"])
        made = RunResult(found, min(times), times, answer["peak"], self.cores, *counts)
        return replace(made, profile=tuple(answer["profile"]))

    def stream(
        self, job: _Job, steps: Sequence[Sequence[Value | WindowOf]], files: Sequence[int]
    ) -> tuple[list[list[values.Value]], RunResult]:
        """Run an entry point for each step."""
        entry = choose_entry(job.about, job.entry)
        takes, slot_of = entry["takes"], {s["name"]: k for k, s in enumerate(entry["params"])}
        held: list[Cells] = [
            np.empty(0, DTYPE[taken["prim"]]) if isinstance(value, WindowOf) else np.asarray(value)
            for taken, value in zip(takes, steps[0], strict=True)
        ]
        told: list[Plain] = []
        sizes: list[dict[str, int]] = []
        for step in steps:
            windows: list[list[int]] = []
            numbers: dict[str, int] = {}
            for taken, value in zip(takes, step, strict=True):
                if isinstance(value, WindowOf):
                    at = slot_of[taken["block"]]
                    windows.append([at, value.file, value.first, value.bytes])
                elif taken["shape"] is None and taken["prim"] == "i64":
                    numbers[taken["name"]] = int(np.asarray(value))
            sizes.append(numbers)
            of_slots = [[slot_of[name], number] for name, number in numbers.items()]
            told.append({"windows": windows, "numbers": of_slots})
        with contextlib.ExitStack() as opened:
            slots, inputs, total = pack(entry, held, {}, job.memory_bytes)
            results, code = memory_file(), library_file(job.library)
            for fd in (*inputs, results, code):
                opened.callback(os.close, fd)
            message = {
                **self.orders(job, entry),
                "slots": slots,
                "input_bytes": total,
                "sizes": {},
                "steps": told,
                "names": [slot["name"] for slot in entry["params"]],
            }
            answer = self.ask(message, [code, results, *inputs, *files], job.deadline)
            self.check(job, answer)
            each = len(entry["results"])
            if len(answer["slots"]) != each * len(steps):
                raise senseless()
            area = mapped(results)
            found = [
                unpack(entry, answer["slots"][k * each : (k + 1) * each], numbers, area)
                for k, numbers in enumerate(sizes)
            ]
        times = tuple(answer["times"])
        counts = answer["allocs"], answer["bytes_allocated"], tuple(answer["copies"])
        return found, RunResult([], min(times), times, answer["peak"], self.cores, *counts)

    def check(self, job: _Job, answer: Plain) -> None:
        """Raise the error in an answer."""
        if "site" in answer:
            raise failed_check(job.about, answer)
        if "error" in answer:
            said = without_folders(str(answer["error"]))
            raise RuntimeError_(f"The program could not be run: {said}.")

    def orders(self, job: _Job, entry: Plain) -> Plain:
        """Return the orders of a run beside its inputs; the limits depend on the wall."""
        self.wait()
        once = job.runs == 1 and self.said is None
        return {
            "library": "" if sys.platform.startswith("linux") else str(job.library),
            "entry": entry["symbol"],
            "runs": job.runs,
            "measured": job.measured,
            "given": job.given,
            "processor": job.processor,
            "short_runs": SHORT_RUNS if once else 0,
            "results": entry["results"],
            "outputs": [{**g, "bytes": BYTES[g["prim"]]} for g in entry["gives"]],
            "cpu_seconds": int(job.deadline.seconds * self.cores * 2) + 2,
            "memory_bytes": job.memory_bytes,
            "limits": self.limits(job.memory_bytes),
            "confined": self.said is None,
        }

    def limits(self, memory_bytes: int) -> dict[str, int]:
        """Return the limits of one run, by their names in `resource`."""
        made = {"FSIZE": memory_bytes, "NOFILE": PROGRAM.files, "CORE": 0}
        if self.said is None:
            made["AS"] = memory_bytes + walls.ADDRESS_SPACE
        if self.processes is not None:
            made["NPROC"] = self.processes
        return made


def _parsed(data: bytes) -> Plain:
    """Parse an answer and check its fields and types."""
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        raise senseless() from None
    if not isinstance(answer, dict):
        raise senseless()
    if "error" in answer:
        return {"error": str(answer["error"])[:500]}
    if "site" in answer:
        fields: dict[str, type] = {"values": int}
        single = {"site": int}
    else:
        fields = {"slots": int, "times": float, "profile": int, "copies": int}
        single = dict.fromkeys(("peak", *child.COUNTED), int)
    for name, kind in fields.items():
        given = answer.get(name)
        if not isinstance(given, list) or (not given and name == "times"):
            raise senseless()
        if any(type(v) is not kind for v in given):
            raise senseless()
        if name == "copies" and (len(given) != child.COPIES or min(given) < 0):
            raise senseless()
    if any(type(answer.get(name)) is not kind for name, kind in single.items()):
        raise senseless()
    if not all(math.isfinite(t) for t in answer.get("times", ())):
        raise senseless()
    words = [word for name in ("slots", "values", "copies") for word in answer.get(name, ())]
    if not all(-(1 << 63) <= word < 1 << 63 for word in words):
        raise senseless()
    return answer


_LOCK = threading.Lock()
_RUNNERS: dict[tuple[int, bool], _Runner] = {}


# --- values ----------------------------------------------------------------------------------


def library_file(library: Path) -> int:
    """Copy a library to memory, for a process that may open no file."""
    file = memory_file()
    data = memoryview(library.read_bytes())
    while data:
        data = data[os.write(file, data) :]
    return file


def pack(
    entry: Plain, arrays: Sequence[Cells], sizes: dict[str, int], limit: int
) -> tuple[list[Slot], list[int], int]:
    """Return input slots, a file with the arrays if there are any, and its size.

    A slot has a flag (the program may consume it), its bits or its offset in the file, and its
    bytes (-1 for scalars). Raises RuntimeError_ for more than `limit` bytes.
    """
    by_name: dict[str, Cells] = {}
    by_block: dict[str, tuple[bool, Cells]] = {}
    for taken, array in zip(entry["takes"], arrays, strict=True):
        by_name[taken["name"]] = array
        if taken["shape"] is not None:
            by_block[taken["block"]] = (taken["unique"], array)
    slots: list[Slot] = []
    packed: list[tuple[int, Cells]] = []
    total = 0
    for slot in entry["params"]:
        name = slot["name"]
        if slot["block"]:
            unique, array = by_block[name]
            slots.append((unique, total, array.nbytes))
            packed.append((total, array))
            total += (array.nbytes + 63) // 64 * 64
        elif name in by_name:
            slots.append((False, _bits(by_name[name]), -1))
        elif name in sizes:
            slots.append((False, sizes[name], -1))
        else:
            raise UsageError(f"The size `{name}` does not follow from the shapes of the inputs.")
    if total > limit:
        raise RuntimeError_(f"The inputs need {total} bytes, more than the limit.")
    if not total:
        return slots, [], 0
    fd = memory_file()
    try:
        os.ftruncate(fd, total)
    except OSError:
        os.close(fd)
        raise RuntimeError_(f"The inputs need {total} bytes, more than the limit.") from None
    with mmap.mmap(fd, total) as area:
        data = np.frombuffer(area, np.uint8)
        for at, array in packed:
            data[at : at + array.nbytes] = array.reshape(-1).view(np.uint8)
        del data
    return slots, [fd], total


def _bits(scalar: Cells) -> int:
    if scalar.dtype.kind == "f":
        raw = scalar.tobytes()
        return int(struct.unpack("<q", raw + bytes(8 - len(raw)))[0])
    value = int(scalar)
    return value - (1 << 64) if value >= 1 << 63 else value


def mapped(file: int) -> mmap.mmap | bytes:
    """Map the file of results, once the run has ended."""
    size = os.fstat(file).st_size
    seal(file)
    return mmap.mmap(file, size, mmap.MAP_SHARED) if size else b""


def unpack(
    entry: Plain, slots: Sequence[int], sizes: dict[str, int], area: mmap.mmap | bytes
) -> list[values.Value]:
    """Return the external results from the result slots and their file.

    Errors: `RuntimeError_` for a result that NumPy cannot represent.
    """
    if len(slots) != len(entry["results"]):
        raise senseless()
    env = {**sizes}
    at = {}
    for slot, value in zip(entry["results"], slots, strict=True):
        at[slot["name"]] = value
        if not slot["block"]:
            env[slot["name"]] = value
    size = len(area)
    found: list[values.Value] = []
    for give in entry["gives"]:
        dtype = DTYPE[give["prim"]]
        if give["shape"] is None:
            found.append(_scalar(at[give["name"]], dtype))
            continue
        shape = shape_of(give["shape"], env)
        start, count = at[give["block"]], math.prod(shape)
        if count and not 0 <= start <= size - count * dtype.itemsize:
            raise senseless()
        flat = np.frombuffer(area, dtype, count, start) if count else np.empty(0, dtype)
        found.append(shaped(flat, shape))
    return found


def _scalar(bits: int, dtype: np.dtype[np.generic]) -> np.generic:
    if dtype.kind == "f":
        double = struct.unpack("<d", struct.pack("<q", bits))[0]
        return dtype.type(double)
    if dtype.kind == "b":
        return np.bool_(bits)
    found: np.generic = np.int64(bits).astype(dtype)
    return found
