"""A process that parses long requests, so that the one which serves does not.

    python -m app.reader --with-parent

It reads frames, a length of eight bytes and so many of JSON, and answers each by a frame of
`marshal`: the object and its long texts as JSON, which workers are sent, or why it is none.
"""

from __future__ import annotations

import json
import marshal
import re
import struct
import sys
from contextlib import suppress
from itertools import accumulate
from typing import IO

from compiler.sandbox import kernel

LONG_TEXT = 10_000
"""Characters of a text that is as JSON already when a worker is sent it."""
LENGTH = struct.Struct("<Q")
MOST_ENTRIES = 20_000
"""Of a request's lists and objects, together."""
MOST_NESTED = 500
"""Lists and objects within each other: what can be read at any depth of this process's calls."""


class NoRequest(ValueError):
    """What came is no request; `kind` is that of the error, `status` the answer's."""

    def __init__(self, kind: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status


def parsed(data: bytes) -> dict[str, object]:
    """The object in a request's body. Raises NoRequest."""
    outside = without_texts(data)
    found = entries(outside)
    if found > MOST_ENTRIES:
        message = f"The request has {found} entries; at most {MOST_ENTRIES} are taken."
        raise NoRequest("usage", message, 413)
    if nested(outside) > MOST_NESTED:
        raise NoRequest("usage", f"The request nests deeper than {MOST_NESTED} levels.")
    try:
        body = json.loads(data.decode())
    except UnicodeDecodeError as error:
        message = f"The request is not valid UTF-8 at byte {error.start}."
        raise NoRequest("syntax", message) from None
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise NoRequest("usage", "The request's body must be a JSON object.")
    return body


def without_texts(data: bytes) -> bytes:
    """A JSON text without what stands between quotation marks; before that without escaped ones."""
    without = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(without.split(b'"')[::2])


def entries(outside: bytes) -> int:
    """How many entries the lists and objects of a JSON text without texts have, about."""
    return sum(outside.count(sign) for sign in (b",", b"[", b"{"))


def nested(outside: bytes) -> int:
    """How many lists and objects of a JSON text without texts are within each other at most."""
    steps = (1 if sign in b"[{" else -1 for sign in re.findall(rb"[\[{\]}]", outside))
    return max(accumulate(steps), default=0)


def serve(frames: IO[bytes], told: IO[bytes]) -> None:
    """Answer frames until there are no more."""
    while len(head := frames.read(LENGTH.size)) == LENGTH.size:
        (length,) = LENGTH.unpack(head)
        try:
            answer = _packed(parsed(frames.read(length)))
        except NoRequest as error:
            answer = marshal.dumps((error.kind, error.message, error.status))
        told.write(LENGTH.pack(len(answer)) + answer)
        told.flush()


def _packed(body: dict[str, object]) -> bytes:
    tokens = {
        name: json.dumps(value).encode()
        for name, value in body.items()
        if isinstance(value, str) and len(value) > LONG_TEXT
    }
    try:
        return marshal.dumps((body, tokens))
    except ValueError:
        raise NoRequest("usage", "The request nests too deeply.") from None


def main() -> None:
    """Read frames until the input ends."""
    if "--with-parent" in sys.argv:
        with suppress(OSError):
            kernel.die_with_parent()
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
