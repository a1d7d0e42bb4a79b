"""Arrays are built in place where that is safe, and nowhere else.

Every program here is run before and after by the heap semantics, which has the race check, and
compared with the value semantics.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from compiler.algebra.disjoint import Unknown
from compiler.algebra.poly import Poly
from compiler.base.context import Options
from compiler.base.names import base_of
from compiler.driver import explanations
from compiler.driver.pipeline import Compilation, verify
from compiler.ir.source_names import Spelling
from compiler.ir.values import Value
from compiler.protocol.polynomials import shown
from compiler.protocol.proofs import AttemptsRequest
from compiler.semantics import heap, interp
from compiler.storage.short_circuit.wording import not_apart
from testing.attempts import attempts, versions
from testing.compiling import different
from testing.generators.programs import program

EXAMPLES = Path(__file__).parents[2] / "app" / "examples"


def outcomes(source: str, **options: object) -> list[tuple[str, int]]:
    """Rule and failed condition (0: done) of every attempt."""
    work = Compilation(source, Options(**options))  # type: ignore[arg-type]
    found = attempts(work.result("funmem").prog, work.options)
    json.dumps(found)
    return [(one["rule"].split("/")[1], one["condition"]) for one in found]


def check(source: str, args: list[Value], **options: object) -> Compilation:
    """All stages with memory give what the program means, without races."""
    work = Compilation(source, Options(**options))  # type: ignore[arg-type]
    flat = work.result("flat").prog
    for thresholds in versions(flat):
        expected = interp.run(flat, "main", args, thresholds=thresholds)
        for stage, prog in different(work, ("funmem", "shortcircuit", "expanded")):
            verify(prog, stage)
            found, _ = heap.run(prog, "main", args, thresholds=thresholds)
            for want, got in zip(expected, found, strict=True):
                assert np.array_equal(want, got, equal_nan=want.dtype.kind == "f"), stage
    return work


def copies(work: Compilation) -> tuple[int, int]:
    """Copies and allocations that are left."""
    counts = work.result("shortcircuit").counts
    return counts["copy"], counts["alloc"]


def ints(*shape: int) -> Value:
    return np.arange(int(np.prod(shape)), dtype=np.int32).reshape(shape)


# --- the examples ---


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("in_place_map", (0, 0)),
        ("anti_diagonal", (0, 0)),
        ("wavefront", (0, 1)),
        ("lu_step", (0, 1)),
        ("blocked_wavefront", (0, 0)),
        ("blocked_lu", (0, 0)),
        ("heat_by_parts", (0, 1)),
        ("concatenation", (0, 1)),
        ("strided_update", (0, 1)),
    ],
)
def test_no_copy_is_left_in_the_examples(name: str, left: tuple[int, int]) -> None:
    source = (EXAMPLES / f"{name}.fut").read_text("utf-8")
    assert all(condition == 0 for _, condition in outcomes(source))
    assert copies(Compilation(source)) == left


def test_the_copies_that_stay_do_so_for_five_reasons() -> None:
    source = (EXAMPLES / "copies_that_stay.fut").read_text("utf-8")
    updates = [condition for rule, condition in outcomes(source) if rule == "update"]
    assert updates == [5, 2, 4, 5, 3]


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ("xss", "Copies `xss`. `xss` comes"),
        ("map (map (+ 1)) xss", "Builds `yss` where its copy lies"),
    ],
)
def test_a_copy_is_not_told_to_lie_in_itself(value: str, says: str) -> None:
    source = f"entry main [n][m] (xss: [n][m]i32) = let yss = {value} in transpose yss"
    work = Compilation(source, Options())
    work.result("shortcircuit")
    told = [one.because for one in work.remarks() if one.rule == "shortcircuit/copy"]
    assert any(one.startswith(says) for one in told), told


def test_a_neighbour_is_built_in_its_row() -> None:
    source = (EXAMPLES / "nearest_neighbours.fut").read_text("utf-8")
    assert ("update", 0) in outcomes(source)


# --- programs that are changed ---

ROW = """
entry main [n][m] (xss: *[n][m]i32) (i: i64): [n][m]i32 =
  let row = map (\\x -> x * 2 + 1) (iota m |> map i32.i64)
  in xss with [i] = row
"""

TRANSPOSED = """
entry main [n][m] (xss: [n][m]i32) (yss: *[m][n]i32): [m][n]i32 =
  let new = map (map (+ 1)) xss
  in yss with [:, :] = transpose new
"""

REVERSED = """
entry main [n] (xs: [n]i32) (ys: *[n]i32): [n]i32 =
  let new = map (* 3) xs
  in ys with [0:n] = new[::-1]
"""

BRANCH = """
entry main [n] (c: bool) (xs: [n]i32) (ys: *[n]i32): [n]i32 =
  let new = if c then map (* 3) xs else scan (+) 0 xs
  in ys with [0:n] = new
"""

CONCATS = """
entry main [n] (xs: [n]i32): []i32 =
  let a = map (+ 1) xs
  let b = scan (+) 0 xs
  in (a ++ b) ++ map (* 2) xs
"""

ROWS = """
entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
  map (\\xs -> loop ys = copy xs for i < m do ys with [i] = ys[i] + ys[0] + i32.i64 i) xss
"""

CARRIED = """
entry main [n] (k: i64) (xs: [n]i32) (out: *[4][n]i32): [4][n]i32 =
  let last = loop ys = map (+ 1) xs for i < k do map (\\y -> y * y % 7 + i32.i64 i) ys
  in out with [2] = last
"""

COMPUTED = """
entry main [n][m] (xss: *[n][m]i32) (i: i64): [n][m]i32 =
  let row = scan (+) 1 (map i32.i64 (iota m))
  in xss with [i / 2 + i % 3] = row
"""

FILLED_LATER = """
entry main [n] (xs: [n]i32) (v: i32): [n]i32 =
  let new = scan (+) 0 xs
  in replicate n v with [0:n] = new
"""

COPIED_LATER = """
entry main [n][m] (xss: [n][m]i32) (i: i64): [n][m]i32 =
  let row = scan (+) 0 xss[i]
  let col = scan (+) 1 (transpose xss)[0]
  let yss = copy xss with [i / 2] = row
  in yss with [:, i / 2] = col
"""

NEIGHBOUR_ROWS = """
entry main [n][m] (xss: *[n][m]i32): [n][m]i32 =
  loop xss for i < n - 1 do
    xss with [i + 1] = map2 (+) xss[i] xss[i + 1]
"""


@pytest.mark.parametrize(
    ("source", "args", "rule", "left"),
    [
        (ROW, [ints(3, 4), np.int64(1)], "update", (0, 0)),
        (TRANSPOSED, [ints(3, 2), ints(2, 3)], "update", (0, 0)),
        (REVERSED, [ints(5), ints(5)], "update", (0, 0)),
        (BRANCH, [np.True_, ints(4), ints(4)], "update", (0, 0)),
        (BRANCH, [np.False_, ints(4), ints(4)], "update", (0, 0)),
        (CONCATS, [ints(3)], "concat", (0, 1)),
        (CARRIED, [np.int64(3), ints(3), ints(4, 3)], "update", (0, 0)),
        (COMPUTED, [ints(3, 2), np.int64(3)], "update", (0, 0)),
        (NEIGHBOUR_ROWS, [ints(4, 3)], "update", (0, 0)),
        (FILLED_LATER, [ints(3), np.int32(7)], "update", (0, 1)),
        (COPIED_LATER, [ints(4, 3), np.int64(2)], "update", (2, 2)),
    ],
)
def test_built_in_place(source: str, args: list[Value], rule: str, left: tuple[int, int]) -> None:
    work = check(source, args)
    assert (rule, 0) in outcomes(source)
    assert copies(work) == left


QUOTIENTS = """
entry main [n] (b: i64) (table: *[n][n]i32): [n][n]i32 =
  let cells = flatten table
  let q = (n - 1) / b
  in unflatten
    (loop cells = assert (n == q * b + 1) cells for i < q do
       let above = lmad_slice_2d cells (i * b) (n * b - b, 1) (i + 1) b
       let new above =
         loop block = replicate b (replicate b 0) for k < b * b do
           block with [k / b, k % b] = above[k % b] + i32.i64 k
       in lmad_update_3d cells (i * b + n + 1) (n * b - b, n, 1) (map new above))
"""


def test_an_index_of_which_only_quotient_and_remainder_matter_is_two() -> None:
    work = check(QUOTIENTS, [np.int64(2), ints(5, 5)])
    assert [rule for rule, failed in outcomes(QUOTIENTS) if failed] == []
    assert copies(work) == (0, 0)


def test_a_name_that_an_attempt_made_up_is_gone_when_it_has_failed() -> None:
    source = """
entry main [n] (xs: *[n]i32) (ys: *[n][n]i32) (zs: [n]i32) (i: i64): ([n]i32, [n][n]i32) =
  let new = scan (+) 0 xs
  let xs = xs with [i / 3 : i / 3 + 1] = new[1:2]
  in (xs, loop ys for k < 2i32 do ys with [i / 3] = scan (+) k zs)
"""
    check(source, [ints(3), ints(3, 3), ints(3), np.int64(4)])
    assert {condition for _, condition in outcomes(source)} >= {0, 2}


def test_a_row_is_built_in_the_kernels_result() -> None:
    check(ROWS, [ints(3, 4)])
    assert ("kernel-result", 0) in outcomes(ROWS)


# --- programs that must not be changed, each for another reason ---

OLD_VALUE = """
entry main [n][m] (xss: *[n][m]i32): ([n][m]i32, i32) =
  let row = map (\\j -> xss[1, j] + 1) (iota m)
  let old = i32.sum xss[0]
  in (xss with [0] = row, old)
"""

PART = """
entry main [n] (xs: [n]i32) (ys: *[n]i32): [n]i32 =
  let new = scan (+) 0 xs
  in ys with [0:2] = new[1:3]
"""

INDEX_FROM_SOURCE = """
entry main [n][m] (xss: *[n][m]i32): [n][m]i32 =
  let row = scan (+) 1 (map i32.i64 (iota m))
  in xss with [i64.i32 row[0] - 1] = row
"""

THREADS_MEET = """
entry main [n] (xs: *[n]i32): *[n]i32 =
  let new = map (\\i -> xs[n - 1 - i] + xs[i]) (iota n)
  in xs with [0:n] = new
"""

USED_AFTERWARDS = """
entry main [n][m] (xss: *[n][m]i32) (j: i64): ([n][m]i32, i32) =
  let row = scan (+) 0 (map i32.i64 (iota m))
  let yss = xss with [0] = row
  in (yss, row[j])
"""

HANDED_ON = """
entry main [n] (xs: [n]i64): ([n][3]i64, [n]i64) =
  unzip (map (\\x ->
    let row = replicate 3 x
    let (_, s) = loop (a, s) = (row, 0) for i < n do (map (+ s) a, s + a[i % 3])
    in (row, s)) xs)
"""

LATER_WRITE = """
entry main [n] (xs: [n]i32) (v: i32): [n]i32 =
  let new = scan (+) 0 xs
  let ys = scan (*) v xs
  in ys with [0:n] = new
"""


REASONS = {
    OLD_VALUE: "`row` would overwrite cell 0, where `xss` is read by `old` with n = 2, m = 1.",
    PART: "Only a part of `new` is copied into the destination, and all of it would not fit.",
    INDEX_FROM_SOURCE: "The destination depends on an element of `row`, which is computed only "
    "after the array.",
    THREADS_MEET: "`new` would overwrite cell 0, where `xs` is read at another point of `new` "
    "with n = 3: written at i = 0 and read at i = 2.",
    USED_AFTERWARDS: "`row` is used again in line 5 after it was copied into its destination.",
    LATER_WRITE: "`new` would overwrite cell 0, where `ys` is written within `ys` "
    "with n = 1, v = -3.",
}


@pytest.mark.parametrize("source", REASONS)
def test_the_reason_is_a_plain_sentence(source: str) -> None:
    found = explanations.attempts(AttemptsRequest(source))["attempts"]
    (because,) = [one["because"] for one in found if one["rule"] == "shortcircuit/update"]
    assert because == REASONS[source]


def test_what_could_not_be_proved_is_told() -> None:
    missing = Poly.var("n_3") - Poly.var("i_7") * 2
    text = not_apart(
        Spelling(base_of).poly,
        "`new`",
        "`xs`",
        "read",
        "after `new`",
        Unknown("", missing),
    )
    assert text == (
        "It is not proved that `new` does not overlap `xs`, which is read after `new`: "
        "that needs -2*i + n >= 0."
    )


def test_names_that_are_alike_are_told_apart() -> None:
    (one,) = attempts(Compilation(SAME_NAME).result("funmem").prog)
    work = Compilation(SAME_NAME)
    work.result("shortcircuit")
    (told,) = [r.because for r in work.remarks() if r.rule == "shortcircuit/kernel-result"]
    assert one["done"]
    assert told == "Every point builds `w` in its row of the new `w`, and nothing is copied."


SAME_NAME = """
entry main [n][m] (xss: [n][m]i32): [n][m]i32 =
  let w = map (\\xs -> let w = scan (+) 0 xs in w) xss
  in w
"""


@pytest.mark.parametrize(
    ("source", "args", "outcome"),
    [
        (OLD_VALUE, [ints(3, 4)], ("update", 5)),
        (PART, [ints(4), ints(4)], ("update", 2)),
        (INDEX_FROM_SOURCE, [ints(3, 4)], ("update", 4)),
        (THREADS_MEET, [ints(5)], ("update", 5)),
        (USED_AFTERWARDS, [ints(3, 4), np.int64(2)], ("update", 3)),
        (LATER_WRITE, [ints(3), np.int32(7)], ("update", 5)),
        (HANDED_ON, [np.arange(4)], ("kernel-result", 3)),
    ],
)
def test_left_alone(source: str, args: list[Value], outcome: tuple[str, int]) -> None:
    work = check(source, args)
    assert outcome in outcomes(source)
    assert work.result("shortcircuit").counts["copy"] == work.result("funmem").counts["copy"] > 0


NOT_UNIQUE = "entry main [n] (xs: [n]i32): [n]i32 = map (+ 2) xs"
REVERSED_READ = """
entry main [n] (xs: *[n]i32): *[n]i32 = map (\\i -> xs[i] - xs[n - 1 - i]) (iota n)
"""
USED_LATER = """
entry main [n] (xs: *[n]i32): ([n]i32, i32) = (map (+ 2) xs, i32.sum xs)
"""


@pytest.mark.parametrize("source", [NOT_UNIQUE, REVERSED_READ, USED_LATER])
def test_a_map_that_does_not_overwrite_its_argument(source: str) -> None:
    work = check(source, [ints(5)])
    assert ("in-place-map", 0) not in outcomes(source)
    assert work.result("shortcircuit").counts["alloc"] == 1


# --- checks and options ---

OUT_OF_BOUNDS = ROW


def test_the_check_of_an_index_comes_before_the_array_is_built() -> None:
    work = Compilation(OUT_OF_BOUNDS)
    args = [ints(3, 4), np.int64(3)]
    with pytest.raises(Exception, match="out of bounds"):
        heap.run(work.result("shortcircuit").prog, "main", args)


@pytest.mark.parametrize("rule", ["shortcircuit", "shortcircuit/update"])
def test_it_can_be_switched_off(rule: str) -> None:
    work = check(ROW, [ints(3, 4), np.int64(1)], disabled=frozenset((rule,)))
    assert work.result("shortcircuit").prog is work.result("funmem").prog


def test_an_attempt_tells_what_it_did() -> None:
    source = (EXAMPLES / "anti_diagonal.fut").read_text("utf-8")
    (one,) = attempts(Compilation(source).result("funmem").prog)
    assert one["done"]
    assert [shown(size, base_of) for size in one["copied"]] == ["4*n"]
    assert one["copied"] == one["allocated"]
    assert len(one["obligations"]) == 2
    for obligation in one["obligations"]:
        assert obligation["verdict"] == "disjoint"
        assert obligation["checked"]
        assert obligation["steps"]


def test_a_failure_shows_the_cell() -> None:
    (one,) = attempts(Compilation(THREADS_MEET).result("funmem").prog)[:1]
    assert not one["done"]
    assert one["obligations"][-1]["verdict"] == "overlap"
    assert one["obligations"][-1]["witness"]["values"]
    assert "would overwrite cell" in one["because"]


def test_the_author_is_told() -> None:
    work = Compilation(PART)
    work.result("shortcircuit")
    found = [r for r in work.remarks() if r.rule == "shortcircuit/update"]
    assert [r.kind for r in found] == ["missed"]
    assert "Only a part" in found[0].because


@pytest.mark.parametrize("seed", range(5000, 5030))
def test_random_programs_keep_their_meaning(seed: int) -> None:
    made = program(seed, 8)
    check(made.source, made.inputs)


SOMETIMES = """
entry main [n] (xs: *[n]i32) (c: bool): ([n]i32, i32) =
  let new = scan (+) 0 (map i32.i64 (iota n))
  let old = if n > 5 && c then xs[0] else 0
  in (xs with [0:n] = new, old)
"""


def test_a_witness_gets_into_the_branch_that_needs_it() -> None:
    check(SOMETIMES, [ints(7), np.True_])
    (said,) = [a["because"] for a in attempts(Compilation(SOMETIMES).result("funmem").prog)]
    assert said == "`new` would overwrite cell 0, where `xs` is read by `old` with n = 6."
