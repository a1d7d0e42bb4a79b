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
from app.pieces import Deflated
from app.processes import Times, memory, tree
from compiler.sandbox import walls
from compiler.sandbox.policies import Policy
from compiler.sandbox.scratch import Scratch

T = TypeVar("T")
COMMAND = (sys.executable, "-m", "compiler.__main__", "worker", "--with-parent")
POLL = 0.1
"""Seconds between two looks at the clock, at the memory and at the client."""

WARM_UP = {"op": "show", "source": "entry main [n] (xs: [n]i32) = reduce (+) 0 (map (+1) xs)\n"}
"""A small job that loads what a first job would otherwise wait for."""

SLACK = 1 << 10
"""Bytes that packing an answer may add to it."""
SEED_SECONDS = 60.0
LONG = 1.0
"""Seconds of processor that a thread of a job has before it gives way."""
USUAL, STEP, LOW = os.getpriority(os.PRIO_PROCESS, 0), 6, 19
"""How much lower the priority (as `nice` counts) is each time that it has doubled these: it has
a quarter of what it had beside others. At the lowest it has what nobody else wants."""

Watch = Callable[[float, float], bool]
"""Called every POLL seconds of a job, raises to stop it: seconds since its start, and for how many
of these it has waited for a processor.

Whether anybody else has a job: to that one it gives way when it has become long.
"""


class WorkerDied(Exception):
    """The process ended before it answered; `code` is its exit status."""

    def __init__(self, code: int | None) -> None:
        super().__init__(f"worker ended with status {code}")
        self.code = code


class DeadlinePassed(Exception):
    """No answer within `seconds`; `hurried` if they were fewer because others waited."""

    def __init__(self, seconds: float, hurried: bool = False) -> None:
        super().__init__(f"{seconds:g} s")
        self.seconds = seconds
        self.hurried = hurried


class MemoryExceeded(Exception):
    """The process and its children hold more memory than they may."""


class AnswerTooLong(Exception):
    """The answers to one request have more bytes than they may."""


class Worker:
    """A process that speaks the worker protocol. Used by one thread at a time."""

    def __init__(
        self,
        command: Sequence[str] = COMMAND,
        memory_mb: int = 0,
        answer_mb: int = 0,
        policy: Policy | None = None,
    ) -> None:
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
        """Who had the last job: what was compiled for it may still be known here."""
        self.long = False
        """Whether it has a job that has become long, and gives way to others."""
        self._times = Times()
        self._lowered: dict[int, int] = {}
        self._session = 0

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int | None:
        """The process, which leads a group with all its children."""
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
        """Kill the process with all its children, and leave the rest to who waits for it."""
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
            process.stdin.write(_line({"id": number, **request}))
            process.stdin.flush()
        except OSError:
            raise WorkerDied(process.poll()) from None
        while True:
            line = self._read_line(process, began, watch, left)
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

    def _read(self, process: subprocess.Popen[bytes], began: float, watch: Watch) -> bytes:
        """What comes next, when it comes; there are looks at the clock and the rest meanwhile."""
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
        """Stop what has too much memory or time; lower what has computed for LONG.

        Who may only raise that number cannot take it back. So a worker answers each request in a
        thread of its own, and a run is a process: the next job is as quick as any.
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
        """Give a session that priority among others; the kernel takes few such orders a second.

        Where it groups processes by sessions (autogroups), those of threads hold within one.
        """
        if number != self._session:
            with contextlib.suppress(OSError):
                Path(f"/proc/{leader}/autogroup").write_text(str(number))
                self._session = number


class LongText(str):
    """A long text, and the same as JSON, so that it need not be made again in this process."""

    token: bytes

    def __new__(cls, text: str, token: bytes) -> LongText:
        """A text that is told as `token`."""
        made = super().__new__(cls, text)
        made.token = token
        return made


def _line(request: dict[str, Any]) -> bytes:
    """A request as a worker reads it."""
    known = {name: value for name, value in request.items() if isinstance(value, LongText)}
    rest = {name: value for name, value in request.items() if name not in known}
    pieces = (b"%s:%s" % (json.dumps(name).encode(), one.token) for name, one in known.items())
    return b"{%s}\n" % b",".join((json.dumps(rest)[1:-1].encode(), *pieces))


def _parsed(line: bytes) -> dict[str, Any]:
    """An answer. Raises WorkerDied for what no worker of ours says."""
    try:
        answer = json.loads(line)
    except (ValueError, RecursionError):
        answer = None
    if not isinstance(answer, dict):
        raise WorkerDied(None)
    return answer


def _piece(told: Any) -> Deflated:
    """What is said of a packed answer. Raises WorkerDied as `_parsed` does."""
    try:
        numbers = told["size"], told["length"], told["crc"]
        if any(type(number) is not int or number < 0 for number in numbers):
            raise ValueError
    except (TypeError, KeyError, ValueError):
        raise WorkerDied(None) from None
    return Deflated(*numbers, digest="")


def _inner(answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, or that of a member of a batch which it holds."""
    inner = answer.get("answer") if "request" in answer else answer
    if not isinstance(inner, dict):
        raise WorkerDied(None)
    return inner


def _check_texts(answer: dict[str, Any]) -> None:
    """Give stages whose lines came alone their texts. Raises WorkerDied as `_parsed` does."""
    for part in (answer, answer.get("answer")):
        try:
            if isinstance(part, dict):
                with_texts(part)
        except (TypeError, KeyError):
            raise WorkerDied(None) from None


def priority(seconds: float) -> int:
    """How much lower, as `nice` counts, a thread's priority is that has computed for so long."""
    return min(LOW, int(STEP * (1 + math.log2(seconds / LONG)))) if seconds >= LONG else 0


def deadline(seconds: float) -> Watch:
    """Stops a job after that many seconds."""

    def watch(elapsed: float, waited: float) -> bool:
        if elapsed >= seconds:
            raise DeadlinePassed(seconds)
        return False

    return watch


# --- processes ---------------------------------------------------------------------------------


class _Spawner:
    """The one thread that starts all processes, and lives as long as this process.

    What a child asks of the kernel by PR_SET_PDEATHSIG happens when the *thread* that started it
    ends, not the process. An executor's thread would do, but takes no work while Python exits.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._work: SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = SimpleQueue()

    def call(self, start: Callable[[], T]) -> T:
        """What `start` returns, called in that thread."""
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


def make_seeds() -> None:
    """Make what new workers begin with, once for all of them, in the user's cache.

    No worker can leave it there. A process that fails at it costs each worker half a second.
    """
    asked = _line({"op": "check", "source": "entry main = 0i64"})
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(COMMAND[:-1], input=asked, capture_output=True, timeout=SEED_SECONDS)


class _Warden:
    """This process's end of `app/warden.py`: what to end when this process is gone."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._folders: dict[int, str] = {}

    def watch(self, pid: int, folder: str) -> None:
        """End this worker with this process."""
        with self._lock:
            self._folders[pid] = folder
            self._tell(f"+{pid} {folder}\n")

    def forget(self, pid: int) -> None:
        """The worker has been stopped."""
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
