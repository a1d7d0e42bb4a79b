"""How large the sizes of arrays are at most."""

from __future__ import annotations

LARGEST_SIZE = 1 << 47
"""No dimension of an array is larger: no machine has memory for so many bytes."""
LARGEST_INPUT = 1 << 44
"""No dimension of an array that is handed in is larger, nor the product of its dimensions.

That leaves room for sums of a few of them.
"""
