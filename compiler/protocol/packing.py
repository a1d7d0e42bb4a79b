"""Answers whose JSON is compressed where it is made: who hands them on need not read them.

Of a request with `"packed": true` a long answer that is `ok` is told by a line with `packed`: how
many bytes follow it (`size`), and what they are without compression (`length`, and `crc`, a
CRC-32). These bytes are the answer as JSON in UTF-8, as deflate blocks that refer to nothing before
them and end at a byte. In the line only `ok` and `partial` are left of it.
"""

from __future__ import annotations

import json
import zlib

from compiler.protocol.kinds import Json

LEAST = 4_000
"""Bytes of JSON from which on an answer is packed."""
LEVEL = 1
"""Of compression: an answer is sent once or a few times, and somebody waits for it."""
KEPT = ("ok", "partial")


def deflated(data: bytes, level: int) -> bytes:
    """Deflate blocks that can stand behind and before others."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush(zlib.Z_FULL_FLUSH)


def line(told: Json) -> bytes:
    """An answer as a line."""
    return json.dumps(told, separators=(",", ":")).encode() + b"\n"


def packed(told: Json) -> bytes:
    """An answer, or what a batch tells of one, as a line, and as bytes behind it if it is long."""
    inside = "request" in told
    answer = told["answer"] if inside else {k: v for k, v in told.items() if k != "id"}
    data = json.dumps(answer, separators=(",", ":")).encode()
    if len(data) < LEAST or not answer.get("ok"):
        return line(told)
    left = {name: answer[name] for name in KEPT if name in answer}
    head = {**told, "answer": left} if inside else {"id": told["id"], **left}
    content = deflated(data, LEVEL)
    size = {"size": len(content), "length": len(data), "crc": zlib.crc32(data)}
    return line({**head, "packed": size}) + content
