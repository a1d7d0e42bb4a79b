"""Which switch helps where an array is not built in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.__main__ import main
from compiler.driver.helping_switches import helping
from compiler.driver.pipeline import Compilation
from tests.storage.test_thesis_programs import WAVES

UNKNOWN = (
    WAVES.replace("let n = i64.f64 (f64.sqrt (f64.i64 l))", "let n = side")
    .replace("entry main [l]", "entry main [l] (side: i64)")
    .replace("let b = 4", "let b = 32")
)
"""Of the side of the table nothing is known: products of it may wrap."""


def test_nothing_is_tried_where_nothing_is_refused() -> None:
    source = "entry main [n] (xs: *[n]i32) = xs with [0:n] = map (+ 1) (replicate n 1)"
    assert helping(Compilation(source)) == {}


def test_a_rule_that_is_in_the_way_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "waves.fut"
    path.write_text(UNKNOWN, "utf-8")
    assert main(["attempts", str(path), "--target", "cuda", "--try-switches"]) == 0
    said = capsys.readouterr().out
    assert said.count("  With `--disable flatten/intra-block` it is done.\n") == 2
