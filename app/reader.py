"""A process that parses long requests on behalf of the server.

    python -m app.reader --with-parent

It reads frames, a length of eight bytes followed by JSON, and answers each by a frame of
`marshal`: the object and its long texts as JSON for workers, or an error.
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
"""Characters above which a text is kept as JSON for workers."""
LENGTH = struct.Struct("<Q")
MOST_ENTRIES = 20_000
"""Entries of a request's lists and objects, together."""
MOST_NESTED = 500
"""Nesting depth of lists and objects that can be parsed at any depth of this process's calls."""


class NoRequest(ValueError):
    """An invalid request; `kind` is that of the error, `status` the answer's."""

    def __init__(self, kind: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status


def parsed(data: bytes) -> dict[str, object]:
    """Parse the object in a request's body. Raises NoRequest."""
    outside = without_texts(data)
    found = entries(outside)
    if found > MOST_ENTRIES:
        message = f"The request has {found} entries; at most {MOST_ENTRIES} are accepted."
        raise NoRequest("usage", message, 413)
    if nested(outside) > MOST_NESTED:
        raise NoRequest("usage", f"The request is nested more than {MOST_NESTED} levels deep.")
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
    """Remove strings from a JSON text, after escaped quotes."""
    without = data.replace(b"\\\\", b"").replace(b'\\"', b"")
    return b"".join(without.split(b'"')[::2])


def entries(outside: bytes) -> int:
    """Estimate the entries of lists and objects in a JSON text without strings."""
    return sum(outside.count(sign) for sign in (b",", b"[", b"{"))


def nested(outside: bytes) -> int:
    """Return the nesting depth of a JSON text without strings."""
    steps = (1 if sign in b"[{" else -1 for sign in re.findall(rb"[\[{\]}]", outside))
    return max(accumulate(steps), default=0)


def serve(frames: IO[bytes], told: IO[bytes]) -> None:
    """Answer frames until the input ends."""
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
        name: _token(value)
        for name, value in body.items()
        if isinstance(value, str) and len(value) > LONG_TEXT
    }
    try:
        return marshal.dumps((body, tokens))
    except ValueError:
        raise NoRequest("usage", "The request is nested too deeply.") from None


def _token(text: str) -> bytes:
    """Return the JSON of a text, as short as it can be."""
    try:
        return json.dumps(text, ensure_ascii=False).encode()
    except UnicodeEncodeError:  # half of a surrogate pair
        return json.dumps(text).encode()


def main() -> None:
    """Read frames until the input ends."""
    if "--with-parent" in sys.argv:
        with suppress(OSError):
            kernel.die_with_parent()
    serve(sys.stdin.buffer, sys.stdout.buffer)


if __name__ == "__main__":
    main()
