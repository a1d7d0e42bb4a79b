"""What reasons call arrays: by the author's names, however these are spelt."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.algebra.poly import Poly
from compiler.base.names import NameSource
from compiler.driver import explanations
from compiler.ir.source_names import Spelling
from compiler.protocol.proofs import AttemptsRequest

HOSTILE = [
    *("a", "r", "x", "t", "n", "i", "k", "s", "res", "res0", "mem", "out", "arg", "lit", "cat"),
    *("scan", "map", "red", "hist", "rep", "range", "row_el", "xs_part", "t_1", "map_12", "xs_mem"),
    *("row'", "array", "part", "at", "n_3"),
]
"""Names that the compiler gives to what has none, or that look so."""

KEPT = """
entry main [n0] (xss: *[n0][n0]i32) (j: i64): ([n0][n0]i32, i32) =
  let NAME = scan (+) 0 (map i32.i64 (iota n0))
  let new = xss with [0] = NAME
  in (new, NAME[j])
"""

READ = """
entry main [n0] (NAME: *[n0]i32): *[n0]i32 =
  let new = tabulate n0 (\\j -> NAME[n0 - 1 - j] + NAME[j])
  in NAME with [0:n0] = new
"""

PAIRS = """
entry main [n0] (xss: *[n0][n0]i32) (j: i64): ([n0][n0]i32, (i32, i64)) =
  let scan = scan (\\(a, b) (c, d) -> (a + c, b * d)) (0, 1) (map (\\i -> (i32.i64 i, i)) (iota n0))
  let new = xss with [0] = map (.0) scan
  in (new, scan[j])
"""

NAMELESS = """
entry main [n0] (xss: *[n0][n0]i32): *[n0][n0]i32 =
  xss with [0] = map (\\j -> xss[0, n0 - 1 - j] + xss[0, j]) (iota n0)
"""


def told(source: str) -> list[dict[str, Any]]:
    """The attempts that failed."""
    answer = explanations.attempts(AttemptsRequest(source))
    return [one for one in answer["attempts"] if not one["done"]]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_name_of_the_author_is_said_as_it_is(name: str) -> None:
    (kept,) = [one for one in told(KEPT.replace("NAME", name)) if one["condition"] == 3]
    assert kept["because"].startswith(f"`{name}` is used again")
    read = [one["because"] for one in told(READ.replace("NAME", name)) if one["condition"] == 5]
    assert any(f"where `{name}` is read" in because for because in read)


def test_what_has_no_name_is_told_by_what_it_is() -> None:
    said = [one["because"] for one in told(NAMELESS) if one["condition"] == 5]
    assert said
    assert all(text.startswith("The result of the map in line 3 would") for text in said)


def test_names_know_whose_they_are() -> None:
    names = NameSource(authors={})
    scan, made = names.authored("scan", "scan'"), names.fresh("scan")
    assert names.said(scan) == "scan'"
    assert names.said(made) is None
    assert names.said(names.fresh(scan)) == "scan'"
    assert names.said(names.fresh(made)) is None
    other = names.fork(100)
    assert other.said(scan) == "scan'"
    assert names.said(other.authored("map", "map")) is None


def test_parts_of_a_tuple_are_told_by_its_name() -> None:
    (kept,) = [one for one in told(PAIRS) if one["condition"] == 3]
    assert kept["because"].startswith("`scan` is used again")


INNER_SIZE = """
def put [n] (xs: [n]i32): [n + 1]i32 =
  let m = n + 1
  let row = scan (+) 0 (map (\\i -> i32.i64 i) (iota m))
  in map2 (+) (row :> [n + 1]i32) (xs ++ [1] :> [n + 1]i32)

entry main [n] (xs: [n]i32): [][]i32 = [put xs, put (map (+ 1) xs)]
"""

TWO_OF_A_NAME = """
def filled (n: i64) (v: i64): []i64 = scan (+) v (iota n)

entry main (n: i64) (is: []i64): [][]i64 =
  map (\\i -> let m = filled (i % 7) i in replicate 10 0 with [0:i % 7] = m) is
"""


@pytest.mark.parametrize("source", [INNER_SIZE, TWO_OF_A_NAME])
def test_bytes_are_in_names_of_the_program_or_in_others(source: str) -> None:
    """What is copied is what is allocated; an inner size is not called as an outer one is."""
    for one in explanations.attempts(AttemptsRequest(source))["attempts"]:
        if one["done"] and one["copied"] and one["allocated"]:
            assert one["copied"] == one["allocated"]


def test_an_inner_size_has_a_name_of_its_own() -> None:
    spell = Spelling({"n_1": "n", "n_7": "n", "x_2": "x'"}.get, ["n_1"])
    n, inner, x, other = map(Poly.var, ("n_1", "n_7", "x_2", "t_9"))
    assert spell.poly(4 * inner + n - x) == "n + 4*n₂ - x'"
    assert spell.number("n_7") == "n₂"
    spell.stands_for("(t_9)/(n_1)", ("/", other, n))
    assert spell.poly(Poly.var("(t_9)/(n_1)")) == "t / n"


def test_names_with_digits_are_shown_as_they_were_written() -> None:
    source = (
        "entry main [n] (xs_07: *[n][n]i32) (i_1: i64) (ys_3: [n]i32): *[n][n]i32 =\n"
        " let zs_5 = map (+ 1) ys_3 in xs_07 with [i_1] = zs_5"
    )
    (attempt,) = explanations.attempts(AttemptsRequest(source))["attempts"]
    assert {"i_1", "zs_5", "n"} <= set(attempt["names"].values())
    assert not {"i", "zs"} & set(attempt["names"].values())
