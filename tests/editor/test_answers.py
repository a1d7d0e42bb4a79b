"""The editor's questions over the worker's protocol."""

from __future__ import annotations

from typing import Any

from compiler.driver.worker import answer

SUMS = "def total [n] (xs: [n]i32): i32 = reduce (+) 0 xs\n"
MAIN = 'import "sums"\nentry main (xs: []i32) = total xs\n'
PROGRAM = {"source": MAIN, "main": "main.fut", "files": {"sums.fut": SUMS}}


def ask(op: str, **more: Any) -> dict[str, Any]:
    return answer({"op": op, **PROGRAM, **more})


def test_a_place_in_any_file_of_a_program() -> None:
    here = {"declared": [1, 5, 1, 10, "sums.fut"],
            "uses": [[2, 26, 2, 31], [1, 5, 1, 10, "sums.fut"]]}  # fmt: skip
    found = ask("inspect", line=2, column=28)
    assert found["says"] == "def total [n] (xs: [n]i32): i32"
    assert found["span"] == [2, 26, 2, 31]
    assert {key: found[key] for key in here} == here
    found = ask("inspect", file="sums.fut", line=1, column=6)
    assert found["span"] == [1, 5, 1, 10, "sums.fut"]
    assert {key: found[key] for key in here} == here
    assert ask("inspect", line=2, column=1)["says"] == ""


def test_names_change_in_all_files() -> None:
    found = ask("rename", line=2, column=28, name="sum_of")
    assert found["edits"] == [
        {"span": [2, 26, 2, 31], "text": "sum_of"},
        {"span": [1, 5, 1, 10, "sums.fut"], "text": "sum_of"},
    ]
    found = ask("rename", line=2, column=28, name="in")
    assert found["error"]["message"] == "`in` is a word of the language."


def test_changes_that_mend_an_error() -> None:
    wrong = {"source": MAIN.replace("total xs", "totl xs")}
    (error,) = answer({"op": "check", **PROGRAM, **wrong})["error"]["errors"] or [{}]
    line, column, end_line, end_column = error["span"][:4]
    place = {"line": line, "column": column, "end_line": end_line, "end_column": end_column}
    found = ask("fixes", **wrong, **place, hint=error["hint"])
    assert found["fixes"] == [
        {"title": "Change to `total`", "edits": [{"span": error["span"], "text": "total"}]}
    ]
    assert ask("fixes", **wrong, **place, hint="Think again.")["fixes"] == []


def test_completion_outline_and_layout() -> None:
    found = ask("complete", line=2, column=28)
    assert found["column"] == 26
    assert {
        "doc": "",
        "name": "total",
        "kind": "function",
        "says": "def total [n] (xs: [n]i32): i32",
    } in found["items"]
    found = ask("outline")
    assert found["symbols"] == [
        {"name": "main", "kind": "function", "span": [2, 7, 2, 11], "depth": 0}
    ]
    assert answer({"op": "format", "source": "def x=1"})["text"] == "def x = 1\n"
    assert answer({"op": "format", "source": "def x="})["error"]["span"] == [1, 7, 1, 7]


def test_a_file_that_is_not_there_is_named() -> None:
    assert "no file `b.fut`" in ask("inspect", file="b.fut")["error"]["message"]


FILTERS = """\
entry main [n] (xs: [n]i32): ([]i32, []i32) =
  let as = filter (> 0) xs
  let bs = map (+ 1) (filter (< 9) xs)
  let [k] (cs: [k]i32) = filter (< 9) xs
  let pair = {left = as, right = xs}
  in (as, concat bs (concat cs pair.left))
"""


def test_sizes_that_have_no_name_are_left_out_of_types() -> None:
    """Two filters do not seem to give arrays of one size."""
    lines = FILTERS.splitlines()
    for line, name, says in (
        (2, "as", "as: []i32"),
        (3, "bs", "bs: []i32"),
        (4, "cs", "cs: [k]i32"),
        (5, "pair", "pair: {left: []i32, right: [n]i32}"),
        (6, "bs", "bs: []i32"),
    ):
        at = {"line": line, "column": lines[line - 1].index(name) + 1}
        assert answer({"op": "inspect", "source": FILTERS, **at})["says"] == says
