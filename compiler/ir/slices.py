"""Index functions of indices, slices and LMAD slices: every `DimIndex` is a small LMAD."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.ir.nodes import SE, DimFix, DimIndex, DimLmad, DimSlice
from compiler.ir.sizes import poly_of

Num = TypeVar("Num", int, Poly)

Combine = Callable[[SE, SE], SE]
"""Builds a sum or product of i64 expressions."""


def selected(dims: Iterable[DimIndex]) -> tuple[Poly, ...]:
    """Return the shape that `dims` select."""
    return tuple([count for dim in dims for count in dim.counts])


def sliced(
    lmad: Lmad[Num],
    dims: Iterable[DimIndex],
    number: Callable[[SE], Num],
    size: Callable[[Poly], Num],
) -> Lmad[Num]:
    """Slice an index function by `dims`; `number` and `size` evaluate their parts.

    Thesis 3.4 and figure 3.6, *slice*.
    """
    return lmad.slice_lmad(*(as_lmad(dim, number, size) for dim in dims))


def as_lmad(dim: DimIndex, number: Callable[[SE], Num], size: Callable[[Poly], Num]) -> Lmad[Num]:
    """Return the positions of one index as an LMAD."""
    pairs = zip(dim.counts, dim.strides, strict=True)
    return Lmad(number(dim.start), tuple([Dim(size(n), number(s)) for n, s in pairs]))


def itself(size: Poly) -> Poly:
    """Return a size unchanged: the `size` of `sliced` over polynomials."""
    return size


def sliced_poly(lmad: Lmad[Poly], dims: Sequence[DimIndex]) -> Lmad[Poly] | None:
    """Slice over polynomials; None unless all starts and strides are polynomials."""
    if any(poly_of(se) is None for dim in dims for se in (dim.start, *dim.strides)):
        return None
    return sliced(lmad, dims, _poly, itself)


def _poly(se: SE) -> Poly:
    poly = poly_of(se)
    assert poly is not None
    return poly


def dim_index(start: SE, counts: Sequence[Poly], strides: Sequence[SE]) -> DimIndex:
    """Return the `DimIndex` of that many dimensions."""
    if not counts:
        return DimFix(start)
    if len(counts) == 1:
        return DimSlice(start, counts[0], strides[0])
    return DimLmad(start, tuple(counts), tuple(strides))


def with_indices(dim: DimIndex, change: Callable[[SE], SE]) -> DimIndex:
    """Apply `change` to the start and strides of `dim`."""
    return dim_index(change(dim.start), dim.counts, tuple(map(change, dim.strides)))


def source_indices(
    dims: Iterable[DimIndex], at: Iterable[SE], times: Combine, plus: Combine
) -> tuple[SE, ...]:
    """Map indices `at` of a slice to indices of the sliced array."""
    rest = iter(at)
    found: list[SE] = []
    for dim in dims:
        index = dim.start
        for stride in dim.strides:
            index = plus(times(next(rest), stride), index)
        found.append(index)
    return tuple(found)


def composed(
    inner: Iterable[DimIndex], outer: Iterable[DimIndex], times: Combine, plus: Combine
) -> tuple[DimIndex, ...]:
    """Compose two slices: `outer` of what `inner` selects."""
    rest = iter(outer)
    found: list[DimIndex] = []
    for dim in inner:
        start = dim.start
        counts: list[Poly] = []
        strides: list[SE] = []
        for stride in dim.strides:
            over = next(rest)
            start = plus(times(over.start, stride), start)
            counts += over.counts
            strides += [times(step, stride) for step in over.strides]
        found.append(dim_index(start, counts, strides))
    return tuple(found)
