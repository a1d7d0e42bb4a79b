"""Ways out that refusals offer: pasted into the program, they do what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.proofs import attempt_view
from compiler.driver import explanations
from compiler.driver.pipeline import Compilation
from compiler.ir.values import Value
from compiler.protocol.proofs import AttemptsRequest
from compiler.semantics import interp

OLD = """
entry main [n] (xs: *[n]i32) (zs: [2]i32) (k: i64): (*[n]i32, i32) =
  let new = map (+ 1) zs
  let old = xs[k]
  in (xs with [0:2] = new, old)
"""

SAME_LINE = """
entry main [n] (xs: *[n]i32) (zs: [2]i32) (k: i64): (*[n]i32, i32) = let new = map (+ 1) zs
  let old = xs[k] in (xs with [0:2] = new, old)
"""

HOSTILE = """
entry main [n_1] (map': *[n_1]i32) (t_2: [2]i32) (k': i64): (*[n_1]i32, i32) =
  -- A comment, then the body.
  let new = map (+ 1) t_2
  let old = map'[k']
  in (map' with [0:2] = new, old)
"""

PAIRS = """
entry main [n] (xs: *[n]i32) (a: i64) (b: i64): *[n]i32 =
  let new = tabulate 3 (\\i -> xs[a + i])
  in xs with [b:b + 3] = new
"""

NOTHING = """
entry main [n] (xs: *[n]i32): *[n]i32 =
  let new = map (\\i -> xs[i] + xs[n - 1 - i]) (iota n)
  in xs with [0:n] = new
"""


def attempts(source: str) -> list[dict[str, Any]]:
    """The updates of the program."""
    found: list[dict[str, Any]] = explanations.attempts(AttemptsRequest(source))["attempts"]
    return [one for one in found if one["rule"] == "shortcircuit/update"]


def pasted(source: str, way_out: dict[str, Any]) -> str:
    """The program with what is to be inserted."""
    lines = source.split("\n")
    line, at = way_out["line"] - 1, way_out["col"] - 1
    lines[line] = lines[line][:at] + way_out["text"] + lines[line][at:]
    return "\n".join(lines)


def results(source: str, args: list[Value]) -> list[Value]:
    return interp.run(Compilation(source).result("shortcircuit").prog, "main", args)


@pytest.mark.parametrize("source", [OLD, SAME_LINE, HOSTILE])
def test_what_is_offered_makes_the_copy_disappear(source: str) -> None:
    (refused,) = attempts(source)
    assert not refused["done"]
    assert refused["way_out"] is not None
    changed = pasted(source, refused["way_out"])
    (made,) = attempts(changed)
    assert made["done"]
    assert made["way_out"] is None
    given = [np.arange(9, dtype=np.int32), np.array([7, 8], np.int32), np.int64(3)]
    for want, got in zip(results(source, given), results(changed, given), strict=True):
        assert np.array_equal(want, got)


def test_the_check_is_the_inequality_that_was_missing() -> None:
    (one,) = attempts(OLD)
    assert one["way_out"]["text"].startswith("let xs = assert (k >= 2) xs in")


def test_two_parts_can_be_told_apart_by_a_check() -> None:
    (one,) = attempts(PAIRS)
    if one["way_out"] is not None:
        (made,) = attempts(pasted(PAIRS, one["way_out"]))
        assert made["done"]


def test_nothing_is_offered_where_nothing_helps() -> None:
    (one,) = attempts(NOTHING)
    assert not one["done"]
    assert one["way_out"] is None


def test_a_check_that_no_run_passes_is_no_way_out() -> None:
    """`k >= 2` would prove it, and the program stops for all such values."""
    source = OLD.replace("let old = xs[k]", "let old = xs[assert (k < 2) k]")
    (one,) = attempts(source)
    assert one["way_out"] is None or "k >= 2" not in one["way_out"]["text"]


def test_a_link_shows_it_as_well() -> None:
    (one,) = attempts(OLD)
    view = attempt_view(one)
    assert "`let xs = assert (k >= 2) xs in`" in view.hint
    (none,) = attempts(NOTHING)
    assert attempt_view(none).hint == "No change to the program is known to avoid this."


def test_nothing_is_inserted_into_an_imported_file() -> None:
    """What is offered goes into the program itself, wherever the refused attempt is."""
    put = "\n" * 30 + OLD.replace("entry main", "def put")
    source = """import "lib/put"
entry main [n] (ys: *[n]i32) (zs: [2]i32) (j: i64): (*[n]i32, i32) =
  put ys zs j
"""
    files = {"lib/put.fut": put}
    found = explanations.attempts(AttemptsRequest(source, files=files))["attempts"]
    (refused,) = [one for one in found if one["rule"] == "shortcircuit/update"]
    assert refused["src"][0] == [35, 7, 35, 26, "lib/put.fut"]
    change = refused["way_out"]
    assert change is not None
    again = explanations.attempts(AttemptsRequest(pasted(source, change), files=files))["attempts"]
    (made,) = [one for one in again if one["rule"] == "shortcircuit/update"]
    assert made["done"]
