"""`#[scratch]`: what an array holds at first does not matter, and is not computed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.base.text import plain
from compiler.driver import api
from compiler.driver.worker import answer
from compiler.protocol.kinds import OfProgram
from compiler.runtime.device_process import observe

SCATTERED = """
entry main [n] [m] (xs: [n]i32) (is: [m]i64) (vs: [m]i32) (i: i64): i32 =
  let written = scatter (#[scratch] copy xs) is vs
  in written[i]
"""
PAIR = """
entry main [n] (xs: [n]i32): ([n]i32, [n]f64, i32) =
  let (a, b, c) = #[scratch] (copy xs, map f64.i32 xs, xs[0])
  in (scatter a (iota n) xs, scatter b (iota n) (map f64.i32 xs), c)
"""
CHECKED = """
entry main [n] (xs: [n]i32): [n]i32 =
  scatter (#[scratch] (assert (n > 2) (copy xs))) (iota n) xs
"""


def _run(source: str, given: str, unsafe: bool, **more: str) -> dict[str, Any]:
    options = {"verify": True, "unsafe": unsafe}
    asked = {"op": "run", "source": source, "input": given, "options": options}
    return answer({"backend": "ref", **asked, **more})


@pytest.mark.parametrize("unsafe", [False, True])
@pytest.mark.parametrize("where", [{"backend": "c"}, {"stage": "soa"}, {"stage": "imp"}])
@pytest.mark.parametrize(
    ("source", "given", "output"),
    [
        (SCATTERED, "[1, 2, 3] [0i64, 2i64] [7, 8] 2i64", "8i32"),
        (PAIR, "[4, 5]", "[4i32, 5i32]\n[4.0f64, 5.0f64]\n4i32"),
        (CHECKED, "[4, 5, 6]", "[4i32, 5i32, 6i32]"),
    ],
)
def test_what_is_written_is_found(
    source: str, given: str, output: str, where: dict[str, str], unsafe: bool
) -> None:
    told = _run(source, given, unsafe, **where)
    assert told.get("output") == output, told


def test_its_checks_stay() -> None:
    for unsafe in (False, True):
        told = _run(CHECKED, "[4, 5]", unsafe)
        assert "Assertion is false: (n > 2)" in told["error"]["message"]


def test_without_the_option_the_contents_are_the_programs() -> None:
    told = _run(SCATTERED, "[1, 2, 3] [0i64, 2i64] [7, 8] 1i64", False)
    assert told["output"] == "2i32"


def test_it_is_told_and_can_be_switched_off() -> None:
    def shown(**options: Any) -> tuple[str, list[tuple[str, str]]]:
        work = api.compilation(OfProgram(SCATTERED, options))  # type: ignore[arg-type]
        text = plain(work.result("simplified").text)
        return text, [(r.kind, r.hint) for r in work.remarks() if r.rule == "soa/scratch"]

    text, told = shown(unsafe=True)
    assert "scratch([n" in text
    assert "copy(" not in text
    assert told == [("applied", "")]
    text, told = shown()
    assert "scratch(" not in text
    assert "copy(" in text
    assert told == [("missed", "Compile with `--unsafe` to skip the initialisation.")]
    text, told = shown(unsafe=True, disable=["soa/scratch"])
    assert "scratch(" not in text
    assert "copy(" in text
    assert told == []


def test_the_observer_tells_of_a_cell_that_nothing_has_written() -> None:
    asked = OfProgram(SCATTERED, {"target": "cuda", "unsafe": True})
    text = plain(api.compilation(asked).result("cuda").text)
    xs, at, vs = (np.array(v, t) for v, t in (([1, 2, 3], "i4"), ([0, 2], "i8"), ([7, 8], "i4")))
    for i, problems in ((2, 0), (1, 1)):
        seen = observe(text, "main", [xs, at, vs, np.int64(i)], 60.0)
        assert len(seen.problems) == problems, seen.problems
        assert all("written" in problem.says for problem in seen.problems)
