"""Reductions and scans on a GPU: in order, for any size, with few barriers and no byte too many."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from compiler.base.text import plain
from compiler.codegen.cuda.program import split
from compiler.driver.pipeline import Compilation, Options
from compiler.runtime import cuda_device, nvrtc
from compiler.runtime.observer.records import ORDERS, Observation, observe
from compiler.semantics import interp
from testing import kernels
from testing.kernels import same
from tests.codegen.helpers import all_thresholds, compiled, needs_nvrtc
from tests.codegen.test_cuda import code_of
from tests.runtime.cuda_on_cpu import needs_cxx, results
from tests.runtime.test_observer import AFTER

SCAN = "entry main [n] (xs: [n]i32): [n]i32 = scan (+) 0 xs"
SUM = "entry main [n] (xs: [n]i32): i32 = reduce (+) 0 xs"
IN_ORDER = AFTER + "entry main [n] (xs: [n]i64) = {} after (1, 0) (zip xs (reverse xs))"
PROGRAMS = {
    "scan": SCAN,
    "sum": SUM,
    "scan in order": IN_ORDER.replace("{}", "unzip <| scan"),
    "reduction in order": IN_ORDER.replace("{}", "reduce"),
    "reduction of runs": """
type run = (i32, i32, i64, i64)  -- longest, length, first, last
def join (a: run) (b: run): run =
  if a.1 == 0 then b else if b.1 == 0 then a
  else (i32.max (i32.max a.0 b.0) (if a.3 <= b.2 then 2 else 1), a.1 + b.1, a.2, b.3)
entry main [n] (xs: [n]i64): run = reduce join (0, 0, 0, 0) (map (\\x -> (1, 1, x, x)) xs)""",
    "reduction of ones": "entry main [n] (xs: [n]i64) ="
    " reduce (\\a b -> if b == 0 then a else b) 0 (map (const 1) xs)",
    "bytes": "entry main [n] (xs: [n]u8) = scan (\\a b -> if b == 0 then a else b) 0 xs",
    "flags": "entry main [n] (xs: [n]bool) = scan (!=) false xs",
    "halves": "entry main [n] (xs: [n]f16) = scan f16.max f16.lowest xs",
    "wide": "entry main [n] (xs: [n]i64) = unzip5 (scan (\\(a, b, c, d, e) (f, g, h, i, j) ->"
    " (a + f, b + g, c ^ h, i64.max d i, e * j)) (0, 0, 0, i64.lowest, 1)"
    " (map (\\x -> (x, x + 1, x * x, -x, x)) xs))",
    "too wide": "entry main [n] (xs: [n]i64) = unzip3 (map (\\(a, b) ->"
    " (a.0 + b.4, a.1 ^ b.0 ^ b.1, a.2 + a.3 - b.2 + b.3)) (scan (\\(a, b) (c, d) ->"
    " ((a.0 + c.0, a.1 + c.1, a.2 * c.2, a.3 ^ c.3),"
    " (i64.max b.0 d.0, i64.min b.1 d.1, b.2 | d.2, b.3 & d.3, b.4 * d.4)))"
    " ((0, 0, 1, 0), (i64.lowest, i64.highest, 0, -1, 1))"
    " (map (\\x -> ((x, x + 1, x, -x), (x, 2 * x, -x, x + 7, x + 2))) xs)))",
    "checked": "entry main [n] (xs: [n]i64) = scan (+) 0 (map (\\x -> xs[x % n]) xs)",
    "loops": "entry main [n] (xs: [n]i64) ="
    " reduce i64.max 0 (map (\\x -> loop y = x for _i < x do (y * 7 + 1) % 1000) xs)",
    "loops in order": "entry main [n] (xs: [n]i64) = scan (\\a b -> if b == 0 then a else b) 0"
    " (map (\\x -> loop y = x for _i < x do (y * 7 + 1) % 3) xs)",
}
SIZES = (0, 1, 33, 255, 256, 257, 1025, 5000)


@needs_cxx
@pytest.mark.parametrize(("name", "blocks"), [("loops", 16), ("loops in order", 16), ("sum", 4)])
def test_elements_that_take_long_have_a_thread_each(name: str, blocks: int) -> None:
    """4,096 of them would occupy 4 multiprocessors, and each thread would do 4 in turn."""
    seen = observe(code_of(PROGRAMS[name], None), "main", given(name, 4096))
    assert seen.launches[0][1] == blocks


def given(name: str, n: int) -> list[Any]:
    (prim,) = re.findall(r"\(xs: \[n\](\w+)\)", PROGRAMS[name])
    xs = np.random.default_rng(n).integers(0, 9, n)
    kind = {"u8": np.uint8, "bool": np.bool_, "f16": np.float16, "i32": np.int32}
    return [xs.astype(kind.get(prim, np.int64))]


def checked(code: str, args: list[Any], expected: list[Any]) -> Observation:
    """A run in three orders of threads, without a fault, that gives what is meant."""
    for order in ORDERS[1:]:
        same(results(observe(code, "main", args, order, records=False)), expected)
    seen = observe(code, "main", args)
    same(results(seen), expected)
    return seen


def test_a_tile_has_what_is_taken_twice_once_and_no_number_that_all_have() -> None:
    """So that a thread takes many elements; a scan writes to all parts."""
    text = code_of(PROGRAMS["reduction of runs"], None)
    assert len(re.findall(r"__shared__ \w+ \w+_tile\[", text)) == 1
    assert "_tile[2816]" in text, "11 elements of 8 bytes for each of 256 threads"
    none = code_of(PROGRAMS["reduction of ones"], None)
    assert "_tile[" not in none
    scan = code_of(PROGRAMS["reduction of runs"].replace("): run = reduce", ") = scan"), None)
    assert len(re.findall(r"__shared__ \w+ \w+_tile\[", scan)) == 1 + 4, "reduced, then scanned"


@needs_cxx
@pytest.mark.parametrize("name", PROGRAMS)
def test_any_number_of_elements(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also several tiles for each of two blocks of threads, and several blocks with one."""
    code, meaning = code_of(PROGRAMS[name], None), compiled(PROGRAMS[name]).result("soa").prog
    for n in SIZES:
        args = given(name, n)
        checked(code, args, interp.run(meaning, "main", list(args)))
    monkeypatch.setattr(cuda_device, "TARGET_BLOCKS", 2)
    args = given(name, 20_001)
    checked(code, args, interp.run(meaning, "main", list(args)))


@needs_cxx
def test_a_scan_waits_twice_for_256_elements_and_moves_12_bytes_of_each() -> None:
    n = 20_000
    xs = np.arange(n, dtype=np.int32)
    seen = observe(code_of(SCAN, None), "main", [xs])
    assert sum(seen.barriers.values()) <= 2 * n / 256
    of_device = [one for one in seen.sites if not one.shared]
    assert sum(one.bytes for one in of_device) <= 12.2 * n
    assert sum(one.sectors for one in of_device) <= 1.02 * sum(one.fewest for one in of_device)
    # In shared memory the cells of a warp are in different banks.
    assert all(one.passes <= 1.02 * one.least for one in seen.sites if one.shared and one.lanes > n)


@needs_cxx
def test_a_reduction_waits_once_for_a_range() -> None:
    n = 20_000
    seen = observe(code_of(SUM, None), "main", [np.arange(n, dtype=np.int32)])
    (blocks,) = (count for name, count in seen.launches if name.endswith("_first"))
    assert sum(seen.barriers.values()) == 2 * (blocks + 1)


@needs_cxx
@pytest.mark.parametrize("name", ["scan", "scan in order", "reduction in order", "checked"])
def test_one_element_for_each_thread_gives_the_same(name: str) -> None:
    off = Options(disabled=frozenset({"kernels/several"}), target="cuda")
    work = Compilation(PROGRAMS[name], off)
    code, meaning = plain(work.result("cuda").text), work.result("soa").prog
    for n in (1, 1025, 3000):
        args = given(name, n)
        checked(code, args, interp.run(meaning, "main", list(args)))


@needs_nvrtc
@pytest.mark.parametrize("name", PROGRAMS)
def test_shuffles_of_any_type_compile(name: str) -> None:
    assert "shfl" in nvrtc.ptx(split(code_of(PROGRAMS[name], None))[0])


def test_what_was_chosen_is_told() -> None:
    def told(source: str) -> list[tuple[str, str]]:
        work = compiled(source, "cuda")
        work.result("cuda")
        said = (r for r in work.remarks() if r.rule == "kernels/several")
        return [(remark.kind, remark.because) for remark in said]

    ((kind, because),) = told(SCAN)
    assert kind == "applied"
    assert "up to 23 consecutive elements" in because
    assert "once per 5888 elements" in because
    ((kind, because),) = told(PROGRAMS["wide"])
    assert (kind, "up to 3 consecutive elements" in because) == ("applied", True)
    ((kind, because),) = told(PROGRAMS["too wide"])
    assert (kind, "one element of 72 bytes" in because) == ("missed", True)
    assert told(SUM) == []


CHECKED = """
entry main [n] (ts: [3]i64) (xs: [n]i64) = scan (\\a b -> a + b * ts[b % 4]) 0 xs
"""


@needs_cxx
def test_a_check_that_fails_in_an_operator_leaves_no_thread_behind() -> None:
    args = [np.zeros(3, np.int64), np.arange(3000) % 3]
    args[1][2000] = 3
    for order in ORDERS:
        seen = observe(code_of(CHECKED, None), "main", args, order, records=False, seconds=20)
        assert not seen.problems
        assert seen.error is not None
        assert "Index [3] out of bounds" in seen.error.message


# --- short segments ---

ROWS = {
    "sums": "entry main [m][n] (xss: [m][n]i32) = map (reduce (+) 0) xss",
    "scans": "entry main [m][n] (xss: [m][n]i32) = map (scan (+) 0) xss",
    "reductions in order": AFTER + "entry main [m][n] (xss: [m][n]i64) ="
    " unzip (map (\\xs -> reduce after (1, 0) (zip xs (reverse xs))) xss)",
    "scans in order": AFTER + "entry main [m][n] (xss: [m][n]i64) ="
    " unzip (map (\\xs -> unzip (scan after (1, 0) (zip xs (reverse xs)))) xss)",
    "from the end": "entry main [m][n] (xss: [m][n]i32) ="
    " map (\\xs -> scan (+) 0 (map (\\k -> xs[n - 1 - k]) (iota n))) xss",
    "from a place that has a name": "entry main [m][n] (xss: [m][n]i32) ="
    " map (\\xs -> reduce (+) 0 (map (\\k -> let i = n - 1 - k"
    " in if k == 999 then i32.i64 i else xs[i] * i32.i64 (i / 3)) (iota n))) xss",
    "blocks of rows": "entry main [m][n] (xss: [m][n]i32) ="
    " map (map (\\x -> scan (+) x xss[0])) xss",
}


@needs_cxx
@pytest.mark.parametrize("name", ROWS)
def test_segments_of_any_size(name: str) -> None:
    code, meaning = code_of(ROWS[name], 1 << 40), compiled(ROWS[name]).result("soa").prog
    for m, n in [(0, 3), (1, 1), (3, 2), (9, 5), (9, 17), (2, 33), (7, 64), (300, 3), (2, 513)]:
        kind = np.int64 if "order" in name else np.int32
        if name == "blocks of rows" and m * n > 100:
            continue
        args = [np.random.default_rng(m + n).integers(0, 9, (m, n)).astype(kind)]
        checked(code, args, interp.run(meaning, "main", list(args)))


@needs_cxx
@pytest.mark.parametrize("name", ["sums", "scans", "from the end", "from a place that has a name"])
def test_short_segments_share_a_block_of_threads(name: str) -> None:
    """Of rows that end with sectors 85 % of the bytes are used; there is no barrier."""
    for n in (4, 8, 16, 64, 500):
        seen = observe(code_of(ROWS[name], 1 << 40), "main", [np.ones((256, n), np.int32)])
        ((kernel, blocks),) = seen.launches
        assert kernel.endswith("_rows")
        assert blocks == {4: 4, 8: 8, 16: 16}.get(n, 32)
        assert not seen.barriers
        of_device = [one for one in seen.sites if not one.shared and one.bytes > 8 * one.requests]
        used = sum(one.bytes for one in of_device), 32 * sum(one.sectors for one in of_device)
        assert used[0] >= 0.85 * used[1]


def test_columns_do_not_share_a_warp() -> None:
    """Where they are not laid out anew before."""
    for source, kind in (
        (ROWS["sums"], "applied"),
        ("entry main [m][n] (xss: [m][n]i32) = map (reduce (+) 0) (transpose xss)", "missed"),
    ):
        thresholds = all_thresholds(compiled(source, "cuda"), 1 << 40)
        off = frozenset({"coalesce"})
        work = Compilation(source, Options(target="cuda", disabled=off, thresholds=thresholds))
        work.result("cuda")
        (remark,) = (r for r in work.remarks() if r.rule == "kernels/rows")
        assert remark.kind == kind
        assert ("do not lie together" in remark.because) == (kind == "missed")


NEVER_ASKED = {
    "reduction": "entry main (xs: []i32) (d: i32) = reduce (\\a b -> a + b + b / d * 0) 0 xs",
    "scan": "entry main (xs: []i32) (d: i32) = scan (\\a b -> a + b + b / d * 0) 0 xs",
    "filter": "entry main (xs: []i32) (d: i32) ="
    " let s = scan (\\a b -> a + b + b / d * 0) 0 xs in filter (> 2) s",
    "rows": "entry main (xs: []i32) (d: i32) = map (\\j ->"
    " reduce (\\a b -> a + b + b / d * j) j (map (+ j) xs)) (map i32.i64 (iota 3))",
    "rows in order": "entry main (xs: []i32) (d: i32) = map (\\j ->"
    " scan (\\a b -> if b == 1 / d then a else b) j (map (+ j) xs)) (map i32.i64 (iota 3))",
}


@needs_cxx
@pytest.mark.parametrize("name", NEVER_ASKED)
def test_an_operator_is_asked_nothing_where_there_are_no_elements(name: str) -> None:
    none, one = np.zeros(0, np.int32), np.ones(1, np.int32)
    for version in ("default", "block"):
        work = kernels.compiled(NEVER_ASKED[name], version)
        kernels.compare_text(work, "main", [none, np.int32(0)], "ascending", name)
        kernels.compare_text(work, "main", [one, np.int32(1)], "ascending", name)
