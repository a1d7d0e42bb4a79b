"""What a block of threads shares is as large as a launch says, if there is so much."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.pipeline import Compilation
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
        assert len(seen.launches) == 1
        assert written(seen) == 128 * m + (0 if fits else 128 * (m + k))


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
    assert all("a version of the kernel has it in device memory" in one.because for one in told)
