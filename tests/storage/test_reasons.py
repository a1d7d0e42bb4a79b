"""What refusals say to the author: what stands in the way, and what can be done about it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.driver import explanations
from compiler.driver.pipeline import Compilation
from compiler.explain import validity
from compiler.protocol.proofs import AttemptsRequest
from compiler.semantics import heap, interp

LIVING = """
entry main [k] [n] (inputsets: [k][n]i32) (ys: *[k][n]i32) (i: i64): (*[k][n]i32, i32) =
  let row = inputsets[i]
  let ys = ys with [0] = row
  in (ys, i32.sum inputsets[0])
"""

COPIED = """
def fill [n] (xs: *[n]i32): *[n]i32 = xs with [0] = 7

entry main [n] (v: [n]i32): ([n]i32, [n]i32) =
  let matb = scan (+) 1 v
  let changed = fill (copy matb)
  in (changed, matb)
"""

AFTERWARDS = """
entry main [n] [m] (xss: *[n][m]i32) (j: i64): (*[n][m]i32, i32) =
  let row = scan (+) 0 (map i32.i64 (iota m))
  let yss = xss with [0] = row
  in (yss, row[j])
"""

AND_MORE = """
entry main [n] [m] (xss: *[n][m]i32) (j: i64): (*[n][m]i32, i32) =
  let row = scan (+) 0 (map i32.i64 (iota m))
  let old = xss[0, j]
  let yss = xss with [0] = row
  in (yss, row[j] + old)
"""

COUNTED = """
entry main [n] [m] (xs: *[m]i32) (ys: [n]i32): *[m]i32 =
  let (xs, _) =
    loop (xs: *[m]i32, blk) = (xs, n) while blk < 3 * n do
      let part = map2 (\\i y -> xs[i] + y) (iota n) ys
      in (xs with [blk:blk + n] = part, blk + n)
  in xs
"""

READ_HERE = """
entry main [n] (xs: [n]i32): [n]i32 = map (+ 1) xs
"""

READ_THERE = """
entry main [n] (xs: [n]i32): [n]i32 = map (\\i -> xs[i] + xs[n - 1 - i]) (iota n)
"""


def refused(source: str, rule: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = explanations.attempts(AttemptsRequest(source))["attempts"]
    return [one for one in found if one["rule"] == f"shortcircuit/{rule}" and not one["done"]]


def test_a_slice_of_an_array_that_lives_on_has_to_be_copied() -> None:
    (one,) = refused(LIVING, "update")
    assert "`inputsets`, which comes from the caller" in one["because"]
    assert "in line 5" in one["because"]
    assert "must be copied" in one["because"]
    assert "memory" not in one["because"]
    assert one["hint"] == ""
    assert one["way_out"] is None


def test_a_copy_of_what_is_used_again_is_told_where_and_no_more() -> None:
    for one in refused(COPIED, "copy"):
        assert "instead of" not in one["hint"]


def test_what_is_used_afterwards_could_be_read_from_the_result() -> None:
    (one,) = refused(AFTERWARDS, "update")
    assert "`row` is used again in line 5" in one["because"]
    assert one["hint"] == "Use the part of the result instead of `row`."
    changed = AFTERWARDS.replace("row[j]", "yss[0, j]")
    assert refused(changed, "update") == []
    for args in ([np.ones((2, 3), np.int32), np.int64(1)],):
        want, got = (
            interp.run(Compilation(text).result("merged").prog, "main", args)
            for text in (AFTERWARDS, changed)
        )
        assert all(np.array_equal(a, b) for a, b in zip(want, got, strict=True))


def test_that_is_not_said_where_it_would_not_be_enough() -> None:
    (one,) = refused(AND_MORE, "update")
    assert one["condition"] == 3
    assert one["hint"] == "No change to the program is known to avoid this."
    assert refused(AND_MORE.replace("row[j] +", "yss[0, j] +"), "update")


def test_a_counter_of_a_while_loop_is_told_to_be_unbounded() -> None:
    said = " ".join(one["because"] for one in refused(COUNTED, "update"))
    assert "Nothing bounds `blk`, which the loop in line 4 changes as long as a condition" in said


def test_a_unique_type_is_proposed_where_it_helps() -> None:
    (one,) = refused(READ_HERE, "in-place-map")
    assert one["hint"] == "Give it a unique type, `xs: *[]..`, to allow reuse."
    assert refused(READ_HERE.replace("xs: [n]", "xs: *[n]"), "in-place-map") == []


def test_a_unique_type_is_not_proposed_where_it_does_not() -> None:
    for one in refused(READ_THERE, "in-place-map"):
        assert one["hint"] == "No change to the program is known to avoid this."
    changed = READ_THERE.replace("xs: [n]", "xs: *[n]")
    assert all(not one["done"] for one in refused(changed, "in-place-map"))


@pytest.mark.parametrize(
    ("read", "written", "given"),
    [
        ("l:n", "l:n", "(l: i64)"),
        ("l:", "l:", "(l: i64)"),
        (":l", ":l", "(l: i64)"),
        ("h:2 * h", "h:2 * h", ""),
        ("0:h", "h:2 * h", ""),
        ("n - h:n", "0:h", ""),
        ("t:2 * t", "2 * t:3 * t", ""),
        ("k:l", "k:l", "(k: i64) (l: i64)"),
    ],
)
def test_a_part_is_changed_in_its_place(read: str, written: str, given: str) -> None:
    source = f"""
entry main [n] (a: *[n]i64) {given} =
  let h = n / 2
  let t = n / 3
  let v = map (+ (h + t)) a[{read}]
  in a with [{written}] = v
"""
    assert refused(source, "update") == []


CHOSEN = """
entry main [n] (a: *[n]i64) (f: bool) =
  let h = n / 2
  let v = map (\\i -> a[if f then i else h + i] + 1) (iota h)
  in a with [0:h] = v
"""


def test_either_side_of_a_chosen_index_is_read() -> None:
    assert refused(CHOSEN, "update") == []
    (one,) = refused(CHOSEN.replace("h + i", "h - 1 - i"), "update")
    assert one["refusal"] == "not-apart"
    work = Compilation(CHOSEN)
    for flag in (True, False):
        args = [np.arange(7), np.bool_(flag)]
        expected = interp.run(work.result("funmem").prog, "main", args)
        found, _ = heap.run(work.result("shortcircuit").prog, "main", args)
        assert validity.compare(found, expected)["valid"]


def test_any_element_is_said_only_where_each_is_used() -> None:
    """A sum of two numbers that are given may wrap: which cells are read is not known."""
    source = """
entry main [n] (a: *[n]i64) (k: i64) (l: i64) =
  let v = tabulate n (\\i -> if 0 <= i + l * k && i + l * k < n then a[i + l * k] else i)
  in a with [0:n] = v
"""
    (one,) = refused(source, "update")
    assert one["refusal"] == "unknown-cells" or one["witness"] is not None
    assert "Any element" not in one["because"]
