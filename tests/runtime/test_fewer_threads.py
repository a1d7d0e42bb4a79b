"""Rows that many blocks of threads work on: fewer threads for each, and when that is chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.base.text import plain
from compiler.codegen.cuda.runtime import THREADS, threads_for
from compiler.codegen.kernels.block_sizes import EACH, POINTS
from compiler.driver.pipeline import Compilation
from compiler.explain.accesses import report
from compiler.explain.predictions import predict
from compiler.parallel.versions import NEVER
from compiler.runtime.observer.records import ORDERS, observe
from compiler.semantics import interp
from testing import compiling, kernel_interp
from testing.kernels import same
from tests.codegen.helpers import compiled, told
from tests.runtime.cuda_on_cpu import needs_cxx, results

RULE = "kernels/fewer-threads"
SOFTMAX = """
entry main [n][m] (a: [n][m]f32): [n][m]f32 =
  map (\\r -> let most = f32.maximum r
             let e = map (\\x -> f32.exp (x - most)) r
             let s = f32.sum e
             in map (/ s) e) a
"""
CENTRED = """
entry main [n][m] (a: [n][m]i64): [n][m]i64 =
  map (\\r -> let s = i64.sum r
             let most = i64.maximum (map (* s) r)
             in map (\\x -> x * s - most) r) a
"""
SCANNED = "entry main [n][m] (a: [n][m]i64) = map (\\r -> let s = scan (+) 0 r in map (* s[0]) s) a"
SIZES = (0, 1, 31, 32, 33, 255, 256, 257, 500, 2049)


def many(source: str, points: int = 1) -> Compilation:
    """A program for which so many points are many."""
    work = compiled(source, "cuda")
    return compiling.compiled(source, replace(work.options, limits=((POINTS.id, points),)))


@needs_cxx
@pytest.mark.parametrize("source", [SOFTMAX, CENTRED])
@pytest.mark.parametrize("m", SIZES)
def test_rows_of_all_sizes_mean_the_same_and_cost_what_was_predicted(source: str, m: int) -> None:
    work = many(source)
    text, prog = work.result("cuda").text, work.result("kernels").prog
    kind = "f4" if source is SOFTMAX else "i8"
    args: list[Any] = [(np.arange(3 * m).reshape(3, m) % 7).astype(kind)]
    expected = interp.run(work.result("soa").prog, "main", list(args))
    for order in ORDERS[1:]:
        same(results(observe(plain(text), "main", args, order, records=False)), expected)
    seen = observe(plain(text), "main", args)
    same(results(seen), expected)
    predicted = predict(prog, text, "main", [(3, m)], [None])
    found = report(prog, text, predicted, seen)["accesses"]
    assert [one for one in found if not one.get("agrees", bool(one["because"]))] == []
    fitting = m * args[0].dtype.itemsize <= 3 << 10
    for work_of_kernel in predicted.works.values() if fitting and m > THREADS else ():
        assert work_of_kernel.threads == 3 * threads_for(-(-m // EACH))


@needs_cxx
def test_few_points_and_much_shared_memory_keep_their_threads() -> None:
    work = many(SOFTMAX, 4)
    text, prog = work.result("cuda").text, work.result("kernels").prog
    for n, m, threads in ((3, 500, THREADS), (4, 500, 64), (4, 1000, THREADS)):
        (one,) = predict(prog, text, "main", [(n, m)], [None]).works.values()
        assert one.threads == n * threads


@pytest.mark.parametrize("order", ORDERS)
def test_each_schedule_of_threads_means_the_same(order: kernel_interp.Order) -> None:
    args = [np.arange(2 * 67).reshape(2, 67) % 5]
    work = many(CENTRED)
    expected = interp.run(work.result("soa").prog, "main", list(args))
    same(kernel_interp.run(work.result("kernels").prog, "main", args, 4, order), expected)


def test_where_threads_wait_for_each_other_all_stay() -> None:
    """Elements whose order counts are combined tile by tile."""
    assert told(many(SCANNED), RULE) == []
    assert set(told(many(SOFTMAX), RULE)) == {("applied", str(EACH))}
    options = replace(many(SOFTMAX).options, disabled=frozenset([RULE]))
    assert told(compiling.compiled(SOFTMAX, options), RULE) == []


def test_rows_that_lie_together_have_no_thread_each_unless_that_is_asked_for() -> None:
    """Such threads would read them only after a copy in another order, and so would be written."""
    turned = SOFTMAX.replace("a: [n][m]f32", "a: [m][n]f32").replace(" e) a", " e) (transpose a)")
    for source, never in ((SOFTMAX, True), (CENTRED, True), (turned, False)):
        flat = plain(compiled(source, "cuda").result("flat").text)
        assert (str(NEVER) in flat) == never
        asked = compiled(source, "cuda", disabled=frozenset(["flatten/whole-rows"]))
        assert str(NEVER) not in plain(asked.result("flat").text)
        assert str(NEVER) not in plain(compiled(source, "c").result("flat").text)
