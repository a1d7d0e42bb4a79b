"""Composition and complement of layouts, where the result is a single LMAD.

An LMAD is a layout of CuTe with an offset and reversed (row-major) order. Composition and
complement follow the literature on layouts (arXiv 2511.10374 and 2601.05972, with categories and
integer sets); conditions are stated on carries, so that they hold for offsets and negative strides
as well.

Note [Carries]
Let L1 have sizes n_1 .. n_r and strides d_1 .. d_r, and let P_j = n_(j+1) * .. * n_r. The digits of
a flat index x are differences of quotients of x, so that

    L1(unrank x) = t_1 + d_r*x + sum over j < r of (d_j - d_(j+1)*n_(j+1)) * floor(x / P_j).

So L1 after L2 is an LMAD if every quotient with a nonzero factor is one, read along L2's index: if
it grows by the same number with each step along a dimension. Over ints that is decided at the
corners of L2. The test misses only that two quotients, neither an LMAD, may add up to one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from compiler.algebra.divide import divide, exact
from compiler.algebra.facts import Facts
from compiler.algebra.inequality import Prover
from compiler.algebra.lmad import Dim, Lmad, NoView, Num, number

_Sign = Callable[[Num], bool]


def compose(outer: Lmad[Num], inner: Lmad[Num]) -> Lmad[Num] | NoView:
    """Return the LMAD whose element `i` is element `inner(i)` of `outer`, in row-major order.

    `inner` must stay within `outer`. Symbolic sizes are assumed to be 1 or more: for an array
    without elements, every LMAD is right.
    """
    offset, strides = outer.offset, [number(0, outer.offset)] * inner.rank
    if any(size == 0 for size in inner.shape):
        return Lmad(offset, inner.dims)
    sure = _sign(outer.shape + inner.shape, inner.offset)
    innermost, carries = _carries(outer)
    for period, gain in carries:
        grown = _quotient(inner, period, sure)
        if grown is None:
            return NoView(
                "its elements do not go through rows of ", period, " in the same way each time"
            )
        offset = offset + gain * grown.offset
        strides = [s + gain * more for s, more in zip(strides, grown.strides, strict=True)]
    offset = offset + innermost * inner.offset
    pairs = zip(inner.dims, strides, strict=True)
    return Lmad(offset, tuple([Dim(d.size, s + innermost * d.stride) for d, s in pairs]))


def _carries(lmad: Lmad[Num]) -> tuple[Num, list[tuple[Num, Num]]]:
    """Return the innermost stride, and divisor and factor of each quotient that counts."""
    dims = [dim for dim in lmad.dims if dim.size != 1]
    if not dims:
        return number(0, lmad.offset), []
    period, found = dims[-1].size, []
    for dim, inside in zip(reversed(dims[:-1]), reversed(dims[1:]), strict=True):
        gain = dim.stride - inside.stride * inside.size
        if gain != 0:
            found.append((period, gain))
        period = period * dim.size
    return dims[-1].stride, found


def _quotient(lmad: Lmad[Num], period: Num, sure: _Sign[Num]) -> Lmad[Num] | None:
    """Return `floor(lmad(i) / period)` as an LMAD: the remainder stays in `0 .. period - 1`."""
    first, start = _divided(lmad.offset, period)
    if not sure(start) and sure(start + period):
        first, start = first - 1, start + period
    low = high = start
    dims: list[Dim[Num]] = []
    for dim in lmad.dims:
        share = _share(start, dim.stride, period)
        reach = (dim.size - 1) * (dim.stride - share * period)
        if sure(reach):
            high = high + reach
        elif sure(-reach):
            low = low + reach
        else:
            return None
        dims.append(Dim(dim.size, share))
    return Lmad(first, tuple(dims)) if sure(low) and sure(period - 1 - high) else None


def _share(start: Num, stride: Num, period: Num) -> Num:
    """Return the growth of the quotient per step; over ints, as on the first step."""
    if isinstance(start, int):
        return (start + stride) // period
    return divide(stride, period)[0]


def _divided(value: Num, by: Num) -> tuple[Num, Num]:
    return divmod(value, by) if isinstance(value, int) else divide(value, by)


def _sign(sizes: Sequence[Num], like: Num) -> _Sign[Num]:
    """Return a test that a number is certainly not negative, where no size is 0."""
    if isinstance(like, int):
        return lambda value: value >= 0
    prover = Prover(Facts.of([size - 1 for size in sizes]))
    return lambda value: prover.nonnegative(value) is not None


def complement(lmad: Lmad[Num], shape: Sequence[Num]) -> Lmad[Num] | NoView:
    """Return the LMAD whose translates of `lmad` tile a block.

    The block has as many cells as an array of `shape`, each covered once. Symbolic sizes are
    assumed to be 1 or more; an empty LMAD tiles nothing.
    """
    start, left = lmad.offset, []
    sure = _sign(lmad.shape + tuple(shape), lmad.offset)
    for dim in lmad.dims:
        if dim.size == 1:
            continue
        if sure(-dim.stride):
            start, dim = start + (dim.size - 1) * dim.stride, Dim(dim.size, -dim.stride)
        left.append(dim)
    step, dims = number(1, lmad.offset), []
    count = Lmad.row_major(shape, start).size
    while left:
        dim = next((dim for dim in left if _divides_all(dim, left)), left[0])
        gap = _over(dim.stride, step)
        if gap is None or not sure(gap - 1) or not sure(dim.size - 1):
            return NoView("its strides ", dim.stride, " and ", step, " do not fit into each other")
        dims.append(Dim(gap, step))
        step = dim.stride * dim.size
        left.remove(dim)
    rest = _over(count, step)
    if rest is None or not sure(rest - 1):
        return NoView("the block's ", count, " cells are no multiple of the ", step, " it spans")
    dims.append(Dim(rest, step))
    kept = [dim for dim in reversed(dims) if dim.size != 1]
    return Lmad(-start, tuple(kept))


def _divides_all(dim: Dim[Num], others: Sequence[Dim[Num]]) -> bool:
    """True if the strides of all other dimensions are multiples of the span of a dimension."""
    span = dim.stride * dim.size
    return all(other is dim or _over(other.stride, span) is not None for other in others)


def _over(value: Num, by: Num) -> Num | None:
    """Return the exact quotient, or None; None for a division by zero."""
    if by == 0:
        return None
    if isinstance(value, int):
        return None if value % by else value // by
    return exact(value, by)
