"""Compute functions of real numbers to any precision, in integer arithmetic.

Each takes fractions and a number of bits `w`, and returns an integer within 2 of the function's
value times 2^w. They decide where machine floating point cannot tell how a value rounds
(`rounding.py`), and are slow: tens of microseconds and more per value. Arguments must give a finite
value. A result larger than 2^1100 raises `OverflowError`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from math import isqrt

_GUARD = 40
"""Guard bits of intermediate steps."""
_MOST = 1100
"""Maximum number of bits before the binary point of a result."""

Real = Callable[..., int]


def fixed(x: Fraction, w: int) -> int:
    """Return `x` times 2^w, rounded down."""
    return (x.numerator << w) // x.denominator


def _size(x: Fraction) -> int:
    """Return the exponent of a power of two above `x`, at most one too large."""
    return x.numerator.bit_length() - x.denominator.bit_length() + 1


def _arctangent(n: int, w: int, sign: int) -> int:
    """Return arctan(1/n) (`sign` -1) or artanh(1/n) (`sign` 1)."""
    power = (1 << w) // n
    total, k = power, 1
    while power:
        power = sign * power // (n * n)
        k += 2
        total += power // k
    return total


@cache
def _pi(w: int) -> int:
    p = w + _GUARD
    return (16 * _arctangent(5, p, -1) - 4 * _arctangent(239, p, -1)) >> _GUARD


@cache
def _ln2(w: int) -> int:
    p = w + _GUARD
    parts = (18, 26), (-2, 4801), (8, 8749)
    return sum(factor * _arctangent(n, p, 1) for factor, n in parts) >> _GUARD


def _constant(made: Callable[[int], int], w: int) -> int:
    """Return a constant to `w` bits; caches few precisions."""
    most = max(256, 1 << (w - 1).bit_length())
    return made(most) >> (most - w)


def pi(w: int) -> int:
    """Return pi."""
    return _constant(_pi, w)


def ln2(w: int) -> int:
    """Return the natural logarithm of 2."""
    return _constant(_ln2, w)


# --- exponentials and logarithms -------------------------------------------------------------


def exp(x: Fraction, w: int, most: int = _MOST) -> int:
    """Return e^x by range reduction, argument halving and the Taylor series."""
    if _size(x) > 12:
        if x > 0:
            raise OverflowError
        return 0
    power = fixed(x, 0) * 3 // 2
    if power > most:
        raise OverflowError
    p = max(w, 0) + max(2 * abs(power), 0) + _GUARD
    turns, rest = divmod(fixed(x, p), ln2(p))
    by = turns + w - p
    grown = _exp_of_part(rest, p)
    return grown << by if by >= 0 else grown >> -by


def _exp_of_part(rest: int, w: int) -> int:
    """Return e^x for 0 <= x < 1."""
    halved = isqrt(w) // 2 + 1
    p = w + 2 * halved
    small = rest << (p - w) >> halved
    total = term = 1 << p
    k = 0
    while term:
        k += 1
        term = (term * small >> p) // k
        total += term
    for _ in range(halved):
        total = total * total >> p
    return total >> (p - w)


def log(x: Fraction, w: int) -> int:
    """Return the natural logarithm: a float approximation corrected by a series."""
    p = w + _GUARD
    power = _size(x)
    part = x / Fraction(2) ** power
    if part < Fraction(3, 4):
        part, power = part * 2, power - 1
    near = Fraction(math.log(part))
    rest = (fixed(part, p) * exp(-near, p) >> p) - (1 << p)
    total, term, k = rest, rest, 1
    while term not in (0, -1):
        k += 1
        term = -(term * rest >> p)
        total += term // k
    return (fixed(near, p) + total + power * ln2(p + 12) // (1 << 12)) >> _GUARD


def _power(base: Fraction, x: Fraction, w: int) -> int:
    """Return `base` to the power of `x`, an integer if the base is negative."""
    if base < 0:
        power = _power(-base, x, w)
        return -power if x.numerator % 2 else power
    size = max(_size(abs(x)), 0)
    about = Fraction(log(base, 60 + size), 1 << (60 + size)) * x
    if about > _MOST:
        raise OverflowError
    if about < -2 * max(w, 0) - 60:
        return 0
    p = w + 2 * max(math.ceil(about), 0) + size + _GUARD
    return exp(Fraction(log(base, p), 1 << p) * x, w)


def _ratio(top: int, bottom: int, w: int) -> int:
    return (top << w) // bottom


def _log_to(base: int, x: Fraction, w: int) -> int:
    p = w + _GUARD
    return _ratio(log(x, p), log(Fraction(base), p), w)


def _exp_of(x: Fraction, w: int) -> tuple[int, int, int]:
    """Return e^x and e^-x, and their precision."""
    p = w + _GUARD
    return exp(x, p), exp(-x, p), p


def _sinh(x: Fraction, w: int) -> int:
    up, down, p = _exp_of(x, w)
    return (up - down) >> (p - w + 1)


def _cosh(x: Fraction, w: int) -> int:
    up, down, p = _exp_of(x, w)
    return (up + down) >> (p - w + 1)


def _tanh(x: Fraction, w: int) -> int:
    if abs(x) > w:
        return (1 << w) if x > 0 else -(1 << w)
    down, p = exp(-2 * abs(x), w + _GUARD), w + _GUARD
    part = _ratio((1 << p) - down, (1 << p) + down, w)
    return part if x > 0 else -part


# --- roots -----------------------------------------------------------------------------------


def sqrt(x: Fraction, w: int) -> int:
    """Return the square root."""
    return isqrt(fixed(x, 2 * w))


def _root(x: Fraction, w: int) -> Fraction:
    """Return the square root as a fraction with `w` fractional bits."""
    return Fraction(sqrt(x, w), 1 << w)


def _cbrt(x: Fraction, w: int) -> int:
    """Return the cube root, by Newton's method from above."""
    if x < 0:
        return -_cbrt(-x, w)
    cube = fixed(x, 3 * w)
    if not cube:
        return 0
    near = 1 << (cube.bit_length() // 3 + 1)
    while True:
        less = (2 * near + cube // (near * near)) // 3
        if less >= near:
            return near
        near = less


def _hypot(x: Fraction, y: Fraction, w: int) -> int:
    return sqrt(x * x + y * y, w)


# --- angles ----------------------------------------------------------------------------------


def _series(x: int, w: int, first: int) -> int:
    """Return the sine (`first` 1) or cosine (`first` 0) of a small angle."""
    square = x * x >> w
    total = term = x if first else 1 << w
    k = first
    while term not in (0, -1):
        term = -(term * square >> w) // ((k + 1) * (k + 2))
        k += 2
        total += term
    return total


def _turned(quarter: int, rest: int, w: int) -> tuple[int, int]:
    """Return sine and cosine of a number of quarter turns plus a remainder."""
    sine, cosine = _series(rest, w, 1), _series(rest, w, 0)
    turned = ((sine, cosine), (cosine, -sine), (-sine, -cosine), (-cosine, sine))
    return turned[quarter % 4]


def sin_cos(x: Fraction, w: int) -> tuple[int, int]:
    """Return the sine and the cosine of an angle."""
    p = w + _GUARD
    more = p + max(_size(abs(x)), 0)
    half = pi(more) // 2
    quarter = (2 * fixed(x, more) + half) // (2 * half)
    sine, cosine = _turned(quarter, (fixed(x, more) - quarter * half) >> (more - p), p)
    return sine >> _GUARD, cosine >> _GUARD


def sin_cos_pi(x: Fraction, w: int) -> tuple[int, int]:
    """Return the sine and the cosine of an angle in half turns."""
    p = w + _GUARD
    quarter = math.floor(2 * x + Fraction(1, 2))
    rest = x - Fraction(quarter, 2)
    sine, cosine = _turned(quarter, fixed(rest * pi(p), 0), p)
    if not rest:
        sine, cosine = ((0, 1 << p), (1 << p, 0), (0, -1 << p), (-1 << p, 0))[quarter % 4]
    return sine >> _GUARD, cosine >> _GUARD


def _tan_by(both: Callable[[Fraction, int], tuple[int, int]], x: Fraction, w: int) -> int:
    """Return the tangent, with extra precision where the cosine is small."""
    p = w + _GUARD
    while True:
        sine, cosine = both(x, p)
        lost = p - abs(cosine).bit_length()
        if p >= w + 2 * lost + _GUARD:
            return _ratio(sine, cosine, w)
        p = w + 2 * lost + 2 * _GUARD


def atan(x: Fraction, w: int) -> int:
    """Return the arc tangent: a float approximation corrected by a series."""
    p = w + _GUARD
    if abs(x) > 1:
        right = pi(p) // 2 if x > 0 else -(pi(p) // 2)
        return (right - atan(1 / x, p)) >> _GUARD
    near = Fraction(math.atan(x))
    sine, cosine = sin_cos(near, p)
    given = fixed(x, p)
    rest = _ratio((given * cosine >> p) - sine, cosine + (given * sine >> p), p)
    square = rest * rest >> p
    total = term = rest
    k = 1
    while term not in (0, -1):
        term = -(term * square >> p)
        k += 2
        total += term // k
    return (fixed(near, p) + total) >> _GUARD


def atan2(y: Fraction, x: Fraction, w: int) -> int:
    """Return the angle of a point that is not the origin."""
    p = w + _GUARD
    if not x:
        return (pi(p) >> (_GUARD + 1)) if y > 0 else -(pi(p) >> (_GUARD + 1))
    angle = atan(y / x, p)
    if x < 0:
        angle += pi(p) if y >= 0 else -pi(p)
    return angle >> _GUARD


def _asin(x: Fraction, w: int) -> int:
    return atan2(x, _root(1 - x * x, 2 * w + _GUARD), w) if x else 0


def _acos(x: Fraction, w: int) -> int:
    return atan2(_root(1 - x * x, 2 * w + _GUARD), x, w)


def _by_pi(function: Real) -> Real:
    """Return the function divided by pi (result in half turns)."""

    def apply(*args: Fraction | int) -> int:
        *given, w = args
        p = int(w) + _GUARD
        return _ratio(function(*given, p), pi(p), int(w))

    return apply


def _asinh(x: Fraction, w: int) -> int:
    p = 2 * w + _GUARD + max(2 * _size(abs(x)), 0)
    grown = log(abs(x) + _root(x * x + 1, p), w)
    return grown if x > 0 else -grown


def _acosh(x: Fraction, w: int) -> int:
    return log(x + _root(x * x - 1, 2 * w + _GUARD), w)


def _atanh(x: Fraction, w: int) -> int:
    return log((1 + x) / (1 - x), w + 1) >> 2


# --- the error function ----------------------------------------------------------------------


def _erf(x: Fraction, w: int) -> int:
    """Return erf by a series of positive terms."""
    if x < 0:
        return -_erf(-x, w)
    if x * x > w + 2:
        return 1 << w
    p = w + _GUARD + math.ceil(2 * x * x)
    square = fixed(x * x, p)
    term = total = fixed(x, p)
    k = 1
    while term:
        k += 2
        term = (term * 2 * square >> p) // k
        total += term
    part = total * exp(-x * x, p) >> p
    return (2 * part << p) // isqrt(pi(p) << p) >> (p - w)


def _erfc(x: Fraction, w: int) -> int:
    p = w + _GUARD
    return ((1 << p) - _erf(x, p)) >> _GUARD


# --- the gamma function ----------------------------------------------------------------------


@cache
def _bernoulli(most: int) -> list[Fraction]:
    """Return B_2, B_4, .. up to B_2most, by the tangent numbers."""
    tangents = [0] * (most + 1)
    tangents[1] = 1
    for k in range(2, most + 1):
        tangents[k] = (k - 1) * tangents[k - 1]
    for k in range(2, most + 1):
        for j in range(k, most + 1):
            tangents[j] = (j - k) * tangents[j - 1] + (j - k + 2) * tangents[j]
    signs = ((-1) ** (k + 1) for k in range(1, most + 1))
    return [
        Fraction(sign * 2 * k * tangents[k], 4**k * (4**k - 1))
        for k, sign in zip(range(1, most + 1), signs, strict=True)
    ]


def _stirling(z: Fraction, w: int) -> int:
    """Return log gamma by Stirling's series; `z` must be large enough for `w` bits."""
    numbers = _bernoulli(1 << (w // 4 + 8).bit_length())
    p = w + _GUARD + max(_size(z), 0)
    half = (log(Fraction(2), p) + log(Fraction(pi(p), 1 << p), p)) // 2
    total = fixed((z - Fraction(1, 2)) * log(z, p), 0) - fixed(z, p) + half
    q = p + _size(abs(numbers[w // 4 + 4]))
    inverse = (1 << 2 * q) // fixed(z, q)
    square = inverse * inverse >> q
    for k, number in enumerate(numbers, start=1):
        term = inverse * number.numerator // (number.denominator * 2 * k * (2 * k - 1)) >> (q - p)
        total += term
        inverse = inverse * square >> q
        if term in (0, -1):
            break
    return total >> (p - w)


def _shifted(x: Fraction, w: int) -> tuple[Fraction, Fraction]:
    """Shift `x` up until Stirling's series applies; also returns the product to divide by."""
    product = Fraction(1)
    while x < w // 6 + 10:
        product *= x
        x += 1
    return x, product


def _gamma(x: Fraction, w: int) -> int:
    if x > 200:
        raise OverflowError
    return _gamma_above(x, w, _MOST) if 2 * x >= 1 else _reflected(x, w)


def _gamma_above(x: Fraction, w: int, most: int) -> int:
    """Return gamma for an argument of at least one half."""
    p = w + _GUARD + 2 * math.ceil(x * max(_size(x), 1))
    return exp(Fraction(_lgamma(x, p), 1 << p), w, most)


def _reflected(x: Fraction, w: int) -> int:
    """Return gamma below one half by reflection: pi / (sin(pi x) * gamma(1 - x))."""
    if x < -190 - w // 8:
        return 0
    near = abs(x - round(x))
    p = w + _GUARD + 2 * max(-_size(near) + 2, 0)
    sine = sin_cos_pi(x, p)[0]
    other = _gamma_above(1 - x, p, 8 * _MOST + 8 * w)
    return (pi(p) << (p + w)) // (sine * other)


def _lgamma(x: Fraction, w: int) -> int:
    """Return the logarithm of the absolute value of gamma."""
    p = w + _GUARD
    if x >= Fraction(1, 2):
        z, product = _shifted(x, p)
        return (_stirling(z, p) - log(product, p)) >> _GUARD
    near = abs(x - round(x))
    q = p + max(-_size(near) + 2, 0)
    sine = Fraction(abs(sin_cos_pi(x, q)[0]), 1 << q)
    turned = log(Fraction(pi(p), 1 << p) / sine, p)
    return (turned - (_lgamma(1 - x, p))) >> _GUARD


FUNCTIONS: dict[str, Real] = {
    "exp": exp,
    "exp2": lambda x, w: _power(Fraction(2), x, w),
    "exp10": lambda x, w: _power(Fraction(10), x, w),
    "log": log,
    "log2": lambda x, w: _log_to(2, x, w),
    "log10": lambda x, w: _log_to(10, x, w),
    "log1p": lambda x, w: log(1 + x, w),
    "**": _power,
    "cbrt": _cbrt,
    "rsqrt": lambda x, w: sqrt(1 / x, w),
    "hypot": _hypot,
    "sin": lambda x, w: sin_cos(x, w)[0],
    "cos": lambda x, w: sin_cos(x, w)[1],
    "tan": lambda x, w: _tan_by(sin_cos, x, w),
    "sinpi": lambda x, w: sin_cos_pi(x, w)[0],
    "cospi": lambda x, w: sin_cos_pi(x, w)[1],
    "tanpi": lambda x, w: _tan_by(sin_cos_pi, x, w),
    "asin": _asin,
    "acos": _acos,
    "atan": atan,
    "atan2": atan2,
    "asinpi": _by_pi(_asin),
    "acospi": _by_pi(_acos),
    "atanpi": _by_pi(atan),
    "atan2pi": _by_pi(atan2),
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "asinh": _asinh,
    "acosh": _acosh,
    "atanh": _atanh,
    "erf": _erf,
    "erfc": _erfc,
    "gamma": _gamma,
    "lgamma": _lgamma,
}
"""Transcendental functions of the numeric modules, and `**`, by name."""
