"""The meaning of scalar operators against the obvious one on Python's own numbers."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from compiler.base.dtypes import DTYPE
from compiler.base.prim import BYTES, FLOATS, FUNS, INTS, PRIMS, Prim, int_range
from compiler.codegen import py_runtime
from compiler.ir.scalar import apply_bin, apply_fun, apply_un, convert


def wrap(value: int, prim: Prim) -> int:
    bits = BYTES[prim] * 8
    value &= (1 << bits) - 1
    return value - (1 << bits) if prim[0] == "i" and value >> (bits - 1) else value


def truncated(a: int, b: int) -> int:
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def shifted_left(a: int, b: int, prim: Prim) -> int:
    return a << b if 0 <= b < BYTES[prim] * 8 else 0


def shifted_right(a: int, b: int, prim: Prim) -> int:
    return a >> (b if 0 <= b < BYTES[prim] * 8 else 100)


NAIVE: dict[str, Callable[[int, int, Prim], Any]] = {
    "+": lambda a, b, p: a + b,
    "-": lambda a, b, p: a - b,
    "*": lambda a, b, p: a * b,
    "/": lambda a, b, p: a // b if b else 0,
    "%": lambda a, b, p: a % b if b else 0,
    "//": lambda a, b, p: truncated(a, b) if b else 0,
    "%%": lambda a, b, p: a - b * truncated(a, b) if b else 0,
    "**": lambda a, b, p: pow(a, b, 1 << 64) if b >= 0 else None,
    "min": lambda a, b, p: min(a, b),
    "max": lambda a, b, p: max(a, b),
    "&": lambda a, b, p: a & b,
    "|": lambda a, b, p: a | b,
    "^": lambda a, b, p: a ^ b,
    "<<": shifted_left,
    ">>": shifted_right,
    "==": lambda a, b, p: a == b,
    "!=": lambda a, b, p: a != b,
    "<": lambda a, b, p: a < b,
    "<=": lambda a, b, p: a <= b,
    ">": lambda a, b, p: a > b,
    ">=": lambda a, b, p: a >= b,
}

INT_PRIMS = st.sampled_from(INTS)


def ints(prim: Prim) -> st.SearchStrategy[int]:
    low, high = int_range(prim)
    small = st.integers(max(low, -70), 70)
    return st.one_of(small, st.integers(low, high), st.sampled_from([low, high, 0, 1]))


PAIRS = INT_PRIMS.flatmap(lambda p: st.tuples(st.just(p), ints(p), ints(p)))


@settings(max_examples=400, deadline=None)
@given(PAIRS, st.sampled_from(list(NAIVE)))
@example(("i32", -(2**31), -1), "/")
@example(("i64", -(2**63), -1), "%%")
@example(("i8", -7, 2), "//")
def test_integer_operators(given_pair: tuple[Prim, int, int], op: str) -> None:
    prim, a, b = given_pair
    expected = NAIVE[op](a, b, prim)
    if expected is None:
        return
    x, y = DTYPE[prim].type(a), DTYPE[prim].type(b)
    with np.errstate(all="ignore"):
        found = apply_bin(op, prim, x, y)
        many = apply_bin(op, prim, np.array([x, x]), np.array([y, y]))
    if isinstance(expected, bool):
        assert bool(found) is expected
    else:
        assert found.dtype == DTYPE[prim]
        assert int(found) == wrap(expected, prim)
    assert many.dtype == found.dtype
    assert (many == found).all()


@given(INT_PRIMS.flatmap(lambda p: st.tuples(st.just(p), ints(p))))
def test_integer_functions(given_value: tuple[Prim, int]) -> None:
    prim, a = given_value
    width = BYTES[prim] * 8
    x = DTYPE[prim].type(a)
    bits = format(a & ((1 << width) - 1), f"0{width}b")
    with np.errstate(all="ignore"):
        assert int(apply_un("neg", prim, x)) == wrap(-a, prim)
        assert int(apply_un("not", prim, x)) == wrap(~a, prim)
        assert int(apply_un("abs", prim, x)) == wrap(abs(a), prim)
        assert int(apply_un("sgn", prim, x)) == (a > 0) - (a < 0)
        assert int(apply_fun("popc", prim, (x,))) == bits.count("1")
        assert int(apply_fun("clz", prim, (x,))) == len(bits) - len(bits.lstrip("0"))
        assert int(apply_fun("ctz", prim, (x,))) == len(bits) - len(bits.rstrip("0"))
        assert apply_fun("ctz", prim, (np.array([x]),)).dtype == np.int32


@given(PAIRS)
def test_upper_half_of_products(given_pair: tuple[Prim, int, int]) -> None:
    prim, a, b = given_pair
    x, y = DTYPE[prim].type(a), DTYPE[prim].type(b)
    assert int(apply_fun("mul_hi", prim, (x, y))) == a * b >> (BYTES[prim] * 8)
    many = apply_fun("mul_hi", prim, (np.array([x]), np.array([y])))
    assert many.dtype == DTYPE[prim]


@given(INT_PRIMS, INT_PRIMS, st.data())
def test_conversions_between_integers_wrap(src: Prim, dst: Prim, data: st.DataObject) -> None:
    a = data.draw(ints(src))
    found = convert(src, dst, DTYPE[src].type(a))
    assert found.dtype == DTYPE[dst]
    assert int(found) == wrap(a, dst)


@given(st.floats(), INT_PRIMS)
@example(2.0**63, "i64")
@example(-(2.0**63), "i64")
@example(2.0**64, "u64")
@example(-0.9, "u8")
@example(127.9, "i8")
@example(-128.9, "i8")
@example(math.nan, "i32")
@example(math.inf, "u16")
@example(-1.5, "u8")
@example(2.0**32 - 0.5, "i32")
@example(-(2.0**63) - 2048.0, "i64")
@example(1e19, "i64")
@example(-1e19, "u64")
@example(1e300, "u64")
@example(3e9, "u32")
@example(3e9, "i32")
@example(-3e9, "u32")
@example(3e9, "u8")
@example(1e19, "u64")
def test_floats_become_integers_through_signed_ones(x: float, dst: Prim) -> None:
    via: Prim = "i64" if dst in ("i64", "u64") else "i32"
    (low, high), own = int_range(via), int_range(dst)
    whole = math.trunc(x) if math.isfinite(x) else 0
    fits = low <= whole <= high or (dst in ("u32", "u64") and 0 <= whole <= own[1])
    expected = wrap(whole if fits else low, dst)
    assert int(convert("f64", dst, np.float64(x))) == expected
    assert int(convert("f64", dst, np.array([x, x]))[1]) == expected


@pytest.mark.parametrize(
    ("dst", "expected"),
    [
        ("u8", [255, 156, 212, 0, 0, 0, 44, 0]),
        ("u16", [65535, 65436, 65236, 0, 0, 0, 300, 0]),
        ("i8", [-1, -100, -44, 0, 0, 0, 44, 0]),
        ("u32", [2**32 - 1, 2**32 - 100, 2**32 - 300, 2**31, 0, 0, 300, 2**31]),
        ("i32", [-1, -100, -300, -(2**31), 0, 0, 300, -(2**31)]),
        ("u64", [2**64 - 1, 2**64 - 100, 2**64 - 300, 2**64 - 3 * 10**9, 0, 0, 300, 2**63]),
        ("i64", [-1, -100, -300, -3 * 10**9, 0, 0, 300, -(2**63)]),
    ],
)
def test_floats_become_what_they_become_elsewhere(dst: Prim, expected: list[int]) -> None:
    floats = [-1.5, -100.0, -300.0, -3e9, math.nan, -math.inf, 300.0, 1e30]
    assert convert("f64", dst, np.array(floats)).tolist() == expected


@pytest.mark.parametrize("prim", FLOATS)
def test_float_operators(prim: Prim) -> None:
    one = DTYPE[prim].type
    with np.errstate(all="ignore"):
        assert apply_bin("%", prim, one(-7.5), one(2)) == one(-1.5)
        assert apply_bin("**", prim, one(2), one(-1)) == one(0.5)
        assert apply_bin("/", prim, one(1), one(0)) == one(np.inf)
        assert apply_bin("min", prim, one(np.nan), one(1)) == one(1)
        assert apply_bin("+", prim, one(1), one(2)).dtype == DTYPE[prim]


@given(st.floats(width=32))
def test_bits(x: float) -> None:
    bits = apply_fun("to_bits", "f32", (np.float32(x),))
    assert bits.dtype == np.uint32
    assert int(bits) == struct.unpack("<I", struct.pack("<f", x))[0] or math.isnan(x)
    back = apply_fun("from_bits", "f32", (bits,))
    assert back == np.float32(x) or math.isnan(x)


@pytest.mark.parametrize("prim", FLOATS)
@pytest.mark.parametrize("fun", [f for f, (_, kind, _) in FUNS.items() if kind == "float"])
def test_every_float_function_works_on_scalars_and_arrays(fun: str, prim: Prim) -> None:
    arity, _, result = FUNS[fun]
    one = DTYPE[prim].type
    args: list[Any] = [one(0.5)] * arity
    if fun == "ldexp":
        args = [one(0.5), np.int32(3)]
    elif fun == "from_bits":
        args = [apply_fun("to_bits", prim, (one(0.5),))]
    with np.errstate(all="ignore"):
        found = apply_fun(fun, prim, tuple(args))
        many = apply_fun(fun, prim, tuple(np.array([a, a]) for a in args))
    wanted = {"same": DTYPE[prim], "bool": np.dtype(bool)}.get(result)
    assert found.shape == ()
    assert many.shape == (2,)
    assert wanted is None or (found.dtype == wanted and many.dtype == wanted)
    assert np.allclose(many.astype(float), float(found), rtol=1e-3, equal_nan=True)


@pytest.mark.parametrize(
    ("fun", "args", "expected"),
    [
        ("sinpi", (1.0,), 0.0),
        ("cospi", (0.5,), 0.0),
        ("sinpi", (0.5,), 1.0),
        ("gamma", (5.0,), 24.0),
        ("lgamma", (1.0,), 0.0),
        ("erf", (0.0,), 0.0),
        ("erfc", (0.0,), 1.0),
        ("round", (2.5,), 2.0),
        ("round", (-3.5,), -4.0),
        ("trunc", (-2.5,), -2.0),
        ("floor", (-2.5,), -3.0),
        ("recip", (4.0,), 0.25),
        ("rsqrt", (4.0,), 0.5),
        ("exp10", (3.0,), 1000.0),
        ("lerp", (1.0, 3.0, 0.25), 1.5),
        ("fma", (2.0**60 + 2.0**8, 2.0**-60, -1.0), 2.0**-52),
        ("copysign", (1.0, -0.0), -1.0),
        ("hypot", (3.0, 4.0), 5.0),
        ("atan2pi", (1.0, 0.0), 0.5),
    ],
)
def test_float_functions_at_known_points(
    fun: str, args: tuple[float, ...], expected: float
) -> None:
    found = apply_fun(fun, "f64", tuple(np.float64(a) for a in args))
    assert float(found) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("src", PRIMS)
@pytest.mark.parametrize("dst", PRIMS)
def test_every_conversion_has_its_type(src: Prim, dst: Prim) -> None:
    assert convert(src, dst, DTYPE[src].type(1)) == DTYPE[dst].type(1)
    assert convert(src, dst, DTYPE[src].type(1)).dtype == DTYPE[dst]
    assert convert(src, dst, np.ones(2, DTYPE[src])).dtype == DTYPE[dst]


@pytest.mark.parametrize("fun", ["sin", "cos", "exp", "log", "tanh"])
@given(st.floats(0.0625, 80, width=32))
@example(1.0)
def test_functions_of_few_bits_round_once(fun: str, x: float) -> None:
    """Also on the host of a device; NumPy's own `sin` of f32 gives 0.84147102 at 1."""
    exact = np.float32(getattr(np, fun)(np.float64(x)))
    assert apply_fun(fun, "f32", (np.float32([x]),))[0] == exact
    assert py_runtime.fun(fun, "f32", x) == exact
