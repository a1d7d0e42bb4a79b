"""Whole programs: the reference, the imperative IR, C on one and two cores agree; CUDA compiles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_
from compiler.driver import api
from compiler.protocol.kinds import OfProgram
from tests.codegen.helpers import check_source, needs_cc

pytestmark = needs_cc
rng = np.random.default_rng(7)


def f32(*shape: int) -> np.ndarray:
    return rng.random(shape, dtype=np.float32)


def i32(*shape: int, high: int = 100) -> np.ndarray:
    return rng.integers(-high, high, shape, dtype=np.int32)


LARGE = 100_000

CASES: dict[str, tuple[str, list[Any]]] = {
    "sum in blocks": ("def main (xs: []f32): f32 = reduce (+) 0 xs", [f32(LARGE)]),
    "each row has a slice by an LMAD written, its own one": (
        "def main [n][m] (xss: [n][m]i32) (ss: [n]i64): [n][m]i32 ="
        " map2 (\\xs s -> lmad_update_2d (copy xs) 1 (s, 2) [[1, 2], [4, 5], [7, 8]]) xss ss",
        [i32(200, 40), rng.choice([3, 4, 5, 7, 18], 200)],
    ),
    "slices by LMADs of varying strides are read": (
        "def main [n] (xs: []i32) (ss: [n]i64): [n]i32 ="
        " map (\\s -> i32.sum (flatten (lmad_slice_2d xs 2 (s, -1) 5 3))) ss",
        [i32(100), rng.integers(0, 20, 300)],
    ),
    "each point writes to two places, and two buffers change places": (
        "def main [n][m] (xss: [n][m]i32): [n][m]i32 ="
        " map (\\xs -> (loop (a: *[m]i32, b: *[m]i32) = (copy xs, copy xs) for _k < 5i64 do"
        " let h = m / 2"
        " let (is, vs, js, ws) = unzip4 (map (\\i -> (2 * i, a[i] + a[i + h], 2 * i + 1,"
        " a[i] - 2 * a[i + h])) (iota h))"
        " in (scatter b (is ++ js) (vs ++ ws), a)).0) xss",
        [i32(200, 41)],
    ),
    "constants of which the first ones are the same, moved at once": (
        "def grid (i: i64) = let x = unflatten (iota 4 :> [2 * 2]i64) in if i == 0 then"
        " unflatten (scatter (scatter (copy (flatten x)) (iota 4) (reverse (iota 4)))"
        " [1, 0] [1, 1]) else x\n"
        "def eights (i: i64) = let x = unflatten (map i32.i64 (iota 8) :> [2 * 4]i32) in"
        " if i == 0 then unflatten (scatter (replicate 8 5) (map (+ 4) (iota 4)) (replicate 4 0)"
        " :> [2 * 4]i32) else x\n"
        "def main (n: i64): ([n][2][2]i64, [n][2][4]i32) = (tabulate n grid, tabulate n eights)",
        [np.int64(2)],
    ),
    "zeros of both signs": (
        "def f (z: f32) (x: f32) = 1 / (z * x)\n"
        "def main (xs: []f32): ([]f32, []f32, f32, f32) ="
        " (map (f 0) xs, map (f (-0.0)) xs, f 0 xs[0], f (-0.0) xs[0])",
        [np.float32([2, 3])],
    ),
    "empty sum": ("def main (xs: []f32): f32 = reduce (+) 0 xs", [f32(0)]),
    "an operator that does not commute": (
        "def main [n] (xs: [n]i32) (ys: [n]i32): (i32, i32) ="
        " reduce (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (zip xs ys)",
        [i32(LARGE), i32(LARGE)],
    ),
    "largest and its place": (
        "def main [n] (xs: [n]i32): (i32, i64) ="
        " reduce (\\(a, i) (b, j) -> if a > b || (a == b && i < j) then (a, i) else (b, j))"
        " (i32.lowest, -1) (zip xs (iota n))",
        [i32(LARGE)],
    ),
    "several reductions": (
        "def main (xs: []i32): (i32, i32, i32, bool) ="
        " (reduce (+) 0 xs, reduce i32.min i32.highest xs, reduce i32.max i32.lowest xs,"
        " reduce (&&) true (map (< 100) xs))",
        [i32(LARGE)],
    ),
    "scan": ("def main (xs: []i32): []i32 = scan (+) 0 xs", [i32(LARGE)]),
    "scan that does not commute": (
        "def main [n] (xs: [n]i32) (ys: [n]i32): ([n]i32, [n]i32) ="
        " unzip (scan (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (zip xs ys))",
        [i32(LARGE), i32(LARGE)],
    ),
    "segmented scan by flags": (
        "def main [n] (fs: [n]bool) (xs: [n]i32): [n]i32 = map (.1) (scan (\\(f, a) (g, b) ->"
        " (f || g, if g then b else a + b)) (false, 0) (zip fs xs))",
        [rng.random(50_000) < 0.01, i32(50_000)],
    ),
    "sums of rows": ("def main (xs: [][]f32): []f32 = map (reduce (+) 0) xs", [f32(40, 3000)]),
    "sums of long rows": (
        "def main (xs: [][]f32): []f32 = map (reduce (+) 0) xs",
        [f32(3, 40_000)],
    ),
    "sums of columns": (
        "def main (xs: [][]f32): []f32 = map (reduce (+) 0) (transpose xs)",
        [f32(300, 133)],
    ),
    "scans of rows": ("def main (xs: [][]i32): [][]i32 = map (scan (+) 0) xs", [i32(9, 20_000)]),
    "scan of scan": (
        "def main [n][m] (xs: [n][m]i32): [n][m]i32 ="
        " transpose (map (scan (+) 0) (transpose (map (scan (+) 0) xs)))",
        [i32(50, 70)],
    ),
    "matrix multiplication": (
        "def main [n][m][k] (a: [n][m]f32) (b: [m][k]f32): [n][k]f32 ="
        " map (\\r -> map (\\c -> reduce (+) 0 (map2 (*) r c)) (transpose b)) a",
        [f32(13, 20), f32(20, 140)],
    ),
    "rows that are scanned and summed": (
        "def main [n][m] (xs: [n][m]i32): [n]i32 = map (\\r -> reduce i32.max 0 (scan (+) 0 r)) xs",
        [i32(200, 77)],
    ),
    "histogram": (
        "def main [n] (is: [n]i32) (vs: [n]i32): [100]i32 ="
        " reduce_by_index (replicate 100 5) (+) 0 (map i64.i32 is) vs",
        [i32(LARGE, high=120), i32(LARGE)],
    ),
    "histogram with more bins than points": (
        "def main [n] (is: [n]i32) (vs: [n]i32): [5000]i32 ="
        " reduce_by_index (replicate 5000 0) i32.max 0 (map i64.i32 is) vs",
        [i32(1000, high=6000), i32(1000)],
    ),
    "histogram of pairs": (
        "def main [n] (is: [n]i32) (vs: [n]i32): ([50]i32, [50]i64) = unzip (reduce_by_index"
        " (replicate 50 (i32.lowest, -1)) (\\(a, i) (b, j) -> if a > b || (a == b && i < j)"
        " then (a, i) else (b, j)) (i32.lowest, -1) (map i64.i32 is) (zip vs (iota n)))",
        [i32(LARGE, high=60), i32(LARGE)],
    ),
    "histograms of rows": (
        "def main [n][m] (xs: [n][m]i32): [n][10]i32 = map (\\r -> reduce_by_index"
        " (replicate 10 0) (+) 0 (map (\\x -> i64.i32 x) r) (map (const 1) r)) xs",
        [i32(30, 2000, high=12)],
    ),
    "scatter": (
        "def main [n][k] (dest: *[k]i32) (is: [n]i64) (vs: [n]i32): [k]i32 = scatter dest is vs",
        [i32(3000), rng.permutation(np.arange(-500, 3500)), i32(4000)],
    ),
    "transposed copy": ("def main (xs: [][]f32): [][]f32 = copy (transpose xs)", [f32(123, 77)]),
    "flatten of a transposition": (
        "def main [n][m] (xs: [n][m]i32): [m * n]i32 = flatten (transpose xs)",
        [i32(13, 57)],
    ),
    "concatenation": (
        "def main [n][m] (xs: [n]i32) (ys: [m]i32): []i32 = concat xs (concat (map (+1) ys) xs)",
        [i32(1000), i32(77)],
    ),
    "arrays through a branch": (
        "def main [n] (c: bool) (xs: [n][n]i32): [n][n]i32 = if c then xs else transpose xs",
        [np.bool_(False), i32(31, 31)],
    ),
    "arrays through a loop": (
        "def main [n] (k: i32) (xs: [n]i32): [n]i32 = loop xs for i < k do map (+i) (reverse xs)",
        [np.int32(7), i32(999)],
    ),
    "swapping in a loop": (
        "def main [n] (k: i32) (xs: *[n]i32) (ys: *[n]i32): ([n]i32, [n]i32) ="
        " loop (a: [n]i32, b: [n]i32) = (xs, ys) for i < k do (map (+ i) b, a)",
        [np.int32(5), i32(100), i32(100)],
    ),
    "while": (
        "def main (n: i64): (i64, i64) = loop (k, x) = (0, n) while x != 1 do"
        " (k + 1, if x % 2 == 0 then x / 2 else 3 * x + 1)",
        [np.int64(27)],
    ),
    "in place": (
        "def main [n] (xs: *[n]i32): [n]i32 = loop xs for i < n / 2 do xs with [2 * i] = xs[i] + 1",
        [i32(1000)],
    ),
    "a slice in place": (
        "def main [n] (xs: *[n]i32) (k: i64): [n]i32 = xs with [0:k] = map (* 2) xs[n - k:n]",
        [i32(1000), np.int64(300)],
    ),
    "arrays inside of a thread": (
        "def main [n] (xs: [n]i32): [n]i32 = map (\\x -> let a = [x, x + 1, x * 2, 7]"
        " in loop s = 0 for i < 4 do s + a[(i * 3) % 4] * (i32.i64 i + 1)) xs",
        [i32(3000)],
    ),
    "large arrays inside of a thread": (
        "def main [n] (xs: [n]i32): [n]i32 = map (\\x -> let a = loop a = replicate 600 x"
        " for i < 599 do a with [i + 1] = a[i] * 3 + 1 in a[599]) xs",
        [i32(200)],
    ),
    "branches around arrays in a thread": (
        "def main [n][m] (xs: [n][m]i32): [n][m]i32 ="
        " map (\\r -> if r[0] > 0 then map (+1) r else scan (+) 0 r) xs",
        [i32(100, 37)],
    ),
    "half precision": (
        "def main (xs: []f16) (ys: []f16): (f16, []f16) ="
        " (reduce f16.max 0 xs, map2 (\\x y -> x * y + 1) xs ys)",
        [f32(1000).astype(np.float16), f32(1000).astype(np.float16)],
    ),
    "narrow integers": (
        "def main (xs: []u8) (ys: []i8): (u8, i8, []u8) ="
        " (reduce (+) 0 xs, reduce (*) 1 ys, map2 (\\x y -> x * 3 - u8.i8 y) xs ys)",
        [
            rng.integers(0, 255, 5000, dtype=np.uint8),
            rng.integers(-128, 127, 5000, dtype=np.int8),
        ],
    ),
    "vector mathematics": (
        "def main (xs: []f32) (ys: []f64): ([]f32, []f64) = (map (\\x -> f32.exp x + f32.sin x) xs,"
        " map (\\y -> f64.log y ** 1.5 + f64.sqrt y + f64.erf y) ys)",
        [f32(5000), 1 + rng.random(5000)],
    ),
    "stencil": (
        "def main [n][m] (g: [n][m]f32): [n][m]f32 = "
        "loop g for _i < 3i32 do tabulate_2d n m (\\i j ->"
        " (g[i64.max (i - 1) 0, j] + g[i64.min (i + 1) (n - 1), j] + g[i, i64.max (j - 1) 0]"
        " + g[i, i64.min (j + 1) (m - 1)]) / 4)",
        [f32(45, 300)],
    ),
    "stencil on a line": (
        "def main [n] (g: [n]f32): [n]f32 = tabulate n (\\i ->"
        " g[i64.max (i - 2) 0] + 2 * g[i] + g[i64.min (i + 1) (n - 1)])",
        [f32(20_000)],
    ),
    "scatter and keep": (
        "def main [n] (xs: [n]i32): ([n]i32, i64) ="
        " let keep = map (\\x -> if x > 0 then 1 else 0) xs"
        " let at = scan (+) 0 keep let count = if n > 0 then at[n - 1] else 0"
        " in (scatter (replicate n 0)"
        " (map2 (\\k a -> if k == 1 then a - 1 else -1) keep at) xs, count)",
        [i32(70_000)],
    ),
    "an operator that checks": (
        "def main [n] (xs: [n]i32) (is: []i64) (t: [4]i32): ([8]i32, i32, []i32) ="
        " let op a b = t[i64.i32 (a + b) % 4] let vs = map (\\i -> xs[i]) is"
        " in (reduce_by_index (replicate 8 0) op 0 (map (% 8) is) vs, reduce op 0 vs,"
        " scan op 0 vs)",
        [i32(1000, high=4) % 4, rng.integers(0, 1000, 80_000), np.arange(4, dtype=np.int32)],
    ),
    "checked gather": (
        "def main [n] (xs: [n]f32) (is: []i64): ([]f32, f32) ="
        " let ys = map (\\i -> xs[i] * 2) is in (ys, reduce f32.max 0 (map (\\i -> xs[i]) is))",
        [f32(1000), rng.integers(0, 1000, 40_000)],
    ),
    "checks that protect later ones": (
        "def main [n] (xs: [n]i32) (ds: []i32): []i32 ="
        " map (\\d -> let q = 1000 / d in xs[q] + 1) ds",
        [i32(1001), rng.integers(1, 50, 20_000, dtype=np.int32)],
    ),
    "filter": ("def main (xs: []i32): []i32 = filter (> 10) xs", [i32(50_000)]),
    "three dimensions": (
        "def main [a][b][c] (xs: [a][b][c]i32): [c][b][a]i32 ="
        " map (\\p -> map (\\r -> map (+ 1) r) (transpose p)) (transpose (map transpose xs))",
        [i32(7, 11, 13)],
    ),
}
NOT_NEUTRAL: dict[str, tuple[str, list[Any]]] = {
    "what is not neutral, though it should be, counts once in one block": (
        "def main (x: i32) (xs: []i32) (xss: [][]i32): (i32, i32, []i32) ="
        " (reduce (+) x xs, reduce (\\a b -> a + b) x (map (* 2) xs), map (reduce (+) x) xss)",
        [np.int32(5), i32(16384), i32(3, 1000)],
    ),
    "nothing but what is not neutral": ("def main (xs: []i32): i32 = reduce (+) 7 xs", [i32(0)]),
}
"""On a GPU it counts more than once."""


@pytest.mark.parametrize("thresholds", [None, 1 << 40], ids=["outer", "inner"])
@pytest.mark.parametrize("name", CASES)
def test_all_back_ends_agree(name: str, thresholds: int | None) -> None:
    source, args = CASES[name]
    check_source(source, args, thresholds, again=thresholds is not None)


@pytest.mark.parametrize("name", NOT_NEUTRAL)
def test_what_is_not_neutral_counts_once_in_one_block_of_c(name: str) -> None:
    source, args = NOT_NEUTRAL[name]
    check_source(source, args, None)


def test_a_failing_check_inside_a_histograms_operator_stops_the_program() -> None:
    source = """
    entry main [n] (xs: *[n]i32): [3]i64 =
      let op i j = let l = if xs[i] < xs[j] then i else j in assert (l != 7) l
      in hist op 0 3 (map (% 3) (iota n)) (iota n)
    """
    xs = np.arange(20_000, dtype=np.int32)
    xs[7] = -1
    with pytest.raises(RuntimeError_, match="l != 7"):
        api.run_values(OfProgram(source), "main", [xs], "c", "", 30)


@pytest.mark.parametrize(
    "source",
    [
        "entry main (a: []i32) (is: [3]i64) = map (\\i -> a[i]) is",
        "entry main (a: []i32) (is: []i64) = map (\\i -> a[i]) (map (+ is[0]) [0, 1, 9])",
    ],
)
def test_checked_maps_of_few_points(source: str) -> None:
    args = [np.arange(10, dtype=np.int32), np.zeros(3, np.int64)]
    found = api.run_values(OfProgram(source), "main", args, "c", "", 30)["values"]
    assert (
        found[0].tolist()
        == api.run_values(OfProgram(source), "main", args, "ref", "", 30)["values"][0].tolist()
    )
