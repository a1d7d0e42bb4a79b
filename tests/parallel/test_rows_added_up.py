"""In C, rows that a reduction makes are added up as they are made, given enough of them."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.driver.pipeline import Compilation
from compiler.ir.nodes import Array, SegRed
from compiler.ir.walk import all_stms
from compiler.runtime import runner
from compiler.semantics import interp
from compiler.testing.compare import same

MADE = """
entry main [n][m] (xs: [n]f64) (ys: [m]f64) =
  reduce (map2 (+)) (replicate m 0) (map (\\x -> map (\\y -> x * y + 1) ys) xs)
"""
GIVEN = "entry main [n][m] (xs: [n][m]f64) = reduce (map2 (+)) (replicate m 0) xs"


def over_rows(source: str, target: str) -> bool:
    """Return True if some reduction has an operator on arrays."""
    prog = Compilation(source, Options(target=target)).result("flat").prog
    stms = (stm for fun in prog.funs for stm in all_stms(fun.body.stms))
    folds = (stm.exp for stm in stms if isinstance(stm.exp, SegRed))
    return any(isinstance(kind, Array) for fold in folds for kind in fold.body.returns)


def test_only_rows_that_are_made_and_only_in_c() -> None:
    assert over_rows(MADE, "c")
    assert not over_rows(GIVEN, "c")
    assert not over_rows(MADE, "cuda")


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (1, 1), (5, 3), (40, 3)])
def test_both_versions_give_the_same(shape: tuple[int, int]) -> None:
    args = [np.arange(float(size)) for size in shape]
    expected = [np.outer(*args).sum(0) + shape[0]]
    for least in (0, 1 << 40):
        options = Options(verify=True, thresholds=(("suff_outer_0", least),))
        work = Compilation(MADE, options)
        for stage in ("flat", "merged"):
            assert same(interp.run(work.result(stage).prog, "main", args), expected)


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
def test_the_rows_are_never_in_memory() -> None:
    args = [np.arange(500.0), np.arange(300.0)]
    held = []
    for least in (0, 1 << 40):
        work = Compilation(MADE, Options(thresholds=(("suff_outer_0", least),)))
        ran = runner.run_c(work.result("c").text, "main", args, settings=runner.Settings(cores=1))
        assert same(ran.values, [np.outer(*args).sum(0) + 500])
        held.append(ran.peak_bytes)
    assert held[0] < 20 * 300 * 8
    assert held[1] >= 500 * 300 * 8
