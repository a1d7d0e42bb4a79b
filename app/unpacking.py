"""Pack states for the database, and unpack them for readers.

States of format 1 are read for ever. From states made before the first release only the program
remains, with a message that says so.
"""

from __future__ import annotations

import json

import zstandard

from compiler.protocol.kinds import Json

State = Json
FIELDS = frozenset({"version", "source"})
"""Fields that every state has."""
DAMAGED = (zstandard.ZstdError, ValueError, TypeError, LookupError, AttributeError)
"""Exceptions raised for a damaged row."""
LONGEST = 64
"""Characters of an id."""
PROGRAM = ("format", "version", "made", "source", "files", "main")
"""Fields kept of a state that was made before the first release."""
BEFORE_RELEASE = (
    "This link was made before the first release, so its results can no longer be read."
)
COMPILE_ANEW = "Its program is complete: open it and share it again."


def packed(state: State) -> bytes:
    """Pack a state for storage."""
    text = json.dumps(state, separators=(",", ":"))
    return zstandard.ZstdCompressor(level=10, write_checksum=True).compress(text.encode())


def is_intact(content: object) -> bool:
    """Return True if these bytes unpack to an object, without keeping it in memory.

    Rows of earlier versions have no checksum, so that some damage is found by readers alone.
    """
    if not isinstance(content, bytes):
        return False
    first = last = b""
    try:
        for chunk in zstandard.ZstdDecompressor().read_to_iter(content):
            first, last = first or chunk[:1], chunk[-1:] or last
    except zstandard.ZstdError:
        return False
    return first == b"{" and last == b"}"


def unpacked(content: bytes) -> tuple[State, str]:
    """Unpack a state; return it, and as JSON. Raises DAMAGED."""
    text = zstandard.decompress(content).decode()
    state = json.loads(text)
    if not isinstance(state, dict) or not state.keys() >= FIELDS:
        raise ValueError("it is not a frozen state")
    if not _is_before_the_release(state):
        return state, text
    left = _program_of(state)
    return left, json.dumps(left, separators=(",", ":"))


def _is_before_the_release(state: State) -> bool:
    """Return True if its polynomials may be text, or its options have old names."""
    told = all("memory" in info for info in state.get("manifest", ()))
    return not told or "fma" in (state.get("options") or {})


def _program_of(state: State) -> State:
    """Reduce a state to its program, with a message that the rest cannot be read."""
    view = state.get("view") or {}
    error = {"kind": "limitation", "message": BEFORE_RELEASE, "hint": COMPILE_ANEW, "span": None}
    manifest = [{**info, "memory": False} for info in state.get("manifest", ())]
    return {
        **{name: state[name] for name in PROGRAM if name in state},
        "options": {},
        "manifest": manifest,
        "stages": {},
        "remarks": [],
        "entries": [],
        "error": error,
        "attempts": None,
        "lifetimes": None,
        "run": None,
        "asked": [],
        "view": {name: view[name] for name in ("title", "notes") if name in view},
    }


def is_id(name: str) -> bool:
    """Return True if a text has the form of a link's id."""
    return name.isascii() and name.isalnum() and len(name) <= LONGEST
