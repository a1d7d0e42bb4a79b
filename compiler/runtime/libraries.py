"""Cache compiled libraries by content in the user's cache folder, up to a size.

A file's name ends in a hash of its content, and a file with other content (a disk that was full, a
machine that went off) is removed and made again, never loaded. The least recently used are evicted
first. Scanning thousands takes a tenth of the time of a compilation: a process does so for the
first that it keeps, when there are too many bytes, and now and then. Several processes may use the
folder at a time.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import os
import tempfile
import time
from functools import cache
from pathlib import Path

from compiler import codes
from compiler.base import cache as kept
from compiler.base.errors import Limitation
from compiler.sandbox.scratch import Scratch

MOST_BYTES = 256 << 20
_SUFFIX = ".so"
_SOME = 32
"""A process rescans the folder after it has added this fraction (1/32) of the size limit."""
_STALE_SECONDS = 3600
"""Age in seconds at which an unfinished file counts as abandoned."""
_MOST_KNOWN = 4096
_where: dict[tuple[Path, str], Path] = {}
"""Paths found by key: a lookup among thousands of names takes longer than a short run."""


def folder() -> Path:
    """Return the folder of libraries: in the user's cache, or one deleted with this process."""
    return kept.folder("c") or _own_folder()


@cache
def _own_folder() -> Path:
    made = Scratch()
    atexit.register(made.remove)
    return Path(made.path)


def find(key: str) -> Path | None:
    """Return the library kept under a key, intact and owned by this user; else None."""
    home = folder()
    known = _where.get((home, key))
    found = [known] if known and known.exists() else home.glob(f"{key}-*{_SUFFIX}")
    for path in found:
        try:
            if kept.is_own(path.lstat()) and path.name == _name(key, path.read_bytes()):
                os.utime(path)
                _know(home, key, path)
                return path
            path.unlink()
        except OSError:
            continue
    return None


def _know(home: Path, key: str, path: Path) -> None:
    if len(_where) >= _MOST_KNOWN:
        _where.clear()
    _where[home, key] = path


_known: dict[Path, tuple[int, int]] = {}
"""Bytes of libraries in a folder at the last scan, and bytes added by this process since."""


def keep(key: str, made: Path) -> Path:
    """Keep a library, evicting old ones. Raises Limitation where it does not fit."""
    home = folder()
    try:
        data = made.read_bytes()
        target = home / _name(key, data)
        handle, name = tempfile.mkstemp(dir=home)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(name, target)
        except OSError:
            os.unlink(name)
            raise
    except OSError as error:
        raise Limitation(
            codes.limits.RESOURCES,
            f"there is no disk space for the compiled program ({error.strerror})",
            hint="Free some disk space, or run it with the reference interpreter.",
        ) from None
    there, own = (known + len(data) for known in _known.get(home, (MOST_BYTES, MOST_BYTES)))
    if there > MOST_BYTES or own * _SOME > MOST_BYTES:
        there, own = _prune(home, target), 0
    _known[home] = there, own
    _know(home, key, target)
    return target


def _name(key: str, data: bytes) -> str:
    return f"{key}-{hashlib.sha256(data).hexdigest()[:32]}{_SUFFIX}"


def _prune(home: Path, newest: Path) -> int:
    """Remove the least recently used until the rest is small enough; never the newest.

    Return the bytes of the rest.
    """
    used: list[tuple[float, int, str]] = []
    now = time.time()
    with contextlib.suppress(OSError), os.scandir(home) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                status = entry.stat(follow_symlinks=False)
                if entry.name.endswith(_SUFFIX):
                    used.append((status.st_mtime, status.st_size, entry.path))
                elif now - status.st_mtime > _STALE_SECONDS:
                    os.unlink(entry.path)
    total = sum(size for _, size, _ in used)
    for _, size, path in sorted(used):
        if total <= MOST_BYTES:
            break
        if path != str(newest):
            with contextlib.suppress(OSError):
                os.unlink(path)
            total -= size
    return total
