"""A CUDA program runs in a process of its own, which reaches the GPU's files and nothing else.

A library takes the observer's place, which tries to get out, or fails as none of CUDA's does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compiler.base.errors import RuntimeError_, UsageError
from compiler.runtime import device_process, gpu_errors
from compiler.runtime.device_process import Toolkit
from compiler.runtime.observer import build
from compiler.sandbox import walls
from compiler.sandbox.policies import RUN, RUN_ON_DEVICE
from tests.codegen.helpers import needs_nvrtc
from tests.runtime.cuda_on_cpu import needs_cxx
from tests.sandbox import hostile

DRIVER = r"""
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static char done[200];
static void attempt(const char *name, int result) {
    if (result >= 0) strcat(strcat(done, name), " ");
}
static int listens() {
    sockaddr_in at = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
    return bind(socket(AF_INET, SOCK_STREAM, 0), (sockaddr *)&at, sizeof at);
}
extern "C" {
int observer_start() {
    const char *none[] = {"true", nullptr};
    attempt("secret", open(SECRET, O_RDONLY));
    attempt("users", open("/etc/passwd", O_RDONLY));
    attempt("network", listens());
    attempt("server", kill(SERVER, 0));
    attempt("environment", getenv("DATABASE_URL") ? 0 : -1);
    attempt("processes", fork());
    execv("/bin/true", (char **)none);
    switch (MODE) {
        case 1: fprintf(stderr, "first\nwhy \x1b[31mit ends\n\n"); _exit(3);
        case 2: *(volatile int *)8 = 0;
        case 3: { unsigned long long length = 1ull << 40; write(0, &length, 8); pause(); }
        case 4: { unsigned long long length = 2; write(0, &length, 8); write(0, "[]", 2); }
    }
    return 0;
}
int observer_count(int *count) { *count = 1; return 0; }
int observer_about(int, char *name, int, char *, size_t *) { strcpy(name, done); return 0; }
}
"""


def toolkit(folder: Path, mode: int) -> Toolkit:
    """One whose driver is that, with a file that is not for it."""
    hostile.open_to_all(folder)
    secret = folder / "secret"
    secret.write_text("a secret")
    defined = f'-DSECRET="{secret}"', f"-DSERVER={os.getpid()}", f"-DMODE={mode}"
    return Toolkit(build._compiled(DRIVER, ("-O0", *defined)))


@needs_cxx
def test_it_reaches_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layers = walls.state().layers
    if not (layers.get("landlock") and layers.get("seccomp")):
        pytest.skip("this kernel has no Landlock or no seccomp")
    monkeypatch.setenv("DATABASE_URL", "postgresql://user:password@host/base")
    assert device_process.found(toolkit(tmp_path, 0))[0].name == ""


@needs_cxx
@pytest.mark.parametrize(
    ("mode", "says"),
    [
        (1, "ended before it answered: why [31mit ends (exit status 3)."),
        (2, "ended before it answered: signal SIGSEGV."),
        (3, "overwrote"),
        (4, "overwrote"),
    ],
)
def test_a_process_that_fails_is_an_error(tmp_path: Path, mode: int, says: str) -> None:
    with pytest.raises(RuntimeError_) as caught:
        device_process.found(toolkit(tmp_path, mode))
    assert says in caught.value.message


@needs_cxx
def test_a_process_that_cannot_read_its_packages_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [folder for folder in walls.python_path() if "-packages" not in folder]
    monkeypatch.setattr(walls, "python_path", lambda: found)
    with pytest.raises(RuntimeError_) as caught:
        device_process.found(Toolkit(build.driver(), lambda *_: Path()))
    assert "No module named 'numpy' (exit status 1)" in caught.value.message
    assert caught.value.hint == device_process.UNREADABLE_PACKAGE


def test_packages_are_found_where_they_were_installed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a folder of PYTHONPATH; not where there are none, nor in one around the home."""
    target, other, home = (tmp_path / name for name in ("target", "other", "home"))
    for folder in (target, other, home, home / "user"):
        folder.mkdir()
    for folder in (target, home):
        (folder / "numpy-2.0.dist-info").mkdir()
    monkeypatch.setenv("HOME", str(home / "user"))
    monkeypatch.setattr(sys, "path", [*sys.path, str(target), str(other), str(home)])
    found = walls.python_path()
    assert str(target) in found
    assert not {str(other), str(home)} & {*found}


STARTS = r"""
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int named() {
    char path[80];
    snprintf(path, sizeof path, "/proc/self/task/%ld/comm", (long)syscall(SYS_gettid));
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    return file >= 0 && write(file, "cuda", 4) == 4;
}
static void *thread(void *) { return named() ? (void *)1 : nullptr; }
extern "C" {
int observer_start() {
    pthread_t other;
    void *both = nullptr;
    if (!named() || pthread_create(&other, nullptr, thread, nullptr)) return 304;
    pthread_join(other, &both);
    int mode = 0, channel = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un at = {AF_UNIX, {}};
    snprintf(at.sun_path + 1, 60, "cuda-uvmfd-test-%d", getpid());
    if (!both || syscall(SYS_get_mempolicy, &mode, nullptr, 0, nullptr, 0)) return 304;
    if (bind(channel, (sockaddr *)&at, 40) || listen(channel, 128)) return 304;
    return 0;
}
int observer_count(int *count) { *count = 1; return 0; }
int observer_about(int, char *name, int, char *, size_t *) { strcpy(name, "started"); return 0; }
}
"""
"""Starts as NVIDIA's driver does (580.159, with an H200): what it asks for, it does not do without.

It names its threads, listens at a name for others of its kind, and asks where memory lies.
"""

INSIDE = """
import os, pathlib, sys
from compiler.runtime import device_process
from compiler.runtime.device_process import Toolkit
from compiler.sandbox import walls
walls.devices = lambda: ["/dev/null"]
driver = pathlib.Path(os.environ["TMPDIR"], "driver.so")
driver.write_bytes(sys.stdin.buffer.read())
print(device_process.found(Toolkit(driver))[0].name)
"""


@needs_cxx
def test_a_driver_starts_that_does_what_nvidias_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walls, "devices", lambda: ["/dev/null"])
    library = build._compiled(STARTS, ("-O0", "-pthread"))
    assert device_process.found(Toolkit(library))[0].name == "started"


@needs_cxx
def test_it_starts_inside_of_a_worker_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whose wall holds as well for the process that it starts for the device."""
    monkeypatch.setattr(walls, "devices", lambda: ["/dev/null"])
    hostile.open_to_all(tmp_path)
    script, scratch = tmp_path / "worker.py", tmp_path / "scratch"
    script.write_text(INSIDE)
    scratch.mkdir()
    scratch.chmod(0o777)
    made = walls.confine(RUN_ON_DEVICE, (sys.executable, str(script)), str(scratch))
    driver = build._compiled(STARTS, ("-O0", "-pthread")).read_bytes()
    done = subprocess.run(made.command, env=made.environment, input=driver, capture_output=True)
    assert done.stdout == b"started\n", done.stderr.decode()


WORKER = """
from compiler.runtime import nvrtc
made = nvrtc.kept("__global__ void one() {}", 90, nvrtc.version())
print(made.read_bytes()[:4])
"""


@needs_nvrtc
def test_a_worker_that_runs_makes_machine_code(tmp_path: Path) -> None:
    """Inside its wall it starts NVRTC's process inside of another."""
    script, scratch = tmp_path / "worker.py", tmp_path / "scratch"
    script.write_text(WORKER)
    scratch.mkdir()
    for folder in (tmp_path, tmp_path.parent, tmp_path.parent.parent):
        folder.chmod(0o755)
    made = walls.confine(RUN, (sys.executable, str(script)), str(scratch))
    done = subprocess.run(made.command, env=made.environment, capture_output=True, text=True)
    assert done.stdout == "b'\\x7fELF'\n", done.stderr


def test_without_a_driver_it_says_so_at_once() -> None:
    with pytest.raises(UsageError) as caught:
        device_process.found(Toolkit())
    assert (caught.value.message, caught.value.hint) == gpu_errors.NO_GPU
