"""The command line as a user meets it: what it prints, and its exit statuses."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from compiler.__main__ import main
from compiler.base.stack import GARBAGE_THRESHOLD
from compiler.codes import CODES
from compiler.driver import switches
from compiler.driver.worker import answer
from compiler.ir import random_values
from compiler.runtime import device_process, runner

PROGRAM = "entry main [n] (xs: [n]i32) (k: i64) = xs[k] + 1"


@pytest.fixture
def program(tmp_path: Path) -> str:
    """The path of a small program."""
    path = tmp_path / "program.fut"
    path.write_text(PROGRAM)
    return str(path)


def run(program: str, tmp_path: Path, given: str, *more: str) -> int:
    """The status of running it on values given as text, by the reference interpreter."""
    values = tmp_path / "input"
    values.write_text(given)
    return main(["run", program, "--backend", "ref", "--input", str(values), *more])


def test_a_result_carries_its_type(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(program, tmp_path, "[1, 2, 3] 2") == 0
    assert capsys.readouterr().out == "4i32\n"


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("[1, 2] 7", "Index [7] out of bounds"),
        ("[1, 2] foo", "Expected a value, found `foo`."),
        ("[1, 2]", "`main` takes 2 values and was given 1."),
        ("[1, 2] 1i32", "`k` should be i64 and was given i32."),
        ("[[1], [2, 3]] 1", "The array is not regular"),
    ],
)
def test_wrong_input_is_status_1(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], given: str, says: str
) -> None:
    assert run(program, tmp_path, given) == 1
    assert says in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--entry", "other"], "main"),
        (["--stage", "other"], "fused, flat, funmem"),
        (["--disable", "other"], "The passes are laws, repack, soa, ad, inline, simplify, fuse"),
        (["--disable", "fus"], "Did you mean `fuse`?"),
        (["--disable", "fuse/map-mpa"], "Did you mean `fuse/map-map`"),
        (["--disable", "map-scan"], "Did you mean `fuse/map-scan`?"),
        (["--disable", "simplify/inline"], "cannot be switched off"),
        (["--threshold", "other"], "NAME=NUMBER"),
        (["--threshold", "=3"], "NAME=NUMBER"),
        (["--threshold", "other=3"], "has no threshold `other`"),
        (["--threshold", "a=3", "--threshold", "a=4"], "given twice for `a`"),
        (["--limit", "shortcircuit/budget/steps"], "NAME=NUMBER"),
        (["--limit", "budget=1"], "The limits are ad/checkpoints/whole, "),
        (["--limit", "shortcircuit/budget/stepps=1"], "Did you mean `shortcircuit/budget/steps`?"),
        (["--limit", "shortcircuit/budget/steps=100001"], "may be 0 to 100000"),
        (["--fuel", "-1"], "0 or more"),
    ],
)
def test_wrong_usage_is_status_2_and_lists_what_there_is(
    program: str, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    assert main(["show", program, *options]) == 2
    assert says in capsys.readouterr().err


def test_a_lower_limit_is_taken_by_what_compiles(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "concat.fut"
    path.write_text("entry main (xs: []i64) = concat xs (map (+1) xs)")
    assert main(["attempts", str(path)]) == 0
    assert "used up" not in capsys.readouterr().out
    assert main(["attempts", str(path), "--limit", "shortcircuit/budget/steps=0"]) == 0
    assert "used up" in capsys.readouterr().out
    assert main(["explain", "shortcircuit/budget"]) == 0
    told = capsys.readouterr().out
    assert any(f"--limit {name}=" in told for name in switches.LIMITS)
    assert main(["check", str(path), "--limit", "shortcircuit/budget/steps=100001"]) == 2


def test_wrong_programs_are_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, says in (
        ("entry main = recude", ":1:14: error[N001]: Unknown name `recude`."),
        ("def f = 1", "no entry point"),
    ):
        path = tmp_path / "wrong.fut"
        path.write_text(text)
        assert main(["show", str(path)]) == 1
        assert says in capsys.readouterr().err


def test_json_is_the_workers_answer(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", program, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["entries"] == [
        {"name": "main", "names": ["xs", "k"], "params": ["[n]i32", "i64"], "results": ["i32"]}
    ]
    assert answer["warnings"] == []


def test_explain_tells_of_a_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "z001"]) == 0
    told = capsys.readouterr().out
    assert told.startswith("Z001: Two sizes that may differ\n\nThe size of an array")
    assert "Wrong:\n\n    def dot [n] [m]" in told
    assert "Fixed:\n\n    def dot [n] (xs" in told
    assert main(["explain"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == len(CODES) + len(switches.IDS)
    assert main(["explain", "F001", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert found["files"][0][0] == "sums.fut"
    assert main(["explain", "Z01"]) == 2
    told = capsys.readouterr().err
    assert "There is no error, warning, pass or rule `Z01`." in told
    assert "`Z001`" in told


def test_explain_shows_what_a_rule_does(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "fuse/map-map"]) == 0
    told = capsys.readouterr().out
    assert "\n  -   let (ys_" in told
    assert "\n  +       \\(x_" in told
    assert "Of [1, 2, 3] each of the two gives:\n\n    [4i32, 6i32, 8i32]" in told
    assert main(["explain", "parse", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["shown"]["before"]["stage"] == ""


def test_the_other_place_is_shown_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "twice.fut"
    path.write_text("def f (xs: *[]i32) =\n  let ys = xs with [0] = 5\n  in (ys, xs[0])\n")
    assert main(["check", str(path)]) == 1
    told = capsys.readouterr().err.splitlines()
    assert told[0].startswith(f"{path}:3:11: error[U001]: ")
    assert told[1:3] == ["3 |   in (ys, xs[0])", "  |           ^^"]
    assert told[3:6] == [
        f"{path}:2:12: `xs` is consumed here.",
        "2 |   let ys = xs with [0] = 5",
        "  |            ^^",
    ]


def test_warnings_go_to_standard_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "warned.fut"
    path.write_text("entry main (x: i32) (y: i32) = x")
    assert main(["check", str(path)]) == 0
    found = capsys.readouterr()
    assert found.out.startswith("entry main")
    assert f"{path}:1:22: warning[W001]: `y` is not used.\n1 | entry" in found.err
    assert main(["check", str(path), "--json"]) == 0
    (warning,) = json.loads(capsys.readouterr().out)["warnings"]
    assert warning["kind"] == "warning"
    assert warning["span"] == [1, 22, 1, 23]
    assert warning["hint"] == "If this is intentional, call it `_y` or `_`."


def test_a_reader_may_go_away(program: str) -> None:
    command = f'{sys.executable} -m compiler show "{program}" --json | true'
    done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--generate", "n=3", "--seed", "-1"], "0 or more"),
        (["--generate", "n=3", "--deadline", "-1"], "number of seconds"),
        (["--generate", "n=-3"], "cannot have the shape"),
        (["--generate", "m=3"], "There are n, k."),
        (["--generate", "n=--3"], "NAME=NUMBER"),
        (["--generate", "n=3.5"], "NAME=NUMBER"),
        (["--generate", "n=3", "--generate", "k=99999999999999999999"], "does not fit"),
    ],
)
def test_wrong_sizes_and_times(
    program: str, capsys: pytest.CaptureFixture[str], options: list[str], says: str
) -> None:
    assert main(["run", program, "--backend", "ref", *options]) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("command", ["accesses", "bench", "literate", "profile", "run", "test"])
@pytest.mark.parametrize("seconds", ["-1", "0", "nan", "1e9"])
def test_a_deadline_that_no_run_can_have(
    program: str, capsys: pytest.CaptureFixture[str], command: str, seconds: str
) -> None:
    assert main([command, program, "--deadline", seconds]) == 2
    assert "`--deadline` must be a number of seconds, at most 1000000." in capsys.readouterr().err


def test_more_than_there_is_room_for_is_refused_by_name(
    program: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "default_memory", lambda: 2_000_000)
    sizes = ("--generate", "n=1000000", "--generate", "k=1")
    assert main(["run", program, "--backend", "ref", *sizes]) == 2
    told = capsys.readouterr().err
    assert "`xs` would take 4,000,000 bytes; there is room for 1,000,000." in told
    assert "--predict" in told


def test_making_inputs_counts_for_the_deadline(
    program: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*_: object) -> None:
        for _step in range(1000):  # until the deadline's bell is heard, which may be late
            time.sleep(0.01)

    monkeypatch.setattr(random_values, "inputs", made)
    given = ("--generate", "n=3", "--generate", "k=1", "--deadline", "0.02")
    assert main(["run", program, "--backend", "ref", *given]) == 1
    assert "Making the inputs did not finish within 0.02 s" in capsys.readouterr().err
    request = {"op": "run", "source": PROGRAM, "backend": "ref", "sizes": {"n": 3, "k": 1}}
    error = answer(request | {"deadline": 0.02})["error"]
    assert (error["kind"], error["message"][:17]) == ("timeout", "Making the inputs")


def test_a_back_end_that_is_not_there_is_told_before_inputs_are_made(
    program: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(*_: object) -> None:
        raise AssertionError("inputs are made")

    monkeypatch.setattr(device_process, "why_not", lambda: "There is no GPU here.")
    monkeypatch.setattr(random_values, "inputs", made)
    assert main(["run", program, "--backend", "cuda", "--generate", "n=2147483648"]) == 2
    assert "There is no GPU here." in capsys.readouterr().err
    request = {"op": "run", "source": PROGRAM, "backend": "cuda", "sizes": {"n": 1 << 31}}
    assert answer(request)["error"]["message"] == "There is no GPU here."


def test_the_help_lists_all_that_can_be_switched_off(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        main(["show", "--help"])
    assert done.value.code == 0
    text = capsys.readouterr().out
    assert all(f"\n    {rule} " in text for rule in switches.RULES)


def test_thresholds_of_both_targets_are_known(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rows.fut"
    path.write_text("entry main [n][m] (xs: [n][m]i32) = map (reduce (+) 0) xs")
    show = ["show", str(path), "--stage", "imp"]
    assert main([*show, "--threshold", "suff_outer_0=77"]) == 0
    assert "77" in capsys.readouterr().out
    assert main([*show, "--threshold", "suff_intra_0=77"]) == 0
    assert main([*show, "--threshold", "suff_outr_0=77"]) == 2
    assert "Did you mean `suff_outer_0`" in capsys.readouterr().err


@pytest.mark.parametrize(
    "options",
    [
        {"fuel": True},
        {"thresholds": {"a": True}},
        {"thresholds": [1]},
        {"disable": "fuse"},
        {"disable": 3},
        {"disable": [3]},
        {"unsafe": "no"},
        {"verify": 1},
    ],
)
def test_options_of_a_wrong_type_are_refused(options: dict[str, object]) -> None:
    error = answer({"op": "show", "source": PROGRAM, "options": options})["error"]
    assert error["kind"] == "runtime"
    assert f"`{next(iter(options))}`" in error["message"]


@pytest.mark.parametrize("wrong", [{"deadline": "x"}, {"deadline": 0}, {"seed": "x"}, {"seed": -1}])
def test_the_worker_tells_wrong_fields(wrong: dict[str, object]) -> None:
    request = {"op": "run", "source": PROGRAM, "sizes": {"n": 3, "k": 1}, "backend": "ref"}
    assert answer(request)["ok"]
    error = answer({**request, **wrong})["error"]
    assert error["kind"] == "runtime"
    assert next(iter(wrong)) in error["message"]


IN_PLACE = """
entry main [n] (xs: *[n]i32): *[n]i32 =
  let new = map (+ 1) (iota 2)
  in xs with [n - 2:n] = map i32.i64 new
entry kept [n] (xs: *[n]i32): *[n]i32 = xs with [0:n] = map (\\i -> xs[n - 1 - i]) (iota n)
"""


def test_attempts_are_told_with_their_proofs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "places.fut"
    path.write_text(IN_PLACE)
    assert main(["attempts", str(path), "--proofs", "--entry", "main"]) == 0
    (first, *_) = capsys.readouterr().out.splitlines()
    assert first.startswith("4:6: shortcircuit/update done: ")
    assert main(["attempts", str(path), "--entry", "kept"]) == 0
    told = capsys.readouterr().out
    assert "5:41: shortcircuit/update fails at condition 5: " in told
    assert "overlap: Both hold cell 0 for i = 0, n = " in told


def test_a_defect_is_status_3(
    program: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise FileNotFoundError(2, "No such file", "/home/someone/x/table")

    monkeypatch.setattr("compiler.driver.checking.check", broken)
    assert main(["check", program]) == 3
    said = capsys.readouterr().err
    assert "No such file" in said
    assert "someone" not in said
    assert "defect of Stridescope" in said


@pytest.mark.parametrize(
    ("problem", "status"), [(RecursionError(), 1), (MemoryError(), 1), (KeyError("x"), 3)]
)
def test_every_exception_has_a_status(
    program: str, monkeypatch: pytest.MonkeyPatch, problem: Exception, status: int
) -> None:
    def broken(*_: object) -> None:
        raise problem

    monkeypatch.setattr("compiler.driver.checking.check", broken)
    assert main(["check", program]) == status
    assert main(["check", program, "--json"]) == status


def test_an_input_that_cannot_be_read_is_status_2(
    program: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", program, "--input", str(tmp_path / "nowhere")]) == 2
    assert "No such file" in capsys.readouterr().err


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_file_whose_name_is_no_text_can_be_named(tmp_path: Path, more: list[str]) -> None:
    file = tmp_path.joinpath("name\udcff.fut")
    file.write_text("def main = )")
    command = [sys.executable, "-m", "compiler", "check", str(file), *more]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 1
    assert b"Expected an expression" in done.stdout + done.stderr
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("text", ["[", "[]", "9" * 5000, "[" * 300_000, '{"a": NaN}', '{"a": 1}'])
def test_a_problem_that_is_none_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str
) -> None:
    file = tmp_path / "problem.json"
    file.write_text(text)
    assert main(["prove", str(file)]) in (1, 2)
    assert capsys.readouterr().err.strip()


def test_a_process_of_its_own_seldom_looks_for_garbage() -> None:
    """One that is called as a function leaves its caller's settings alone."""
    before = gc.get_threshold()
    assert main(["explain", "U001"]) == 0
    assert gc.get_threshold() == before
    code = (
        "import gc, sys; from compiler.__main__ import main; sys.argv[1:] = ['explain', 'U001'];"
        "status = main(); print(status, gc.get_threshold()[0], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.split() == ["0", str(GARBAGE_THRESHOLD)]
