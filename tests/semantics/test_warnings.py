"""Arithmetic that wraps, overflows or is not a number gives a value, and no warning of NumPy's."""

from __future__ import annotations

import warnings
from typing import Any

import pytest

from compiler.driver import worker
from compiler.frontend.flatpack import read
from compiler.semantics import flatpack

PROGRAM = """
def many 't (f: t -> t -> t) (g: t -> t) (x: t) (y: t) = (f x y, f y x, g (f x x), g y)
def powers (x: u8) (y: i16) (z: i64) = (x ** 7, y ** 9, z ** 63, z * z - z, -z, x - x - 1)
def floats (x: f32) (y: f64) (h: f16) =
  (x * x * x, x / 0, (x - x) / 0, f32.exp x, f64.log (-y), f64.sqrt (-y), y * y * y, h * h * h,
   f64.gamma (-1), (y - y) ** (-1), i32.f64 (y * y), i8.f32 (x / 0), u64.f64 (-y), f16.f64 y)
entry main [n] (xs: [n]u8) (x: f32) (z: i64) =
  let known = (powers 255 32767 9223372036854775807, floats 3e38 1e308 65504)
  let ys = trace (map (\\a -> powers a (i16.u8 a * 200) (z * i64.u8 a)) xs)
  let zs = map (\\a -> floats (x * f32.u8 a) (f64.f32 x * 1e270) (f16.u8 a * 300)) xs
  let shifted = map (\\a -> (a << 7, i64.u8 a << 63, (i64.u8 a + z) >> 3)) xs
  in (known, ys, zs, shifted, reduce (*) 1 (map i64.u8 xs ++ [z]), scan (*) 1 (map f32.u8 xs))
"""
INPUT = "[255u8, 128u8, 7u8, 1u8] 3e38f32 9223372036854775807i64"


@pytest.fixture(autouse=True)
def strict() -> Any:
    """Warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


ASKED: list[dict[str, Any]] = [
    {"op": "check"},
    {"op": "show"},
    {"op": "bounds"},
    {"op": "run", "input": INPUT, "backend": "ref"},
    {"op": "run", "input": INPUT, "backend": "ref", "stage": "merged"},
    {"op": "run", "sizes": {"n": 3, "z": 9}, "backend": "ref"},
    {"op": "flow", "input": INPUT},
    {"op": "flow", "input": INPUT, "stage": "merged"},
    {"op": "accesses", "input": INPUT},
    {"op": "eval", "expression": "main [255, 3] 3e38 9223372036854775807", "backend": "ref"},
]


@pytest.mark.parametrize("asked", ASKED, ids=lambda asked: " ".join(map(str, asked.values()))[:40])
def test_no_question_warns(asked: dict[str, Any]) -> None:
    answer = worker.answer({"source": PROGRAM, **asked})
    assert answer["ok"], answer


def test_flatpack_does_not_warn() -> None:
    (result,), _ = flatpack.run(read("type u8\nmain = Enumerate 3 (* 2) 9"), {}, {})
    assert result.tolist() == [3 * 2**k % 256 for k in range(9)]
