"""Files of tuning parameters: where they are found, and what becomes of their lines."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path

import pytest

from compiler.__main__ import main

PROGRAM = """-- ==
-- input { 2i64 [5i64] } output { [8i64] [0i64, 1i64, 2i64] }
entry main (x: i64) (ys: []i64) =
  let k = #[param(many)] x
  in (map (\\y -> k + y) ys, iota (#[param(many)] x))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "p.fut"
    path.write_text(PROGRAM)
    return path


def ran(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *given: str | Path
) -> tuple[int, str, str]:
    stdin = io.TextIOWrapper(io.BytesIO(b"2i64 [5i64]"))
    monkeypatch.setattr(sys, "stdin", stdin)
    status = main([*map(str, given)])
    return status, *capsys.readouterr()


def test_values_come_from_the_file_beside_the_program_or_another(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ("run", "--backend", "ref", program)
    assert ran(capsys, monkeypatch, *run)[1] == "[7i64]\n[0i64, 1i64]\n"
    beside = Path(f"{program}.tuning")
    beside.write_text("\nmany=3\n")
    three = "[8i64]\n[0i64, 1i64, 2i64]\n"
    assert ran(capsys, monkeypatch, *run) == (0, three, "")
    assert ran(capsys, monkeypatch, *run, "--no-tuning")[1] == "[7i64]\n[0i64, 1i64]\n"
    assert ran(capsys, monkeypatch, *run, "--threshold", "many=1")[1] == "[6i64]\n[0i64]\n"
    other = program.with_name("other")
    other.write_text(" many = 0 ")
    assert ran(capsys, monkeypatch, *run, "--tuning", other)[1] == "[5i64]\nempty([0]i64)\n"
    for command in (("test", "--backend", "ref"), ("test", "--backend", "c")):
        assert ran(capsys, monkeypatch, *command, program)[0] == 0
        assert ran(capsys, monkeypatch, *command, program, "--no-tuning")[0] == 1
    made = program.with_name("made.json")
    quick = ("--seconds", "0", "--runs", "1", "--json", made)
    assert ran(capsys, monkeypatch, "bench", program, *quick)[0] == 0
    assert "FAILED" in ran(capsys, monkeypatch, "bench", program, "--no-tuning", *quick)[1]
    assert json.loads(made.read_text())


def test_what_no_program_has_is_told(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    beside = Path(f"{program}.tuning")
    beside.write_text("manny=3\nmain.suff_outer_par_3=7\nmany=3\n")
    status, out, err = ran(capsys, monkeypatch, "run", "--backend", "ref", program)
    assert (status, out) == (0, "[8i64]\n[0i64, 1i64, 2i64]\n")
    first, second = err.splitlines()
    assert first.startswith(f"{beside}: warning: the program has no tuning parameter `manny`")
    assert "Did you mean `many`?" in first
    assert "`main.suff_outer_par_3`. There are many." in second


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("many=3\nmany:4", "Line 2 of"),
        ("=3", "Line 1 of"),
        ("many=3.5", "is not of the form NAME=NUMBER: `many=3.5`"),
        (None, "Cannot read"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(
    program: Path,
    text: str | None,
    says: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    other = program.with_name("other")
    if text is not None:
        other.write_text(text)
    for command in ("run", "test"):
        status, out, err = ran(capsys, monkeypatch, command, "--tuning", other, program)
        assert status in (1, 2)
        assert says in out + err


def test_a_size_is_not_known_to_be_the_number_that_a_parameter_stands_in_for(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text("entry main (x: i64) (_: []i64): [x]i64 = iota (#[param(many)] x)")
    status, _, err = ran(capsys, monkeypatch, "check", program)
    assert status == 1
    assert "expected `[x]i64`" in err
    program.write_text("entry main (x: i64) (_: []i64) = iota (#[param(many)] x) :> [x]i64")
    tuned = ("--threshold", "many=3", "--backend", "ref")
    assert ran(capsys, monkeypatch, "run", program, *tuned)[0] == 1
    assert ran(capsys, monkeypatch, "run", program, "--threshold", "many=2", *tuned[2:])[0] == 0


@pytest.mark.parametrize("number", [1 << 63, (1 << 64) - 1, -(1 << 63) - 1, 10**40])
def test_a_number_beyond_64_bits_is_refused(
    number: int, program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    other = program.with_name("other")
    other.write_text(f"\nmany={number}\n")
    run = ("run", "--backend", "ref", program)
    status, out, said = ran(capsys, monkeypatch, *run, "--tuning", other)
    assert (status, out) == (1, "")
    assert f"Line 2 of `{other}`: {number} does not fit into an i64" in said
    status, out, said = ran(capsys, monkeypatch, *run, "--threshold", f"many={number}")
    assert (status, out) == (2, "")
    assert "64" in said


def test_the_largest_number_counts(
    program: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program.write_text("entry main (x: i64) (_: []i64) = #[param(many)] x\n")
    for number in ((1 << 63) - 1, -(1 << 63)):
        given = ("run", "--backend", "ref", program, "--threshold", f"many={number}")
        assert ran(capsys, monkeypatch, *given)[1] == f"{number}i64\n"
