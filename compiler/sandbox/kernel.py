"""What a process asks Linux to forbid itself, through ctypes. Nothing here can be undone.

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
"""Bytes of what is no part of the heap, and of what a heap keeps at its end."""
_RULE_PATH_BENEATH = 1
_ASK_VERSION = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE = sum(1 << k for k in range(4, 13))
"""Removing and making of files of every kind."""
_REFER, TRUNCATE, IOCTL = 1 << 13, 1 << 14, 1 << 15
_OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | _MAKE | _REFER | TRUNCATE
DEVICE = READ_FILE | WRITE_FILE | IOCTL

MACHINE = {"x86_64": 0, "amd64": 0, "aarch64": 1, "arm64": 1}.get(platform.machine().lower(), -1)
"""The column of the tables of system calls; -1 for machines of which we have none."""


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
    """No program that this process starts gets more rights than it has."""
    _prctl(_SET_NO_NEW_PRIVS, 1)


def die_with_parent() -> None:
    """Be killed when the thread that started this process ends."""
    _prctl(_SET_PDEATHSIG, signal.SIGKILL)


def one_heap() -> None:
    """Let all threads of this process share one heap, where the C library can do otherwise.

    Each new thread would be given another one, whose free memory nobody else uses.
    """
    if hasattr(_libc(), "mallopt"):
        _libc().mallopt(_ARENA_MAX, 1)


def give_back_memory() -> None:
    """Let what is large go back to the system when it is freed, where the C library can do so.

    It would else keep what was large once as a part of its heap, in which pieces stay that are in
    use: a process with many threads grows so for hours.
    """
    one_heap()
    if hasattr(_libc(), "mallopt"):
        _libc().mallopt(_MMAP_THRESHOLD, _LARGE)
        _libc().mallopt(_TRIM_THRESHOLD, _LEFT)


def undumpable() -> None:
    """Let nobody with the same user look into this process, and leave no core file."""
    _prctl(_SET_DUMPABLE, 0)


def landlock_version() -> int:
    """The version of Landlock's interface."""
    return _call(_LANDLOCK_CREATE, None, ctypes.c_size_t(0), ctypes.c_uint32(_ASK_VERSION))


def landlock(rules: Sequence[tuple[str, int]]) -> int:
    """Forbid all files but these, TCP, abstract sockets, and signals to processes outside.

    A rule is a path, which may be missing, and rights to what lies beneath it. Answers the version;
    TCP needs 4, sockets and signals need 6. Files that are open stay usable.
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
    """Let a filter decide about system calls from here on; needs `no_new_privileges`."""
    code = ctypes.create_string_buffer(program, len(program))
    head = ctypes.create_string_buffer(
        struct.pack("<HxxxxxxQ", len(program) // 8, ctypes.addressof(code))
    )
    number = _SECCOMP[MACHINE] if MACHINE >= 0 else -1
    _call(number, ctypes.c_uint(_SECCOMP_SET_MODE_FILTER), ctypes.c_uint(0), head)


def become(user: int) -> None:
    """Give up the rights of the superuser for those of a user that owns nothing."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def limit(name: str, value: int) -> None:
    """Set a limit such as `AS`, soft and hard, or leave a stricter hard one as it is."""
    what = getattr(resource, f"RLIMIT_{name}", None)
    if what is None:
        return
    _, hard = resource.getrlimit(what)
    most = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(what, (most, most))
