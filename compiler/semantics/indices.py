"""Enumerate the indices of a space, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod


def all_indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Yield all indices in row-major order.

    Unlike `itertools.product`, lists nothing beforehand.
    """
    total = prod(max(size, 0) for size in shape)
    for number in range(total):
        rest = number
        index: list[int] = []
        for size in reversed(shape):
            rest, at = divmod(rest, size)
            index.append(at)
        yield tuple(reversed(index))
