"""Programs whose stages once differed, as random programs found them; now they agree."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.ir.values import Value
from compiler.runtime import runner
from testing.campaign import Manner, failure
from testing.generators.storage import Generated

NO_POINTS = """
entry main [n] (xs: [n]i64) (ys: [n + n]i64) =
  tabulate (n - 2) (\\i ->
    let row = map (\\y -> y + i) (ys[i:i + n - 2] :> [n - 2]i64)
    let first = iota (n - 3)
    in row with [0:n - 3] = first)
"""
"""Of rows that are not there: `n - 3` is negative where there are no rows."""

MAPPED_AWAY = """
entry main [n] (xs: *[n]i64) (ys: *[n]i64) =
  let zs = map2 (\\x y -> y) xs ys
  in loop zs for i < n do
       let new = map (+ 1) ys
       in zs with [0:n] = new
"""
"""`zs` is `ys`, unless that is read in the loop that overwrites `zs`."""

SIZES_OF_LOOPS = """
entry main [n] (k: i64) (c: bool) (xs: [n]i32) (ys: *[n]i64) =
  let start = copy ys
  let (as, bs) =
    loop (as, bs) = (start, ys) for i < n + k do
      let new = bs with [k:n] = tabulate (n - k) (const as[0])
      in (new, as)
  let start = copy as
  let (_, ds) =
    loop (cs, ds) = (start, bs) for i < n + 1 do
      let part =
        if c then map (\\x -> x) (cs[0:n - 2] :> [n - 2]i64)
        else map (\\x -> i64.min (6 * x) x) (ds[2:n] :> [n - 2]i64)
      in (cs with [2:n] = part, map (const n) xs)
  in ds
"""
"""Sizes that might change have names of their own in loops and behind them."""

PART_IN_PLACE = """
entry main [n] [m] (xs: [n]i64) (ys: *[m]i64) =
  let new = ys with [0] = xs[0]
  let part = map (* 3) new
  in part ++ xs
"""
"""`part` is built in the result, which does not fit into the memory of `ys`."""

LENT_TO_A_LOOP = """
entry main [n] [m] (k: i64) (ys: *[n + m]i64) (xs: *[n]i64) =
  let zs =
    loop part = xs for i < n do
      let some =
        let rows = tabulate n (\\_ -> iota m with [k] = k)
        let new = map (\\x -> x - (ys[2 * i] + x)) part
        let one = rows[(2 * i) % n, m - 1]
        let used = part with [:] = new
        in replicate (n + 1) one
      in map (\\y -> y) (ys[m:n + m] :> [n]i64)
  in zs
"""
"""What the loop overwrites in its next turn must not be a part of `ys`."""

A_NAME_OF_A_NAME = """
def said (code: i32, bit: i32, word: []u8, acc: []u8) : []u8 =
  if code & bit == 0 then acc
  else if null acc then word
  else acc ++ ", " ++ word
entry main (code: i32) : []u8 =
  ""
  |> (\\acc -> said (code, 1, "wink", acc))
  |> (\\acc -> said (code, 2, "double", acc))
  |> (\\acc -> said (code, 4, "close", acc))
  |> (\\acc -> said (code, 8, "jump", acc))
"""
"""A block that branches hand on has more and more names, and is needed as long as any of them."""

CONSTANT_BESIDE = """
entry main [n] (xs: [n]i64) (is: [n]i64) =
  let as = map (\\x -> (0, 1 - x * x, 1 - x * x)) xs
  let bs = map (\\x -> (0, 1 - x * x, 1 - x * x)) xs
  in (map2 (\\(x, y, z) i -> (x + y * z) * xs[i]) as is,
      map2 (\\(x, y, z) i -> x - y - z + i) bs is)
"""
"""Two equal maps with a constant result, and with the same result twice."""

FOLD_OF_VARIANTS = """
def plus [m] (a: #none | #some ([m]i64)) (b: #none | #some ([m]i64)): (#none | #some ([m]i64)) =
  match (a, b)
  case (#none, y) -> y
  case (#some x, #some y) -> #some (map2 (+) x y)
  case (x, _) -> x
entry main [n] (k: i64) (xs: [n]i64): [n]i64 =
  let os =
    map (\\x -> (if x > 0 && k < 20 then #some (map (+ x) (iota k)) else #none)
               : #none | #some ([k]i64))
        xs
  in map (\\o -> match o case #none -> -1 case #some ys -> i64.sum ys) (scan plus #none os)
"""
"""`k` may be too large for an array: that one is made, a check before knows by another size."""

NEGATIVE_NUMBER = """
def made (k: i64) (x: i64): (#none | #some ([k]i64)) =
  if k >= 0 then #some (map (+ x) (iota k)) else #none
def plus [m] (a: #none | #some ([m]i64)) (b: #none | #some ([m]i64)): (#none | #some ([m]i64)) =
  match (a, b)
  case (#none, y) -> y
  case (#some x, #some y) -> #some (map2 (+) x y)
  case (x, _) -> x
entry main [n] (xs: [n]i64): i64 =
  match reduce plus #none (map (made (-3)) xs) case #none -> -1 case #some ys -> i64.sum ys
"""
"""A thread's own array of less than no elements, which nobody comes to make."""

ROW_OF_NONE = """
entry main [n] [m] (k: i64) (c: bool) (a1: [m * n]i64) (a2: [n][m]i64) (a3: *[m][n]i32) =
  let v21 = (tabulate n (\\j12 ->
      let v13 = (a2[k:(2 * k), (m - k - 1)] :> [k]i64)
      in v13))
  let v22 = (tabulate 0 (\\j6 ->
      let v7 = (tabulate k (\\j8 -> 0))
      in v7)) ++ v21 :> [n + m - 1][k]i64
  let part = v22[1:0, 0:k] :> [n + m - 2][k]i64
  let v24 = map (map (\\x23 -> (if (x23 < n) then x23 else a2[0, k]))) part
  let v47 = (replicate 0 (replicate 0 0))
  let v50 = (map (\\x49 -> a2[0, 0]) (v47[0, 0:0] :> [0]i64))
  let v51 = v47 with [(m + 1), :] = v50
  in v51
"""
"""A row of no elements at `m + 1`, which has a name only where a cell depends on it: none does."""

SIZE_OF_A_LATER_CHECK = """
entry main [n] [m] (k: i64) (xs: *[n][m]u16) (ys: [m]i64) =
  let rows = tabulate (k - 1) (\\j ->
    let row = map (\\_ -> u16.i64 ys[m - 1]) ys
    in row with [0:m] = tabulate m (\\_ -> u16.i64 ys[(j + 1) % m]))
  in xs with [0:k - 1, 0::-1] = rows
"""
"""That `m` is 1 is checked behind `rows`, for which a thread block has `m` elements, not one."""

PROGRAMS: dict[str, tuple[str, list[Value]]] = {
    "no points, less than no columns": (NO_POINTS, [np.arange(2), np.arange(4)]),
    "a map that moves": (MAPPED_AWAY, [np.arange(4), np.arange(5, 9)]),
    "a part in place": (PART_IN_PLACE, [np.arange(4), np.arange(5, 9)]),
    "lent to a loop": (LENT_TO_A_LOOP, [np.int64(1), np.arange(9), np.arange(4)]),
    "a name of a name": (A_NAME_OF_A_NAME, [np.int32(1)]),
    "a constant beside": (CONSTANT_BESIDE, [np.arange(2, 5), np.array([2, 0, 1])]),
    "a fold of variants": (FOLD_OF_VARIANTS, [np.int64(1 << 40), np.arange(4)]),
    "a negative number": (NEGATIVE_NUMBER, [np.arange(4)]),
    "a row of none": (
        ROW_OF_NONE,
        [np.int64(0), np.bool_(True), np.arange(6), np.zeros((3, 2), int), np.zeros((2, 3), "i4")],
    ),
    "a size of a later check": (
        SIZE_OF_A_LATER_CHECK,
        [np.int64(3), np.zeros((2, 1), np.uint16), np.array([7])],
    ),
    "sizes of loops": (
        SIZES_OF_LOOPS,
        [np.int64(1), np.bool_(False), np.arange(5, dtype=np.int32), np.arange(5)],
    ),
}
MANNERS = [
    Manner(verified=True, kernels="default"),
    Manner(versions=True),
    Manner(frozenset({"merge"})),
]


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
@pytest.mark.parametrize("manner", MANNERS, ids=["as it is", "all versions", "no merging"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_stages_and_c_agree(name: str, manner: Manner) -> None:
    source, args = PROGRAMS[name]
    assert failure(Generated(0, "main", source, [args]), manner) == ""
