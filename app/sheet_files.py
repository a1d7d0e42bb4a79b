"""Files of sheets: one folder, bounded in bytes, shared by processes."""

from __future__ import annotations

import fcntl
import hashlib
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from app.sheets import NoSheet, OpenFile, Sheet, opened

log = logging.getLogger(__name__)

LOCKS = 64
"""Lock files by which processes wait for each other."""
LOCKED_SECONDS = 60.0
"""Seconds that a process waits for another one that makes the same sheet."""
LOOK = 0.02
UNFINISHED = ".new-"
ABANDONED_SECONDS = 3600.0
"""Seconds after which an unfinished file counts as abandoned."""
USED_SECONDS = 60.0
"""Seconds after which a sheet's time of reading is updated."""


def nameless() -> OpenFile:
    """Open an anonymous file, in memory if possible."""
    if hasattr(os, "memfd_create"):
        return OpenFile(os.memfd_create("sheet"))
    with tempfile.TemporaryFile() as file:
        return OpenFile(os.dup(file.fileno()))


class SheetFiles:
    """The folder, for one renderer. It never fails: what cannot be stored is not."""

    def __init__(self, folder: Callable[[], Path], limit: int, renderer: str) -> None:
        """At most `limit` bytes are kept."""
        self._folder = folder
        self._limit = limit
        self.renderer = renderer

    def read(self, link: str, sheet: str) -> Sheet | None:
        """Open a sheet if it exists; it counts as used."""
        with suppress(OSError, NoSheet):
            file = OpenFile.of(self._folder() / f"{link}.{sheet}")
            found = opened(file, self.renderer)
            if time.time() - os.fstat(file.handle).st_mtime > USED_SECONDS:
                with suppress(OSError):
                    os.utime(file.handle)
            return found
        return None

    def keep(self, file: OpenFile, link: str, sheet: str) -> None:
        """Store a file, evicting the least recently used sheets."""
        if file.size > self._limit:
            return
        try:
            folder = self._folder()
            folder.mkdir(parents=True, exist_ok=True)
            if not _copied(file, folder / f"{link}.{sheet}"):
                drop_oldest(folder, total(folder) - file.size)  # it may itself fill the disk
                if not _copied(file, folder / f"{link}.{sheet}"):
                    log.warning("the folder of what is made of links takes nothing more")
            drop_oldest(folder, self._limit)
        except OSError as error:
            log.warning("what is made of links cannot be kept: %s", error)

    def drop(self, link: str) -> None:
        """Drop all sheets of a link."""
        with suppress(OSError):
            for path in self._folder().glob(f"{link}.*"):
                path.unlink(missing_ok=True)

    @contextmanager
    def alone(self, link: str, unless: Callable[[], bool]) -> Iterator[None]:
        """Lock a link against other makers of its sheets, until `unless` holds.

        Without locks it enters at once.
        """
        try:
            number = int(hashlib.sha256(link.encode()).hexdigest()[:8], 16) % LOCKS
            folder = self._folder()
            folder.mkdir(parents=True, exist_ok=True)
            lock = OpenFile(os.open(folder / f".lock-{number}", os.O_CREAT | os.O_RDWR, 0o600))
        except OSError:
            yield
            return
        with closing(lock):
            until = time.monotonic() + LOCKED_SECONDS
            while not _locked(lock) and not unless() and time.monotonic() < until:
                time.sleep(LOOK)
            yield


def _locked(file: OpenFile) -> bool:
    """Try to lock a file until it is closed; return False if another has it."""
    try:
        fcntl.flock(file.handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


def _copied(file: OpenFile, target: Path) -> bool:
    """Copy a file atomically under that name; return False on failure."""
    try:
        handle, name = tempfile.mkstemp(prefix=UNFINISHED, dir=target.parent)
    except OSError:
        return False
    try:
        copy = OpenFile(handle)
        for chunk in file.chunks(0, file.size):
            copy.write(chunk)
        os.replace(name, target)
    except OSError:
        with suppress(OSError):
            os.unlink(name)
        return False
    return True


def total(folder: Path) -> int:
    """Return the bytes of all sheets."""
    return sum(size for _, size, _ in _kept(folder))


def drop_oldest(folder: Path, most: int) -> None:
    """Delete the least recently used sheets until at most so many bytes are left."""
    kept = sorted(_kept(folder))
    excess = sum(size for _, size, _ in kept) - most
    for _, size, path in kept:
        if excess <= 0:
            break
        with suppress(OSError):
            path.unlink()
        excess -= size


def _kept(folder: Path) -> Iterator[tuple[float, int, Path]]:
    """Yield time of reading, bytes and path of each sheet; delete abandoned files."""
    for entry in os.scandir(folder):
        with suppress(OSError):
            status = entry.stat(follow_symlinks=False)
            if not entry.name.startswith("."):
                yield status.st_mtime, status.st_size, Path(entry.path)
            elif (
                entry.name.startswith(UNFINISHED)
                and time.time() - status.st_mtime > ABANDONED_SECONDS
            ):
                os.unlink(entry.path)
