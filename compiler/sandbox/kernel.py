"""Restrict the calling process through ctypes (Linux).

Nothing here can be undone. Nothing here can be undone.

Each function raises OSError where the kernel refuses, which includes every other system.
"""

from __future__ import annotations

import ctypes
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Sequence

_SET_PDEATHSIG, _SET_DUMPABLE, _SET_NO_NEW_PRIVS = 1, 4, 38
_LANDLOCK_CREATE, _LANDLOCK_ADD, _LANDLOCK_RESTRICT, _SECCOMP = 444, 445, 446, (317, 277)
_SECCOMP_SET_MODE_FILTER = 1
_ARENA_MAX, _MMAP_THRESHOLD, _TRIM_THRESHOLD = -8, -3, -1
_LARGE, _LEFT = 1 << 18, 1 << 20
"""Bytes above which memory is mapped apart from the heap, and bytes kept at the heap's end."""
_RULE_PATH_BENEATH = 1
_ASK_VERSION = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE = sum(1 << k for k in range(4, 13))
"""Landlock rights: removing and making files of every kind."""
_REFER, TRUNCATE, IOCTL = 1 << 13, 1 << 14, 1 << 15
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | _MAKE | _REFER | TRUNCATE
DEVICE = READ_FILE | WRITE_FILE | IOCTL

MACHINE = {"x86_64": 0, "amd64": 0, "aarch64": 1, "arm64": 1}.get(platform.machine().lower(), -1)
"""The column of the tables of system calls; -1 for unsupported machines."""


def _libc() -> ctypes.CDLL:
    if not sys.platform.startswith("linux"):
        raise OSError("this is not Linux")
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _prctl(option: int, value: int) -> None:
    zero = ctypes.c_ulong(0)
    _check(_libc().prctl(option, ctypes.c_ulong(value), zero, zero, zero))


def _call(number: int, *arguments: object) -> int:
    if MACHINE < 0:
        raise OSError(f"there is no table of system calls for {platform.machine()}")
    return _check(_libc().syscall(ctypes.c_long(number), *arguments))


def no_new_privileges() -> None:
    """Deny more rights to programs that this process starts."""
    _prctl(_SET_NO_NEW_PRIVS, 1)


def die_with_parent() -> None:
    """Be killed when the thread that started this process ends."""
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)


def one_heap() -> None:
    """Make all threads of this process share one heap, where the C library has several.

    Otherwise each new thread gets another one, whose free memory no other can use.
    """
    if hasattr(_libc(), "mallopt"):
        _libc().mallopt(_ARENA_MAX, 1)


def give_back_memory() -> None:
    """Return large memory to the system when it is freed, where the C library supports it.

    Otherwise the heap keeps it, fragmented by small live pieces: a process with many threads then
    grows for hours.
    """
    one_heap()
    if hasattr(_libc(), "mallopt"):
        _libc().mallopt(_MMAP_THRESHOLD, _LARGE)
        _libc().mallopt(_TRIM_THRESHOLD, _LEFT)


def undumpable() -> None:
    """Deny processes of the same user access to this one, and leave no core file."""
    _prctl(_SET_DUMPABLE, 0)


def landlock_version() -> int:
    """Return the version of Landlock's interface."""
    return _call(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))


def landlock(rules: Sequence[tuple[str, int]]) -> int:
    """Forbid all files but these, TCP, abstract sockets, and signals to processes outside.

    A rule is a path, which may be missing, and rights to everything beneath it. Return the version;
    TCP needs 4, sockets and signals need 6. Open files stay usable.
    """
    version = landlock_version()
    files = (1 << (13 + (version >= 2) + (version >= 3))) - 1 | (IOCTL if version >= 5 else 0)
    attributes = struct.pack("<QQQ", files, 3 if version >= 4 else 0, 3 if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    ruleset = _call(_LANDLOCK_CREATE, attributes, ctypes.c_size_t(size), ctypes.c_uint32(0))
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights & files)
        _call(_LANDLOCK_RESTRICT, ctypes.c_int(ruleset), ctypes.c_uint32(0))
    finally:
        os.close(ruleset)
    return version


def _allow(ruleset: int, path: str, rights: int) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not os.path.isdir(path):
            rights &= _OF_FILES
        rule = struct.pack("<Qi", rights, handle)
        _call(
            _LANDLOCK_ADD,
            ctypes.c_int(ruleset),
            ctypes.c_int(_RULE_PATH_BENEATH),
            rule,
            ctypes.c_uint32(0),
        )
    finally:
        os.close(handle)


def seccomp(program: bytes) -> None:
    """Install a filter of system calls; needs `no_new_privileges`."""
    code = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(
        struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    )
    number = _SECCOMP[MACHINE] if MACHINE >= 0 else -1
    _call(number, ctypes.c_uint(_SECCOMP_SET_MODE_FILTER), ctypes.c_uint(0), head)


def become(user: int) -> None:
    """Drop the rights of root for those of a user that owns nothing."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def limit(name: str, value: int) -> None:
    """Set a limit such as `AS`, soft and hard; keep a stricter hard one."""
    what = getattr(resource, f"RLIMIT_{name}", None)
    if what is None:
        return
    _, hard = resource.getrlimit(what)
    most = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (most, most))
