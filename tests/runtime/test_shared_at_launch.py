"""What a block of threads shares is as large as a launch says, if there is so much."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.runtime.observer.records import Observation, observe
from compiler.semantics import interp
from compiler.storage.state import SHARED_BYTES
from testing import kernel_interp, kernels
from testing.kernels import same
from tests.codegen.helpers import compiled
from tests.runtime.cuda_on_cpu import needs_cxx, results

BACK = (
    "entry main [n][m][k] (xss: [n][m]f32) (yss: [n][k]i64) ="
    " map2 (\\xs ys -> let a = scan f32.max f32.lowest xs let b = scan (+) 0 ys"
    " in map (\\i -> a[m - 1 - i] + f32.i64 b[i % k]) (iota m)) xss yss"
)
"""Threads read what others have scanned: 4 bytes for each of `m`, 8 for each of `k`."""
WHERE = "memory/expand"
rng = np.random.default_rng(5)


def arguments(n: int, m: int, k: int) -> list[np.ndarray]:
    return [rng.random((n, m), np.float32), rng.integers(-9, 9, (n, k))]


def text() -> str:
    return plain(Compilation(BACK, Options(target="cuda")).result("cuda").text)


def written(seen: Observation) -> int:
    """Elements that kernels have written to device memory."""
    return sum(s.lanes and s.visits for s in seen.sites if s.kind == "writes" and not s.shared)


@needs_cxx
@pytest.mark.parametrize(
    ("m", "k", "fits"),
    [
        (32, 32, True),
        (33, 37, True),
        (255, 1025, True),
        (0, 50, True),
        (SHARED_BYTES // 4 - 80, 40, True),
        (SHARED_BYTES // 4 - 79, 40, False),
        (SHARED_BYTES // 4 + 1, 32, False),
        (33, SHARED_BYTES // 8 + 1, False),
    ],
)
def test_device_memory_has_the_results_alone_where_the_rest_fits(
    m: int, k: int, fits: bool
) -> None:
    args = arguments(128, m, k)
    seen = observe(text(), "main", args)
    same(results(seen), interp.run(compiled(BACK).result("soa").prog, "main", args))
    if m:
        one_kernel = len(seen.launches) == 1
        assert one_kernel == fits
        assert not one_kernel or written(seen) == 128 * m


@pytest.mark.parametrize(("m", "k"), [(0, 1), (1, 1), (5, 37), (70, 33)])
@pytest.mark.parametrize("order", ["ascending", "descending", "random"])
def test_a_block_has_no_fault_in_any_order(m: int, k: int, order: kernel_interp.Order) -> None:
    prog = kernels.compiled(BACK, "block").result("kernels").prog
    args = arguments(3, m, k)
    expected = interp.run(compiled(BACK).result("soa").prog, "main", args)
    same(kernel_interp.run(prog, "main", args, 64, order), expected)


@needs_cxx
def test_what_a_launch_has_too_little_of_is_noticed() -> None:
    code = text()
    less = code.replace("shared=", "shared=-1 + ")
    assert less != code
    args = arguments(128, 40, 33)
    assert not observe(code, "main", args).problems
    (problem, *_) = observe(less, "main", args).problems
    assert problem.says == "outside of the shared memory of the launch"


def test_remarks_tell_what_is_shared() -> None:
    work = Compilation(BACK, Options(target="cuda"))
    work.result("expanded")
    told = [
        one for one in work.remarks() if one.rule == WHERE and "threads of a block" in one.because
    ]
    assert len(told) == 2
    assert all("otherwise another version of the code runs" in one.because for one in told)


SORTED = (
    "def step [n] (xs: [n]i32) (b: i32): [n]i32 ="
    " let bits = map (\\x -> i64.i32 ((x >> b) & 1)) xs"
    " let ones = scan (+) 0 bits"
    " let zeros = n - reduce (+) 0 bits"
    " let is = map3 (\\i b o -> if b == 1 then zeros + o - 1 else i - o) (iota n) bits ones"
    " in scatter (#[scratch] copy xs) is xs\n"
    "entry main [n][m] (out: *[]i32) (is: [n]i64) (xss: [n][m]i32) ="
    " let yss = map (\\xs -> loop ys = map (\\x -> (x * 7) & 15) xs for b < 4 do step ys b) xss"
    " in scatter out is (map (\\ys -> if m > 0 then ys[m / 2] else 0) yss)"
)
"""A block sorts a row in a loop, into arrays that it makes, and what comes of it is scattered."""


def sorted_rows(n: int, m: int) -> list[np.ndarray]:
    rows = rng.integers(0, 99, (n, m)).astype(np.int32)
    return [np.zeros(n + 1, np.int32), rng.permutation(n), rows]


def code_of(source: str) -> str:
    return plain(Compilation(source, Options(target="cuda", unsafe=True)).result("cuda").text)


@needs_cxx
@pytest.mark.parametrize(("n", "m"), [(3, 0), (3, 33), (3, 500), (3, 1000), (3, 3000)])
def test_a_block_of_threads_makes_what_is_scattered(n: int, m: int) -> None:
    """Up to as many elements as a block has threads at most: one kernel, and the scatter."""
    args = sorted_rows(n, m)
    expected = interp.run(compiled(SORTED).result("soa").prog, "main", args)
    seen = observe(code_of(SORTED), "main", [one.copy() for one in args])
    same(results(seen), expected)
    if m in (500, 1000):
        assert len(seen.launches) == 2


def test_a_loop_begins_in_the_block_that_nobody_needs_any_more() -> None:
    """One block of a row for what goes round, and one for the next round: no third one."""
    source = (
        "entry main [n][m] (xss: [n][m]i32) (k: i32) = map (\\xs ->"
        " let a = scan (+) 0 xs let b = loop b = a for i < k do scan (+) i (map (+ i) b)"
        " in %s) xss"
    )
    counts = []
    for result in ("reduce (+) 0 b", "reduce (+) 0 b + a[m - 1]"):
        work = kernels.compiled(source % result, "block")
        text = plain(work.result("expanded").text)
        counts.append(text.count("= alloc(m_"))
    assert counts[0] < counts[1]
