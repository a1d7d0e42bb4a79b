"""`bench.observed` says what becomes of each test of a program, and saves how that was asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench import machine, observed
from compiler.base.errors import CompilerBug, TimeoutError_
from compiler.runtime.observer import build
from testing import kernels

needs_cxx = pytest.mark.skipif(bool(build.why_not()), reason=build.why_not())

PROGRAM = """
-- ==
-- input { [1, 2, 3] } output { [2, 3, 4] }
-- input { [1, 2, 3] } output { [2, 3, 5] }
-- input { [9] } error: division
-- input { [1] } error: division
-- input { [1, 2] }

entry main (xs: []i32) = map (\\x -> x + 1 / (9 - x) * 0 + 1) xs
"""
FOUND = [
    "agrees",
    "should be 5i32 and is 4i32",
    "fails as it should",
    "It should fail and does not.",
    "agrees",
]


@needs_cxx
def test_each_test_of_a_program_is_told_by_version(tmp_path: Path) -> None:
    path = tmp_path / "one.fut"
    path.write_text(PROGRAM)
    told = observed.deep(path, ["default", "grid"])
    for at, (what, said) in enumerate(told):
        case, version = divmod(at, 2)
        assert what == f"{path} main {case} {('default', 'grid')[version]}"
        assert FOUND[case] in said, (what, said)
    assert len(told) == 2 * len(FOUND)


def test_what_does_not_compile_and_what_has_no_tests(tmp_path: Path) -> None:
    wrong, plain, skipped = (tmp_path / f"{name}.fut" for name in ("wrong", "plain", "skipped"))
    wrong.write_text("-- ==\n-- input { 1 } output { 1 }\n\nentry main (x: i32) = y\n")
    plain.write_text("entry main (x: i32) = x\n")
    skipped.write_text("-- ==\n-- tags { no_cuda }\n-- input { 1 }\n\nentry main (x: i32) = x\n")
    assert [said for _, said in observed.deep(wrong, ["default"])] == ["refused"]
    assert observed.deep(plain, ["default"]) == observed.deep(skipped, ["default"]) == []


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (TimeoutError_("too long"), "late"),
        (CompilerBug("lost"), "CompilerBug: lost"),
        (ZeroDivisionError("nought"), "ZeroDivisionError: nought"),
    ],
)
def test_what_goes_wrong_in_a_run_is_told_and_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, error: Exception, said: str
) -> None:
    def fails(*_: object) -> None:
        raise error

    path = tmp_path / "one.fut"
    path.write_text("-- ==\n-- input { 1 } output { 1 }\n\nentry main (x: i32) = x\n")
    monkeypatch.setattr(kernels, "observed", fails)
    assert [one for _, one in observed.program(path, ["default"])] == [said]


@needs_cxx
def test_the_figures_are_saved_with_the_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "two words").mkdir()
    (tmp_path / "two words" / "one.fut").write_text(PROGRAM)
    monkeypatch.setattr(machine, "RESULTS", tmp_path / "results")
    given = [str(tmp_path / "two words"), "--versions", "default", "grid", "--save"]
    monkeypatch.setattr("sys.argv", ["observed", *given])
    observed.main()
    saved = json.loads((tmp_path / "results" / "observed.json").read_text())
    command = "python -m bench.observed 'two words' --versions default grid --jobs 1"
    assert saved["command"] == command
    figures = saved["figures"]
    assert figures.pop("first_wrong")[0] in capsys.readouterr().out
    assert figures == {"runs": 10, "agrees": 4, "fails as it should": 2, "wrong": 4}
