"""LMADs of numbers: whether they share a cell is decided exactly, and a shared cell is found.

`sum stride_k * z_k = target` with `0 <= z_k <= count_k`, strides positive: the largest stride
first, with the range and the greatest common divisor of what is left, and a memory of dead ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

NODES = 200_000
"""States after which the search gives up: a hard instance of 4+4 dimensions takes seconds."""


class TooHard(Exception):
    """The search was given up."""


def solve(target: int, dims: Sequence[tuple[int, int]], nodes: int = NODES) -> list[int] | None:
    """One `z` per `(stride, count)` whose weighted sum is `target`, or None if there is none.

    Strides are positive, counts (the largest `z`) not negative. Raises TooHard after `nodes`.
    """
    total: dict[int, int] = {}
    for stride, count in dims:
        total[stride] = total.get(stride, 0) + count
    strides = sorted(total, reverse=True)
    counts = [total[stride] for stride in strides]
    size = len(strides)
    reach = [0] * (size + 1)
    divisor = [0] * (size + 1)
    for k in range(size - 1, -1, -1):
        reach[k] = reach[k + 1] + strides[k] * counts[k]
        divisor[k] = gcd(divisor[k + 1], strides[k])
    dead: set[tuple[int, int]] = set()
    chosen = [0] * size

    def search(k: int, left: int) -> bool:
        if left < 0 or left > reach[k]:
            return False
        if k == size:
            return left == 0
        if left % divisor[k] or (k, left) in dead:
            return False
        stride, inner = strides[k], divisor[k + 1]
        low = max(0, -((reach[k + 1] - left) // stride))
        high = min(counts[k], left // stride)
        step = 1
        if inner:
            common = gcd(stride, inner)  # divides `left`, as `divisor[k]` does
            step = inner // common
            low += (left // common * pow(stride // common, -1, step) - low) % step
        for z in range(high - (high - low) % step, low - 1, -step) if low <= high else ():
            if search(k + 1, left - stride * z):
                chosen[k] = z
                return True
        dead.add((k, left))
        if len(dead) > nodes:
            raise TooHard
        return False

    if not search(0, target):
        return None
    left = dict(zip(strides, chosen, strict=True))
    found = []
    for stride, count in dims:
        found.append(min(count, left[stride]))
        left[stride] -= found[-1]
    return found


def solvable(offset: int, dims: Sequence[tuple[int, int, int]]) -> bool:
    """Whether `offset + sum stride_k * z_k = 0` for some `low_k <= z_k <= high_k`.

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
    """A cell that both LMADs `(offset, ((size, stride), ..))` hold, with the index in each.

    None if there is none, which is exact. A size that is not positive makes the set empty.
    Raises TooHard after `nodes`.
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
