"""Tuning a program in C: what thresholds are compared with, and the file that is written."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from compiler.__main__ import main
from compiler.base.errors import UsageError
from compiler.codegen.c import tuned as c_tuned
from compiler.driver.tuning_file import values_in
from compiler.explain.device_sheets import BY_ID
from compiler.ir import nodes as ir
from compiler.ir.walk import all_stms
from compiler.parallel import tuning
from compiler.protocol.kinds import OfProgram
from compiler.runtime import runner
from compiler.testing import autotune
from compiler.testing.gpu_predictions import PredictedProgram
from compiler.testing.tune import INFINITE, ThresholdPlace, TuningInput, branches
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
    words = c_tuned.initial_profile([given.get(name, INFINITE) for name in names])
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


FORETOLD = """
-- ==
-- "few" input { [[1f32, 2f32], [3f32, 4f32]] }
-- "wide" random input { [64][100000]f32 }
entry main [n][m] (a: [n][m]f32): [n]f32 =
  map (\\r -> f32.sum (map f32.exp r) / f32.maximum r) a
"""


def foretold_times(source: str, shape: tuple[int, int]) -> dict[tuple[int, ...], float]:
    """The times with each threshold met or not, by themselves."""
    program = PredictedProgram(OfProgram(source, {"target": "cuda"}), BY_ID["h200"])
    on = TuningInput("one", "main", [np.zeros(shape, np.float32)])
    names = list(program.usual)
    every = itertools.product((0, INFINITE), repeat=len(names))
    return {
        values: program.outcome(on, dict(zip(names, values, strict=True))).time for values in every
    }


def test_thresholds_are_tuned_by_times_that_are_foretold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a device, and as fast as the best of all ways to set the thresholds."""
    path = tmp_path / "rows.fut"
    path.write_text(FORETOLD, "utf-8")
    assert main(["autotune", str(path), "--backend", "cuda", "--entry", "main"]) == 0
    said = capsys.readouterr()
    assert "2 data sets" in said.err
    assert "Times are foretold for H200" in said.out
    values = values_in(tmp_path / "rows.fut.tuning")
    times = foretold_times(FORETOLD, (64, 100_000))
    assert max(times.values()) > 5 * min(times.values())
    program = PredictedProgram(OfProgram(FORETOLD, {"target": "cuda"}), BY_ID["h200"])
    on = TuningInput("wide", "main", [np.zeros((64, 100_000), np.float32)])
    assert program.outcome(on, values).time <= min(times.values()) * (1 + autotune.CLOSE)


def test_foretold_runs_compare_the_amounts_that_runs_compare() -> None:
    program = PredictedProgram(OfProgram(NESTED, {"target": "cuda"}), BY_ID["h200"])
    on = TuningInput("", "main", [np.zeros((3, 4, 5), np.int64), np.int64(2)])
    told = program.outcome(on, {}).compared
    _, seen = run(NESTED, {}, np.zeros((3, 4, 5), np.int64), 2)
    assert {tuple(found) for found in told.values()} >= {tuple(found) for found in seen.values()}


def test_a_run_that_depends_on_data_is_not_tuned_by_guesses() -> None:
    program = PredictedProgram(OfProgram(VARIES, {"target": "cuda"}), BY_ID["h200"])
    on = TuningInput("", "main", [np.array([1, 2]), np.arange(2)])
    found = program.outcome(on, {})
    assert found.time == math.inf
    assert "depend on the data" in found.failure
