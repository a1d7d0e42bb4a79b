"""Answers to whole batches, as they are sent: those who ask the same at once get the same bytes.

A class that follows a lecture, or that opens one link, asks hundreds of times what is known. To put
an answer together from what is kept takes a hundred times as long as to send it.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable

from app.cache import Bounded


class PackedBatches:
    """The streams of events that were asked for last; together at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._kept: Bounded[bytes] = Bounded(limit)
        self._making = threading.Lock()

    def get(self, key: str, make: Callable[[], str | None]) -> bytes | None:
        """The events under a key, as gzip, or what `make` makes; None where it makes nothing.

        One is made at a time, so that those who ask together have it made once.
        """
        found = self._kept.get(key)
        if found is not None:
            return found
        with self._making:
            found = self._kept.get(key)
            text = make() if found is None else None
            if text is not None:
                found = gzip.compress(text.encode("utf-8", "replace"), 5, mtime=0)
                self._kept.keep(key, found, len(found))
        return found
