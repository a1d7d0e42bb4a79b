"""Caches in memory, bounded in bytes: of any values, and of compressed answers."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Generic, TypeVar

from app.compressed_answers import PackedAnswer, merged, packed
from app.long_texts import TextToken
from compiler.protocol.kinds import Json

V = TypeVar("V")
ENTRY = 400
"""Bytes of overhead per entry: a key of 64 characters, and its place in the order."""
PART = 300
"""Bytes of overhead per part of an answer."""
LONG = 10_000
"""Characters above which a text is hashed in a key."""


class Bounded(Generic[V]):
    """A cache of the last used values, of at most `limit` bytes together."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[V, int]] = OrderedDict()
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: str) -> V | None:
        """Return the value under a key."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]

    def drop(self, key: str) -> None:
        """Drop the value under a key."""
        with self._lock:
            _, size = self._kept.pop(key, (None, 0))
            self.bytes -= size

    def keep(self, key: str, value: V, size: int) -> None:
        """Keep a value of so many bytes, evicting the least recently used.

        The overhead counts as well: most answers are short.
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
    """A cache of the last used answers, of at most `limit` bytes together."""

    def __init__(self, limit: int) -> None:
        self._kept: Bounded[tuple[tuple[bool, PackedAnswer], ...]] = Bounded(limit)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def bytes(self) -> int:
        """Return the bytes of the answers, compressed."""
        return self._kept.bytes

    def get(self, key: str) -> Json | None:
        """Return the answer under a key of `cache_key`, unpacked."""
        parts = self.parts(key)
        return None if parts is None else merged(parts)

    def parts(self, key: str) -> list[Json] | None:
        """Return an answer in its parts, packed."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        *before, last = ({"ok": ok, "packed": one} for ok, one in kept)
        return [*({**one, "partial": True} for one in before), last]

    def keep(self, key: str, parts: Sequence[Json]) -> None:
        """Keep an answer, evicting the least recently used."""
        kept = tuple((bool(part.get("ok")), packed(part)) for part in parts)
        self._kept.keep(key, kept, sum(one.piece.size + PART for _, one in kept))


def cache_key(request: Json) -> str:
    """Return a key equal for equivalent requests. Long texts are hashed, which is faster."""
    short = {name: _short(value) for name, value in request.items()}
    return _hash(json.dumps(short, sort_keys=True, separators=(",", ":")))


def _short(value: Any) -> Any:
    if isinstance(value, TextToken):
        return [hashlib.sha256(value.json).hexdigest()]
    return [_hash(value)] if isinstance(value, str) and len(value) > LONG else value


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
