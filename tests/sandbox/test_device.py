"""A CUDA program runs in a process of its own, which reaches the GPU's files and nothing else.

A stand-in for CuPy on the CPU takes its place: what is tested is the process around it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_, UsageError
from compiler.base.text import plain
from compiler.runtime import device_process
from compiler.sandbox import walls
from tests.codegen.helpers import compiled

CUPY = """
import os
import socket
import time
from types import SimpleNamespace

import numpy as np
from numpy import asarray, empty, float16, zeros

said = os.environ.get("DATABASE_URL", "")
tried = []


def attempt(name, work):
    try:
        work()
    except OSError:
        return
    tried.append(name)


attempt("secret", lambda: open(SECRET))
attempt("network", lambda: socket.socket().bind(("127.0.0.1", 0)))
attempt("processes", os.fork)
attempt("programs", lambda: os.execv("/bin/true", ["true"]))
attempt("server", lambda: os.kill(SERVER, 0))
attempt("files", lambda: open("/etc/passwd"))
if MODE == "die":
    os._exit(3)
if MODE == "hang":
    time.sleep(1000)
if MODE == "lie":
    os.write(0, (1 << 40).to_bytes(8, "little"))


class Array(np.ndarray):
    def get(self):
        return np.asarray(self)


class RawModule:
    def __init__(self, code, **options):
        pass

    def compile(self):
        pass


def zeros(count, dtype):
    return np.zeros(count, dtype).view(Array)


def asarray(array):
    return np.asarray(array).view(Array)


def total_bytes():
    return 1000 * len(tried) + len(said)


def get_default_memory_pool():
    return SimpleNamespace(total_bytes=total_bytes)


cuda = SimpleNamespace(
    memory=SimpleNamespace(OutOfMemoryError=MemoryError),
    runtime=SimpleNamespace(
        deviceSynchronize=lambda: None, getDeviceCount=lambda: 1, CUDARuntimeError=RuntimeError
    ),
)
"""


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of packages with a module `cupy`, whose mode can be written there."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    for parent in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        parent.chmod(0o755)
    secret = tmp_path / "secret"
    secret.write_text("a secret")
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:password@host/base")
    walls.readable.cache_clear()
    write(folder, "work")
    yield folder
    walls.readable.cache_clear()


def write(folder: Path, mode: str) -> None:
    head = f"SECRET, SERVER, MODE = {str(folder.parent / 'secret')!r}, {os.getpid()}, {mode!r}\n"
    (folder / "cupy.py").write_text(head + CUPY)


def code(source: str) -> str:
    return plain(compiled(source, "cuda").result("cuda").text)


SOURCE = "entry main (xs: *[]i16) (x: f64) (b: bool) (y: i64) = (xs, x / 2, !b, y / (y - 1))"
ARGS = [np.arange(4, dtype=np.int16), np.float64(3), np.bool_(True), np.int64(9)]


def test_values_go_there_and_come_back(stand_in: Path) -> None:
    done = device_process.run_cuda(code(SOURCE), "main", ARGS, runs=3)
    assert [v.tolist() for v in done.values] == [[0, 1, 2, 3], 1.5, False, 1]
    assert [v.dtype.name for v in done.values] == ["int16", "float64", "bool", "int64"]
    assert len(done.times) == 3


def test_it_reaches_nothing(stand_in: Path) -> None:
    layers = walls.state().layers
    if not (layers.get("landlock") and layers.get("seccomp")):
        pytest.skip("this kernel has no Landlock or no seccomp")
    assert device_process.run_cuda(code(SOURCE), "main", ARGS).peak_bytes == 0


def test_a_failed_check_keeps_its_place(stand_in: Path) -> None:
    with pytest.raises(RuntimeError_) as caught:
        device_process.run_cuda(code(SOURCE), "main", [*ARGS[:3], np.int64(1)])
    assert "zero" in caught.value.message
    assert caught.value.span.line == 1


@pytest.mark.parametrize(
    ("mode", "says"),
    [
        ("die", "ended before it answered"),
        ("hang", "did not finish within 3 s"),
        ("lie", "overwrote"),
    ],
)
def test_a_process_that_fails_is_an_error(stand_in: Path, mode: str, says: str) -> None:
    write(stand_in, mode)
    with pytest.raises(RuntimeError_) as caught:
        device_process.run_cuda(code(SOURCE), "main", ARGS, deadline_s=3.0)
    assert says in caught.value.message


@pytest.mark.skipif(find_spec("cupy") is not None, reason="CuPy is installed")
def test_without_cupy_it_says_so_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        device_process.run_cuda(code(SOURCE), "main", ARGS)
    assert caught.value.hint
