"""The process that serves has as much memory after many requests as after some.

A real server with small bounds, and nothing that is asked twice: what is kept is kept up to a
bound, and what was large once goes back to the system.
"""

import ctypes
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app import server
from compiler.sandbox import kernel
from tests.app.conftest import SOURCE
from tests.app.serving import Serve, connect, read_answer, servers

SMALL = {"CACHE_MB": 1, "RESULTS_MB": 4, "RENDERED_MB": 1, "LECTURES": 8, "RATELIMIT": False}
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    with servers(tmp_path, **SMALL) as start:
        yield start


def web_process(port: int) -> int:
    """The process that answers: the child of the one that was started with this port."""
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        words = path.read_bytes().split(b"\0")
        if str(port).encode() in words:
            children = path.parent / "task" / path.parent.name / "children"
            if len(found := children.read_text().split()) == 1:
                return int(found[0])
    raise AssertionError("no server has this port")


def megabytes(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def post(path: str, number: int, **body: object) -> bytes:
    text = json.dumps(body).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"X-Stridescope-Page: page-number-{number:08}\r\nContent-Length: {len(text)}\r\n\r\n"
    )
    return head.encode() + text


def use(port: int, numbers: range) -> None:
    """Ask for what nobody has asked for before: answers, results, errors, pages."""
    with connect(port) as sock:
        for number in numbers:
            source = f"{SOURCE}-- {number}"
            for request in (
                post("/api/show", number, source=source),
                post("/api/run", number, source=source, input=f"[{number}i64]", backend="ref"),
                post("/api/check", number, source=f"let x = WRONG -- {number}"),
                f"GET /z/madeup{number} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(),
            ):
                sock.sendall(request)
                assert read_answer(sock)[0] in (200, 404)


def test_many_requests_take_no_more_than_some(serve: Serve) -> None:
    port = serve()
    process = web_process(port)
    use(port, range(150))
    before = megabytes(process)
    use(port, range(150, 300))
    assert megabytes(process) < 1.1 * before


HEAPS = """
import random, sys, threading
from compiler.sandbox import kernel

kernel.give_back_memory()
kept, start = [], threading.Barrier(16)

def work(seed):
    sizes = random.Random(seed)
    start.wait()
    for _ in range(10):
        held = [bytes(sizes.choice((600, 3000, 20000, 150000, 400000))) for _ in range(60)]
        kept.append(bytes(700))
        held.clear()

threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sys.stdout.write(open("/proc/self/status").read().partition("VmRSS:")[2].split()[0])
"""


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "mallopt"), reason="another C library")
def test_what_was_large_goes_back_to_the_system() -> None:
    """From each of many threads, of which the C library would give each a heap of its own.

    Without that it is five times as much.
    """
    done = subprocess.run(
        [sys.executable, "-c", HEAPS], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert int(done.stdout) < 60_000


def test_a_server_gives_memory_back(monkeypatch: pytest.MonkeyPatch) -> None:
    called: list[str] = []
    monkeypatch.setattr(kernel, "give_back_memory", lambda: called.append("memory"))
    monkeypatch.setattr(server, "create_app", lambda config: called.append("application"))
    server.Server({}, {}).load()
    assert called == ["memory", "application"]
