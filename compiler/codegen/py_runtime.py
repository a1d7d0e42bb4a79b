"""Runtime of generated Python programs: exact arithmetic on plain ints, floats and bools.

Integers are Python ints in their type's range, floats are Python floats representable in the type.
`wrap` and rounding follow each operation, so that values are those of the core language.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from compiler.base.dtypes import DTYPE
from compiler.base.prim import BYTES, INTS, Prim, fun_params, int_range
from compiler.ir import scalar

inf = math.inf
nan = math.nan


def at_least_none(count: int) -> int:
    """Return a number of elements; small negative ones count as 0, unlike wrapped ones."""
    return 0 if -(1 << 62) < count < 0 else count


def _wrapper(prim: Prim) -> Callable[[int], int]:
    low, high = int_range(prim)
    size = high - low + 1

    def wrap(value: int) -> int:
        return value if low <= value <= high else (value - low) % size + low

    return wrap


_WRAP = {prim: _wrapper(prim) for prim in INTS}
i8, i16, i32, i64, u8, u16, u32, u64 = (_WRAP[p] for p in INTS)


def f32(value: float) -> float:
    """Round to single precision."""
    return ctypes.c_float(value).value


def f16(value: float) -> float:
    """Round to half precision."""
    with np.errstate(all="ignore"):
        return float(np.float16(value))


def f64(value: float) -> float:
    """Return the value unchanged."""
    return value


def div(a: float, b: float) -> float:
    """Divide floats; division by zero gives an infinity or NaN."""
    if b:
        return a / b
    if a == 0 or a != a or b != b:
        return nan
    return math.copysign(inf, a) * math.copysign(1.0, b)


def quot(a: int, b: int) -> int:
    """Divide integers towards zero."""
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def rem(a: int, b: int) -> int:
    """Return the remainder of `quot`."""
    return a - b * quot(a, b)


def fmin(a: float, b: float) -> float:
    """Return the smaller; a number rather than NaN."""
    return a if a < b or b != b else b


def fmax(a: float, b: float) -> float:
    """Return the larger; a number rather than NaN."""
    return a if a > b or b != b else b


def sgn(a: float) -> float:
    """Return -1, 0 or 1."""
    return type(a)((a > 0) - (a < 0)) if a == a else a


def shl(a: int, b: int, bits: int) -> int:
    """Shift left; by the width or more it gives 0."""
    return a << b if 0 <= b < bits else 0


def shr(a: int, b: int, bits: int) -> int:
    """Shift right; by the width or more it gives the sign."""
    return a >> b if 0 <= b < bits else -(a < 0)


def ipow(a: int, b: int, bits: int) -> int:
    """Compute a power modulo the width; negative exponents are read as unsigned."""
    return pow(a, b % (1 << bits), 1 << bits)


def to_int(value: float, prim: Prim) -> int:
    """Truncate through a signed integer of 32 bits, or of 64; see `nodes.Conv`."""
    if not math.isfinite(value):
        return 0
    whole = int(value)
    half = 1 << (63 if BYTES[prim] == 8 else 31)
    most = 2 * half if prim in ("u32", "u64") else half
    return _WRAP[prim](whole if -half <= whole < most else -half)


def fun(name: str, prim: Prim, *args: Any) -> Any:
    """Apply a function of the numeric modules by name."""
    given = tuple(DTYPE[p].type(a) for p, a in zip(fun_params(name, prim), args, strict=True))
    with np.errstate(all="ignore"):
        return scalar.apply_fun(name, prim, given).item()


def fbin(op: str, prim: Prim, a: float, b: float) -> float:
    """Apply a float operator by name."""
    kind = DTYPE[prim]
    with np.errstate(all="ignore"):
        # Use arrays, like the reference interpreter: NumPy's scalars differ in edge cases.
        return float(scalar.apply_bin(op, prim, np.array([a], kind), np.array([b], kind))[0])
