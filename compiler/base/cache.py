"""Keep files in the user's own cache folder.

Files there (pickles, shared libraries) become code when they are loaded. So the folder and every
file in it must belong to the user of this process and be writable by nobody else; any other file is
not read. Without such a folder nothing is kept.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def folder(name: str = "") -> Path | None:
    """Return `stridescope/NAME` in the user's cache folder, creating it; None if that fails."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.join(os.path.expanduser("~"), ".cache")
    made = Path(base)
    for part in ("stridescope", *filter(None, (name,))):
        made = made / part
        if not _make(made):
            return None
    return made if os.access(made, os.W_OK | os.X_OK) else None


def load(name: str) -> bytes | None:
    """Return what `keep` wrote under `name`; None if there is none or others could write it."""
    home = folder()
    if home is None:
        return None
    try:
        handle = os.open(home / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read() if is_own(os.fstat(handle)) else None


def keep(name: str, data: bytes) -> None:
    """Write a file atomically; a folder that cannot be written to is no error."""
    home = folder()
    if home is None:
        return
    with contextlib.suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=home)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
            os.replace(temporary, home / name)
        except OSError:
            os.unlink(temporary)
            raise


def is_own(status: os.stat_result) -> bool:
    """Return True for a regular file that this user owns and nobody else can write."""
    ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
    return ours and not status.st_mode & _OTHERS_WRITE


def _make(path: Path) -> bool:
    """Create a folder for this user alone; return False if it is not one."""
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return False
        if status.st_mode & _OTHERS_WRITE:
            path.chmod(0o700)
    except OSError:
        return False
    return True
