"""Checks of slices by LMADs: those that are proved go, the others hold what they say."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.errors import RuntimeError_
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.ir.nodes import Assert, Fun
from compiler.ir.values import Value
from compiler.ir.walk import all_stms, se_parts
from compiler.semantics import heap, interp
from testing.attempts import attempts

WINDOWS = "entry main [n] (k: i64) (xs: [n]i32): [][]i32 = lmad_slice_2d xs 0 (1, 1) (n - k + 1) k"
SOME = "entry main [n] (o: i64) (k: i64) (xs: [n]i32): [][]i32 = lmad_slice_2d xs o (1, 1) k k"
SOME_THAT_FIT = """
entry main [n] (o: i64) (k: i64) (xs: [n]i32): [][]i32 =
  let fits = 0 <= o && o <= n && 0 <= k && k <= n && o + 2 * k <= n + 1
  in lmad_slice_2d (assert fits xs) o (1, 1) k k
"""
SOME_THAT_WRAP = """
entry main [n] (o: i64) (k: i64) (xs: [n]i32): [][]i32 =
  lmad_slice_2d (assert (o >= 0 && o + 2 * k <= n + 1) xs) o (1, 1) k k
"""
"""With `o = 2**63 - 1`, `o + 2 * k` is negative, and the assertion holds."""
ROWS = """
entry main [n] [m] (xss: *[n][m]i32): [n][m]i32 =
  unflatten (lmad_update_2d (flatten xss) 0 (m, 1) (tabulate_2d n m (\\i j -> i32.i64 (i - j))))
"""
ANY_STRIDE = """
entry main [n] (s: i64) (xs: *[n]i32): [n]i32 = lmad_update_2d xs 0 (s, 1) [[1, 2], [3, 4], [5, 6]]
"""
BLOCKS_OF_A_LOOP = """
entry main [l] (q: i64) (b: i64) (xs: *[l]i32): [l]i32 =
  let xs = assert (l == q * b && b >= 1 && l / b == q) xs
  in loop xs for i < l / b do lmad_update_2d xs (i * b) (1, 1) (replicate b [i32.i64 i])
"""


def guards(source: str, stage: str) -> list[str]:
    """The guards that a stage still has, by name."""
    prog = Compilation(source).result(stage).prog
    checks = [s.exp for fun in prog.funs for s in all_stms(fun.body.stms)]
    conds = [check.cond for check in checks if isinstance(check, Assert)]
    parts = [part for cond in conds for part in (cond, *se_parts(cond))]
    return [part.fun for part in parts if isinstance(part, Fun)]


def run(source: str, args: list[Value]) -> list[Value]:
    """The result, the same with and without short-circuiting."""
    expected = interp.run(Compilation(source).result("soa").prog, "main", args)
    for disabled in (frozenset[str](), frozenset({"shortcircuit"})):
        prog = Compilation(source, Options(disabled=disabled)).result("merged").prog
        found, _ = heap.run(prog, "main", args)
        assert np.array_equal(found[0], expected[0])
    return expected


def ints(count: int) -> Value:
    return np.arange(count, dtype=np.int32)


def test_windows_are_inside_if_there_are_any() -> None:
    assert guards(WINDOWS, "soa") == ["inside_2d"]
    assert guards(WINDOWS, "shortcircuit") == []
    (found,) = run(WINDOWS, [np.int64(3), ints(5)])
    assert found.tolist() == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]


def test_what_the_program_asserts_proves_that_a_slice_is_inside() -> None:
    assert guards(SOME, "shortcircuit") == ["inside_2d"]
    assert guards(SOME_THAT_FIT, "soa") == ["inside_2d"]
    assert guards(SOME_THAT_FIT, "shortcircuit") == []
    for source in (SOME, SOME_THAT_FIT):
        (found,) = run(source, [np.int64(1), np.int64(2), ints(4)])
        assert found.tolist() == [[1, 2], [2, 3]]


def test_a_sum_that_may_wrap_proves_nothing() -> None:
    assert guards(SOME_THAT_WRAP, "shortcircuit") == ["inside_2d"]
    args = [np.int64(2**63 - 1), np.int64(1), ints(4)]
    for stage in ("soa", "merged"):
        with pytest.raises(RuntimeError_, match="out of bounds"):
            interp.run(Compilation(SOME_THAT_WRAP).result(stage).prog, "main", args)


def test_rows_of_a_matrix_are_inside_and_distinct() -> None:
    assert guards(ROWS, "soa") == ["inside_2d", "distinct_2d"]
    assert guards(ROWS, "shortcircuit") == []
    outcome = [a for a in attempts(Compilation(ROWS).result("funmem").prog) if a["done"]]
    (distinct,) = [a for a in outcome if a["rule"] == "shortcircuit/guard" and a["obligations"]]
    assert [o["verdict"] for o in distinct["obligations"]] == ["disjoint", "disjoint"]
    assert all(o["checked"] for o in distinct["obligations"])


def test_blocks_of_a_loop_are_proved_once_and_for_all() -> None:
    assert guards(BLOCKS_OF_A_LOOP, "shortcircuit") == []
    (found,) = run(BLOCKS_OF_A_LOOP, [np.int64(3), np.int64(2), ints(6)])
    assert found.tolist() == [0, 0, 1, 1, 2, 2]


def test_a_stride_that_may_be_anything_is_checked_when_it_runs() -> None:
    assert guards(ANY_STRIDE, "shortcircuit") == ["inside_2d", "distinct_2d"]
    (found,) = run(ANY_STRIDE, [np.int64(3), ints(9)])
    assert found.tolist() == [1, 2, 2, 3, 4, 5, 5, 6, 8]


@pytest.mark.parametrize(
    ("stride", "because"), [(1, "would write a cell twice"), (4, "out of bounds"), (-1, "bounds")]
)
def test_what_is_not_proved_is_refused_when_it_fails(stride: int, because: str) -> None:
    for stage in ("soa", "merged"):
        prog = Compilation(ANY_STRIDE).result(stage).prog
        with pytest.raises(RuntimeError_, match=because) as caught:
            interp.run(prog, "main", [np.int64(stride), ints(9)])
        assert caught.value.span.line == 2


def test_a_guard_that_stays_says_what_is_missing() -> None:
    found = attempts(Compilation(ANY_STRIDE).result("funmem").prog)
    reasons = [a["because"] for a in found if a["rule"] == "shortcircuit/guard"]
    assert len(reasons) == 2
    assert "2*s >= 0 is not proved" in reasons[0]
    assert "it fails with n = " in reasons[1]


def test_guards_can_be_left_to_the_run() -> None:
    work = Compilation(ROWS, Options(disabled=frozenset({"shortcircuit/guard"})))
    assert "distinct_2d" in plain(work.result("shortcircuit").text)


PLAIN_NUMBERS = """
entry main [n] (xs: *[n]i64): [n]i64 =
  let new = map (* 2) (iota 2)
  in xs with [8:10] = new
"""
PARTS_OF_PARTS = """
entry main [n] (xs: *[n]i64): [n]i64 =
  let new = map (* n) (iota 2)
  let xs = assert (n * n > 3) xs
  in lmad_update_2d xs 8 (1, 3) [new, new]
"""


@pytest.mark.parametrize("source", [PLAIN_NUMBERS, PARTS_OF_PARTS])
def test_nothing_is_written_before_it_is_known_to_fit(source: str) -> None:
    assert any(a["done"] for a in attempts(Compilation(source).result("funmem").prog))
    prog = Compilation(source).result("merged").prog
    run(source, [np.arange(20)])
    with pytest.raises(RuntimeError_, match="out of bounds"):
        heap.run(prog, "main", [np.arange(8)])
