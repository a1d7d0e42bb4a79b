"""Start a process inside a wall: under bubblewrap, or for root as a user that owns nothing.

`confine` turns a command into one that enters a wall first. The wall of this machine is found by
starting one and trying to get out of it, once per process; `state` returns the layers that hold.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import random
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path

from compiler.base import cache
from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Json
from compiler.sandbox.enter import CONFINED, Orders
from compiler.sandbox.policies import COMPILE, RUN, RUN_ON_DEVICE, Policy
from compiler.sandbox.scratch import Scratch

HERE = Path(__file__).resolve()
PACKAGE = HERE.parents[1]
TOP = HERE.parents["compiler.sandbox".count(".") + 1]
"""The folder of the outermost package."""
ENTER = HERE.with_name("enter.py")
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/alternatives"),
)
"""Files of the system's programs, without settings of the machine or names of users."""
KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH")
KEPT_FOR_DEVICES = (
    *("CUDA_PATH", "CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"),
    *("STRIDESCOPE_DEVICES", "STRIDESCOPE_DEVICE_MB"),
)
ADDRESS_SPACE = 2 << 30
"""Address space beyond the usable memory: stacks, libraries, reservations of threads."""
ROOM_FOR_OTHERS = 512
VERSIONS = 4
"""Versions of each cached file passed to new processes: several releases may share a cache."""
PROBE_SECONDS = 20.0
FIRST_USER, NOBODY = 2_000_000_000, 65_534
"""Users for root's processes to become: numbers that no system gives out, else the usual one."""


@dataclass(frozen=True, slots=True)
class Wall:
    """One way to start a process: the outer wall, and the user to become (0: stay).

    Containers often refuse a new `/proc`, and with it a process namespace.
    """

    bubblewrap: str = ""
    own_users: bool = False
    own_processes: bool = True
    user: int = 0


@dataclass(frozen=True, slots=True)
class Confined:
    """A command to start, with its environment."""

    command: tuple[str, ...]
    environment: dict[str, str]


@dataclass(frozen=True, slots=True)
class WallState:
    """The layers that hold on this machine, and those that are missing, in sentences."""

    wall: Wall
    layers: Json = field(default_factory=dict)
    missing: tuple[str, ...] = ()

    def as_json(self) -> Json:
        """Return plain data, for `/health` and the like."""
        return {"layers": self.layers, "missing": list(self.missing)}


def confine(
    policy: Policy,
    command: Sequence[str],
    scratch: str,
    memory_bytes: int = 0,
    with_parent: bool = False,
) -> Confined:
    """Return the command that runs `command`, a program of this Python, under a policy.

    `command` is `(sys.executable, "-m", MODULE, ..)` or `(sys.executable, SCRIPT, ..)`. `scratch`
    is a private folder: the process's temporary folder, home and cache. `memory_bytes` bounds the
    address space of each process. `with_parent`: it ends with the thread that starts it.
    """
    made = _confined(state().wall, policy, command, scratch, memory_bytes, seeds())
    if with_parent and state().wall.bubblewrap:
        return Confined((made.command[0], "--die-with-parent", *made.command[1:]), made.environment)
    return made


def worker_policy(runs: bool) -> Policy:
    """Return the policy of a worker that compiles, or `runs` programs."""
    if not runs:
        return COMPILE
    return RUN_ON_DEVICE if devices() else RUN


@functools.cache
def state() -> WallState:
    """Find the best wall that works here; starts a process for each that is tried.

    Starts a process for each that is tried.

    Inside a wall no second one is tried.
    """
    if is_confined():
        return WallState(
            Wall(), {}, ("This process is itself confined, so it cannot confine another.",)
        )
    complaints: list[str] = []
    for wall in walls():
        layers, complaint = _probe(wall)
        if layers is not None:
            own = bool(wall.bubblewrap) and wall.own_processes
            layers = {"bubblewrap": bool(wall.bubblewrap), "own processes": own, **layers}
            return WallState(wall, layers, tuple(_missing(layers, complaints)))
        if wall.bubblewrap:
            complaints.append(complaint)
    return WallState(Wall(), {}, ("No process could be confined when it was tried.",))


def is_confined() -> bool:
    """Return True if this process is inside a wall already."""
    return bool(os.environ.get(CONFINED))


def walls() -> list[Wall]:
    """Return the walls to try, the best first; the last one is none."""
    if not sys.platform.startswith("linux") or is_confined():
        return [Wall()]
    users = [FIRST_USER, NOBODY] if os.geteuid() == 0 else []
    found = []
    path = shutil.which("bwrap")
    if path is not None:
        for own_processes in (True, False):
            found += [Wall(path, False, own_processes, user) for user in users]
            found.append(Wall(path, True, own_processes))
    return [*found, *(Wall(user=user) for user in users), Wall()]


def fresh_user(wall: Wall) -> int:
    """Return the user for one more process, a fresh one if there are enough; 0 to stay."""
    return wall.user + random.getrandbits(26) if wall.user == FIRST_USER else wall.user


def most_processes(wall: Wall, wanted: int) -> int | None:
    """Return the limit on processes and threads; None inside a wall, which has a limit already.

    The kernel counts per user. Where a wall brings no user of its own, existing threads of this
    user are added, with room for new ones.
    """
    if is_confined():
        return None
    if wall.own_users or wall.user == FIRST_USER:
        return wanted
    return _threads_of(wall.user or os.geteuid()) + ROOM_FOR_OTHERS


def _threads_of(user: int) -> int:
    """Count the threads of a user."""
    found = 0
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if process.stat().st_uid == user:
                found += len(os.listdir(process / "task"))
    return found


def script(wall: Wall, policy: Policy, path: Path, argument: str) -> Confined:
    """Return the command for a script that applies the inner layers by itself."""
    seen = [p for p in (*SYSTEM, *_both(sys.base_prefix), str(PACKAGE)) if os.path.exists(p)]
    inner = [os.path.realpath(sys.executable), "-I", "-S", str(path), argument]
    return Confined((*bubblewrap(wall, seen, (), "", 0), *inner), environment(policy, ""))


# --- what a process may see ---------------------------------------------------------------------


def python_path() -> list[str]:
    """Return the folders of Python's modules: only those of an installation.

    These include folders made by `pip install --target`.
    """
    prefixes = tuple({*_both(sys.prefix), *_both(sys.base_prefix), *_both(sys.exec_prefix)})
    found = [str(TOP)]
    for entry in sys.path:
        if not entry or not os.path.exists(entry):
            continue
        if _has_packages(entry) or os.path.realpath(entry).startswith(prefixes):
            found.append(os.path.abspath(entry))
    return found


def _has_packages(folder: str) -> bool:
    """Return True if packages were installed there; False for folders around a user's home."""
    if os.path.basename(folder) in ("site-packages", "dist-packages"):
        return True
    if Path.home().is_relative_to(os.path.realpath(folder)):
        return False
    return any(Path(folder).glob("*.dist-info"))


@functools.cache
def readable() -> tuple[str, ...]:
    """Return the files that all our processes need: system, Python and compiler."""
    paths = [*SYSTEM, *_both(sys.base_prefix), *_both(sys.prefix), str(PACKAGE)]
    paths += [p for entry in python_path()[1:] for p in _both(entry)]
    for name in ("cc", "gcc", "clang"):
        compiler = shutil.which(name)
        if compiler is not None:
            folder = os.path.dirname(os.path.dirname(os.path.realpath(compiler)))
            if not Path.home().is_relative_to(folder):  # as that of ~/bin/cc would be
                paths.append(folder)
    kept: list[str] = []
    for path in sorted({p for p in paths if p != "/" and os.path.exists(p)}, key=len):
        if not any(path.startswith(f"{k}/") for k in kept):
            kept.append(path)
    return tuple(kept)


def environment(policy: Policy, scratch: str) -> dict[str, str]:
    """Return a process's environment, without the server's own settings."""
    names = (*KEPT, *(KEPT_FOR_DEVICES if policy.devices else ()))
    return {
        **{name: os.environ[name] for name in names if name in os.environ},
        "PYTHONUNBUFFERED": "1",
        "PYTHONPATH": os.pathsep.join(python_path()),
        "OMP_WAIT_POLICY": "passive",
        **(dict.fromkeys(("HOME", "TMPDIR"), scratch) if scratch else {}),
        **({"XDG_CACHE_HOME": os.path.join(scratch, "cache")} if scratch else {}),
    }


def seeds() -> dict[str, str]:
    """Return cached results for new processes: names in scratch, and the files.

    They are copied, so that no process can leave something there for another.
    """
    folder = cache.folder()
    found: dict[str, str] = {}
    for kind in ("grammar", "prelude"):
        kept = list(folder.glob(f"{kind}-*.pickle")) if folder is not None else []
        for path in sorted(kept, key=_age)[:VERSIONS]:
            found[f"cache/stridescope/{path.name}"] = str(path)
    return found


def _age(path: Path) -> float:
    try:
        return -path.stat().st_mtime
    except OSError:
        return 0.0


def devices() -> list[str]:
    """Return the device files of NVIDIA's GPUs."""
    return sorted(str(path) for path in Path("/dev").glob("nvidia*"))


def _both(path: str) -> tuple[str, str]:
    return os.path.abspath(path), os.path.realpath(path)


# --- starting -----------------------------------------------------------------------------------


def _confined(
    wall: Wall,
    policy: Policy,
    command: Sequence[str],
    scratch: str,
    memory_bytes: int,
    seeds: dict[str, str],
) -> Confined:
    if command[0] != sys.executable:
        raise ValueError(f"only Python's programs can be confined, not {command[0]}")
    program = list(command[1:])
    script = [os.path.abspath(program[0])] if os.path.isfile(program[0]) else []
    found = devices() if policy.devices else []
    limits = {"CORE": 0, "NOFILE": policy.files, "FSIZE": policy.scratch_bytes}
    if memory_bytes and not found:
        limits["AS"] = memory_bytes + ADDRESS_SPACE
    processes = most_processes(wall, policy.processes)
    if processes is not None:
        limits["NPROC"] = processes
    seen = [*readable(), *policy.reads, *script]
    orders: Orders = {
        "policy": policy.name,
        "path": python_path(),
        "readable": seen,
        "scratch": scratch,
        "devices": found,
        "starts_programs": policy.starts_programs,
        "user": fresh_user(wall),
        "limits": limits,
        "seeds": seeds,
    }
    inner = [os.path.realpath(sys.executable), "-I", "-S", str(ENTER), json.dumps(orders)]
    inner += [*script, *program[len(script) :]]
    outside = [*seeds.values()]
    outer = bubblewrap(wall, [*seen, *outside], found, scratch, policy.scratch_bytes)
    return Confined((*outer, *inner), environment(policy, scratch))


def bubblewrap(
    wall: Wall, seen: Sequence[str], devices: Sequence[str], scratch: str, scratch_bytes: int
) -> list[str]:
    """Return bubblewrap's command for new namespaces and a file tree of only these files."""
    if not wall.bubblewrap:
        return []
    made = [wall.bubblewrap, "--unshare-ipc", "--unshare-net", "--unshare-uts"]
    made += ["--unshare-cgroup-try", *(["--unshare-pid"] if wall.own_processes else [])]
    if wall.own_users:
        made += ["--unshare-user"]
    made += ["--cap-drop", "ALL"]
    if wall.user:
        for right in ("CAP_SETUID", "CAP_SETGID"):
            made += ["--cap-add", right]
    bound = "--bind" if devices else "--ro-bind"  # a driver writes there, see `enter.py`
    made += ["--proc", "/proc"] if wall.own_processes else [bound, "/proc", "/proc"]
    made += ["--dev", "/dev"]
    parents = {str(parent) for path in (*seen, scratch or "/") for parent in Path(path).parents}
    for path in sorted(parents - {"/", "/dev", "/proc"}):
        # Otherwise such a folder is as closed as the one outside, /root for example.
        made += ["--perms", "0755", "--dir", path]
    if scratch:
        made += ["--perms", "1777", "--size", str(scratch_bytes), "--tmpfs", scratch]
    for path in (*seen, "/sys/devices/system/cpu"):
        made += ["--ro-bind-try", path, path]
    for path in devices:
        made += ["--dev-bind", path, path]
    if devices:
        made += ["--ro-bind-try", "/sys", "/sys"]
    made += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", scratch or "/", "--"]
    return made


# --- what holds ---------------------------------------------------------------------------------


def _probe(wall: Wall) -> tuple[Json | None, str]:
    """Return the report of a process inside this wall, or None and the reason of its failure."""
    with (
        Scratch() as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        secret, scratch = os.path.join(folder, "secret"), os.path.join(folder, "scratch")
        os.chmod(folder, 0o711)
        Path(secret).touch(0o644)
        os.mkdir(scratch, 0o700)
        port = server.getsockname()[1]
        command = [sys.executable, "--report", secret, str(port), str(os.getpid())]
        made = _confined(wall, RUN, command, scratch, 0, {})
        try:
            done = subprocess.run(
                made.command,
                env=made.environment,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PROBE_SECONDS,
                check=False,
            )
            return dict(json.loads(done.stdout)), ""
        except (OSError, ValueError, subprocess.TimeoutExpired) as problem:
            said = done.stderr.strip().splitlines() if isinstance(problem, ValueError) else []
            return None, said[-1] if said else str(problem)


def _missing(layers: Json, complaints: Sequence[str]) -> list[str]:
    found = []
    if not layers["bubblewrap"]:
        why = complaints[0] if complaints else "it is not installed"
        found.append(f"There is no wall of bubblewrap: {why}.")
    elif not layers["own processes"]:
        found.append(f"Bubblewrap shows the machine's other processes: {complaints[0]}.")
    if not layers["privileges"]:
        found.append("Programs cannot be kept from getting more rights (no_new_privs).")
    if not layers["landlock"]:
        found.append("The kernel has no Landlock, which would hide files.")
    if not layers["seccomp"]:
        found.append("The kernel takes no filter of system calls (seccomp) here.")
    for name, words in (
        ("network", "The network can be reached"),
        ("files", "The server's files can be read"),
        ("signals", "The server's processes can be signalled"),
    ):
        if not layers[name]:
            found.append(f"{words} from inside.")
    if not layers["user"]:
        found.append("Processes run as root: start the server as another user.")
    return found
