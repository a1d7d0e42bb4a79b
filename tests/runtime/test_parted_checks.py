"""A check that fails in one kernel, and what relies on it in another one or on the host.

Under the observer, which sees each access that a device would make before anybody has asked whether
a check has failed.
"""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.text import plain
from testing import kernels
from testing.generators import parted
from tests.runtime.cuda_on_cpu import needs_cxx

VERSIONS = [(check, "default") for check in parted.CHECKS] + [("bounds", "block")]


@needs_cxx
@pytest.mark.parametrize(("check", "version"), VERSIONS)
def test_what_relies_on_a_check_does_nothing_once_it_has_failed(check: str, version: str) -> None:
    work = kernels.compiled(parted.source(check), version)
    for reader in parted.READERS:
        given = parted.inputs(parted.CHECKS[check].bad)
        assert kernels.compare_text(work, f"by_{reader}", given, "descending", reader) is not None


@needs_cxx
@pytest.mark.parametrize("seed", range(6))
def test_random_ones_fail_or_not_as_they_should(seed: int) -> None:
    failed = kernels.check_text(parted.program(seed), "grid")
    assert failed is None or seed % 2


IN_ONE_BLOCK = """
entry main [n][m] (is: [n][m]i64) (xs: [m]i32) : [n]i32 =
  map (\\js -> let a = map (\\j -> assert (j >= 0 && j < m) j) js
             let b = scan (+) 0 (map (\\t -> a[m - 1 - t]) (iota m))
             in i32.sum (map (\\t -> xs[(a[m - 1 - t] + b[t]) % m]) (iota m))) is
"""
"""A row is worked on by one block of threads, whose points check and rely on that in turn."""


@needs_cxx
def test_threads_of_a_block_leave_together_where_a_check_of_one_has_failed() -> None:
    work = kernels.compiled(IN_ONE_BLOCK, "block")
    assert "barrier asking" in plain(work.result("kernels").text)
    given = [np.array([[0, 1, 2, 3], [3, 10**9, 1, 0]]), np.arange(4, dtype=np.int32)]
    failed = kernels.compare_text(work, "main", given, "ascending")
    assert failed is not None
    assert failed.message.startswith("Assertion is false")
    given[0][1, 1] = 2
    assert kernels.compare_text(work, "main", given, "descending") is None
