"""Index arithmetic: polynomials and LMADs as readable, cheap scalar expressions.

A cell's address is nested where the strides permit it, `(i*n + j)*m + k`, so that strength
reduction finds the loop invariants and a reader finds the row and the column.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Monomial, Poly
from compiler.ir.nodes import ONE, SE, ZERO, Bin, Lit, Var
from compiler.ir.sizes import signed

SMALL = 1 << 40


def add(lhs: SE, rhs: SE) -> SE:
    """Return `lhs + rhs` at i64, without zeros; subtracts negative literals."""
    if type(rhs) is Lit:
        if rhs.value == 0:
            return lhs
        if type(lhs) is Lit:
            return _number(int(lhs.value) + int(rhs.value))
        if -(1 << 63) < rhs.value < 0:
            return Bin("-", "i64", lhs, Lit(-int(rhs.value), "i64"))
    elif type(lhs) is Lit and lhs.value == 0:
        return rhs
    if type(rhs) is Bin and rhs.op == "*" and type(rhs.rhs) is Lit and _is_taken(rhs.rhs):
        return sub(lhs, mul(rhs.lhs, Lit(-int(rhs.rhs.value), "i64")))
    return Bin("+", "i64", lhs, rhs)


def _number(value: int) -> Lit:
    """Return a literal reduced to 64 bits."""
    return Lit(signed(value), "i64")


def _is_taken(factor: Lit) -> bool:
    """True if a multiple reads better as a subtraction of its negation."""
    return -(1 << 63) < factor.value < 0


def sub(lhs: SE, rhs: SE) -> SE:
    """Return `lhs - rhs` at i64, without zeros."""
    if type(rhs) is Lit:
        return add(lhs, _number(-int(rhs.value)))
    return Bin("-", "i64", lhs, rhs)


def mul(lhs: SE, rhs: SE) -> SE:
    """Return `lhs * rhs` at i64, without zeros and ones; a literal goes to the right."""
    if type(lhs) is Lit:
        lhs, rhs = rhs, lhs
    if type(rhs) is Lit:
        if rhs.value == 0:
            return ZERO
        if rhs.value == 1:
            return lhs
        if type(lhs) is Lit:
            return _number(int(lhs.value) * int(rhs.value))
    return Bin("*", "i64", lhs, rhs)


def minimum(lhs: SE, rhs: SE) -> SE:
    """Return the smaller of two i64 expressions."""
    return lhs if lhs == rhs else Bin("min", "i64", lhs, rhs)


def parts_of(size: SE, each: SE) -> SE:
    """Return the number of parts of size `each`, rounded up."""
    return Bin("//", "i64", add(size, sub(each, ONE)), each)


def product(factors: Sequence[SE]) -> SE:
    """Return the product of i64 expressions, 1 if there are none."""
    result: SE = ONE
    for factor in factors:
        result = mul(result, factor)
    return result


def poly_exp(poly: Poly) -> SE:
    """Return a polynomial as an expression, by Horner's rule on the most frequent variable."""
    constant = poly.constant
    if constant is not None:
        return _number(constant)
    return _horner(poly.terms)


def _horner(terms: dict[Monomial, int]) -> SE:
    if len(terms) == 1:
        ((mono, coeff),) = terms.items()
        factors: list[SE] = [Var(name, "i64") for name, power in mono for _ in range(power)]
        return mul(product(factors), _number(coeff))
    counts: dict[str, int] = {}
    for mono in terms:
        for name, _ in mono:
            counts[name] = counts.get(name, 0) + 1
    best = max(counts, key=lambda name: counts[name])
    if counts[best] == 1:
        total: SE = ZERO
        for mono, coeff in sorted(terms.items(), key=_positive_long_first):
            total = add(total, _horner({mono: coeff}))
        return total
    with_best: dict[Monomial, int] = {}
    without: dict[Monomial, int] = {}
    for mono, coeff in terms.items():
        powers = dict(mono)
        if best in powers:
            powers[best] -= 1
            with_best[tuple((n, p) for n, p in powers.items() if p)] = coeff
        else:
            without[mono] = coeff
    head = mul(_horner(with_best), Var(best, "i64"))
    return add(head, _horner(without)) if without else head


def _positive_long_first(item: tuple[Monomial, int]) -> tuple[bool, int, Monomial]:
    mono, coeff = item
    return (coeff < 0, -sum(power for _, power in mono), mono)


def is_plain(count: SE) -> bool:
    """True if a number of elements is a product of variables, up to small constants.

    A negative product then means that a factor is negative, so that there are no elements.
    """
    match count:
        case Var():
            return True
        case Bin("*", "i64", lhs, rhs):
            return all(is_plain(one) or isinstance(one, Lit) for one in (lhs, rhs))
        case Bin("+" | "-", "i64", Var(), Lit(value, _)):
            return abs(value) <= SMALL
    return False


def quotient(poly: Poly, by: Poly) -> Poly | None:
    """Return `poly / by` if `by` is a single term that divides every term, else None."""
    if len(by.terms) != 1:
        return Poly.const(1) if poly == by and by.terms else None
    ((divisor, scale),) = by.terms.items()
    result: dict[Monomial, int] = {}
    for mono, coeff in poly.terms.items():
        powers = dict(mono)
        for name, power in divisor:
            left = powers.get(name, 0) - power
            if left < 0:
                return None
            powers[name] = left
        if coeff % scale:
            return None
        result[tuple((n, p) for n, p in powers.items() if p)] = coeff // scale
    return Poly(result)


def cell(lmad: Lmad[Poly], at: Sequence[SE]) -> SE:
    """Return the cell of element `at` as an expression; `at` may index leading dimensions only."""
    pairs = [
        (i, dim.stride)
        for i, dim in zip(at, lmad.dims, strict=False)
        if not (type(i) is Lit and i.value == 0) and dim.stride.terms
    ]
    offset = poly_exp(lmad.offset)
    total: SE = ZERO
    inner: SE | None = None
    for k, (i, stride) in enumerate(pairs):
        inner = i if inner is None else add(inner, i)
        factor = quotient(stride, pairs[k + 1][1]) if k + 1 < len(pairs) else None
        if factor is None:
            total = add(total, mul(inner, poly_exp(stride)))
            inner = None
        else:
            inner = mul(inner, poly_exp(factor))
    return add(offset, total) if total != ZERO else offset


def row_major(at: Sequence[SE], shape: Sequence[SE]) -> SE:
    """Return the position of point `at` in row-major order of `shape`."""
    total: SE = ZERO
    for i, size in zip(at, shape, strict=True):
        total = add(mul(total, size), i)
    return total
