"""Profiles of runs: what parts take, where they are from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compiler.__main__ import main
from compiler.api import compilation
from compiler.codegen.c.profile import emit_measured
from compiler.protocol.kinds import OfProgram
from compiler.worker import answer

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
