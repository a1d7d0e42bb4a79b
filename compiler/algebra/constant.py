"""Decide exactly whether constant LMADs share a cell, and find one.

Solves `sum stride_k * z_k = target` with `0 <= z_k <= count_k` for positive strides by memoised
search: largest stride first, pruned by range and greatest common divisor of the remaining strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

NODES = 200_000
"""Search limit, in states: a hard instance of 4+4 dimensions takes seconds."""


class TooHard(Exception):
    """The search exceeded its limit."""


def solve(target: int, dims: Sequence[tuple[int, int]], nodes: int = NODES) -> list[int] | None:
    """Return one `z` per `(stride, count)` whose weighted sum is `target`, or None.

    Strides are positive, counts (the largest `z`) not negative. Raises TooHard after `nodes`.
    """
    total: dict[int, int] = {}
    for stride, count in dims:
        total[stride] = total.get(stride, 0) + count
    chosen = _Sums(sorted(total.items(), reverse=True), nodes).make(0, target)
    if chosen is None:
        return None
    left = dict(zip(sorted(total, reverse=True), chosen, strict=True))
    found = []
    for stride, count in dims:
        found.append(min(count, left[stride]))
        left[stride] -= found[-1]
    return found


class _Sums:
    """Memoised search for sums of `(stride, count)`, strides falling; caches `dead` states."""

    def __init__(self, dims: Sequence[tuple[int, int]], nodes: int) -> None:
        self._dims = dims
        self._nodes = nodes
        self._dead: set[tuple[int, int]] = set()
        self._reach, self._divisor = [0], [0]
        for stride, count in reversed(dims):
            self._reach.insert(0, self._reach[0] + stride * count)
            self._divisor.insert(0, gcd(self._divisor[0], stride))

    def make(self, k: int, left: int) -> list[int] | None:
        """Return multiples of the dimensions from `k` on that sum to `left`, or None."""
        if left < 0 or left > self._reach[k]:
            return None
        if k == len(self._dims):
            return []
        if left % self._divisor[k] or (k, left) in self._dead:
            return None
        for z in self._possible(k, left):
            rest = self.make(k + 1, left - self._dims[k][0] * z)
            if rest is not None:
                return [z, *rest]
        self._dead.add((k, left))
        if len(self._dead) > self._nodes:
            raise TooHard
        return None

    def _possible(self, k: int, left: int) -> range:
        """Return feasible multiples of stride `k`, largest first.

        The rest must lie within the reach of the other strides and be divisible by their gcd.
        """
        stride, count = self._dims[k]
        low = max(0, -((self._reach[k + 1] - left) // stride))
        high = min(count, left // stride)
        step, inner = 1, self._divisor[k + 1]
        if inner:
            common = gcd(stride, inner)  # divides `left`, as `divisor[k]` does
            step = inner // common
            low += (left // common * pow(stride // common, -1, step) - low) % step
        return range(high - (high - low) % step, low - 1, -step) if low <= high else range(0)


def solvable(offset: int, dims: Sequence[tuple[int, int, int]]) -> bool:
    """True if `offset + sum stride_k * z_k = 0` for some `low_k <= z_k <= high_k`.

    `dims` are (stride, low, high). Raises TooHard.
    """
    counted = []
    for stride, low, high in dims:
        if low > high:
            return False
        offset += stride * (low if stride > 0 else high)
        if stride:
            counted.append((abs(stride), high - low))
    return solve(-offset, counted) is not None


def meet(
    first: tuple[int, Sequence[tuple[int, int]]],
    second: tuple[int, Sequence[tuple[int, int]]],
    nodes: int = NODES,
) -> tuple[int, list[int], list[int]] | None:
    """Return a cell that both LMADs `(offset, ((size, stride), ..))` hold, with the index in each.

    Returns None exactly if there is none. A size that is not positive makes the set empty. Raises
    TooHard after `nodes`.
    """
    target, dims, flipped = 0, [], []
    for sign, (offset, parts) in ((1, first), (-1, second)):
        target -= sign * offset
        for size, stride in parts:
            if size <= 0:
                return None
            step, count = sign * stride, size - 1
            flipped.append(step < 0)
            if step < 0:
                target -= step * count
            dims.append((abs(step), count) if step else (1, 0))
    found = solve(target, dims, nodes)
    if found is None:
        return None
    index = [c - z if flip else z for z, (_, c), flip in zip(found, dims, flipped, strict=True)]
    here, there = index[: len(first[1])], index[len(first[1]) :]
    cell = first[0] + sum(z * stride for z, (_, stride) in zip(here, first[1], strict=True))
    return cell, here, there
