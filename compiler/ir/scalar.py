"""Reference semantics of every operator, conversion and function, on NumPy scalars and arrays.

Integers wrap around. Division by an integer zero gives 0 here (programs guard it by an assertion).
Functions take and return NumPy values of the types in `dtypes.DTYPE`, elementwise for arrays.
Callers silence NumPy's warnings with `np.errstate(all="ignore")`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompilerBug
from compiler.base.nearest import nearest
from compiler.base.prim import BYTES, FLOATS, FUNS, Prim
from compiler.ir import floats
from compiler.ir.guards import distinct, inside

Val = Any
"""A NumPy scalar or array."""


def apply_bin(op: str, at: Prim, a: Val, b: Val) -> Val:
    """Apply a binary operator to operands of type `at`."""
    return bin_function(op, at)(a, b)


def apply_un(op: str, at: Prim, a: Val) -> Val:
    """Apply a unary operator at type `at`."""
    return un_function(op, at)(a)


def apply_fun(fun: str, at: Prim, args: tuple[Val, ...]) -> Val:
    """Apply a function of `prim.FUNS` at type `at`."""
    return fun_function(fun, at)(*args)


# --- operators -------------------------------------------------------------------------------


@cache
def bin_function(op: str, at: Prim) -> Callable[[Val, Val], Val]:
    """Return the function of a binary operator."""
    if op in _ANY:
        return _ANY[op]
    if op == "**" and at in FLOATS:
        return floats.function(op, at)
    kind = at if at == "bool" else "float" if at[0] == "f" else "int"
    found = _BY_KIND.get((op, kind))
    if found is None:
        raise CompilerBug(f"there is no operator `{op}` at {at}")
    return found


def _quot(a: Val, b: Val) -> Val:
    """Divide integers, rounding towards zero."""
    down = np.floor_divide(a, b)
    inexact = (np.remainder(a, b) != 0) & ((a < 0) != (b < 0)) & (b != 0)
    return down + inexact.astype(down.dtype)


def _int_pow(a: Val, b: Val) -> Val:
    """Compute a power by squaring, modulo the width; the exponent is read as unsigned."""
    dtype = np.result_type(a, b)
    base = np.asarray(a, dtype)
    bits = np.asarray(b).astype(f"u{dtype.itemsize}")
    result = np.ones(np.broadcast_shapes(base.shape, bits.shape), dtype)
    while bits.any():
        result = np.where(bits & bits.dtype.type(1), result * base, result).astype(dtype)
        base = base * base
        bits = bits >> bits.dtype.type(1)
    return result[()]


_ANY: dict[str, Callable[[Val, Val], Val]] = {
    "==": np.equal,
    "!=": np.not_equal,
    "<": np.less,
    "<=": np.less_equal,
    ">": np.greater,
    ">=": np.greater_equal,
    "&&": np.logical_and,
    "||": np.logical_or,
}

_BY_KIND: dict[tuple[str, str], Callable[[Val, Val], Val]] = {
    **{("+", k): np.add for k in ("int", "float")},
    **{("-", k): np.subtract for k in ("int", "float")},
    **{("*", k): np.multiply for k in ("int", "float")},
    ("/", "int"): np.floor_divide,
    ("/", "float"): np.divide,
    ("%", "int"): np.remainder,
    ("%", "float"): np.fmod,
    ("//", "int"): _quot,
    ("%%", "int"): np.fmod,
    ("**", "int"): _int_pow,
    ("min", "int"): np.minimum,
    ("max", "int"): np.maximum,
    ("min", "float"): np.fmin,
    ("max", "float"): np.fmax,
    **{("&", k): np.bitwise_and for k in ("int", "bool")},
    **{("|", k): np.bitwise_or for k in ("int", "bool")},
    **{("^", k): np.bitwise_xor for k in ("int", "bool")},
    ("<<", "int"): np.left_shift,
    (">>", "int"): np.right_shift,
}


@cache
def un_function(op: str, at: Prim) -> Callable[[Val], Val]:
    """Return the function of a unary operator."""
    if op == "not":
        return np.logical_not if at == "bool" else np.invert
    if at != "bool" and op in _UNARY:
        return _UNARY[op]
    raise CompilerBug(f"there is no operator `{op}` at {at}")


_UNARY: dict[str, Callable[[Val], Val]] = {"neg": np.negative, "abs": np.abs, "sgn": np.sign}

# --- conversions -----------------------------------------------------------------------------


def convert(src: Prim, dst: Prim, a: Val) -> Val:
    """Convert a value with the meaning of `nodes.Conv`."""
    if dst == "bool":
        return np.not_equal(a, DTYPE[src].type(0))
    if src[0] == "f" and dst[0] in "iu":
        return _float_to_int(a, dst)
    return a.astype(DTYPE[dst])


def _float_to_int(a: Val, dst: Prim) -> Val:
    """Convert via a 32-bit or 64-bit integer; all steps are exact."""
    wide = np.trunc(np.asarray(a, np.float64))
    half = 2.0 ** (63 if BYTES[dst] == 8 else 31)
    if dst in ("u32", "u64"):
        wide = np.where((wide >= half) & (wide < 2 * half), wide - 2 * half, wide)
    fitting = np.where((wide >= -half) & (wide < half), wide, -half)
    return np.where(np.isfinite(wide), fitting, 0.0).astype(np.int64).astype(DTYPE[dst])[()]


# --- functions -------------------------------------------------------------------------------


@cache
def fun_function(fun: str, at: Prim) -> Callable[..., Val]:
    """Return the function of a name in `prim.FUNS` at type `at`."""
    if fun in floats.WIDE:
        return floats.function(fun, at)
    if fun in _DIRECT:
        return _DIRECT[fun]
    if FUNS[fun][1] == "lmad":
        return _guard(fun)
    by_type = _BY_TYPE.get(fun)
    if by_type is None:
        raise CompilerBug(f"there is no function `{fun}`")
    return partial(by_type, at)


def _guard(fun: str) -> Callable[..., Val]:
    """Return a guard of LMAD slices, elementwise."""
    one = inside if fun.startswith("inside") else distinct
    many = np.frompyfunc(one, FUNS[fun][0], 1)
    return lambda *args: np.asarray(many(*args)).astype(bool)[()]


def _recip(x: Val) -> Val:
    return x.dtype.type(1) / x


def _mad(a: Val, b: Val, c: Val) -> Val:
    return a * b + c


def _lerp(a: Val, b: Val, t: Val) -> Val:
    return a + (b - a) * t


_DIRECT: dict[str, Callable[..., Val]] = {
    **{
        name: getattr(np, name)
        for name in "sqrt floor ceil trunc copysign nextafter isnan isinf".split()
    },
    "round": np.rint,
    "recip": _recip,
    "mad": _mad,
    "lerp": _lerp,
}
"""Functions that NumPy rounds correctly, and those made of arithmetic steps."""


def _unsigned(at: Prim, x: Val) -> Val:
    return x.view(f"u{BYTES[at]}")


def _popc(at: Prim, x: Val) -> Val:
    return np.bitwise_count(_unsigned(at, x)).astype(np.int32)


def _clz(at: Prim, x: Val) -> Val:
    bits = _unsigned(at, x)
    shift = 1
    while shift < BYTES[at] * 8:
        bits = bits | (bits >> bits.dtype.type(shift))
        shift *= 2
    return (BYTES[at] * 8 - np.bitwise_count(bits).astype(np.int32)).astype(np.int32)


def _ctz(at: Prim, x: Val) -> Val:
    bits = _unsigned(at, x)
    one = bits.dtype.type(1)
    return np.bitwise_count(~bits & (bits - one)).astype(np.int32)


def _mul_hi(at: Prim, a: Val, b: Val) -> Val:
    """Return the upper half of the product."""
    width = BYTES[at] * 8
    if width < 64:
        wide = "i8" if at[0] == "i" else "u8"
        product = a.astype(wide) * b.astype(wide)
        return (product >> product.dtype.type(width)).astype(DTYPE[at])
    exact = np.asarray(a).astype(object) * np.asarray(b).astype(object)
    return np.asarray(exact >> width).astype(DTYPE[at])[()]


def _mad_hi(at: Prim, a: Val, b: Val, c: Val) -> Val:
    return _mul_hi(at, a, b) + c


def _to_bits(at: Prim, x: Val) -> Val:
    return x.view(f"u{BYTES[at]}")


def _from_bits(at: Prim, x: Val) -> Val:
    return x.view(DTYPE[at])


def _ldexp(at: Prim, x: Val, power: Val) -> Val:
    return np.ldexp(x, power).astype(DTYPE[at])


def _fma(at: Prim, a: Val, b: Val, c: Val) -> Val:
    """Multiply and add with a single rounding."""
    many = np.frompyfunc(partial(_fused, at), 3, 1)
    given = (np.asarray(arg, np.float64) for arg in (a, b, c))
    return np.asarray(many(*given)).astype(DTYPE[at])[()]


def _fused(at: Prim, a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    return nearest(exact, at) if exact else a * b + c


_BY_TYPE: dict[str, Callable[..., Val]] = {
    "popc": _popc,
    "clz": _clz,
    "ctz": _ctz,
    "mul_hi": _mul_hi,
    "mad_hi": _mad_hi,
    "to_bits": _to_bits,
    "from_bits": _from_bits,
    "ldexp": _ldexp,
    "fma": _fma,
}
