"""Places and verdicts of proofs, as the command line prints them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.protocol.polynomials import Spell, reason


def places_text(src: Sequence[Sequence[int | str]]) -> str:
    """Where something is from; of an imported file also from where it is called."""
    callers = [span for span in src[1:] if span[4:] != src[0][4:]]
    return ", called from ".join(map(place_text, (*src[:1], *callers[:1]))) or "-"


def place_text(span: Sequence[int | str]) -> str:
    """`line:column`, in an imported file with its path."""
    return ":".join(map(str, (*span[4:], *span[:2])))


def verdict(proved: Mapping[str, Any], spell: Spell = str) -> str:
    """What came of a question, and why."""
    because = reason(proved, spell)
    return str(proved["verdict"]) + (f": {because}" if because else "")
