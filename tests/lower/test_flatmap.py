"""`flatmap`: results of different sizes behind one another, and where each of them lies."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.driver.pipeline import Compilation
from compiler.driver.worker import answer
from compiler.ir import nodes as ir
from compiler.ir.walk import all_stms

EACH = """entry main (counts: []i64) (xs: []i32) =
  flatmap (\\(k, x) -> (map (\\i -> x + i32.i64 i) (iota k), x * 2)) (zip counts xs)
"""
PRIMED = "entry main (xs: []i32): [](i32, [2]i64) = (flatmap' (\\x -> " + (
    "replicate (i64.i32 x) (x, [i64.i32 x, 7])) xs).3\n"
)
CONSTANT = (
    "entry main (xs: []i32) = let (_, _, _, ys, _) = flatmap (\\x -> ([x, 9], ())) xs in ys\n"
)
WRONG = "entry main (xs: []i32) = (flatmap' (\\x -> filter (> x) [1, 2, xs[x]]) xs).3\n"
INSIDE = (
    "entry main (xss: [][]i32) = map (\\xs -> let (counts, _, _, ys, _) ="
    " flatmap (\\x -> (replicate (i64.i32 x) x, ())) xs in (i32.sum ys, i64.sum counts)) xss"
    " |> unzip\n"
)
GROWING = (
    "entry main (xs: []i64) = map (\\x -> i64.sum (loop ys = [x] while ys[0] > i64.sum ys - 3"
    " do [x] ++ ys[1:] ++ [1])) xs\n"
)
SHRINKING = (
    "entry main (xss: [][]i64) = map (\\xs -> length (loop ys = xs while ys[0] > 0 do ys[1:])) xss"
    "\n"
)
CASES = [
    (INSIDE, "[[2, 0], [1, 3]]", "[4i32, 10i32]\n[2i64, 4i64]"),
    (GROWING, "[5, 7]", "[8i64, 10i64]"),
    (SHRINKING, "[[1, 0], [0, 5]]", "[1i64, 2i64]"),
    (
        EACH,
        "[0i64, 2i64, 3i64, 0i64, 1i64] [9, 10, 20, 8, 30]",
        "[0i64, 2i64, 3i64, 0i64, 1i64]\n[true, false, true, false, false, true]\n"
        "[0i64, 0i64, 2i64, 5i64, 5i64]\n[10i32, 11i32, 20i32, 21i32, 22i32, 30i32]\n"
        "[18i32, 20i32, 40i32, 16i32, 60i32]",
    ),
    (
        EACH,
        "empty([0]i64) empty([0]i32)",
        "empty([0]i64)\nempty([0]bool)\nempty([0]i64)\nempty([0]i32)\nempty([0]i32)",
    ),
    (PRIMED, "[2, 0, 1]", "[(2i32, [2i64, 7i64]), (2i32, [2i64, 7i64]), (1i32, [1i64, 7i64])]"),
    (CONSTANT, "[3, 4]", "[3i32, 9i32, 4i32, 9i32]"),
]


@pytest.mark.parametrize(("backend", "stage"), [("c", ""), ("ref", "soa"), ("ref", "imp")])
@pytest.mark.parametrize(("source", "given", "output"), CASES)
def test_results_lie_behind_one_another(
    source: str, given: str, output: str, backend: str, stage: str
) -> None:
    asked: dict[str, Any] = {"op": "run", "source": source, "input": given, "backend": backend}
    told = answer({**asked, "stage": stage, "options": {"verify": True}})
    assert told.get("output") == output, told


def test_a_failure_inside_has_its_place() -> None:
    told = answer({"op": "run", "source": WRONG, "input": "[0, 5]", "backend": "c"})
    assert "out of bounds" in told["error"]["message"]
    assert told["error"]["span"][0] == 1


def test_threads_run_what_does_not_grow() -> None:
    """A remark tells of what does."""
    for source, grows in ((INSIDE, True), (GROWING, True), (SHRINKING, False)):
        work = Compilation(source)
        flat = work.result("flat").prog
        kernels = [s for s in all_stms(flat.funs[0].body.stms) if isinstance(s.exp, ir.SegMap)]
        assert bool(kernels) is not grows or source == INSIDE
        told = [r for r in work.remarks() if r.rule == "flatten/growing" and r.kind == "missed"]
        assert bool(told) is grows
