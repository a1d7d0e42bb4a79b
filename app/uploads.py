"""Values of inputs that are too long for a request: sent piece by piece, kept as files for a while.

A file has one value in Futhark's binary format. Its name is random; the page that began it, and
nobody else, adds to it and runs programs on it. What a page says that it will send counts in its
quota from the beginning, in that of its address, and in that of all.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.errors import AppError
from compiler.sandbox.scratch import Scratch

MB = 1 << 20
OF_AN_ADDRESS = 4
"""Of all room one address has a part of this size at most."""
MOST_FILES = 16
"""Of one page: each takes a file, however short."""
UNFINISHED_SECONDS = 600.0
"""After so long without a piece nobody goes on."""


@dataclass(slots=True)
class Upload:
    """A file that comes, or is there."""

    page: str
    address: str
    size: int
    path: Path
    have: int = 0
    is_gone: bool = False
    used: float = field(default_factory=time.monotonic)
    lock: threading.Lock = field(default_factory=threading.Lock)


class Uploads:
    """The files of one server."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._most = int(config["UPLOAD_MB"]) * MB
        self._of_page = int(config["PAGE_UPLOADS_MB"]) * MB
        self._of_all = int(config["UPLOADS_MB"]) * MB
        self._seconds = float(config["UPLOAD_MINUTES"]) * 60
        self._known: dict[str, Upload] = {}
        self._knowing = threading.Lock()
        self._scratch = Scratch()
        # Workers are other users, who find a file whose name they are told.
        os.chmod(self._scratch.path, 0o711)

    @property
    def folder(self) -> str:
        """Where the files are, for those who may read them."""
        return self._scratch.path

    def begin(self, page: str, address: str, size: int) -> str:
        """A name for a file of so many bytes. AppError if there is no room for them."""
        if size > self._most:
            raise _no_room(f"A file may have at most {self._most // MB} MB, and this one has", size)
        self.sweep()
        with self._knowing:
            rooms = (
                ("The files of this page", "page", page, self._of_page),
                ("The files of your address", "address", address, self._of_all // OF_AN_ADDRESS),
                ("All files on the server", "", "", self._of_all),
            )
            for whose, attribute, name, most in rooms:
                own = [
                    one
                    for one in self._known.values()
                    if not attribute or getattr(one, attribute) == name
                ]
                has = sum(one.size for one in own)
                if has + size > most:
                    told = f"{whose} have {has / MB:.0f} of {most // MB} MB, and this one has"
                    raise _no_room(told, size)
                if attribute == "page" and len(own) >= MOST_FILES:
                    raise _no_room(
                        f"A page may have at most {MOST_FILES} files; this one has", size
                    )
            name = secrets.token_urlsafe(16)
            path = Path(self._scratch.path) / name
            self._known[name] = Upload(page, address, size, path)
        return name

    def add(self, page: str, name: str, offset: int, data: bytes) -> int:
        """Put a piece where the file ends; how many bytes it has then.

        AppError where the file is not this page's, or ends elsewhere: `have` says where.
        """
        one = self._own(page, name)
        with one.lock:
            if one.is_gone:
                raise _unknown()
            if offset != one.have:
                message = f"The next byte of this file must be at offset {one.have}, not {offset}."
                raise AppError("usage", message, 409, "Continue from there.", have=one.have)
            if one.have + len(data) > one.size:
                message = f"This file has {one.size} bytes, and this part would exceed them."
                raise AppError("usage", message, 413)
            try:
                with _opened(one.path) as file:
                    file.seek(offset)
                    file.write(data)
            except OSError:
                message = "The server has no room for this file now."
                raise AppError("limitation", message, 507, "Try again later.") from None
            one.have += len(data)
            one.used = time.monotonic()
            return one.have

    def path(self, page: str, name: str) -> str:
        """Where a whole file is. AppError where it is not this page's, or not whole."""
        one = self._own(page, name)
        if one.have < one.size:
            message = f"Only {one.have} of the {one.size} bytes of this file have arrived."
            raise AppError("usage", message, 409, "Send the rest first.", have=one.have)
        one.used = time.monotonic()
        return str(one.path)

    def forget(self, page: str, name: str) -> None:
        """Delete a file of this page."""
        self._own(page, name)
        self._delete([name])

    def sweep(self) -> None:
        """Delete what nobody has used for long."""
        now = time.monotonic()
        with self._knowing:
            old = [name for name, one in self._known.items() if now - one.used > self._kept(one)]
        self._delete(old)

    def close(self, grace: float = 0.0) -> None:
        """Delete all."""
        self._scratch.remove()

    def _own(self, page: str, name: str) -> Upload:
        self.sweep()
        one = self._known.get(name)
        if one is None or one.page != page:
            raise _unknown()
        return one

    def _kept(self, one: Upload) -> float:
        """Seconds that a file is kept after it was used."""
        whole = one.have == one.size
        return self._seconds if whole else min(self._seconds, UNFINISHED_SECONDS)

    def _delete(self, names: Sequence[str]) -> None:
        for name in names:
            with self._knowing:
                one = self._known.pop(name, None)
            if one is not None:
                with one.lock:  # a piece that is just being written goes with it
                    one.is_gone = True
                    one.path.unlink(missing_ok=True)


def _opened(path: Path) -> Any:
    """A file to write to, which workers may read, whatever the server's mask is."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.fchmod(file, 0o644)
    return os.fdopen(file, "wb")


def _unknown() -> AppError:
    return AppError(
        "usage", "This file is no longer stored. Choose it again.", 404, "Choose it again."
    )


def _no_room(words: str, size: int) -> AppError:
    hint = "Remove files that you do not need, or use `stridescope run` on your own machine."
    return AppError("limitation", f"{words} {size / MB:.1f} MB.", 507, hint)
