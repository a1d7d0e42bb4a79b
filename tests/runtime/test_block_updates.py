"""A block of threads updates arrays that it has made: in any order, with nothing unseen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.ir.printer import show_text
from compiler.runtime.observer.records import observe
from compiler.semantics import interp
from testing import kernel_interp, kernels
from tests.codegen.helpers import check_source, compiled, needs_cc
from tests.runtime.cuda_on_cpu import needs_cxx, results
from tests.runtime.test_kernel_interp import is_noticed, mutants

TABLE = (
    "entry main [n][m][k] (xss: [n][m]i32) (is: [k]i32) = map (\\xs ->"
    " let table = map (+ xs[0]) is"
    " in loop a = map (+ 1) xs for i < k do map (+ table[i]) (scan (+) 0 (reverse a))) xss"
)
HEAD = "entry main [n][m] (xss: [n][m]i32) (is: [m]i64) = "
PROGRAMS = {
    "scatter": "map (\\xs -> let a = scatter (replicate m 7) is (map (+ 1) xs)"
    " in map (* a[0]) a) xss",
    "scatters in a loop": "let k = i64.min m 8 in map (\\xs -> loop a = replicate k 7 for i < 3 do"
    " let v = map (\\j -> a[(j + 1) % k] + xs[i]) (iota k)"
    " in scatter a (map (\\j -> if j == i then -1 else (j + i) % k) (iota k)) v) xss",
    "element": "map (\\xs -> let a = map (+ 1) xs let a[m / 2] = i32.sum xs in scan (+) 0 a) xss",
    "elements while it is read": "map (\\xs -> let (b, _) = loop (a, s) = (map (+ 1) xs, 0)"
    " while a[0] < 20 && s < 5 do let t = i32.sum a let a[0] = a[0] + i32.abs t in (a, s + 1)"
    " in scan (+) 0 b) xss",
    "branches": "map (\\xs -> let a = scan (+) 0 xs let s = i32.sum xs"
    " let a = if s > 0 then a with [0] = s else a with [m - 1] = -s in map (+ a[0]) a) xss",
    "slice": "map (\\xs -> let k = m / 2 let a = scan (+) 0 xs let a[0:k] = xs[m - k:m]"
    " in scan i32.max i32.lowest a) xss",
    "slice of itself": "map (\\xs -> loop a = scan (+) 0 xs for i < 3 do"
    " let a[1:] = copy a[:m - 1] in map (+ i32.i64 i) a) xss",
    "concat": "map (\\xs -> scan (+) 0 (reverse (scan (+) 0 xs) ++ xs)) xss",
    "columns": "let k = i64.min m 5 in map (\\xs -> let a = unflatten (replicate (k * k) 1i32)"
    " let a[0] = xs[:k] let a[:, 0] = xs[m - k:m] in loop a for i < k do"
    " let v = map (\\j -> a[i, j] + i32.sum a[j]) (iota k)"
    " in scatter_2d a (map (\\j -> (j, i)) (iota k)) v) xss",
    "reshape of a transposition": "let k = i64.min m 5 in map (\\xs ->"
    " let b = flatten (transpose (tabulate_2d k k (\\i j -> xs[i] - xs[j])))"
    " let b[0] = i32.sum b in scan (+) 0 b) xss",
    "edit distance": "let k = i64.min m 9 in map (\\xs ->"
    " let t = tabulate_2d (k + 1) (k + 1) (\\i j -> if i == 0 then i32.i64 j else"
    " if j == 0 then i32.i64 i else 0)"
    " let t = loop t for d in 2...2 * k do"
    " let step i = let j = d - i in if i < 1 || i > k || j < 1 || j > k then ((-1, -1), 0) else"
    " ((i, j), i32.min (t[i - 1, j - 1] + i32.bool (xs[i - 1] != xs[m - j]))"
    " (1 + i32.min t[i - 1, j] t[i, j - 1]))"
    " let (at, values) = unzip (map step (iota (k + 1))) in scatter_2d t at values"
    " in t[k, k]) xss",
}
rng = np.random.default_rng(11)


def arguments(n: int, m: int) -> list[Any]:
    """Rows, and places that are each written once, some of them outside."""
    places = rng.permutation(m + 2) - 1
    return [rng.integers(-9, 9, (n, m), np.int32), places[:m]]


ARGS = arguments(4, 11)


@needs_cc
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_stages_and_back_ends_agree(name: str) -> None:
    check_source(HEAD + PROGRAMS[name], ARGS, 1 << 40)


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_block_of_any_size_has_no_fault_in_any_order(name: str) -> None:
    work = kernels.compiled(HEAD + PROGRAMS[name], "block")
    prog = work.result("kernels").prog
    told = [one.because for one in work.remarks() if one.rule == "flatten/intra-block"]
    assert any("there is a version for that" in one for one in told), told
    for args in (ARGS, arguments(3, 6), arguments(2, 70)):
        expected = interp.run(compiled(HEAD + PROGRAMS[name]).result("soa").prog, "main", args)
        for threads in (32, 96):
            for order in kernels.ORDERS:
                found = kernel_interp.run(prog, "main", args, threads, order)
                kernels.same(found, expected, f"{threads} threads, {order}")


@needs_cxx
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_text_has_no_fault_in_any_order(name: str) -> None:
    code = plain(kernels.compiled(HEAD + PROGRAMS[name], "block").result("cuda").text)
    expected = interp.run(compiled(HEAD + PROGRAMS[name]).result("soa").prog, "main", ARGS)
    for order in kernels.ORDERS:
        seen = observe(code, "main", ARGS, order, records=False)
        kernels.same(results(seen), expected, order)
        assert [blocks for _, blocks in seen.launches].count(4) >= 1


def test_each_barrier_but_the_last_is_needed() -> None:
    """Of those of the code version that runs, which come behind one of another version."""
    source = HEAD + PROGRAMS["scatters in a loop"]
    prog = kernels.compiled(source, "block").result("kernels").prog
    args = arguments(2, 200)
    expected = interp.run(compiled(source).result("soa").prog, "main", args)
    assert not is_noticed(prog, args, expected)
    found = [is_noticed(one, args, expected) for one in mutants(prog)]
    assert found == [False, True, True, True, False]


BOUNDED = PROGRAMS["edit distance"]
ANY = BOUNDED.replace("i64.min m 9", "m")
LARGE = BOUNDED.replace("i64.min m 9", "i64.min m 99")


@pytest.mark.parametrize(("body", "shared"), [(BOUNDED, True), (ANY, False), (LARGE, False)])
def test_what_fits_for_sure_lies_in_shared_memory(body: str, shared: bool) -> None:
    work = Compilation(HEAD + body, Options(target="cuda"))
    work.result("expanded")
    because = [one.because for one in work.remarks() if one.rule == "memory/expand"]
    assert any(one == "The threads of a block share `t`." for one in because) == shared
    assert any(one.startswith("Every block of threads needs") for one in because) != shared


def remark(source: str) -> str:
    work = Compilation(source, Options(target="cuda"))
    work.result("flat")
    (one,) = [one.because for one in work.remarks() if one.rule == "flatten/intra-block"]
    return one


def test_a_histogram_is_not_for_a_block() -> None:
    counts = "reduce_by_index (map (+ i32.sum xs) (replicate m 0)) (+) 0 is xs"
    assert remark(f"{HEAD}map (\\xs -> scan (+) 0 ({counts})) xss") == (
        "In a block of threads, one thread runs a histogram."
    )


def test_a_fill_may_have_more_elements_than_a_block_has_threads() -> None:
    """Of 64 * 64 elements each thread sets some; what is computed has a thread for each."""
    few = "entry main (xss: [4][64]i32) = #[incremental_flattening(no_outer)] map (\\xs ->"
    body = " let a = replicate {size} 0i32 let a[0:64] = xs in {then}) xss"
    fill = few + body.format(size=4096, then="i32.sum (map (+ a[7]) a[:64])")
    assert "there is a version" in remark(fill)
    computed = few + body.format(size=4096, then="i32.sum (map (+ a[7]) a)")
    assert remark(computed).startswith("4096 inner elements are too many")


def test_what_loops_run_decides_how_many_threads_are_enough() -> None:
    """The table has 61 * 61 elements, each set once; its diagonals have 61."""
    large = HEAD + BOUNDED.replace("i64.min m 9", "i64.min m 60")
    assert "there is a version" in remark(large)
    text = show_text(Compilation(large, Options(target="cuda")).result("flat").prog)
    assert " <= 1024i64" not in text
    for more in ("i64.min m 90", "m"):
        text = HEAD + BOUNDED.replace("i64.min m 9", more)
        text = show_text(Compilation(text, Options(target="cuda")).result("flat").prog)
        assert " + 1i64 <= 8192i64 || n_19 >= 128i64)" in text


@needs_cxx
def test_a_loop_over_diagonals_is_one_launch() -> None:
    source = HEAD + BOUNDED.replace("i64.min m 9", "i64.min m 60")
    code = plain(Compilation(source, Options(target="cuda")).result("cuda").text)
    args = arguments(3, 64)
    seen = observe(code, "main", args)
    kernels.same(results(seen), interp.run(compiled(source).result("soa").prog, "main", args))
    assert [blocks for _, blocks in seen.launches] == [3]


@needs_cxx
def test_a_small_table_keeps_no_block_from_its_loop() -> None:
    work = Compilation(TABLE, Options(target="cuda"))
    assert 'threshold("suff_intra_0", m' in plain(work.result("flat").text)
    args = [rng.integers(-9, 9, (40, 64), np.int32), rng.integers(-9, 9, 3, np.int32)]
    seen = observe(plain(work.result("cuda").text), "main", args)
    kernels.same(results(seen), interp.run(compiled(TABLE).result("soa").prog, "main", args))
    assert len(seen.launches) == 1
