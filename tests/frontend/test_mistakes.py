"""Mistakes of beginners, and of those who come from another language: each has a way out.

For each: the program, what its message and hint say. A message shows no unknown type in a notation
of ours, and nothing is told twice.
"""

from __future__ import annotations

import re
from itertools import permutations

import pytest

from compiler.base.context import Ctx
from compiler.base.errors import CompileError
from compiler.base.prim import FLOATS, INTS
from compiler.frontend.check import check
from compiler.frontend.parser import parse

PRIMS = (*INTS, *FLOATS, "bool")

MISTAKES = [
    # Syntax of other languages.
    ("def f (xs: []i32) =\n  let y = xs[0];\n  in y", "`let` has `in`"),
    ("def f (x: i32, y: i32): i32 { return x + y }", "the value of its body"),
    ("def f (xs: []i64) = map (x => x + 1) xs", "`\\x -> x + 1`"),
    ("def f (xs: []i64) = map (fun x -> x + 1) xs", "`\\x -> x + 1`"),
    ("def f (xs: []i64) = map (lambda x: x + 1) xs", "`\\x -> x + 1`"),
    ("def f (xs: []i64) = xs.map (\\x -> x + 1)", "stands before its argument: `map x`"),
    ("def f (xs: []i32) =\n  xs[0] = 5", "`let ys = xs with [i] = v`"),
    ("def f (n: i64) =\n  let x = 5,\n  let y = 6\n  in x + y", "follow each other without a sign"),
    ("def f (n: i64) = n++", "to count up write `n + 1`"),
    ("def f (n: i64) = n += 1", "`let y = x + 1` binds a new name"),
    ("def f (xs: []i64) = xs :: [1]", "joined by `++`"),
    ("def f (xs: []i64) = i64.sum $ map (+1) xs", "`f <| x`"),
    ("def f (xs: []i64) = xs . i64.sum", "`f x`"),
    ("def f (xs: []i64) = [x * 2 | x <- xs]", "`map (\\x -> x * 2) xs`"),
    ("def f (xs: []i64) = [x * 2 for x in xs]", "`map (\\x -> x * 2) xs`"),
    ("def f (xs: []i64) = match xs case [] -> 0 case _ -> 1", "`length xs == 0`"),
    ("// sums\ndef f (x: i32) = x", "begins with `--`"),
    ("/* sums */\ndef f (x: i32) = x", "begins with `--`"),
    ("def f (x: i32) -> i32 = x", "follows a colon"),
    ("def f (x: i32): i32 = y where y = x", "`let .. in`"),
    ("def f (x: [i32]) = x[0]", "`[]i32`"),
    ("def f (x: i32) = while x < 10 do x + 1", "`loop x = start while c do next`"),
    ("def f (x: i32) = loop while x < 10 do x + 1", "`loop x = start while c do next`"),
    ("def f (x: i32) = x === 2", "`a == b`"),
    ("def f (x: i32) = x <> 2", "`a != b`"),
    ("def f (c: u8) = c == \u2018a\u2019", "`'a'`"),
    # What is not closed, or not there.
    ("def f (xs: []i32) (i: i64) = xs[i", "The `[` at 1:32 is not closed"),
    ("def f (x: i32) = (x + 1\n\ndef g = 1", "The `(` at 1:18 is not closed"),
    ("def f (x: i32) = x + ", "`+` stands between two values."),
    ("def f (n: i64) =\n  let x = 5\n  let y = 6", "`let y = x in y`"),
    # Names.
    ("def f (x: Int) = x", "`i32` and `i64`"),
    ("def f (x: array i32) = x", "`[]i32`"),
    ("def f (x: i32) = x == nil", "`#some i32 | #none`"),
    ("def f (xs: []i32) = sort xs", "github.com/diku-dk/sorts"),
    ("def f (x: f32) = i32 x", "`i32.i64 x`"),
    ("def f (x: i32) = x mod 2", "`a % b`"),
    # Arguments.
    ("def f (xs: []i32) = let y = xs [0] in y", "`xs[0]`"),
    ("def f (xs: []i64) = reduce 0 (+) xs", "The function comes first"),
    ("def f (xs: []i64) = map xs (+1)", "The function comes first"),
    ("def f (xs: []i32) = map (+) xs", "takes 2 arguments; here it gets 1"),
    ("def f (xs: [](i32, i32)) = map (\\x y -> x + y) xs", "`\\(a, b) -> ..`"),
    ("def g (x: i32) (y: i32) = x def f (a: i32): i32 = g a", "still takes an argument"),
    ("def f (n: i64): [n][n]i32 = replicate (n, n) 0", "A tuple is one value"),
    ("def f (n: i64) = map (\\i -> i + 1) (iota n) (iota n)", "`map2`, `map3`"),
    ("def f (xs: []i64) (n: i64): i64 = n + take", "still takes 2 arguments"),
    ("def f (xs: []i32): i32\n  = reduce (+) 0", "still takes an argument"),
    # Types.
    ("def f (n: i64): []i32 = iota n", "`map i32.i64 xs`"),
    ("def f (xs: [][]f32): [][]f64 = xs", "`map (map f64.f32) xs`"),
    ("def f (xs: *[]i32) = scatter xs [0i32, 1] [5, 6]", "`map i64.i32 xs`"),
    ("def f (x: i32) = if x == 0 then x else 2.0", "`f64.i32 x`"),
    ("def f (x: i32) = if x then 1 else 2", "`x != 0`"),
    ("def f (xs: [][]i32): [][]i32 = xs[0]", "One has 2 dimensions, the other 1"),
    ("def f (xs: []i32): i32 = xs", "`xs[i]`"),
    ("def f (x: i32): []i32 = x", "`[x]`"),
    ("def f (c: u8) = c == \"a\"", "`'a'`"),
    ("def f: i32 = 3000000000", "-2147483648 to 2147483647"),
    ("def f: u8 = 256", "0 to 255"),
    ("type t = #a | #b i32 def f (x: t) = match x case #a -> 0 case #b -> 1", "`#b _`"),
    ("type t = #a | #b i32 def f: t = #c", "It has no constructor `#c`"),
    # Sizes.
    ("def f [n] [m] (xs: [n]i32) (ys: [m]i32) = map2 (+) xs ys", "`xs :> [n]i32`"),
    ("def f [n] (xs: [n]i32): [n]i32 = filter (> 0) xs", "made by `filter` at 1:34"),
    (
        "def f (xs: []i32) =\n  let a = filter (> 0) xs\n  let b = filter (< 0) xs\n"
        "  in map2 (+) a b",
        "made by `filter` at 2:11. `count` is made by `filter` at 3:11",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("source", "way_out"), MISTAKES, ids=lambda x: str(x)[:60])
def test_a_mistake_has_a_way_out(source: str, way_out: str) -> None:
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    assert way_out in caught.value.hint
    told = f"{caught.value.message} {caught.value.hint}"
    assert "?" not in told
    lines = source.count("\n") + 1
    assert 1 <= caught.value.span.line <= lines


def test_an_unknown_type_has_one_letter_in_a_message() -> None:
    with pytest.raises(CompileError) as caught:
        check(parse("def f (xs: []i64) = map xs (+1)"), Ctx())
    assert "expected `a -> b`, found `[]i64`" in caught.value.message


def test_a_letter_is_not_the_name_of_a_type_parameter() -> None:
    """`a` is a type of the author's; the unknown type beside it is another."""
    with pytest.raises(CompileError) as caught:
        check(parse("def f 'a (xs: []a) = map (+ 1) xs"), Ctx())
    assert "expected `a -> b`" in caught.value.message


def test_a_sign_that_is_written_often_is_told_once() -> None:
    with pytest.raises(CompileError) as caught:
        check(parse("def f (x: i32) =\n let a = 1;\n let b = 2;\n let c = 3;\n in a"), Ctx())
    assert caught.value.others == ()


def test_a_size_that_has_no_name_is_not_claimed() -> None:
    """`xs :> [count]i32` could not be written: nothing in the program is called `count`."""
    source = "def f [n] (xs: [n]i32) = map2 (+) (filter (> 0) xs) xs"
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    assert ":>" not in caught.value.hint
    assert "made by `filter`" in caught.value.hint


CLAIMS = [
    "def f [n] [m] (xs: [n]i32) (ys: [m]i32) = map2 (+) xs (ys :> [n]i32)",
    "def f [n] (xs: [n]i32): [n]i32 = filter (> 0) xs :> [n]i32",
    "def f (xs: []i32) =\n  let [k] (a: [k]i32) = filter (> 0) xs\n"
    "  in map2 (+) a (filter (< 0) xs :> [k]i32)",
    "def f (xs: [](i32, i32)) = map (\\(a, b) -> a + b) xs",
    "def f (n: i64): []i32 = map i32.i64 (iota n)",
    "def f (xs: [][]f32): [][]f64 = map (map f64.f32) xs",
    "def f (xs: []i64) = i64.sum <| map (+1) xs",
]


@pytest.mark.parametrize("source", CLAIMS, ids=lambda x: str(x)[:60])
def test_the_way_out_is_one(source: str) -> None:
    check(parse(source), Ctx())


@pytest.mark.parametrize(("source", "target"), list(permutations(PRIMS, 2)))
def test_a_conversion_that_is_named_is_there(source: str, target: str) -> None:
    """Of numbers, and of arrays' elements: what stands between the quotes can be written."""
    for given, wanted in ((source, target), (f"[]{source}", f"[]{target}")):
        with pytest.raises(CompileError) as caught:
            check(parse(f"def f (x: {given}): {wanted} = x"), Ctx())
        for written in re.findall(r"`((?:map )?[a-z0-9]+\.[a-z0-9]+)(?: xs)?`", caught.value.hint):
            check(parse(f"def f (x: {given}): {wanted} = {written} x"), Ctx())


def test_an_unknown_argument_of_an_abstract_type_is_a_letter() -> None:
    source = (
        "module m = {type box 'a = (a, i32) def put 'a (x: a): box a = (x, 0)}\n"
        "         : {type box 'a val put 'a: a -> box a}\n"
        "def f: i32 = m.put (\\x -> x)\ndef g (x: i32): i32 = m.put []"
    )
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    told = [caught.value.message, *(other.message for other in caught.value.others)]
    assert not any("?" in one for one in told), told
