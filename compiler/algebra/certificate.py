"""Data types of certificates: handed from the prover to the checker, and drawn by the page.

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
        """Amount by which `scale * claim` is less than the sum."""
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
    """For some dimensions, in order: the stride is not negative (+1) or not positive (-1)."""

    signs: tuple[tuple[int, Sum], ...]


class Proof:
    """A proof that `offset + sum of dims = 0` has no solution. Each step names its target."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Absurd(Proof):
    """Contradictory facts: `because.claim` is a negative number."""

    because: Sum


@dataclass(frozen=True, slots=True)
class DisjointRanges(Proof):
    """The smallest value is positive (`side` 1), or the largest negative (-1)."""

    side: int
    signs: Signs
    because: Sum


@dataclass(frozen=True, slots=True)
class Normalise(Proof):
    """Equal strides are added and fixed dimensions join the offset; then `rest`."""

    rest: Proof


@dataclass(frozen=True, slots=True)
class Flip(Proof):
    """Negate the stride and the bounds of dimension `k`."""

    k: int
    rest: Proof


@dataclass(frozen=True, slots=True)
class Join(Proof):
    """Merge `outer` into `inner`, whose stride times `factor` is that of `outer`.

    `inner` has at least `factor` points. The result has the stride and place of `inner`.
    """

    outer: int
    inner: int
    factor: Poly
    positive: Sum
    covers: Sum
    rest: Proof


@dataclass(frozen=True, slots=True)
class Case:
    """A proof that the pivot's multiple cannot have one value.

    `members`: the multiple itself cannot be that value; else the remainder cannot compensate for
    it. `signs` are those of the other side, for the facts that its range implies (none: ()).
    """

    value: int
    members: bool
    signs: Signs
    rest: Proof


@dataclass(frozen=True, slots=True)
class Pivot(Proof):
    """Divide by `divisor`: offset `divisor*quotient + remainder`, strides of `members` divisible.

    The members' divided strides are `quotients`. The other dimensions confine the multiple to
    `first .. last`, by `from_below` and `from_above`.
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
    """Case split: either `term >= 0` or `term <= -1`."""

    term: Poly
    yes: Proof
    no: Proof


@dataclass(frozen=True, slots=True)
class Relax(Proof):
    """Split dimension `k` into two independent ones, whose strides add up to its own."""

    k: int
    first: Poly
    second: Poly
    rest: Proof


@dataclass(frozen=True, slots=True)
class Inferred(Proof):
    """Add the claim of a sum to the facts of `rest`."""

    line: Sum
    rest: Proof


@dataclass(frozen=True, slots=True)
class Numbers(Proof):
    """Offset, strides and bounds are constants; the checker enumerates the sums and finds no 0."""


def factors(proof: Proof) -> Iterator[Poly]:
    """Yield the facts that a proof uses."""
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
