"""Split the results of a scatter's function into writes and kept arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from compiler.ir.nodes import Dest

T = TypeVar("T")


def places(dests: Iterable[Dest]) -> int:
    """Return the number of results that describe writes: for each, indices and a value."""
    return sum(dest.times * (dest.rank + 1) for dest in dests)


def writes(dests: Iterable[Dest], values: Sequence[T]) -> list[list[tuple[Sequence[T], T]]]:
    """Return for each destination its pairs of indices and value, one per write."""
    found: list[list[tuple[Sequence[T], T]]] = []
    at = 0
    for dest in dests:
        step = dest.rank + 1
        starts = range(at, at + dest.times * step, step)
        found.append([(values[k : k + dest.rank], values[k + dest.rank]) for k in starts])
        at += dest.times * step
    return found
