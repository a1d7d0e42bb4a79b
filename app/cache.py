"""What is kept in memory up to a number of bytes: anything, and answers, compressed."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from app.compressed_answers import PackedAnswer, merged, packed
from compiler.protocol.kinds import Json

V = TypeVar("V")
ENTRY = 400
"""Bytes of what is kept beside a value: a key of 64 characters, and its place in the order."""
PART = 300
"""Bytes of what is kept beside a part of an answer: what is known of it."""
LONG = 10_000
"""Characters of a text that a key has a hash of."""


class Bounded(Generic[V]):
    """The values that were used last; what they take together is at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[V, int]] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str) -> V | None:
        """The value under a key."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def keep(self, key: str, value: V, size: int) -> None:
        """Keep a value of so many bytes, at the cost of those that were used longest ago.

        What it takes beside the value counts as well: most answers are short.
        """
        size += ENTRY
        if size > self._limit:
            return
        with self._lock:
            if key in self._kept:
                self.bytes -= self._kept.pop(key)[1]
            self._kept[key] = value, size
            self.bytes += size
            while self.bytes > self._limit:
                _, (_, dropped) = self._kept.popitem(last=False)
                self.bytes -= dropped


class AnswerCache:
    """The answers that were used last; what they take together is at most `limit` bytes."""

    def __init__(self, limit: int) -> None:
        self._kept: Bounded[tuple[tuple[bool, PackedAnswer], ...]] = Bounded(limit)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def bytes(self) -> int:
        """What the answers take, compressed."""
        return self._kept.bytes

    def get(self, key: str) -> Json | None:
        """The answer under a key of `cache_key`, with what is in it."""
        parts = self.parts(key)
        return None if parts is None else merged(parts)

    def parts(self, key: str) -> list[Json] | None:
        """The same in the parts in which it came, packed."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        *before, last = ({"ok": ok, "packed": one} for ok, one in kept)
        return [*({**one, "partial": True} for one in before), last]

    def keep(self, key: str, parts: Sequence[Json]) -> None:
        """Keep an answer, at the cost of those that were used longest ago."""
        kept = tuple((bool(part.get("ok")), packed(part)) for part in parts)
        self._kept.keep(key, kept, sum(one.piece.size + PART for _, one in kept))


def cache_key(request: Json) -> str:
    """The same for requests that mean the same. Of long texts it takes a hash: that is quicker."""
    short = {name: _short(value) for name, value in request.items()}
    return _hash(json.dumps(short, sort_keys=True, separators=(",", ":")))


def _short(value: Any) -> Any:
    return [_hash(value)] if isinstance(value, str) and len(value) > LONG else value


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
