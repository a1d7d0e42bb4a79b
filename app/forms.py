"""What readers of a link get, made once and out of this process: sheets, kept as files.

A link's content does not change, so that neither does what is made of it by one renderer: these
templates, this version, these style sheets. A sheet is made when its link is, or (when it was
dropped for its size) for its first reader, while others wait for that one, in all processes that
share the folder. After an upgrade readers get what the renderer before made of it, and it is made
anew behind them. What cannot be kept, because the disk is full or may not be written, is shown to
those who wait for it.
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
from app.makers import busy
from app.paths import static_folder, template_folder
from app.sheet_files import SheetFiles, nameless
from app.sheets import Sheet, opened
from compiler.protocol.kinds import Json

log = logging.getLogger(__name__)

BEHIND = 1.0
"""Seconds after which a link is made anew: readers come all at once, and are answered first."""
FAILED_SECONDS = 30.0
"""Within which what could not be made is not tried again."""
WAITING_SECONDS = 60.0
"""How long a reader waits for what another one has made."""
SERVER = Client("the server")

Make = Callable[[str, Sequence[str], Client], Iterator[Json]]
"""The answers of a maker about sheets of a link (`app/maker.py`). AppError where there are none."""


class Forms:
    """The store."""

    def __init__(self, files: SheetFiles, make: Make, waiting: int) -> None:
        """So many readers may wait."""
        self._most_waiting = waiting
        self._files = files
        self._make = make
        self._lock = threading.Lock()
        self._flights: dict[str, Future[Sheet]] = {}
        self._waiting = 0
        self._failed: Bounded[tuple[float, AppError]] = Bounded(1000 * ENTRY)
        self.behind = Behind(self._make_behind)

    def get(self, link: str, sheet: str, client: Client) -> Sheet:
        """A sheet of a link that is there. AppError where it cannot be made."""
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
        """Drop what is kept of a link."""
        self._files.drop(link)

    def _flown(self, link: str, sheet: str, client: Client) -> Sheet:
        """What is made now, by this thread if by no other."""
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
        """Make a sheet for all who wait for it, or find that another process has made it."""
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
        """Keep a failure that is the link's own for a while: its readers would hold all makers."""
        if isinstance(problem, AppError) and problem.kind in ("timeout", "limitation", "internal"):
            self._failed.keep(key, (time.monotonic() + FAILED_SECONDS, problem), 0)

    def _made(self, link: str, sheets: Sequence[str], client: Client) -> Iterator[Sheet]:
        """Sheets of a link, each when it is made; then it is kept."""
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
    """What another thread makes. AppError where that takes too long."""
    try:
        return flight.result(WAITING_SECONDS)
    except NotInTime:
        raise busy() from None


def renderer_name(*more: Any) -> str:
    """The same for all that makes the same of a link: version, templates, scripts, styles."""
    found = hashlib.sha256(repr(more).encode())
    for folder in (template_folder(), static_folder(), static_folder() / "dist"):
        for path in sorted(folder.glob("*.*")):
            if path.is_file():
                found.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()
