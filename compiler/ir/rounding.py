"""Real numbers rounded to the floating-point types, once: to the nearest, ties to even."""

from __future__ import annotations

import math
from fractions import Fraction

from compiler.base.prim import Prim
from compiler.ir.real import FUNCTIONS

_BITS = {"f16": (11, -24, 16), "f32": (24, -149, 128), "f64": (53, -1074, 1024)}
"""Binary digits of a type, the power of two of its smallest number, and that of what overflows."""

_STEPS = (120, 400, 1400)
"""To how many bits a function is computed until they tell how it rounds."""
_OFF = 4
"""Of how many units of the last of these bits the value may be off, and more."""
_LOST = 10
"""How many of the last bits tell nothing: where more than these are equal, the value is."""


def nearest(x: Fraction, at: Prim) -> float:
    """The number of a type that is nearest to `x`."""
    sign = -1 if x < 0 else 1
    digits, least, over = _BITS[at]
    step = max(_exponent(abs(x)) - digits, least) if x else least
    count = round(x / Fraction(2) ** step)
    if abs(count).bit_length() + step > over:
        return sign * math.inf
    return math.copysign(math.ldexp(count, step), sign)


def _exponent(x: Fraction) -> int:
    """The smallest power of two above `x`."""
    power = x.numerator.bit_length() - x.denominator.bit_length()
    top, bottom = (
        (x.numerator, x.denominator << power)
        if power >= 0
        else (
            x.numerator << -power,
            x.denominator,
        )
    )
    return power if top < bottom else power + 1


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
