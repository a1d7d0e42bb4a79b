"""`with_vjp`: reverse mode asks the function's own way back, and nothing else does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.runtime import runner
from compiler.semantics import interp, value
from testing.compiling import compiled
from tests.derive.helpers import close

SOURCE = Path(__file__).with_name("own_slopes.fut").read_text("utf-8")
F = np.float64
XS, YS = np.array([3, 1, 2], F), np.array([0.5, -2, 3], F)
HALF = (F(1.5),)
BOTH = (F(1.5), F(2))
CASES: dict[str, tuple[tuple[Any, ...], list[Any]]] = {
    "once": (HALF, [F(2.25 * 2 + 100)]),
    "forward": (HALF, [F(6)]),
    "twice": (HALF, [F(3)]),
    "there": (HALF, [F(3)]),
    "back": (HALF, [F(2)]),
    "in_loop": ((F(1.5), np.int64(4)), [F(7)]),
    "arrays": ((XS, np.int64(1)), [np.array([6, 2, 4], F)]),
    "branch": (HALF, [F(102.25)]),
    "unused": (BOTH, [F(4)]),
    "outer": (BOTH, [F(104)]),
    "free": (BOTH, [F(0)]),
    "many": (HALF, [np.array([102.25, 101, 105.5], F)]),
    "none": (HALF, [F(2.25)]),
    "integers": ((np.array([1, 2, 3], np.int32),), [np.array([0, 3, 8], np.int32)]),
    "in_each_other": (HALF, [F(9)]),
    "by_the_seed": (HALF, [F(109)]),
}


@pytest.fixture(scope="module")
def work() -> Compilation:
    return compiled(SOURCE, Options(verify=True))


@pytest.mark.parametrize("entry", CASES)
def test_the_way_back_is_asked(work: Compilation, entry: str) -> None:
    args, expected = CASES[entry]
    assert close(value.run(work.result("soa").prog, entry, args), expected)
    for stage in ("soa", "ad", "fused", "merged"):
        found = interp.run(work.result(stage).prog, entry, args)
        assert close(found, expected), f"{stage}: {found}"


def test_results_that_only_the_way_back_needs(work: Compilation) -> None:
    expected = value.run(work.result("soa").prog, "pairs", (XS, YS))
    product, total = XS * YS, XS + np.sin(YS)
    square, seed = XS * XS, XS * XS
    slopes = [product * seed + square * total + 100, np.cos(product)]
    assert close(expected, slopes)
    for stage in ("ad", "merged"):
        assert close(interp.run(work.result(stage).prog, "pairs", (XS, YS)), expected)


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
def test_c_gives_the_same(work: Compilation) -> None:
    text = plain(work.result("c").prog)
    for entry, (args, expected) in CASES.items():
        found = runner.run_c(text, entry, args).values
        assert close(found, expected), f"{entry}: {found}"


def test_who_is_asked_is_told_at_its_place() -> None:
    work = compiled(
        "def f (x: f64) = with_vjp (* 2) (\\_ s -> s) x\nentry main (x: f64) = vjp f x 1"
    )
    work.result("ad")
    (told,) = [remark for remark in work.remarks() if remark.rule == "ad/own-slopes"]
    assert told.at[0].line == 1
