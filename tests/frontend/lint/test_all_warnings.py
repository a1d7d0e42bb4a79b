"""Warnings: unused names, unknown attributes, what always fails, cases that nothing reaches."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.base.context import Ctx
from compiler.frontend.check import check
from compiler.frontend.lint.all_warnings import warnings
from compiler.frontend.parser import parse

EXAMPLES = sorted((Path(__file__).parents[3] / "app" / "examples").glob("*.fut"))


def told(source: str) -> list[str]:
    """The place and the message of each warning."""
    program = parse(source)
    found = warnings(program, check(program, Ctx()), {}, "")
    return [f"{w.span.line}:{w.span.col} {w.message}" for w in found]


def unused(name: str, line: int, col: int) -> str:
    return f"{line}:{col} `{name}` is not used."


UNUSED = [
    ("def f = let\n  g x = x in 1", unused("g", 2, 3)),
    ("def f = loop a = 0 for\n i < 3 do a", unused("i", 2, 2)),
    ("module m (\n  p: {val x: i32}) = { def y = 1 }", unused("p", 2, 3)),
    ("def f = let (\n +++) a b = a + b in 1", unused("+++", 2, 2)),
    ("def f (x: i32) (y: i32) = x", unused("y", 1, 17)),
    ("def f (x: i32) =\n  let y = x\n  in x", unused("y", 2, 7)),
    ("def f (x: i32) = let x = x let x = 4i32 in x", unused("x", 1, 22)),
    ("def f (x: i32) = let g (y: i32) = y + 1 in x", unused("g", 1, 22)),
    ("def f (p: (i32, i32)) = let (a, b) = p in a", unused("b", 1, 33)),
    ("def f (p: {a: i32, b: i32}) = let {a, b} = p in b", unused("a", 1, 36)),
    ("def f (n: i64) = loop x = 1i32 for i < n do x * 2", unused("i", 1, 36)),
    ("def f (xs: []i32) = loop a = 1i32 for x in xs do a * 2", unused("x", 1, 39)),
    ("def f (xs: []i32) = map (\\x -> 1i32) xs", unused("x", 1, 27)),
    ("def f (xs: *[]i32) = let xs[0] = 1 in 2i32", unused("xs", 1, 26)),
    ("def f (s: #a i32 | #b) = match s case #a x -> 1i32 case #b -> 2", unused("x", 1, 42)),
    ("module m (p: {val x: i32}) = {def y = 1i32}", unused("p", 1, 11)),
    ("def f 'a (a: a) (b: a) = b", unused("a", 1, 11)),
    ("def x = 1i32 module m = {def f (x: i32) = 2i32}", unused("x", 1, 33)),
]


def test_a_name_that_is_meant_as_a_constructor_is_told() -> None:
    source = "def f (c: #red | #blue) = match c case red -> 1 case #blue -> 2"
    program = parse(source)
    found = warnings(program, check(program, Ctx()), {}, "")
    assert "the constructor is `#red`" in " ".join(warning.hint for warning in found)


@pytest.mark.parametrize(("source", "expected"), UNUSED, ids=lambda x: str(x)[:50])
def test_unused_names(source: str, expected: str) -> None:
    assert told(source) == [expected]


QUIET = [
    "def helper (x: i32) = x",
    "def f 'a (b: a) (a: a -> i32) = a b",
    "def f (x: i32) (_y: i32) = x",
    "def f [n] (xs: [n]i32) = xs",
    "def f (n: i64) (xs: [n]i32) = xs",
    "def f (n: i64) : [n]i64 = let m = n let g (xs: [m]i64) = xs in g (iota m)",
    "def f (x: i32) = let x = x + 1 let x = x * 2 in x",
    "def f (r: {a: i32}) = r.a",
    "def f (x: f32) = f32.(x + x)",
    "def f (x: i32) = let y = x in {y}",
    "def f (x: *[]i32) = let x[0] = 3 in x",
    "def f (x: i32) = loop x while x < 100 do x * 2",
    "def f (x: i32) = loop (x, y) = (x, 1) while x + y < 100 do (x * 2, 1)",
    "def f (g: i32 -> i32 -> i32) (x: i32) = x `g` x",
    "module m (p: numeric) = {def one = p.i32 1}",
    "module m (p: {module q: numeric}) = {open p.q}",
    "def f (n: i64) : (m: i64) -> i64 = (+ n)",
    "#[noinline] def f (x: i32) = #[sequential] #[trace(here)] map (+ x) [1, 2]",
    "def f (xs: []i32) = #[flattening(no_outer)] map (+ 1) xs",
    "def plus (x: i64) y = x + y",
    "def f 't (x: *t) : *t = x",
    "def f (x: *([]i32, i32)) = x",
    "module m (p: {type t}) = {def f (x: *p.t) : *p.t = x} module n = m {type t = i32}",
    "module m : {type t val f : i32 -> *t} = {type t = [1]i32 def f (_: i32) : *t = [2]}"
    " def f (x: *m.t) = x",
    "def h (x: i64) = x * x def f (n: i64) = iota (h n)",
    "def f (n: i64) = (n |> iota, iota <| 2 * n)",
    "module type a = {type t} module type b = {include a include a with t = t}",
    "def f = #[unroll] loop x = 1i64 for i < 4i64 do x * i",
]


@pytest.mark.parametrize("source", QUIET, ids=lambda x: str(x)[:50])
def test_no_warning(source: str) -> None:
    assert told(source) == []


OF_TYPES = [
    ("def plus x (y: i32, z) = (x + 1, y, z / 2.5)",
     "1:10 The type of this number is ambiguous; the compiler takes `x` for `i32`.",
     "1:21 The type of this number is ambiguous; the compiler takes `z` for `f64`."),
    ("type t = (i32, bool) def f (x: *t) : *i32 = x.0",
     "1:32 `*` has no effect on `(i32, bool)`: values of this type are copied.",
     "1:38 `*` has no effect on `i32`: values of this type are copied."),
    ("def f (n: i64) = iota (let m = n in m * m)",
     "1:24 This size expression contains a binding, so the resulting size is unknown."),
    ("def f (xs: []i32) (n: i64) = xs[:loop m = n for i < 3 do m - i]",
     "1:34 This size expression contains a binding, so the resulting size is unknown."),
    ("module type a = {type t} module type b = {include a include a}",
     "1:53 This `include` shadows the type `t` above with a different type."),
    ("def f (n: i64) = #[unroll] loop x = 1i64 for i < n do x * i",
     "1:18 `#[unroll]` has no effect: the number of iterations is not a literal."),
]  # fmt: skip


@pytest.mark.parametrize("case", OF_TYPES, ids=lambda x: str(x)[2:50])
def test_what_has_no_effect_or_is_guessed(case: tuple[str, ...]) -> None:
    source, *expected = case
    assert told(source) == expected


CERTAIN = [
    ("def f (xs: []i32) = xs[-1]", "1:24 This index is always out of bounds."),
    ("def f (xs: [3]i32) = xs[3]", "1:25 This index is always out of bounds."),
    ("def f [n] (xs: [n]i32) = xs[n]", "1:29 This index is always out of bounds."),
    ("def f (xs: []i32) = xs[length xs]", "1:24 This index is always out of bounds."),
    ("def f (xs: *[2][2]i32) = xs with [0, 2] = 1", "1:38 This index is always out of bounds."),
    ("def f (xs: []i32) = xs[-2:]", "1:24 This slice is always out of bounds."),
    ("def f (x: i32) = x / 0", "1:18 This always divides by zero."),
    ("def f (x: i32) = assert false x", "1:18 This assertion always fails."),
    ("def f (x: i32) = match x case 1 -> 2i32 case _ -> 3 case 4 -> 5",
     "1:58 No value reaches this case: the cases above match all values."),
    ("def f (b: bool) = match b case true -> 2i32 case false -> 3 case _ -> 5",
     "1:66 No value reaches this case: the cases above match all values."),
    ("def f (s: #a i8 | #b) = match s case #a _ -> 2i32 case #a 1 -> 3 case #b -> 4",
     "1:56 No value reaches this case: the cases above match all values."),
    ("def f (xs: [2][3]i32) = xs == xs", "1:25 Comparing whole arrays is deprecated."),
    ("def f (r: {x: [2](i8, [3]i32)}) = r.x != r.x",
     "1:35 Comparing whole arrays is deprecated."),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), CERTAIN, ids=lambda x: str(x)[:50])
def test_what_always_fails(source: str, expected: str) -> None:
    assert told(source) == [expected]


FINE = [
    "def f [n] (xs: [n]i32) = xs[n - 1] + xs[0] + xs[length xs - 1]",
    "def f (xs: []i32) = xs[::-1]",
    "def f (xs: [3]i32) = xs[2] + xs[:3][1]",
    "def f (x: f32) = x / 0",
    "def f (a: #x i32 | #y) (b: #x i32 | #y) = a == b",
    "def f (x: i32) (xs: []i32) = (x, 1) == (2, x) && and (map2 (==) xs xs)",
    "def f (xs: []i32) = zip xs xs",
    "def f (x: i32) (xs: [3]i32) = (x, xs) != (x, xs)",
    "def f (p: (i32, bool)) = match p case (1, _) -> 2i32 case (_, true) -> 3 case _ -> 4",
]


@pytest.mark.parametrize("source", FINE, ids=lambda x: str(x)[:50])
def test_what_may_succeed(source: str) -> None:
    assert told(source) == []


def test_unknown_attributes_have_near_misses() -> None:
    program = parse("def f (xs: []i32) = #[sequental] map (+ 1) xs")
    (found,) = warnings(program, check(program, Ctx()), {}, "")
    assert "`sequential`" in found.hint


def test_unknown_attributes() -> None:
    assert told("def f (xs: []i32) = #[paralel] map (+ 1) xs") == [
        "1:21 The attribute `paralel` is unknown and has no effect."
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_have_no_warnings(path: Path) -> None:
    assert told(path.read_text()) == []


def test_a_function_that_uses_the_prelude_s_of_its_name() -> None:
    source = "def last (xs: []i32) = last xs + 1"
    assert told(source) == ["1:5 This calls the prelude's `last`, not the function being defined."]
    assert told("def f (x: i32): i32 = if x < 1 then x else f (x - 1)") == []
