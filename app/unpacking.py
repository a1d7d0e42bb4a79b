"""A state as the database has it, and as it is today."""

from __future__ import annotations

import json

import zstandard

from app.older import upgraded
from compiler.protocol.kinds import Json

State = Json
FIELDS = frozenset({"version", "source"})
"""What a state has that a link cannot be without."""
DAMAGED = (zstandard.ZstdError, ValueError, TypeError, LookupError, AttributeError)
"""What a row raises that holds something else."""
LONGEST = 64
"""Characters of an id."""


def packed(state: State) -> bytes:
    """A state as it is stored."""
    text = json.dumps(state, separators=(",", ":"))
    return zstandard.ZstdCompressor(level=10).compress(text.encode())


def unpacked(content: bytes) -> tuple[State, str]:
    """A state as it is today, and the same as JSON. Raises DAMAGED."""
    text = zstandard.decompress(content).decode()
    state = json.loads(text)
    if not isinstance(state, dict) or not state.keys() >= FIELDS:
        raise ValueError("it is no state")
    today = upgraded(state)
    return today, text if today is state else json.dumps(today, separators=(",", ":"))


def is_id(name: str) -> bool:
    """Whether a text looks like a link's id."""
    return name.isascii() and name.isalnum() and len(name) <= LONGEST
