"""Programs as unkind as those that the thesis measures: built in place for both targets.

The side of a table is the root of its length, blocks are filled along diagonals, a block is the
only element of an array of a size that is hidden, and all cells together fit where one row does.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from compiler.algebra import checker
from compiler.base.context import Options
from compiler.base.errors import RuntimeError_
from compiler.driver import explanations
from compiler.driver.pipeline import Compilation, verify
from compiler.ir.values import Value
from compiler.protocol.proofs import CertificateRequest
from compiler.semantics import heap
from tests.storage.test_short_circuit import check

WAVES = """
-- Blocks along diagonals of a square table whose side is the root of its length.
def cells [b] (gap: i32) (above: [b + 1]i32) (before: [b]i32) (similar: [b][b]i32): [b][b]i32 =
  let block = replicate (b + 1) (replicate (b + 1) 0)
  let block = block with [0] = above
  let block = block with [1:, 0] = before
  let best (block: [b + 1][b + 1]i32) (r: i64) (c: i64) =
    i32.max (block[r - 1, c - 1] + similar[r - 1, c - 1])
            (i32.max block[r - 1, c] block[r, c - 1] - gap)
  let block =
    loop block for d < 2 * b - 1 do
      let at k = (d - k + 1, k + 1)
      let is_in k = k <= d && d - k < b
      let places = map (\\k -> if is_in k then at k else (-1, -1)) (iota b)
      let values = map (\\k -> if is_in k then best block (at k).0 (at k).1 else 0) (iota b)
      in scatter_2d block places values
  in block[1:, 1:] :> [b][b]i32

entry main [l] (gap: i32) (similar: [l]i32) (table: *[l]i32): *[l]i32 =
  let b = 4
  let n = i64.f64 (f64.sqrt (f64.i64 l))
  let q = assert ((n - 1) % b == 0 && n > 2 * b) (n - 1) / b
  let next = n * b - b
  let wave (start: i64) (count: i64) (table: *[l]i32): *[l]i32 =
    let above = lmad_slice_2d table start (next, 1) count (b + 1)
    let before = lmad_slice_2d table (start + n) (next, n) count b
    let parts = lmad_slice_3d similar (start + n + 1) (next, n, 1) count b b
    let blocks = #[incremental_flattening(only_intra)] map3 (cells gap) above before parts
    in lmad_update_3d table (start + n + 1) (next, n, 1) blocks
  let table = loop table for i < q do wave (i * b) (i + 1) table
  in loop table for i < q - 1 do wave (((i + 1) * b + 1) * n - b - 1) (q - 1 - i) table
"""

BLOCKS = """
-- The blocks of a matrix, step by step: a diagonal one, those beside it, and those inside.
def diagonal [b] (block: [b][b]f32): *[b][b]f32 =
  let one = opaque 1
  let step (m: *[b][b]f32) (i: i64): *[b][b]f32 =
    let low = map (\\r -> if r > i then m[r, i] / m[i, i] else m[r, i]) (iota b)
    let m = m with [:, i] = low
    let new r c = if r > i && c > i then m[r, c] - m[r, i] * m[i, c] else m[r, c]
    in tabulate_2d b b new
  let alone = unflatten (block :> [one * b][b]f32)
  in head (map (\\m -> loop m = copy m for i < b do step m i) alone)

def beside [m] [b] (diag: [b][b]f32) (blocks: [m][b][b]f32): *[m][b][b]f32 =
  map (map (\\row -> loop row = copy row for j < b do
                      let sum = loop sum = 0 for k < j do sum + diag[k, j] * row[k]
                      in row with [j] = (row[j] - sum) / diag[j, j]))
      blocks

def above [m] [b] (diag: [b][b]f32) (blocks: [m][b][b]f32): *[m][b][b]f32 =
  map (\\block -> transpose (map (\\col -> loop col = copy col for i < b do
                                   let sum = loop sum = 0 for k < i do sum + diag[i, k] * col[k]
                                   in col with [i] = col[i] - sum)
                                (transpose block)))
      blocks

def inside [m] [b] (left: [m][b][b]f32) (top: [m][b][b]f32) (blocks: [m][m][b][b]f32) =
  map2 (\\row left -> map2 (\\block top ->
          let els els l = map2 (\\el t -> el - f32.sum (map2 (*) l t)) els (transpose top)
          in map2 els block left)
        row top)
       blocks left

entry main [q] (blocks: *[q][q][4][4]f32): *[q][q][4][4]f32 =
  let blocks = loop blocks for s < q - 1 do
    let diag = diagonal blocks[s, s]
    let top = above diag blocks[s, s + 1:q]
    let left = opaque (beside diag blocks[s + 1:q, s])
    let rest = inside left top blocks[s + 1:q, s + 1:q]
    let blocks = blocks with [s, s] = diag
    let blocks = blocks with [s, s + 1:q] = top
    let blocks = blocks with [s + 1:q, s] = left
    in blocks with [s + 1:q, s + 1:q] = rest
  in blocks with [q - 1, q - 1] = diagonal blocks[q - 1, q - 1]
"""

TARGETS = ("c", "cuda")


def updates(source: str, target: str, of: str) -> tuple[int, list[str]]:
    """Of the updates of an array, how many are built in their places, and why the others are not.

    With the guards of slices, which must all be proved.
    """
    work = Compilation(source, Options(target=target))
    work.result("shortcircuit")
    told = [one for one in work.remarks() if one.rule == "shortcircuit/update"]
    told = [one for one in told if f"in its place in `{of}`" in one.because.replace("into", "in")]
    guards = [one for one in work.remarks() if one.rule == "shortcircuit/guard"]
    left = [one.because for one in (*told, *guards) if one.kind != "applied"]
    return sum(one.kind == "applied" for one in told), left


@pytest.mark.parametrize("target", TARGETS)
def test_both_halves_of_the_waves_are_built_in_the_table(target: str) -> None:
    assert updates(WAVES, target, "table") == (2, [])


@pytest.mark.parametrize("target", TARGETS)
def test_all_that_a_step_computes_is_built_in_the_matrix(target: str) -> None:
    assert updates(BLOCKS, target, "blocks") == (5, [])


@pytest.mark.parametrize("source", [WAVES, BLOCKS])
def test_the_checker_follows_every_proof(source: str) -> None:
    made = explanations.certificate(CertificateRequest(source))["certificate"]
    assert list(checker.verify(checker.read(json.dumps(made).encode())))


@pytest.mark.parametrize("target", TARGETS)
def test_waves_mean_the_same(target: str) -> None:
    rng = np.random.default_rng(1)
    args: list[Value] = [rng.integers(-3, 4, 13 * 13).astype(np.int32) for _ in range(2)]
    check(WAVES, [np.int32(1), *args], target=target)


@pytest.mark.parametrize("target", TARGETS)
def test_steps_mean_the_same(target: str) -> None:
    blocks = np.random.default_rng(2).integers(1, 5, (2, 2, 4, 4)).astype(np.float32)
    for k in range(2):
        blocks[k, k] += 40 * np.eye(4, dtype=np.float32)
    check(BLOCKS, [blocks], target=target)


def test_a_part_of_more_than_one_row_is_still_a_part() -> None:
    """Only an array of one row goes as a whole where its first row goes."""
    source = """
entry main [n] [m] (xs: [n][m]i32) (ys: *[m]i32): *[m]i32 =
  let new = map (map (+ 1)) (take {rows} xs)
  in ys with [:] = new[0]"""
    assert updates(source.format(rows=1), "c", "ys") == (1, [])
    assert updates(source.format(rows=2), "c", "ys")[0] == 0


JOINED = """
entry main [n] (xs: [n]i32): *[6]i32 =
  let both = concat (map (+ 3) xs) [1, 2]
  in copy (flatten (unflatten (both :> [2 * 3]i32)) :> [6]i32)
"""


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_as_large_as_its_place_only_by_a_check_comes_behind_the_check(target: str) -> None:
    """The copy has six cells; a part of what is copied has as many as there are elements."""
    work = check(JOINED, [np.arange(4, dtype=np.int32)], target=target)
    prog = work.result("shortcircuit").prog
    verify(prog, "shortcircuit")
    with pytest.raises(RuntimeError_, match="cannot match shape"):
        heap.run(prog, "main", [np.arange(10, dtype=np.int32)])
