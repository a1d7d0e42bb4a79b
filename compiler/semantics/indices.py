"""The indices of a space, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod


def all_indices(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All indices in row-major order; unlike `itertools.product`, this lists nothing beforehand."""
    total = prod(max(size, 0) for size in shape)
    for number in range(total):
        rest = number
        index: list[int] = []
        for size in reversed(shape):
            rest, at = divmod(rest, size)
            index.append(at)
        yield tuple(reversed(index))
