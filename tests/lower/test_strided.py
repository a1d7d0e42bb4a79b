"""Entry points that take arrays as cells with steps give what they give for the arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.errors import CompileError, UsageError
from compiler.driver.pipeline import Compilation
from compiler.ir import random_values
from compiler.ir.entry import bind, external
from compiler.ir.nodes import Array, Function
from compiler.lower.strided import MOST_DIMENSIONS as RANK
from compiler.lower.strided import OUTSIDE, name_of
from compiler.semantics import interp
from testing.kernels import same

EXAMPLES = Path(__file__).parents[2] / "app" / "examples"
OWN = """
entry mixed [n][m] (k: i64) (xss: [n][m]i32) (b: bool) (ys: *[n]i32) (zs: [n * m]i32):
    ([n]i32, []i32, [m][n]i32) =
  let ys = ys with [0] = if b then i32.i64 k else 7
  in (map2 (+) ys (map i32.sum xss), filter (> 3) zs, transpose xss)
entry four [a][b][c][d] (xs: [a][b][c][d]i32): [c][d][b][a]i32 =
  map (map transpose) (map transpose (transpose (map (map transpose) (map transpose xs))))
def helper [n] (xs: [n]i32) = map (* 2) (reverse xs)
entry calls [n] (xs: [n]i32): i32 = i32.sum (helper xs)
entry again [n] (xs: [n]i32): i32 = if n > 1 then i32.sum xs else 3
"""


def cells(array: Any, choose: np.random.Generator) -> list[Any]:
    """Cells of a larger array among which those of this one lie, in any order, and the steps."""
    order = [int(k) for k in choose.permutation(array.ndim)]
    whole = np.full([2 * array.shape[k] + 1 for k in order], 99).astype(array.dtype)
    view = whole.transpose([order.index(k) for k in range(array.ndim)])
    for axis, size in enumerate(array.shape):
        step = int(choose.choice([1, 2, -1, -2]))
        at = np.arange(size) * abs(step)
        first, last = (at[0], at[-1]) if size else (0, -1)
        along = slice(first, last + 1, abs(step))
        view = view[(slice(None),) * axis + (along,)]
        view = np.flip(view, axis) if step < 0 else view
    assert view.shape == array.shape
    view[...] = array
    start = whole.__array_interface__["data"][0]
    at_bytes = view.__array_interface__["data"][0] - start
    steps = [step // array.itemsize for step in view.strides]
    return [whole.reshape(-1), *map(np.int64, (at_bytes // array.itemsize, *steps))]


def given(fun: Function, args: list[Any], which: tuple[int, ...]) -> list[Any]:
    choose = np.random.default_rng(len(which))
    known = bind(fun, args)
    found: list[Any] = [np.int64(known[p.name]) for p in fun.params[: fun.implicit]]
    for k, arg in enumerate(args):
        found += cells(arg, choose) if k in which else [arg]
    return found


@pytest.mark.parametrize(
    "name", "own black_scholes wavefront radix_sort copies_that_stay maybe_transposed".split()
)
def test_the_results_are_those_of_the_arrays(name: str) -> None:
    source = OWN if name == "own" else (EXAMPLES / f"{name}.fut").read_text("utf-8")
    prog = Compilation(source).result("soa").prog
    for fun in (f for f in prog.funs if f.entry):
        args: list[Any] = list(random_values.inputs(fun, {}, 1).values)
        kinds = [param.type for param in external(fun)]
        strided = [k for k, t in enumerate(kinds) if isinstance(t, Array) and t.rank <= RANK]
        try:
            expected = interp.run(prog, fun.name, list(args))
        except CompileError:
            continue
        for which in sorted({tuple(strided), *((k,) for k in strided)}):
            options = Options(target="cuda", strides=(fun.name, which), verify=True)
            work = Compilation(source, options)
            made = work.result("soa").prog
            assert [f.name for f in made.funs if f.entry] == [name_of((fun.name, which))]
            same(interp.run(made, name_of((fun.name, which)), given(fun, args, which)), expected)
        work.result("cuda")


def test_steps_that_lead_outside_are_refused_before_anything_is_read() -> None:
    made = Compilation(OWN, Options(strides=("again", (0,)))).result("soa").prog
    cases = ((5, 0, 2, True), (5, 1, 2, False), (3, 8, -4, True), (3, 7, -4, False))
    for n, at, step, fits in cases:
        args = [np.int64(n), np.arange(9, dtype=np.int32), np.int64(at), np.int64(step)]
        if fits:
            interp.run(made, "again@0", args)
            continue
        with pytest.raises(CompileError, match=OUTSIDE):
            interp.run(made, "again@0", args)
    empty = [np.int64(0), np.zeros(0, np.int32), np.int64(0), np.int64(0)]
    assert interp.run(made, "again@0", empty) == [3]


def test_an_entry_point_that_is_not_there_is_told() -> None:
    with pytest.raises(UsageError, match="There is no entry point `helper`"):
        Compilation(OWN, Options(strides=("helper", (0,)))).result("soa")
