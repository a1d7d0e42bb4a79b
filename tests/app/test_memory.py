"""The process that serves has as much memory after many requests as after some.

A real server with small bounds, and nothing that is asked twice: what is kept is kept up to a
bound, and what was large once goes back to the system.
"""

import ctypes
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from app import server
from app.worker import COMMAND
from compiler.sandbox import kernel
from testing.waiting import until
from tests.app.conftest import FAKE, SOURCE
from tests.app.serving import Serve, connect, read_answer, servers

SMALL = {"CACHE_MB": 1, "RESULTS_MB": 4, "RENDERED_MB": 1, "LECTURES": 8, "RATELIMIT": False}
ROOT = Path(__file__).parent.parent.parent


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    with servers(tmp_path, **SMALL) as start:
        yield start


def web_process(port: int) -> int:
    """The process that answers: the child of the one that was started with this port."""
    found: list[str] = []

    def is_there() -> bool:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):  # processes end meanwhile
                if str(port).encode() in path.read_bytes().split(b"\0"):
                    children = path.parent / "task" / path.parent.name / "children"
                    found[:] = children.read_text().split()
                    if len(found) == 1:
                        return True
        return False

    assert until(is_there), "no server has this port"
    return int(found[0])


def megabytes(process: int, what: str = "VmRSS") -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(what)) / 1024


def post(path: str, number: int, **body: object) -> bytes:
    text = json.dumps(body, ensure_ascii=False).encode()
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


def test_results_at_the_limit_are_not_in_the_memory_of_the_process_that_serves(
    serve: Serve,
) -> None:
    """Neither as they come from several workers at once, nor kept, nor as they are sent."""
    port = serve(WORKER_COMMAND=list(COMMAND), RUN_WORKERS=4, RESULTS_MB=128, ANSWER_MB=64)
    process = web_process(port)
    longest = 4_190_000  # of i64, so that all results of a run have less than 32 MB
    source = "entry main (n: i64) = iota n\n"

    def ask(number: int, longest: int) -> dict[str, Any]:
        with connect(port) as sock:
            sock.settimeout(300)
            sock.sendall(post("/api/run", number, source=source, input=f"{longest}", backend="ref"))
            status, body = read_answer(sock)
        assert status == 200
        return dict(json.loads(body))

    with ThreadPoolExecutor(4) as pages:
        list(pages.map(ask, range(4), [10] * 4))
        before = megabytes(process, "VmHWM")
        answers = list(pages.map(ask, range(4), [longest] * 4))
        kept = [answer["kept"] for answer in answers]
        socks = [connect(port) for _ in range(20)]
        for number, sock in enumerate(socks):
            part = ("", "?part=::2", "?part=1:")[number % 3]
            path = f"/api/results/{kept[number % 4]}/0{part}"
            head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
            sock.sendall(head.encode())
        assert all(sock.recv(12) == b"HTTP/1.1 200" for sock in socks)
        whole = b"HTTP/1.1 200" + b"".join(iter(lambda: socks[0].recv(1 << 20), b""))
    for sock in socks:
        sock.close()
    assert len(whole) > 8 * longest
    assert megabytes(process, "VmHWM") < before + 40


def test_long_inputs_that_wait_are_as_long_as_they_came(serve: Serve) -> None:
    """With a character for which Python takes four bytes for each, while others run."""
    port = serve(WORKER_COMMAND=[sys.executable, str(FAKE)], RUN_WORKERS=1)
    process = web_process(port)
    typed = "1 " * 2_499_000 + "\U0001f600"

    def ask(number: int) -> int:
        source = f"entry main (x: i64) = x -- SLOW {number}"
        fields = {"source": source, "input": typed, "backend": "ref"}
        with connect(port, f"127.0.0.{2 + number % 3}") as sock:
            sock.settimeout(300)
            sock.sendall(post("/api/run", number, **fields))
            return read_answer(sock)[0]

    use(port, range(2))
    before = megabytes(process, "VmHWM")
    with ThreadPoolExecutor(9) as pages:
        statuses = list(pages.map(ask, range(9)))
    assert statuses.count(200) >= 4
    assert megabytes(process, "VmHWM") < before + 140


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
