"""Answers kept in memory, compressed, up to a number of bytes."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from typing import Any

import zstandard

Answer = dict[str, Any]


class AnswerCache:
    """The answers that were used last; what they take together is at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, bytes] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str) -> Answer | None:
        """The answer under a key of `cache_key`."""
        with self._lock:
            packed = self._kept.get(key)
            if packed is None:
                return None
            self._kept.move_to_end(key)
        answer: Answer = json.loads(zstandard.ZstdDecompressor().decompress(packed))
        return answer

    def keep(self, key: str, answer: Answer) -> None:
        """Keep an answer, at the cost of those that were used longest ago."""
        text = json.dumps(answer, separators=(",", ":")).encode()
        packed = zstandard.ZstdCompressor(level=1).compress(text)
        if len(packed) > self._limit:
            return
        with self._lock:
            self.bytes += len(packed) - len(self._kept.pop(key, b""))
            self._kept[key] = packed
            while self.bytes > self._limit:
                _, dropped = self._kept.popitem(last=False)
                self.bytes -= len(dropped)


def cache_key(request: Answer) -> str:
    """The same for requests that mean the same."""
    text = json.dumps(request, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
