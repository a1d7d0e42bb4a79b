"""Exact numbers rounded to the floating-point types, once: to the nearest, ties to even."""

from __future__ import annotations

import math
from fractions import Fraction

from compiler.base.prim import Prim

_BITS = {"f16": (11, -24, 16), "f32": (24, -149, 128), "f64": (53, -1074, 1024)}
"""Binary digits of a type, the power of two of its smallest number, and that of what overflows."""


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


def nearest_to_text(text: str, at: Prim) -> float:
    """The number of a type that is nearest to a decimal or hexadecimal one; infinity, or 0."""
    plain = text.replace("_", "").lower()
    try:
        near = float.fromhex(plain) if "0x" in plain else float(plain)
    except OverflowError:
        return math.inf
    if at == "f64" or not math.isfinite(near) or near == 0:
        return near
    return nearest(Fraction(near) if "0x" in plain else Fraction(plain), at)
