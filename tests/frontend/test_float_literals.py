"""Literals of floating-point types: rounded once, infinite where the type has no such number."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.dtypes import DTYPE
from compiler.base.nearest import nearest_to_text
from compiler.base.prim import Prim
from compiler.semantics import interp
from testing.compiling import compiled


@pytest.mark.parametrize(
    ("literal", "at", "bits"),
    [
        ("65520f16", "f16", 0x7C00),
        ("65519f16", "f16", 0x7BFF),
        ("(-65520f16)", "f16", 0xFC00),
        ("1e6f16", "f16", 0x7C00),
        ("340282366920938463463374607431768211456f32", "f32", 0x7F800000),
        ("340282366920938463463374607431768211455f32", "f32", 0x7F800000),
        ("1e39f32", "f32", 0x7F800000),
        ("3.4028235677973366e38f32", "f32", 0x7F7FFFFF),
        ("1e400f64", "f64", 0x7FF0000000000000),
        (f"1{'0' * 388}f64", "f64", 0x7FF0000000000000),
        ("2049.0000000000001f16", "f16", 0x6801),
        ("16777217.0000000001f32", "f32", 0x4B800001),
        ("9007199791611905f32", "f32", 0x5A000001),
        ("1e-60f32", "f32", 0),
        ("70000.5", "f16", 0x7C00),
    ],
)
def test_a_literal_is_the_nearest_number(literal: str, at: Prim, bits: int) -> None:
    """Those without a suffix, as the last one, take the type of what they are given to."""
    prog = compiled(f"entry main : {at} = {literal}").result("soa").prog
    (found,) = interp.run(prog, "main", [])
    assert int(np.asarray(found, DTYPE[at]).view(f"u{DTYPE[at].itemsize}")) == bits


def test_text_is_rounded_once() -> None:
    assert nearest_to_text("1e999999999999", "f32") == float("inf")
    assert nearest_to_text("1e-999999999999", "f16") == 0
    assert nearest_to_text("0x1p99999", "f16") == float("inf")
    assert nearest_to_text("0x1.002p0", "f16") == 1
    assert nearest_to_text("2_049.5", "f16") == 2050
