"""One worker process: a line of JSON in, lines of JSON out, within time, memory and bytes."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from pathlib import Path
from queue import SimpleQueue
from typing import Any, TypeVar

from app import warden
from app.compressed_answers import PackedAnswer, with_texts
from app.long_texts import TextToken, shortened
from app.pieces import Deflated
from app.processes import Times, memory, tree
from app.results import SpooledResults
from compiler.protocol.packing import DATA
from compiler.sandbox import walls
from compiler.sandbox.policies import Policy
from compiler.sandbox.scratch import Scratch

T = TypeVar("T")
COMMAND = (sys.executable, "-m", "compiler.__main__", "worker", "--with-parent")
POLL = 0.1
"""Seconds between checks of the clock, the memory and the client."""

WARM_UP = {"op": "show", "source": "entry main [n] (xs: [n]i32) = reduce (+) 0 (map (+1) xs)\n"}
"""A small job that loads modules before the first real job."""

ATTACHED = "attached"
"""The field of a request with pieces of bytes, which follow its line."""
LONGEST_LINE = 2 << 20
"""Bytes of a line of an answer, which is parsed here: what is longer comes packed."""
SLACK = 1 << 10
"""Bytes that packing may add to an answer."""
LONG = 1.0
"""CPU seconds of a job's thread before its priority is lowered."""
USUAL, STEP, LOW = os.getpriority(os.PRIO_PROCESS, 0), 6, 19
"""Increments of `nice` each time that its CPU time has doubled from there: each leaves it
a quarter of its share beside others; the last leaves it the time that nobody else wants."""

Watch = Callable[[float, float], bool]
"""Called every POLL seconds of a job with the seconds since its start, and how many of these it
waited for a processor; raises to stop the job.

Returns True if another user has a job: a job that has become long gives way to that.
"""


class WorkerDied(Exception):
    """The process died before it answered; `code` is its exit status."""

    def __init__(self, code: int | None) -> None:
        super().__init__(f"worker ended with status {code}")
        self.code = code


class DeadlinePassed(Exception):
    """No answer within `seconds`; `hurried`: fewer seconds because others waited."""

    def __init__(self, seconds: float, hurried: bool = False) -> None:
        super().__init__(f"{seconds:g} s")
        self.seconds = seconds
        self.hurried = hurried


class MemoryExceeded(Exception):
    """The process and its children exceed their memory."""


class AnswerTooLong(Exception):
    """The answers to one request exceed their bytes."""


class Worker:
    """A process that speaks the worker protocol. Used by one thread at a time."""

    def __init__(
        self,
        command: Sequence[str] = COMMAND,
        memory_mb: int = 0,
        answer_mb: int = 0,
        policy: Policy | None = None,
        folder: str = "",
    ) -> None:
        """Results of runs go to files in `folder`; without one they are no answer."""
        self._folder = folder
        self._command = list(command)
        self._policy = policy
        self._memory = memory_mb << 20
        self._longest = answer_mb << 20
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch: Scratch | None = None
        self._ids = itertools.count(1)
        self._buffer = b""
        self._looked = 0.0
        self.jobs = 0
        self.client = ""
        """The client of the last job, whose program may still be cached here."""
        self.long = False
        """True if its job has become long, and gives way to others."""
        self._times = Times()
        self._lowered: dict[int, int] = {}
        self._session = 0

    @property
    def alive(self) -> bool:
        """Return True if the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """Return the id of the process, which leads a group with all its children."""
        return self._process.pid if self._process is not None else None

    def start(self, warm_up: float = 0.0) -> None:
        """Start the process; with `warm_up` seconds, also give it a first job."""
        self.stop()
        self._buffer = b""
        scratch = Scratch()
        try:
            self._process = spawn(self._command, scratch.path, self._policy, self._memory)
        except OSError:
            scratch.remove()
            raise
        self._scratch = scratch
        _WARDEN.watch(self._process.pid, scratch.path)
        if warm_up:
            with contextlib.suppress(WorkerDied, DeadlinePassed, MemoryExceeded):
                for _ in self.ask(dict(WARM_UP), deadline(warm_up)):
                    pass

    def kill(self) -> None:
        """Kill the process with all its children; the thread that waits for it cleans up."""
        process = self._process
        if process is not None and process.returncode is None:
            _kill_group(process.pid)

    def stop(self) -> None:
        """Kill the process with all its children, and remove its temporary files."""
        process, self._process = self._process, None
        if process is None:
            return
        _kill_group(process.pid)
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        if self._scratch is not None:
            self._scratch.remove()
        _WARDEN.forget(process.pid)

    def ask(self, request: dict[str, Any], watch: Watch) -> Iterator[dict[str, Any]]:
        """Send a request and yield its answers: any number of `partial` ones, then the last.

        Raises WorkerDied, MemoryExceeded, AnswerTooLong or what `watch` raises; the worker must
        then be stopped.
        """
        process = self._process
        if process is None:
            raise WorkerDied(None)
        self.jobs += 1
        self._times, self._lowered = Times(), {}
        self._lower_session(process.pid, 0)
        try:
            yield from self._answers(process, request, watch)
        finally:
            self.long = False

    def _answers(
        self, process: subprocess.Popen[bytes], request: dict[str, Any], watch: Watch
    ) -> Iterator[dict[str, Any]]:
        assert process.stdin is not None
        number = next(self._ids)
        began, left = time.monotonic(), self._longest or sys.maxsize
        self._looked = began
        try:
            for piece in (*_line({"id": number, **request}), *request.get(ATTACHED, ())):
                process.stdin.write(piece)
            process.stdin.flush()
        except OSError:
            raise WorkerDied(process.poll()) from None
        while True:
            line = self._read_line(process, began, watch, min(left, LONGEST_LINE))
            left -= len(line)
            answer = _parsed(line)
            told = answer.pop("packed", None)
            if told is not None:
                piece = _piece(told)
                left -= piece.length  # that is what it would have without compression
                if left < 0 or piece.size > SLACK + piece.length:
                    raise AnswerTooLong
                content = self._read_bytes(process, began, watch, piece.size)
                _inner(answer)["packed"] = PackedAnswer(piece, content)
                if DATA in answer and self._folder:
                    sizes = _sizes(answer.pop(DATA))
                    left -= sum(size or 0 for size in sizes)
                    if left < 0:
                        raise AnswerTooLong
                    answer[DATA] = self._spool(process, began, watch, sizes)
            if answer.get("id") != number:
                continue
            del answer["id"]
            _check_texts(answer)
            yield answer
            if not answer.get("partial"):
                return

    def _read_line(
        self, process: subprocess.Popen[bytes], began: float, watch: Watch, most: int
    ) -> bytes:
        pieces, size = [self._buffer], len(self._buffer)
        while b"\n" not in pieces[-1]:
            pieces.append(self._read(process, began, watch))
            size += len(pieces[-1])
            if size > most:
                raise AnswerTooLong
        line, _, self._buffer = b"".join(pieces).partition(b"\n")
        return line

    def _read_bytes(
        self, process: subprocess.Popen[bytes], began: float, watch: Watch, count: int
    ) -> bytes:
        pieces, size = [self._buffer], len(self._buffer)
        while size < count:
            pieces.append(self._read(process, began, watch))
            size += len(pieces[-1])
        found = b"".join(pieces)
        self._buffer = found[count:]
        return found[:count]

    def _spool(
        self,
        process: subprocess.Popen[bytes],
        began: float,
        watch: Watch,
        sizes: Sequence[int | None],
    ) -> SpooledResults:
        """Write the next bytes to a file, as they come."""
        results = SpooledResults(self._folder, sizes)
        left = results.size
        while left:
            piece = self._buffer or self._read(process, began, watch)
            self._buffer = piece[left:]
            results.write(piece[:left])
            left -= len(piece[:left])
        results.end()
        return results

    def _read(self, process: subprocess.Popen[bytes], began: float, watch: Watch) -> bytes:
        """Read the next output, checking clock, memory and client meanwhile."""
        assert process.stdout is not None
        pipe = process.stdout.fileno()
        while True:
            now = time.monotonic()
            ready = select.select([pipe], [], [], max(0.0, self._looked + POLL - now))[0]
            if not ready or time.monotonic() - self._looked > POLL:
                self._looked = time.monotonic()
                self._look(list(tree(process.pid)), self._looked - began, watch)
            if not ready:
                continue
            try:
                piece = os.read(pipe, 1 << 16)
            except OSError:
                piece = b""
            if not piece:
                raise WorkerDied(process.wait())
            return piece

    def _look(self, family: list[Path], elapsed: float, watch: Watch) -> None:
        """Raise if the job has too much memory or time; lower threads that have computed for LONG.

        An unprivileged process cannot lower its `nice` again. So a worker answers each request in
        a thread of its own, and a run is a process: the next job has full priority.
        """
        if self._memory and memory(family) > self._memory:
            raise MemoryExceeded
        computed = self._times.look(family)
        gives_way = watch(elapsed, min(elapsed, self._times.waited))
        for thread, seconds in computed.items() if gives_way else ():
            number = priority(seconds)
            if number > self._lowered.get(thread, 0):
                self.long = True
                with contextlib.suppress(OSError):
                    os.setpriority(os.PRIO_PROCESS, thread, min(LOW, USUAL + number))
                    self._lowered[thread] = number
        if family:
            now = (self._lowered.get(thread, 0) for thread in computed)
            self._lower_session(int(family[0].name), max(now, default=0))

    def _lower_session(self, leader: int, number: int) -> None:
        """Set the priority of a session; the kernel accepts few such changes per second.

        If it groups processes by sessions (autogroups), priorities of threads apply within one.
        """
        if number != self._session:
            with contextlib.suppress(OSError):
                Path(f"/proc/{leader}/autogroup").write_text(str(number))
                self._session = number


def _line(request: dict[str, Any]) -> list[bytes]:
    """Serialise a request for a worker, in pieces, with the lengths of what is attached."""
    if ATTACHED in request:
        request = {**request, ATTACHED: [len(piece) for piece in request[ATTACHED]]}
    long = {name: one for name, one in shortened(request).items() if isinstance(one, TextToken)}
    rest = {name: value for name, value in request.items() if name not in long}
    pieces = [json.dumps(rest)[:-1].encode()]
    for name, one in long.items():
        pieces += [b",%s:" % json.dumps(name).encode(), one.json]
    return [*pieces, b"}\n"]


def _parsed(line: bytes) -> dict[str, Any]:
    """Parse an answer. Raises WorkerDied for a malformed one."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise WorkerDied(None)
    return answer


def _piece(told: Any) -> Deflated:
    """Parse the description of a packed answer. Raises WorkerDied as `_parsed` does."""
    try:
        numbers = told["size"], told["length"], told["crc"]
        if any(type(number) is not int or number < 0 for number in numbers):
            raise ValueError
    except (TypeError, KeyError, ValueError):
        raise WorkerDied(None) from None
    return Deflated(*numbers, digest="")


def _sizes(told: Any) -> list[int | None]:
    """Check the sizes of results. Raises WorkerDied as `_parsed` does."""
    if not isinstance(told, list) or any(
        one is not None and (type(one) is not int or one < 0) for one in told
    ):
        raise WorkerDied(None)
    return told


def _inner(answer: dict[str, Any]) -> dict[str, Any]:
    """Return the answer, or that of a batch's member in it."""
    inner = answer.get("answer") if "request" in answer else answer
    if not isinstance(inner, dict):
        raise WorkerDied(None)
    return inner


def _check_texts(answer: dict[str, Any]) -> None:
    """Restore texts of stages from their lines. Raises WorkerDied as `_parsed` does."""
    for part in (answer, answer.get("answer")):
        try:
            if isinstance(part, dict):
                with_texts(part)
        except (TypeError, KeyError):
            raise WorkerDied(None) from None


def priority(seconds: float) -> int:
    """Return the increment of `nice` for a thread that has computed for so long."""
    return min(LOW, int(STEP * (1 + math.log2(seconds / LONG)))) if seconds >= LONG else 0


def deadline(seconds: float) -> Watch:
    """Return a watch that stops a job after that many seconds."""

    def watch(elapsed: float, waited: float) -> bool:
        if elapsed >= seconds:
            raise DeadlinePassed(seconds)
        return False

    return watch


# --- processes ---------------------------------------------------------------------------------


class _Spawner:
    """The one thread that starts all processes, and lives as long as this process.

    A child's PR_SET_PDEATHSIG takes effect when the *thread* that started it ends, not the process.
    An executor's thread would do, but takes no work while Python exits.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()

    def call(self, start: Callable[[], T]) -> T:
        """Call `start` in that thread, and return its result."""
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._loop, name="spawn", daemon=True)
                self._thread.start()
        made: Future[T] = Future()
        self._work.put((made, start))
        return made.result()

    def _loop(self) -> None:
        while True:
            made, start = self._work.get()
            try:
                made.set_result(start())
            except BaseException as error:
                made.set_exception(error)


_SPAWNER = _Spawner()


def spawn(
    command: Sequence[str], folder: str, policy: Policy | None = None, memory_bytes: int = 0
) -> subprocess.Popen[bytes]:
    """Start a worker in a process group of its own, with `folder` for its temporary files.

    With a policy it is confined, and `memory_bytes` bound the address space of each process.
    """
    environment = {
        **os.environ,
        "PYTHONUNBUFFERED": "1",
        "OMP_WAIT_POLICY": "passive",
        "TMPDIR": folder,
    }
    if policy is not None:
        made = walls.confine(policy, command, folder, memory_bytes, with_parent=True)
        command, environment = made.command, made.environment
    return _SPAWNER.call(
        lambda: subprocess.Popen(
            list(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env=environment,
        )
    )


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


class _Warden:
    """This process's end of `app/warden.py`: the workers to kill when this process is gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._folders: dict[int, str] = {}

    def watch(self, pid: int, folder: str) -> None:
        """Register a worker to be killed with this process."""
        with self._lock:
            self._folders[pid] = folder
            self._tell(f"+{pid} {folder}\n")

    def forget(self, pid: int) -> None:
        """Unregister a stopped worker."""
        with self._lock:
            self._folders.pop(pid, None)
            self._tell(f"-{pid}\n")

    def _tell(self, line: str) -> None:
        try:
            if self._process is None:
                raise BrokenPipeError
            self._write(line)
        except OSError:  # not started yet, or ended by somebody
            self._process = _SPAWNER.call(_start_warden)
            self._write("".join(f"+{pid} {folder}\n" for pid, folder in self._folders.items()))

    def _write(self, text: str) -> None:
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(text)
        self._process.stdin.flush()


def _start_warden() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(warden.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    )


_WARDEN = _Warden()
