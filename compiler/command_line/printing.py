"""Format places and verdicts of proofs for the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from compiler.protocol.polynomials import Spell, reason


def places_text(src: Sequence[Sequence[int | str]]) -> str:
    """Format a provenance: its place, and for an imported file the call that led there."""
    callers = [span for span in src[1:] if span[4:] != src[0][4:]]
    return ", called from ".join(map(place_text, (*src[:1], *callers[:1]))) or "-"


def place_text(span: Sequence[int | str]) -> str:
    """Format `line:column`, in an imported file with its path."""
    return ":".join(map(str, (*span[4:], *span[:2])))


def verdict(proved: Mapping[str, Any], spell: Spell = str) -> str:
    """Format a verdict and its reason."""
    because = reason(proved, spell)
    return str(proved["verdict"]) + (f": {because}" if because else "")
