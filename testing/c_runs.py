"""Run entry points of C programs one after the other in one process.

A process is begun once, waits for work, and forks for each library. What the runner does for each
run of a program (a sandbox, a process, several repetitions) costs more than a small program does.
A run that ends its process, by a fault or by a sanitiser, is told as such; those behind it go on in
another process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from enum import Enum
from functools import cache
from pathlib import Path
from typing import IO, Any

from compiler.base.errors import RuntimeError_
from compiler.base.prim import BYTES
from compiler.codegen.signature import Plain, choose_entry
from compiler.ir.values import Value
from compiler.runtime import runner, sanitize
from compiler.runtime import runner_child as child
from compiler.runtime.cc import compile_c
from compiler.runtime.runs import failed_check, memory_file, prepare
from compiler.sandbox import kernel
from testing.outcomes import Outcome

QUICK = (
    *("-O0", "-g0", "-fsanitize-undefined-trap-on-error"),
    *("--param", "asan-instrumentation-with-call-threshold=0"),
)
"""For sanitisers that only stop the program: calls in place of text at each access."""
HEAD = struct.Struct("<q")
HELLO = b"ready"
START_SECONDS = 120.0
Call = tuple[str, Sequence[Value]]
"""An entry point and its arguments."""
Found = tuple[str, Any]
"""`values` with the results, `site` with a failed check, or `error` with a message."""


class Stopped(Enum):
    """The end of a process in the middle of a run."""

    DIED = "died"
    LATE = "late"


class Process:
    """The process that runs are forked from; `sanitized` libraries need one of their own."""

    def __init__(self, sanitized: bool) -> None:
        environment = {
            **os.environ,
            "OMP_NUM_THREADS": str(runner.available_cores()),
            "OMP_WAIT_POLICY": "passive",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        environment.pop("PYTHONINSPECT", None)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "testing.c_runs"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            env=sanitize.environment(environment) if sanitized else environment,
            cwd=Path(__file__).parent.parent,
        )
        self.ready = False

    @property
    def lost(self) -> bool:
        """True if it has ended."""
        return self.process.poll() is not None

    def close(self) -> None:
        """End it."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()

    def run(
        self, library: Path, about: Plain, calls: Sequence[Call], again: bool, seconds: float
    ) -> Iterator[Found | Stopped]:
        """Give the result of each call; with `again` of the second run of two."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        if not self.ready:
            self.ready = self.answer(self.process.stdout, START_SECONDS) == HELLO
        write(self.process.stdin, pickle.dumps((library, about, calls, again)))
        for _ in calls:
            data = self.answer(self.process.stdout, seconds)
            if not isinstance(data, bytes):
                yield data
                return
            yield pickle.loads(data)

    def answer(self, pipe: IO[bytes], seconds: float) -> bytes | Stopped:
        """The next answer."""
        if not select.select([pipe], [], [], seconds)[0]:
            self.close()
            return Stopped.LATE
        return read(pipe) or Stopped.DIED


@cache
def _processes() -> dict[bool, Process]:
    return {}


def outcomes(
    code: str,
    calls: Sequence[Call],
    flags: tuple[str, ...],
    sanitized: bool = False,
    again: bool = False,
    seconds: float = 60.0,
) -> list[Outcome | Stopped]:
    """Compile C, and run all calls of it; `flags` are further ones for the compiler."""
    if sanitized:
        flags = (*sanitize.FLAGS, *flags)
    library, about = compile_c(code, flags), runner.about(code)
    processes = _processes()
    told: list[Outcome | Stopped] = []
    while len(told) < len(calls):
        if sanitized not in processes or processes[sanitized].lost:
            processes[sanitized] = Process(sanitized)
        rest = calls[len(told) :]
        for found in processes[sanitized].run(library, about, rest, again, seconds):
            told.append(found if isinstance(found, Stopped) else _outcome(about, found))
    return told


def _outcome(about: Plain, found: Found) -> Outcome:
    what, data = found
    if what == "values":
        return [*data]
    if what == "site":
        return failed_check(about, data)
    return RuntimeError_(f"The program could not be run: {data}")


# --- the other end ---------------------------------------------------------------------------


def main() -> None:
    """Fork for each library until the other end is gone."""
    ours, theirs = sys.stdin.buffer, sys.stdout.buffer
    write(theirs, HELLO)
    while (data := read(ours)) is not None:
        one = os.fork()
        if not one:
            try:
                kernel.die_with_parent()
                for found in _run(*pickle.loads(data)):
                    write(theirs, pickle.dumps(found))
                os._exit(0)
            finally:
                os._exit(1)
        _, status = os.waitpid(one, 0)
        if status:
            with contextlib.suppress(BrokenPipeError):
                write(theirs, b"")


def _run(library: Path, about: Plain, calls: Sequence[Call], again: bool) -> Iterator[Found]:
    """Run the calls."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    loaded = ctypes.CDLL(str(library))
    for name, args in calls:
        try:
            yield _call(loaded, choose_entry(about, name), args, again)
        except RuntimeError_ as error:
            yield "error", error.message
        except MemoryError as error:
            yield "error", str(error)


def _call(library: ctypes.CDLL, entry: Plain, args: Sequence[Value], again: bool) -> Found:
    arrays, sizes = prepare(entry, args)
    limit = runner.default_memory()
    with ExitStack() as opened:
        slots, inputs, total = runner.pack(entry, arrays, sizes, limit)
        results = memory_file()
        for fd in (*inputs, results):
            opened.callback(os.close, fd)
        message = {
            "entry": entry["symbol"],
            "slots": slots,
            "input_bytes": total,
            "sizes": sizes,
            "results": entry["results"],
            "outputs": [{**g, "bytes": BYTES[g["prim"]]} for g in entry["gives"]],
            "memory_bytes": limit,
            "runs": 1 + again,
            "short_runs": 0,
            "measured": 0,
        }
        answer = child.run(library, message, [-1, results, *inputs])
        if "site" in answer:
            return "site", answer
        return "values", runner.unpack(entry, answer["slots"], sizes, runner.mapped(results))


def read(pipe: IO[bytes]) -> bytes | None:
    """The next message; None at the end, and for an empty one."""
    head = _exactly(pipe, HEAD.size)
    return _exactly(pipe, HEAD.unpack(head)[0]) or None if head else None


def _exactly(pipe: IO[bytes], count: int) -> bytes:
    """So many bytes; none if the other end is gone."""
    data = bytearray()
    while len(data) < count:
        piece = pipe.read(count - len(data))
        if not piece:
            return b""
        data += piece
    return bytes(data)


def write(pipe: IO[bytes], data: bytes) -> None:
    """Send a message."""
    rest = memoryview(HEAD.pack(len(data)) + data)
    while rest:
        rest = rest[pipe.write(rest) :]
    pipe.flush()


if __name__ == "__main__":
    main()
