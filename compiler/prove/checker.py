"""Accepts a proof or refuses it.

Shares the polynomials and the certificates with the search, and no line of reasoning: it expands
identities, and follows the steps on a problem of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.ir.poly import Poly
from compiler.prove.certificate import (
    Absurd,
    Apart,
    Dim,
    Flip,
    Join,
    Pivot,
    Proof,
    Relax,
    Signs,
    Split,
    Sum,
    Tidy,
)

Facts = frozenset[Poly]


def accepts(proof: Proof, offset: Poly, dims: Sequence[Dim], facts: Sequence[Poly]) -> bool:
    """Whether `proof` shows that `offset + sum of dims = 0` has no solution under the facts."""
    return _follow(proof, offset, list(dims), frozenset(facts))


def holds(certificate: Sum, claim: Poly, facts: Facts) -> bool:
    """Whether the certificate shows `claim >= 0`: the identity, and that it is made of facts."""
    if certificate.claim != claim or certificate.scale <= 0:
        return False
    total = Poly.const(0)
    for coefficient, factors in certificate.terms:
        if coefficient <= 0 or any(factor not in facts for factor in factors):
            return False
        product = Poly.const(coefficient)
        for factor in factors:
            product = product * factor
        total = total + product
    return total == claim * certificate.scale


def _follow(proof: Proof, offset: Poly, dims: list[Dim], facts: Facts) -> bool:
    match proof:
        case Absurd(because):
            value = because.claim.constant
            return value is not None and value < 0 and holds(because, because.claim, facts)
        case Apart(side, signs, because):
            ends = _ends(dims, signs, facts)
            if ends is None or side not in (1, -1):
                return False
            claim = offset + ends[0] - 1 if side == 1 else -(offset + ends[1]) - 1
            return holds(because, claim, facts)
        case Tidy(rest):
            return _follow(rest, *_tidied(offset, dims), facts)
        case Flip(k, rest):
            if not 0 <= k < len(dims):
                return False
            turned = Dim(-dims[k].stride, -dims[k].high, -dims[k].low)
            return _follow(rest, offset, [*dims[:k], turned, *dims[k + 1 :]], facts)
        case Join():
            return _join(proof, offset, dims, facts)
        case Pivot():
            return _pivot(proof, offset, dims, facts)
        case Split(term, yes, no):
            return _follow(yes, offset, dims, facts | {term}) and _follow(
                no, offset, dims, facts | {-term - 1}
            )
        case Relax(k, first, second, rest):
            if not 0 <= k < len(dims) or first + second != dims[k].stride:
                return False
            parts = [Dim(stride, dims[k].low, dims[k].high) for stride in (first, second)]
            return _follow(rest, offset, [*dims[:k], *parts, *dims[k + 1 :]], facts)
    return False


def _tidied(offset: Poly, dims: list[Dim]) -> tuple[Poly, list[Dim]]:
    order: list[Poly] = []
    low: dict[Poly, Poly] = {}
    high: dict[Poly, Poly] = {}
    for dim in dims:
        stride, down, up = dim.stride, dim.low, dim.high
        if stride == Poly.const(0):
            continue
        if down == up:
            offset = offset + stride * down
            continue
        if -stride in low:
            stride, down, up = -stride, -up, -down
        if stride in low:
            low[stride], high[stride] = low[stride] + down, high[stride] + up
        else:
            order.append(stride)
            low[stride], high[stride] = down, up
    return offset, [Dim(stride, low[stride], high[stride]) for stride in order]


def _ends(dims: Sequence[Dim], signs: Signs, facts: Facts) -> tuple[Poly, Poly] | None:
    """The smallest and largest value of the sum, once the signs of the strides are shown."""
    if len(signs.signs) != len(dims):
        return None
    low, high = Poly.const(0), Poly.const(0)
    for dim, (sign, shown) in zip(dims, signs.signs, strict=True):
        if sign not in (1, -1) or not holds(shown, dim.stride * sign, facts):
            return None
        first, second = (dim.low, dim.high) if sign == 1 else (dim.high, dim.low)
        low, high = low + dim.stride * first, high + dim.stride * second
    return low, high


def _join(proof: Join, offset: Poly, dims: list[Dim], facts: Facts) -> bool:
    outer, inner, factor = proof.outer, proof.inner, proof.factor
    if outer == inner or not (0 <= outer < len(dims) and 0 <= inner < len(dims)):
        return False
    far, near = dims[outer], dims[inner]
    if far.stride != factor * near.stride or not holds(proof.positive, factor, facts):
        return False
    if not holds(proof.covers, near.high - near.low + 1 - factor, facts):
        return False
    merged = Dim(near.stride, factor * far.low + near.low, factor * far.high + near.high)
    left = [merged if k == inner else dim for k, dim in enumerate(dims) if k != outer]
    return _follow(proof.rest, offset, left, facts)


def _pivot(proof: Pivot, offset: Poly, dims: list[Dim], facts: Facts) -> bool:
    g, w0, r = proof.divisor, proof.quotient, proof.remainder
    if not holds(proof.positive, g - 1, facts) or g * w0 + r != offset:
        return False
    if any(not 0 <= k < len(dims) for k in proof.members):
        return False
    inside = [_quotient(dims[k], g) for k in proof.members]
    outside = [dim for k, dim in enumerate(dims) if k not in proof.members]
    ends = _ends(outside, proof.signs, facts)
    if ends is None or any(dim is None for dim in inside):
        return False
    # g*w + r + s = 0, where low <= s <= high: w is neither below `first` nor above `last`.
    if not holds(proof.from_below, -(g * (proof.first - 1)) - r - ends[1] - 1, facts):
        return False
    if not holds(proof.from_above, g * (proof.last + 1) + r + ends[0] - 1, facts):
        return False
    if [case.value for case in proof.cases] != list(range(proof.first, proof.last + 1)):
        return False
    members = [dim for dim in inside if dim is not None]
    for case in proof.cases:
        multiple = (w0 - case.value, members)
        left_over = (g * case.value + r, outside)
        looked, lends = (multiple, left_over) if case.members else (left_over, multiple)
        more = _lent(*lends, case.signs, facts)
        if more is None or not _follow(case.rest, looked[0], list(looked[1]), facts | more):
            return False
    return True


def _lent(offset: Poly, dims: list[Dim], signs: Signs, facts: Facts) -> Facts | None:
    """What the other equation lends: its range holds 0. Without signs it lends nothing."""
    if not signs.signs and dims:
        return frozenset()
    ends = _ends(dims, signs, facts)
    return None if ends is None else frozenset((-(offset + ends[0]), offset + ends[1]))


def _quotient(dim: Dim, divisor: Poly) -> Dim | None:
    """The dimension divided, by long division on the highest monomial; checked by multiplying."""
    rest, found = dim.stride, Poly.const(0)
    lead = max(divisor.terms, key=_rank)
    for _ in range(len(rest.terms) * 8 + 8):
        if rest == Poly.const(0):
            break
        top = max(rest.terms, key=_rank)
        powers = dict(top)
        for name, power in lead:
            powers[name] = powers.get(name, 0) - power
        if min(powers.values(), default=0) < 0 or rest.terms[top] % divisor.terms[lead]:
            return None
        share = rest.terms[top] // divisor.terms[lead]
        piece = Poly({tuple(sorted((n, p) for n, p in powers.items() if p)): share})
        found, rest = found + piece, rest - piece * divisor
    return Dim(found, dim.low, dim.high) if found * divisor == dim.stride else None


def _rank(monomial: tuple[tuple[str, int], ...]) -> tuple[int, tuple[tuple[str, int], ...]]:
    return sum(power for _, power in monomial), monomial
