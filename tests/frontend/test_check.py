"""The type checker: inferred types, sizes, instances, and the typed program's promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.base.context import Ctx
from compiler.base.errors import CompileError, TypeError_
from compiler.frontend import typed as t
from compiler.frontend.check import check
from compiler.frontend.parser import parse
from compiler.frontend.show_type import show_type
from tests.frontend.typed_contract import check_contract

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))


def checked(source: str) -> t.TypedProg:
    prog = check(parse(source), Ctx())
    check_contract(prog)
    return prog


def last_def(source: str) -> t.Def:
    return checked(source).defs[-1]


def signature(source: str) -> str:
    """The last definition's parameters and result: `[n]i32 -> ?[k].[k]i32`."""
    d = last_def(source)
    exists = "".join(f"[{n.rpartition('_')[0]}]" for n in d.ext)
    result = f"{f'?{exists}.' if exists else ''}{'*' if d.unique else ''}{show_type(d.ret)}"
    params = [
        f"({text})" if "->" in text else text for text in (show_type(p.type) for p in d.params)
    ]
    return " -> ".join([*params, result])


def error(source: str) -> CompileError:
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    return caught.value


# --- types ---------------------------------------------------------------------------------------

SIGNATURES = [
    ("def f x = x + 1", "i32 -> i32"),
    ("def f x = x * 2.5", "f64 -> f64"),
    ("def f (x: u8) = -x", "u8 -> u8"),
    ("def f x y = x && y", "bool -> bool -> bool"),
    ("def f x = (x, x)", "t -> (t, t)"),
    ("def f g x = g (g x)", "(t -> t) -> t -> t"),
    ("def f p = p.0 + p.1 + (p : (i32, i32)).0", "(i32, i32) -> i32"),
    ("def f (r: {b: i64, a: bool}) = r with b = 3", "{a: bool, b: i64} -> {a: bool, b: i64}"),
    ("def f x = f32.sqrt (f32.i64 x)", "i64 -> f32"),
    ("def f x = f32.(sqrt x + pi)", "f32 -> f32"),
    ("def f x = i32.max x i32.highest", "i32 -> i32"),
    ("def f x = i32.get_bit 3 x", "i32 -> i32"),
    ("def f = map (+ 1i8)", "[n]i8 -> *[n]i8"),
    ("def f (xs: [](i32, bool)) = map (.0) xs", "[n](i32, bool) -> *[n]i32"),
    ("def f xs = i32.sum (map (\\x -> x ** 2) xs)", "[n]i32 -> i32"),
    ("def f xs ys = map2 (*) xs ys |> reduce (+) 0f32", "[n]f32 -> [n]f32 -> f32"),
    ("def f (xs: []i32) (ys: []i32) = zip xs ys", "[n]i32 -> [n]i32 -> *[n](i32, i32)"),
    ("def f xs = filter (> 0i64) xs", "[n]i64 -> ?[filtered].*[filtered]i64"),
    ("def f (n: i64) = iota (n + 1)", "i64 -> *[n + 1]i64"),
    ("def f (n: i64) (m: i64) = replicate n (replicate m true)", "i64 -> i64 -> *[n][m]bool"),
    ("def f [n] (xs: [n]i32) = xs ++ [1, 2]", "[n]i32 -> *[n + 2]i32"),
    ("def f [n] (xs: [n + 1]i32) = (xs[0], xs[1:])", "[n + 1]i32 -> (i32, [n]i32)"),
    ("def f [n] (xs: [n]i32) = xs[::-1]", "[n]i32 -> [n]i32"),
    ("def f [n] (xs: [n]i32) (i: i64) = xs[i:i + 4]", "[n]i32 -> i64 -> [4]i32"),
    ("def f [n] (xs: [n]i32) = xs[::2]", "[n]i32 -> ?[d].[d]i32"),
    ("def f [n] (xs: [n]i32) = partition (> 0) xs",
     "[n]i32 -> ?[first_part].([first_part]i32, [n - first_part]i32)"),
    ("def f [n] (xs: [n]i32) = let (a, b) = partition (> 0) xs in a ++ b", "[n]i32 -> *[n]i32"),
    ("def f (n: i64) = 0..<n", "i64 -> *[n]i64"),
    ("def f (n: i64) = 1..3...n", "i64 -> ?[d].*[d]i64"),
    ("def f [n] [m] (a: [n][m]f32) = transpose a", "[n][m]f32 -> [m][n]f32"),
    ("def f [n] [m] (a: [n][m]f32) = flatten a", "[n][m]f32 -> [n * m]f32"),
    ("def f (a: [6 * 2]i32) : [6][2]i32 = unflatten a", "[6 * 2]i32 -> [6][2]i32"),
    ("def f c (xs: []i32) = if c then xs else [1]", "bool -> [n]i32 -> ?[d].[d]i32"),
    ("def f c (n: i64) = if c then iota n else replicate n 0", "bool -> i64 -> *[n]i64"),
    ("def f (n: i64) = loop xs = [0] for i < n do xs ++ [i]", "i64 -> ?[k].*[k]i64"),
    ("def f [n] (xs: [n]i32) = loop ys = xs for i < 3i32 do map (+ i) ys", "[n]i32 -> [n]i32"),
    ("def f (xs: []i32) = loop a = 0 for x in xs do a + x", "[n]i32 -> i32"),
    ("def f (x: i32) = loop y = x while y < 100 do y * 2", "i32 -> i32"),
    ("def f [n] (a: *[n]i32) = a with [0] = 1", "[n]i32 -> *[n]i32"),
    ("def f [n] (a: *[n]i32) = let a[1:3] = [7, 8] in a", "[n]i32 -> *[n]i32"),
    ("type pair 'a = (a, a) def f (p: pair f32) = p.0", "(f32, f32) -> f32"),
    ("type mat [n] 'a = [n][n]a def f [n] (m: mat [n] i8) = m[0]", "[n][n]i8 -> [n]i8"),
    ("def f (x: i32) = let g y = (y, x) in (g 1i8, g true)", "i32 -> ((i8, i32), (bool, i32))"),
    ("def f (s: #a i32 | #b) = match s case #a x -> x case #b -> 0", "#a i32 | #b -> i32"),
    ("def f (n: i64) = let m = n * 2 in iota m", "i64 -> *[n * 2]i64"),
    ("def f [n] (xs: [n]i32) = iota (length xs)", "[n]i32 -> *[n]i64"),
    ("def f (xs: []i32) = let [k] (ys: [k]i32) = filter (> 1) xs in iota k",
     "[n]i32 -> ?[filtered].*[filtered]i64"),
    ("def f (ks: []i64) (xs: []i8) = take (i64.sum ks) xs",
     "[n]i64 -> [m]i8 -> [sum ks]i8"),
    ("def f (ks: []i64) = let k = i64.sum ks let l = 3 in (iota k, iota (k + l))",
     "[n]i64 -> *([sum ks]i64, [(sum ks) + 3]i64)"),
    ("def f (ks: []i64) = let k = (filter (> 0) ks)[0] in iota k", "[n]i64 -> ?[k].*[k]i64"),
    ("def f (a: i64, b: i64) = iota (a * b)", "(i64, i64) -> ?[d].*[d]i64"),
    ("def f (x: i32) = assert (x > 0) x", "i32 -> i32"),
    ("def f (s: []u8) = s == \"ab\"", "[2]u8 -> bool"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), SIGNATURES, ids=lambda x: str(x)[:60])
def test_type(source: str, expected: str) -> None:
    assert signature(source) == expected


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_keep_the_contract(path: Path) -> None:
    prog = checked(path.read_text())
    assert [e.name for e in prog.entries]


def test_prelude_definitions_come_first_and_only_when_used() -> None:
    prog = checked("def main (xs: []i32) = map2 (+) xs xs")
    assert [d.source_name for d in prog.defs] == ["zip", "map2", "main"]
    assert all(d.span.file == "<prelude>/zips.fut" for d in prog.defs[:1])


def test_instances_are_complete() -> None:
    body = last_def("def f [n] (xs: [n](i32, bool)) = map (.1) xs").body
    assert isinstance(body, t.Apply)
    assert isinstance(body.fn, t.Var)
    assert [show_type(u) for u in body.fn.type_args] == ["(i32, bool)", "bool"]
    assert len(body.fn.size_args) == 1


def test_sizes_of_results_are_named() -> None:
    body = last_def("def f (xs: []i32) = length (filter (> 0) xs)").body
    assert isinstance(body, t.Apply)
    assert isinstance(body.args[0], t.Apply)
    assert len(body.args[0].ext) == 1


def test_an_argument_that_a_size_depends_on_gets_a_name() -> None:
    body = last_def("def f (xs: []i64) = iota (reduce (+) 0 xs)").body
    assert isinstance(body, t.Let)
    assert isinstance(body.body, t.Apply)
    assert body.body.args == (body.body.args[0],)
    assert isinstance(body.body.args[0], t.Var)


def test_equality_of_records_and_arrays_is_spelt_out() -> None:
    text = repr(last_def("def f (a: [3](i32, f64)) (b: [3](i32, f64)) = a == b").body)
    assert "intrinsics.reduce" in text
    assert "op='==', at='f64'" in text


def test_entry_points_show_types_as_written() -> None:
    prog = checked("entry go [n] (m: i64) (xs: *[n]f32) (ys: []i8) = (xs, ys[0])")
    (entry,) = prog.entries
    assert entry.name == "go"
    assert entry.param_names == ("m", "xs", "ys")
    assert entry.param_types == ("i64", "*[n]f32", "[]i8")
    assert entry.result_types == ("[n]f32", "i8")


def test_negative_literals_and_suffixes() -> None:
    body = last_def("def f : i8 = -128").body
    assert isinstance(body, t.Const)
    assert body.value == -128
    assert signature("def f x = x + 1u16") == "u16 -> u16"


def test_long_programs_and_deep_nesting() -> None:
    lets = "\n".join(f"  let x{i + 1} = x{i} + {i}" for i in range(300))
    assert signature(f"def f (x0: i32) =\n{lets}\n  in x300") == "i32 -> i32"
    assert signature(f"def f (x: i32) = {'(' * 150}x{')' * 150}") == "i32 -> i32"


# --- errors --------------------------------------------------------------------------------------

ERRORS = [
    ("def f (x: i32) = x + 1.5", 1, "The right side of `+`: expected `i32`, found"),
    ("def f (x: i32) : f32 = x", 1, "The body of `f`: expected `f32`, found `i32`."),
    ("def f (xs: []i32) = xss", 1, "Unknown name `xss`."),
    ("def f (x: f32) = f32.sqr x", 1, "Module `f32` has no `sqr`."),
    ("def f (x: vector) = x", 1, "Unknown type `vector`."),
    ("def f x =\n  if x then 1 else true", 2, "The branches of `if` differ"),
    ("def f [n] [m] (a: [n]i32) (b: [m]i32) = zip a b", 1, "Argument 2 of `zip`"),
    ("def f (x: i32) = x 3", 1, "Only functions can be applied"),
    ("def f (x: f32) = f32.sqrt x x", 1, "Too many arguments"),
    ("def f (x: i32) = x[0]", 1, "Only arrays can be indexed"),
    ("def f (xs: []i32) = xs[0, 1]", 1, "Too many indices"),
    ("def f (p: (i32, i32)) = p.2", 1, "There is no field `2`"),
    ("def f r = r.x", 1, "The type of the record with the field `x` is unknown here."),
    ("def f (x: i32) = let (a, b) = x in a", 1, "matches a tuple of 2"),
    ("def f (a, a) = a + 1", 1, "is bound twice"),
    ("def f (xs: []i32) = map (\\x -> filter (> x) xs) xs", 1, "The function returns an array"),
    ("def f (n: i64) = map iota (iota n)", 1, "depends on its argument"),
    ("def f = [\\x -> x + 1]", 1, "cannot be a function"),
    ("def f x = x == (\\y -> y)", 1, "Functions cannot be compared"),
    ("def f : i8 = 200", 1, "does not fit into `i8`"),
    ("def f = 1e400", 1, "too large for any type"),
    (f"def f : f64 = 1{'0' * 308}{'0' * 80}", 1, "of 389 digits does not fit into `f64`"),
    (f"def f (x: f64) = x + 0x1{'0' * 300}", 1, "of 362 digits does not fit into `f64`"),
    ("def f = 0x1.0p99999", 1, "too large for any type"),
    ("def f [n] (x: i32) = x", 1, "it is not the size of an array in the type of `f`."),
    ("entry f 'a (x: a) = x", 1, "cannot have type parameters"),
    ("entry f (g: i32 -> i32) = g 1", 1, "takes or returns a function"),
    ("module m: {type^ t val a: i32 -> t} = {type^ t = i32 def a (x: i32) = x}\n"
     "entry f (x: i32) = [(x, m.a x)][0]", 2, "An array element cannot be a function"),
    ("module m: {type^ t val a: i32 -> t} = {type^ t = i32 -> i32 def a (x: i32) : t = (+ x)}\n"
     "entry f (x: i32) = (x, m.a x)", 2, "of the abstract type `m.t`, which may be a function"),
    ("type t = i32 type t = f32", 1, "is defined twice"),
    ("def f (s: #a | #b) = match s case #a -> 1", 1, "No case matches the value `#b`."),
    ("def f (b: bool) (xs: []i32) =\n let a = [] : [][]i32\n let c = [filter (> 0) xs]\n"
     " in a[0] == c[0]", 2, "This uses the size `filtered` before the array that"),
    # uniqueness
    ("def f (a: []i32) = a with [0] = 1", 1, "a parameter whose type has no `*`"),
    ("def f (a: *[]i32) =\n  let b = a with [0] = 1\n  in a[0] + b[0]", 3, "consumed at 2:11"),
    ("def f (a: *[]i32) =\n  let b = a\n  let c = b with [0] = 1\n  in a", 4, "consumed at 3:11"),
    ("def f (a: []i32) : *[]i32 = a", 1, "is declared fresh"),
    ("def f (a: *[]i32) : (*[]i32, *[]i32) = (a, a)", 1, "Two components of the result of `f`"),
    ("def f (a: *[]i32) = map (\\i -> let b = a with [0] = i in b[0]) [1, 2]", 1, "outside of"),
    ("def g (a: *[]i32) = a[0] def f (a: *[]i32) = g a + a[0]", 1, "was consumed at"),
    ("def g (a: *[]i32) (b: []i32) = b def f (a: *[]i32) = g a a", 1, "which another argument"),
    ("def f (a: *[][]i32) = a with [0] = a[1]", 1, "The new value may alias `a`, the updated"),
    ("def c = [1, 2] def f (i: i64) = c with [i] = 3", 1, "a constant of the program"),
    ("def f (a: *[]i32) (n: i64) =\n  loop b = a for i < n do b with [i] = a[i]", 2, "consumes it"),
    ("def f (a: *[]i32) =\n  loop (b, c) = (a, a) for i < 3 do (b with [0] = 1, c)", 2,
     "`b` and `c` may start as the same array, and the loop"),
    ("def f (a: *[]i32) =\n let d = a[1:] in loop (b, c) = (a, d) for i < 3 do (b with [0] = 1, c)",
     2, "`b` and `c` may start as the same array, and the loop"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "line", "text"), ERRORS, ids=lambda x: str(x)[:60])
def test_error(source: str, line: int, text: str) -> None:
    found = error(source)
    assert isinstance(found, TypeError_)
    assert text in found.message + " " + found.hint
    assert found.span.line == line


FINE = [
    "def f (a: *[]i32) = loop (b, c) = (a, copy a) for i < 3i64 do (b with [0] = c[0], c)",
    "def f (a: []i32) = loop (b, c) = (a, a) for i < 3i64 do (map (+ 1) b, c)",
    "def f (a: *[]i32) = loop (b, c) = (a, a[0]) for i < 3i64 do (b with [0] = c, c)",
    "def f (a: *[]i32) : *[]i32 = loop b = a for i < 3i64 do b with [i] = b[i] + 1",
    "def f [n] (a: *[n]i32) = let b = copy a let c = b with [0] = 1 in (a, c)",
    "def f c (a: *[]i32) = let b = if c then a else (a with [0] = 1) in b with [1] = 2",
    "def f (r: *{x: []i32, y: []i32}) = r with x[0] = r.y[0]",
    "def f (a: *[][]i32) = a with [0][1] = 3",
    "def f (a: *[]{x: i32, y: i32}) = a with [0].x = 3",
    "def f (xs: *[]i32) (is: []i64) = scatter xs is (map (\\i -> i32.i64 i) is)",
]


@pytest.mark.parametrize("source", FINE)
def test_consumption_that_is_fine(source: str) -> None:
    checked(source)


MODULES = [
    ("module m = {def x = 1i8 def f y = y + x} def g = m.f", "i8 -> i8"),
    ("module m = {type t = (i32, i32)} def g (p: m.t) = p.0", "(i32, i32) -> i32"),
    ("module type num = {type t val zero: t val (+): t -> t -> t}\n"
     "module sum (n: num) = {def all [k] (xs: [k]n.t) = reduce (n.+) n.zero xs}\n"
     "module ints = sum {type t = i16 def zero = 0i16 def (+) (a: i16) (b: i16) = i16.(a + b)}\n"
     "def g = ints.all", "[n]i16 -> i16"),
    ("module twice (n: numeric) = {def f (x: n.t) = n.(x + x)} module m = twice f32 def g = m.f",
     "f32 -> f32"),
    ("module a = {module b = {def c = true}} open a.b def g = c", "bool"),
    ("module m = {local def x = 1i64 def y = x} def g = m.y", "i64"),
    ("module m = {def r = {a = {b = 2u8}}} def g = m.r.a.b", "u8"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), MODULES, ids=lambda x: str(x)[:60])
def test_modules(source: str, expected: str) -> None:
    assert signature(source) == expected


MODULE_ERRORS = [
    ("module m = {def x = 1} def g = m.y", "Module `m` has no `y`."),
    ("def g = n.y", "Unknown module `n`."),
    ("module type s = {val y: i32}\nmodule m: s = {def x = 1}", "has no value `y`"),
    ("module type s = {val y: i32}\nmodule m: s = {def y = true}", "its module type says `i32`"),
    ("module m = {def x = 1} module n = m i32", "Only modules with parameters can be applied."),
    ("def f (x: i32) = x def f (y: i32) = y", "`f` is defined twice."),
]


@pytest.mark.parametrize(("source", "text"), MODULE_ERRORS, ids=lambda x: str(x)[:60])
def test_module_errors(source: str, text: str) -> None:
    found = error(source)
    assert isinstance(found, TypeError_)
    assert text in found.message


def test_a_type_does_not_contain_itself() -> None:
    assert "contain itself" in error("def f x = x == x.0").hint
    assert "contain itself" in error("def f g = g g").hint


def test_near_misses_are_suggested() -> None:
    assert "`count`" in error("def f (count: i32) = cuont + 1").hint
    assert "`reduce`" in error("def f xs = reduc (+) 0 xs").hint
    assert "`reduce`" in error("def f xs = recude (+) 0 xs").hint
    assert "`map`" in error("def f xs = mpa (+ 1) xs").hint
    assert "`i32`" in error("def f (x: i33) = x").hint
    assert "`f32`" in error("def f x = f23.sqrt x").hint
    assert error("def f (n: i32) = m").hint == ""


def test_a_hint_does_not_repeat_the_message() -> None:
    pair = error("def f = [(1i32, 2), 3]")
    assert pair.message.endswith("found a number.")
    assert pair.hint == ""
    assert error("def f = [1, true]").message == (
        "An element after the first: expected a number, found `bool`."
    )


def test_of_several_sizes_the_first_is_told() -> None:
    names = "abcdefgh"
    source = f"""
def f (({", ".join(names)}): ({", ".join(["i64"] * len(names))}))
    : ({", ".join(f"[{name}]i32" for name in names)}) = ({", ".join(["[]"] * len(names))})
"""
    assert "size `a`" in error(source).message


def test_several_errors_in_one_run() -> None:
    found = error("def f x = y\ndef g (x: i32) : bool = x\ndef h = f 1\ndef k = [1, true]")
    assert [e.span.line for e in (found, *found.others)] == [1, 2, 4]
