"""Nothing lives on: not after its client, not after SIGTERM, not after the server was killed.

The processes here are real, and so is every signal.
"""

import contextlib
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from compiler.sandbox import scratch
from testing import endless
from testing.ports import free_port
from testing.waiting import until
from testing.web_process import web_process
from tests.app.conftest import FAKE
from tests.app.serving import servers
from tests.codegen.helpers import needs_cc

ROOT = Path(__file__).parents[2]
linux = pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="processes are in /proc")


def alive(pid: int) -> bool:
    """Whether a process is there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def below(pid: int) -> list[int]:
    """All descendants of a process."""
    found, todo = [], [pid]
    while todo:
        for children in Path(f"/proc/{todo.pop()}").glob("task/*/children"):
            with contextlib.suppress(OSError):
                todo += [int(child) for child in children.read_text().split()]
                found += [int(child) for child in children.read_text().split()]
    return sorted(set(found))


def processor_seconds(pid: int) -> float:
    """What a process has used so far."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


# --- a pool's process --------------------------------------------------------------------------

POOL = """
import json, sys, threading, time
from app.pool import PoolLimits, Client, Pool
pool = Pool("test", 2, [sys.executable, sys.argv[1]], PoolLimits())
def ask(source, name):
    return pool.ask({"op": "check", "source": source}, 1000, Client(name))
threading.Thread(target=ask, args=("SLEEP", "b"), daemon=True).start()
while not pool.pids():
    time.sleep(0.01)
made = [ask("CHILD LITTER", "a"), {"pids": pool.pids()}]
print(json.dumps(made), flush=True)
if sys.argv[2] == "end":
    sys.exit(0)
time.sleep(1000)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A place for temporary files that nobody else uses."""
    made = tmp_path / "tmp"
    made.mkdir()
    return made


def a_pool(folder: Path, what: str) -> tuple[subprocess.Popen[str], list[int]]:
    """A process with a pool, and the workers and their children."""
    process = subprocess.Popen(
        [sys.executable, "-c", POOL, str(FAKE), what],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(folder)},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    told = json.loads(process.stdout.readline())
    return process, sorted({pid for one in told for pid in one["pids"]})


@linux
def test_workers_and_their_children_end_with_a_process_that_is_killed(folder: Path) -> None:
    process, pids = a_pool(folder, "stay")
    assert len(pids) == 3
    assert all(map(alive, pids))
    assert list(folder.glob("*/*.s")), "a worker's temporary files are in a folder of its own"
    process.kill()
    process.wait()
    assert until(lambda: not any(map(alive, pids)))
    assert until(lambda: not list(folder.iterdir())), "temporary files go with their worker"


@linux
def test_workers_and_their_children_end_with_a_process_that_ends(folder: Path) -> None:
    process, pids = a_pool(folder, "end")
    assert process.wait(30) == 0
    assert until(lambda: not any(map(alive, pids)))
    assert until(lambda: not list(folder.iterdir()))


@linux
def test_what_is_left_where_everything_was_killed_is_swept_by_the_next_server(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process, pids = a_pool(folder, "stay")
    family = [process.pid, *below(process.pid), *pids]
    wardens = [pid for pid in family if b"warden.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    for pid in (*wardens, *family):  # who would clean up goes first
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    process.wait()
    left = set(folder.iterdir())
    assert wardens
    assert left
    other, _ = a_pool(folder, "stay")
    used = set(folder.iterdir()) - left
    monkeypatch.setenv("TMPDIR", str(folder))
    with servers(tmp_path / "data") as serve:
        serve()
        assert until(lambda: not left & set(folder.iterdir()))
        assert used <= set(folder.iterdir())
    other.kill()
    other.wait()


PARENT = """
import subprocess, sys, time
worker = subprocess.Popen([sys.executable, "-m", "compiler", "worker", "--with-parent"], stdin=0)
print(worker.pid, flush=True)
time.sleep(1000)
"""


@linux
def test_a_worker_is_killed_with_its_parent_by_the_kernel(tmp_path: Path) -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert parent.stdin is not None
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    # It answers, so that it has been set up; then it compiles without end, its input still open.
    parent.stdin.write(b'{"id": 7, "op": "check", "source": "entry main = 1"}\n')
    parent.stdin.flush()
    assert json.loads(parent.stdout.readline())["ok"]
    asked = {"op": "show", "source": endless.COMPILE}
    parent.stdin.write(json.dumps(asked).encode() + b"\n")
    parent.stdin.flush()
    used = processor_seconds(worker)
    assert until(lambda: processor_seconds(worker) > used + 0.3)
    parent.kill()
    parent.wait()
    assert until(lambda: not alive(worker), 10)


# --- a server ----------------------------------------------------------------------------------


class Site:
    """A served site, its connections and its processes."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.port = free_port()
        self.master = subprocess.Popen(
            [sys.executable, "-m", "compiler", "serve", "--port", str(self.port)],
            cwd=ROOT,
            env={
                **os.environ,
                "TMPDIR": str(folder),
                "STRIDESCOPE_DATA": str(folder / "data"),
                **{f"STRIDESCOPE_{name}": str(value) for name, value in settings.items()},
            },
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.connections: list[socket.socket] = []

    def post(self, op: str, **body: Any) -> socket.socket:
        """Send a request, and keep the connection."""
        data = json.dumps(body).encode()
        head = (
            f"POST /api/{op} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n"
        )
        connection = socket.create_connection(("127.0.0.1", self.port), 60)
        connection.sendall(head.encode() + data)
        self.connections.append(connection)
        return connection

    def answer(self, op: str, **body: Any) -> bytes:
        """The status and the body of the response."""
        response = http.client.HTTPResponse(self.post(op, **body))
        response.begin()
        return f"{response.status} {response.reason}\n".encode() + response.read()

    def up(self) -> bool:
        """Whether the server answers."""
        try:
            return b"200 OK" in self.answer("check", source="entry main = 1")
        except OSError:
            return False

    @property
    def web(self) -> int:
        """The serving process, which has the pools."""
        return web_process(self.master.pid)

    def close(self) -> None:
        """End all of it."""
        for connection in self.connections:
            connection.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.master.pid, signal.SIGKILL)
        self.master.wait()


@contextlib.contextmanager
def started(folder: Path) -> Iterator[Site]:
    made = Site(folder, COMPILE_SECONDS=600, RUN_SECONDS=600, COMPILE_WORKERS=1, RUN_WORKERS=1)
    try:
        assert until(made.up, 60)
        yield made
    finally:
        made.close()


@pytest.fixture
def site(folder: Path) -> Iterator[Site]:
    """A site that a test may end."""
    with started(folder) as made:
        yield made


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """A site that is up after each of its tests, with nothing to do."""
    with started(tmp_path_factory.mktemp("tmp")) as made:
        yield made


def is_ready(pid: int) -> bool:
    """Whether a thread of a process runs, or would if there were a processor for it."""
    try:
        threads = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:
        return False
    return any(thread.rpartition(")")[2].split()[0] == "R" for thread in threads)


def busy(pids: list[int], seconds: float = 1.0) -> list[int]:
    """Those that would use the processor most of the time, also where others leave them none."""
    found: Counter[int] = Counter()
    for _ in range(10):
        time.sleep(seconds / 10)
        found.update(filter(is_ready, pids))
    return [pid for pid in pids if found[pid] > 5]


def busy_site(site: Site) -> list[int]:
    """Start a compile and a run that never end; all processes below the web process."""
    site.post("show", source=endless.COMPILE)
    site.post("run", source=endless.RUN, input="10i64", backend="c")
    steady(site, 2)
    return below(site.web)


def runs_programs(pid: int) -> bool:
    """Whether a process runs programs; a worker that starts is busy, too."""
    try:
        return b"runner_child" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return False


def steady(site: Site, count: int, of: Callable[[int], bool] = bool) -> list[int]:
    """Those below the web process that go on using the processor, once there are so many."""
    found: list[int] = []

    def there() -> bool:
        found[:] = filter(of, busy(busy(below(site.web))))
        return len(found) >= count

    assert until(there, 60)
    return found


@linux
@needs_cc
def test_a_client_that_leaves_ends_its_compile_and_its_run(lasting: Site) -> None:
    site = lasting
    busy_site(site)
    for connection in site.connections[-2:]:
        connection.close()
    assert until(lambda: not busy(below(site.web)))
    assert b'"ok":true' in site.answer("run", source="entry main = 1", backend="ref")
    assert site.up()


@linux
@needs_cc
def test_endless_jobs_end_with_a_web_process_that_is_killed(lasting: Site) -> None:
    site = lasting
    pids = busy_site(site)
    os.kill(site.web, signal.SIGKILL)
    assert until(lambda: not any(map(alive, pids)), 15)
    assert until(site.up, 60), "another one takes its place"


@linux
@needs_cc
def test_an_endless_run_ends_with_a_worker_that_is_killed(lasting: Site) -> None:
    site = lasting
    site.post("run", source=endless.RUN, input="10i64", backend="c")
    (running,) = steady(site, 1, runs_programs)
    above = [pid for pid in below(site.web) if running in below(pid)]
    os.kill(above[0], signal.SIGKILL)
    assert until(lambda: not any(map(alive, (*above, running))))
    assert site.up()


@linux
@needs_cc
def test_endless_jobs_end_with_a_server_that_is_killed(
    site: Site, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their folders go with them; the two of the server itself are swept by the next one."""
    pids = busy_site(site)
    for pid in (site.master.pid, site.web):
        os.kill(pid, signal.SIGKILL)
    assert until(lambda: not any(map(alive, pids)), 15)
    assert until(lambda: len(list(folder.glob("stridescope-*"))) <= 2)
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    scratch.sweep()
    assert not list(folder.glob("stridescope-*"))


@linux
@needs_cc
@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_endless_jobs_end_with_a_server_that_is_stopped(
    site: Site, folder: Path, sent: signal.Signals
) -> None:
    pids = busy_site(site)
    site.master.send_signal(sent)
    site.master.wait(30)
    assert until(lambda: not any(map(alive, pids)), 15)
    assert until(lambda: not list(folder.glob("stridescope-*")))


@linux
def test_a_stopping_server_answers_what_waits(site: Site) -> None:
    waiting = site.post("show", source=endless.COMPILE)
    assert until(lambda: len(busy(below(site.web))) >= 1)
    site.master.send_signal(signal.SIGTERM)
    with waiting.makefile("rb") as response:
        assert b"503" in response.readline()
        assert any(b"shutting down" in line for line in response)
