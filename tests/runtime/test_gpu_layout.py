"""What kernels fetch of device memory: sectors counted by the observer, at sizes around a tile."""

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
from compiler.runtime.observer.records import Observation, observe
from compiler.semantics import interp
from testing.kernels import same
from tests.codegen.test_cuda import compiled_for
from tests.runtime.cuda_on_cpu import needs_cxx, results

pytestmark = needs_cxx
EDGES = ((0, 5), (5, 0), (1, 1), (31, 33), (33, 32))


def seen(work: Compilation, args: list[Any], expected: list[Any]) -> Observation:
    """A run without a fault in two orders of threads, which costs what was predicted."""
    text = work.result("cuda").text
    same(results(observe(plain(text), "main", args, "random", records=False)), expected)
    found = observe(plain(text), "main", args)
    same(results(found), expected)
    shapes = [np.shape(a) if np.ndim(a) else None for a in args]
    given = [None if np.ndim(a) else a for a in args]
    prog = work.result("kernels", "cuda").prog
    predicted = predict(prog, text, "main", shapes, given)
    told = report(prog, text, predicted, found)["accesses"]
    assert all(one["because"] or one["agrees"] for one in told)
    return found


def needed(found: Observation) -> float:
    """Which part of the sectors would do for what threads ask for, if that lay together."""
    sites = [site for site in found.sites if not site.shared]
    return sum(site.fewest for site in sites) / sum(site.sectors for site in sites)


NARROW = {
    "8 bytes wide": ("entry main [n] (a: [n][8]u8): [8][n]u8 = copy (transpose a)", np.uint8, 8),
    "13 high": ("entry main [n] (a: [13][n]i16): [n][13]i16 = copy (transpose a)", np.int16, -13),
    "31 wide": ("entry main [n] (a: [n][31]i32): [31][n]i32 = copy (transpose a)", np.int32, 31),
    "9 high": ("entry main [n] (a: [9][n]f64): [n][9]f64 = copy (transpose a)", np.float64, -9),
}


@pytest.mark.parametrize("name", NARROW)
def test_a_tile_has_all_of_a_short_dimension(name: str) -> None:
    """At sizes of none, one, and around what such a tile has of the other dimension."""
    source, kind, short = NARROW[name]
    work = compiled_for(source, None)
    for n in (0, 1, 31, 64, 65, 511, 513):
        shape = (n, short) if short > 0 else (-short, n)
        a = np.arange(n * abs(short)).reshape(shape).astype(kind)
        found = seen(work, [a], [a.T])
        if n > 500:
            blocks = sum(count for _, count in found.launches)
            assert blocks <= -(-a.nbytes // 2048), "less than 2 KiB for a block of threads"


TURNED: dict[str, tuple[str, Any]] = {
    "once": ("entry main [n][m] (a: [n][m]$): [m][n]$ = copy (transpose a)", lambda t: t),
    "twice": (
        "entry main [n][m] (a: [n][m]$): [2][m][n]$ = replicate 2 (transpose a)",
        lambda t: np.stack([t, t]),
    ),
}


@pytest.mark.parametrize("prim", ["u8", "i16", "f64"])
@pytest.mark.parametrize("name", TURNED)
def test_transpositions_read_and_write_in_order(name: str, prim: str) -> None:
    source, many = TURNED[name]
    work = compiled_for(source.replace("$", prim), None)
    kind = {"u8": np.uint8, "i16": np.int16, "f32": np.float32, "f64": np.float64}[prim]
    for shape in (*EDGES, (64, 96)):
        a = np.arange(np.prod(shape)).astype(kind).reshape(shape)
        found = seen(work, [a], [many(a.T)])
    assert needed(found) == 1
    shared = [site for site in found.sites if site.shared]
    assert sum(site.passes for site in shared) <= 1.01 * sum(site.least for site in shared)


# --- what threads read and write in rows of their own -----------------------------------------

ROWS = "entry main [n][m] (a: [n][m]f32): "
SUMS = ROWS + "[n]f32 = map f32.sum a"
SCANS = ROWS + "[n][m]f32 = map (scan (+) 0) a"
SOFTMAX = (
    ROWS + "[n][m]f32 = map (\\r -> let e = map (\\x -> f32.exp (x - f32.maximum r)) r"
    " in map (/ f32.sum e) e) a"
)
COLUMNS = ROWS + "[m]f32 = map f32.sum (transpose a)"
TURN = ROWS + "[m][n]f32 = map (map (+ 1)) (transpose a)"
OUTER, INNER = 0, 1 << 40
"""Thresholds for as little and as much parallelism as there is."""


def without_coalescing(work: Compilation) -> Compilation:
    return Compilation(
        work.source, replace(work.options, disabled=frozenset({"coalesce"}), verify=True)
    )


@pytest.mark.parametrize(
    ("source", "thresholds", "shape"),
    [
        (SUMS, OUTER, (64, 96)),
        (SCANS, OUTER, (64, 96)),
        (SOFTMAX, OUTER, (64, 96)),
        (COLUMNS, INNER, (256, 8)),
        (TURN, OUTER, (64, 96)),
    ],
)
def test_neighbouring_threads_find_their_elements_next_to_each_other(
    source: str, thresholds: int, shape: tuple[int, int]
) -> None:
    work = compiled_for(source, thresholds)
    meaning = work.result("soa").prog
    rng = np.random.default_rng(3)
    for size in (*EDGES, shape):
        a = rng.integers(-5, 5, size).astype(np.float32)
        expected = interp.run(meaning, "main", [a])
        found = seen(work, [a], expected)
    assert needed(found) > 0.95
    far = seen(without_coalescing(work), [a], expected)
    assert needed(far) < 0.3


def test_what_a_block_of_threads_keeps_lies_row_by_row() -> None:
    """Its threads run along the row; only single threads' rows are interleaved."""
    work = compiled_for(SOFTMAX, None)
    work = Compilation(
        work.source,
        replace(work.options, thresholds=(("suff_outer_0", INNER), ("suff_intra_0", 0))),
    )
    a = np.ones((40, 64), np.float32)
    assert needed(seen(work, [a], [a / 64])) > 0.95


FLAT = "entry main (n: i64) (m: i64) (a: [n*m]i32)"
OF_FLAT = {
    "map": f"{FLAT}: [n]i32 = map (foldl (+) 0) (unflatten a)",
    "scan": f"{FLAT}: [n]i32 = scan (+) 0 (map (foldl (+) 0) (unflatten a))",
    "reduction": f"{FLAT}: i32 = i32.sum (map (foldl (\\x y -> x * 3 + y) 0) (unflatten a))",
    "by index": f"{FLAT}: [n]i32 ="
    " tabulate n (\\i -> loop x = 0 for j < m do x * 3 + a[i * m + j])",
    "two": f"{FLAT}: [n]i32 = let s = map (foldl (+) 0) (unflatten a)"
    " in map2 (\\i r -> foldl (\\x y -> x * 3 + y) s[n - 1 - i] r) (iota n) (unflatten a)",
}


@pytest.mark.parametrize("name", OF_FLAT)
def test_rows_that_lie_in_one_dimension_are_read_next_to_each_other(name: str) -> None:
    work = compiled_for(OF_FLAT[name], OUTER)
    meaning = work.result("soa").prog
    rng = np.random.default_rng(3)
    for n, m in (*EDGES, (64, 96)):
        args = [np.int64(n), np.int64(m), rng.integers(-5, 5, n * m).astype(np.int32)]
        expected = interp.run(meaning, "main", args)
        found = seen(work, args, expected)
    assert needed(found) > 0.95
    assert [one for one, _ in found.launches if one.startswith("copy")] == ["copy_1"]
    far = seen(without_coalescing(work), args, expected)
    assert needed(far) < 0.3


@pytest.mark.parametrize(
    "source",
    [
        f"{FLAT}: [n]i32 = tabulate n (\\i -> loop x = 0 for j < m - 1 do x + a[i * m + j + 1])",
        f"{FLAT}: [n]i32 ="
        " tabulate n (\\i -> loop x = 0 for j < m do if j > i then x + a[i * m + j]"
        " else x)",
        "entry main (n: i64) (m: i64) (a: [n*2]i32): [n]i32 = map (foldl (+) 0) (unflatten a)",
        f"{FLAT}: *[n*m]i32 = loop b = copy a for k < 3 do scatter b (map (\\i -> i * m) (iota n))"
        " (tabulate n (\\i -> loop x = 0 for j < m do x + b[i * m + j]))",
    ],
)
def test_other_places_of_one_dimension_are_read_as_they_lie(source: str) -> None:
    """Parts of rows, what only some read, rows of few elements; and what is written in between."""
    work = compiled_for(source, OUTER)
    meaning = work.result("soa").prog
    rng = np.random.default_rng(3)
    for n, m in ((1, 1), (33, 2), (40, 31)):
        count = n * 2 if "n*2" in source else n * m
        args = [np.int64(n), np.int64(m), rng.integers(-5, 5, count).astype(np.int32)]
        expected = interp.run(meaning, "main", args)
        seen(work, args, expected)
    if "scatter" not in source:
        text = plain(work.result("merged").text)
        assert text == plain(without_coalescing(work).result("merged").text)


TWICE = ROWS + (
    "[n]f32 = let b = map (\\r -> loop r = copy r for i < m - 1 do r with [i + 1] = r[i] * 2) a"
    " in loop s = replicate n 0 for i < 3 do"
    " map2 (\\x r -> loop x for j < m do x + r[j] * r[m - 1 - j]) s b"
)
IN_LOOP = ROWS + (
    "[n]f32 = loop s = replicate n 0 for i < 3 do"
    " map2 (\\x r -> loop x for j < m do x + r[j] * r[m - 1 - j]) s a"
)


@pytest.mark.parametrize("source", [TWICE, IN_LOOP])
def test_arrays_are_copied_once(source: str) -> None:
    """What was written in that order is read in it, and a loop's copy stands before the loop."""
    work = compiled_for(source, OUTER)
    rng = np.random.default_rng(6)
    a = rng.integers(-3, 3, (33, 31)).astype(np.float32)
    found = seen(work, [a], interp.run(work.result("soa").prog, "main", [a]))
    assert [name for name, _ in found.launches if name.startswith("copy")] == ["copy_1"]


@pytest.mark.parametrize("thresholds", [None, OUTER, INNER])
@pytest.mark.parametrize("often", [0, 1, 3])
def test_a_copy_for_a_branch_in_a_loop_stands_before_the_loop(thresholds: Any, often: int) -> None:
    """Where that is taken each time or never, as versions of the code are."""
    source = (
        "entry main [n][m] (a: [n][m]f32) (k: i64): [n]f32 = loop s = replicate n 0 for i < k do"
        " if n < 1000 then map2 (\\x r -> x + f32.sum (map (* x) r)) s a"
        " else map2 (\\x r -> x + r[i] * r[m - 1 - i]) s a"
    )
    work = compiled_for(source, thresholds)
    text = plain(work.result("cuda").text)
    host = text[text.index("def entry_main") : text.index("\nABOUT = ")]
    loop = re.search(r"\n    (for|while) ", host)
    assert loop is not None
    assert "copy_" not in host[loop.start() :]
    a = np.random.default_rng(3).integers(-3, 4, (40, 50)).astype(np.float32)
    args = [a, np.int64(often)]
    expected = interp.run(work.result("soa").prog, "main", args)
    copies = [name for name, _ in seen(work, args, expected).launches if name.startswith("copy_")]
    assert len(copies) <= 1


IN_PLACE = "entry main [n][m] (a: *[n][m]f32): *[n][m]f32 = map (scan (+) 0) a"
OF_ROWS = (
    "entry main [n][m][k] (a: [n][m][k]f64): [n][m][k]f64 = map (map (\\r -> "
    "loop r = copy r for i < k - 1 do r with [i + 1] = r[i] + r[i + 1])) a"
)
OTHER_ROWS = ROWS + (
    "[n][m]f32 = let b = map (scan (+) 0) a in map (\\i -> "
    "loop r = copy b[n - 1 - i] for j < m do r with [j] = r[j] * a[i, m - 1 - j]) (iota n)"
)
IN_BRANCHES = ROWS + (
    "[n][m]f32 = map (\\r -> if r[0] > 0 then scan (+) 0 r else map (* 2) (reverse r)) a"
)


@pytest.mark.parametrize("source", [IN_PLACE, OF_ROWS, OTHER_ROWS, IN_BRANCHES])
@pytest.mark.parametrize("off", ["", "shortcircuit", "coalesce/reads", "coalesce/writes"])
def test_rows_keep_their_values_in_any_order(source: str, off: str) -> None:
    work = compiled_for(source, OUTER)
    work = Compilation(work.source, replace(work.options, disabled=frozenset({off} - {""})))
    meaning = work.result("soa").prog
    rng = np.random.default_rng(4)
    for shape in ((1, 1), (33, 31)):
        full = (*shape, 5) if source == OF_ROWS else shape
        a = rng.integers(-3, 3, full).astype(np.float64 if source == OF_ROWS else np.float32)
        seen(work, [a], interp.run(meaning, "main", [a.copy()]))


def test_it_says_what_it_gains() -> None:
    work = compiled_for(SCANS, OUTER)
    work.result("expanded")
    read, written = [one for one in work.remarks() if one.rule.startswith("coalesce/")]
    assert "in a copy with another layout" in read.because
    assert "a copy moves these to their place" in written.because
    for one in (read, written):
        assert dict(one.numbers) == {"sectors for 32 threads": "32 -> 4", "for the copy": "8"}


@pytest.mark.parametrize(
    "source",
    [
        "entry main [n] (a: [n][3]f32): [n]f32 = map (\\r -> r[0] + r[1] * r[2]) a",
        ROWS + "[n]f32 = map (\\r -> r[0]) a",
        ROWS + "[n]f32 = map (\\r -> (loop (i, s) = (0, 0) while s < 9 do (i + 1, s + r[i])).1) a",
    ],
)
def test_what_would_not_pay_stays(source: str) -> None:
    """Rows of few elements, and arrays of which nobody knows that most is read."""
    work = compiled_for(source, OUTER)
    text = plain(work.result("merged").text)
    assert text == plain(without_coalescing(work).result("merged").text)


def test_what_only_changes_the_order_is_one_copy() -> None:
    source = (
        "entry main [k][n][m] (a: [k][n][m]f32): [k][m][n]f32 ="
        " map (\\r -> transpose (map (scan (+) 0) r)) a"
    )
    a = np.random.default_rng(3).integers(-9, 9, (3, 40, 70)).astype(np.float32)
    found = seen(compiled_for(source, 1 << 40), [a], [a.cumsum(2).transpose(0, 2, 1)])
    written = sum(s.lanes and s.visits for s in found.sites if s.kind == "writes" and not s.shared)
    assert written == 2 * a.size
    assert needed(found) > 0.8


PARTS: dict[str, tuple[int, str, Any]] = {
    "its two outer dimensions are one": (
        1,
        "entry main [h][m] (n: i64) (a: [h][m]i32): [][][]i32 ="
        " let k = h / n in map transpose (unflatten (sized (k * n) a))",
        lambda a, n: a.reshape(a.shape[0] // n, n, a.shape[1]).transpose(0, 2, 1),
    ),
    "all of its dimensions are one": (
        2,
        "entry main [h] (n: i64) (m: i64) (a: [h]i32): [][][]i32 ="
        " map transpose (unflatten_3d (sized ((h / (n * m)) * n * m) a))",
        lambda a, n, m: a.reshape(-1, n, m).transpose(0, 2, 1),
    ),
    "the last row first": (
        0,
        "entry main [h][m] (a: [h][m]i32): [m][h]i32 = tabulate_2d m h (\\i j -> a[h - 1 - j, i])",
        lambda a: a[::-1].T,
    ),
    "each second row": (
        0,
        "entry main [h][m] (a: [h][m]i32): [m][]i32 ="
        " tabulate_2d m ((h + 1) / 2) (\\i j -> #[unsafe] a[2 * j, i])",
        lambda a: a[::2].T,
    ),
}
"""How many sizes are given beside the array, the program, and its result in numpy."""


@pytest.mark.parametrize("part", PARTS)
def test_a_part_that_only_changes_the_order_is_one_copy(part: str) -> None:
    given, source, turned = PARTS[part]
    work = compiled_for(source, None)
    for k, n, m in ((0, 3, 4), (1, 1, 1), (2, 33, 70), (3, 1, 5), (1, 31, 1), (2, 64, 64)):
        shape = (k * n * m,) if given == 2 else (k * n, m)
        sizes = [n, m][:given]
        a = np.arange(k * n * m, dtype=np.int32).reshape(shape)
        found = seen(work, [*map(np.int64, sizes), a], [turned(a, *sizes)])
        assert [launch[0][:4] for launch in found.launches] == ["copy"] * (k > 0)
    assert needed(found) > 0.95


@pytest.mark.parametrize("at", ["a[j, j]", "a[j, (i + j) % n]", "a[i, j]", "a[i * j % n, 0]"])
def test_what_is_no_change_of_order_stays_a_kernel(at: str) -> None:
    source = f"entry main [n] (a: [n][n]i32): [n][n]i32 = tabulate_2d n n (\\i j -> #[unsafe] {at})"
    work = compiled_for(source, None)
    a = np.arange(33 * 33, dtype=np.int32).reshape(33, 33)
    found = seen(work, [a], interp.run(work.result("soa").prog, "main", [a]))
    assert not all(name.startswith("copy") for name, _ in found.launches)


@pytest.mark.parametrize(("rows", "copies"), [("n", 1), ("2", 0)])
def test_a_part_that_many_threads_read_is_copied_in_another_order(rows: str, copies: int) -> None:
    """Each thread reads one of three, and so do those with the same `j` of all rows."""
    source = (
        f"entry main [n][m] (a: [n]f32) (b: [m][3]f32): [{rows}][m]f32 ="
        f" tabulate_2d {rows} m (\\i j -> a[i] * b[j, 1])"
    )
    work = compiled_for(source, None)
    rng = np.random.default_rng(4)
    a, b = rng.random(33, np.float32), rng.random((70, 3), np.float32)
    expected = np.outer(a if rows == "n" else a[:2], b[:, 1])
    found = seen(work, [a, b], [expected])
    assert sum(name.startswith("copy") for name, _ in found.launches) == copies


def test_an_order_in_which_neighbours_stay_neighbours_is_left_to_the_kernel() -> None:
    source = (
        "entry main [n][m][k] (a: [n][m][k]f32): [m][n][k]f32 ="
        " tabulate_3d m n k (\\j i l -> a[i, j, l])"
    )
    work = compiled_for(source, None)
    assert plain(work.result("merged").text) == plain(
        without_coalescing(work).result("merged").text
    )
    a = np.random.default_rng(5).random((3, 5, 33), np.float32)
    seen(work, [a], [a.transpose(1, 0, 2)])


KEPT = {
    "segred": "i32.sum",
    "segred in order": "reduce (\\a b -> if b == 0 then a else b) 0",
    "segscan": "scan (+) 0",
}


@pytest.mark.parametrize("name", KEPT)
def test_rows_that_a_reduction_or_scan_keeps_lie_next_to_each_other(name: str) -> None:
    source = (
        "def row (x: i32) = let ys = loop ys = replicate 40 x for i < 39 do"
        " ys with [i + 1] = ys[i] * 3 + x in (ys[39], ys)\n"
        "entry main [n] (xs: [n]i32) ="
        f" let (oks, yss) = unzip (map row xs) in ({KEPT[name]} oks, yss)"
    )
    work = compiled_for(source, OUTER)
    assert name.partition(" ")[0] in plain(work.result("flat").text)
    meaning = work.result("soa").prog
    for count in (0, 1, 33, 2000):
        xs = np.random.default_rng(5).integers(-9, 9, count).astype(np.int32)
        expected = interp.run(meaning, "main", [xs])
        found = seen(work, [xs], expected)
    assert needed(found) > 0.9
    assert needed(seen(without_coalescing(work), [xs], expected)) < 0.5


STATES = (
    "entry main [n] (a: [3][n]f32) (k: i32): [3][n]f32 =\n"
    "  loop a for i < k do transpose (map2 (\\r j ->"
    " [r[0] + a[1, (j + 1) % n], r[1] * 2 - f32.i32 i, r[0] - r[2]]) (transpose a) (iota n))"
)


def test_rows_of_which_a_transposed_view_is_used_lie_as_that_needs_them() -> None:
    work = compiled_for(STATES, OUTER)
    meaning, steps = work.result("soa").prog, np.int32(5)
    rng = np.random.default_rng(7)
    for count in (1, 33, 500):
        a = rng.integers(-3, 3, (3, count)).astype(np.float32)
        expected = interp.run(meaning, "main", [a, steps])
        found = seen(work, [a, steps], expected)
    assert not [launch for launch, _ in found.launches if launch.startswith("copy")]
    assert needed(found) > 0.9
    assert "stride" not in plain(work.result("merged").text)
    off = replace(work.options, disabled=frozenset({"memory/turned", "shortcircuit"}))
    far = Compilation(STATES, off)
    seen(far, [a, steps], expected)
    told = [[one.rule for one in each.remarks()] for each in (work, far)]
    assert [rules.count("memory/turned") for rules in told] == [1, 0]


@pytest.mark.parametrize("threshold", [OUTER, INNER])
def test_bins_are_read_as_narrow_as_they_are(threshold: int) -> None:
    """Two histograms that go by the same numbers of 32 bits: no array of 64 bits is written."""
    source = (
        "entry main [n][m] (k: i64) (is: [n]i32) (xs: [n][m]i32): ([k]i32, [k][m]i32) ="
        " let wide = map i64.i32 is in (hist (+) 0 k wide (replicate n 1i32),"
        " hist (map2 (+)) (replicate m 0) k wide xs)"
    )
    work = compiled_for(source, threshold)
    rng = np.random.default_rng(3)
    args = [
        np.int64(5),
        rng.integers(-1, 6, 4000).astype(np.int32),
        rng.integers(-9, 9, (4000, 3)).astype(np.int32),
    ]
    found = seen(work, args, interp.run(work.result("soa").prog, "main", args))
    written = [site for site in found.sites if not site.shared and site.kind == "writes"]
    assert sum(site.sectors for site in written) * 32 < 4000
    read = [site for site in found.sites if not site.shared and site.kind == "reads"]
    assert sum(site.sectors for site in read) * 32 < 4000 * (4 + 4 + 12 + 4)
