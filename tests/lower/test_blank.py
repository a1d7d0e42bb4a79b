"""`#[blank]`: what nobody looks at is not computed."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.driver.worker import answer

SCALAR = "entry main (xs: []i32): i32 = if null xs then #[blank] xs[0] else xs[0]"
PAIR = """type t = #none | #some i32 [2]f32
entry main [n] (xs: [n]i32): (i32, [2]f32, [n]i32) =
  let (x, a, ys) =
    if n == 0 then #[blank] (assert false (#some xs[0] [1, 2] : t), i64.i32 xs[0], map (1 /) xs)
    else (#some 7 [8, 9], 1, xs)
  in match x case #none -> (i32.i64 a, [0, 0], ys)
             case #some k fs -> (k, fs, ys)
"""
UNKNOWN = "entry main (xs: []i32): []i32 = #[blank] filter (> 1) xs"


@pytest.mark.parametrize(("backend", "stage"), [("c", ""), ("ref", "soa"), ("ref", "imp")])
@pytest.mark.parametrize(
    ("source", "given", "output"),
    [
        (SCALAR, "empty([0]i32)", "0i32"),
        (SCALAR, "[5]", "5i32"),
        (PAIR, "empty([0]i32)", "0i32\n[0.0f32, 0.0f32]\nempty([0]i32)"),
        (PAIR, "[5]", "7i32\n[8.0f32, 9.0f32]\n[5i32]"),
        (UNKNOWN, "[1, 2, 3]", "[2i32, 3i32]"),
    ],
)
def test_a_blank_expression_is_not_computed(
    source: str, given: str, output: str, backend: str, stage: str
) -> None:
    """Unless its sizes are known by it alone."""
    asked: dict[str, Any] = {"op": "run", "source": source, "input": given, "backend": backend}
    told = answer({**asked, "stage": stage, "options": {"verify": True}})
    assert told.get("output") == output, told
