"""What reasons call arrays: by the author's names, however these are spelt."""

from __future__ import annotations

from typing import Any

import pytest

from compiler import api
from compiler.base.names import NameSource

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
    answer = api.attempts(source, {})
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
    other = names.fork()
    assert other.said(scan) == "scan'"
    assert names.said(other.authored("map", "map")) is None


def test_parts_of_a_tuple_are_told_by_its_name() -> None:
    (kept,) = [one for one in told(PAIRS) if one["condition"] == 3]
    assert kept["because"].startswith("`scan` is used again")
