"""Tuning a program in C: what thresholds are compared with, and the file that is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler.__main__ import main
from compiler.base.errors import UsageError
from compiler.codegen.c import tuned as c_tuned
from compiler.driver.tuning_file import values_in
from compiler.ir import nodes as ir
from compiler.ir.walk import all_stms
from compiler.parallel import tuning
from compiler.runtime import runner
from compiler.testing import autotune
from compiler.testing.tune import INFINITE, ThresholdPlace, branches
from testing.compiling import compiled

VARIES = """
-- ==
-- input { [1i64, 2i64, 4i64] [1i64, 2i64, 3i64, 4i64] }
-- input { [2i64] [1i64, 2i64] }
entry main [k] (ns: []i64) (xs: [k]i64) =
  loop xs for n in ns do
    let m = k / n
    let rows = unflatten (xs :> [n * m]i64)
    in flatten (map (\\row -> loop row for _i < 2 do scan (+) 0 (map (+ 1) row)) rows) :> [k]i64
"""
NESTED = """
entry main [n] [m] [k] (xsss: [n][m][k]i64) (s: i64) =
  map (\\xss -> map (\\xs -> loop xs for i < s do scan (+) i (map (+ 1) xs)) xss |> transpose) xsss
"""


def needs_c() -> None:
    if missing := runner.why_not():
        pytest.skip(missing)


def run(
    source: str, given: dict[str, int], *args: object
) -> tuple[list[object], dict[str, list[int]]]:
    """What a program gives with thresholds, and what they were compared with."""
    needs_c()
    work = compiled(source)
    merged = work.result("merged", "c").prog
    made = [stm for fun in merged.funs for stm in all_stms(fun.body.stms)]
    thresholds = [stm for stm in made if isinstance(stm.exp, ir.Threshold)]
    names = list(dict.fromkeys(stm.exp.name for stm in thresholds))
    numbers = {stm.pat[0].name: names.index(stm.exp.name) for stm in thresholds}
    text = c_tuned.emit_tuned(work.result("imp", "c").prog, numbers)
    words = c_tuned.given([given.get(name, INFINITE) for name in names])
    settings = runner.Settings(measured=len(words), given=words)
    done = runner.run_c(text, "main", list(args), settings=settings)
    told = {name: sorted(c_tuned.compared(done.profile, k)) for k, name in enumerate(names)}
    return done.values, told


def test_a_run_tells_what_thresholds_were_compared_with() -> None:
    sizes, numbers = np.array([1, 2, 4]), np.arange(1, 9)
    slow, told = run(VARIES, {}, sizes, numbers)
    assert list(told.values()) == [[1, 2, 4]]
    for threshold in (0, 2, 4):
        fast, again = run(VARIES, dict.fromkeys(told, threshold), sizes, numbers)
        assert np.array_equal(fast[0], slow[0])
        assert again == told


def test_more_amounts_than_there_is_room_for_are_the_first_ones() -> None:
    sizes = np.arange(1, 301)
    _, told = run(VARIES, {}, sizes, np.zeros(0, np.int64))
    assert list(told.values()) == [[*range(1, 255)]]


def test_inner_thresholds_come_first_with_those_around_them() -> None:
    work = compiled(NESTED)
    order = branches(tuning.forest(work.result("flat", "c").prog))
    assert order[-1] == ThresholdPlace(order[-1].name, ())
    assert all(one.around for one in order[:-1])
    assert {one.name for one in order} == set(tuning.names(work.result("flat", "c").prog))


def test_the_file_has_a_line_for_each_threshold_and_keeps_other_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_c()
    path = tmp_path / "varies.fut"
    path.write_text(VARIES, "utf-8")
    file = tmp_path / "varies.fut.tuning"
    file.write_text("mine=7\n", "utf-8")
    assert main(["autotune", str(path), "--runs", "1"]) == 0
    said = capsys.readouterr()
    assert "1 threshold, 2 data sets" in said.err
    assert "all in [" in said.out
    (name,) = tuning.names(compiled(VARIES).result("flat", "c").prog)
    found = values_in(file)
    assert list(found) == ["mine", name]
    assert file.read_text("utf-8") == f"mine=7\n{name}={found[name]}\n"


def test_without_thresholds_or_inputs_there_is_nothing_to_tune(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_c()
    path = tmp_path / "a.fut"
    path.write_text("entry main [n] (xs: [n]i64) = map (+ 1) xs", "utf-8")
    assert main(["autotune", str(path)]) == 0
    assert "nothing to tune" in capsys.readouterr().out
    assert not (tmp_path / "a.fut.tuning").exists()
    path.write_text(NESTED, "utf-8")
    how = autotune.measuring("", 1.0, 1, 60.0)
    with pytest.raises(UsageError, match="No test of the program has an input"):
        autotune.autotune(path, {}, how, lambda _: None)
