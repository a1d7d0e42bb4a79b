"""Proof lines found so far, and sums and products of lines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from compiler.algebra.argument import Deduction, Lemma, Source
from compiler.algebra.certificate import Sum
from compiler.algebra.poly import Poly
from compiler.analysis.ranges import share_of
from compiler.base.prim import Prim

Read = tuple[Poly, Prim | Literal[""], int]
"""A polynomial read as a value of a type ("": a natural number), by facts up to a depth."""
Terms = tuple[tuple[int, tuple[Poly, ...]], ...]


class Lines:
    """Cache of proof lines, each kept until its scope ends."""

    __slots__ = ("_scopes", "claims", "known")

    def __init__(self) -> None:
        self.known: dict[Poly, Lemma] = {}
        self.claims: dict[Read, tuple[Poly, ...]] = {}
        self._scopes: list[list[Poly]] = [[]]

    def enter(self) -> None:
        """Begin a scope."""
        self._scopes.append([])

    def leave(self) -> None:
        """End a scope and drop its lines, which may rest on forgotten facts."""
        for claim in self._scopes.pop():
            self.known.pop(claim, None)

    def keep(self, line: Lemma) -> None:
        """Add a line to the current scope."""
        if line.claim not in self.known:
            self.known[line.claim] = line
            self._scopes[-1].append(line.claim)


def line_of(claim: Poly, because: Source | Sum | Deduction, premises: Sequence[Lemma]) -> Lemma:
    """Return the lemma that `claim` follows from premises, at the depth of the deepest."""
    return Lemma(claim, because, tuple(premises), max((line.depth for line in premises), default=0))


def added(claim: Poly, lines: Sequence[tuple[int, Lemma]], more: int) -> Lemma:
    """Return a linear combination of lines plus a constant."""
    if len(lines) == 1 and lines[0][0] == 1 and not more:
        return lines[0][1]
    terms: Terms = tuple((coeff, (line.claim,)) for coeff, line in lines if line.claim.terms)
    if more:
        terms = (*terms, (more, ()))
    return line_of(claim, Sum(claim, 1, terms), [line for _, line in lines])


def distance_to_bound(poly: Poly, side: int, end: int) -> Poly:
    """Return `poly - end` (side 0) or `end - poly` (side 1): not negative if the bound holds."""
    return poly - end if side == 0 else end - poly


def corners_of(
    left: Poly,
    ends: tuple[int, int],
    left_lines: Sequence[Lemma],
    right: Poly,
    more: tuple[int, int],
    right_lines: Sequence[Lemma],
    low: bool,
) -> Lemma:
    """Prove a bound of a product as a sum over the corners of both ranges (interval arithmetic).

    The lines prove the lower and upper ends of the ranges.
    """
    (a, b), (c, d) = ends, more
    corners = [x * y for x in ends for y in more]
    end = min(corners) if low else max(corners)
    claim = distance_to_bound(left * right, 0 if low else 1, end)
    (up, down), (right_up, right_down) = (
        (left_lines[0].claim, left_lines[1].claim),
        (right_lines[0].claim, right_lines[1].claim),
    )
    if low and a >= 0 and c >= 0:
        terms = [(1, (up, right_up)), (a, (right_up,)), (c, (up,))]
        scale = 1
    elif a >= 0 and c >= 0:
        terms = [(1, (down, right_up)), (c, (down,)), (b, (right_down,))]
        scale = 1
    elif a == b or c == d:
        # One of the factors is a constant.
        if a == b:
            number, lines, other, own = a, (right_up, right_down), right_up, (up, down)
            fixed = c
        else:
            number, lines, other, own = c, (up, down), up, (right_up, right_down)
            fixed = a
        grows = (number >= 0) == low
        first = own[0] if low else own[1]
        terms = [(1, (first, other))]
        terms.append((abs(number), (lines[0] if grows else lines[1],)))
        terms.append((abs(fixed), (own[0] if (fixed >= 0) == low else own[1],)))
        scale = 1
    else:
        scale = (b - a) * (d - c)
        distance = {(a, c): (down, right_down), (a, d): (down, right_up)}
        distance |= {(b, c): (up, right_down), (b, d): (up, right_up)}
        terms = [
            ((x * y - end) * (1 if low else -1), factors) for (x, y), factors in distance.items()
        ]
    kept = tuple(
        (coeff, factors)
        for coeff, factors in terms
        if coeff and all(factor.terms for factor in factors)
    )
    return line_of(claim, Sum(claim, scale, kept), [*left_lines, *right_lines])


def ratio_of(growth: Poly, slope: Poly) -> tuple[int, Poly] | None:
    """Return `scale` and `by` with `scale * growth = by * slope`; `slope` is a number or name."""
    number = slope.constant
    if number is not None:
        return (number, growth) if number > 0 else None
    share = share_of(growth, slope)
    return None if share is None else (1, share)
