"""Primitive types and operators: their names, ranges and exact meaning.

Integer arithmetic wraps around; division and remainder round towards minus infinity (`/`, `%`) or
towards zero (`//`, `%%`), as in Futhark; shifts by the width or more give 0 (or the sign).
The operators' meaning on values is `apply_bin`, `apply_un`, `convert` and `apply_fun` in
`compiler/ir/scalar.py`; back ends must agree with it bit for bit on integers.
"""

from __future__ import annotations

import math
from typing import Literal, get_args

Prim = Literal["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f16", "f32", "f64", "bool"]

PRIMS: tuple[Prim, ...] = get_args(Prim)
SIGNED: tuple[Prim, ...] = ("i8", "i16", "i32", "i64")
UNSIGNED: tuple[Prim, ...] = ("u8", "u16", "u32", "u64")
INTS: tuple[Prim, ...] = SIGNED + UNSIGNED
FLOATS: tuple[Prim, ...] = ("f16", "f32", "f64")
NUMBERS: tuple[Prim, ...] = INTS + FLOATS

BYTES: dict[Prim, int] = {p: 1 if p == "bool" else int(p[1:]) // 8 for p in PRIMS}

ARITH_OPS = ("+", "-", "*", "/", "%", "//", "%%", "**", "min", "max")
BIT_OPS = ("&", "|", "^", "<<", ">>")
COMPARE_OPS = ("==", "!=", "<", "<=", ">", ">=")
LOGIC_OPS = ("&&", "||")
BIN_OPS = ARITH_OPS + BIT_OPS + COMPARE_OPS + LOGIC_OPS
UN_OPS = ("neg", "not", "abs", "sgn")
"""`neg`: minus; `not`: `!` on bool, bitwise complement on integers; `sgn`: -1, 0 or 1."""


def int_range(prim: Prim) -> tuple[int, int]:
    """Return the smallest and largest value of an integer type, both inclusive."""
    bits = BYTES[prim] * 8
    return (0, 2**bits - 1) if prim[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def alike(a: float, b: float) -> bool:
    """Return True if two scalars are identical: -0.0 and 0.0 differ; a NaN is itself."""
    if a is not b and a != b:
        return False
    return a != 0 or type(a) is not float or math.copysign(1, a) == math.copysign(1, b)


FunKind = Literal["float", "int", "number", "any", "lmad"]

_FLOAT_FUNS = """
    sqrt cbrt exp exp2 exp10 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh
    acosh atanh sinpi cospi tanpi asinpi acospi atanpi gamma lgamma erf erfc floor ceil trunc round
    rsqrt recip
"""

FUNS: dict[str, tuple[int, FunKind, str]] = {
    # name: (arity, which types have it, result: "same", "bool", "i32", or "bits")
    **dict.fromkeys(_FLOAT_FUNS.split(), (1, "float", "same")),
    **dict.fromkeys(("atan2", "atan2pi", "hypot", "copysign", "nextafter"), (2, "float", "same")),
    **dict.fromkeys(("lerp", "fma", "mad"), (3, "float", "same")),
    "isnan": (1, "float", "bool"),
    "isinf": (1, "float", "bool"),
    "to_bits": (1, "float", "bits"),
    "from_bits": (1, "float", "same"),
    "ldexp": (2, "float", "same"),
    "popc": (1, "int", "i32"),
    "clz": (1, "int", "i32"),
    "ctz": (1, "int", "i32"),
    "mul_hi": (2, "int", "same"),
    "mad_hi": (3, "int", "same"),
    "inside_2d": (6, "lmad", "bool"),
    "inside_3d": (8, "lmad", "bool"),
    "inside_4d": (10, "lmad", "bool"),
    "distinct_2d": (4, "lmad", "bool"),
    "distinct_3d": (6, "lmad", "bool"),
    "distinct_4d": (8, "lmad", "bool"),
}
"""Functions of the numeric modules that are neither operators nor definitable by them.

`to_bits` gives the unsigned integer of the same width, `from_bits` takes it (`at` is the float
type in both); the second argument of `ldexp` is i32. `floor`, `ceil`, `trunc` and `round` (half to
even) stay floats. Clamps, sums, tests of bits, `pi`, .. are ordinary definitions over these.

Those of kind "lmad" are at i64 and take the size and stride of each dimension of an LMAD:
`inside_2d(length, start, n1, s1, n2, s2)` is whether the LMAD has no points or
all of them are indices of an array of that length; `distinct_2d(n1, s1, n2, s2)` is whether no two
points are one cell. No module has them; they guard slices by LMADs.
"""


_BITS: dict[Prim, Prim] = {"f16": "u16", "f32": "u32", "f64": "u64"}


def fun_result(fun: str, at: Prim) -> Prim:
    """Return the result type of a function of `prim.FUNS` at type `at`."""
    match FUNS[fun][2]:
        case "bool":
            return "bool"
        case "i32":
            return "i32"
        case "bits":
            return _BITS[at]
    return at


def fun_params(fun: str, at: Prim) -> tuple[Prim, ...]:
    """Return the argument types of a function of `prim.FUNS` at type `at`."""
    if fun == "from_bits":
        return (_BITS[at],)
    if fun == "ldexp":
        return (at, "i32")
    return (at,) * FUNS[fun][0]
