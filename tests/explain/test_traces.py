"""What `trace` and `break` show, in the order of the source."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from compiler.__main__ import main
from compiler.base.errors import TimeoutError_
from compiler.driver import worker
from compiler.explain import traces

HEAD = """type s = #a i32 | #b
def f (x: i32) : i32 = trace (x * 2)
"""


def run(body: str, text: str, **more: Any) -> dict[str, Any]:
    asked = {"op": "run", "source": f"{HEAD}entry main {body}", "input": text, "backend": "ref"}
    return worker.answer({**asked, **more})


def seen(found: dict[str, Any]) -> list[tuple[int, int, list[str]]]:
    """Line, column and values of each place."""
    places = found["traces"]["places"]
    return [(*place["src"][0][:2], place["values"]) for place in places]


@pytest.mark.parametrize("backend", ["ref", "c"])
@pytest.mark.parametrize(
    ("body", "text", "output", "places"),
    [  # the values in the order in which `futhark run` shows them
        ("(x: i32) = trace (x + 1)", "2", "3i32", [(3, 23, ["3i32"])]),
        (
            "(x: i32) = map (\\y -> trace (y, {a = x})) (iota 2)",
            "7",
            "[(0i64, {a = 7i32}), (1i64, {a = 7i32})]",
            [(3, 34, ["(0i64, {a = 7i32})", "(1i64, {a = 7i32})"])],
        ),
        ("(xs: []i32) = map trace xs", "[1, 2]", "[1i32, 2i32]", [(3, 26, ["1i32", "2i32"])]),
        ("(xs: []i32) = map f xs", "[1, 2]", "[2i32, 4i32]", [(2, 24, ["2i32", "4i32"])]),
        (
            "(xs: []i32) = reduce (\\a b -> trace (a + b)) 0 xs",
            "[1, 2, 3]",
            "6i32",
            [(3, 42, ["1i32", "3i32", "6i32"])],
        ),
        (
            "(x: i32) = let _ = trace [x, 1] in let y = break (#a x : s)\n"
            " in match y case #a k -> k case #b -> trace 0",
            "4",
            "4i32",
            [(3, 31, ["[4i32, 1i32]"]), (3, 55, ["#a 4i32"])],
        ),
        (
            "(n: i64) = let a = trace (replicate n 1i32) with [0] = 5 in trace a",
            "2",
            "[5i32, 1i32]",
            [(3, 31, ["[1i32, 1i32]"]), (3, 72, ["[5i32, 1i32]"])],
        ),
        ("(x: i32) = if trace (x > 1) then trace 1i8 else trace 2", "1", "2i8",
         [(3, 26, ["false"]), (3, 60, ["2i8"])]),
        (
            "(x: i32) (ys: []i32) = let z = #[trace] (x + 1) let g 'a (y: a) = #[trace(there)] y\n"
            " let w = if #[break] (z > 1) then #[trace] filter (> 1) ys else ys\n"
            " in (#[trace] #[sequential] map (#[trace] (\\y -> y + 1)) w,"
            " g (#a x : s), #[unsafe] z)",
            "3 [1, 2]",
            "[3i32]\n#a 3i32\n4i32",
            [(3, 43, ["4i32"]), (4, 13, ["true"]), (4, 35, ["[2i32]"]), (5, 6, ["[3i32]"]),
             (3, 78, ["#a 3i32"])],
        ),
        ("(x: i32) = #[trace] (\\y -> y + x) 1", "2", "3i32", [(3, 23, ["3i32"])]),
        ("(xs: [](i32, bool)) = (trace xs).0 |> trace |> id", "[(1, true)]", None, None),
    ],
)  # fmt: skip
def test_values_are_shown_whatever_gives_the_results(
    body: str, text: str, output: str | None, places: Any, backend: str
) -> None:
    found = run(body, text, backend=backend)
    if output is None:  # wrong programs have no traces
        assert "traces" not in found["error"]
        return
    assert found["output"] == output
    assert seen(found) == places
    assert found["traces"]["note"] == ""


def test_a_program_without_traces_has_none() -> None:
    assert "traces" not in run("(x: i32) = x", "1")


def test_the_stages_are_those_without_traces() -> None:
    asked = {"op": "show", "stages": ["soa", "fused", "merged", "c"]}
    with_, without = (
        worker.answer({**asked, "source": f"entry main (xs: []i32) = map (\\x -> {e}) xs"})
        for e in ("trace (x + 1)", "(x + 1)")
    )
    for name in ("fused", "merged", "c"):
        texts = [found["stages"][name]["counts"] for found in (with_, without)]
        assert texts[0] == texts[1]
    assert "trace" not in with_["stages"]["soa"]["text"]


def test_a_run_that_fails_shows_what_was_traced_before() -> None:
    error = run("(xs: []i32) = let a = trace (length xs) in trace xs[trace a]", "[1, 2]")["error"]
    assert "Index [2] out of bounds" in error["message"]
    assert seen(error) == [(3, 34, ["2i64"]), (3, 64, ["2i64"])]


def test_values_are_cut_and_counted() -> None:
    found = run("(n: i64) = loop a = 0 for i < n do trace (a + i)", "150")
    (place,) = found["traces"]["places"]
    assert (len(place["values"]), place["count"]) == (traces.MOST_OF_ONE, 150)
    assert found["traces"]["note"] == ""
    found = run("(n: i64) = loop a = 0 for i < n do trace (a + i)", "1001")
    (place,) = found["traces"]["places"]
    assert place["count"] == traces.MOST
    assert "these are the first" in found["traces"]["note"]
    (place,) = run("(n: i64) = trace (iota n)", "1000")["traces"]["places"]
    assert len(place["values"][0]) <= traces.LONGEST
    assert "… and" in place["values"][0]


def test_a_run_that_takes_long_shows_what_it_has(monkeypatch: pytest.MonkeyPatch) -> None:
    def late(seconds: float, work: Callable[[], object]) -> None:
        work()
        raise TimeoutError_(f"after {seconds}")

    monkeypatch.setattr(traces, "within", late)
    found = run("(x: i32) = trace x", "1")
    assert seen(found) == [(3, 23, ["1i32"])]
    assert found["traces"]["note"].startswith("These are the values of the first 5 s")
    assert found["output"] == "1i32"


def test_the_command_line_shows_them_on_standard_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "p.fut"
    program.write_text('import "q"\nentry main (xs: []i32) = map (\\x -> trace (g x)) xs\n')
    program.with_name("q.fut").write_text("def g (x: i32) = break (x + 1)\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"[1, 2]")))
    assert main(["run", str(program)]) == 0
    out, err = capsys.readouterr()
    assert out == "[2i32, 3i32]\n"
    lines = [line.rpartition("/")[2] for line in err.splitlines()]
    assert [line.partition(":")[2].partition(": ")[2] for line in lines] == [
        "break: 2i32",
        "trace: 2i32",
        "break: 3i32",
        "trace: 3i32",
    ]
    assert lines[1] == "p.fut:2:37: trace: 2i32"
