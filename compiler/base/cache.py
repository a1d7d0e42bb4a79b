"""The user's own cache folder.

What is kept there (pickles, shared libraries) is code as soon as it is loaded. So the folder and
every file in it belong to the user that runs this process, and nobody else can write them; what is
otherwise is not read. Where there is no such folder nothing is kept.
"""

from __future__ import annotations

import contextlib
import os
import stat
import tempfile
from pathlib import Path

_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


def folder(name: str = "") -> Path | None:
    """`stridescope/NAME` in the user's cache folder, made if need be; None if that cannot be."""
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
    """What `keep` wrote under that name; None if there is nothing, or someone else wrote it."""
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
    """Write a file in one step. A folder that cannot be written to is no error."""
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
    """Whether a plain file belongs to this user, and nobody else can write it."""
    ours = stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid()
    return ours and not status.st_mode & _OTHERS_WRITE


def _make(path: Path) -> bool:
    """Make a folder for this user alone; whether it is one."""
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
