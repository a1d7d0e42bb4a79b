"""Runs CUDA programs, each run in a process of its own that reaches the GPU and nothing else.

Or the processor, where the run is observed. The process is this file run as a module, under the
policy DEVICE or OBSERVE. Arrays travel through files in
memory; requests and answers are JSON on standard input, a socket. CuPy takes a second to start.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import json
import mmap
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from compiler.base.errors import CompileError, RuntimeError_, UsageError
from compiler.base.prim import DTYPE
from compiler.base.spans import NOWHERE, Span
from compiler.base.text import Text, plain
from compiler.codegen.cuda.program import split
from compiler.codegen.signature import Plain, choose_entry
from compiler.ir import values
from compiler.runtime import cuda_device
from compiler.runtime import runner_child as child
from compiler.runtime.observer import build, records
from compiler.runtime.runs import (
    Cells,
    RunResult,
    Value,
    apart,
    exchange,
    late,
    memory_file,
    prepare,
    seal,
    senseless,
)
from compiler.sandbox import walls
from compiler.sandbox.policies import DEVICE, OBSERVE

PROBE_SECONDS = 30.0
GRACE_SECONDS = 2.0
"""What a process may take beside twice the time of the run that it watches."""
FILES = ("inputs", "results", "watch", "kernels")
"""The files of a request, which the process is given."""
_ERRORS: dict[str, type[CompileError]] = {"runtime": RuntimeError_, "usage": UsageError}


def run_cuda(
    code: str | Text,
    entry: str,
    values: Sequence[Value],
    deadline_s: float = 60.0,
    runs: int = 1,
) -> RunResult:
    """Run an entry point of `code`, a CUDA text of ours.

    Raises UsageError where there is no CuPy or no GPU, RuntimeError_ for what goes wrong in the
    program, TimeoutError_ at the deadline.
    """
    if importlib.util.find_spec("cupy") is None:
        cuda_device.cupy()
    code = code if isinstance(code, str) else plain(code)
    about = cuda_device.about(code)
    chosen = choose_entry(about, entry)
    arrays, _ = prepare(chosen, values)
    with contextlib.ExitStack() as opened:
        inputs, results = (_opened(opened) for _ in range(2))
        request = {
            "code": code,
            "entry": entry,
            "runs": runs,
            "inputs": inputs,
            "results": results,
            "values": write(inputs, arrays),
        }
        answer = _ask(request, deadline_s)
        if "error" in answer:
            raise _error(answer["error"])
        return _result(answer, chosen, results)


def observe(
    code: str, entry: str, values: Sequence[Value], seconds: float = 60.0
) -> records.Observation:
    """Run an entry point of a CUDA text of ours on the processor, and watch it.

    Raises UsageError for values that do not fit or where there is no C++ compiler. What was seen up
    to the deadline is told.
    """
    arrays, _ = prepare(choose_entry(cuda_device.about(code), entry), values)
    library = build.library(split(code)[0])
    with contextlib.ExitStack() as opened:
        inputs, results, watch, kernels = (_opened(opened) for _ in range(4))
        for file, path in ((watch, build.watch()), (kernels, library)):
            child.write_all(file, path.read_bytes(), 0)
        request = {
            "code": code,
            "entry": entry,
            "inputs": inputs,
            "results": results,
            "values": write(inputs, arrays),
            "watch": watch,
            "kernels": kernels,
            "seconds": seconds,
        }
        answer = _ask(request, 2 * seconds + GRACE_SECONDS)
        error = _error(answer["error"]) if "error" in answer else None
        if error is not None and not isinstance(error, RuntimeError_):
            raise error
        try:
            report, *found = read(results, answer["values"])
            launches = [(str(name), int(blocks)) for name, blocks in answer["launches"]]
            raw = records.Raw(
                [v if v.ndim else v[()] for v in found] if answer["ended"] else None,
                error,
                bytes(np.asarray(report)).decode(),
                launches,
            )
            return records.read(raw, library)
        except (ValueError, TypeError, KeyError, OverflowError):
            raise error or senseless() from None


def _opened(opened: contextlib.ExitStack) -> int:
    """A file in memory that is closed with the others."""
    file = memory_file()
    opened.callback(os.close, file)
    return file


@functools.cache
def why_not() -> str:
    """Why no CUDA program can run here; "" if one can. Asked of a process like that of a run."""
    try:
        if importlib.util.find_spec("cupy") is None:
            cuda_device.cupy()
        answer = _ask({"probe": True}, PROBE_SECONDS)
    except CompileError as error:
        return error.message
    return _error(answer["error"]).message if "error" in answer else ""


def _ask(request: Plain, deadline_s: float) -> Plain:
    """What a fresh process answers to a request; it has ended afterwards."""
    until = time.monotonic() + deadline_s
    scratch = tempfile.mkdtemp(prefix="stridescope-")
    command = (sys.executable, "-m", "compiler.runtime.device_process")
    made = walls.confine(OBSERVE if "watch" in request else DEVICE, command, scratch)
    channel, other = socket.socketpair()
    try:
        process = subprocess.Popen(
            made.command,
            stdin=other.fileno(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=made.environment,
            pass_fds=[request[name] for name in FILES if name in request],
            **apart(),
        )
        other.close()
        try:
            data = exchange(channel, json.dumps(request).encode(), until)
        except TimeoutError:
            raise late(deadline_s) from None
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    finally:
        channel.close()
        other.close()
        shutil.rmtree(scratch, ignore_errors=True)
    if data is None:
        raise RuntimeError_("The process of the CUDA program ended before it answered.")
    try:
        answer = json.loads(data)
    except (ValueError, RecursionError):
        raise senseless() from None
    if not isinstance(answer, dict):
        raise senseless()
    return answer


def _error(given: Any) -> CompileError:
    """The error that a process tells of."""
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


def write(file: int, arrays: Sequence[Cells | values.Value]) -> list[Plain]:
    """Append arrays and scalars to a file; their types, shapes and offsets."""
    layout, at = [], 0
    for array in map(np.asarray, arrays):
        layout.append({"type": array.dtype.name, "shape": list(array.shape), "at": at})
        data = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
        if data.size:
            child.write_all(file, data, at)
        at += (data.size + 63) // 64 * 64
    os.ftruncate(file, at)
    return layout


def read(file: int, layout: Sequence[Plain]) -> list[Cells]:
    """What `write` wrote. ValueError, TypeError or KeyError for what describes none."""
    size = os.fstat(file).st_size
    seal(file)
    area = mmap.mmap(file, size, mmap.MAP_SHARED) if size else b""
    found = []
    for array in layout:
        shape = [int(n) for n in array["shape"]]
        dtype = np.dtype(str(array["type"]))
        if dtype.hasobject or min(shape, default=0) < 0:
            raise ValueError("this is no array of numbers")
        count = int(np.prod([1, *shape], dtype=object))
        flat = np.frombuffer(area, dtype, count, int(array["at"])) if count else np.empty(0, dtype)
        found.append(flat.reshape(shape))
    return found


def main() -> None:
    """The process: answer one request and end."""
    request = json.loads(child.read_message(0, None) or b"{}")
    try:
        if "probe" in request:
            cuda_device.cupy()
            child.write_message(0, b"{}")
            return
        values = read(request["inputs"], request["values"])
        if "watch" in request:
            child.write_message(0, json.dumps(_observed(request, values)).encode())
            return
        done = cuda_device.run_cuda(request["code"], request["entry"], values, request["runs"])
        answer: Plain = {
            "values": write(request["results"], done.values),
            "times": list(done.times),
            "peak": done.peak_bytes,
        }
    except CompileError as error:
        answer = {"error": _told(error)}
    except Exception as problem:
        message = f"The CUDA program could not be run: {type(problem).__name__}: {problem}"
        answer = {"error": {"kind": "runtime", "message": message, "hint": "", "span": None}}
    child.write_message(0, json.dumps(answer).encode())


def _observed(request: Plain, given: Sequence[Value]) -> Plain:
    """Run kernels that are libraries, and tell what was seen."""
    watch, kernels = (f"/proc/self/fd/{request[name]}" for name in ("watch", "kernels"))
    code, entry, seconds = request["code"], request["entry"], request["seconds"]
    raw = records.run(watch, kernels, code, entry, given, "ascending", True, seconds)
    report = np.frombuffer(raw.report.encode(), np.uint8)
    answer: Plain = {
        "values": write(request["results"], [report, *(raw.results or ())]),
        "launches": raw.launches,
        "ended": raw.results is not None,
    }
    return answer | ({} if raw.error is None else {"error": _told(raw.error)})


def _told(error: CompileError) -> Plain:
    told: Plain = {"kind": error.kind, "message": error.message, "hint": error.hint}
    return told | {"span": list(error.span), "site": getattr(error, "site", None)}


if __name__ == "__main__":
    main()
