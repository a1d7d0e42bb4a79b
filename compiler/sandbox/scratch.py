"""Scratch folders of processes; a later server removes abandoned ones.

The maker of a folder holds a lock on it, which the kernel releases with its last process, however
that ended. So `sweep` removes unlocked folders only.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path
from types import TracebackType

PREFIX = "stridescope-scratch-"


class Scratch:
    """A new folder: there until it is removed, or until a sweep after this process is gone."""

    def __init__(self) -> None:
        self._held = -1
        while True:
            self.path = tempfile.mkdtemp(prefix=PREFIX)
            try:
                self._held = _hold(self.path)
            except (BlockingIOError, FileNotFoundError):
                continue  # it has been swept just before that
            except OSError:
                pass  # a file system without locks: nobody sweeps there
            return

    def remove(self) -> None:
        """Remove the folder with its content; a dying child may still write there."""
        for _ in range(20):
            shutil.rmtree(self.path, ignore_errors=True)
            if not os.path.exists(self.path):
                break
            time.sleep(0.01)
        held, self._held = self._held, -1
        if held >= 0:
            os.close(held)

    def __enter__(self) -> str:
        return self.path

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.remove()


def sweep() -> int:
    """Remove abandoned folders of this user (for root: of all); return their number."""
    count = 0
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if os.geteuid() in (0, path.lstat().st_uid):
                held = _hold(str(path))
                shutil.rmtree(path, ignore_errors=True)
                os.close(held)
                count += not path.exists()
    return count


def _hold(path: str) -> int:
    """Lock a folder; return its descriptor. Raises BlockingIOError if it is locked, OSError."""
    held = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(held), os.stat(path)):
            raise FileNotFoundError(path)
    except BaseException:
        os.close(held)
        raise
    return held
