"""Sum types as constructors against slots, as they are in the memory of runs."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.driver import worker
from compiler.driver.pipeline import Compilation
from compiler.lower.components import components


def sums(source: str) -> list[dict[str, Any]]:
    answer = worker.answer({"op": "sums", "source": source})
    assert answer["ok"], answer
    found: list[dict[str, Any]] = answer["sums"]
    return found


SHAPES = """type shape = #circle f32 | #box f32 f32 | #none | #points [2]i32
def area (s: shape): f32 =
  match s
  case #circle r -> r * r
  case #box a b -> a * b
  case #none -> 0
  case #points p -> f32.i32 p[0]
entry main (xs: []f32) = map (\\x -> area (if x > 0 then #circle x else #box x 1)) xs
"""


def test_constructors_share_slots_of_the_same_type() -> None:
    (shape,) = sums(SHAPES)
    assert shape["slots"] == ["f32", "f32", "[2]i32"]
    assert [(one["name"], one["tag"], one["holds"]) for one in shape["constructors"]] == [
        ("#box", 0, ["1: f32", "2: f32", ""]),
        ("#circle", 1, ["1: f32", "", ""]),
        ("#none", 2, ["", "", ""]),
        ("#points", 3, ["", "", "1: [2]i32"]),
    ]
    assert "bytes" not in shape
    lines = SHAPES.splitlines()
    for one in shape["constructors"]:
        for line, start, _, _ in one["src"]:
            assert lines[line - 1][start - 1 :].startswith(one["name"])
    assert [len(one["src"]) for one in shape["constructors"]] == [2, 2, 1, 1]


@pytest.mark.parametrize(
    ("source", "slots", "taken"),
    [
        ("entry main (x: i32) = x", None, None),
        ("entry main (x: i32) = match (#some x: #some i32) case #some y -> y", ["i32"], (5, 5)),
        (
            "type t = #a i64 | #b i64 i8 | #c\n"
            "entry main (x: i64) = match (if x > 0 then #a x else #b x 1: t)"
            " case #a y -> y case #b y _ -> y case #c -> 0",
            ["i64", "i8"],
            (10, 18),
        ),
        (
            "type t = #a (i32, bool) | #b bool\n"
            "entry main (x: i32) = match (if x > 0 then #a (x, true) else #b false: t)"
            " case #a (y, _) -> y case #b _ -> 0",
            ["i32", "bool"],
            (6, 7),
        ),
    ],
)
def test_bytes_of_values(
    source: str, slots: list[str] | None, taken: tuple[int, int] | None
) -> None:
    found = sums(source)
    assert [one["slots"] for one in found] == ([] if slots is None else [slots])
    assert [(one["bytes"], one["apart"]) for one in found] == ([] if taken is None else [taken])


def test_as_many_arrays_as_there_are_slots_and_a_tag() -> None:
    (shape,) = sums(SHAPES)
    mono = Compilation(SHAPES).result("mono").prog
    made = next(d for d in mono.defs if d.name.startswith("area"))
    assert len(components(made.params[0].type)) == 1 + len(shape["slots"])
