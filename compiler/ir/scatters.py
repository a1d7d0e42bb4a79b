"""Which results of a scatter's function are written where, and which are kept as arrays."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from compiler.ir.nodes import Dest

T = TypeVar("T")


def places(dests: Iterable[Dest]) -> int:
    """How many results say what is written: for each time a destination is, indices and value."""
    return sum(dest.times * (dest.rank + 1) for dest in dests)


def writes(dests: Iterable[Dest], values: Sequence[T]) -> list[list[tuple[Sequence[T], T]]]:
    """Those results, for each destination: pairs of indices and value, one for each time."""
    found: list[list[tuple[Sequence[T], T]]] = []
    at = 0
    for dest in dests:
        step = dest.rank + 1
        starts = range(at, at + dest.times * step, step)
        found.append([(values[k : k + dest.rank], values[k + dest.rank]) for k in starts])
        at += dest.times * step
    return found
