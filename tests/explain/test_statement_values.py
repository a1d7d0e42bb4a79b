"""Value flow: what every statement of a stage gives, in values and in cells of blocks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from compiler.__main__ import main
from compiler.driver.api import VALUE_STAGES
from compiler.driver.worker import answer
from compiler.explain import statement_values as flowing

PROGRAM = """entry main [n] (xs: [n]i32) (k: i64) =
  let ys = map (* 2) (reverse xs)
  in (loop zs = ys for i < k do map (+ i32.i64 i) zs, i32.sum ys)
"""


def asked(stage: str, source: str = PROGRAM, **more: Any) -> Any:
    given = {
        "op": "flow",
        "source": source,
        "stage": stage,
        "input": "[1i32, 2i32, 3i32]\n2i64",
        **more,
    }
    return answer(given)


def lines(stage: str) -> dict[int, str]:
    """The lines of each statement, by its number."""
    shown = answer({"op": "show", "source": PROGRAM})["stages"][stage]
    found: dict[int, str] = {}
    for line in shown["lines"]:
        found[line["node"]] = found.get(line["node"], "") + line["text"]
    return found


@pytest.mark.parametrize("stage", VALUE_STAGES)
def test_each_step_is_a_statement_of_the_text_with_its_names(stage: str) -> None:
    told, texts = asked(stage), lines(stage)
    assert told["ok"], told
    assert told["note"] == ""
    assert told["steps"]
    for step in told["steps"]:
        for one in step["values"]:
            assert one["name"] in texts[step["node"]]
    values = [one["text"] for step in told["steps"] for one in step["values"]]
    assert "[7i32, 5i32, 3i32]" in values
    assert "12i32" in values


def test_arrays_are_cells_of_blocks_from_the_first_stage_with_memory_on() -> None:
    assert not asked("simplified")["heap"]
    told = asked("funmem", "entry main (xs: []i32) (_: i64) = (reverse xs, map (+ 1) xs)")
    assert told["heap"]
    steps = [step for step in told["steps"] if step.get("cells")]
    reverse = next(step for step in steps if step["values"][-1].get("at") == [2, 1, 0])
    assert reverse["cells"][0] == ["1", "2", "3"]
    assert reverse["values"][-1]["text"] == "[3i32, 2i32, 1i32]"
    for step in steps:
        arrays = [one for one in step["values"] if "at" in one]
        for one, cells in zip(arrays, step["cells"], strict=True):
            assert [f"{cells[at]}i32" for at in one["at"]] == one["text"].strip("[]").split(", ")
            assert told["blocks"][one["block"]]


def test_a_run_that_fails_shows_how_far_it_came() -> None:
    told = asked("fused", "entry main (xs: []i32) (k: i64) = let y = xs[0] in y + xs[k + 7]")
    assert told["ok"]
    assert told["note"].startswith("The run fails here: ")
    assert "9" in told["note"]
    assert told["steps"]


def test_steps_have_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flowing, "MOST", 5)
    for stage in ("fused", "funmem"):
        told = asked(stage)
        assert len(told["steps"]) == 5
        assert told["note"] == "These are the first 5 steps: try a smaller input."
    endless = "entry main (xs: []i32) (_: i64) = loop x = xs[0] while x > 0 do x + 0 * xs[1]"
    assert len(asked("soa", endless)["steps"]) == 5


def test_what_has_no_statements_is_refused() -> None:
    assert "no statements" in asked("c")["error"]["message"]
    assert "no stage `funny`" in asked("funny")["error"]["message"]
    assert not asked("fused", input="[1] [2]")["ok"]


def test_the_command_prints_steps_with_their_lines(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, values = tmp_path / "a.fut", tmp_path / "values"
    file.write_text(PROGRAM)
    values.write_text("[1i32, 2i32, 3i32]\n2i64")
    for stage in ("soa", "funmem"):
        given = [str(file), "--stage", stage]
        assert main(["show", *given]) == 0
        text = capsys.readouterr().out.splitlines()
        assert main(["flow", *given, "--input", str(values)]) == 0
        printed = capsys.readouterr().out.splitlines()
        assert any(line.startswith("  ") for line in printed) == (stage == "funmem")
        steps = [re.fullmatch(r"line (\d+): (\w+) = .*", line) for line in printed]
        found = [step for step in steps if step]
        assert len(found) > 5
        for step in found:
            assert step[2] in "\n".join(text[int(step[1]) - 1 :])
        assert main(["flow", *given, "--input", str(values), "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["steps"] == asked(stage)["steps"]
    assert main(["flow", str(file), "--stage", "c"]) == 2


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (["flow", "--stage", "soa"], "No statement of `soa` was run."),
        (["flow", "--stage", "funmem"], "No statement of `funmem` was run."),
        (["attempts"], "nothing is attempted"),
        (["bounds"], "nothing is checked"),
        (["accesses", "--predict"], "No kernel is launched."),
    ],
)
def test_where_there_is_nothing_to_tell_that_is_told(
    command: list[str], says: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "a.fut"
    file.write_text("entry main (n: i64) = n")
    assert main([*command, str(file)]) == 0
    assert says in capsys.readouterr().out
