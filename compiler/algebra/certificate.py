"""Certificates: what the prover hands to the checker, and what the page draws.

All polynomials are over the facts' free names: equalities have been substituted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from math import prod

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Sum:
    """Shows `claim >= 0`: `scale * claim` is the sum of `coefficient * product of facts`.

    It may be less than the sum by a whole number below `scale`: then it is above `-scale`, and the
    claim, a whole number, above -1. `scale` and all coefficients are positive; an empty product
    is 1.
    """

    claim: Poly
    scale: int
    terms: tuple[tuple[int, tuple[Poly, ...]], ...]

    @property
    def rounded(self) -> int:
        """By how much `scale * claim` is less than the sum."""
        at_zero = sum(c * prod(f.terms.get((), 0) for f in factors) for c, factors in self.terms)
        return at_zero - self.scale * self.claim.terms.get((), 0)


@dataclass(frozen=True, slots=True)
class Summand:
    """The summand `stride * z` with `low <= z <= high`."""

    stride: Poly
    low: Poly
    high: Poly


@dataclass(frozen=True, slots=True)
class Signs:
    """For some dimensions, in order: the stride is non-negative (+1) or non-positive (-1)."""

    signs: tuple[tuple[int, Sum], ...]


class Proof:
    """A proof that `offset + sum of dims = 0` has no solution. Each step names what it rewrites."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Absurd(Proof):
    """The facts contradict each other: `because.claim` is a negative number."""

    because: Sum


@dataclass(frozen=True, slots=True)
class DisjointRanges(Proof):
    """The smallest value is positive (`side` 1), or the largest negative (-1)."""

    side: int
    signs: Signs
    because: Sum


@dataclass(frozen=True, slots=True)
class Normalise(Proof):
    """Equal strides are added, fixed dimensions go into the offset; then `rest`."""

    rest: Proof


@dataclass(frozen=True, slots=True)
class Flip(Proof):
    """Dimension `k` is turned round: negated stride, negated bounds."""

    k: int
    rest: Proof


@dataclass(frozen=True, slots=True)
class Join(Proof):
    """Stride of `outer` is `factor` times that of `inner`, which has at least `factor` points.

    The two become one dimension with the stride of `inner`, at its place; `outer` goes.
    """

    outer: int
    inner: int
    factor: Poly
    positive: Sum
    covers: Sum
    rest: Proof


@dataclass(frozen=True, slots=True)
class Case:
    """One value of the pivot's multiple: why it is impossible.

    `members`: the multiple itself cannot be that value; else the remainder cannot make up for it.
    `signs` are those of the side that is not looked at, for the facts that it lends (none: ()).
    """

    value: int
    members: bool
    signs: Signs
    rest: Proof


@dataclass(frozen=True, slots=True)
class Pivot(Proof):
    """Divide by `divisor`: offset `divisor*quotient + remainder`, strides of `members` divisible.

    These have the `quotients`. The others confine the multiple to `first .. last`, by `from_below`
    and `from_above`.
    """

    divisor: Poly
    positive: Sum
    members: tuple[int, ...]
    quotients: tuple[Poly, ...]
    quotient: Poly
    remainder: Poly
    signs: Signs
    first: int
    last: int
    from_below: Sum
    from_above: Sum
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True)
class Split(Proof):
    """Either `term >= 0` or `term <= -1`."""

    term: Poly
    yes: Proof
    no: Proof


@dataclass(frozen=True, slots=True)
class Relax(Proof):
    """Dimension `k` becomes two, whose strides add up to its own, counted independently."""

    k: int
    first: Poly
    second: Poly
    rest: Proof


@dataclass(frozen=True, slots=True)
class Inferred(Proof):
    """What a sum shows is a fact for `rest`."""

    line: Sum
    rest: Proof


@dataclass(frozen=True, slots=True)
class Numbers(Proof):
    """Offset, strides and bounds are numbers; none of the sums is 0, as the checker counts out."""


def factors(proof: Proof) -> Iterator[Poly]:
    """The facts that a proof makes use of."""
    waiting: list[object] = [proof]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Sum):
            for _, product in part.terms:
                yield from product
        elif isinstance(part, tuple):
            waiting += part
        elif is_dataclass(part) and not isinstance(part, type):
            waiting += [getattr(part, one.name) for one in fields(part)]
