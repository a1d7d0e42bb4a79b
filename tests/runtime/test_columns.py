"""Columns that lie row by row: lanes take neighbouring ones, and blocks of threads some rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.explain.accesses import report
from compiler.explain.predictions import predict
from compiler.ir.nodes import Copy, Threshold
from compiler.ir.walk import all_stms
from compiler.runtime import cuda_device
from compiler.runtime.observer.records import ORDERS, observe
from compiler.semantics import interp
from testing import compiling, kernel_interp
from testing.kernels import CUDA, compiled, same
from tests.codegen.helpers import told
from tests.runtime.cuda_on_cpu import needs_cxx, results

RULE = "coalesce/columns"
PROGRAMS = {
    "sums": "entry main [n][m] (xss: [n][m]i32) = map i32.sum (transpose xss)",
    "times a vector": "entry main [n][m] (xss: [n][m]i32) (ys: [n]i32) ="
    " map (\\xs -> i32.sum (map2 (*) xs ys)) (transpose xss)",
    "two at once": "entry main [n][m] (xss: [n][m]i32) ="
    " unzip (map (\\xs -> (i32.sum xs, i32.maximum (map (* 3) xs))) (transpose xss))",
    "bytes": "entry main [n][m] (xss: [n][m]i32) ="
    " map (\\xs -> i8.sum (map i8.i32 xs)) (transpose xss)",
    "some of the rows": "entry main [n][m] (xss: [n][m]i32) ="
    " map i32.sum (transpose (drop (i64.min n 1) xss))",
    "of each plane": "entry main [n][m] (xss: [n][m]i32) ="
    " map (\\k -> map (\\xs -> i32.sum (map (* i32.i64 k) xs)) (transpose xss)) (iota 3)",
}
SHAPES = [
    *((0, 3), (3, 0), (1, 1), (32, 5), (33, 1), (33, 2), (40, 3), (64, 31), (65, 32), (66, 33)),
    *((300, 7), (257, 16), (515, 9), (1100, 40)),
]


def inputs(name: str, shape: tuple[int, int]) -> list[Any]:
    made = np.random.default_rng(shape[0])
    args: list[Any] = [made.integers(0, 9, shape).astype(np.int32)]
    if name == "times a vector":
        args.append(made.integers(0, 9, shape[0]).astype(np.int32))
    return args


def kernels(work: Compilation) -> str:
    return plain(work.result("cuda").text)


@needs_cxx
@pytest.mark.parametrize("name", PROGRAMS)
def test_columns_of_any_sizes(name: str) -> None:
    """In all orders of threads without a fault, at the costs that were predicted."""
    work = compiled(PROGRAMS[name], "grid")
    assert "_columns(" in kernels(work)
    meaning = work.result("soa").prog
    for turn, shape in enumerate(SHAPES):
        args = inputs(name, shape)
        expected = interp.run(meaning, "main", list(args))
        order = ORDERS[turn % len(ORDERS)]
        same(results(observe(kernels(work), "main", args, order, records=False)), expected)
    args = inputs(name, (515, 9))
    expected = interp.run(meaning, "main", list(args))
    seen = observe(kernels(work), "main", args)
    text, prog = work.result("cuda").text, work.result("kernels").prog
    predicted = predict(prog, text, "main", [a.shape for a in args], [None] * len(args))
    found = report(prog, text, predicted, seen)["accesses"]
    assert [one for one in found if not one.get("agrees", bool(one["because"]))] == []
    same(kernel_interp.run(prog, "main", list(args), 256, "random"), expected)


@needs_cxx
def test_blocks_share_columns_and_read_each_cell_once() -> None:
    """Whole rows of 32 columns: as many sectors as the array has, and one in 16 rows on top."""
    work = compiled(PROGRAMS["sums"], "grid")
    array = np.ones((4096, 64), np.int32)
    seen = observe(kernels(work), "main", [array])
    same(results(seen), [np.full(64, 4096, np.int32)])
    launched = dict(seen.launches)
    assert next(many for name, many in launched.items() if "columns" in name) == 2 * 32
    read = [site for site in seen.sites if not site.shared and site.kind == "reads"]
    assert max(site.sectors for site in read) == array.nbytes // 32


@needs_cxx
@pytest.mark.parametrize("most", [1, 2, 7])
def test_the_last_block_may_have_no_rows(most: int) -> None:
    work = compiled(PROGRAMS["sums"], "grid")
    with patch.object(cuda_device, "TARGET_BLOCKS", most):
        for n in (129, 257, 300, 1025):
            array = np.random.default_rng(n).integers(0, 9, (n, 5)).astype(np.int32)
            seen = observe(kernels(work), "main", [array], records=False)
            same(results(seen), [array.sum(0, dtype=np.int32)])


@needs_cxx
def test_a_check_that_fails_in_one_column_is_told() -> None:
    source = (
        "entry main [n][m] (t: []i32) (at: [n][m]i64) ="
        " map (\\is -> i32.sum (map (\\i -> t[i]) is)) (transpose at)"
    )
    at = np.zeros((300, 5), np.int64)
    at[270, 3] = 9
    seen = observe(kernels(compiled(source, "grid")), "main", [np.ones(3, np.int32), at])
    assert not seen.problems
    assert seen.error is not None
    assert "Index [9] out of bounds" in seen.error.message


OTHERS = {
    "an order that counts": "map (reduce (\\x y -> x * 3 + y) 0) (transpose xss)",
    "rows": "map i32.sum xss",
    "rows and columns": "map2 (\\xs ys -> i32.sum (map2 (*) xs ys)) xss (transpose xss)",
    "prefixes": "map (scan (+) 0) (transpose xss)",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_does_not_lie_so_is_done_otherwise(name: str) -> None:
    work = compiled(f"entry main [n] (xss: [n][n]i32) = {OTHERS[name]}", "grid")
    assert "_columns(" not in kernels(work)
    assert told(work, RULE) == []


def test_it_is_the_default_and_can_be_switched_off() -> None:
    for off in (False, True):
        options = replace(CUDA, disabled=frozenset([RULE] * off))
        work = compiling.compiled(PROGRAMS["sums"], options)
        assert ("_columns(" in kernels(work)) != off
        stms = [s.exp for fun in work.result("flat").prog.funs for s in all_stms(fun.body.stms)]
        defaults = {s.name: s.default for s in stms if isinstance(s, Threshold)}
        assert (defaults["suff_intra_0"] > 1 << 30) != off
        memory = work.result("expanded").prog
        copies = [s for f in memory.funs for s in all_stms(f.body.stms) if isinstance(s.exp, Copy)]
        assert len(copies) == (2 if off else 1)  # that of the version with a block for each column
