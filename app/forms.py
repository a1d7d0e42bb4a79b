"""Cache the rendered sheets of links as files, made outside this process.

A link's content does not change, so neither do sheets made by one renderer: these templates, this
version, these style sheets. A sheet is made with its link, or (if it was evicted) for its first
reader, while others wait, in all processes that share the folder. After an upgrade readers get the
sheet of the old renderer, and it is made anew in the background. A sheet that cannot be stored,
because the disk is full or read-only, is sent to those who wait for it.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from functools import partial
from typing import Any

from app.background import Behind
from app.cache import ENTRY, Bounded
from app.errors import AppError
from app.fair_queue import Client
from app.paths import static_folder, template_folder
from app.sheet_files import SheetFiles, nameless
from app.sheet_pool import busy
from app.sheets import Sheet, opened
from compiler.protocol.kinds import Json

log = logging.getLogger(__name__)

BEHIND = 1.0
"""Seconds before an outdated sheet is remade: readers come all at once, and are answered first."""
FAILED_SECONDS = 30.0
"""Seconds in which a failed sheet is not tried again."""
WAITING_SECONDS = 60.0
"""Seconds that a reader waits for a sheet being made for another."""
SERVER = Client("the server")

Make = Callable[[str, Sequence[str], Client], Iterator[Json]]
"""Returns a maker's answers about sheets of a link (`app/sheet_worker.py`). AppError on failure."""


class Forms:
    """The cache of sheets."""

    def __init__(self, files: SheetFiles, make: Make, waiting: int) -> None:
        """`waiting`: readers that may wait."""
        self._most_waiting = waiting
        self._files = files
        self._make = make
        self._lock = threading.Lock()
        self._flights: dict[str, Future[Sheet]] = {}
        self._waiting = 0
        self._failed: Bounded[tuple[float, AppError]] = Bounded(1000 * ENTRY)
        self.behind = Behind(self._make_behind)

    def get(self, link: str, sheet: str, client: Client) -> Sheet:
        """Return a sheet of an existing link. AppError where it cannot be made."""
        found = self._files.read(link, sheet)
        if found is None:
            return self._flown(link, sheet, client)
        if not found.is_current:
            self.behind.add(link, (sheet,), BEHIND)
        return found

    def prepare(self, link: str, sheets: Sequence[str]) -> None:
        """Make sheets of a new link soon: its readers come all at once."""
        self.behind.add(link, sheets, 0.0)

    def forget(self, link: str) -> None:
        """Drop the sheets of a link."""
        self._files.drop(link)

    def _flown(self, link: str, sheet: str, client: Client) -> Sheet:
        """Return a sheet being made, by this thread unless another one does it."""
        key = f"{link} {sheet}"
        with self._lock:
            failed = self._failed.get(key)
            if failed is not None and failed[0] > time.monotonic():
                raise failed[1]
            if self._waiting >= self._most_waiting:
                raise busy()
            is_first = key not in self._flights
            flight = self._flights.setdefault(key, Future())
            self._waiting += 1
        try:
            return self._first(link, sheet, client, flight) if is_first else _landed(flight)
        finally:
            with self._lock:
                self._waiting -= 1
                if is_first:
                    del self._flights[key]

    def _first(self, link: str, sheet: str, client: Client, flight: Future[Sheet]) -> Sheet:
        """Make a sheet for all waiting readers, unless another process has made it."""
        kept = partial(self._files.read, link, sheet)
        try:
            with self._files.alone(link, unless=lambda: kept() is not None):
                found = kept()
                for made in self._made(link, (sheet,), client) if found is None else ():
                    found = made
                    flight.set_result(made)  # nobody waits until it is kept
            if found is None:
                raise AppError("internal", "This link could not be prepared.", 500)
        except BaseException as problem:
            if flight.done():
                return flight.result()
            self._remember(f"{link} {sheet}", problem)
            flight.set_exception(problem)
            raise
        if not flight.done():
            flight.set_result(found)
        return found

    def _remember(self, key: str, problem: BaseException) -> None:
        """Remember a failure of the link for a while; its readers would occupy all makers."""
        if isinstance(problem, AppError) and problem.kind in ("timeout", "limitation", "internal"):
            self._failed.keep(key, (time.monotonic() + FAILED_SECONDS, problem), 0)

    def _made(self, link: str, sheets: Sequence[str], client: Client) -> Iterator[Sheet]:
        """Make sheets of a link, and keep each."""
        file = nameless()
        for answer in self._make(link, sheets, client):
            if "data" not in answer:
                continue
            file.write(b64decode(answer["data"]))
            if answer["ends"]:
                yield opened(file, self._files.renderer)
                self._files.keep(file, link, answer["sheet"])
                file = nameless()

    def _make_behind(self, link: str, sheets: Sequence[str]) -> None:
        def left() -> list[str]:
            kept = ((sheet, self._files.read(link, sheet)) for sheet in sheets)
            return [one for one, found in kept if found is None or not found.is_current]

        with self._files.alone(link, unless=lambda: not left()):
            wanted = left()
            for _ in self._made(link, wanted, SERVER) if wanted else ():
                pass


def _landed(flight: Future[Sheet]) -> Sheet:
    """Wait for another thread's sheet. AppError where that takes too long."""
    try:
        return flight.result(WAITING_SECONDS)
    except NotInTime:
        raise busy() from None


def renderer_name(*more: Any) -> str:
    """Return a key of what determines a link's sheets: version, templates, scripts, styles."""
    found = hashlib.sha256(repr(more).encode())
    for folder in (template_folder(), static_folder(), static_folder() / "dist"):
        for path in sorted(folder.glob("*.*")):
            if path.is_file():
                found.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()
