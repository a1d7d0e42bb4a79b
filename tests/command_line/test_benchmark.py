"""`stridescope bench`: what is measured, and what is said of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compiler.__main__ import main
from compiler.command_line.benchmark import earlier, ratio, shown
from compiler.driver.worker import answer
from compiler.runtime import device_process
from compiler.runtime.runner import compiler_available
from compiler.testing.measuring import LEAST_SECONDS, Measured

needs_cc = pytest.mark.skipif(not compiler_available(), reason="there is no C compiler")
PROGRAM = """\
-- ==
-- entry: main twice
-- "small" input { [1, 2] } output { 3 }
-- input { [1, 2, 3] }
-- nobench input { [4] }
-- input { [1] } error: never
-- notest random input { [1000]i32 }

entry main (xs: []i32) = reduce (+) 0 xs
entry twice (xs: []i32) = reduce (+) 0 xs
"""
WRONG = (
    "-- ==\n-- input { 1 } output { 3 }\n-- input { 2 } output { 3 }\n\nentry main x = x + 1i32\n"
)


def test_the_interval_and_the_spread_of_a_measurement() -> None:
    even = Measured(tuple(float(k) for k in range(1, 101)))
    assert even.median == 50.5
    assert even.interval == (41.0, 61.0)
    assert even.spread == pytest.approx(49.5 / 50.5)
    assert not even.is_narrow
    assert Measured((5.0,) * 10).is_narrow
    assert Measured((7.0,)).interval == (7.0, 7.0)
    outlier = Measured((*[10.0] * 20, 9000.0))
    assert (outlier.median, outlier.interval, outlier.spread) == (10.0, (10.0, 10.0), 0.0)


def test_two_measurements_differ_where_their_intervals_do() -> None:
    fast, slow = Measured((10.0,) * 9), Measured((20.0,) * 9)
    assert ratio(fast, slow) == "2.00x as fast as"
    assert ratio(slow, fast) == "2.00x as slow as"
    wide = Measured((9.0, 10.0, 11.0, 12.0))
    assert ratio(fast, wide).startswith("as fast as (or nearly: 1.05x)")


def test_times_from_a_file_are_known_to_half_a_microsecond(tmp_path: Path) -> None:
    """A short run that takes what it took before is not called slower because of rounding."""
    path = tmp_path / "before.json"
    path.write_text('{"p": {"datasets": {"#0": {"runtimes": [1, 1, 1]}}}}')
    before = earlier(str(path))["p", "#0"]
    assert before.interval == (0.5, 1.5)
    assert "nearly" in ratio(Measured((1.04,) * 9), before)
    assert ratio(Measured((1.6,) * 9), before) == "1.60x as slow as"


def test_times_have_a_unit() -> None:
    assert [shown(us) for us in (0.25, 812.4, 81_240, 8.1e6)] == [
        "0.25 µs",
        "812 µs",
        "81.2 ms",
        "8.1 s",
    ]


@needs_cc
def test_measurements_have_the_shape_of_futharks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, made = tmp_path / "sums.fut", tmp_path / "made.json"
    program.write_text(PROGRAM)
    args = ["bench", str(program), "--seconds", "0", "--json", str(made)]
    assert main(args) == 0
    told = capsys.readouterr().out.splitlines()
    assert [told[0], told[4]] == [f"{program}:", f"{program}:twice:"]
    assert told[1].startswith("  small: ")
    assert "95 %: " in told[1]
    found = json.loads(made.read_text())
    # As `futhark bench --json` writes it: whole microseconds, and bytes by space.
    assert list(found) == [str(program), f"{program}:twice"]
    sets = found[str(program)]["datasets"]
    assert list(sets) == ["small", '#1 ("[1, 2, 3]")', "[1000]i32"]
    for one in sets.values():
        assert one.keys() == {"runtimes", "bytes"}
        assert all(type(us) is int for us in one["runtimes"])
        assert one["runtimes"]
        assert one["bytes"].keys() == {"default space"}
        assert type(one["bytes"]["default space"]) is int
    assert sets["[1000]i32"]["bytes"]["default space"] >= 4000
    sets["small"]["runtimes"] = [5_000_000] * 10
    made.write_text(json.dumps(found))
    assert main([*args[:4], "--compare", str(made), "--entry", "main", "--against", "c"]) == 0
    told = capsys.readouterr().out.splitlines()
    assert len(told) == 4
    assert "x as fast as before" in told[1]
    assert ", c " in told[1]
    assert told[1].endswith("that")


@needs_cc
def test_a_test_that_fails_is_not_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, made = tmp_path / "wrong.fut", tmp_path / "made.json"
    program.write_text(WRONG)
    assert main(["bench", str(program), "--seconds", "0", "--json", str(made)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[1] == '  #0 ("1"): FAILED: The result should be 3i32 and is 2i32.'
    assert told[2].startswith('  #1 ("2"): ')
    sets = json.loads(made.read_text())[str(program)]["datasets"]
    assert sets['#0 ("1")'] == "The result should be 3i32 and is 2i32."


@needs_cc
def test_as_many_runs_are_measured_as_are_asked_for(tmp_path: Path) -> None:
    program, made = tmp_path / "one.fut", tmp_path / "made.json"
    program.write_text("-- ==\n-- input { [1i64] }\n\nentry main (xs: []i64) = i64.sum xs\n")
    args = ["bench", str(program), "--json", str(made), "--runs", "25"]
    assert main([*args, "--seconds", "2"]) == 0
    (one,) = json.loads(made.read_text())[str(program)]["datasets"].values()
    assert len(one["runtimes"]) == 25
    assert main([*args[:-2], "--no-convergence", "--seconds", "2"]) == 0
    (one,) = json.loads(made.read_text())[str(program)]["datasets"].values()
    assert sum(one["runtimes"]) >= 1e6 * LEAST_SECONDS or len(one["runtimes"]) >= 10_000


@pytest.mark.parametrize(
    ("text", "says"), [("[", "holds no measurements"), ('{"a": 1}', "holds no measurements")]
)
def test_a_file_to_compare_with_that_is_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, says: str
) -> None:
    program, other = tmp_path / "sums.fut", tmp_path / "other.json"
    program.write_text(PROGRAM)
    other.write_text(text)
    assert main(["bench", str(program), "--compare", str(other)]) == 2
    assert says in capsys.readouterr().err
    assert main(["bench", str(program), "--compare", str(tmp_path / "none")]) == 2
    assert "Cannot read" in capsys.readouterr().err


BENCHED = """-- ==
-- entry: sum
-- input { [1, 2, 3] } output { 6 }
-- input { [1, 2] } output { 6 }
-- input { [1] } error: x
-- nobench input { [1] }
entry sum (xs: []i32) = i32.sum xs
"""


def test_one_test_is_measured_for_the_page() -> None:
    told = answer({"op": "bench", "source": BENCHED, "case": 0, "seconds": 0.5})
    found = told["measured"]
    assert found["low"] <= found["median"] <= found["high"]
    assert found["runs"] >= 1
    assert found["spread"] >= 0
    assert told["case"]["entry"] == "sum"


@pytest.mark.parametrize(
    ("case", "more", "says"),
    [
        (1, {}, "should be 6"),
        (2, {}, "not measured"),
        (3, {}, "not measured"),
        (4, {}, "There is no test 4"),
        (0, {"backend": "ref"}, "Measured are"),
    ],
)
def test_what_is_not_measured_says_why(case: int, more: dict[str, str], says: str) -> None:
    error = answer({"op": "bench", "source": BENCHED, "case": case, **more})["error"]
    assert says in error["message"]


@needs_cc
def test_a_program_that_cannot_be_read_is_told_and_the_others_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.fut").write_bytes(b"-- ==\n-- input { 1 }\n\xff")
    (tmp_path / "b.fut").write_text("-- ==\n-- input { 1\nentry main (x: i32) = x")
    (tmp_path / "c.fut").write_text("-- ==\n-- input { 1 }\nentry main (x: i32) = x")
    assert main(["bench", str(tmp_path), "--runs", "1", "--no-convergence"]) == 1
    told = capsys.readouterr().out
    assert f"{tmp_path}/a.fut: FAILED\n{tmp_path}/a.fut:3:1: error[S007]" in told
    assert f"{tmp_path}/b.fut: FAILED" in told
    assert f"{tmp_path}/c.fut:\n" in told


def test_what_a_test_takes_on_a_gpu_is_foretold() -> None:
    found = answer({"op": "foretell", "source": BENCHED, "case": 0})["foretold"]
    assert (found["device"], found["entry"], found["unsure"]) == ("H200", "sum", "")
    assert 0 < found["ms"] < 1
    error = answer({"op": "foretell", "source": BENCHED, "case": 9})["error"]
    assert "There is no test 9" in error["message"]


@pytest.mark.skipif(not device_process.why_not(), reason="there is a GPU")
def test_without_a_gpu_its_times_are_foretold(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "sum.fut"
    program.write_text("-- ==\n-- input { [1, 2] } output { 3 }\n\n" + "entry main = i32.sum\n")
    assert main(["bench", str(program), "--backend", "cuda"]) == 1
    said = capsys.readouterr().out
    assert "FAILED" in said
    assert "foretold: " in said
    assert " ms on H200, bound by " in said
