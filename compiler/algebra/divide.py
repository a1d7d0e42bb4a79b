"""Divide polynomials for pivots: `p = divisor * quotient + remainder`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd

from compiler.algebra.poly import Monomial, Poly
from compiler.algebra.problem import Problem

_ROUNDS = 30
_STEPS = 8
"""Maximum number of pivots taken from the terms of an offset."""


def divide(p: Poly, divisor: Poly) -> tuple[Poly, Poly]:
    """Return quotient and remainder; the divisor's leading monomial divides none of the remainder.

    Coefficients of names are rounded towards zero, so that `-p` divides like `p`: names have many
    values, and `j - k` is small if both are. A constant is rounded down to leave `0 .. c-1`.
    """
    lead = max(divisor.terms, key=_order)
    weight = divisor.terms[lead]
    quotient: dict[Monomial, int] = {}
    rest, remainder = p, Poly({})
    for _ in range(_ROUNDS):
        if not rest.terms:
            break
        mono = max(rest.terms, key=_order)
        coefficient = rest.terms[mono]
        over = divide_monomials(mono, lead)
        share = 0 if over is None else coefficient // weight
        if mono and share < 0 and share * weight != coefficient:
            share += 1
        if over is None or not share:
            remainder = remainder + Poly({mono: coefficient})
            rest = rest - Poly({mono: coefficient})
            continue
        quotient[over] = quotient.get(over, 0) + share
        rest = rest - Poly({over: share}) * divisor
        left = rest.terms.get(mono)
        if left:
            remainder = remainder + Poly({mono: left})
            rest = rest - Poly({mono: left})
    return Poly({m: c for m, c in quotient.items() if c}), remainder + rest


def exact(p: Poly, divisor: Poly) -> Poly | None:
    """Return `p / divisor` if the remainder is 0."""
    quotient, remainder = divide(p, divisor)
    return None if remainder.terms else quotient


def pivots(problem: Problem, others: Sequence[Poly] = (), *, wide: bool = False) -> Iterator[Poly]:
    """Yield candidate divisors, each once: strides, primitive parts, common monomials, names.

    `others` are strides of eliminated dimensions: a single point still suggests a divisor. With
    `wide`, and where there are no dimensions, also yields names of the offset and their
    coefficients.
    """
    seen: set[Poly] = set()

    def fresh(poly: Poly) -> Iterator[Poly]:
        if poly.terms and poly.constant not in (1, -1) and poly not in seen and -poly not in seen:
            seen.add(poly)
            yield poly

    strides = sorted((d.stride for d in problem.dims), key=size, reverse=True)
    strides += [stride for stride in others if stride.names()]
    for stride in strides:
        yield from fresh(stride)
    for stride in strides:
        content = gcd(*stride.terms.values())
        if content > 1:
            yield from fresh(Poly({m: c // content for m, c in stride.terms.items()}))
        common = _common(stride)
        if common:
            yield from fresh(Poly({common: 1}))
            rest = exact(stride, Poly({common: 1}))
            if rest is not None:
                yield from fresh(rest)
    wide = wide or not problem.dims
    for step in _steps(problem.offset) if wide else ():
        yield from fresh(step)
    named = (*strides, problem.offset) if wide else strides
    for name in sorted({n for poly in named for n in poly.names()}):
        yield from fresh(Poly.var(name))
    constant = problem.offset - Poly.const(problem.offset.terms.get((), 0))
    contents = [c for s in (*strides, constant) for c in s.terms.values()]
    if contents and gcd(*contents) > 1:
        yield from fresh(Poly.const(gcd(*contents)))


def _steps(offset: Poly) -> list[Poly]:
    """Return slopes of the offset in each name, whole and by term, largest first."""
    found: dict[Poly, None] = {}
    for name in sorted(offset.names()):
        slope = offset.coefficient(name) if offset.degree(name) == 1 else Poly.const(0)
        if (
            len(slope.terms) > 1
            and len({coefficient > 0 for coefficient in slope.terms.values()}) == 1
        ):
            found[slope if min(slope.terms.values()) > 0 else -slope] = None
    for mono, coefficient in offset.terms.items():
        for name, _ in mono:
            rest = divide_monomials(mono, ((name, 1),))
            if rest is not None and (rest or abs(coefficient) > 1):
                found[Poly({rest: abs(coefficient)})] = None
    return sorted(found, key=size, reverse=True)[:_STEPS]


def _order(mono: Monomial) -> tuple[int, Monomial]:
    return sum(power for _, power in mono), mono


def size(poly: Poly) -> tuple[int, int]:
    """Rank a stride or divisor by degree and largest coefficient."""
    degree = max((sum(p for _, p in m) for m in poly.terms), default=0)
    return degree, max((abs(c) for c in poly.terms.values()), default=0)


def _common(poly: Poly) -> Monomial:
    """Return the largest monomial that divides all of `poly`."""
    common: dict[str, int] | None = None
    for mono in poly.terms:
        powers = dict(mono)
        if common is None:
            common = powers
        else:
            common = {n: min(p, powers[n]) for n, p in common.items() if n in powers}
    return tuple(sorted((common or {}).items()))


def divide_monomials(mono: Monomial, lead: Monomial) -> Monomial | None:
    """Return `mono / lead`, or None if it does not divide."""
    powers = dict(mono)
    for name, power in lead:
        left = powers.get(name, 0) - power
        if left < 0:
            return None
        powers[name] = left
    return tuple(sorted((n, p) for n, p in powers.items() if p))


def products(poly: Poly) -> list[Monomial]:
    """Return the monomials of degree two or more."""
    return [mono for mono in poly.terms if sum(power for _, power in mono) > 1]
