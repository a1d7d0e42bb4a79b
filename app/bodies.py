"""Bound and parse the bodies of requests.

A body longer than its operation allows is refused before it is received. A long body is parsed by a
process of its own (`app/reader.py`): Python's JSON parser blocks all other threads.
"""

from __future__ import annotations

import marshal
import os
import re
import select
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from app.errors import AppError
from app.long_texts import LongText
from app.paths import HERE
from app.reader import LENGTH, NoRequest, parsed
from app.worker import Worker, WorkerDied
from compiler.protocol.fields import fields
from compiler.protocol.kinds import Json
from compiler.protocol.operations import OPERATIONS
from compiler.sandbox import walls

COMMAND = (sys.executable, "-m", "app.reader", "--with-parent")
LONG = 1 << 18
"""Bytes of a body above which it is parsed by the other process."""
SECONDS = 5.0
"""Limit of parsing a body, and of waiting for it."""
MEMORY_MB = 512
UNCOUNTED = 1 << 14
"""Bytes of a body that no rate limit counts."""
REST = 1 << 17
"""Bytes of a request beside its program and its input."""
PIECE = 1 << 20
"""Bytes of a piece of a file that is sent to be an input."""
BYTES_A_CHARACTER = 3
"""Bytes per character of a program, in JSON: nearly all take less.

An input's at most half of that.
"""
_PATH = re.compile(r"/api/(\w+)")


def too_long(most: int) -> AppError:
    """Make the error for a request with more bytes than its operation allows."""
    return AppError("usage", f"The request is too large: at most {most} bytes are accepted.", 413)


def longest(path: str, config: Mapping[str, Any]) -> int:
    """Return the bytes that a request for a path may have."""
    found = _PATH.match(path)
    name = found[1] if found else ""
    program = BYTES_A_CHARACTER * int(config["SOURCE_LIMIT"])
    typed = BYTES_A_CHARACTER * int(config["INPUT_LIMIT"]) // 2
    if name in ("share", "batch"):
        return REST + program + typed
    if name == "uploads":
        return PIECE if path != "/api/uploads" else REST
    if name == "lecture":
        return REST + 2 * program
    if name not in OPERATIONS:
        return REST
    known = fields(OPERATIONS[name].request)
    has_program = bool(known.keys() & {"source", "lesson"})
    return REST + has_program * program + ("input" in known) * typed


class Bodies:
    """Parses bodies."""

    def __init__(self) -> None:
        policy = replace(walls.worker_policy(runs=False), name="read", reads=(str(HERE),))
        self._reader = BodyReader(COMMAND, memory_mb=MEMORY_MB, policy=policy)
        self._turn = threading.Lock()

    def read(self, data: bytes) -> Json:
        """Parse the object in a body. AppError if it is none, or the reader is busy."""
        try:
            return parsed(data) if len(data) <= LONG else self._read_elsewhere(data)
        except NoRequest as error:
            raise AppError(error.kind, error.message, error.status) from None

    def _read_elsewhere(self, data: bytes) -> Json:
        if not self._turn.acquire(timeout=SECONDS):
            raise AppError(
                "busy", "The server is reading too many long requests.", 503, "Try again."
            )
        try:
            if not self._reader.alive:
                self._reader.start()
            return self._reader.read(data, time.monotonic() + SECONDS)
        except TimeoutError:
            self._reader.stop()
            message = f"The request could not be read within {SECONDS:g} s."
            raise AppError("busy", message, 503, "Try again in a moment.") from None
        except (OSError, WorkerDied):
            self._reader.stop()
            raise AppError("internal", "The request could not be read.", 500) from None
        finally:
            self._turn.release()

    def close(self, grace: float = 0.0) -> None:
        """Stop the process."""
        with self._turn:
            self._reader.stop()


class BodyReader(Worker):
    """The reader process. Used by one thread at a time."""

    def read(self, data: bytes, until: float) -> Json:
        """Parse the object in a body.

        Raises NoRequest; after OSError or WorkerDied stop the process.
        """
        process = self._process
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        _send(process.stdin.fileno(), LENGTH.pack(len(data)) + data, until)
        (length,) = LENGTH.unpack(_receive(process.stdout.fileno(), LENGTH.size, until))
        answer = marshal.loads(_receive(process.stdout.fileno(), length, until))
        if len(answer) == 3:
            raise NoRequest(*answer)
        body, tokens = answer
        return {**body, **{name: LongText(body[name], told) for name, told in tokens.items()}}


def _send(pipe: int, data: bytes, until: float) -> None:
    os.set_blocking(pipe, False)
    rest = memoryview(data)
    while rest:
        _wait(pipe, select.POLLOUT, until)
        rest = rest[os.write(pipe, rest) :]


def _receive(pipe: int, size: int, until: float) -> bytes:
    found = bytearray()
    while len(found) < size:
        _wait(pipe, select.POLLIN, until)
        piece = os.read(pipe, size - len(found))
        if not piece:
            raise WorkerDied(None)
        found += piece
    return bytes(found)


def _wait(pipe: int, event: int, until: float) -> None:
    poll = select.poll()
    poll.register(pipe, event)
    if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
        raise TimeoutError
