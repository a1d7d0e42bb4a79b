"""Sheets: files of pieces, each with what one renderer has made of one link.

A line of JSON says what there is, and the bytes of the pieces follow. A file that says it has more
bytes than it has, or is no sheet, is none: it was cut off, or another version's.
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
    """A file is no sheet."""


class OpenFile:
    """A file that is read by place, by several threads, and closed with the last who has it."""

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
        """A file to read. Raises OSError."""
        return cls(os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return os.fstat(self.handle).st_size

    def chunks(self, at: int, size: int) -> Iterator[bytes]:
        """So many bytes from there on, a little at a time. OSError if it has not got them."""
        while size:
            chunk = os.pread(self.handle, min(CHUNK, size), at)
            if not chunk:
                raise OSError("a file was cut off while it was read")
            yield chunk
            at, size = at + len(chunk), size - len(chunk)

    def write(self, data: bytes) -> None:
        """Add to it. Raises OSError."""
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(self.handle, rest) :]


@dataclass(frozen=True, slots=True)
class Sheet:
    """An open sheet. It stays readable when its file is replaced or removed."""

    file: OpenFile
    start: int
    renderer: str
    about: Mapping[str, Any]
    """What its maker says of it beside its pieces."""
    pieces: Mapping[str, tuple[Deflated, int]]
    """Each with where it begins, behind the first line."""
    is_current: bool = True
    """Whether this renderer has made it, and not an earlier one."""

    def part(self, name: str) -> Part:
        """A piece of it. KeyError where it has none of that name."""
        piece, at = self.pieces[name]
        return piece, partial(self.file.chunks, self.start + at, piece.size)


def written(renderer: str, about: Mapping[str, Any], texts: Mapping[str, bytes]) -> Iterator[bytes]:
    """The bytes of a sheet with these pieces."""
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
    """The sheet in a file. NoSheet if it is none."""
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
