"""Compress long answers where they are made, so that servers forward them without parsing.

For a request with `"packed": true` a long answer that is `ok` begins with a line with `packed`: how
many bytes follow it (`size`), and their length and CRC-32 without compression (`length`,
`crc`). These bytes are the answer as JSON in UTF-8, as deflate blocks that refer to nothing before
them and end at a byte. In the line only `ok` and `partial` are left of it.

The results of a run (`data`) follow these bytes as they are, one after another: instead of them the
line has their sizes.
"""

from __future__ import annotations

import json
import zlib
from base64 import b64decode

from compiler.protocol.kinds import Json

LEAST = 4_000
"""Bytes of JSON from which on an answer is compressed."""
LEVEL = 1
"""Compression level: low, since an answer is sent a few times at most."""
KEPT = ("ok", "partial")
DATA = "data"
"""The field of a run's answer with its results."""


def deflated(data: bytes, level: int) -> bytes:
    """Compress into deflate blocks that can be concatenated with others."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush(zlib.Z_FULL_FLUSH)


def line(told: Json) -> bytes:
    """Serialise an answer as a line."""
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"


def packed(told: Json) -> bytes:
    """Serialise an answer, or a batch's part, as a line, followed by compressed bytes if long."""
    inside = "request" in told
    answer = told["answer"] if inside else {k: v for k, v in told.items() if k not in ("id", DATA)}
    results = [None if one is None else b64decode(one) for one in told.get(DATA, ())]
    data = json.dumps(answer, separators=(",", ":")).encode()
    if not answer.get("ok") or (len(data) < LEAST and not any(results)):
        return line(told)
    left = {name: answer[name] for name in KEPT if name in answer}
    head = {**told, "answer": left} if inside else {"id": told["id"], **left}
    content = deflated(data, LEVEL)
    size = {"size": len(content), "length": len(data), "crc": zlib.crc32(data)}
    if not any(results):
        return line({**head, "packed": size}) + content
    sizes = [None if one is None else len(one) for one in results]
    told_sizes = line({**head, "packed": size, DATA: sizes})
    return b"".join((told_sizes, content, *(one for one in results if one is not None)))
