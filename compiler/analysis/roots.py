"""Recognise integer square roots `i64.f64 (sqrt (f64.i64 n))`, and state their bounds.

Note [Roots are exact]

Let `0 <= n < 2**52` and let r be the integer with `r*r <= n < (r + 1)*(r + 1)`. `n` is a double,
and so is r; rounding is monotonic, so the rounded root is not below r. The root itself is at most
`sqrt ((r + 1)**2 - 1)`, which is below `r + 1` by more than `1 / (2*r + 2)`, no less than `2**-27`.
Doubles below `r + 1 <= 2**26` are at most `2**-27` apart, and rounding moves a value by at most
half of that. So the rounded root is below `r + 1`, and the conversion gives r.
"""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.ir.nodes import SE, Conv, Fun

EXACT = (1 << 52) - 1
"""Largest number whose rounded-down double root is exact."""


def root_of(se: SE) -> SE | None:
    """Return the i64 of which an expression is the rounded-down root, or None."""
    match se:
        case Conv("f64", "i64", Fun("sqrt", "f64", (Conv("i64", "f64", of),))):
            return of
    return None


def facts_of_root(root: Poly, of: Poly) -> tuple[Poly, Poly, Poly]:
    """Return polynomials that are natural for `0 <= of <= EXACT`; see Note [Roots are exact]."""
    square = root * root
    return root, of - square, square + root * 2 - of
