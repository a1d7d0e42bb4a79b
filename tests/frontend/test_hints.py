"""Errors that beginners make: the hint says what to write instead."""

from __future__ import annotations

import pytest

from compiler.base.context import Ctx
from compiler.base.errors import CompileError
from compiler.frontend.check import check
from compiler.frontend.parser import parse

HINTS = [
    ("def f (xs: [n]i32) = xs", "as in `def f [n] (xs: [n]i32) = ..`"),
    ("def f (m: i64) = iota m :> [n]i64", "Declare it before the parameters"),
    ("def f [count] (xs: [count]i32) (ys: [cuont]i32) = xs", "Did you mean `count`?"),
    ("def f (n: i32) : [n]i32 = [1]", "Bind it as an i64, or write `i64.i32 ..`."),
    ("def f (x: i32) = g x\n\ndef g (x: i32) = x", "`g` is defined below, at line 3;"),
    ("def f (x: t) = x\ntype t = i32", "`t` is defined below, at line 2;"),
    ("def f = m.g\nmodule m = {def g = 1}", "`m` is defined below, at line 2;"),
    ("module m = {\n def f = g\n def g = 1\n}", "`g` is defined below, at line 3;"),
    ("module m = {\n def f = g\n}\ndef g = 1", "`g` is defined below, at line 4;"),
    (
        "def f (n: i64, x: i32): [n]i32 = replicate n x",
        "separate parameter, `(n: i64)`, or leave the size open, `[]`.",
    ),
    (
        "def f = \\((n, _): (i64, i64)): [n]i64 -> iota n",
        "separate parameter, `(n: i64)`, or leave the size open, `[]`.",
    ),
    ("def g (x: i32) = x def f = g -1", "`f (-1)`"),
    ("def f (xs: []i32) = map -1 xs", "`f (-1)`"),
    ("def f (xs: []i32) = reduce + 0 xs", "`reduce (+) 0 xs`"),
    ("def f (x: i32) = x > 1 and x < 3", "`a && b`"),
    ("def f (x: i32) = x > 1 or x < 3", "`a || b`"),
    ("def f (xs: []i32) (i: i32) = iota i", "`i64.i32`"),
    ("def f (n: i64) = map (\\i -> i * 2.5) (iota n)", "`f64.i64 x`"),
    ("def f (x: i32) = if x = 1 then 2 else 3", "`==`"),
    ("def f (x: i32) = if x == 1 then 2", "An `if` needs an `else`."),
    ("def f (x: i32) =\n let y = x\n y\ndef g = 1", "`let y = x in y`"),
    ("def f (x: i32) =\n let y = x\n y", "`let y = x in y`"),
    ("def f (n: i64) = loop x = 0 for i <= n do x", "`for i < n + 1`"),
    ("def f (xs: []i32) = for x in xs do x", "`loop x = start for i < n do next`"),
    ("fun f (x: i32) = x", "`def f x = ..`"),
    ("def f (x: f32) = x ^ 2", "`a ** b`"),
    ("def f (x: i32) = x > 1 ? 2 : 3", "`if c then a else b`"),
    ("def f (xs: []i32) = xs.length", "`length x`"),
    ("def f x y = x + y def g = f (1, 2)", "without commas"),
    ("def f (x, y) = x + y def g = f 1 2", "`f (a, b)`"),
    ("def f (xs: []i32) = sum xs", "`i32.sum` or `f32.sum`"),
    ("def f (x: f32) = sqrt x", "`f32.sqrt`"),
    ("def f (x: int) = x", "`i32` and `i64`"),
    ("def f (x: string) = x", "`[]u8`"),
]


@pytest.mark.parametrize(("source", "hint"), HINTS, ids=lambda x: str(x)[:50])
def test_hint(source: str, hint: str) -> None:
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    assert hint in caught.value.hint


def test_a_name_of_its_own_scope_is_not_below() -> None:
    with pytest.raises(CompileError) as caught:
        check(parse("module m = {def g = 1}\ndef f = g"), Ctx())
    assert caught.value.hint == "It belongs to a module: `m.g`."


def test_a_number_is_no_function() -> None:
    with pytest.raises(CompileError) as caught:
        check(parse("def f (x: i32) = 1 x"), Ctx())
    assert caught.value.message == "A number is not a function, so it takes no arguments."


def test_of_several_aliases_that_are_gone_the_same_is_named_every_time() -> None:
    """Names are in sets, whose order differs from run to run."""
    names = [f"x{k}" for k in range(9)]
    params = " ".join(f"(b{k}: bool) (x{k}: *[4]i64)" for k in range(9))
    chosen = " else ".join(f"if b{k} then x{k}" for k in range(8)) + " else x8"
    gone = "\n".join(f"  let y{k} = {name} with [0] = 1" for k, name in enumerate(names))
    results = ", ".join(f"y{k}" for k in range(9))
    source = f"def f {params} =\n  let a = {chosen}\n{gone}\n  in ({results}, a[0])"
    with pytest.raises(CompileError, match="consumed at 3:12, through its alias `x0`"):
        check(parse(source), Ctx())
