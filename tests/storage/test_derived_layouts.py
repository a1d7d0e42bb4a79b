"""Views of arrays that a branch hands on with an offset and strides."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.context import Options
from compiler.base.errors import CompilerBug
from compiler.driver.pipeline import MEMORY_STAGES
from compiler.ir import nodes as ir
from compiler.runtime.runner import Settings, run_c
from compiler.semantics import heap, interp
from compiler.storage.derived_layouts import Followers
from testing import compiling
from testing.kernels import compiled, observed, same
from tests.runtime.cuda_on_cpu import needs_cxx
from tests.storage.helpers import context

HEAD = "entry main [n] (ks: [n]i64) (m: i64) = map (\\k ->\n"
MADE = "let xs = if m > k then map (+ k) (iota (m - k)) else replicate 2 k\n"
ROWS = "let xs = if m > k then tabulate_2d (m - k) 2 (\\i j -> i * k + j) else replicate 3 [k, m]\n"
FOLDED = " in loop acc = 0 for x in ys do if x > 2 then acc + x else acc * 2) ks"
FORMS = {
    "part": MADE + "let ys = if k % 3 == 0 then drop 1 xs else replicate (k % 3) 7",
    "stride": MADE + "let ys = if k % 3 == 0 then xs[::2] else replicate (k % 3) 7",
    "computed": MADE + "let ys = if k % 3 == 0 then xs[k * m % 2:] else replicate (k % 3) 7",
    "column": ROWS + "let ys = if k % 3 == 0 then xs[:, 1] else replicate (k % 3) 7",
    "turned": ROWS + "let ys = if k % 3 == 0 then (transpose xs)[0] else replicate (k % 3) 7",
    "written": (
        MADE + "let zs = loop zs = copy xs for i < 2 do zs with [i % length zs] = zs[0] + i\n"
        "let ys = if k % 3 == 0 then drop 1 zs else replicate (k % 3) 7"
    ),
    "both": MADE + "let ys = if k % 3 == 0 then drop 1 xs else take 1 xs",
}
ARGS = (np.array([1, 3, 9, 0], np.int64), np.int64(5))


@pytest.mark.parametrize("form", FORMS)
def test_what_is_seen_through_them_is_theirs(form: str) -> None:
    source = HEAD + FORMS[form] + FOLDED
    work = compiling.compiled(source, Options(verify=True))
    wanted = interp.run(work.result("soa").prog, "main", list(ARGS))
    for stage in MEMORY_STAGES:
        same(heap.run(work.result(stage).prog, "main", list(ARGS))[0], wanted, stage)
    found = run_c(work.result("c").text, "main", list(ARGS), settings=Settings(flags=("-O0",)))
    same(found.values, wanted, "c")


@needs_cxx
@pytest.mark.parametrize("form", FORMS)
def test_it_is_on_a_gpu(form: str) -> None:
    work = compiled(HEAD + FORMS[form] + FOLDED, "default")
    wanted = interp.run(work.result("soa").prog, "main", list(ARGS))
    same(observed(work, "main", ARGS, "random"), wanted, form)


def test_what_lies_elsewhere_in_a_block_that_moved_is_a_defect() -> None:
    """It is in the place of what has moved, or a view of it: else nobody knows where it is."""
    size = Poly.var("n")

    def at(name: str, offset: int) -> ir.Param:
        mem = ir.MemBind("mem", Lmad.row_major((size,), Poly.const(offset)))
        return ir.Param(name, ir.Array("i64", (size,), mem))

    def no_operand(name: str) -> ir.MemBind:
        raise AssertionError(name)

    followers = Followers(context())
    followers.moved(at("xs", 0), at("xs", 4))
    made = ir.Stm((at("ys", 0),), ir.Scratch("i64", (size,)))
    assert followers.stm(made, no_operand, []).pat == (at("ys", 4),)
    with pytest.raises(CompilerBug, match="`mem` follows nothing"):
        followers.stm(ir.Stm((at("zs", 1),), made.exp), no_operand, [])
