"""Maps over transposed and flattened views: one kernel, by squares, at sizes 0, 1 and odd ones."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.explain.accesses import report
from compiler.explain.predictions import predict
from compiler.ir.nodes import Copy
from compiler.ir.walk import all_stms
from compiler.runtime import runner
from compiler.runtime.observer.records import ORDERS, observe
from compiler.semantics import interp
from testing import compiling, kernel_interp
from testing.kernels import CUDA, same
from tests.codegen.helpers import told
from tests.runtime.cuda_on_cpu import needs_cxx, results

VIEWS, SQUARES, ON_CORES = "flatten/flat-views", "coalesce/squares", "c/squares"
FLAT = {
    "flattened": "map (+ 1) (flatten (transpose xss))",
    "two results": "unzip (map (\\x -> (x + 1, x * 2)) (flatten (transpose xss)))",
    "two maps": "let ys = flatten (transpose xss) in (map (+ 1) ys, map (* 3) ys)",
    "with a flat array": "map2 (-) (flatten (transpose xss)) (iota (m * n))",
    "with the index": "map2 (\\x i -> x * i) (flatten (transpose xss)) (indices (flatten xss))",
    "back as rows": "unflatten (map (+ 1) (flatten (transpose xss)))",
    "pairs": "map (\\(x, y) -> x - 2 * y)"
    " (zip (flatten (transpose xss)) (flatten (transpose (map (map (* 2)) xss))))",
    "reversed rows": "map (+ 1) (flatten (reverse (transpose xss)))",
    "both reversed": "map (+ 1) (flatten (map reverse (transpose xss)))",
    "a part": "map (+ 1) (flatten xss[:, :m / 2])",
    "every other": "map (* 3) (flatten xss[::2, ::2])",
    "rows of planes": "map i64.sum (flatten (transpose (replicate 2 xss)))",
    "a branch": "map (\\x -> if x > 3 then x else -x) (flatten (transpose xss))",
    "scattered": "let ys = flatten (transpose xss) in"
    " scatter (replicate (n * m) 7) (map (\\y -> (y * 7) % (n * m + 1)) ys) (map (\\_ -> 5) ys)",
}
NESTED = {
    "reversed": "map (map (+ 1)) (map reverse (transpose xss))",
    "in a loop": "loop ys = flatten (transpose xss) for i < 3 do"
    " map2 (+) ys (flatten (transpose xss))",
    "rows": "map (map (+ 1)) (transpose xss)",
    "both ways": "map2 (map2 (+)) (transpose xss) (transpose (map (map (* 2)) xss))",
    "planes turned": "map (map (map (+ 1))) (map transpose (replicate 2 xss))",
    "a row of numbers": "map2 (\\xs y -> map (+ y) xs) (transpose xss) (iota m)",
}
BODIES = FLAT | NESTED
SHAPES = [(0, 0), (0, 3), (3, 0), (1, 1), (1, 9), (9, 1), (8, 8), (31, 33), (33, 32), (70, 41)]


def source(name: str, prim: str = "i64") -> str:
    return f"entry main [n][m] (xss: [n][m]{prim}) = {BODIES[name]}"


def matrix(shape: tuple[int, int], dtype: Any = np.int64) -> Any:
    return np.random.default_rng(sum(shape)).integers(-9, 99, shape).astype(dtype)


def copies(work: Compilation) -> int:
    prog = work.result("merged").prog
    return sum(isinstance(s.exp, Copy) for fun in prog.funs for s in all_stms(fun.body.stms))


@needs_cxx
@pytest.mark.parametrize("name", BODIES)
def test_any_sizes_on_a_gpu_and_on_cores(name: str) -> None:
    """In all orders of threads without a fault, and as C whether or not squares are worth it."""
    work = compiling.compiled(source(name), replace(CUDA, verify=True))
    on_cores = compiling.compiled(source(name), replace(CUDA, target="c", verify=True))
    text = plain(on_cores.result("c").text)
    assert (ON_CORES in {remark.rule for remark in on_cores.remarks()}) == ("1048576 &&" in text)
    always = re.sub(r"if \([^{]*>= 1048576 && [^{]* \{$", "if (true) {", text, flags=re.M)
    meaning = work.result("soa").prog
    for turn, shape in enumerate(SHAPES):
        args = [matrix(shape)]
        expected = interp.run(meaning, "main", list(args))
        seen = observe(plain(work.result("cuda").text), "main", args, ORDERS[turn % len(ORDERS)])
        assert not seen.problems
        same(results(seen), expected)
        for one in {text, always}:
            same(runner.run_c(one, "main", list(args)).values, expected)
    same(
        kernel_interp.run(work.result("kernels").prog, "main", [matrix((33, 9))], 256),
        [*interp.run(meaning, "main", [matrix((33, 9))])],
    )


@pytest.mark.parametrize("name", FLAT)
def test_nothing_is_copied_for_a_flattened_view(name: str) -> None:
    work = compiling.compiled(source(name), CUDA)
    assert told(work, VIEWS), "it is not told"
    assert copies(work) < copies(
        compiling.compiled(source(name), replace(CUDA, disabled=frozenset({VIEWS})))
    )


def test_one_kernel_where_there_were_two() -> None:
    for name in ("flattened", "rows"):
        work = compiling.compiled(source(name), CUDA)
        assert copies(work) == 0
        assert "_squares(" in plain(work.result("cuda").text)
        other = compiling.compiled(source(name), replace(CUDA, disabled=frozenset({SQUARES})))
        assert copies(other) == 1
        assert "_squares(" not in plain(other.result("cuda").text)


@needs_cxx
@pytest.mark.parametrize("prim", ["i8", "f16", "i32", "f64"])
def test_sectors_are_those_of_both_arrays(prim: str) -> None:
    """Each cell is asked for once: the sectors are the bytes, as was predicted."""
    work = compiling.compiled(source("flattened", prim), CUDA)
    dtype = {"i8": np.int8, "f16": np.float16, "i32": np.int32, "f64": np.float64}[prim]
    array = np.arange(256 * 128).reshape(256, 128).astype(dtype)
    seen = observe(plain(work.result("cuda").text), "main", [array])
    assert not seen.problems
    outside = [site for site in seen.sites if not site.shared]
    assert {site.sectors for site in outside} == {array.nbytes // 32}
    text, prog = work.result("cuda").text, work.result("kernels").prog
    predicted = predict(prog, text, "main", [array.shape], [None])
    found = report(prog, text, predicted, seen)["accesses"]
    assert [one for one in found if not one.get("agrees", bool(one["because"]))] == []


OTHERS = {
    "a sum": "i64.sum (flatten (transpose xss))",
    "prefixes": "scan (+) 0 (flatten (transpose xss))",
    "read elsewhere too": "let ys = flatten (transpose xss) in (map (+ 1) ys, i64.sum ys)",
    "read at other places": "let ys = flatten (transpose xss) in"
    " map (\\i -> ys[(i * 7) % (m * n)]) (iota (m * n))",
    "no view that is flattened": "map (+ 1) (flatten xss)",
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_read_otherwise_stays_an_array(name: str) -> None:
    work = compiling.compiled(f"entry main [n][m] (xss: [n][m]i64) = {OTHERS[name]}", CUDA)
    work.result("flat")
    assert told(work, VIEWS) == []


def test_short_sides_are_read_as_they_are() -> None:
    text = "entry main [n] (xss: [n][3]i32) = map (map (+ 1)) (transpose xss)"
    for target, stage in (("cuda", "cuda"), ("c", "c")):
        work = compiling.compiled(text, replace(CUDA, target=target))
        assert "square" not in plain(work.result(stage).text).partition("entry_main")[2]
        assert not {ON_CORES, SQUARES} & {remark.rule for remark in work.remarks()}
