"""Holes, `???`: of any type; a warning tells which, and who needs the value fails there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_
from compiler.base.text import plain
from compiler.driver.worker import answer
from tests.codegen.helpers import compiled, needs_cc
from tests.runtime import cuda_on_cpu

IF = "entry main (x: i32): i32 = if x > 0 then x else ???"
ARRAY = "entry main (n: i64) (x: i32): [n]i32 = if x > 0 then replicate n x else ???"
SIZE = "def f (x: i32): []i32 = ???\nentry main (x: i32): [2]i32 = if x > 0 then [x, 1] else f x"
MAP = "entry main (xs: []i32) = map (\\x -> if x > 5 then ??? else x + 1) xs"
ROWS = (
    "entry main [n] (xs: [n]i32) (m: i64): [n][m]i32 ="
    " map (\\x -> if x > 0 then replicate m x else ???) xs"
)
FUNCTION = "def c: i32 -> i32 = ???\nentry main (n: i32) = if n > 0 then n else c n"
SUM = (
    "entry main (n: i32) = match (if n > 0 then #g n else ???: #f [4]i32 | #g i32)"
    " case #f h -> h[0] case #g x -> x"
)
FUNCTOR = (
    "module f (X: {type t val z: t}) = {def g (x: i32): X.t = if x > 0 then X.z else ???}\n"
    "module m = f {type t = i32 def z = 4i32}\nentry main (n: i32) = m.g n"
)
POLYMORPHIC = (
    "def todo 'a (_: i32): a = ???\nentry main (n: i32): i32 = if n > 0 then n else todo n"
)
LATER = (
    "entry main (xs: []i32) = i64.sum (map (\\x -> length (if x > 5 then ??? else"
    " replicate 2 x)) xs)"
)
SCAN = "entry main (xs: []i32): []i32 = scan (\\a b -> if b > 10 then ??? else a + b) 0 xs"
CASES = {
    "a scalar": (IF, "1", "1i32", "i32"),
    "a scalar, reached": (IF, "0", "", "i32"),
    "an array": (ARRAY, "2i64 1", "[1i32, 1i32]", "[n]i32"),
    "an array, reached": (ARRAY, "2i64 0", "", "[n]i32"),
    "an array of size 0": ("entry main (n: i64): [0]i64 = if n > 0 then [] else ???", "0", "",
        "[0]i64"),
    "a size that the caller knows": (SIZE, "4", "[4i32, 1i32]", "[n]i32"),
    "a size that the caller knows, reached": (SIZE, "0", "", "[n]i32"),
    "in a map": (MAP, "[1, 2]", "[2i32, 3i32]", "i32"),
    "in a map, reached": (MAP, "[1, 7]", "", "i32"),
    "in a map of nothing": ("entry main (xs: []i32): []i32 = map (\\_ -> ???) xs",
        "empty([0]i32)", "empty([0]i32)", "i32"),
    "rows": (ROWS, "[1, 2] 1", "[[1i32], [2i32]]", "[m]i32"),
    "rows, reached": (ROWS, "[1, 0] 2", "", "[m]i32"),
    "what only its length is asked of": (LATER, "[1, 7]", "", "[2]i32"),
    "in a scan": (SCAN, "[1, 2]", "[1i32, 3i32]", "i32"),
    "in a scan, reached": (SCAN, "[1, 20]", "", "i32"),
    "in a loop of nothing": ("entry main (n: i32) = loop _ = 1i32 for _i < n do ???", "0", "1i32",
        "i32"),
    "in a loop": ("entry main (n: i32) = loop _ = 1i32 for _i < n do ???", "1", "", "i32"),
    "a constant": ("def c: [3]i32 = ???\nentry main (n: i32) = c[n]", "0", "", "[3]i32"),
    "a function": (FUNCTION, "1", "1i32", "i32 -> i32"),
    "a function, reached": (FUNCTION, "0", "", "i32 -> i32"),
    "an argument": ("entry main (xs: []i32) = filter ??? xs", "[1]", "", "i32 -> bool"),
    "an operator": ("entry main (xs: []i32) = reduce ??? 0 xs", "[1]", "", "i32 -> i32 -> i32"),
    "functions and data": ("entry main (n: i32) = let r: {f: i32 -> i32, g: i32} = ???"
        " in r.f n + r.g", "0", "", "{f: i32 -> i32, g: i32}"),
    "variants with functions": ("entry main (n: i32) = match (???: #f (i32 -> i32) | #g i32)"
        " case #f h -> h n case #g x -> x", "0", "", "#f (i32 -> i32) | #g i32"),
    "a sum": (SUM, "1", "1i32", "#f [4]i32 | #g i32"),
    "a sum, reached": (SUM, "0", "", "#f [4]i32 | #g i32"),
    "of a functor": (FUNCTOR, "1", "4i32", "i32"),
    "of a functor, reached": (FUNCTOR, "0", "", "i32"),
    "polymorphic": (POLYMORPHIC, "1", "1i32", "a"),
    "polymorphic, reached": (POLYMORPHIC, "0", "", "a"),
    "what is overwritten": ("entry main (i: i64) = (???: [3]i32) with [i] = 1", "1", "", "[3]i32"),
    "what nobody uses": ("entry main (n: i32) = let _x: i32 = ??? in n", "0", "", "i32"),
    "where checks are dropped": (f"#[unsafe] {IF}".replace("= if", "= #[unsafe] if"), "0", "",
        "i32"),
}  # fmt: skip
"""By what it is about: a program, its input, its output or "" where it fails, the hole's type."""


def hole_at(source: str) -> list[int]:
    before = source[: source.index("???")]
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    return [line, column, line, column + 3]


@pytest.mark.parametrize(
    ("backend", "stage"),
    [("ref", "soa"), ("ref", "flat"), ("ref", "merged"), ("ref", "imp"),
     pytest.param("c", "", marks=needs_cc)],
)  # fmt: skip
@pytest.mark.parametrize("name", CASES)
def test_a_program_runs_to_its_hole(name: str, backend: str, stage: str) -> None:
    source, given, output, type_ = CASES[name]
    asked: dict[str, Any] = {"op": "run", "source": source, "input": given, "backend": backend}
    told = answer({**asked, "stage": stage, "options": {"verify": True, "unsafe": True}})
    if output:
        assert told.get("output") == output, told
    else:
        assert told["error"]["kind"] == "runtime"
        assert told["error"]["message"] == f"Reached a hole of type {type_}."
        assert told["error"]["span"] == hole_at(source)


@pytest.mark.parametrize("name", CASES)
def test_a_warning_tells_the_type(name: str) -> None:
    source, *_, type_ = CASES[name]
    told = answer({"op": "check", "source": source})
    found = [w for w in told["warnings"] if "hole" in w["message"]]
    assert [w["message"] for w in found] == [f"This hole has the type `{type_}`."]
    assert found[0]["span"] == hole_at(source)


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize(
    ("source", "good", "bad"),
    [
        (MAP, [np.array([1, 2], "i4")], [np.array([1, 7], "i4")]),
        (ROWS, [np.array([1, 2], "i4"), np.int64(2)], [np.array([1, 0], "i4"), np.int64(2)]),
        (ARRAY, [np.int64(2), np.int32(1)], [np.int64(2), np.int32(0)]),
    ],
)
def test_kernels_of_cuda_fail_at_a_hole(source: str, good: list[Any], bad: list[Any]) -> None:
    code = plain(compiled(source, "cuda").result("cuda").text)
    assert cuda_on_cpu.run(code, good)
    with pytest.raises(RuntimeError_, match="Reached a hole"):
        cuda_on_cpu.run(code, bad)


@pytest.mark.parametrize(
    ("source", "says"),
    [
        ("def f (x: i32) = length ??? + i64.i32 x", "Nothing determines a size"),
        ("def f (_: i32): []i32 = ???\ndef g (x: i32) = length (f x)", "Nothing determines a size"),
        ("entry main (_: i32): []i32 = ???", "the size `n`"),
        ("def f (n: i64) = let [k] (xs: [k]i32) = ??? in n + length xs", "the size `k`"),
    ],
)
def test_what_nothing_tells_of_a_hole_is_asked_for(source: str, says: str) -> None:
    assert says in answer({"op": "check", "source": source})["error"]["message"]
