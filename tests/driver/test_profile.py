"""Profiles of runs: what parts take, where they are from."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pytest

from compiler.__main__ import main
from compiler.codegen.c.profile import emit_measured
from compiler.driver.api import compilation
from compiler.driver.worker import answer
from compiler.protocol.kinds import OfProgram
from tests.runtime.cuda_on_cpu import needs_cxx

PROGRAM = """entry main [n] (xs: [n]f64) (k: i64) =
  let ys = map (* 2) (reverse xs)
  let zs = loop zs = ys for _i < k do
    map2 (+) zs (scan (+) 0 zs)
  in (f64.sum zs, map f64.sin xs)

entry at (xs: []i32) (i: i64) = map (+ xs[i]) xs
"""


def test_parts_have_their_times_calls_places_and_origins() -> None:
    told = answer(
        {"op": "profile", "source": PROGRAM, "entry": "main", "sizes": {"n": 50_000, "k": 7}}
    )
    assert told["ok"], told
    parts = told["parts"]
    assert parts == sorted(parts, key=lambda one: -one["ms"])
    assert 0 < sum(one["ms"] for one in parts) <= told["ms"] * 1.0001
    assert told["rest_ms"] >= 0
    kernels = [one for one in parts if one["kind"] == "kernel"]
    (scan,) = [one for one in kernels if one["name"].startswith("scan")]
    assert (scan["calls"], scan["src"], scan["stage"]) == (7, [[4, 18, 4, 31]], "soa")
    assert {one["src"][0][0] for one in kernels} == {2, 4, 5}


def test_what_was_fused_is_since_that_stage() -> None:
    source = "entry main (xs: []i32) =\n  let ys = map (* 2) xs\n  in map (+ 1) ys\n"
    told = answer({"op": "profile", "source": source, "sizes": {"n": 10}})
    (kernel,) = [one for one in told["parts"] if one["kind"] == "kernel"]
    assert kernel["stage"] == "fused"
    assert sorted(span[0] for span in kernel["src"]) == [2, 3]


def test_a_measured_program_gives_the_same_and_fails_at_the_same_place() -> None:
    asked = {"source": PROGRAM, "entry": "at", "input": "[1, 2, 3] 7"}
    plain = answer({"op": "run", **asked})["error"]
    measured = answer({"op": "profile", **asked})["error"]
    assert measured == plain
    assert "Index [7] out of bounds" in measured["message"]
    assert measured["span"]


def test_a_program_without_parts_is_all_between_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "p.fut"
    program.write_text("entry main (n: i64) = n * n")
    assert main(["profile", str(program), "--generate", "n=3"]) == 0
    assert "100.0%  between" in capsys.readouterr().out


def test_only_the_host_looks_at_the_clock() -> None:
    prog = compilation(OfProgram(PROGRAM)).result("imp", "c").prog
    text, sections = emit_measured(prog)
    code = [line.text for line in text]
    assert sum("= ss_now();" in line for line in code) == len(sections)
    assert sum("ss_spent(" in line for line in code) == len(sections) + 1
    plain = [line.text for line in compilation(OfProgram(PROGRAM)).result("c").text]
    assert not any("ss_now" in line for line in plain)


def test_the_command_prints_lines_and_parts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.fut"
    path.write_text(PROGRAM)
    given = ["profile", str(path), "--generate", "n=1000", "--generate", "k=3"]
    assert main(given) == 0
    shown = capsys.readouterr().out
    assert "  line 4\n" in shown
    assert "3x kernel" in shown
    assert "between" in shown
    assert main([*given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["ok"]
    assert main(["profile", str(path), "--entry", "none", "--generate", "n=1"]) == 2


def test_of_cuda_sectors_and_launches_are_counted_by_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "p.fut"
    program.write_text(
        "entry main [n] (xs: [n]f32) (is: [n]i64) =\n"
        "  let ys = map (* 2) xs\n"
        "  in (f32.sum ys, map (\\i -> xs[i * 64 % n]) is)\n"
    )
    assert main(["profile", str(program), "--backend", "cuda", "--generate", "n=2048"]) == 0
    head, *rows = capsys.readouterr().out.splitlines()
    asked = {"op": "observe", "source": program.read_text(), "sizes": {"n": 2048}, "seconds": 15.0}
    told = answer(asked)
    own = [one for one in told["accesses"] if not one["shared"]]
    sectors = sum((one.get("seen") or one["predicted"])["sectors"] for one in own)
    launches = sum(one["launches"] for one in told["kernels"])
    assert head.startswith(f"{sectors} sectors of 32 bytes, {launches} launches, ")
    assert head.endswith("no times")
    lines = rows[: rows.index("")]
    assert sum(int(line.split()[0]) for line in lines) == sectors
    assert any(line.endswith("line 3") for line in lines)
    assert [line.split()[0] for line in rows[rows.index("") + 1 :]] == [
        f"{one['launches']}x" for one in told["kernels"]
    ]


@needs_cxx
def test_of_cuda_the_operation_counts_and_tells_no_times(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = {"op": "profile", "source": PROGRAM, "entry": "at", "input": "[1, 2, 3] 1"}
    told = answer({**asked, "backend": "cuda"})
    assert (told["ms"], told["parts"]) == (0, [])
    counts = told["counts"]
    assert counts["observed"]
    assert not counts["because"]
    (line,) = counts["lines"]
    assert line["src"][0][0] == 7
    assert line["sectors"] > 0
    assert {one["launches"] for one in counts["kernels"]} == {1}
    assert "counts" not in answer(asked)
    assert "no target" in answer({**asked, "backend": "opencl"})["error"]["message"]
    program = tmp_path / "p.fut"
    program.write_text(PROGRAM)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"[1, 2, 3] 1")))
    assert main(["profile", str(program), "--entry", "at", "--backend", "cuda", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["counts"]["lines"] == counts["lines"]


@needs_cxx
def test_of_cuda_a_run_that_fails_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program, values = tmp_path / "p.fut", tmp_path / "values"
    program.write_text("entry at (xs: []i32) (is: []i64) = map (\\i -> xs[i]) is\n")
    values.write_text("[1, 2, 3] [0, 7]")
    asked = ["profile", str(program), "--entry", "at", "--backend", "cuda"]
    assert main([*asked, "--input", str(values)]) == 1
    assert "[7] out of bounds" in capsys.readouterr().out
