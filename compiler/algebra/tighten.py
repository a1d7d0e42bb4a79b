"""Tighten inequalities over integers: `2*x >= 1` gives `x >= 1`.

Divides a fact by a common factor, a constant or names, and rounds the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import gcd, lcm

from compiler.algebra.certificate import Absurd, Inferred, Proof, Split, Sum
from compiler.algebra.divide import divide
from compiler.algebra.inequality import Prover
from compiler.algebra.poly import Poly
from compiler.algebra.problem import ZERO

_MOST_FACTORS = 3
"""Maximum number of divisors tried per fact."""


def roundings(fact: Poly, prover: Prover | None) -> Iterator[tuple[Poly, Callable[[Proof], Proof]]]:
    """Yield facts after division by a common constant: `x >= 1` from `2*x >= 1`.

    With a prover, also after division by names: `x >= 0` from `n*x >= 1 - n`. Each comes with a
    function that inserts the step which proves it.
    """
    by = gcd(*(coefficient for mono, coefficient in fact.terms.items() if mono))
    if by > 1:
        claim = Poly({mono: c // by for mono, c in fact.terms.items() if c // by})
        yield claim, partial(Inferred, Sum(claim, by, ((1, (fact,)),)))
    for factor in _factors(fact) if prover is not None else ():
        multiple, rest = divide(fact, factor)
        for claim, left in ((multiple - 1, rest + factor), (multiple, rest)):
            split = None if prover is None else _by_contradiction(fact, factor, claim, left, prover)
            if split is not None:
                yield claim, split
                break


def _factors(fact: Poly) -> list[Poly]:
    """Return symbolic coefficients of names in a fact."""
    found: dict[Poly, None] = {}
    for mono, _ in fact.terms.items():
        for name, power in mono if len(mono) > 1 else ():
            slope = fact.coefficient(name) if power == 1 else ZERO
            if len(slope.terms) == 1 and fact.degree(name) == 1:
                (rest,) = slope.terms
                found[Poly({rest: abs(slope.terms[rest])})] = None
    return list(found)[:_MOST_FACTORS]


def _by_contradiction(
    fact: Poly, factor: Poly, claim: Poly, left: Poly, prover: Prover
) -> Callable[[Proof], Proof] | None:
    """Prove `claim >= 0` by contradiction: else `factor*claim + left`, a fact, is negative."""
    if claim.constant is not None or prover.facts.refutes(claim):
        return None
    positive = prover.plainly(factor - 1)
    small = None if positive is None else prover.plainly(factor - 1 - left)
    if positive is None or small is None:
        return None
    contrary = -claim - 1
    scale = lcm(positive.scale, small.scale)
    terms: list[tuple[int, tuple[Poly, ...]]] = [(scale, (fact,)), (scale, (contrary,))]
    terms += [(c * (scale // positive.scale), (*p, contrary)) for c, p in positive.terms]
    terms += [(c * (scale // small.scale), p) for c, p in small.terms]
    absurd = Absurd(Sum(Poly.const(-1), scale, tuple(terms)))
    return lambda rest: Split(claim, rest, absurd)
