"""The first program inside a wall: apply the inner layers, then run the real program.

    python -I -S enter.py ORDERS -m MODULE ARGUMENT..
    python -I -S enter.py ORDERS SCRIPT ARGUMENT..
    python -I -S enter.py ORDERS --report FILE PORT PID

ORDERS is JSON, see `Orders`. The program runs in this same process, so that it needs no right to
start one. `--report` instead reports the layers that hold, after trying what they forbid.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import runpy
import sys
import types
from collections.abc import Callable
from typing import Any, TypedDict

OUTER = "compiler.sandbox".split(".")[:-1]
"""The packages around this file's own, outermost first."""
FOLDERS = [os.path.dirname(os.path.dirname(os.path.abspath(__file__)))]
for _ in OUTER:
    FOLDERS.insert(0, os.path.dirname(FOLDERS[0]))
sys.path.insert(0, FOLDERS[0])
for depth in range(1, len(OUTER) + 1):
    name = ".".join(OUTER[:depth])
    if name not in sys.modules and importlib.util.find_spec(name) is None:
        # Inside another wall nobody may look into the folder that the package lies in.
        sys.modules[name] = package = types.ModuleType(name)
        package.__path__ = [FOLDERS[depth]]

from compiler.sandbox import filters, kernel  # noqa: E402

CONFINED = "STRIDESCOPE_CONFINED"
"""The environment variable with the policy of a confined process."""
THREADS = "/proc/self/task"


class Orders(TypedDict):
    """Orders from `walls.py`. `user` 0 keeps the user; `seeds` are files copied to scratch."""

    policy: str
    path: list[str]
    readable: list[str]
    scratch: str
    devices: list[str]
    starts_programs: bool
    user: int
    limits: dict[str, int]
    seeds: dict[str, str]


def main() -> None:
    """Apply every available layer, and run the program."""
    orders: Orders = json.loads(sys.argv[1])
    sys.argv = sys.argv[2:]
    held = put_on(orders)
    sys.path[:] = orders["path"]
    os.environ[CONFINED] = orders["policy"]
    if sys.argv[0] == "--report":
        print(json.dumps(tried(held, sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))  # noqa: T201
    elif sys.argv[0] == "-m":
        sys.argv = sys.argv[1:]
        runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(sys.argv[0]))
        runpy.run_path(sys.argv[0], run_name="__main__")


def put_on(orders: Orders) -> dict[str, int]:
    """Apply the layers; return their versions by name, 0 where the machine has none."""
    seeds = {name: _content(source) for name, source in orders["seeds"].items()}
    if orders["user"]:
        with contextlib.suppress(OSError):
            os.chown(orders["scratch"], orders["user"], orders["user"])
        kernel.become(orders["user"])
    for name, data in seeds.items():
        target = os.path.join(orders["scratch"], name)
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(target), mode=0o700, exist_ok=True)
            with open(target, "xb") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(data)
    for name, value in orders["limits"].items():
        kernel.limit(name, value)
    held = {"privileges": 0, "landlock": 0, "seccomp": 0}
    with contextlib.suppress(OSError):
        kernel.no_new_privileges()
        held["privileges"] = 1
        held["landlock"] = _landlock(orders)
        kernel.seccomp(filters.worker(orders["starts_programs"], bool(orders["devices"])))
        held["seccomp"] = 1
    return held


def _landlock(orders: Orders) -> int:
    execute = kernel.EXECUTE if orders["starts_programs"] else 0
    rules = [(path, kernel.READ | execute) for path in orders["readable"]]
    rules += [(path, kernel.READ) for path in ("/proc", "/sys/devices/system/cpu")]
    rules += [(f"/dev/{name}", kernel.READ_FILE | kernel.WRITE_FILE) for name in ("null", "zero")]
    rules += [(f"/dev/{name}", kernel.READ_FILE) for name in ("random", "urandom")]
    if orders["devices"]:
        rules.append(("/sys", kernel.READ))
        # NVIDIA's driver writes the names of its threads there, or does not start. The folder stays
        # open: one that is looked up again, after it was forgotten, would be another to the kernel.
        with contextlib.suppress(OSError):  # without `/proc` the other rules hold all the same
            os.open(THREADS, os.O_PATH)
        named = "/proc" if orders["starts_programs"] else THREADS  # those of processes to come
        rules.append((named, kernel.WRITE_FILE | kernel.TRUNCATE))
    rules += [(path, kernel.DEVICE) for path in orders["devices"]]
    rules.append((orders["scratch"], kernel.WRITE))
    try:
        return kernel.landlock(rules)
    except OSError:
        return 0


def _content(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def tried(held: dict[str, int], secret: str, port: int, pid: int) -> dict[str, Any]:
    """Return the layers, and the attempts to escape: each is true where it was refused."""
    import socket

    def refused(attempt: Callable[[], object]) -> bool:
        try:
            attempt()
        except OSError:
            return True
        return False

    import numpy  # noqa: F401  (the program's libraries can be read, and scratch can be written)

    with open(os.path.join(os.environ["TMPDIR"], "tried"), "x"):
        pass

    return {
        **held,
        "network": refused(lambda: socket.create_connection(("127.0.0.1", port), 1).close()),
        "files": refused(lambda: open(secret).close()),
        "signals": refused(lambda: os.kill(pid, 0)),
        "user": os.geteuid() != 0,
    }


if __name__ == "__main__":
    main()
