"""A version with blocks of threads is taken where what they share fits; else another one is."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.ir import nodes as ir
from compiler.ir.values import show
from compiler.ir.walk import all_stms
from compiler.semantics import heap, interp
from testing.compiling import compiled

ONCE = """
entry main [n] [m] (xss: [n][m]i32): [n][m]i32 =
  map (\\xs -> let ys = scan (+) 0 xs in scan i32.max 0 (map (* 2) (reverse ys))) xss
"""
AGAIN = """
entry main [n] [m] (xss: [n][m]i32) (k: i64): [n][m]i32 =
  map (\\xs -> loop ys = xs for i < k do scan i32.max 0 (map (* 2) (reverse ys))) xss
"""


def kernels(source: str) -> int:
    """How many kernels have a block of threads for each point."""
    prog = compiled(source, Options(target="cuda")).result("expanded").prog
    stms = all_stms(prog.funs[0].body.stms)
    return sum(isinstance(stm.exp, ir.SegMap) and stm.exp.per_block for stm in stms)


def test_operators_in_loops_have_a_version_in_device_memory() -> None:
    assert kernels(ONCE) == 1
    assert kernels(AGAIN) == 2


@pytest.mark.parametrize("size", [(0, 3), (3, 0), (2, 5), (2, 9000), (200, 40)])
@pytest.mark.parametrize("shares", [1, 1 << 40])
def test_values_stay_whatever_fits(size: tuple[int, int], shares: int) -> None:
    thresholds = (("suff_outer_0", 1 << 40), ("suff_intra_0", shares))
    work = compiled(ONCE, Options(target="cuda", thresholds=thresholds))
    xss = np.arange(size[0] * size[1], dtype=np.int32).reshape(size) % 7 - 2
    want = [show(np.asarray(v)) for v in interp.run(work.result("fused").prog, "main", [xss])]
    found, _ = heap.run(work.result("merged").prog, "main", [xss])
    assert [show(np.asarray(v)) for v in found] == want
