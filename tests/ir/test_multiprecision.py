"""Functions of real numbers: known digits, identities, and more bits of the same."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from fractions import Fraction

import pytest

from compiler.base.nearest import nearest
from compiler.ir.multiprecision import FUNCTIONS, fixed, ln2, log, pi, sin_cos, sqrt
from compiler.ir.rounding import rounded

TWO = frozenset(("**", "hypot", "atan2", "atan2pi"))
DOMAIN: dict[str, Callable[[Fraction], bool]] = {
    **dict.fromkeys(("log", "log2", "log10", "**", "rsqrt"), lambda x: x > 0),
    **dict.fromkeys(("asin", "acos", "asinpi", "acospi"), lambda x: abs(x) <= 1),
    **dict.fromkeys(("gamma", "lgamma"), lambda x: x > 0 or x.denominator > 1),
    "log1p": lambda x: x > -1,
    "acosh": lambda x: x >= 1,
    "atanh": lambda x: abs(x) < 1,
    "tanpi": lambda x: (2 * x).denominator > 1,
}


@pytest.mark.parametrize(
    ("fun", "args", "digits"),
    [
        ("exp", ("1",), "2.718281828459045235360287471352662497757"),
        ("log", ("2",), "0.693147180559945309417232121458176568076"),
        ("log10", ("2",), "0.301029995663981195213738894724493026768"),
        ("atan", ("1",), "0.785398163397448309615660845819875721049"),
        ("sin", ("1",), "0.841470984807896506652502321630298999623"),
        ("sinpi", ("1/4",), "0.707106781186547524400844362104849039285"),
        ("cbrt", ("2",), "1.259921049894873164767210607278228350570"),
        ("tanh", ("1",), "0.761594155955764888119458282604793590413"),
        ("erf", ("1",), "0.842700792949714869341220635082609259297"),
        ("erfc", ("2",), "0.004677734981047265837930743632747071389"),
        ("gamma", ("1/2",), "1.772453850905516027298167483341145182798"),
        ("gamma", ("-1/2",), "-3.544907701811032054596334966682290365596"),
        ("lgamma", ("-1/2",), "1.265512123484645396488945797134705923899"),
        ("lgamma", ("100",), "359.134205369575398776044010460286909612"),
    ],
)
def test_known_digits(fun: str, args: tuple[str, ...], digits: str) -> None:
    found = FUNCTIONS[fun](*map(Fraction, args), 200)
    away = abs(Fraction(found, 1 << 200) - Fraction(digits))
    assert away < Fraction(1, 10**35)


def arguments(seed: str) -> list[Fraction]:
    """Numbers near 1, small and large ones."""
    of = random.Random(seed)
    spans = [(-6, 1), (-1, 3), (2, 7), (-200, -20), (-60, 7)]
    return [
        Fraction(math.ldexp(of.uniform(-1, 1), of.randrange(*span))) for span in spans for _ in "ab"
    ]


@pytest.mark.parametrize("fun", sorted(FUNCTIONS))
def test_fewer_bits_are_those_of_more(fun: str) -> None:
    function, fits = FUNCTIONS[fun], DOMAIN.get(fun, lambda _: True)
    for x, y in zip(arguments(fun), arguments(fun[::-1]), strict=True):
        args = (abs(x) if fun == "**" else x, y) if fun in TWO else (x,)
        if not fits(args[0]):
            continue
        for w in (20, 130, 700):
            more = Fraction(function(*args, w + 190), 1 << 190)
            assert abs(function(*args, w) - more) <= 2, (args, w)


def test_identities() -> None:
    w = 300
    x = Fraction(0.7)
    one = 1 << w
    sine, cosine = sin_cos(x, w)
    assert abs(sine * sine + cosine * cosine - one * one) < one << 4
    assert abs(FUNCTIONS["exp"](Fraction(log(x, w), one), w) - fixed(x, w)) < 8
    assert abs(FUNCTIONS["gamma"](x + 1, w) - fixed(x * FUNCTIONS["gamma"](x, w), 0)) < 8
    assert abs(FUNCTIONS["gamma"](Fraction(1, 2), w) - sqrt(Fraction(pi(w), one), w)) < 8
    assert abs(log(Fraction(2), w) - ln2(w)) < 8
    assert abs(FUNCTIONS["erf"](x, w) + FUNCTIONS["erfc"](x, w) - one) < 8


def test_what_is_too_large_is_refused() -> None:
    for fun, args in (("exp", (1000,)), ("cosh", (-1e9,)), ("gamma", (201,)), ("**", (2, 1101))):
        with pytest.raises(OverflowError):
            FUNCTIONS[fun](*map(Fraction, args), 60)
    assert rounded("sinh", "f64", -1e300) == -math.inf


@pytest.mark.parametrize(
    ("x", "at", "expected"),
    [
        ("65519.999", "f16", 65504.0),
        ("65520", "f16", math.inf),
        ("-65520", "f16", -math.inf),
        ("340282356779733661637539395458142568447", "f32", 3.4028234663852886e38),
        ("340282356779733661637539395458142568448", "f32", math.inf),
        ("2049", "f16", 2048.0),
        ("2051", "f16", 2052.0),
        ("2049.0000000000000000001", "f16", 2050.0),
        ("1/33554432", "f16", 0.0),
        ("3/67108864", "f16", 2.0**-24),
        ("0", "f32", 0.0),
        ("1/3", "f64", 1 / 3),
    ],
)
def test_nearest(x: str, at: str, expected: float) -> None:
    assert nearest(Fraction(x), at) == expected  # type: ignore[arg-type]


def test_a_number_that_becomes_zero_keeps_its_sign() -> None:
    assert math.copysign(1, nearest(Fraction(-1, 1 << 2000), "f64")) == -1
    assert math.copysign(1, rounded("sin", "f16", -5e-300)) == -1
