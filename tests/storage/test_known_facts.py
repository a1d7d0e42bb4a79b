"""Programs that are built in place for what is known of their sizes: halves, quotients, checks."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.names import base_of
from compiler.driver import explanations
from compiler.driver.pipeline import Compilation
from compiler.ir.values import Value
from compiler.protocol.proofs import AttemptsRequest
from testing.attempts import attempts
from tests.storage.test_short_circuit import check, copies, outcomes

HALVES = """
entry main [n] (xs: *[n]i64): [n]i64 =
  let h = n / 2
  let (lo, hi) = unzip (map2 (\\x y -> (i64.min x y, i64.max x y)) xs[:h] (xs[h:2 * h] :> [h]i64))
  let xs[:h] = lo
  let xs[h:2 * h] = hi
  in xs
"""
"""What is put into a part is as long as `n / 2`, under whatever name."""

FOURIER = """
entry main (k: i64) (xs: *[]i64) =
  loop xs for s < k do
    let h = 1 << s
    let h = assert (0 < h && h <= length xs) h
    let g = length xs / (2 * h)
    let low = lmad_slice_2d xs 0 (2 * h, 1) g h
    let high = lmad_slice_2d xs h (2 * h, 1) g h
    let sums = map2 (map2 (+)) low high
    let differences = map2 (map2 (-)) low high
    let xs = lmad_update_2d xs 0 (2 * h, 1) sums
    in lmad_update_2d xs h (2 * h, 1) differences
"""
"""`2*h*g <= n` as `g = n / (2*h)`, and `2*h` does not wrap."""

RING = """
entry main [t] [m] (k: i64) (xss: [t][m]i64) =
  let k = assert (k > 0) k
  in loop buffer = replicate k (replicate m 0) for i < t do
    let new = map (* 2) xss[i]
    in buffer with [i % k] = new
"""
"""The divisor was checked before the loop."""

EDGES = """
entry main [n] (xs: *[n]i64) =
  loop xs for _i < 3i32 do
    let first = map (+ 1) xs[:1]
    let inner = map2 (+) xs[:n - 2] xs[2:]
    let last = map (+ 2) xs[n - 1:]
    in first ++ inner ++ last :> [n]i64
"""
"""That `n - 2` is 0 or not negative is not negative."""

PERMUTED = """
entry main [n] [m] (xss: [n][m]i64) (places: [n]i64) =
  loop out = replicate n (replicate m 0) for j < n do
    let row = map (+ 1) xss[j]
    in out with [places[j]] = row
"""
"""Where a row goes is read before it is made."""

KNAPSACK = """
entry main [k] (weights: [k]i64) (values: [k]i64) (c: i64) =
  let best = replicate (k + 1) (replicate (c + 1) 0i64)
  in loop best for i < k do
    let row = tabulate (c + 1) (\\j ->
      if weights[i] <= j then i64.max best[i, j] (best[i, j - weights[i]] + values[i])
      else best[i, j])
    in best with [i + 1] = row
"""
"""Whatever column is read, it is one of the row before."""

BOXES = """
entry main [n] [m] [k] (a: *[n][m][k]i64) (b: [k][m]i64): [n][m][k]i64 =
  map (\\x -> map2 (map2 (\\p q -> p * 2 + q)) x (transpose b)) a
"""
"""`m*k` does not wrap where there is a box: all of `n*m*k` elements are in memory."""

GATHERED = """
entry main [m] (t: i64) (next: [m]i64) (start: [m]i64) =
  loop states = replicate (t + 1) start for s < t do
    let new = map (\\j -> states[s, next[j]] + j) (iota m)
    in states with [s + 1] = new
"""
"""The same for a column that is read from an array."""

ROWS = np.arange(12).reshape(4, 3)
PROGRAMS: dict[str, tuple[str, list[list[Value]]]] = {
    "halves": (HALVES, [[np.array([5, 1, 4, 2, 3, 0, 7])], [np.arange(1)], [np.arange(0)]]),
    "fourier": (FOURIER, [[np.int64(3), np.arange(8)], [np.int64(2), np.arange(7)]]),
    "ring": (RING, [[np.int64(3), ROWS], [np.int64(1), ROWS], [np.int64(5), ROWS]]),
    "permuted": (PERMUTED, [[ROWS, np.array([2, 0, 3, 1])], [ROWS, np.array([1, 1, 1, 1])]]),
    "knapsack": (KNAPSACK, [[np.array([2, 1, 3]), np.array([5, 3, 9]), np.int64(6)]]),
    "gathered": (GATHERED, [[np.int64(3), np.array([2, 0, 0]), np.arange(3)]]),
    "boxes": (
        BOXES,
        [
            [np.arange(24).reshape(2, 3, 4), np.arange(12).reshape(4, 3)],
            [np.zeros((0, 3, 4), np.int64), np.arange(12).reshape(4, 3)],
        ],
    ),
    "edges": (EDGES, [[np.arange(2)], [np.arange(5)]]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_nothing_is_copied(name: str) -> None:
    source, inputs = PROGRAMS[name]
    assert {condition for _, condition in outcomes(source)} == {0}
    for args in inputs:
        assert copies(check(source, args))[0] == 0


CHECKED_LATER = """
entry main [n] [m] (xs: [m]i64) (places: [n]i64) (k: i64): [n][m]i64 =
  let out = replicate n (replicate m 0)
  let row = map (+ 1) xs
  in out with [places[k]] = row
"""


def test_nothing_is_read_before_it_is_checked_to_be_there() -> None:
    found = outcomes(CHECKED_LATER)
    assert ("update", 4) in found
    check(CHECKED_LATER, [np.arange(3), np.array([2, 0, 1]), np.int64(1)])


def test_another_point_is_one_that_there_is() -> None:
    source = """
entry main [n] (d: *[n][n]i64) =
  loop d for k < n do tabulate_2d n n (\\i j -> i64.min d[i, j] (d[i, k] + d[k, j]))
"""
    (found,) = attempts(Compilation(source).result("funmem").prog)
    (met,) = (one["witness"]["values"] for one in found["obligations"] if "witness" in one)
    values = {base_of(name): value for name, value in met.items()}
    assert found["condition"] == 5
    assert values["i"] + 1 < values["n"]


def test_a_literal_is_not_called_after_a_parameter_of_the_prelude() -> None:
    source = "entry main [n] (xs: [n][1]i64) = map (\\row -> [0] ++ map (+ 1) row) xs"
    found = explanations.attempts(AttemptsRequest(source))["attempts"]
    told = [one["because"] for one in found if one["rule"] == "shortcircuit/concat"]
    assert any(text.startswith("The array literal in line 1 is created outside") for text in told)


def test_a_column_of_the_same_row_may_be_the_one_that_is_written() -> None:
    source = GATHERED.replace("states[s,", "states[s + 1,")
    assert ("update", 5) in outcomes(source)
    check(source, PROGRAMS["gathered"][1][0])


def test_a_quotient_of_names_that_nothing_else_mentions() -> None:
    source = """
entry main [n] [m] (k: i64) (c: bool) (a: *[n][m]i64) (b: *[n][n]i64) =
  let q = i64.max (k + 1) (n - 1)
  in a with [1:n, (m - 1)::(0 - 1)] =
    tabulate_2d (n - 1) m (\\_ _ -> (if c then b[k - 1, n - k - 1] else a[q % n, 2 % m]) + 8)
"""
    assert attempts(Compilation(source).result("funmem").prog)
