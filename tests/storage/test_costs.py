"""Small rows are copied for C where computing them in their place would take longer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.driver.pipeline import Compilation
from tests.storage.test_short_circuit import check, outcomes

EXAMPLES = Path(__file__).parents[2] / "app" / "examples"

ROWS = """
entry main [n] (xs: [n][K]f32) (w: [K]f32): [n][K]f32 =
  map (\\x -> let s = f32.sum x
             in map2 (\\a b -> a + 0.8 * (b * s - a)) x w) xs
"""
COUNTED = """
entry main [n] (xs: [n]i64): [n][9]i64 =
  map (\\x -> loop r = replicate 9 x for i < 9 do r with [i] = x * i) xs
"""
"""The loop reads nothing."""


@pytest.mark.parametrize(
    ("size", "target", "condition"),
    [("4", "c", 9), ("9", "c", 9), ("16", "c", 9), ("17", "c", 0), ("k", "c", 0), ("9", "cuda", 0)],
)
def test_rows_of_a_few_elements_are_copied_for_c(size: str, target: str, condition: int) -> None:
    source = ROWS.replace("K", size).replace("[n] (", "[n] [k] (" if size == "k" else "[n] (")
    assert ("kernel-result", condition) in outcomes(source, target=target)


def test_a_loop_that_reads_nothing_fills_its_row_in_place() -> None:
    assert ("kernel-result", 0) in outcomes(COUNTED)


def test_the_reason_has_the_size_and_what_is_read() -> None:
    source = (EXAMPLES / "lattice_boltzmann.fut").read_text("utf-8")
    work = Compilation(source, Options())
    work.result("shortcircuit")
    (missed,) = [r for r in work.remarks() if r.rule == "shortcircuit/kernel-result"]
    assert missed.kind == "missed"
    assert "would take longer" in missed.because
    assert "9 elements" in missed.because
    assert "`weight`" in missed.because


def test_results_are_the_same() -> None:
    rows = np.arange(18, dtype=np.float32).reshape(2, 9) / 4
    check(ROWS.replace("K", "9"), [rows, rows[0] * 2])
