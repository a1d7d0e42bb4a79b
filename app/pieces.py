"""Compress text once, in pieces, and send any of them as one gzip stream.

A piece is a run of deflate blocks that refers to nothing before it, and ends at a byte. So
concatenated pieces, with gzip's head and end, are what compressing the whole would give, but for
some bytes; only the checksum of the whole has to be combined from theirs.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, reduce

from compiler.protocol import packing

LEVEL = 6
"""Compression level."""
CHUNK = 1 << 16
"""Bytes read or sent at a time."""
HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""The head of a gzip stream without metadata."""
LAST = b"\x03\x00"
"""A final, empty deflate block."""
SMALL_WINDOW, SMALL_MEMORY = -12, 5
"""Parameters for short texts: 32 KB of memory for each stream."""

_POLYNOMIAL = 0xEDB88320
_ONE, _BYTE = 1 << 31, 1 << 23
"""x to the power 0 and 8, where the highest bit is the lowest power."""


@dataclass(frozen=True, slots=True)
class Deflated:
    """A piece's compressed size, plain length, CRC and digest."""

    size: int
    length: int
    crc: int
    digest: str


Chunks = Callable[[], Iterator[bytes]]
Part = tuple[Deflated, Chunks]
"""A piece, and a reader of its compressed data."""


def compressed(data: bytes) -> tuple[Deflated, bytes]:
    """Compress data; return the piece and its bytes."""
    packed = packing.deflated(data, LEVEL)
    digest = hashlib.sha256(data).hexdigest()[:24]
    return Deflated(len(packed), len(data), zlib.crc32(data), digest), packed


def part_of(text: str) -> Part:
    """Make a piece of a short text."""
    piece, packed = compressed(text.encode())
    return piece, lambda: iter((packed,))


def tag(parts: Sequence[Part]) -> str:
    """Return a tag that identifies the content of parts."""
    return hashlib.sha256("".join(piece.digest for piece, _ in parts).encode()).hexdigest()[:24]


def zipped_length(parts: Sequence[Part]) -> int:
    """Return the length of `zipped`."""
    return len(HEAD) + sum(piece.size for piece, _ in parts) + len(LAST) + 8


def zipped(parts: Sequence[Part]) -> Iterator[bytes]:
    """Yield one gzip stream of all parts."""
    yield HEAD
    for _, chunks in parts:
        yield from chunks()
    length = plain_length(parts) & 0xFFFFFFFF
    yield LAST + struct.pack("<2I", checksum([piece for piece, _ in parts]), length)


class Zipper:
    """Makes one gzip stream of texts and pieces while it is sent."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(1, zlib.DEFLATED, SMALL_WINDOW, SMALL_MEMORY)
        self._head = HEAD
        self._crc = self._length = 0

    def text(self, data: bytes) -> bytes:
        """Return the stream's next bytes, for a text, flushed so that it can be decoded."""
        head, self._head = self._head, b""
        self._crc = zlib.crc32(data, self._crc)
        self._length += len(data)
        return head + self._packer.compress(data) + self._packer.flush(zlib.Z_FULL_FLUSH)

    def piece(self, piece: Deflated, data: bytes) -> bytes:
        """Return the next bytes, for a piece, behind a text."""
        self._crc = _joined(self._crc, piece.crc, piece.length)
        self._length += piece.length
        return data

    def end(self) -> bytes:
        """Return the last bytes."""
        return LAST + struct.pack("<2I", self._crc, self._length & 0xFFFFFFFF)


def plain_length(parts: Sequence[Part]) -> int:
    """Return the length of `plain`."""
    return sum(piece.length for piece, _ in parts)


def plain(parts: Sequence[Part]) -> Iterator[bytes]:
    """Yield all parts uncompressed, in chunks."""
    for _, chunks in parts:
        yield from unpacked(chunks())


def unpacked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Decompress a piece, at most CHUNK bytes at a time."""
    yield from _inflated(zlib.decompressobj(-zlib.MAX_WBITS), chunks)


def gunzipped(data: bytes) -> Iterator[bytes]:
    """Decompress a gzip stream, at most CHUNK bytes at a time."""
    return _inflated(zlib.decompressobj(16 + zlib.MAX_WBITS), (data,))


def _inflated(unpacker: zlib._Decompress, chunks: Iterable[bytes]) -> Iterator[bytes]:
    for chunk in chunks:
        while chunk:
            data = unpacker.decompress(chunk, CHUNK)
            chunk = unpacker.unconsumed_tail
            if data:
                yield data
    if data := unpacker.flush():
        yield data


def checksum(pieces: Iterable[Deflated]) -> int:
    """Return the CRC-32 of concatenated pieces."""
    return reduce(lambda crc, piece: _joined(crc, piece.crc, piece.length), pieces, 0)


def _joined(first: int, second: int, length: int) -> int:
    """Combine the CRC-32 of two texts, of which the second has so many bytes.

    Appending zeros to the first multiplies its CRC by x**(8*length).
    """
    return _product(_power(length), first) ^ second


@lru_cache(maxsize=10_000)
def _power(length: int) -> int:
    """Return x**(8*length), cached: frequently sent pieces are few."""
    power, square = _ONE, _BYTE
    while length:
        if length & 1:
            power = _product(power, square)
        square = _product(square, square)
        length >>= 1
    return power


def _product(a: int, b: int) -> int:
    """Multiply polynomials over GF(2), modulo CRC-32's."""
    found = 0
    while a:
        if a & _ONE:
            found ^= b
        a = (a << 1) & 0xFFFFFFFF
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
    return found
