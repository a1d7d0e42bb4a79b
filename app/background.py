"""Background work, one piece after the other, in a thread that ends when there is none."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from app.errors import AppError

log = logging.getLogger(__name__)

MOST = 1000
"""Links that may wait to be made; further ones are left to their first readers."""


class Behind:
    """Makes sheets of links in the background, earliest due first. Failures are logged."""

    def __init__(self, make: Callable[[str, Sequence[str]], None]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._due: dict[tuple[str, str], float] = {}
        self._runs = False

    def __len__(self) -> int:
        return len(self._due)

    def add(self, link: str, sheets: Sequence[str], seconds: float) -> None:
        """Schedule sheets of a link in so many seconds, unless they are scheduled already."""
        with self._lock:
            for sheet in sheets:
                if len(self._due) < MOST:
                    self._due.setdefault((link, sheet), time.monotonic() + seconds)
            if self._due and not self._runs:
                self._runs = True
                threading.Thread(target=self._work, name="behind", daemon=True).start()

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._due:
                    self._runs = False
                    return
                (link, _), due = min(self._due.items(), key=lambda one: one[1])
            if (left := due - time.monotonic()) > 0:
                time.sleep(left)
            with self._lock:
                sheets = [sheet for name, sheet in self._due if name == link]
            try:
                self._make(link, sheets)
            except Exception as error:
                is_busy = isinstance(error, AppError) and error.kind == "busy"
                level = logging.INFO if is_busy else logging.WARNING
                log.log(level, "the link %s cannot be prepared: %s", link, error)
            finally:
                with self._lock:
                    for sheet in sheets:
                        self._due.pop((link, sheet), None)
