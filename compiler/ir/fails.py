"""Failure modes of expressions: a trait of each node, used by `analysis/effects.py`."""

from __future__ import annotations

from enum import Enum


class Fails(Enum):
    """Failure mode of an expression whose scalar operands and bodies do not fail."""

    NEVER = "it has a value"
    OUTSIDE = "a position may be outside of the array"
    SIZE = "a size may be negative, or too large"
    COUNT = "the two shapes may differ in their number of elements"
    STOPS = "it is a check, or may hold one; or its effect is all that it is for"
