"""Functions of real numbers, rounded once to a floating-point type."""

from __future__ import annotations

import math
from fractions import Fraction

from compiler.base.nearest import nearest
from compiler.base.prim import Prim
from compiler.ir.multiprecision import FUNCTIONS

_STEPS = (120, 400, 1400)
"""To how many bits a function is computed until they tell how it rounds."""
_OFF = 4
"""Of how many units of the last of these bits the value may be off, and more."""
_LOST = 10
"""How many of the last bits tell nothing: where more than these are equal, the value is."""


def rounded(fun: str, at: Prim, *args: float) -> float:
    """A function of `real.FUNCTIONS`, rounded to a type; at arguments where it is finite.

    What is within 2^-1390 of the middle between two numbers is taken to lie there.
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
