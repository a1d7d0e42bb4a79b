"""Decide questions about cells: proved, refuted by numbers, or open."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import chain, groupby, islice, permutations, product
from typing import TypeVar

from compiler.algebra.disjoint import Disjoint, Overlap, quick_verdict
from compiler.algebra.facts import Facts, Point
from compiler.algebra.inequality import Prover
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.ir.memory.known import NEVER

T = TypeVar("T")
FEW = 10
"""Number of inequalities tried before a counterexample is sought."""
WORK = 60
"""Number of inequalities tried after that."""
ORDERS = 6
"""Number of dimension orders tried where strides do not determine one."""
KEPT = 20_000
"""Capacity of the caches of answers: most questions recur in the next stage."""


@dataclass(frozen=True, slots=True)
class Proved:
    """Holds for all numbers that satisfy the facts."""


@dataclass(frozen=True, slots=True)
class Refuted:
    """A counterexample: a cell outside its block, or in both sets."""

    point: Point
    cell: int


@dataclass(frozen=True, slots=True)
class Open:
    """Neither was found."""


Fits = Callable[[Point], bool]
"""Test whether numbers do occur."""
Answer = Proved | Refuted | Open
_PROVED, _OPEN = Proved(), Open()
_inside: dict[tuple[Lmad[Poly], Poly, tuple[Poly, ...]], Answer] = {}
_apart: dict[tuple[Lmad[Poly], Lmad[Poly], tuple[Poly, ...]], Answer] = {}
_wide: dict[tuple[tuple[Poly, ...], tuple[Poly, ...]], bool] = {}


def inside(lmad: Lmad[Poly], size: Poly, facts: Iterable[Poly], fits: Fits | None = None) -> Answer:
    """Ask whether all cells of an index function lie in a block of that size.

    A counterexample must satisfy the facts and occur, by `fits`.
    """
    if lmad.offset == 0 and Poly.product(lmad.shape) == size and lmad.is_row_major():
        return _PROVED
    return _answer(_inside, _find_inside, lmad, size, tuple(facts), fits)


def _answer(
    kept: dict[tuple[Lmad[Poly], T, tuple[Poly, ...]], Answer],
    find: Callable[[Lmad[Poly], T, tuple[Poly, ...], Fits | None], Answer],
    lmad: Lmad[Poly],
    other: T,
    facts: tuple[Poly, ...],
    fits: Fits | None,
) -> Answer:
    """Return the cached answer to a question about an index function and something else.

    Whether numbers occur differs each time: open questions are asked again.
    """
    if NEVER in facts:
        return _PROVED
    key = lmad, other, facts
    found = kept.get(key)
    if found is None or (fits is not None and found is _OPEN):
        if len(kept) >= KEPT:
            kept.clear()
        found = find(lmad, other, facts, fits)
        kept[key] = found if isinstance(found, Proved) else _OPEN
    return found


def _find_inside(
    lmad: Lmad[Poly], size: Poly, facts: tuple[Poly, ...], fits: Fits | None
) -> Answer:
    facts = tuple(dict.fromkeys((*facts, *(dim.size - 1 for dim in lmad.dims))))
    if _is_inside(lmad, size, Prover(Facts(facts), work=FEW)):
        return _PROVED
    known = Facts.of(facts, names=lmad.names() | size.names())
    for point in known.points:
        here = lmad.evaluate(point)
        room = size.evaluate(point)
        for cell in here.ends():
            if not 0 <= cell < room and all(n > 0 for n in here.shape):
                if fits is None:
                    return _OPEN
                if fits(point):
                    return Refuted(point, cell)
    return _PROVED if _is_inside(lmad, size, Prover(known, work=WORK)) else _OPEN


def _is_inside(lmad: Lmad[Poly], size: Poly, prover: Prover) -> bool:
    ends = _ends(lmad, prover)
    if ends is None:
        return False
    low, high = ends
    return all(prover.nonnegative(side) is not None for side in (low, size - 1 - high))


def _ends(lmad: Lmad[Poly], prover: Prover) -> tuple[Poly, Poly] | None:
    """Return the first and the last cell if the signs of all strides are known."""
    low = high = lmad.offset
    for dim in lmad.dims:
        extent = (dim.size - 1) * dim.stride
        if prover.nonnegative(dim.stride) is not None:
            high = high + extent
        elif prover.nonnegative(-dim.stride) is not None:
            low = low + extent
        else:
            return None
    return low, high


def apart(
    one: Lmad[Poly], other: Lmad[Poly], facts: Iterable[Poly], fits: Fits | None = None
) -> Answer:
    """Ask whether two index functions share no cell; `fits` as for `inside`."""
    return _answer(_apart, _find_apart, one, other, tuple(facts), fits)


def _find_apart(
    one: Lmad[Poly], other: Lmad[Poly], facts: tuple[Poly, ...], fits: Fits | None
) -> Answer:
    if _is_behind(one, other, facts):
        return _PROVED
    known = Facts.of(facts, names=one.names() | other.names())
    if fits is not None:
        occurring = replace(known, points=tuple(filter(fits, known.points)))
        verdict = quick_verdict(one, other, occurring, 0) if occurring.points else None
        if isinstance(verdict, Overlap):
            return Refuted(verdict.point, verdict.cell)
    return _PROVED if isinstance(quick_verdict(one, other, known, WORK), Disjoint) else _OPEN


def is_plainly_apart(one: Lmad[Poly], other: Lmad[Poly], natural: Container[Name]) -> bool:
    """True if one evidently lies beyond the other; `natural` names are never negative."""
    ends, others = _plain_ends(one), _plain_ends(other)
    gaps = (others[0] - ends[1] - 1, ends[0] - others[1] - 1)
    signs = (dim.stride for dim in (*one.dims, *other.dims))
    return any(_is_natural(gap, natural) for gap in gaps) and all(
        _is_natural(stride, natural) for stride in signs
    )


@lru_cache(maxsize=KEPT)
def _plain_ends(lmad: Lmad[Poly]) -> tuple[Poly, Poly]:
    """Return the first and the last cell, provided that no stride is negative."""
    high = lmad.offset
    for dim in lmad.dims:
        high = high + (dim.size - 1) * dim.stride
    return lmad.offset, high


def _is_natural(poly: Poly, natural: Container[Name]) -> bool:
    return all(
        coeff >= 0 and all(name in natural for name, _ in mono)
        for mono, coeff in poly.terms.items()
    )


def _is_behind(one: Lmad[Poly], other: Lmad[Poly], facts: tuple[Poly, ...]) -> bool:
    """True if one provably lies beyond the other."""
    filled = (dim.size - 1 for dim in (*one.dims, *other.dims))
    prover = Prover(Facts(tuple(dict.fromkeys((*facts, *filled)))), work=FEW)
    ends, others = _ends(one, prover), _ends(other, prover)
    if ends is None or others is None:
        return False
    gaps = (others[0] - ends[1] - 1, ends[0] - others[1] - 1)
    return any(prover.plainly(gap) is not None for gap in gaps)


def spread(lmad: Lmad[Poly], ranges: Mapping[Name, Poly]) -> Lmad[Poly]:
    """Return the union over all values of names within their ranges, as far as it is an LMAD."""
    for name, bound in ranges.items():
        if name in lmad.names():
            lmad = lmad.expand(name, Poly.const(0), bound) or lmad
    return lmad


def one_each(
    lmad: Lmad[Poly], ranges: Mapping[Name, Poly], facts: Callable[[], Iterable[Poly]]
) -> bool:
    """True if an index function is injective over all values of names within ranges."""
    seen = spread(lmad, ranges)
    if ranges.keys() & seen.names():
        return False
    dims = tuple(dim for dim in seen.dims if dim.size != 1)
    return any(_one_each(order, facts) for order in _from_inside(dims))


def _from_inside(dims: Sequence[Dim[Poly]]) -> Iterator[tuple[Dim[Poly], ...]]:
    """Yield dimension orders by increasing stride; a few if the order is ambiguous."""
    groups = groupby(sorted(dims, key=lambda dim: _weight(dim.stride)), lambda d: _weight(d.stride))
    orders = product(*(permutations(tuple(group)) for _, group in groups))
    return (tuple(chain.from_iterable(order)) for order in islice(orders, ORDERS))


def _one_each(dims: Sequence[Dim[Poly]], facts: Callable[[], Iterable[Poly]]) -> bool:
    """True if each stride exceeds the span of the dimensions before it."""
    span = Poly.const(1)
    gaps: list[Poly] = []
    for dim in dims:
        gap = dim.stride - span
        if gap.constant is None:
            gaps.append(gap)
        elif gap.constant < 0:
            return False
        span = span + (dim.size - 1) * dim.stride
    if not gaps:
        return True
    key = tuple(gaps), (*facts(), *(dim.size - 1 for dim in dims))
    found = _wide.get(key)
    if found is None:
        if len(_wide) >= KEPT:
            _wide.clear()
        prover = Prover(Facts(key[1]), work=WORK)
        found = _wide[key] = all(prover.nonnegative(gap) is not None for gap in gaps)
    return found


def _weight(stride: Poly) -> tuple[int, int]:
    degree = max((sum(power for _, power in mono) for mono in stride.terms), default=0)
    return degree, sum(stride.terms.values())
