"""Round functions of real numbers once to a floating-point type."""

from __future__ import annotations

import math
from fractions import Fraction

from compiler.base.nearest import nearest
from compiler.base.prim import Prim
from compiler.ir.multiprecision import FUNCTIONS

_STEPS = (120, 400, 1400)
"""Precisions tried, in bits, until the rounding is decided."""
_OFF = 4
"""Error bound in units of the last computed bit, with a margin."""
_LOST = 10
"""Number of unreliable last bits: where more than these are equal, the value is exact."""


def rounded(fun: str, at: Prim, *args: float) -> float:
    """Return a function of `multiprecision.FUNCTIONS` rounded to a type; its value must be finite.

    A value within 2^-1390 of the midpoint between two numbers counts as the midpoint.
    """
    given = [Fraction(arg) for arg in args]
    for w in _STEPS:
        try:
            found = FUNCTIONS[fun](*given, w)
        except OverflowError:
            is_odd = fun == "sinh" or (fun == "**" and args[1] % 2 == 1)
            return -math.inf if is_odd and args[0] < 0 else math.inf
        low, high = (nearest(Fraction(found + off, 1 << w), at) for off in (-_OFF, _OFF))
        if low == high:
            return nearest(Fraction(found, 1 << w), at)
    return nearest(Fraction(found + _OFF >> _LOST, 1 << (w - _LOST)), at)
