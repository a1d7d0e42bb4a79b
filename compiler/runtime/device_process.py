"""Run CUDA programs in a process for each device, which reaches the GPU and nothing else.

It is kept between runs, and replaced after any device failure, a deadline or a malformed answer. An
observed run gets a process of its own. `device_child.py` is the process.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from compiler.base.dataclass import dataclass
from compiler.base.deadline import Deadline
from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompileError, RuntimeError_, UsageError
from compiler.base.spans import NOWHERE, Span
from compiler.base.text import Text, plain
from compiler.codegen.cuda.program import split, widened
from compiler.codegen.signature import Plain, choose_entry
from compiler.ir import values
from compiler.runtime import cuda_device, devices, nvrtc
from compiler.runtime import runner_child as child
from compiler.runtime.device_child import FILES, read, write
from compiler.runtime.gpu_errors import NO_DEVICE, NO_GPU, usage
from compiler.runtime.observer import build, records
from compiler.runtime.runs import (
    RunResult,
    Value,
    apart,
    exchange,
    memory_file,
    prepare,
    senseless,
)
from compiler.runtime.stderr_tail import StderrTail
from compiler.sandbox import walls
from compiler.sandbox.policies import DEVICE, OBSERVE, Policy
from compiler.sandbox.scratch import Scratch

PROBE_SECONDS = 30.0
REPORT_SECONDS = 10.0
"""Seconds for a process to start, and to report on an observed run."""
UNREADABLE_PACKAGE = (
    "The process sees packages in folders where packages are installed, and only those that it may "
    "read: install Stridescope and what it needs into an environment of its own (`python -m venv`)."
)
_ERRORS: dict[str, type[CompileError]] = {"runtime": RuntimeError_, "usage": UsageError}


@dataclass(frozen=True, slots=True)
class Toolkit:
    """The tools that run CUDA programs: CuPy, and the compiler of kernels.

    `driver` is a library of the observer to use instead, passed as an open file. `image` takes the
    kernels, the device's capability and the CUDA version of its driver.
    """

    driver: Path | None = None
    image: Callable[[str, int, tuple[int, int]], Path] = nvrtc.kept


GPUS = Toolkit()


class Child:
    """A process for one device, by its name in CUDA_VISIBLE_DEVICES ("": all visible ones)."""

    def __init__(self, toolkit: Toolkit, policy: Policy, visible: str = "") -> None:
        self.toolkit = toolkit
        self.scratch = Scratch()
        command = (sys.executable, "-m", "compiler.runtime.device_child")
        made = walls.confine(policy, command, self.scratch.path)
        self.channel, other = socket.socketpair()
        self.words = StderrTail()
        seen = {"CUDA_VISIBLE_DEVICES": visible, "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
        self.process = subprocess.Popen(
            made.command,
            stdin=other.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=self.words.writes,
            env=made.environment | (seen if visible else {}),
            **apart(),
        )
        other.close()
        self.words.begin()

    def ask(self, request: Plain, until: float, **files: int) -> Plain:
        """Send a request and return the answer.

        Raises TimeoutError, and RuntimeError_ if it died. Raises TimeoutError, and the error that
        it tells of.

        Close it after any error but those of the program itself.
        """
        with contextlib.ExitStack() as opened:
            if self.toolkit.driver is not None:
                files["driver"] = copied(opened, self.toolkit.driver)
            names = [name for name in FILES if name in files]
            told = {**request, "files": names}
            try:
                socket.send_fds(self.channel, [b"r"], [files[name] for name in names])
            except ConnectionError:
                raise self._died() from None
            data = exchange(self.channel, json.dumps(told).encode(), until)
        if data is None:
            raise self._died()
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            raise senseless() from None
        if not isinstance(answer, dict):
            raise senseless()
        return answer

    def _died(self) -> RuntimeError_:
        """Make the error for a process that has died, with its last output."""
        said = self.words.of(self.process)
        hint = UNREADABLE_PACKAGE if "ModuleNotFoundError" in said else ""
        what = "The process of the CUDA program ended before it answered"
        return RuntimeError_(f"{what}: {said}.", hint=hint)

    def close(self) -> None:
        """Kill the process."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self.channel.close()
        self.scratch.remove()


_CHILDREN: dict[tuple[Toolkit, str], Child] = {}
_LOCK = threading.Lock()


@atexit.register
def close_children() -> None:
    """End all device processes."""
    with _LOCK:
        while _CHILDREN:
            _CHILDREN.popitem()[1].close()


@contextlib.contextmanager
def _kept(toolkit: Toolkit, place: str) -> Iterator[Child]:
    """Lend the process of a device; replace it after an error."""
    key = toolkit, place
    with _LOCK:
        one = _CHILDREN.pop(key, None)
    if one is None or one.process.poll() is not None:
        if one is not None:
            one.close()
        one = Child(toolkit, DEVICE, place)
    try:
        yield one
    except BaseException:
        one.close()
        raise
    with _LOCK:
        _CHILDREN[key] = one


def run_cuda(
    code: str | Text,
    entry: str,
    values: Sequence[Value],
    deadline: float | Deadline = 60.0,
    runs: int = 1,
    toolkit: Toolkit = GPUS,
) -> RunResult:
    """Run an entry point of `code`, a generated CUDA text, on the first free device.

    It waits for a device after compiling to machine code, and seconds begin then; for a deadline
    that has begun, compiling counts as well. A run whose indices need 64 bits is restarted with
    kernels that have them.

    Raises UsageError where there is no usable device, RuntimeError_ for errors of the program or
    the device, TimeoutError_ at the deadline.
    """
    code = code if isinstance(code, str) else plain(code)
    chosen = choose_entry(cuda_device.about(code), entry)
    arrays, _ = prepare(chosen, values)
    places = devices.places(found(toolkit))
    took = 0.0

    def compiled(kernels: str, capability: int, driver: tuple[int, int]) -> Path:
        nonlocal took
        began = time.perf_counter()
        image = toolkit.image(kernels, capability, driver)
        took += (time.perf_counter() - began) * 1000
        return image

    kernels = split(code)[0]
    kinds = {(one.capability, one.driver) for one in places}
    images = {kind: compiled(kernels, *kind) for kind in kinds}
    deadline = Deadline.of(deadline)
    deadline.left("Compiling the program", "Try a smaller program, or a longer deadline.")
    with contextlib.ExitStack() as opened, devices.turn(places, deadline) as place:
        kind = place.capability, place.driver
        inputs, results = (_opened(opened) for _ in range(2))
        request = {
            "ask": "run",
            "code": code,
            "entry": entry,
            "runs": runs,
            "wide": False,
            "most": devices.most_bytes(),
            "values": write(inputs, arrays),
        }
        files = {"inputs": inputs, "results": results, "image": copied(opened, images[kind])}
        with _kept(toolkit, place.identity) as process:
            try:
                answer = process.ask(request, deadline.until, **files)
                if answer.get("wide") is True:
                    image = compiled(widened(kernels), *kind)
                    request["wide"], files["image"] = True, copied(opened, image)
                    answer = process.ask(request, deadline.until, **files)
            except TimeoutError:
                raise deadline.late() from None
            problem = answer.get("error")
            if problem and not (isinstance(problem, dict) and problem.get("fatal") is False):
                raise _error(problem)
            done = None if problem else _result(answer, chosen, results)
        if done is None:
            raise _error(problem)
        return replace(done, compile_ms=took)


def observe(
    code: str, entry: str, values: Sequence[Value], seconds: float = 60.0
) -> records.Observation:
    """Run an entry point of a generated CUDA text on the processor under observation.

    Raises UsageError for values that do not fit or where there is no C++ compiler. Observations
    until the deadline are returned.
    """
    arrays, _ = prepare(choose_entry(cuda_device.about(code), entry), values)
    kernels = split(code)[0]
    library = build.library(kernels)
    with contextlib.ExitStack() as opened:
        inputs, results = (_opened(opened) for _ in range(2))
        request = {
            "ask": "observe",
            "code": code,
            "entry": entry,
            "seconds": seconds,
            "wide": False,
            "values": write(inputs, arrays),
        }
        files = {"inputs": inputs, "results": results, "image": copied(opened, library)}
        toolkit, deadline = Toolkit(build.driver()), Deadline.of(seconds)
        answer = _once(toolkit, request, OBSERVE, deadline, files, grace=REPORT_SECONDS)
        if answer.get("wide") is True:
            library = build.library(widened(kernels))
            request["wide"], files["image"] = True, copied(opened, library)
            request["seconds"] = deadline.left()
            answer = _once(toolkit, request, OBSERVE, deadline, files, grace=REPORT_SECONDS)
        error = _error(answer["error"]) if "error" in answer else None
        if error is not None and not isinstance(error, RuntimeError_):
            raise error
        try:
            report, launched, *found = read(results, answer["values"])
            named = [str(name) for name in answer["kernels"]]
            launches = [(named[number], blocks) for number, blocks in launched.tolist()]
            raw = records.Raw(
                [v if v.ndim else v[()] for v in found] if answer["ended"] else None,
                error,
                bytes(np.asarray(report)).decode(),
                launches,
            )
            return records.read(raw, library)
        except (ValueError, TypeError, LookupError, OverflowError):
            raise error or senseless() from None


def _once(
    toolkit: Toolkit,
    request: Plain,
    policy: Policy,
    seconds: float | Deadline,
    files: dict[str, int],
    visible: str = "",
    grace: float = 0.0,
) -> Plain:
    """Start a fresh process, send it this request, return its answer."""
    process, deadline = Child(toolkit, policy, visible), Deadline.of(seconds)
    try:
        return process.ask(request, deadline.until + grace, **files)
    except TimeoutError:
        raise deadline.late() from None
    finally:
        process.close()


def _opened(opened: contextlib.ExitStack) -> int:
    """Make a memory file, closed with the others."""
    file = memory_file()
    opened.callback(os.close, file)
    return file


def copied(opened: contextlib.ExitStack, path: Path) -> int:
    """Copy a file to memory, readable by its holder."""
    file = _opened(opened)
    child.write_all(file, path.read_bytes(), 0)
    return file


@functools.cache
def found(toolkit: Toolkit = GPUS) -> tuple[devices.Place, ...]:
    """List the devices of this machine, as seen from a confined process.

    Raises UsageError where there is none, or no compiler for it.
    """
    if toolkit.driver is None and not walls.devices():
        raise usage(NO_GPU)
    told: dict[devices.Place, None] = {}
    for visible in ("", *devices.instances()):
        answer = _once(toolkit, {"ask": "devices"}, DEVICE, PROBE_SECONDS, {}, visible)
        if "error" in answer:
            raise _error(answer["error"])
        for one in answer["devices"]:
            told[devices.Place(**{**one, "driver": tuple(one["driver"])})] = None
    if not told:
        raise usage(NO_DEVICE)
    return tuple(told)


@functools.cache
def why_not() -> str:
    """Explain why no CUDA program can run here; "" if one can. Asks a confined process."""
    try:
        for place in devices.places(found()):
            GPUS.image("", place.capability, place.driver)
    except CompileError as error:
        return error.message
    return ""


def _error(given: Any) -> CompileError:
    """Convert the error in an answer."""
    if not isinstance(given, dict):
        return senseless()
    kind = _ERRORS.get(str(given.get("kind")), RuntimeError_)
    span = given.get("span")
    if not (isinstance(span, list) and list(map(type, span)) == [int, int, int, int, str]):
        span = NOWHERE
    error = kind(str(given.get("message"))[:5000], Span(*span), str(given.get("hint"))[:1000])
    if isinstance(error, RuntimeError_):
        error.site = given.get("site") if type(given.get("site")) is int else None
    return error


def _result(answer: Plain, entry: Plain, results: int) -> RunResult:
    times, peak = answer.get("times"), answer.get("peak")
    if not (isinstance(times, list) and times and all(type(t) is float for t in times)):
        raise senseless()
    layout = answer.get("values")
    if type(peak) is not int or not isinstance(layout, list):
        raise senseless()
    if len(layout) != len(entry["gives"]):
        raise senseless()
    kinds = [(give["prim"], give["shape"]) for give in entry["gives"]]
    wanted = [(DTYPE[p].name, 0 if shape is None else len(shape)) for p, shape in kinds]
    try:
        found = read(results, layout)
    except (ValueError, TypeError, KeyError, OverflowError):
        raise senseless() from None
    if [(v.dtype.name, v.ndim) for v in found] != wanted:
        raise senseless()
    told: list[values.Value] = [v if v.ndim else v[()] for v in found]
    return RunResult(told, min(times), tuple(times), peak, 0)
