"""Upper bounds of array sizes."""

from __future__ import annotations

LARGEST_SIZE = 1 << 47
"""Largest size of a dimension: no machine has memory for so many bytes."""
LARGEST_INPUT = 1 << 44
"""Largest size of a dimension of an input array, and of the product of its dimensions.

This leaves room for sums of a few of them."""
