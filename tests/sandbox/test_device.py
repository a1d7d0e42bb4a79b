"""A CUDA program runs in a process of its own, which reaches the GPU's files and nothing else.

A library takes the driver's place, which tries to get out, or fails as none of CUDA's does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from compiler.base.errors import RuntimeError_, UsageError
from compiler.runtime import cuda_driver, device_process
from compiler.runtime.device_process import Toolkit
from compiler.runtime.observer import build
from compiler.sandbox import walls
from compiler.sandbox.policies import RUN
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
int cuInit(unsigned) {
    const char *none[] = {"true", nullptr};
    attempt("secret", open(SECRET, O_RDONLY));
    attempt("users", open("/etc/passwd", O_RDONLY));
    attempt("network", listens());
    attempt("server", kill(SERVER, 0));
    attempt("environment", getenv("DATABASE_URL") ? 0 : -1);
    attempt("processes", fork());
    execv("/bin/true", (char **)none);
    switch (MODE) {
        case 1: _exit(3);
        case 2: *(volatile int *)8 = 0;
        case 3: { unsigned long long length = 1ull << 40; write(0, &length, 8); pause(); }
        case 4: { unsigned long long length = 2; write(0, &length, 8); write(0, "[]", 2); }
    }
    return 0;
}
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *, int) { return 0; }
int cuDeviceGetName(char *name, int, int) { strcpy(name, done); return 0; }
int cuDeviceGetUuid_v2(char *, int) { return 0; }
int cuDeviceGetAttribute(int *, int, int) { return 0; }
int cuDeviceTotalMem_v2(size_t *, int) { return 0; }
int cuDriverGetVersion(int *) { return 0; }
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
    [(1, "ended before it answered"), (2, "ended before"), (3, "overwrote"), (4, "overwrote")],
)
def test_a_process_that_fails_is_an_error(tmp_path: Path, mode: int, says: str) -> None:
    with pytest.raises(RuntimeError_) as caught:
        device_process.found(toolkit(tmp_path, mode))
    assert says in caught.value.message


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
        device_process.found(Toolkit("libcuda.so.0"))
    assert (caught.value.message, caught.value.hint) == cuda_driver.NO_DRIVER
