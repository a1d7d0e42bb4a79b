"""`stridescope test`: what becomes of the tests in programs' comments."""

from __future__ import annotations

import gzip
import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from jsonschema import Draft202012Validator

from compiler.__main__ import main
from compiler.ir.values import to_binary
from compiler.protocol.schema import Schemas
from compiler.protocol.tests import CaseTested, ProgramTested
from compiler.protocol.tests import TestCase as Described
from compiler.protocol.tests import TestReport as Report
from compiler.testing import suite, testers
from compiler.testing.testers import Began, Tell

SUMS = """\
-- ==
-- entry: main
-- input { [1, 2, 3] } output { 6 }
-- input { empty([0]i32) } output { 0 }
-- "off by one" input { [4] } output { 5 }
-- input { 4 } output { 4 }
-- random input { [10]i32 } auto output
-- notest input { [1] } output { 2 }
-- no_ref input { [1] } output { 2 }
-- compiled input { [1] } output { 2 }

entry main (xs: []i32) = reduce (+) 0 xs
"""
FAILS = """\
-- ==
-- input { [1] 0i64 } output { 1 }
-- input { [1] 5i64 } error: Index \\[5\\]
-- input { [1] 5i64 } error: something else
-- input { [1] 0i64 } error:
-- input { [1] 5i64 } output { 1 }
-- input { true } error:
-- input @ nowhere error:

entry main (xs: []i32) (i: i64) = xs[i]
"""


def outcomes(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *more: str
) -> list[tuple[str, str]]:
    """The outcome of each test of a program, and why."""
    path = tmp_path / "program.fut"
    path.write_text(program)
    status = main(["test", str(path), "--backend", "ref", "--json", *more])
    answer = json.loads(capsys.readouterr().out)
    schemas = Schemas("#/$defs/", own=True)
    whole = schemas.of(Report)
    shape = {**whole, "$defs": schemas.found}
    Draft202012Validator(shape).validate(answer)
    (one,) = answer["programs"]
    assert status == (0 if answer["ok"] else 1)
    if "error" in one:
        return [("error", one["error"]["rendered"])]
    return [(case["outcome"], case["because"]) for case in one["cases"]]


def test_what_the_reference_has_no_memory_for_is_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (
        "-- ==\n-- input { 1099511627776i64 } auto output\n"
        "entry main (n: i64) = (replicate n 1i32)[n - 1]"
    )
    (found,) = outcomes(source, tmp_path, capsys, "--backend", "c")
    why = "The reference has too little memory for it: it is not compared."
    assert found == ("unchecked", why)


def test_outputs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert outcomes(SUMS, tmp_path, capsys) == [
        ("passed", ""),
        ("passed", ""),
        ("failed", "The result should be 5i32 and is 4i32."),
        ("failed", "`xs` should be [n]i32 and was given i32."),
        ("passed", ""),
        ("skipped", "It has the tag `notest`."),
        ("skipped", "It has the tag `no_ref`."),
        ("skipped", "It is `compiled`: not for an interpreter."),
    ]


def test_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = outcomes(FAILS, tmp_path, capsys)
    assert [outcome for outcome, _ in found] == ["passed"] * 2 + ["failed"] * 5
    because = [why for _, why in found]
    assert because[2] == "It fails as expected, but `something else` is not in the message."
    assert because[3] == "It should fail and does not."
    assert because[4].startswith("Index [5] out of bounds")
    assert because[5] == "`main` takes 2 values and was given 1."
    assert because[6].startswith("Cannot read `nowhere`: No such file")
    anything = outcomes(FAILS, tmp_path, capsys, "--any-error")
    assert [outcome for outcome, _ in anything] == ["passed"] * 3 + ["failed"] * 4


def test_files_beside_the_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "data").mkdir()
    binary = to_binary([np.arange(5, dtype=np.int32)])
    (tmp_path / "data" / "five.in.gz").write_bytes(gzip.compress(binary))
    (tmp_path / "data" / "ten.out").write_text("10i32")
    (tmp_path / "data" / "bad.in").write_text("[1,\n 2 3]")
    (tmp_path / "data" / "cut.gz").write_bytes(gzip.compress(binary)[:-9])
    (tmp_path / "made.script").write_text('$loaddata "data/five.in.gz"')
    program = """\
-- ==
-- input @ data/five.in.gz output @ data/ten.out
-- input @ data/bad.in
-- input @ data/cut.gz
-- script input { $loaddata "data/five.in.gz" } output { 10 }
-- script input @ made.script output { 10 }
-- script input { $loaddata "../none" }

entry main (xs: []i32) = reduce (+) 0 xs
"""
    found = outcomes(program, tmp_path, capsys)
    assert found[0] == ("passed", "")
    assert found[1] == ("failed", "`data/bad.in` (2:4): Expected `,` or `]`, found `3`.")
    assert found[2] == ("failed", "`data/cut.gz`: This file is packed, and ends too early.")
    assert found[3:5] == [("passed", "")] * 2
    assert found[5][1].startswith("Cannot read `../none`: No such file")


def test_scripts_call_entry_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = """\
-- ==
-- entry: use
-- script input { make 3 true } output { 3 }
-- script input { (make 3 false) } output { 7 }
-- script input { make 3 } output { 3 }
-- script input { two 1 } error:
-- "fails" script input { make (-1) true } error:

type t = {flag: bool, count: i32}
entry make (n: i64) (flag: bool): t = {flag, count = assert (n >= 0) (i32.i64 n)}
entry two (x: i32): (t, t) = ({flag = true, count = x}, {flag = true, count = x})
entry use (x: t) = if x.flag then x.count else 7
"""
    found = outcomes(program, tmp_path, capsys)
    assert [outcome for outcome, _ in found] == ["passed"] * 2 + ["failed"] * 3
    assert found[2][1] == "`make` lacks arguments: it is a function."
    assert found[3][1] == "Argument 1 should be 2 values and is 4."


def test_compile_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = "-- ==\n-- error: {}\n\nentry main (x: i32) = x + true\n"
    assert outcomes(wrong.format("`i32`.*bool"), tmp_path, capsys) == [("passed", "")]
    other = outcomes(wrong.format("causality"), tmp_path, capsys)
    assert other[0][1] == "It fails as expected, but `causality` is not in the message."
    right = "-- ==\n-- error:\n\nentry main (x: i32) = x\n"
    accepted = outcomes(right, tmp_path, capsys)
    assert accepted == [("failed", "The compiler takes the program, and should refuse it.")]
    warns = "-- ==\n-- warning: {}\n\nentry main (x: i32) = let y = x in x\n"
    assert outcomes(warns.format("y.*not used|unused"), tmp_path, capsys) == [("passed", "")] * 2
    silent = outcomes(warns.format("^$"), tmp_path, capsys)
    assert silent[1] == ("failed", "No warning has `^$`.")
    assert outcomes("-- ==\n\nentry main = 1 +\n", tmp_path, capsys)[0][0] == "failed"
    malformed = outcomes("-- ==\n-- input { 1\n\nentry main = 1\n", tmp_path, capsys)
    assert malformed[0][0] == "error"
    assert malformed[0][1].startswith("2:10: This `{` has no `}`")


def test_structure_is_compared_where_names_correspond(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = """\
-- ==
-- input { [1] } output { [9] }
-- structure gpu { SegMap 1 SegRed 0 }
-- structure gpu { SegMap 2 }
-- structure { Screma 1 }
-- structure gpu { SegMap/Loop 1 }
-- structure seq-mem { Alloc 1 }

entry main (xs: []i32) = map (+ 1) xs
"""
    assert len(outcomes(program, tmp_path, capsys)) == 1
    assert outcomes(program, tmp_path, capsys, "--structure") == [
        ("passed", ""),
        ("failed", "The stage `flat` should have SegMap 2 and has SegMap 1."),
        ("unchecked", "The stage `fused` counts no `Screma`."),
        ("unchecked", "The stage `flat` counts no `SegMap/Loop`."),
        ("unchecked", "There is no stage like Futhark's `seq-mem`."),
    ]


def test_properties(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = """\
-- ==
-- property: twice short even odd plain missing
#[prop]
entry twice (xs: []i32) = and (map2 (==) (reverse (reverse xs)) xs)
#[prop(size(30))]
entry short (xs: []i32) (ys: []i32) = length xs < 4
#[prop(gen(numbers), shrink(less))]
entry even (x: i64) = x % 2 == 0 || x < 5
entry numbers (size: i64) (seed: i64): i64 = size + seed
entry less (x: i64) (_: i32): i64 = x - 2
#[prop(gen(pairs), shrink(fewer))]
entry odd ((x, _): (u8, []i32)) = x % 2 == 1 || x < 6
entry pairs (size: i64) (seed: u64): (u8, []i32) = (u8.u64 seed, replicate size 0)
entry fewer ((x, xs): (u8, []i32)) (_: u64): (u8, []i32) = (x - 2, xs)
entry plain (x: i32) = x == x
"""
    found = outcomes(program, tmp_path, capsys)
    assert [outcome for outcome, _ in found] == ["passed", *["failed"] * 5]
    assert found[1][1].startswith("It is false for\n[")
    assert found[2][1] == "It is false for\n5i64"
    assert found[3][1].startswith("It is false for\n(6u8, ")
    assert found[4][1] == "`plain` is no property."
    assert found[5][1] == "There is no entry point `missing`."


def test_folders_in_parallel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "plus.fut").write_text("let plus (x: i32) = x + 1")
    used = 'import "lib/plus"\n-- ==\n-- input { 1 } output { 2 }\nentry main x = plus x\n'
    (tmp_path / "a.fut").write_text(used.replace("entry", "\nentry"))
    (tmp_path / "b.fut").write_text(SUMS)
    args = ["test", str(tmp_path), "--backend", "ref"]
    assert main([*args, "--jobs", "2"]) == 1
    told = capsys.readouterr().out
    assert main([*args, "--jobs", "1"]) == 1
    assert capsys.readouterr().out == told
    lines = told.splitlines()
    assert lines[0] == f"{tmp_path / 'a.fut'}: 1 passed"
    assert lines[1] == f"{tmp_path / 'b.fut'}: 3 passed, 2 failed, 3 skipped"
    place = f"{tmp_path / 'b.fut'}:5:4: main, off by one"
    assert lines[2] == f"{place}: FAILED: The result should be 5i32 and is 4i32."
    assert lines[-1] == "4 passed, 2 failed, 3 skipped in 2 programs; 1 without tests"
    assert main([*args, "--exclude", "none", "--entry", "other"]) == 0
    assert capsys.readouterr().out == "no tests in 0 programs; 3 without tests\n"
    assert main(["test", str(tmp_path / "none")]) == 2
    assert "There is no file or folder" in capsys.readouterr().err


def test_what_is_said_of_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = '-- ==\n-- input { 1 }\n-- "a \\"b\\"" input { 2 }\n\nentry main (x: i32) = x + y\n'
    (tmp_path / "wrong.fut").write_text(wrong)
    (tmp_path / "bytes.fut").write_bytes(b"entry main = \xff")
    assert main(["test", str(tmp_path), "--jobs", "1"]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[:3] == [
        f"{tmp_path / 'bytes.fut'}: FAILED",
        "  1:14: The byte 0xff is not UTF-8 text.",
        "  Save the file as UTF-8.",
    ]
    assert told[3] == f"{tmp_path / 'wrong.fut'}: 2 failed"
    assert told[4] == f'{tmp_path / "wrong.fut"}:2:4: main, #0 ("1"): FAILED'
    assert told[5].startswith("  5:27: ")
    assert told[6:8] == [
        "  5 | entry main (x: i32) = x + y",
        "    |                           ^",
    ]
    assert told[-2].startswith(f'{tmp_path / "wrong.fut"}:3:4: main, a "b": FAILED: ')  # not again


@pytest.mark.parametrize(
    "options",
    [
        ["test", "--jobs", "-1"],
        ["test", "--deadline", "0"],
        ["bench", "--runs", "0"],
        ["bench", "--seconds", "-1"],
        ["bench", "--deadline", "nan"],
    ],
)
def test_numbers_that_are_none(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*options, "."]) == 2
    assert f"`{options[1]}` must be a number" in capsys.readouterr().err


ENDLESS = """\
-- ==
-- entry: long short
-- input { 1 }
-- "off" input { 0 } output { 1 }

entry long (x: i32) = loop x = x while x > 0 do if x == 7 then 8 else 7
entry short (x: i32) = x
"""


def test_a_test_ends_at_its_limit_and_the_next_one_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suite, "_SILENT", 0.0)
    path = tmp_path / "endless.fut"
    path.write_text(ENDLESS)
    assert main(["test", str(path), "--backend", "ref", "--limit", "15"]) == 1
    told, progress = capsys.readouterr()
    lines = told.splitlines()
    assert lines[0] == f"{path}: 1 passed, 3 failed"
    assert lines[1] == f'{path}:3:4: long, #0 ("1"): FAILED'
    assert lines[2].endswith("It does not end within 15 s, compiling included.")
    assert lines[-3:-1] == [
        f"{path}:4:4: long, off: FAILED: The result should be 1i32 and is 0i32.",
        f"{path}:4:4: short, off: FAILED: The result should be 1i32 and is 0i32.",
    ]
    names = ['long, #0 ("1")', 'short, #0 ("1")', "long, off", "short, off"]
    assert progress.splitlines() == [
        f"{path}: {ended} of 4 tests, now {name}" for ended, name in enumerate(names)
    ]


def _ends_its_process(path: Path, first: int, tell: Tell) -> ProgramTested:
    made = ProgramTested(file=str(path), cases=[])
    for number in range(first, 3):
        case: Described = {
            "number": number, "kind": "run", "entry": "", "name": "", "tags": [], "src": [],
        }  # fmt: skip
        tell(Began(path, number, 3, case))
        if path.stem == "b" and number == 1:
            os._exit(1)
        made["cases"].append(CaseTested(**{**case, "outcome": "passed", "because": ""}))
        tell(made["cases"][-1])
    if path.stem == "c":
        os._exit(1)
    return made


def test_a_test_that_ends_its_process_has_failed() -> None:
    paths = [Path(f"{name}.fut") for name in "abcd"]
    began: list[Began] = []
    found = list(testers.all_tested(paths, _ends_its_process, 2, math.inf, began.append))
    assert [program["file"] for program in found] == list(map(str, paths))
    outcomes = [[case["outcome"] for case in program["cases"]] for program in found]
    assert outcomes == [["passed"] * 3, ["passed", "failed", "passed"], *[["passed"] * 3] * 2]
    assert ["error" in program for program in found] == [False, False, True, False]
    assert len(began) == 12


STARTED = """
import signal, sys
from compiler.__main__ import main
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs tests may ignore it
    sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_ends_it(tmp_path: Path, jobs: str) -> None:
    one = "-- ==\n-- input { 1 } output { 1 }\n\nentry main (x: i32) = x\n"
    (tmp_path / "a.fut").write_text(one)
    endless = "entry main (x: i32) = loop x = x while x > 0 do if x == 7 then 8 else 7\n"
    (tmp_path / "b.fut").write_text(f"-- ==\n-- input {{ 1 }}\n\n{endless}")
    command = [sys.executable, "-c", STARTED, "test", str(tmp_path), "--jobs", jobs]
    with subprocess.Popen(
        [*command, "--backend", "ref"], stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == f"{tmp_path / 'a.fut'}: 1 passed\n"
        os.kill(running.pid, signal.SIGINT)
        running.communicate(timeout=20)  # ends when no process holds the standard output any more
        assert running.returncode == 130


def test_a_file_that_is_named_and_has_no_test_is_no_success(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plain, tests = tmp_path / "plain.fut", tmp_path / "tests.fut"
    plain.write_text("entry main (x: i32) = x + 1\n")
    tests.write_text("-- == input { 1 } output { 2 }\nentry main (x: i32) = x + 1\n")
    assert main(["test", str(tmp_path), "--backend", "ref"]) == 0
    assert capsys.readouterr().err == ""
    assert main(["test", str(plain), str(tests), "--backend", "ref"]) == 1
    told = capsys.readouterr()
    assert told.err == (
        f"{plain}: NOTHING TESTED. No test begins in it: a block of tests is a comment that begins"
        " with `-- ==`.\n"
    )
    assert told.out == f"{tests}: 1 passed\n1 passed in 1 program; 1 without tests\n"
    assert main(["test", str(tests), "--backend", "ref", "--entry", "other"]) == 1
    assert "It has tests, but none of that entry point." in capsys.readouterr().err
