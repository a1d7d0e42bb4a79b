"""Floating-point functions on NumPy values, rounded as accurately as possible.

f16 and f32 are correctly rounded: computed in f64, and where the error of that could matter, for
some ten values in a million, again in multiprecision (`rounding.py`). f64 is computed in the
machine's `long double` and rounded: within 0.51 ulp where that has a significand of 64 bits or
more, as on Linux. Elsewhere it is as accurate as the C library.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.base.prim import Prim
from compiler.ir.rounding import rounded

Val = Any
"""A NumPy scalar or array."""
Function = Callable[..., Val]

_MARGIN = 2.0**-48
"""Assumed relative error of an f64 function: 32 ulp, more than the actual one."""
_PI = {
    DTYPE["f64"]: DTYPE["f64"].type(math.pi),
    np.dtype(np.longdouble): np.longdouble("3.14159265358979323846264338327950288"),
}


@cache
def function(fun: str, at: Prim) -> Function:
    """Return the function of a name in `WIDE` at a type."""
    if at != "f64":
        return _decided(fun, at)
    return _with_square(_of_double(fun)) if fun == "**" else _of_double(fun)


def _with_square(power: Function) -> Function:
    """Return the power whose squares are one product, as the simplifier writes them."""

    def apply(a: Val, b: Val) -> Val:
        if type(b) is np.float64:
            return a * a if b == 2 else power(a, b)
        return np.where(b == 2, a * a, power(a, b))

    return apply


def _of_double(fun: str) -> Function:
    """Return an f64 function computed in `long double`."""
    wide = WIDE[fun]

    def apply(*args: Val) -> Val:
        if all(type(arg) is np.float64 for arg in args):
            return np.float64(wide(*[np.longdouble(arg) for arg in args]))
        given = [np.asarray(arg, np.longdouble) for arg in args]
        return np.asarray(wide(*given)).astype(np.float64)[()]

    return apply


def _decided(fun: str, at: Prim) -> Function:
    """Return a function of a narrower type: in f64, and exactly where rounding is undecided."""
    wide, exact, dtype = WIDE[fun], partial(rounded, fun, at), DTYPE[at]
    of_one = _of_one(fun, at) if fun in _ONE else None

    def apply(*args: Val) -> Val:
        if of_one and all(type(arg) is dtype.type for arg in args):
            one = of_one(*args)
            if one is not None:
                return one
        given = [np.asarray(arg, np.float64) for arg in args]
        found = np.asarray(wide(*given))
        low, high = (found * (1 + off) for off in (-_MARGIN, _MARGIN))
        result = low.astype(dtype)
        unsure = (result != high.astype(dtype)) & np.isfinite(found)
        if unsure.any():
            spread = np.broadcast_arrays(*given)
            for k in np.flatnonzero(unsure):
                result.flat[k] = exact(*(float(arg.flat[k]) for arg in spread))
        return result[()]

    return apply


def _of_one(fun: str, at: Prim) -> Function:
    """Return a scalar version that uses Python's `math`; it returns None where that fails."""
    one, make = _ONE[fun], DTYPE[at].type

    def apply(*args: Val) -> Val:
        given = [float(arg) for arg in args]
        try:
            found = one(*given)
        except (ValueError, OverflowError):
            return None
        low, high = make(found * (1 - _MARGIN)), make(found * (1 + _MARGIN))
        if low == high:
            return low
        return make(rounded(fun, at, *given)) if math.isfinite(found) else None

    return apply


_ONE: dict[str, Callable[..., float]] = {
    **{
        name: getattr(math, name)
        for name in (
            "cbrt exp exp2 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh"
            " acosh atanh atan2 hypot erf erfc gamma"
        ).split()
    },
    "**": math.pow,
}


# --- parts of turns --------------------------------------------------------------------------


def _quarters(x: Val) -> tuple[Val, Val, Val]:
    """Reduce half turns to the nearest quarter turn, and sine and cosine of the remainder."""
    part = np.fmod(x, x.dtype.type(2))
    quarter = np.rint(part * 2)
    angle = (part - quarter / 2) * _PI[x.dtype]
    return quarter, np.sin(angle), np.cos(angle)


def _sinpi(x: Val) -> Val:
    quarter, sine, cosine = _quarters(x)
    turned: Val = np.where(np.fmod(quarter, 2) == 0, sine, cosine)
    found = np.where(
        (quarter == 2) | (quarter == 3) | (quarter < 0) & (quarter > -3), -turned, turned
    )
    return np.where(found == 0, np.copysign(found, x), found)


def _cospi(x: Val) -> Val:
    quarter, sine, cosine = _quarters(np.abs(x))
    turned: Val = np.where(np.fmod(quarter, 2) == 0, cosine, sine)
    found = np.where((quarter == 1) | (quarter == 2), -turned, turned)
    return found + 0


def _tanpi(x: Val) -> Val:
    return _sinpi(x) / _cospi(x)


def _by_pi(function: Function) -> Function:
    """Return the function divided by pi (result in half turns)."""
    return lambda *args: function(*args) / _PI[args[0].dtype]


# --- of the C library ------------------------------------------------------------------------


def _elementwise(fun: str, name: str) -> Function:
    """Return a function that NumPy lacks, from the C library's `long double` version.

    Falls back to multiprecision, which is slow.
    """
    one = _library(name) or partial(_correctly_rounded, fun)
    many = np.frompyfunc(one, 1, 1)
    return lambda x: np.asarray(many(x.astype(np.float64))).astype(np.float64)


def _library(name: str) -> Callable[[float], float] | None:
    try:
        found = ctypes.CDLL(None)[name]
    except (AttributeError, OSError, TypeError):
        return None
    found.argtypes, found.restype = [ctypes.c_longdouble], ctypes.c_longdouble
    return lambda x: float(found(x))


def _correctly_rounded(fun: str, x: float) -> float:
    """Compute by `rounding.py`; handles special values here."""
    if math.isnan(x):
        return x
    if fun in ("gamma", "lgamma"):
        if x == 0:
            return math.copysign(math.inf, x) if fun == "gamma" else math.inf
        if x < 0 and x == math.floor(x):
            return math.nan if fun == "gamma" else math.inf
    if math.isinf(x):
        ends = {"gamma": (math.nan, x), "lgamma": (math.inf, x), "erf": (-1.0, 1.0)}
        return ends.get(fun, (2.0, 0.0))[x > 0]
    return rounded(fun, "f64", x)


WIDE: dict[str, Function] = {
    **{
        name: getattr(np, name)
        for name in "cbrt exp exp2 log log2 log10 log1p sin cos tan sinh cosh tanh hypot".split()
    },
    "**": np.power,
    "exp10": lambda x: np.power(x.dtype.type(10), x),
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "sinpi": _sinpi,
    "cospi": _cospi,
    "tanpi": _tanpi,
    "asinpi": _by_pi(np.arcsin),
    "acospi": _by_pi(np.arccos),
    "atanpi": _by_pi(np.arctan),
    "atan2pi": _by_pi(np.arctan2),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    **{
        fun: _elementwise(fun, name)
        for fun, name in (
            ("gamma", "tgammal"),
            ("lgamma", "lgammal"),
            ("erf", "erfl"),
            ("erfc", "erfcl"),
        )
    },
}
"""Each function on f64 and on `long double`, accurate to a few ulp."""
