"""Sheets: files of pieces, each made by one renderer from one link.

A line of JSON describes the pieces, and their bytes follow. A file with fewer bytes than described,
or malformed, is ignored: it was cut off, or is another version's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from app.pieces import CHUNK, Deflated, Part, compressed

FORMAT = 1
LONGEST_HEAD = 1 << 20
"""Bytes of the first line."""


class NoSheet(Exception):
    """A file is not a sheet."""


class OpenFile:
    """A file read at offsets by several threads, and closed with its last reference."""

    def __init__(self, handle: int) -> None:
        self.handle = handle

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Close it now."""
        handle, self.handle = self.handle, -1
        if handle >= 0:
            os.close(handle)

    @classmethod
    def of(cls, path: Path) -> OpenFile:
        """Open a file for reading. Raises OSError."""
        return cls(os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    @property
    def size(self) -> int:
        """Return its size in bytes."""
        return os.fstat(self.handle).st_size

    def chunks(self, at: int, size: int) -> Iterator[bytes]:
        """Yield so many bytes from an offset, in chunks. OSError if the file is too short."""
        while size:
            chunk = os.pread(self.handle, min(CHUNK, size), at)
            if not chunk:
                raise OSError("a file was cut off while it was read")
            yield chunk
            at, size = at + len(chunk), size - len(chunk)

    def write(self, data: bytes) -> None:
        """Append data. Raises OSError."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.handle, rest) :]


@dataclass(frozen=True, slots=True)
class Sheet:
    """An open sheet, readable even after its file is replaced or removed."""

    file: OpenFile
    start: int
    renderer: str
    about: Mapping[str, Any]
    """Metadata from its maker."""
    pieces: Mapping[str, tuple[Deflated, int]]
    """Pieces with their offsets behind the first line."""
    is_current: bool = True
    """False if an earlier renderer has made it."""

    def part(self, name: str) -> Part:
        """Return a piece. KeyError for an unknown one."""
        piece, at = self.pieces[name]
        return piece, partial(self.file.chunks, self.start + at, piece.size)


def written(renderer: str, about: Mapping[str, Any], texts: Mapping[str, bytes]) -> Iterator[bytes]:
    """Yield the bytes of a sheet with these pieces."""
    at, told, all_packed = 0, {}, []
    for name, text in texts.items():
        piece, packed = compressed(text)
        told[name] = [at, piece.size, piece.length, piece.crc, piece.digest]
        all_packed.append(packed)
        at += piece.size
    head = {"format": FORMAT, "renderer": renderer, "about": about, "pieces": told}
    yield json.dumps(head, separators=(",", ":")).encode() + b"\n"
    yield from all_packed


def opened(file: OpenFile, renderer: str) -> Sheet:
    """Open the sheet in a file. NoSheet if it is malformed."""
    try:
        return _opened(file, renderer)
    except (ValueError, TypeError, LookupError, AttributeError, OSError) as error:
        raise NoSheet from error


def _opened(file: OpenFile, renderer: str) -> Sheet:
    size, head = file.size, b""
    for chunk in file.chunks(0, min(size, LONGEST_HEAD)):
        head += chunk
        if b"\n" in chunk:
            break
    head, end_of_line, _ = head.partition(b"\n")
    told = json.loads(head)
    if not end_of_line or told["format"] != FORMAT:
        raise ValueError("it is another version's")
    pieces = {name: (Deflated(*rest), begin) for name, (begin, *rest) in told["pieces"].items()}
    end = max((begin + piece.size for piece, begin in pieces.values()), default=0)
    if size != len(head) + 1 + end:
        raise ValueError("it was cut off")
    is_current = told["renderer"] == renderer
    return Sheet(file, len(head) + 1, told["renderer"], told["about"], pieces, is_current)
