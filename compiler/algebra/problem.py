"""Express the overlap of two LMADs as one equation `offset + sum stride_k * z_k = 0`.

The difference of two intervals is an interval, so that dimensions of equal stride are added; no
order of strides and no splitting of offsets into signs is needed. Sizes are at least 1 without loss
of generality, else a set is empty; these bounds join the facts.
"""

from __future__ import annotations

from compiler.algebra.certificate import Summand
from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass

ZERO = Poly.const(0)
ONE = Poly.const(1)


@dataclass(frozen=True, slots=True)
class Problem:
    """`offset + sum of dims = 0`, over integers `z_k` within the bounds of the dimensions."""

    offset: Poly
    dims: tuple[Summand, ...]


def difference(
    first: Lmad[Poly], second: Lmad[Poly], facts: Facts, sampled: bool = True
) -> tuple[Problem, Facts]:
    """Return the equation for two LMADs, and facts with their sizes (with points if `sampled`)."""
    dims = [Summand(facts.normal(d.stride), ZERO, facts.normal(d.size) - 1) for d in first.dims]
    dims += [Summand(facts.normal(d.stride), 1 - facts.normal(d.size), ZERO) for d in second.dims]
    sizes = [facts.normal(d.size) - 1 for d in (*first.dims, *second.dims)]
    offset = facts.normal(first.offset - second.offset)
    known = {name for poly in (offset, *(d.stride for d in dims)) for name in poly.names()}
    covered = {name for point in facts.points[:1] for name in point}
    if not sampled or known | {n for s in sizes for n in s.names()} <= covered:
        return Problem(offset, tuple(dims)), facts.with_bounds(*sizes)
    more = Facts.of((*facts.bounds, *sizes), facts.equalities, known)
    return Problem(offset, tuple(dims)), more


def normalised(problem: Problem) -> Problem:
    """Move fixed dimensions into the offset; add dimensions of equal or opposite stride."""
    offset = problem.offset
    merged: dict[Poly, Summand] = {}
    for dim in problem.dims:
        if not dim.stride.terms:
            continue
        if dim.low == dim.high:
            offset = offset + dim.stride * dim.low
            continue
        if -dim.stride in merged:
            dim = flipped(dim)
        other = merged.get(dim.stride)
        if other is not None:
            dim = Summand(dim.stride, other.low + dim.low, other.high + dim.high)
        merged[dim.stride] = dim
    return Problem(offset, tuple(merged.values()))


def flipped(dim: Summand) -> Summand:
    """Negate the stride and the bounds of a dimension."""
    return Summand(-dim.stride, -dim.high, -dim.low)


def joined(problem: Problem, outer: int, inner: int, factor: Poly) -> Problem:
    """Merge dimension `outer` into `inner`, whose stride times `factor` is that of `outer`."""
    far, near = problem.dims[outer], problem.dims[inner]
    low, high = factor * far.low + near.low, factor * far.high + near.high
    dims = list(problem.dims)
    dims[inner] = Summand(near.stride, low, high)
    del dims[outer]
    return Problem(problem.offset, tuple(dims))
