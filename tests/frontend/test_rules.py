"""Rules of the language that keep types, modules and constants honest, and what they allow."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.context import Ctx
from compiler.base.errors import CompileError, Limitation, TypeError_
from compiler.driver.pipeline import Compilation
from compiler.frontend.check import check
from compiler.frontend.parser import parse
from compiler.semantics import interp


def problem(source: str) -> CompileError | None:
    try:
        check(parse(source), Ctx())
    except CompileError as error:
        return error
    return None


REFUSED = [
    # sizes and functions in types
    ("type row = []f32", "has a size that may differ from value to value."),
    ("type~ row = []f32 type two = (row, row)", "has a size that may differ from value to value."),
    # what a size is called
    ("def f [n] (xs: [n]i32): [n]i64 = iota (length xs)", "expected `[n]i64`, found `[length xs]"),
    ("def f [n] (xs: [n]i64) = map2 (+) xs (iota (length xs))", "found `[length xs]i64`"),
    ("def f [n] (m: i64) (xs: [n]i64) = loop xs for _i < m do map2 (+) (iota (length xs)) xs",
     "`length xs`"),
    ("def f (xs: []i32): [length xs]i32 = map (+ 1) xs", "to be `length xs`, which needs `xs`"),
    ("def f (xss: [][]i64) = map2 (+) xss[0] (iota (length xss[0]))", "`length xss[0]`"),
    ("type^ f = (k: i64) -> [k]i32 -> i64 def g: f = \\_ xs -> length xs", "does not say so"),
    ("type^ f = (k: i64) -> [k]i32 -> i64 def g: f = \\k xs -> k + length xs", "This parameter"),
    ("def f (c: bool) (xs: []i32) = if c then filter (> 0) xs else ???", "Nothing determines"),
    ("def f [n] (xs: [n]i64): [reduce (+) 0 xs]i64 = iota (reduce (*) 0 xs)",
     "expected `[reduce (+) 0 xs]i64`"),
    ("type~ row = []f32 def f (x: [2]row) = x", "might differ in size"),
    ("def f '~t (x: t) : [1]t = [x]", "might differ in size"),
    ("def f (x: [](bool, ?[k].[k]i8)) = x", "might differ in size"),
    ("type^ t = i32 type u = [3]t", "might be a function"),
    ("type^ t = i32 type u = (t, t)", "contains a function"),
    ("type~ t = (i32 -> i32, i32)", "contains a function"),
    ("type^ t = []bool -> bool", "The type `t` is a function type whose argument has an unnamed"),
    ("type^ t = (i32, []bool -> bool)", "The type `t` is a function type whose argument has an"),
    ("type t = " + " | ".join(f"#c{i}" for i in range(256)), "at most 255 constructors"),
    # module types
    ("module type s = {val x: t}", "Unknown type `t`"),
    ("module type s = {type box 'a val x: box b}", "Unknown type `b`"),
    ("module type s = {module m: {type t = u}}", "Unknown type `u`"),
    ("module type s = {include q}", "Unknown module type `q`"),
    ("module type s = {val f: []i32 -> i32}", "needs a name"),
    ("module type s = {val f: (x: i32) -> (x: i32) -> i32}", "Two parameters are called `x`"),
    ("module type s = {type t 'a 'a}", "is bound twice"),
    ("module type s = {type t [n] [n]}", "is bound twice"),
    ("module type s = {type t} module type r = s with t 'a = a", "has no parameters"),
    ("module type s = {type t 'a} module type r = s with t = i8", "the parameters `'a`"),
    ("module type s = {type t '^a} module type r = s with t 'a = a", "the parameters `'^a`"),
    ("module type s = {type t} module type r = s with u = i8", "has no type `u`"),
    ("module type s = {type t} module type r = s with t = i8\n"
     "module type q = r with t = i8", "is not abstract"),
    ("module type s = {type t = i8} module type r = s with t = i8", "is not abstract"),
    ("module m : {type t} = {type^ t = i32 -> i32}", "is defined with `type^`"),
    ("module m : {type~ t} = {type^ t = i32}", "wants a `type~`"),
    ("module f (p: {val x: t}) = {def y = p.x}", "Unknown type `t`"),
    # functors, also those that nothing applies
    ("module f (p: {val x: i32}) = {def y = p.x + true}", "expected `i32`, found `bool`"),
    ("module f (p: {val x: i32}) : {val y: i32} = {def z = p.x}", "has no value `y`"),
    ("module f (p: {type t val x: t}) = {def y = p.x + 1i32}", "expected `t`, found `i32`"),
    ("module f (p: {type t val x: t}) = {def y : i32 = p.x}", "expected `i32`, found `t`"),
    ("module f (p: {type^ t}) = {def g (xs: []p.t) = xs}", "cannot be a function"),
    ("module f (p: {type~ t}) = {type u = p.t}", "has a size that may differ from value to value."),
    ("module f (p: {type~ t}) = {type u = (p.t, i8)}", "has a size that may differ from value to"),
    ("module f (p: {type t}) = {def g (x: p.t) (y: p.t) = x == y}", "abstract type `t`"),
    # other rules
    ("module m = {entry f (x: i32) = x}", "cannot be inside a module"),
    ("def f (x: []i32) = let [n] (n: [n]i32) = x in n", "is bound twice"),
    ("def f = let [n] (xs: [0][n]i32) = [] in n", "Nothing determines the size `n`"),
    ("def f = let [n] (g: [n]i32 -> i32) = (\\(xs: [3]i32) -> xs[0]) in n",
     "only part of a function"),
    ("def f (ys: []i32) =\n"
     " loop (xs: []i32, i) = (copy ys, 0) while i < 10 do (xs with [0] = 1, i + 1)",
     "a parameter whose type has no `*`"),
    ("def f [n] (ys: *[n]i32) = loop xs: [n]i32 = ys for i < 3i64 do xs with [i] = 1",
     "a parameter whose type has no `*`"),
    # constants
    ("def c = [1, 2] def f (b: bool) = if b then c else []", "may alias `c`"),
    ("def c = [1, 2] def f (i: i64) = (i, c[i:])", "may alias `c`"),
    ("def c = {a = [1], b = 2} def f (x: i32) = c.a", "may alias `c`"),
    ("def c = [1, 2] def f = map (\\(i: i64) -> c) (iota 3)", "The result of the lambda"),
    ("def c = [1, 2] def f = let g (i: i64) = c in g 3", "The result of `g`"),
    ("module m = {def c = []} def f (a: *[]i8) = a def g (x: i32) = f m.c", "a constant"),
    ("def f (n: i64) : (*[]i64, *[]i64) =\n"
     " let (a, b) = loop _ = (iota 3, iota 3) for i < n do let c = iota 3 in (c, c) in (a, b)",
     "Two components of the result of `f` share"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "text"), REFUSED, ids=lambda x: str(x)[:60])
def test_refused(source: str, text: str) -> None:
    found = problem(source)
    assert isinstance(found, TypeError_)
    assert text in found.message
    assert found.span.line


ALLOWED = [
    "type~ row = []f32 type~ two = (row, row) def f (x: two) = x.0",
    "type rows [n] = [n][4]f32 def f [n] (x: [2](rows [n])) = x",
    "type^ t = i32 def f (x: t) : [1]i32 = [x]",
    "type^ t [n] = [n]bool -> []bool",
    "module type s = {type t 'a} module type r = s with t '^a = a",
    "module type s = {val n: i64 val f: [n]i32 -> i32 val g: [n / 2]i32 -> []i32}",
    "module type s = {module m: {type t} val x: m.t}",
    "module type s = (p: {type t}) -> {val x: p.t}",
    "module type s = {include numeric val one: t}",
    "module m : {type^ t} = {type t = i32}",
    "module f (p: {type~ t}) : {type t} with t = p.t = {type~ t = p.t} module m = f {type t = i8}",
    "module f (p: {type t val zero: t}) = {def get (i: i32) = (i, p.zero)}\n"
    "module m = f {type t = [2]i8 def zero : t = [0, 0]}",
    "def f (ys: []i32) = let [n] (xs: [n]i32) = ys in n + length xs",
    "def f (ys: []i32) = let [n] (xs: [n]i32) = filter (> 1) ys in n + length xs",
    "def f ys = let [n] (xs: [n]i32) = ys in n + length xs",
    "def f (ys: []i32) = let g ys = (let [n] (xs: [n]i32) = ys in n) in g ys",
    "def f (ys: []i32) =\n"
    " loop (xs: *[]i32, i) = (copy ys, 0) while i < 10 do (xs with [0] = 1, i + 1)",
    "def f (ys: []i32) = let (xs: []i32) = copy ys in xs with [0] = 1",
    "module f (p: {type t val x: t}) = {def y = [p.x, p.x] def z (_i: i64) = (copy y, p.x)}",
    "module type s = {type t val x: t}\nmodule f (p: s with t = i32) = {def y = p.x + 1}",
    "module f (p: {type v [n] val mk: (n: i64) -> v [n] val size [n]: v [n] -> i64}) =\n"
    " {def g (n: i64) = p.size (p.mk n)}",
    "module f (p: {type box 'a val get 'a: box a -> a}) = {def g (b: p.box i32) = p.get b + 1}",
    "module f (p: numeric) = {def sum [n] (xs: [n]p.t) = reduce (p.+) (p.i32 0) xs}",
    "module f (p: {module q: numeric val n: i64}) = {def x : [p.n]p.q.t = rep (p.q.i32 1)}",
    "module f (g: (p: {type t}) -> {val x: p.t}) = {module m = g {type t = i32} def y = m.x}",
    "module f (p: {type~ t val x: t}) (q: {val y: p.t}) = {def z (b: bool) = if b then p.x"
    " else q.y}",
    "def c = [1, 2] def f (b: bool) = if b then copy c else []",
    "def c = [1, 2] def d = c def f (i: i64) = c[i] + d[i]",
    "type s = #point f32 f32 | #line f32 def origin : s = #point 0 0\n"
    "def f (b: bool) = if b then origin else #line 1",
    "def c = {f = \\(x: []i32) -> map (+ 1) x, a = [1]} def g (x: []i32) = c.f x",
    "def zeros [n] : [n]i32 = replicate n 0 def f (n: i64) : *[n]i32 = zeros",
    "def f (n: i64) (x: *[]i64) =\n"
    " let (a, b) = loop (a, b) = (x, iota 3) for i < n do (b, a) in (a[0], b[0])",
]


def test_an_error_in_a_functor_is_told_once() -> None:
    found = problem(
        "module f (p: {val x: i32}) = {def y = p.x + true}\n"
        "module a = f {def x = 1i32} module b = f {def x = 2i32} def z = a.y + b.y"
    )
    assert found is not None
    assert found.span.line == 1
    assert found.others == ()


def test_a_body_may_be_an_application_of_a_parameter() -> None:
    """Of its result nothing is known before the module is applied; then all of it is."""
    program = (
        "module type num = {type t val x: t}\n"
        "module double (n: num) = {def y = (n.x, n.x)}\n"
        "module apply (f: (n: num) -> {val y: (n.t, n.t)}) = f {type t = i32 def x = 1i32}\n"
        "module m = apply double\n"
    )
    assert problem(f"{program}def z = m.y.0 + 1i32") is None
    found = problem(f"{program}def z = m.y.0 + true")
    assert found is not None
    assert found.span.line == 5


def test_what_is_not_built_counts_where_a_functor_is_applied() -> None:
    size = "[loop x = n for _i < 3i32 do x * 2]"
    functor = (
        f"module f (p: {{val x: i32}}) = {{def y (n: i64): {size}i32 = replicate (n * 8) p.x}}"
    )
    assert problem(functor) is None
    assert isinstance(problem(f"{functor} module m = f {{def x = 1i32}}"), Limitation)


@pytest.mark.parametrize("source", ALLOWED, ids=lambda x: str(x)[:60])
def test_allowed(source: str) -> None:
    assert problem(source) is None


@pytest.mark.parametrize(
    "body",
    [
        "if c then xs :> []i32 else []",
        "if c then [] else xs :> []i32",
        "if c then (xs :> []i32) else ([] : []i32)",
        "match c case true -> xs :> []i32 case false -> []",
    ],
)
def test_a_branch_does_not_decide_the_size_of_a_coercion(body: str) -> None:
    source = f"entry main [n] (c: bool) (xs: [n]i32) = {body}"
    prog = Compilation(source).result("simplified").prog
    xs = np.array([4, 5], np.int32)
    results = {interp.run(prog, "main", [np.bool_(c), xs])[0].tobytes() for c in (True, False)}
    assert results == {b"", xs.tobytes()}
