"""A worker that was taken over: tries what its arguments say and prints what it got."""

import contextlib
import ctypes
import json
import mmap
import os
import resource
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

AIMS = json.loads(sys.argv[1])
SECRET, FOLDER, SERVER, PORT, OTHER = (
    AIMS[name] for name in ("secret", "folder", "server", "port", "other")
)
PTRACE_ATTACH, CLONE_NEWUSER, KEYCTL_JOIN, MS_BIND = 16, 0x10000000, 1, 4096
LIBC = ctypes.CDLL(None, use_errno=True)


def check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return result


def fork() -> None:
    child = os.fork()
    if not child:
        os._exit(0)
    os.waitpid(child, 0)


def fork_bomb() -> None:
    """Got where 1000 processes live at once."""
    made = []
    try:
        for _ in range(1000):
            child = os.fork()
            if not child:
                signal.pause()
                os._exit(0)
            made.append(child)
    finally:
        for child in made:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def fill_scratch() -> None:
    """Got where four GiB of files fit."""
    names = []
    try:
        for k in range(64):
            names.append(os.path.join(os.environ["TMPDIR"], f"full{k}"))
            with open(names[-1], "wb") as file:
                os.posix_fallocate(file.fileno(), 0, 64 << 20)
    finally:
        for name in names:
            with contextlib.suppress(OSError):
                os.unlink(name)


def raise_limit() -> None:
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 50, 1 << 50))
    except ValueError as error:
        raise OSError(str(error)) from None


def environ_of(pid: int) -> None:
    if b"DATABASE_URL" not in Path(f"/proc/{pid}/environ").read_bytes():
        raise OSError("nothing there")


def memory() -> None:
    mmap.mmap(-1, 64 << 30, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)


def attempts() -> dict[str, Callable[[], Any]]:
    scratch = os.environ["TMPDIR"]
    return {
        "the database's address": lambda: os.environ["DATABASE_URL"],
        "the server's environment": lambda: environ_of(SERVER),
        "its parent's environment": lambda: environ_of(os.getppid()),
        "the database": lambda: socket.create_connection(("127.0.0.1", PORT), 2).close(),
        "a server of its own": lambda: socket.create_server(("127.0.0.1", 0)).close(),
        "names": lambda: socket.getaddrinfo("example.org", 80),
        "a socket of the machine": lambda: socket.socket(socket.AF_UNIX).close(),
        "a secret": lambda: open(SECRET).close(),
        "to change a secret": lambda: open(SECRET, "a").close(),
        "a folder": lambda: os.listdir(FOLDER),
        "a new file": lambda: open(os.path.join(FOLDER, "new"), "w").close(),
        "users": lambda: open("/etc/passwd").close(),
        "home": lambda: os.listdir("/root"),
        "another worker's files": lambda: os.listdir(OTHER),
        "to change the compiler": lambda: open(AIMS["compiler"], "a").close(),
        "to change Python": lambda: open(os.__file__, "a").close(),
        "a device": lambda: os.mknod(os.path.join(scratch, "dev"), 0o60600, os.makedev(8, 0)),
        "the disk": lambda: open("/dev/vda", "rb").close(),
        "a way out of scratch": lambda: open(
            (os.symlink(FOLDER, os.path.join(scratch, "out")), os.path.join(scratch, "out", "n"))[
                1
            ],
            "w",
        ).close(),
        "to signal the server": lambda: os.kill(SERVER, 0),
        "to trace the server": lambda: check(LIBC.ptrace(PTRACE_ATTACH, SERVER, 0, 0)),
        "the server's memory": lambda: open(f"/proc/{SERVER}/mem", "rb").close(),
        "namespaces": lambda: check(LIBC.unshare(CLONE_NEWUSER)),
        "to mount": lambda: check(LIBC.mount(b"/", scratch.encode(), b"", MS_BIND, 0)),
        "keys": lambda: check(LIBC.syscall(250, KEYCTL_JOIN, None)),
        "to be root": lambda: os.setuid(0) or os.geteuid() or check(-1),
        "more of a limit": raise_limit,
        "all memory": memory,
        "a fork": fork,
        "a fork bomb": fork_bomb,
        "a program": lambda: subprocess.run(["/bin/true"], check=True),
        "a file of its own": lambda: open(os.path.join(scratch, "own"), "w").close(),
        "four GiB of scratch": fill_scratch,
        "a thread": lambda: threading.Thread(target=print, kwargs={"end": ""}).start(),
    }


got = []
for name, attempt in attempts().items():
    try:
        attempt()
    except (OSError, KeyError, MemoryError, subprocess.SubprocessError):
        continue
    got.append(name)
print(json.dumps(got))  # noqa: T201
