"""A real server in a process of its own, and plain sockets to it."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from testing.ports import free_port
from tests.app.conftest import FAKE
from tests.app.fake_worker import MANIFEST

PATIENCE = 30.0
START = 120.0
"""Seconds: for an answer that must come soon, and for a server on a busy machine to start."""

SERVE = (
    "import json, sys; from app.server import serve;"
    "serve(port=int(sys.argv[1]), quiet=True, config=json.loads(sys.argv[2]))"
)

Serve = Callable[..., int]


@contextmanager
def servers(data: Path, **usual: Any) -> Iterator[Serve]:
    """Starts servers with the fake worker, one for equal settings; answers their ports."""
    known: dict[str, int] = {}
    started: list[subprocess.Popen[bytes]] = []

    def serve(**config: Any) -> int:
        key = json.dumps(config)
        if key not in known:
            settings = {
                "DATA": str(data),
                "WORKER_COMMAND": [sys.executable, str(FAKE)],
                "MANIFEST": MANIFEST,
                "WARM": False,
                **usual,
                **config,
            }
            known[key] = free_port()
            command = [sys.executable, "-c", SERVE, str(known[key]), json.dumps(settings)]
            started.append(subprocess.Popen(command))
            await_port(known[key], started[-1])
        return known[key]

    try:
        yield serve
    finally:
        for process in started:
            process.terminate()
        for process in started:
            process.wait(PATIENCE)


def await_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until this process listens there."""
    until = time.monotonic() + START
    while True:
        try:
            connect(port).close()
            return
        except ConnectionRefusedError:
            assert process.poll() is None, process.stderr and process.stderr.read()
            assert time.monotonic() < until, "it does not start"
            time.sleep(0.05)


def connect(port: int, source: str = "127.0.0.1") -> socket.socket:
    """A connection from one of this machine's addresses."""
    return socket.create_connection(("127.0.0.1", port), PATIENCE, (source, 0))


def read_answer(sock: socket.socket) -> tuple[int, bytes]:
    """The next answer on a connection: status and body."""
    with sock.makefile("rb", 0) as file:
        status = int(file.readline().split()[1])
        length = 0
        while (line := file.readline()).strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        body = b""
        while len(body) < length:
            body += file.read(length - len(body)) or b""
        return status, body
