"""`#[unroll]`: a loop becomes its iterations, which mean the same, and no more than a few."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.base.text import plain
from compiler.driver.pipeline import Compilation, Options
from compiler.ir.nodes import Loop
from compiler.ir.parser import parse
from compiler.ir.printer import show
from compiler.ir.walk import all_stms
from compiler.semantics import interp

PROGRAMS: dict[str, tuple[str, list[Any]]] = {
    "two variables": (
        "entry main (x: i64) = #[unroll] loop (a, b) = (x, 1) for i < 5 do (b + i, a * b)",
        [np.int64(3)],
    ),
    "updates, in a loop in a loop": (
        "entry main (xs: *[8]i64) = #[unroll] loop xs for i < 5 do\n"
        " #[unroll] loop xs for j < i do xs with [i] = 2 * xs[i] + xs[j]",
        [np.arange(1, 9)],
    ),
    "a copy of what the loop begins with": (
        "entry main (xs: [4]i64) = let (a, b) = #[unroll] loop (a, b) = (copy xs, copy xs)\n"
        " for i < 4 do let (u, v) = (a[i], b[3 - i]) in (a with [i] = v + 1, b with [i] = u * 2)\n"
        " in map2 (-) a b",
        [np.arange(5, 9)],
    ),
    "arrays that grow": (
        "entry main (x: i64) = #[unroll] loop a = [x] for i < 3 do a ++ [i, x]",
        [np.int64(7)],
    ),
    "the elements of an array": (
        "entry main (x: i32) = #[unroll] loop a = x for y in [1, 2, 3] do a * y + 1",
        [np.int32(4)],
    ),
    "in threads, with parallelism inside": (
        "entry main (xss: [3][4]i64) = map (\\xs -> #[unroll] loop ys = xs for i < 3 do\n"
        " let s = reduce (+) i ys in map (+ s) ys) xss",
        [np.arange(12).reshape(3, 4)],
    ),
    "indices that are narrow": (
        "entry main (x: i8) = #[unroll] loop a = x for i < 100i8 do a * 3i8 + i",
        [np.int8(5)],
    ),
}


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_no_loop_is_left_and_the_result_is_the_same(name: str, target: str) -> None:
    source, args = PROGRAMS[name]
    work = Compilation(source, Options(verify=True, target=target))
    (fun,) = work.result("fused").prog.funs
    assert not any(isinstance(stm.exp, Loop) for stm in all_stms(fun.body.stms))
    expected = interp.run(work.result("soa").prog, "main", list(args))
    for stage in ("simplified", "fused", "flat", "merged"):
        found = interp.run(work.result(stage).prog, "main", list(args))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    work.result("imp")
    (said,) = {r.kind for r in work.remarks() if r.rule == "simplify/loop-unroll"}
    assert said == "applied"


@pytest.mark.parametrize(
    ("loop", "because"),
    [
        ("loop x for i < n do x * i + 1", "known only at run time"),
        ("loop x for i < 1000000 do x * i + 1", "would become 1000000 statements"),
        (
            "loop x for i < 100 do #[unroll] loop x for j < 100 do\n"
            " #[unroll] loop x for k < 100 do x * i + j * k",
            "would become",
        ),
    ],
    ids=["unknown", "many", "many inside of many"],
)
def test_where_it_stays_a_loop_its_author_is_told_why(loop: str, because: str) -> None:
    work = Compilation(f"entry main (x: i64) (n: i64) = #[unroll] {loop}", Options(verify=True))
    (fun,) = work.result("fused").prog.funs
    stms = list(all_stms(fun.body.stms))
    assert any(isinstance(stm.exp, Loop) for stm in stms)
    assert len(stms) < 5000
    missed = [r.because for r in work.remarks() if r.kind == "missed"]
    assert any(because in text for text in missed)


def test_it_can_be_switched_off_and_nothing_is_unrolled_unasked() -> None:
    source, _ = PROGRAMS["two variables"]
    off = Options(disabled=frozenset({"simplify/loop-unroll"}))
    for text, options in ((source, off), (source.replace("#[unroll] ", ""), Options())):
        shown = plain(Compilation(text, options).result("fused").text)
        assert "loop (" in shown
        assert ("unroll" in shown) == (text == source)


def test_the_text_form_reads_back() -> None:
    text = plain(Compilation(PROGRAMS["arrays that grow"][0]).result("soa").text)
    assert " unroll 2000 do" in text
    assert plain(show(parse(text))) == text
