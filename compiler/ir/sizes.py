"""Convert between scalar expressions and polynomials.

Sizes are polynomials over i64 names; index arithmetic in programs is scalar expressions. Both
directions are exact as long as no i64 computation wraps around.
"""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.base.prim import Prim, int_range
from compiler.ir.nodes import SE, ZERO, Bin, Lit, Un, Var

LOW, HIGH = int_range("i64")


def prim_of(se: SE) -> Prim:
    """Return the type of a scalar expression."""
    return se.prim


def poly_of(se: SE) -> Poly | None:
    """Return an i64 expression of constants, names, `+`, `-` and `*` as a polynomial, else None.

    Also None for a product of long sums, which would have too many terms.
    """
    if type(se) is Var:
        return Poly.var(se.name) if se.prim == "i64" else None
    if type(se) is Lit:
        return Poly.const(int(se.value)) if se.prim == "i64" else None
    if type(se) is Bin and se.at == "i64" and se.op in ("+", "-", "*"):
        left = poly_of(se.lhs)
        right = poly_of(se.rhs) if left is not None else None
        if left is None or right is None:
            return None
        if se.op == "*":
            return left.times(right)
        return left + right if se.op == "+" else left - right
    if type(se) is Un and se.op == "neg" and se.at == "i64":
        inner = poly_of(se.arg)
        return None if inner is None else -inner
    return None


def signed(value: int) -> int:
    """Reduce a number to the range of i64."""
    return (value - LOW) % (HIGH - LOW + 1) + LOW


def wrapped(poly: Poly) -> Poly:
    """Reduce the coefficients of a polynomial to i64, modulo 2**64; usually the same object."""
    for coeff in poly.terms.values():
        if not LOW <= coeff <= HIGH:
            break
    else:
        return poly
    terms = {mono: signed(coeff) for mono, coeff in poly.terms.items()}
    return Poly({mono: coeff for mono, coeff in terms.items() if coeff})


def se_of(poly: Poly) -> SE:
    """Return an i64 expression equal to a polynomial modulo 2**64.

    The order of its terms depends on the polynomial alone.
    """
    result: SE | None = None
    for mono, coeff in sorted(poly.terms.items(), key=lambda t: (-sum(p for _, p in t[0]), t[0])):
        factors: list[SE] = [Var(name, "i64") for name, power in mono for _ in range(power)]
        coeff = signed(coeff)
        subtracted = result is not None and LOW < coeff < 0
        size = -coeff if subtracted else coeff
        if size != 1 or not factors:
            factors.insert(0, Lit(size, "i64"))
        term = factors[0]
        for factor in factors[1:]:
            term = Bin("*", "i64", term, factor)
        op = "-" if subtracted else "+"
        result = term if result is None else Bin(op, "i64", result, term)
    return ZERO if result is None else result
