"""Assign devices to runs: one run at a time on each, across processes.

`STRIDESCOPE_DEVICES` names the devices, `STRIDESCOPE_DEVICE_MB` the share of a run in one's memory.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import struct
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from threading import Lock

from compiler.base.deadline import Deadline
from compiler.base.errors import TimeoutError_, UsageError
from compiler.runtime.gpu import Found

CHOSEN, MOST_MB = "STRIDESCOPE_DEVICES", "STRIDESCOPE_DEVICE_MB"
SHARED = "/dev/nvidiactl"
"""A file of all GPU users, whose bytes are locks: each device has one."""
LOOK_SECONDS = 0.02
BUSY = (
    "All devices were busy with other programs until the deadline",
    "Try again later, or name more devices in `STRIDESCOPE_DEVICES`.",
)
Place = Found
_OURS: defaultdict[str, Lock] = defaultdict(Lock)


def most_bytes() -> int:
    """Return the limit on a run's device memory in bytes; 0: all that is free.

    Errors: `UsageError` where the setting is not a number.
    """
    told = os.environ.get(MOST_MB, "") or "0"
    if not told.isdigit():
        raise UsageError(f"{MOST_MB} must be a number of megabytes, not `{told}`.")
    return int(told) << 20


def instances() -> list[str]:
    """List the named parts of devices (MIG), which a process sees only by name."""
    return [name for name in _names() if name.startswith("MIG-")]


def _names() -> list[str]:
    return [name.strip() for name in os.environ.get(CHOSEN, "").split(",") if name.strip()]


def places(found: Sequence[Place]) -> list[Place]:
    """Return the devices that the administrator names, in that order; without names the first.

    A name is a number, a prefix of an identity (`GPU-..`, `MIG-..`), or a part of the device's
    name. Raises UsageError for one that matches no device.
    """
    chosen: list[Place] = []
    for name in _names():
        number = int(name) if name.isdigit() else -1
        fitting = [
            one
            for k, one in enumerate(found)
            if k == number
            or (number < 0 and (one.identity.startswith(name) or name.lower() in one.name.lower()))
        ]
        if not fitting:
            known = ", ".join(f"{k}: {one.name}, {one.identity}" for k, one in enumerate(found))
            raise UsageError(
                f"{CHOSEN} names `{name}`, which is not a device of this machine.",
                hint=f"There are {known}.",
            )
        chosen += [one for one in fitting if one not in chosen]
    return chosen or list(found[:1])


@contextlib.contextmanager
def turn(places: Sequence[Place], deadline: Deadline) -> Iterator[Place]:
    """Hold the first free one of these devices for this run alone.

    Other processes of this machine are excluded where the file SHARED exists. Raises TimeoutError_
    where none is free before the deadline.
    """
    while True:
        for place in places:
            with contextlib.ExitStack() as held:
                if _taken(place.identity, held):
                    yield place
                    return
        if time.monotonic() > deadline.until:
            raise TimeoutError_(f"{BUSY[0]} ({deadline.seconds:g} s).", hint=BUSY[1])
        time.sleep(LOOK_SECONDS)


def _taken(identity: str, held: contextlib.ExitStack) -> bool:
    """Try to take a device until `held` is closed; return True on success."""
    ours = _OURS[identity]
    if not ours.acquire(blocking=False):
        return False
    held.callback(ours.release)
    with contextlib.suppress(FileNotFoundError, PermissionError):
        file = os.open(SHARED, os.O_RDWR | os.O_CLOEXEC)
        held.callback(os.close, file)
        byte = int.from_bytes(hashlib.sha256(identity.encode()).digest()[:5], "big")
        order = (fcntl.F_WRLCK, os.SEEK_SET, byte, 1)
        return _locked(file, order)
    return True


def _locked(file: int, order: tuple[int, int, int, int]) -> bool:
    """Lock a byte for this open file; return False if it is locked."""
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", *order, 0))
    except (BlockingIOError, PermissionError):
        return False
    return True
