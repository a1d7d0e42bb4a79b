"""CUDA text under the observer: gates over all programs, and what it notices in wrong ones."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.base.text import plain
from compiler.explain.accesses import ESTIMATED, report
from compiler.explain.predictions import predict
from compiler.explain.requests import CELLS, CONDITION
from compiler.explain.warps import HOST
from compiler.runtime.observer.records import ORDERS, Order, observe
from compiler.semantics import interp
from testing import blocks, kernels
from testing.kernels import same
from tests.codegen.helpers import compiled
from tests.codegen.test_cuda import code_of, compiled_for, smaller
from tests.runtime.cuda_on_cpu import needs_cxx, results
from tests.runtime.test_programs import CASES

pytestmark = needs_cxx
EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))
VERSIONS = {"outer": None, "inner": 1 << 40}


def watched(
    source: str, version: str, entry: str, args: list[Any], expected: list[Any]
) -> set[str]:
    """Threads in three orders, and memory with other random bytes: the same, and no fault.

    What accesses cost is as predicted; answers why some cannot be predicted.
    """
    work = compiled_for(source, VERSIONS[version])
    text, prog = work.result("cuda").text, work.result("kernels", "cuda").prog
    for order in ORDERS[1:]:
        same(results(observe(plain(text), entry, args, order, records=False)), expected)
    seen = observe(plain(text), entry, args)
    same(results(seen), expected)
    shapes = [np.shape(a) if np.ndim(a) else None for a in args]
    predicted = predict(prog, text, entry, shapes, [None if np.ndim(a) else a for a in args])
    if not predicted.because:
        assert predicted.launches == list(seen.launches)
    told = report(prog, text, predicted, seen)["accesses"]
    assert [one for one in told if not one.get("agrees", bool(one["because"]))] == []
    return {one["because"] for one in told if one["because"] and one["because"] != ESTIMATED}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", CASES)
def test_programs_have_no_faults_and_cost_what_was_predicted(name: str, version: str) -> None:
    source, args = CASES[name]
    args = smaller(args)
    expected = interp.run(compiled(source).result("soa").prog, "main", list(args))
    assert watched(source, version, "main", args, expected) <= {CELLS, CONDITION, HOST}


UNPREDICTED = {
    "histogram": {CONDITION},
    "lattice_boltzmann": {CELLS},
    "nearest_neighbours": {CELLS, CONDITION},
    "prefix_filter": {HOST},
    "radix_sort": {CONDITION},
}
"""Why costs depend on data; of the other examples all are predicted, and are what was seen."""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_have_no_faults_and_cost_what_was_predicted(path: Path, version: str) -> None:
    source = path.read_text("utf-8")
    meaning = compiled(source).result("soa").prog
    for case, args in blocks.given(path, meaning):
        if case.output is not None:
            expected = interp.run(meaning, case.entry, list(args))
            why = watched(source, version, case.entry, args, expected)
            assert why <= UNPREDICTED.get(path.stem, set())


# --- what is noticed -------------------------------------------------------------------------

MAP = "def main (xs: []i32) = map (+1) xs"
STORE = re.compile(r"^ +(map_mem_\d+)\[(i_\d+)\] = (.*);$", re.MULTILINE)


@pytest.mark.parametrize(
    ("store", "says"),
    [
        (r"\1[0] = \3;", "race: two writes"),
        (r"\1[\2] = \3; \1[(\2 + 1) % 300] += 1;", "race: a read and a write"),
        (r"\1[\2 % 256] = \3;", "race: two writes"),
        (r"\1[\2 + 1000000] = \3;", "outside of all blocks of memory"),
        (r"\1[\2] += \3;", "a cell is read that nothing has written"),
        (r"__shared__ int all[256]; \1[\2] = all[threadIdx.x];", "that nothing has written"),
        (r"__shared__ int all[256]; all[threadIdx.x + 1] = 1;", "outside of an array"),
        (r"int own[4]; own[threadIdx.x] = \3; \1[\2] = own[1];", "outside of an array"),
        (r"if (\2 % 3) __syncthreads(); \1[\2] = \3;", "not all threads of the block come"),
        (
            r"if (\2 < 256) { if (\2 % 2) __syncthreads(); else __syncthreads(); }",
            "not all threads",
        ),
        (r"if (\2 % 2) \1[\2] = \3;", "The host reads a cell that nothing has written."),
        (r"for (bool on = true; on;) {" "\n" r"\1[\2] = \3; }", "the deadline has passed"),
        (r"for (bool on = true; on;) {" "\n" "}", "the deadline has passed"),
    ],
)
def test_what_no_program_may_do_is_noticed(store: str, says: str) -> None:
    work = compiled(MAP, "cuda", disabled=frozenset({"kernels/wide"}))
    whole = plain(work.result("cuda").text)
    code, count = STORE.subn(store.replace("; else", ";\nelse"), whole)
    assert count == 1
    for order in ORDERS:
        seen = observe(code, "main", [np.arange(300, dtype=np.int32)], order, seconds=0.5)
        assert any(says in problem.says for problem in seen.problems), seen.problems
        if "deadline" in says:
            assert seen.results is None
            assert any(site.kind == "reads" for site in seen.sites)  # what was seen so far


SCATTER = "def main [n] (a: *[n]i32) (is: [n]i64) (xs: [n]i32) = scatter a is xs"
ROWS_OF_SCATTERS = (
    "def main [n][m] (is: [n][m]i64) (xs: [n][m]i32) ="
    " map2 (\\js ys -> let b = scatter (replicate m 0) js ys in scan (+) 0 b) is xs"
)


@pytest.mark.parametrize("order", ORDERS)
def test_writes_that_meet_are_told_where_values_differ(order: Order) -> None:
    places, cells = np.array([1, 1, 2, 2]), np.zeros(4, np.int32)
    code = code_of(SCATTER, None)
    assert not observe(code, "main", [cells, places, np.full(4, 7, np.int32)], order).problems
    (found,) = observe(code, "main", [cells, places, np.arange(4, dtype=np.int32)], order).problems
    assert (found.says, found.count) == ("race: two writes of different values", 2)


def test_those_of_a_block_of_threads_are_told_as_well() -> None:
    code = plain(kernels.compiled(ROWS_OF_SCATTERS, "block").result("cuda").text)
    places, values = np.array([[0, 1, 1, 2]] * 2), np.array([[5, 6, 6, 7]] * 2, np.int32)
    assert not observe(code, "main", [places, values]).problems
    (found,) = observe(code, "main", [places, values + np.arange(4, dtype=np.int32)]).problems
    assert found.says == "race: two writes of different values"


def test_a_race_under_two_locks_and_one_without_its_fence_are_noticed() -> None:
    source, args = CASES["histogram of pairs"]
    code = code_of(source, None)
    given = smaller(args)
    assert not observe(code, "main", given).problems
    for wrong in (
        code.replace("__threadfence();", "", 1),
        code.replace("lock = locks + ", "lock = locks + threadIdx.x + 0 * "),
    ):
        assert wrong != code
        assert any("race" in problem.says for problem in observe(wrong, "main", given).problems)


AFTER_FAILURE = """
entry main [k][n] (xs: [k]i64) (is: [n]i64): ([n]i64, [n]i64) =
  let ns = map (\\i -> xs[i]) is
  in (ns, map (\\j -> let m = ns[n - 1 - j] in loop s = 0 for i < m do s ^ i * i % 7) (iota n))
"""
AFTER_FAILURE_IN_BLOCKS = """
entry main [k][n] (xs: [k]i64) (is: [n]i64): [n]i64 =
  let ns = scan (+) 0 (map (\\i -> xs[i]) is)
  in scan (\\a b -> a + b * xs[a]) 0 ns
"""


@pytest.mark.parametrize("source", [AFTER_FAILURE, AFTER_FAILURE_IN_BLOCKS])
def test_kernels_after_a_failed_check_do_nothing(source: str) -> None:
    """What the one before would have written is not there: it could be the bound of a loop."""
    args = [np.arange(10), np.array([1, 2, 99] * 100)]
    for order in ORDERS:
        seen = observe(code_of(source, None), "main", args, order, seconds=5)
        assert not seen.problems
        assert seen.error is not None
        assert "Index [99] out of bounds" in seen.error.message


LOOKS_FIRST: dict[str, tuple[str, list[str]]] = {
    "no check": ("entry main (xs: []i64) = map (+ 1) (scan (+) 0 xs)", []),
    "behind": (
        "entry main (xs: []i64) (is: []i64) = scan (+) 0 (map (\\i -> xs[i] + 1) is)",
        ["scan_second", "scan_third"],
    ),
    "by one thread": (
        "entry main (xs: []i64) (is: []i64) = let n = i64.sum xs % 9 in map (\\i -> xs[i] / n) is",
        ["map"],
    ),
    "read by the host": (
        "entry main (xs: []i64) (is: []i64) =\n"
        "  if i64.sum (map (\\i -> xs[i]) is) > 3 then map (+ 1) xs else scan (+) 0 xs",
        ["reduce_second"],
    ),
    "in a loop": (
        "entry main (xs: *[]i64) (is: []i64) =\n"
        "  let zs = map (* 2) is\n"
        "  in (zs, loop xs for k < 3 do map (\\i -> xs[i + k]) (scan (+) 0 xs))",
        ["map", "scan_first", "scan_second", "scan_third"],
    ),
    "of other arrays": (
        "entry main [k][n] (xs: [k]i64) (is: [n]i64) =\n"
        "  let ys = map (\\i -> xs[i]) is\n"
        "  in (ys, map (+ 1) xs, replicate 9 k, scan (+) 0 ys)",
        ["scan_second", "scan_third"],
    ),
    "of what was made of it": (
        "entry main [k][n] (xs: [k]i64) (is: [n]i64) =\n"
        "  let ys = map (\\i -> xs[i]) is\n"
        "  let zs = copy (transpose (unflatten (ys :> [3 * 5]i64)))\n"
        "  in (ys, map (map (+ 1)) zs)",
        ["copy", "map"],
    ),
    "of a copy of it": (
        "entry main [k][n] (xs: *[k]i64) (is: [n]i64): ([n]i64, [k]i64, [k]i64) =\n"
        "  let ys = map (\\i -> xs[i]) is\n"
        "  let zs = xs with [0:n] = copy ys\n"
        "  in (ys, zs, scan (+) 0 zs)",
        ["scan_first", "scan_second", "scan_third"],
    ),
    "in an arm": (
        "entry main (xs: []i64) (is: []i64) =\n"
        "  let ys = if length is > 3 then map (\\i -> xs[i]) is else map (+ 1) is\n"
        "  in map (* 2) (scan (+) 0 ys)",
        ["map", "map_wide", "scan_first", "scan_second", "scan_third"],
    ),
}


def test_one_thread_of_a_block_looks_for_failed_checks() -> None:
    source = "entry main (xs: []i64) (is: []i64) = scan (+) 0 (map (\\i -> xs[i]) is)"
    code = code_of(source, None)
    lines = [at for at, line in enumerate(code.split("\n"), 1) if "(volatile int64_t" in line]
    seen = observe(code, "main", [np.arange(9), np.arange(9000) % 9])
    results(seen)
    visits = sum(site.visits for site in seen.sites if site.line in lines)
    assert visits == sum(blocks for name, blocks in seen.launches if "first" not in name)


@pytest.mark.parametrize("name", LOOKS_FIRST)
def test_kernels_look_for_failed_checks_where_one_may_have_failed(name: str) -> None:
    source, expected = LOOKS_FIRST[name]
    kernels = code_of(source, None).split('extern "C" __global__ void ')[1:]
    names = [re.sub(r"_\d+", "", k.split("(")[0]) for k in kernels if "(volatile int64_t" in k]
    assert sorted(names) == expected


AFTER = "def after (a: i64, b: i64) (c: i64, d: i64) = (a * c, b * c + d)\n"
"""Associative, and the order counts."""
WITH_BARRIERS = {
    "sum": "def main (xs: []i64) = reduce (+) 0 xs",
    "reduce": AFTER + "def main (xs: []i64) = reduce after (1, 0) (zip xs (reverse xs))",
    "scan": AFTER + "def main (xs: []i64) = unzip (scan after (1, 0) (zip xs (reverse xs)))",
    "rows": AFTER + "def main (xss: [][]i64) = map (\\xs -> let (ys, zs) = unzip"
    " (scan after (1, 0) (zip xs (reverse xs))) in map2 (-) (reverse ys) zs) xss",
    "sums of rows": "def main (xss: [][]i64) = map (reduce (+) 0) xss",
}


def barriers_of(code: str) -> dict[int, str]:
    """The barriers of a text by their lines: the kernel without its numbers, and which it is."""
    found: dict[int, str] = {}
    kernel, number = "", 0
    for line, text in enumerate(code.split("\n"), 1):
        if "__global__" in text:
            kernel, number = re.sub(r"_\d+", "", text.split("void ")[1].split("(")[0]), 0
        if "__syncthreads" in text:
            found[line] = f"{kernel} {number}"
            number += 1
    return found


@pytest.mark.parametrize(
    ("name", "version", "equivalent"),
    [
        ("sum", "outer", {"reduce_first 1", "reduce_second 1"}),
        ("reduce", "outer", {"reduce_second 1"}),
        ("scan", "outer", {"scan_second 1"}),
        ("rows", "outer", {"map 2", "map 3"}),
        ("rows", "inner", {"scan_second 1"}),
        ("sums of rows", "outer", {"map 1", "map 2", "map 3"}),
    ],
)
def test_each_barrier_that_is_missing_is_noticed(
    name: str, version: str, equivalent: set[str]
) -> None:
    """But for equivalent programs, which are listed.

    They lack the last barriers of a kernel, or those that another one follows.
    """
    rng = np.random.default_rng(5)
    size = (700,) if "xss" not in WITH_BARRIERS[name] else (3, 700)
    args = [rng.integers(-9, 9, size)]
    code = code_of(WITH_BARRIERS[name], VERSIONS[version])
    whole = observe(code, "main", args, records=False)
    expected, barriers = results(whole), barriers_of(code)
    missed = set()
    for line in whole.barriers:
        for order in ORDERS:
            seen = observe(code, "main", args, order, records=False, without=line)
            if seen.problems or not all(map(np.array_equal, results(seen), expected)):
                break
        else:
            missed.add(barriers[line])
    assert missed == equivalent
