"""Text that is compressed once, in pieces, and sent as one gzip stream of any of them.

A piece is a run of deflate blocks that refers to nothing before it, and ends at a byte. So pieces
behind each other, with gzip's head and end around them, are what compressing the whole would give,
but for some bytes; only the checksum of the whole has to be worked out from theirs.
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
"""Of compression."""
CHUNK = 1 << 16
"""Bytes that are read, or sent, at a time."""
HEAD = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff"
"""Of a gzip stream that says nothing of itself."""
LAST = b"\x03\x00"
"""A last deflate block, with nothing in it."""
SMALL_WINDOW, SMALL_MEMORY = -12, 5
"""For short texts: 32 KB for each stream that is being sent."""

_POLYNOMIAL = 0xEDB88320
_ONE, _BYTE = 1 << 31, 1 << 23
"""x to the power 0 and 8, where the highest bit is the lowest power."""


@dataclass(frozen=True, slots=True)
class Deflated:
    """What is known of a piece: how many bytes it has, compressed and not, and what they are."""

    size: int
    length: int
    crc: int
    digest: str


Chunks = Callable[[], Iterator[bytes]]
Part = tuple[Deflated, Chunks]
"""A piece, and what reads it, compressed."""


def compressed(data: bytes) -> tuple[Deflated, bytes]:
    """A piece, and its bytes."""
    packed = packing.deflated(data, LEVEL)
    digest = hashlib.sha256(data).hexdigest()[:24]
    return Deflated(len(packed), len(data), zlib.crc32(data), digest), packed


def part_of(text: str) -> Part:
    """A piece of something short, that is made now."""
    piece, packed = compressed(text.encode())
    return piece, lambda: iter((packed,))


def tag(parts: Sequence[Part]) -> str:
    """The same for parts that say the same, and for no others."""
    return hashlib.sha256("".join(piece.digest for piece, _ in parts).encode()).hexdigest()[:24]


def zipped_length(parts: Sequence[Part]) -> int:
    """Bytes of `zipped`."""
    return len(HEAD) + sum(piece.size for piece, _ in parts) + len(LAST) + 8


def zipped(parts: Sequence[Part]) -> Iterator[bytes]:
    """One gzip stream of all parts."""
    yield HEAD
    for _, chunks in parts:
        yield from chunks()
    length = plain_length(parts) & 0xFFFFFFFF
    yield LAST + struct.pack("<2I", checksum([piece for piece, _ in parts]), length)


class Zipper:
    """One gzip stream that is made while it is sent, of texts, and of pieces that are there."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(1, zlib.DEFLATED, SMALL_WINDOW, SMALL_MEMORY)
        self._head = HEAD
        self._crc = self._length = 0

    def text(self, data: bytes) -> bytes:
        """The next bytes of the stream, for a text; whoever reads them can read all of it."""
        head, self._head = self._head, b""
        self._crc = zlib.crc32(data, self._crc)
        self._length += len(data)
        return head + self._packer.compress(data) + self._packer.flush(zlib.Z_FULL_FLUSH)

    def piece(self, piece: Deflated, data: bytes) -> bytes:
        """The next bytes, for a piece, behind a text."""
        self._crc = _joined(self._crc, piece.crc, piece.length)
        self._length += piece.length
        return data

    def end(self) -> bytes:
        """The last bytes."""
        return LAST + struct.pack("<2I", self._crc, self._length & 0xFFFFFFFF)


def plain_length(parts: Sequence[Part]) -> int:
    """Bytes of `plain`."""
    return sum(piece.length for piece, _ in parts)


def plain(parts: Sequence[Part]) -> Iterator[bytes]:
    """All parts as they were before they were compressed, a little at a time."""
    for _, chunks in parts:
        yield from unpacked(chunks())


def unpacked(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """A piece as it was before it was compressed, at most CHUNK bytes at a time."""
    unpacker = zlib.decompressobj(-zlib.MAX_WBITS)
    for chunk in chunks:
        while chunk:
            data = unpacker.decompress(chunk, CHUNK)
            chunk = unpacker.unconsumed_tail
            if data:
                yield data
    if data := unpacker.flush():
        yield data


def checksum(pieces: Iterable[Deflated]) -> int:
    """The CRC-32 of pieces behind each other."""
    return reduce(lambda crc, piece: _joined(crc, piece.crc, piece.length), pieces, 0)


def _joined(first: int, second: int, length: int) -> int:
    """The CRC-32 of two texts, of which the second has so many bytes.

    That of the first is one of a text with as many zeros behind it: a product with x**(8*length).
    """
    return _product(_power(length), first) ^ second


@lru_cache(maxsize=10_000)
def _power(length: int) -> int:
    """x**(8*length). Pieces are few that are sent often."""
    power, square = _ONE, _BYTE
    while length:
        if length & 1:
            power = _product(power, square)
        square = _product(square, square)
        length >>= 1
    return power


def _product(a: int, b: int) -> int:
    """Of polynomials over two elements, modulo that of CRC-32."""
    found = 0
    while a:
        if a & _ONE:
            found ^= b
        a = (a << 1) & 0xFFFFFFFF
        b = (b >> 1) ^ (_POLYNOMIAL if b & 1 else 0)
    return found
