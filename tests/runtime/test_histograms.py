"""Histograms on a GPU: bins in shared memory, in passes, by atomic operations; as the interpreter.

All text runs under the observer, which tells what is not as it should be; what is counted are
atomic operations on memory of the device, and blocks of threads.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_
from compiler.base.text import plain
from compiler.codegen.kernels import hists
from compiler.driver import api
from compiler.driver.pipeline import Compilation, Options
from compiler.protocol.kinds import OfProgram
from compiler.runtime.observer.records import ORDERS, Observation, observe
from compiler.semantics import interp
from testing.kernels import same
from tests.codegen.helpers import compiled
from tests.codegen.test_cuda import code_of
from tests.runtime.cuda_on_cpu import needs_cxx, results

pytestmark = needs_cxx
SUM = (
    "entry main [n] (k: i64) (is: [n]i64) (vs: [n]i32) ="
    " reduce_by_index (replicate k 3) (+) 0 is vs"
)
PRODUCT = SUM.replace("(+) 0", "(*) 1")
PAIRS = (
    "entry main [n] (k: i64) (is: [n]i64) (vs: [n]i32) = reduce_by_index (replicate k (1, 7f32)) "
    "(\\(a, b) (c, d) -> (i32.max a c, b + d)) (i32.lowest, 0) is (zip vs (map f32.i32 vs))"
)
LARGEST = (
    "entry main [n] (k: i64) (is: [n]i64) (vs: [n]i32) = reduce_by_index (replicate k (0, 0)) "
    "(\\(a, i) (b, j) -> if a > b || (a == b && i < j) then (a, i) else (b, j)) (i32.lowest, 0)"
    " is (zip vs (iota n))"
)
BYTES = SUM.replace("vs: [n]i32", "vs: [n]u8")
ROWS = (
    "entry main [m][n] (k: i64) (iss: [m][n]i64) (vss: [m][n]i32) ="
    " map2 (\\is vs -> reduce_by_index (replicate k 3) (+) 0 is vs) iss vss"
)
OPERATORS = {"sum": SUM, "product": PRODUCT, "pairs": PAIRS, "largest": LARGEST, "bytes": BYTES}


def points(n: int, k: int, shape: tuple[int, ...] = ()) -> list[Any]:
    """Some of the bins are outside."""
    rng = np.random.default_rng(n + k)
    bins = rng.integers(-1, k + 2, (*shape, n))
    return [np.int64(k), bins, rng.integers(1, 9, (*shape, n)).astype(np.int32)]


def given(name: str, args: list[Any]) -> list[Any]:
    return [*args[:2], args[2].astype(np.uint8)] if name == "bytes" else args


def checked(source: str, args: list[Any], thresholds: int | None = None) -> Observation:
    """A run that gives what the interpreter gives, in three orders of threads."""
    expected = interp.run(compiled(source).result("soa").prog, "main", list(args))
    code = code_of(source, thresholds)
    for order in ORDERS[1:]:
        same(results(observe(code, "main", args, order, records=False)), expected)
    seen = observe(code, "main", args)
    same(results(seen), expected)
    return seen


def of_device(seen: Observation) -> int:
    """Lanes that update memory of the device at once with others."""
    return sum(one.lanes for one in seen.sites if one.kind == "both" and not one.shared)


@pytest.mark.parametrize("n", [0, 1, 33, 255, 256, 257, 1025])
@pytest.mark.parametrize("name", OPERATORS)
def test_any_number_of_points(name: str, n: int) -> None:
    checked(OPERATORS[name], given(name, points(n, 7)))


@pytest.mark.parametrize("k", [0, 1, 255, 256, 257])
@pytest.mark.parametrize("name", OPERATORS)
def test_any_number_of_bins(name: str, k: int) -> None:
    checked(OPERATORS[name], given(name, points(1500, k)))


@pytest.mark.parametrize("name", OPERATORS)
def test_bins_that_do_not_fit_are_gone_through_in_passes(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hists, "ROOM", 4 * hists.LOCKED + 1200)
    room = 1200 // {"sum": 4, "product": 4, "pairs": 8, "largest": 12, "bytes": 1}[name]
    if name in ("sum", "product", "pairs"):
        room += 4 * hists.LOCKED // (8 if name == "pairs" else 4)
    for k in (room - 1, room, room + 1, 3 * room):
        seen = checked(OPERATORS[name], given(name, points(4 * k, k)))
        (blocks,) = (n for kernel, n in seen.launches if kernel.endswith("_shared"))
        assert blocks == -(-k // room) * max(1, -(-4 * k // max(1024, 4 * k)))


MATRIX = (
    "entry main [n] (k: i64) (l: i64) (is: [n]i64) (js: [n]i64) (vs: [n]i32) ="
    " reduce_by_index_2d (replicate k (replicate l 3)) (+) 0 (zip is js) vs"
)
CUBE = (
    "entry main [n] (k: i64) (l: i64) (is: [n]i64) (js: [n]i64) (vs: [n]i32) ="
    " reduce_by_index_3d (replicate k (replicate l (replicate 2 3))) (+) 0"
    " (zip3 is js (map (& 1) is)) vs"
)


@pytest.mark.parametrize("source", [MATRIX, CUBE], ids=["matrix", "cube"])
@pytest.mark.parametrize(("k", "m"), [(1, 700), (700, 1), (7, 100), (25, 24)])
def test_bins_in_rows_that_do_not_fit_are_each_in_their_place(
    source: str, k: int, m: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hists, "ROOM", 4 * hists.LOCKED + 1200)
    rng = np.random.default_rng(k)
    rows, columns = rng.integers(-1, k + 1, 6000), rng.integers(-1, m + 1, 6000)
    values = rng.integers(1, 9, 6000).astype(np.int32)
    seen = checked(source, [np.int64(k), np.int64(m), rows, columns, values])
    assert any(kernel.endswith("_shared") and blocks > 1 for kernel, blocks in seen.launches)


def test_a_block_of_threads_updates_the_result_once_for_each_bin() -> None:
    args = points(20_000, 256)
    inside = int(((args[1] >= 0) & (args[1] < 256)).sum())
    seen = checked(SUM, args)
    (blocks,) = (n for kernel, n in seen.launches if kernel.endswith("_shared"))
    assert of_device(seen) <= 256 * blocks <= inside // 3
    off = Compilation(SUM, Options(disabled=frozenset({"kernels/shared-bins"}), target="cuda"))
    seen = observe(plain(off.result("cuda").text), "main", args)
    same(results(seen), interp.run(off.result("soa").prog, "main", list(args)))
    assert of_device(seen) == inside


@pytest.mark.parametrize("version", [None, 1 << 40, 0])
@pytest.mark.parametrize(("m", "n", "k"), [(3, 600, 5), (40, 3, 5), (1, 0, 2), (0, 4, 2)])
def test_a_histogram_for_each_row(m: int, n: int, k: int, version: int | None) -> None:
    checked(ROWS, points(n, k, (m,)), version)


def test_components_of_their_own_need_no_lock() -> None:
    for name, source in OPERATORS.items():
        text = plain(compiled(source, "cuda").result("kernels").text)
        assert ("locked" in text) == (name in ("largest", "bytes")), name
    text = plain(compiled(PAIRS, "cuda").result("kernels").text)
    assert "atomic max" in text
    assert "atomic +" in text


def test_a_check_that_fails_under_a_lock_holds_nobody_up() -> None:
    source = (
        "entry main [n] (t: [3]i64) (is: [n]i64) = reduce_by_index (replicate 4 (0, 0))"
        " (\\(a, b) (c, d) -> (a + t[c + d] * 0, b + d)) (0, 0) is (zip is is)"
    )
    args = [np.zeros(3, np.int64), np.array([0, 1, 3, 1] * 100)]
    for order in ORDERS:
        seen = observe(code_of(source, None), "main", args, order, seconds=20)
        assert isinstance(seen.error, RuntimeError_), seen.problems
        assert "out of bounds" in seen.error.message


def test_what_was_chosen_is_told() -> None:
    def told(source: str) -> list[tuple[str, str]]:
        work = compiled(source, "cuda")
        work.result("cuda")
        said = (r for r in work.remarks() if r.rule == "kernels/shared-bins")
        return [(remark.kind, remark.because) for remark in said]

    ((kind, because),) = told(SUM)
    assert kind == "applied"
    assert "6144 bins at a time" in because
    assert "more than 24576 bins" in because
    ((kind, because),) = told(SUM.replace("(k: i64)", "").replace("replicate k", "replicate 256"))
    assert (kind, "all bins" in because, "fewer than" in because) == ("applied", True, False)
    ((kind, because),) = told(SUM.replace("(k: i64)", "").replace("replicate k", "replicate 30000"))
    assert (kind, "6144" in because) == ("missed", True)


# --- rows ---

VECTORS = {
    "rows": "entry main [n][m] (is: [n]i64) (vs: [n][m]i64): [4][m]i64 ="
    " reduce_by_index (replicate 4 (replicate m 0)) (map2 (+)) (replicate m 0) is vs",
    "fused": "entry main [n][m] (is: [n]i64) (vs: [n][m]i64): [4][m]i64 ="
    " reduce_by_index (replicate 4 (replicate m 0)) (map2 (+)) (replicate m 0)"
    " (map (% 5) is) (map (map (+ 1)) vs)",
    "pairs": "entry main [n][m] (is: [n]i64) (vs: [n][m]i64) ="
    " unzip (map unzip (reduce_by_index (replicate 4 (replicate m (0, 1)))"
    " (map2 (\\(a, b) (c, d) -> (a + c, i64.max b d))) (replicate m (0, 1))"
    " is (map (map (\\x -> (x, x))) vs)))",
    "matrices": "entry main [n][m] (is: [n]i64) (vs: [n][m]i64): [4][2][m]i64 ="
    " reduce_by_index (replicate 4 (replicate 2 (replicate m 0))) (map2 (map2 (+)))"
    " (replicate 2 (replicate m 0)) is (map (replicate 2) vs)",
    "of each": "entry main [n][m] (is: [n]i64) (vs: [n][m]i64): [2][4][m]i64 ="
    " tabulate 2 (\\k -> reduce_by_index (replicate 4 (replicate m 0)) (map2 (+)) (replicate m 0)"
    " (map (+ k) is) vs)",
}


@pytest.mark.parametrize("name", VECTORS)
def test_rows_are_combined_by_element(name: str) -> None:
    source = VECTORS[name]
    for n, m in ((0, 3), (3, 0), (1, 1), (5, 3), (90, 7)):
        rng = np.random.default_rng(n)
        args = [rng.integers(-1, 5, n), rng.integers(0, 9, (n, m))]
        checked(source, args, None if n == 90 else 1 << 40)
        expected = interp.run(compiled(source).result("soa").prog, "main", list(args))
        same(api.run_values(OfProgram(source), "main", args, "c", "", 30)["values"], expected)


def test_why_rows_are_combined_by_element_or_not() -> None:
    def told(source: str) -> list[str]:
        work = compiled(source)
        work.result("flat")
        return [r.kind for r in work.remarks() if r.rule == "flatten/elements"]

    assert told(VECTORS["rows"]) == ["applied"]
    other = "(\\a b -> if a[0] < b[0] then a else b)"
    assert told(VECTORS["rows"].replace("(map2 (+))", other)) == ["missed"]
    assert told(SUM) == []
    code = code_of(VECTORS["rows"], None)
    assert "points=1)" not in code


def test_rows_that_are_combined_as_they_are_are_not_copied() -> None:
    """Also beside bins that are computed."""
    wanted = (("map (% 4) is", "vs"), ("is", "vs"), ("map (+ 1) is", "map (map (+ 1)) vs"))
    for bins, rows in wanted:
        source = (
            "entry main [n][m] (is: [n]i64) (vs: [n][m]i64): [4][m]i64 ="
            f" reduce_by_index (replicate 4 (replicate m 0)) (map2 (+)) (replicate m 0) ({bins})"
            f" ({rows})"
        )
        flat = plain(compiled(source, "cuda").result("flat").text)
        makes_rows = re.findall(r"part_\d+: \[n_\d+\]\[", flat)
        assert bool(makes_rows) == (rows != "vs")
        args = [np.arange(90) % 5, np.arange(630).reshape(90, 7)]
        checked(source, args)


BESIDE = """
entry main [n][d] (k: i64) (is: [n]i64) (rows: [n][d]i32): ([k][d]i32, [k]i32, [k][d]i32) =
  (hist (map2 (+)) (replicate d 0) k is rows, hist (+) 0 k is (replicate n 1),
   hist (map2 i32.max) (replicate d i32.lowest) k is rows)
"""


@pytest.mark.parametrize(("n", "d"), [(0, 3), (1, 1), (300, 0), (300, 3), (1025, 5)])
def test_histograms_of_rows_stay_parallel_beside_others_of_the_same_bins(n: int, d: int) -> None:
    """Many threads for each of them, where one pass over the bins would have one thread."""
    _, bins, _ = points(n, 4)
    rows = np.arange(n * d, dtype=np.int32).reshape(n, d)
    seen = checked(BESIDE, [np.int64(4), bins, rows])
    text = code_of(BESIDE, None)
    assert "points=1)" not in text
    assert seen.launches or not n
    work = compiled(BESIDE)
    work.result("fused")
    said = [r.because for r in work.remarks() if r.rule == "fuse/side-by-side"]
    assert any("histograms of elements, so" in one for one in said)
