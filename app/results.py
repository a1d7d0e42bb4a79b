"""Keep results of runs for a while, so that a page can fetch any part.

They are files: written as they come from a worker, and sent in chunks. A file has the results of
one run, one after another, each in Futhark's binary format. It is deleted with its last reference.
"""

from __future__ import annotations

import math
import os
import secrets
import struct
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.cache import Bounded
from app.errors import AppError
from app.sheets import OpenFile
from compiler.protocol.kinds import Json
from compiler.protocol.packing import DATA
from compiler.sandbox.scratch import Scratch

_HEAD = 7
"""Bytes before the sizes: `b`, version, rank, a type of 4 bytes."""
CHUNK = 1 << 18
"""Bytes read and sent at a time."""
LONGEST = 1 << 62
"""Elements of a dimension above which a result is no array."""
MOST_ELEMENTS = 1 << 22
"""Elements of a part sent at once."""


class SpooledResults:
    """A file with the results of a run."""

    def __init__(self, folder: str, sizes: Sequence[int | None]) -> None:
        """Begin one; without room for it, `file` is None."""
        self.sizes = tuple(sizes)
        self._path = Path(folder) / secrets.token_urlsafe(16)
        self._writing: OpenFile | None = None
        with suppress(OSError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self._writing = OpenFile(os.open(self._path, flags, 0o600))

    def __del__(self) -> None:
        with suppress(OSError):
            self._path.unlink(missing_ok=True)

    @property
    def size(self) -> int:
        """Return the bytes of all results."""
        return sum(size or 0 for size in self.sizes)

    def write(self, data: bytes) -> None:
        """Append data; on a full disk the results are not kept."""
        if self._writing is not None:
            try:
                self._writing.write(data)
            except OSError:
                self._writing = None
                os.truncate(self._path, 0)

    def end(self) -> None:
        """Close it; it is complete."""
        self._writing = None

    def open(self) -> OpenFile:
        """Open it for reading. Raises OSError."""
        return OpenFile.of(self._path)


@dataclass(frozen=True, slots=True)
class ResultPart:
    """A part of a result: its length, and its bytes in chunks."""

    length: int
    chunks: Iterator[bytes]


class Results:
    """The store, bounded in bytes; the least recently used are evicted."""

    def __init__(self, limit: int) -> None:
        self._kept: Bounded[SpooledResults] = Bounded(limit)
        self._scratch = Scratch()
        self.most = limit // 4
        """Bytes of the results of one run, so that several runs fit."""

    @property
    def folder(self) -> str:
        """Return the folder of the files."""
        return self._scratch.path

    def close(self) -> None:
        """Delete all."""
        self._scratch.remove()

    @staticmethod
    def name() -> str:
        """Return a key for the results of a run, which nobody guesses."""
        return secrets.token_urlsafe(16)

    def take(self, name: str, answer: Json) -> Json:
        """Keep the results that came with a run's answer under a key."""
        data = answer.get(DATA)
        if not isinstance(data, SpooledResults):
            return answer
        if name:
            self._kept.keep(name, data, data.size)
        return {key: value for key, value in answer.items() if key != DATA}

    def part(self, name: str, number: int, part: str) -> ResultPart:
        """Return a part of a result in Futhark's binary format: for each dimension `from:to:step`.

        AppError for an unknown or evicted result, and for a malformed part.
        """
        results = self._kept.get(name)
        if results is None or number >= len(results.sizes):
            raise _gone()
        size = results.sizes[number]
        if size is None:
            raise AppError("usage", "This result is too large to store.", 404)
        start = sum(one or 0 for one in results.sizes[:number])
        try:
            file = results.open()
            if file.size < start + size:
                raise _gone()
            if part:
                return _cut(file, start, size, part)
        except OSError:
            raise _gone() from None
        return ResultPart(size, file.chunks(start, size))


def _gone() -> AppError:
    return AppError(
        "usage", "This result is no longer stored. Run the program again.", 404, "Run it again."
    )


def _cut(file: OpenFile, start: int, size: int, part: str) -> ResultPart:
    """Cut a part of an array. AppError for a malformed one. Raises OSError."""
    head = _read(file, start, min(size, _HEAD))
    rank = head[2] if len(head) == _HEAD else 0
    at = _HEAD + 8 * rank
    if size < at:
        raise _gone()
    shape = struct.unpack(f"<{rank}Q", _read(file, start + _HEAD, 8 * rank))
    count = math.prod(shape)
    width = (size - at) // max(1, count)
    if count * width != size - at or (count and not width) or max(shape, default=0) > LONGEST:
        raise _gone()
    cuts = [range(n)[cut] for n, cut in zip(shape, _slices(part, rank), strict=True)]
    elements = math.prod(map(len, cuts))
    if elements > MOST_ELEMENTS:
        raise AppError("usage", f"At most {MOST_ELEMENTS} elements are sent at once.", 413)
    sizes = struct.pack(f"<{rank}Q", *map(len, cuts))

    def chunks() -> Iterator[bytes]:
        yield head + sizes
        if elements:
            yield from _cells(file, start + at, shape, cuts, width)

    return ResultPart(at + elements * width, chunks())


def _cells(
    file: OpenFile, at: int, shape: Sequence[int], cuts: Sequence[range], width: int
) -> Iterator[bytes]:
    """Yield the chosen cells of an array at an offset, reading about CHUNK bytes at a time."""
    if not shape:
        yield _read(file, at, width)
        return
    row = math.prod(shape[1:]) * width
    rows, inner = cuts[0], tuple(slice(cut.start, cut.stop, cut.step) for cut in cuts[1:])
    if row > CHUNK:
        for k in rows:
            yield from _cells(file, at + k * row, shape[1:], cuts[1:], width)
        return
    together = max(1, CHUNK // (row * rows.step))
    for k in range(0, len(rows), together):
        some = rows[k : k + together]
        data = _read(file, at + some[0] * row, (some[-1] + 1 - some[0]) * row)
        cells = np.frombuffer(data, f"V{width}").reshape(-1, *shape[1:])
        yield cells[(slice(None, None, rows.step), *inner)].tobytes()


def _read(file: OpenFile, at: int, size: int) -> bytes:
    return b"".join(file.chunks(at, size))


def _slices(part: str, rank: int) -> tuple[slice, ...]:
    """Parse a part: a slice for each dimension."""
    pieces = part.split(",")
    try:
        cuts = [slice(*(int(n) if n else None for n in piece.split(":"))) for piece in pieces]
        negative = any(n < 0 for cut in cuts for n in (cut.start, cut.stop, cut.step) if n)
        if negative or len(cuts) > rank or any(cut.step == 0 for cut in cuts):
            raise ValueError
    except (TypeError, ValueError):
        message = f"`part` must be `from:to:step`, not negative, for up to {rank} dimensions."
        raise AppError("usage", message) from None
    return (*cuts, *(slice(None) for _ in range(rank - len(cuts))))
