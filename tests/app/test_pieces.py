"""Pieces that were compressed by themselves are one gzip stream, whichever are taken."""

import gzip
import zlib
from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from app.pieces import (
    CHUNK,
    Part,
    checksum,
    compressed,
    part_of,
    plain,
    plain_length,
    tag,
    zipped,
    zipped_length,
)

TEXTS = st.lists(st.binary(max_size=300) | st.binary(max_size=9).map(lambda b: 1000 * b))


def part(data: bytes, chunk: int = 7) -> Part:
    piece, packed = compressed(data)

    def chunks() -> Iterator[bytes]:
        return (packed[at : at + chunk] for at in range(0, len(packed), chunk))

    return piece, chunks


@given(TEXTS)
def test_pieces_behind_each_other_are_one_stream(texts: list[bytes]) -> None:
    parts = [part(text) for text in texts]
    whole = b"".join(texts)
    stream = b"".join(zipped(parts))
    assert len(stream) == zipped_length(parts)
    assert gzip.decompress(stream) == whole
    unpacker = zlib.decompressobj(16 + zlib.MAX_WBITS)
    assert unpacker.decompress(stream) == whole
    assert unpacker.eof, "one member of gzip, as all browsers read it"
    assert not unpacker.unused_data
    assert checksum(piece for piece, _ in parts) == zlib.crc32(whole)
    assert b"".join(plain(parts)) == whole
    assert plain_length(parts) == len(whole)


def test_long_texts_are_unpacked_a_little_at_a_time() -> None:
    pieces = list(plain([part(bytes(40 * CHUNK), chunk=1 << 30)]))
    assert max(map(len, pieces)) <= CHUNK
    assert sum(map(len, pieces)) == 40 * CHUNK


def test_a_tag_says_what_the_parts_say() -> None:
    one, other = part_of("one"), part_of("other")
    assert tag([one, other]) == tag([part_of("one"), part_of("other")])
    assert len({tag([one, other]), tag([other, one]), tag([one]), tag([])}) == 4
