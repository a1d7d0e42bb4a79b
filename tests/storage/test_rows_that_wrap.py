"""Rows at an index that wraps to another row's, which is read while they are built."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.driver.pipeline import Compilation
from compiler.semantics import heap, interp
from testing.attempts import attempts

AT = """
entry main [m] [n] (a: *[m][n]i64) (i: i64) (k: i64) (j: i64): [m][n]i64 =
  let i = assert (i >= 2 && k >= 1) i
  let r = map (\\t -> a[j, n - 1 - t] + 1) (iota n)
  in a with [{}] = r
"""
HALF = (2**63 - 8) // 2
WRAPPING = [
    ("i * k + j", 2**32, 2**32),
    ("j + i * k * 4", 2**31, 2**31),
    ("i / 2 + 2 * k + j", 2 * HALF, (2**64 - HALF) // 2),
    ("j + (i / 2 + k) * 2", 2**63 - 2, 2**63 - 2**62 + 1),
    ("i64.max i 2 * k + j", 2**32, 2**32),
]
"""Indices that are more than `j`, but for 2**64; and `i` and `k` for which they are `j`."""


@pytest.mark.parametrize(("index", "i", "k"), WRAPPING)
def test_a_row_is_built_aside_where_its_index_may_wrap(index: str, i: int, k: int) -> None:
    work = Compilation(AT.format(index))
    rows = np.arange(6, dtype=np.int64).reshape(2, 3)
    args = [rows, np.int64(i), np.int64(k), np.int64(0)]
    (expected,) = interp.run(work.result("soa").prog, "main", args)
    assert expected.tolist() == [[3, 2, 1], [3, 4, 5]]
    (found,), _ = heap.run(work.result("merged").prog, "main", args)
    assert np.array_equal(found, expected)


@pytest.mark.parametrize("index", ["j + 1", "j + i % 4 + 1"])
def test_a_row_is_built_in_its_place_where_nothing_wraps(index: str) -> None:
    source = AT.format(index).replace("i >= 2", "i >= 2 && j < m - 1 - j")
    outcome = attempts(Compilation(source).result("funmem").prog)
    assert [a["done"] for a in outcome if a["rule"] == "shortcircuit/update"] == [True]
