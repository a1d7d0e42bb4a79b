"""The functions of f16 and f32 are correctly rounded, those of f64 within one unit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from compiler.base.dtypes import DTYPE
from compiler.base.prim import Prim
from compiler.ir import floats
from compiler.ir.multiprecision import FUNCTIONS
from compiler.ir.rounding import rounded
from compiler.ir.scalar import apply_bin, apply_fun

TWO = frozenset(("**", "hypot", "atan2", "atan2pi"))
TIMES_TEN = (1e308, 10.0)


def bits(value: float, at: Prim) -> int:
    return int(DTYPE[at].type(value).view(f"u{DTYPE[at].itemsize}"))


def value(fun: str, at: Prim, *args: float) -> Any:
    given = tuple(DTYPE[at].type(arg) for arg in args)
    with np.errstate(all="ignore"):
        return apply_bin(fun, at, *given) if fun == "**" else apply_fun(fun, at, given)


@pytest.mark.parametrize(
    ("fun", "at", "args", "expected"),
    [
        ("fma", "f64", (*TIMES_TEN, 1e308), math.inf),
        ("fma", "f64", (*TIMES_TEN, -math.inf), -math.inf),
        ("fma", "f64", (*TIMES_TEN, -1e308), math.inf),
        ("fma", "f64", (-1e308, 10.0, 1e308), -math.inf),
        ("fma", "f64", (1e308, 1.0, -1e308), 0.0),
        ("fma", "f64", (-0.0, 1.0, -0.0), -0.0),
        ("fma", "f32", (1 + 2.0**-12, 1 + 2.0**-12, 2.0**-60), 1 + 2.0**-11 + 2.0**-23),
        ("fma", "f16", (1 + 2.0**-6, 1 + 2.0**-5, 2.0**-24), 1.0478515625),
        ("**", "f32", (1 + 2.0**-12, 2.0), 1 + 2.0**-11),
        ("**", "f32", (-1 - 2.0**-12, 2.0), 1 + 2.0**-11),
        ("**", "f32", (-1 - 2.0**-8, 3.0), -1.0117645263671875),
        ("**", "f16", (3.0, 7.0), 2188.0),
        ("atan2", "f16", (3 * 2.0**-24, 2.0), 2.0**-24),
        ("gamma", "f64", (-1e-320,), -math.inf),
        ("gamma", "f64", (1e-320,), math.inf),
        ("gamma", "f64", (-math.inf,), math.nan),
        ("gamma", "f64", (-2.0,), math.nan),
        ("lgamma", "f64", (-2.0,), math.inf),
        ("lgamma", "f64", (-2.457024738220801,), -6.168712140884665e-16),
        ("lgamma", "f64", (-2.747682646727413,), 1.0234931857070284e-15),
        ("lgamma", "f64", (1e306,), math.inf),
        ("cbrt", "f64", (0.75413160949886815,), 0.9102256050142399),
        ("sinpi", "f16", (0.25,), 0.70703125),
        ("sinpi", "f16", (1023.5,), -1.0),
        ("sinpi", "f64", (1.0,), 0.0),
        ("sinpi", "f64", (-1.0,), -0.0),
        ("tanpi", "f64", (0.5,), math.inf),
        ("tanpi", "f64", (1.5,), -math.inf),
        ("tanpi", "f64", (1.0,), -0.0),
        ("asinpi", "f16", (1.0,), 0.5),
        ("acospi", "f16", (-1.0,), 1.0),
        ("rsqrt", "f64", (-0.0,), -math.inf),
    ],
)
def test_values_that_are_easily_wrong(
    fun: str, at: Prim, args: tuple[float, ...], expected: float
) -> None:
    found = value(fun, at, *args)
    assert math.isnan(expected) if np.isnan(found) else bits(found, at) == bits(expected, at)


def borders(fun: str, at: Prim) -> list[float]:
    """Numbers of all sizes and near the ends of types and domains."""
    of = np.random.default_rng(len(fun))
    size = DTYPE[at].itemsize
    every = of.integers(0, 2 ** (8 * size) - 1, 12, dtype=f"u{size}").view(DTYPE[at])
    near = of.uniform(-9, 9, 12).astype(DTYPE[at])
    within = of.uniform(-1, 1, 12).astype(DTYPE[at])
    ends = [0.5, 1.0, -1.0, 2.0, np.finfo(DTYPE[at]).tiny, np.finfo(DTYPE[at]).smallest_subnormal]
    return [float(x) for x in (*every, *near, *within, *ends) if np.isfinite(x)]


def test_what_may_be_unsure_can_be_decided() -> None:
    assert floats.WIDE.keys() == FUNCTIONS.keys()


CASES = [(fun, at) for fun in sorted(FUNCTIONS) for at in ("f16", "f32", "f64")]


@pytest.mark.parametrize(("fun", "at"), CASES)
def test_functions_round_as_the_real_value_does(fun: str, at: Prim) -> None:
    xs = borders(fun, at)
    if fun in ("**", "rsqrt"):
        xs = [abs(x) for x in xs]
    args = (xs, borders(fun + "2", at)[: len(xs)]) if fun in TWO else (xs,)
    given = list(zip(*args, strict=False))
    if fun in ("gamma", "erfc") and at == "f64":
        given = [one for one in given if 1e-3 < abs(one[0]) < 25]
    columns = [np.array(column, DTYPE[at]) for column in zip(*given, strict=True)]
    with np.errstate(all="ignore"):
        found = floats.function(fun, at)(*columns)
    for arg, got in zip(given, found, strict=True):
        if not math.isfinite(got) or got == 0:
            continue  # the ends are in the table above
        exact = rounded(fun, at, *arg)
        units = abs(float(got) - exact) / math.ulp(exact) if exact else math.inf
        assert float(got) == exact or (at == "f64" and units <= 1), (arg, got, exact)
        assert value(fun, at, *arg) == got, "a scalar is as an array"


@pytest.mark.parametrize("off", [-1.0, 1.0])
@pytest.mark.parametrize("at", ["f16", "f32"])
def test_errors_of_the_wider_type_do_not_matter(
    at: Prim, off: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a square that is off by as much as is allowed for: also the middle of two numbers."""

    def square(x: Any) -> Any:
        return x * x * (1 + off * floats._MARGIN * 0.99)

    monkeypatch.setitem(floats.WIDE, "square", square)
    monkeypatch.setitem(FUNCTIONS, "square", lambda x, w: (x * x * (1 << w)).__floor__())
    step = np.finfo(DTYPE[at]).eps
    xs = (1 + step * np.arange(4096)).astype(DTYPE[at])
    np.testing.assert_array_equal(floats._decided("square", at)(xs), xs * xs)
