"""Round exact numbers to floating-point types: to nearest, ties to even."""

from __future__ import annotations

import math
from fractions import Fraction

from compiler.base.prim import Prim

_BITS = {"f16": (11, -24, 16), "f32": (24, -149, 128), "f64": (53, -1074, 1024)}
"""Per type: bits of the significand, exponent of the least number, exponent of overflow."""


def nearest(x: Fraction, at: Prim) -> float:
    """Round `x` to the nearest number of a floating-point type."""
    sign = -1 if x < 0 else 1
    digits, least, over = _BITS[at]
    step = max(_exponent(abs(x)) - digits, least) if x else least
    count = round(x / Fraction(2) ** step)
    if abs(count).bit_length() + step > over:
        return sign * math.inf
    return math.copysign(math.ldexp(count, step), sign)


def _exponent(x: Fraction) -> int:
    """Return the least `e` such that `x < 2**e`."""
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


def nearest_to_text(text: str, at: Prim) -> float:
    """Round a decimal or hexadecimal literal to a floating-point type; may give infinity or 0."""
    plain = text.replace("_", "").lower()
    try:
        near = float.fromhex(plain) if "0x" in plain else float(plain)
    except OverflowError:
        return math.inf
    if at == "f64" or not math.isfinite(near) or near == 0:
        return near
    return nearest(Fraction(near) if "0x" in plain else Fraction(plain), at)
