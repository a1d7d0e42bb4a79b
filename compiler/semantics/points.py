"""The points of an index space, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod


def points(shape: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """All indices in row-major order; unlike `itertools.product`, this lists nothing beforehand."""
    total = prod(max(size, 0) for size in shape)
    for number in range(total):
        rest = number
        point: list[int] = []
        for size in reversed(shape):
            rest, at = divmod(rest, size)
            point.append(at)
        yield tuple(reversed(point))
