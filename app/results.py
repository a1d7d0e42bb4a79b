"""Keep results of runs for a while, so that a page can fetch any part."""

from __future__ import annotations

import math
import secrets
import struct
from base64 import b64decode
from collections.abc import Sequence

import numpy as np

from app.cache import Bounded
from app.errors import AppError
from compiler.protocol.kinds import Json

_HEAD = 7
MOST_ELEMENTS = 1 << 22
"""Elements of a part sent at once."""


class Results:
    """The store: in memory, bounded; the least recently used are evicted."""

    def __init__(self, limit: int) -> None:
        self._kept: Bounded[Sequence[bytes | None]] = Bounded(limit)
        self.most = limit // 4
        """Bytes of the results of one run, so that several runs fit."""

    def take(self, answer: Json) -> Json:
        """Replace the results in a run's answer by a key."""
        data = answer.get("data")
        if data is None:
            return answer
        rest = {name: value for name, value in answer.items() if name != "data"}
        values = [None if one is None else b64decode(one) for one in data]
        if not any(values):
            return rest
        name = secrets.token_urlsafe(16)
        self._kept.keep(name, values, sum(len(one or b"") for one in values))
        return {**rest, "kept": name}

    def part(self, name: str, number: int, part: str) -> bytes:
        """Return a part of a result in Futhark's binary format: for each dimension `from:to:step`.

        AppError for an unknown or evicted result, and for a malformed part.
        """
        values = self._kept.get(name)
        if values is None or number >= len(values):
            raise AppError("usage", "This result is not kept any more.", 404, "Run it again.")
        data = values[number]
        if data is None:
            raise AppError("usage", "This result is too large to be kept.", 404)
        if not part:
            return data
        return _cut(data, part)


def _cut(data: bytes, part: str) -> bytes:
    """Cut a part of an array in the binary format: `b`, version, rank, a type of 4 bytes, sizes."""
    rank = data[2]
    start = _HEAD + 8 * rank
    shape = struct.unpack_from(f"<{rank}Q", data, _HEAD)
    width = (len(data) - start) // max(1, math.prod(shape))
    cells = np.frombuffer(data, f"V{max(1, width)}", math.prod(shape), start).reshape(shape)
    found = cells[_slices(part, rank)]
    if found.size > MOST_ELEMENTS:
        raise AppError("usage", f"At most {MOST_ELEMENTS} elements are sent at once.", 413)
    return data[:_HEAD] + struct.pack(f"<{rank}Q", *found.shape) + found.tobytes()


def _slices(part: str, rank: int) -> tuple[slice, ...]:
    pieces = part.split(",")
    try:
        cuts = [slice(*(int(n) if n else None for n in piece.split(":"))) for piece in pieces]
        negative = any(n < 0 for cut in cuts for n in (cut.start, cut.stop, cut.step) if n)
        if negative or len(cuts) > rank or any(cut.step == 0 for cut in cuts):
            raise ValueError
    except (TypeError, ValueError):
        message = f"`part` has `from:to:step`, not negative, for up to {rank} dimensions."
        raise AppError("usage", message) from None
    return tuple(cuts)
