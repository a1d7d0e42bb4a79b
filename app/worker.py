"""One worker process: a line of JSON in, lines of JSON out, with a deadline and a memory limit."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-m", "compiler", "worker")
POLL = 0.1
"""Seconds between two looks at the clock and at the memory."""

WARM_UP = {"op": "show", "source": "entry main [n] (xs: [n]i32) = reduce (+) 0 (map (+1) xs)\n"}
"""A small job that loads what a first job would otherwise wait for."""


class WorkerDied(Exception):
    """The process ended before it answered; `code` is its exit status."""

    def __init__(self, code: int | None) -> None:
        super().__init__(f"worker ended with status {code}")
        self.code = code


class DeadlinePassed(Exception):
    """No answer in time."""


class MemoryExceeded(Exception):
    """The process and its children hold more memory than they may."""


class Worker:
    """A process that speaks the worker protocol. Used by one thread at a time."""

    def __init__(self, command: Sequence[str] = COMMAND, memory_mb: int = 0) -> None:
        self._command = list(command)
        self._memory = memory_mb << 20
        self._process: subprocess.Popen[bytes] | None = None
        self._ids = itertools.count(1)
        self._buffer = b""
        self.jobs = 0

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def start(self, warm_up: float = 0.0) -> None:
        """Start the process; with `warm_up` seconds, also give it a first job."""
        self._buffer = b""
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "OMP_WAIT_POLICY": "passive"},
        )
        if warm_up:
            with contextlib.suppress(WorkerDied, DeadlinePassed, MemoryExceeded):
                for _ in self.ask(dict(WARM_UP), warm_up):
                    pass

    def stop(self) -> None:
        """Kill the process with all its children."""
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()

    def ask(self, request: dict[str, Any], seconds: float) -> Iterator[dict[str, Any]]:
        """Send a request and yield its answers: any number of `partial` ones, then the last.

        Raises WorkerDied, DeadlinePassed or MemoryExceeded; the worker must then be stopped.
        """
        process = self._process
        if process is None or process.stdin is None:
            raise WorkerDied(None)
        self.jobs += 1
        number = next(self._ids)
        until = time.monotonic() + seconds
        line = json.dumps({"id": number, **request}).encode() + b"\n"
        try:
            process.stdin.write(line)
            process.stdin.flush()
        except OSError:
            raise WorkerDied(process.poll()) from None
        while True:
            answer = json.loads(self._read_line(process, until))
            if answer.get("id") != number:
                continue
            del answer["id"]
            yield answer
            if not answer.get("partial"):
                return

    def _read_line(self, process: subprocess.Popen[bytes], until: float) -> bytes:
        assert process.stdout is not None
        pipe = process.stdout.fileno()
        pieces = [self._buffer]
        while b"\n" not in pieces[-1]:
            left = until - time.monotonic()
            if left <= 0:
                raise DeadlinePassed
            if not select.select([pipe], [], [], min(POLL, left))[0]:
                if self._memory and tree_memory(process.pid) > self._memory:
                    raise MemoryExceeded
                continue
            try:
                piece = os.read(pipe, 1 << 16)
            except OSError:
                piece = b""
            if not piece:
                raise WorkerDied(process.wait())
            pieces.append(piece)
        line, _, self._buffer = b"".join(pieces).partition(b"\n")
        return line


def tree_memory(pid: int) -> int:
    """Resident bytes of a process and its descendants; 0 where the system does not tell."""
    total, todo = 0, [pid]
    page = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
    while todo:
        folder = Path("/proc") / str(todo.pop())
        with contextlib.suppress(OSError, ValueError, IndexError):
            total += int((folder / "statm").read_text().split()[1]) * page
            for children in folder.glob("task/*/children"):
                todo += [int(child) for child in children.read_text().split()]
    return total
