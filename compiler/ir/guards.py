"""Runtime guards of LMAD slices: `inside_2d`, `distinct_2d`, .. of `prim.FUNS`."""

from __future__ import annotations

from collections.abc import Sequence

LARGEST_EXTENT = 1 << 46
"""Maximum distance in cells between first and last point of a dimension; no array in memory
exceeds it."""


def inside(length: int, start: int, *dims: int) -> bool:
    """True if an LMAD is empty, or all its cells are below `length`; `dims` are sizes and strides.

    Exact for all 64-bit numbers.
    """
    pairs = list(zip(dims[::2], dims[1::2], strict=True))
    if any(size <= 0 for size, _ in pairs):
        return True
    extents = [(size - 1) * stride for size, stride in pairs]
    low = start + sum(min(0, extent) for extent in extents)
    return low >= 0 and start + sum(max(0, extent) for extent in extents) < length


def distinct(*dims: int) -> bool:
    """True if no two points of an LMAD share a cell; `dims` are sizes and strides.

    Exact, except that an extent above `LARGEST_EXTENT` is refused. Two points that share a cell
    differ by some d with `sum d_k * stride_k = 0` and `|d_k| < size_k`: strides are tried from the
    largest on, each d_k in the range that the later ones can compensate for.
    """
    pairs = list(zip(dims[::2], dims[1::2], strict=True))
    if any(size <= 0 for size, _ in pairs):
        return True
    wide = sorted(((abs(stride), size) for size, stride in pairs if size > 1), reverse=True)
    if any(stride == 0 or (size - 1) * stride > LARGEST_EXTENT for stride, size in wide):
        return False
    rest = [0]
    for stride, size in reversed(wide):
        rest.append(rest[-1] + (size - 1) * stride)
    rest.reverse()
    if all(stride > below for (stride, _), below in zip(wide, rest[1:], strict=True)):
        return True
    return not _meets(wide, rest, 0, 0, True)


def _meets(
    wide: Sequence[tuple[int, int]], rest: Sequence[int], k: int, total: int, same: bool
) -> bool:
    """True if differences from dimension `k` on can sum to `-total`; `same`: all were 0 so far."""
    if k == len(wide):
        return total == 0 and not same
    stride, size = wide[k]
    low = max(1 - size, -((rest[k + 1] + total) // stride))
    high = min(size - 1, (rest[k + 1] - total) // stride)
    for d in range(0 if same else low, high + 1):
        if _meets(wide, rest, k + 1, total + d * stride, same and d == 0):
            return True
    return False
