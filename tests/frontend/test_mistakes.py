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
from compiler.driver.pipeline import Compilation
from compiler.driver.worker import answer
from compiler.frontend.check import check
from compiler.frontend.parser import parse

PRIMS = (*INTS, *FLOATS, "bool")

MISTAKES = [
    # Numbers of two types in a function of one.
    (
        "def f [n] (xs: [n]i32) (ys: [n]f32) = map2 (+) xs ys",
        "takes `i32` as argument 2, but here it gets `f32`: convert one of them before, with"
        " `f32.i32` or `i32.f32`",
    ),
    (
        "def g (f: f32 -> i32 -> i32) = f 1 2\ndef add (x: i32) (y: i32) = x + y\ndef h = g add",
        "The function takes `i32` as argument 1, but here it gets `f32`",
    ),
    # Records, tuples and sums where one of their parts is meant.
    ("type p = {x: i32, y: f32}\ndef f (a: p) (b: p) = a + b", "`{x = a.x + b.x, y = a.y + b.y}`"),
    ("def f (p: {x: i32}) = p - 2", "field by field: `{x = a.x - b.x}`"),
    ("def f (x: i32) = let (a, b) = x in a + b", "It is one value without components"),
    ("def f (xs: []i32) = let (a, b) = xs in a", "its elements are `xs[0]`, `xs[1]`"),
    ("def f (p: {x: i32, y: i32}) = let (a, b) = p in a", "names its fields: `{x, y}`"),
    ("def f ((a, b): (i32, i32, f32)) = a", "It has 3 components"),
    ("def f (x: i32) = let (a b) = (x, x) in a", "`let (a, b) = ..`."),
    ("def f (v: #some i32 | #none) = v.some", "`match v case #some a -> a case _ -> ..`"),
    ("def f (v: #pair i32 f32) = v.pair", "`match v case #pair a b -> (a, b)`"),
    ("def f (v: #some i32 | #none) = v.value", "Distinguish its variants with `match`"),
    ("def f (p: {x: i32}) = {p | x = 2}", "`p with x = 3`, without braces"),
    # Members of modules with parameters, and of others.
    ("module f (p: {}) = {def x = 1}\ndef y = f.x", "`module m = f arg`, then use `m.x`."),
    ("module f (p: {}) (q: {}) = {type t = i32}\ndef g (x: f.t) = x", "`module m = f arg arg`"),
    ("module m = {def a = 1 def b = 2}\ndef f = m.other", "It has `a`, `b`."),
    # A lambda that changes what it is given; signatures, ranges and conversions of others.
    ("def f (xs: [][]i32) = map (\\x -> x with [0] = 1) xs", "Copy it first, with `copy x`"),
    ("def f :: Int -> Int", "Write types at the parameters"),
    ("def f (n: i64) = map (+ 1) (0..n)", "A range is written `a..<b`"),
    ("def f = x -> x + 1", "Write an anonymous function as `\\x -> x + 1`."),
    ("def f (x: i32) = (i64) x", "as in `i64.i32 x`"),
    # Equations, lists and dictionaries.
    ("def f (x: i32) = x\ndef f (x: f32) = x", "A function has one equation"),
    ("def f (p: {a: i32}) = p[\"a\"]", "Read a field of a record by its name, `r.a`."),
    ("def f (p: {a: i32}) = p[\"a b\"]", "Read a field of a record by its name, `r.x`."),
    ("def f (x:xs) = x", "read its first element as `xs[0]`, and the others as `xs[1:]`."),
    ("def f (l: []i32) = match l case (h:t) -> h", "read its first element as `xs[0]`, and the"),
    # Members of modules, records for tuples, arguments in another order, entry points.
    ("def f (x: f32) = f32.pow x 2", "Write a power as `a ** b`"),
    ("def f (x: i64) = i64.to_i32 x", "`i32.i64`"),
    ("def f (x: i64) = f32.from_i64 x", "`f32.i64`"),
    ("def f (p: {x: i32, y: i32}) = p.x\ndef g (x: i32) = f (x, x)", "`f {x = .., y = ..}`"),
    ("def f (p: {x: i32, y: i32}) = p.x\ndef g (x: i32) = f x x", "`f {x = .., y = ..}`"),
    ("def f (s: #a i32 | #b) = match s case a x -> x case _ -> 0", "`case #a x -> ..`"),
    ("def f : (#a (i32, i32) | #b) = #a 1 2", "`#a (a, b)` holds one tuple, `#a a b` holds 2"),
    ("def f : (#a i32 i32 i32 | #b) = #a (1, 2, 3)", "`#a a b c` holds 3 values"),
    ("def f : (#a i32 | #b) = #a 1 2", "has 2 arguments in one, 1 in the other"),
    ("def f (n: i64) = loop s for i < n do s + i", "`loop x = 0 for i < n do x + i`"),
    ("def f (xs: [](i32, f32)) = map (\\x y -> f32.i32 x + y) xs", "`\\(a, b) -> ..`"),
    ("def f (xs: []i32) = map2 (\\(x, y) -> x + y) xs xs", "one after the other: `\\a b -> ..`"),
    ("def f (xs: []i32) = reduce (\\(x, y) -> x + y) 0 xs", "one after the other: `\\a b -> ..`"),
    ("def f (x: i32) = let mut y = x in y + 1", "Write `let y = x`, and a new `let` for the next"),
    ("def f (n: i32) = let rec g = \\i -> g (i - 1) in g n", "write a top-level `def f n = ..`,"),
    ("def f (g: i32 -> i32) (x: i32) = g x\ndef h (x: i32) = f (+ 1, x)", "`f (+ 1) x`"),
    ("def f (xs: []i32) = reduce (+) xs 0", "`reduce (+) 0 xs`"),
    ("def f (n: i64) = tabulate (\\i -> i) n", "`tabulate n f`"),
    ("entry main (n: i64) = replicate n", "a function that still takes an argument"),
    ('def f (x: i32) = "x is " ++ x', "Futhark has no function that turns a number into a string."),
    ('def f = "x is " ++ 3', "Futhark has no function that turns a number into a string."),
    ("def f (x: i32) = match x case 1 -> 2", "Add a case for all other values"),
    ("def f (x: i32) = match x { 1 => 2, _ => 3 }", "`match x case 0 -> a"),
    # A size that a parameter cannot have.
    (
        "def f (xs: []i32) = map2 (+) xs (filter (> 0) xs)",
        "Leave it open, `(xs: []i32)`. Where you need an array of that size, name the size,"
        " `let [k] (ys: [k]t) = ..`, and claim `xs :> [k]i32`",
    ),
    ("def f (n: i64) = \\h -> h (filter (> 3) (iota n)) ", "`(f: (n: i64) -> [n]i32 -> i32)`"),
    # Texts as patterns, what is made of itself, modules.
    ('def f (s: []u8) = match s case "abc" -> 1 case _ -> 2', '`if s == "a"`'),
    ("type t = {a: i32, b: []t}", "and a type cannot contain itself."),
    ("type tree = #leaf |\n #node tree tree", "and a type cannot contain itself."),
    ("def x = x + 1", "and a value cannot be defined by itself."),
    ("def x: [x]i32 = []", "and a value cannot be defined by itself."),
    ("module m = {def mk x = x + 1i32}\ndef f = mk 3", "It belongs to a module"),
    ("def f (x: f32) = i32.floor x", "as `f32.floor`"),
    ("def f (xs: []i64) = loop s = 0 for x, i in xs do s + x", "`for (i, x) in zip (indices xs)"),
    ("def f (xs: []i64) = loop s = 0 for i in length xs do s + i", "`for i < n`"),
    ("def f (xs: []i64) = loop s = 0 for i < xs do s + i", "`for x in xs`"),
    ("def f = [1 2 3]", "Separate array elements and tuple components by commas"),
    ("def f (a: i32) = a == 1 || 2", "compare it, as in `x == 2`"),
    ("def f (x: []'a) = x", "Declare a type parameter with a quote"),
    ("def f (xs: []) = xs", "Write the element type after the brackets"),
    ('def f = {"x": 1}', "`{x = 1, y = 2}`"),
    ("def f (xs: []i32) = xs[1..3]", "`xs[1:3]`"),
    ("def f (xs: []i32) = xs[1:3:]", "Write a step after a second colon"),
    ("def f (xs: []i32) = xs[::]", "Write a step after a second colon"),
    ("def f (xs: [][]i32) = xs[,0]", "`xs[:, 0]`"),
    ("def f = map (_ + 1) [1]", "Write an operator with one operand as a section, `(+ 1)`."),
    ("module m { def x = 1 }", "`module m = {def x = 1}`"),
    ("module type t = { def x : i32 }", "`val x: i32`"),
    # Patterns of other records, types with arguments, references, steps, imports with names.
    ("def f = let (a, b) = 1 in a + b", "It is one value without components"),
    ("def f = let {a, b} = 1 in a + b", "It is one value without components"),
    ("def f (p: {x: i32, y: i32}) = let {x, y, z} = p in x", "no field `z`: its pattern is `{x, "
     "y}`"),
    ("def f (p: {x: i32, y: i32}) = let {x} = p in x", "`{x, y = _}`."),
    ("def f (p: (i32, i32)) = let {x, y} = p in x", "It has 2 components"),
    ("entry main (xs: Vec<i32>) = xs", "Write the type of an array as `[]i32`, and of a matrix as"),
    ("def f (x: i32): Vec<i32> = [x]", "Write the type of an array as `[]i32`, and of a matrix as"),
    ("def f (x: Option<i32>) = x", "Use a sum type for a value that may be missing"),
    ("type box 'a = {x: a}\ndef f (x: box<i32>) = x", "A type's arguments follow it: `box i32`"),
    ("def f (x: &i32) = x", "Pass a value directly, `(x: i32)`"),
    ("def f (x: &mut i32) = x", "an array that may be overwritten as `(xs: *[]i32)`"),
    ("def f (x: i32*) = x", "Futhark has no references."),
    ("main = do\n  x <- f\n  return x", "Write a definition as `def main = ..` or"),
    ("def main = do\n  x <- f\n  return x", "bind each intermediate value, as in"),
    ('import "util" as u\ndef f = 1', '`module m = import "util"`'),
    # What has no name where it is called, and a size that a later parameter says.
    (
        "def f (h: i64 -> i64) (xs: [h 3]i32) = xs[0]\n"
        "def g (ys: []i32) = f (\\x -> x + 1) (filter (> 0) ys)",
        "What is given for `h` has no name here. With `let h = .. in` before, `.. :> [h 3]i32`"
        " claims that they are.",
    ),
    (
        "def h (n: i64): i64 = n * 2\ndef f (n: i64) (xs: [h n]i32) = xs[0]\n"
        "def g (ys: []i32) (k: i64) = f k ys",
        "Move the parameter `k` before it.",
    ),
    # Syntax of other languages.
    ("def f (xs: []i32) =\n  let y = xs[0];\n  in y", "Write `in` after the bindings of a `let`,"),
    ("def f (x: i32, y: i32): i32 { return x + y }", "the value of its body"),
    ("def f (xs: []i64) = map (x => x + 1) xs", "`\\x -> x + 1`"),
    ("def f (xs: []i64) = map (fun x -> x + 1) xs", "`\\x -> x + 1`"),
    ("def f (xs: []i64) = map (lambda x: x + 1) xs", "`\\x -> x + 1`"),
    ("def f (xs: []i64) = xs.map (\\x -> x + 1)", "stands before its argument: `map x`"),
    ("def f (xs: []i32) =\n  xs[0] = 5", "`let ys = xs with [i] = v`"),
    ("def f (n: i64) =\n  let x = 5,\n  let y = 6\n  in x + y", "Write bindings one after the"),
    ("def f (n: i64) = n++", "to add 1, write `n + 1`."),
    ("def f (n: i64) = n += 1", "`let y = x + 1` binds a new name"),
    ("def f (xs: []i64) = xs :: [1]", "concatenate arrays with `++`"),
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
    ("def f (xs: []i32) = map (x -> x + 1) xs", "`\\x -> x + 1`"),
    ("def f (xs: []i32) = map (\\x. x + 1) xs", "`\\x -> x + 1`"),
    ("def f (x: i32) =\n  case x of\n    0 -> 1\n    _ -> x", "`match x case 0 -> a"),
    ("def f (x: i32) =\n  match x with\n  | 0 -> 1\n  | _ -> x", "`match x case 0 -> a"),
    ("def f (x: i32) = match x case 0 => 1 case _ => x", "`match x case 0 -> a"),
    ("def f (n: i32) = loop i < n do i + 1", "`loop x = start for i < n do next`"),
    ("def f (n: i32) = loop x = 0 for i = 0 to n do x + i", "counts from 0"),
    ("def f (n: i32) = loop a = 0 for i < n do a := a + i", "The value of a loop's body is the"),
    ("def f (x: i32) = if (x > 0) { 1 } else { 2 }", "`if c then a else b`, without braces"),
    ("def f (x: i32) = if x > 0 { x + 1 } else { x }", "`if c then a else b`, without braces"),
    ("def f (x: i32) = if (x > 0) return 1", "`if c then a else b`"),
    ("def f (x: i32): i32 { x }", "follows `=`"),
    ("def f (x: i32) =\n  let y := x + 1\n  in y", "`let y = x + 1`"),
    ("def f (x: i32) =\n  int y = x + 1\n  in y", "`let y: i32 = x + 1`"),
    ("def f (i32 x): i32 = x + 1", "`(x: i32)`"),
    ("def f (y f64): f64 = y + 1", "`(y: f64)`"),
    ("def f (n: i64) = [1..n]", "`a...b`"),
    ("def f: []u8 = 'abc'", 'Write a string of several characters between `"`.'),
    ("import sums\ndef f (x: i32) = x", '`import "sums"`'),
    ("f :: i32 -> i32\nf x = x + 1", "`def f x = ..`"),
    ("def f (x: i32) = x\ng y = f y", "`def g .. = ..`"),
    ('import "a"\nf (x: i32) = x', "`def f x = ..`"),
    ("struct point { float x; }", "`type t = (i32, f32)`"),
    ("type shape = Circle f32 | Square f32", "`type shape = #circle f32 | #square f32`"),
    ("type p = {x: f32} def f (q: p): p = { q with x = 3 }", "`q with x = 3`, without braces"),
    ("def f (p: (i32, i32)) = let x, y = p in x + y", "`let (x, ..) = ..`"),
    ("def f: i32 -> i32 = (+ 1) . (* 2)", "`f >-> g`"),
    ("def f (x: i32) =\n  let _ = assert (x > 0)\n  in x", "`assert (x > 0) x`"),
    # What is not closed, or not there.
    ("def f (xs: []i32) (i: i64) = xs[i", "The `[` at 1:32 is not closed"),
    ("def f (x: i32) = (x + 1\n\ndef g = 1", "The `(` at 1:18 is not closed"),
    ("def f (xs: []i32) =\n  let ys = map f (id xs\n  in ys", "The `(` at 2:18 is not closed"),
    ("def f (x: i32) = x in x", "`in` ends the bindings of a `let`, but there is no open `let`"),
    ("def f (x: i32) = x + ", "`+` stands between two values."),
    ("def f (n: i64) =\n  let x = 5\n  let y = 6", "`let y = x in y`"),
    # Names.
    ("def f (x: Int) = x", "`i32` and `i64`"),
    ("def f (x: array i32) = x", "`[]i32`"),
    ("def f (x: i32) = x == nil", "`#some i32 | #none`"),
    ("def f (xs: []i32) = sort xs", "`radix_sort_int i32.num_bits i32.get_bit xs`"),
    ("def f (x: f32) = i32 x", "`i32.i64 x`"),
    ("def f (x: i32) = x mod 2", "`a % b`"),
    ("def f (x: i32) = x == null", "`#some i32 | #none`"),
    ("def f (p: (i32, i32)) = fst p", "`p.0` and `p.1`"),
    ("def f (n: i64) = np.zeros n", "`replicate n 0`"),
    ("def f (n: i32) = \"n = \" ++ show n", "Futhark has no function that turns a number into a"),
    ("def f (x: i32) (xs: []i32) = elem x xs", "`any (== x) xs`"),
    ("def f (n: i32): f64 = fromIntegral n / 2", "`f64.i32 x`"),
    ("def f (xs: []i32) = xs !! 3", "`xs[i]`"),
    # Arguments.
    ("def f (ys: []i32) (i: i64) = ys(i)", "`ys[i]`"),
    ("def f (x: f32) = x * 0.5f", "`2.5f32`"),
    ("def f (n: i64) (xs: [n]i32): [2n]i32 = xs ++ xs", "`2 * n`"),
    ("def f () = 3i32\ndef g = f + 1", "`f ()`"),
    ("def f (xs: []i32): i32 = reduce (+) xs", "`reduce (+) 0 xs`"),
    ("def f (xs: []i32): i32 = foldl (+) xs 0", "`foldl f start xs`"),
    ("def f (xs: *[]i32) (is: []i64) (vs: []i32) = scatter xs vs is",
     "`scatter target indices values`"),
    ("def f (n: i64) (x: f32) = replicate x n", "`replicate n x`"),
    ("def f (xs: []i32) = let y = xs [0] in y", "`xs[0]`"),
    ("def f (xs: []i64) = reduce 0 (+) xs", "The function comes first"),
    ("def f (xs: []i64) = map xs (+1)", "The function comes first"),
    ("def f (xs: []i32) = map (+) xs", "The function takes 2 arguments, but here it gets 1."),
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
    ("def f (x: i32) = let y = \"abc\" in y + x", "`map2 (+) xs ys`"),
    ("def f (x: i32[]) = x[0]", "`[]i32`"),
    ("def f (xs: []i32) = reverse (map xs)", "The function comes first"),
    ("def f 'a (xs: []a) = map (+ 1) xs", "`a` stands for any type"),
    ("def xs = [1, 2.0, 3i32]", "1:14 This element determines the type."),
    ("def xs = [1, 2.0, 3i32]", "`f64.i32 x`"),
    ("def f (xs: []i32) (x: f64) = xs[x / 2]", "`i64.f64 x`"),
    ("def f (n: i32) = loop (a, b) = (0, 1) for _i < n do a + b", "complete value for the next"),
    ("entry main (f: i32 -> i32) (x: i32) = f x", "take a number or a variant that selects the"),
    # Further ones, of people who know Haskell, OCaml, Python, NumPy or C.
    ("def f (xs: []f32) = xs.mean()", "`f32.sum xs / f32.i64 (length xs)`"),
    ("def f (n: i64) = arange n", "`iota n`"),
    ("def f (xs: []f32) = xs.T", "`transpose xss`"),
    ("def f (a: [][]f32) (b: [][]f32) = dot a b", "`f32.sum (map2 (*) xs ys)`"),
    ("def f (xs: []f32) = argmax xs", "`zip xs (indices xs)`"),
    ("def f (xs: []f32) = -xs", "`map (\\x -> -x) xs`"),
    ("def f (x: i32) (b: bool) = x > 0 & b", "`a && b`"),
    ("def f (x: i32) = x > 0 | x < 3", "`a || b`"),
    ("def f (x: i32) = 0 < x < 3", "`a < b && b < c`"),
    ("def f (x: i32) = if x > 0: 1 else: 2", "`if c then a else b`"),
    ("def f (x: i32) = 1 if x > 0 else 2", "`if c then a else b`"),
    ("def f(x, y): return x + y", "`def f (x: i32): i32 = x + 1`"),
    ("def f x | x > 0 = 1\n        | otherwise = 2", "`if c then a else b`"),
    ("def f 0 = 1\ndef f n = n * f (n - 1)", "`match x case 0 -> a case _ -> b`"),
    ("def f (xs: []i32) = head:tail xs", "`tail` is a value, but `:` must be followed by a type."),
    ("def f (m: Maybe i32) = m", "`#some i32 | #none`"),
    ("type maybe a = #just a | #nothing", "`type maybe 'a = ..`"),
    ("type maybe 'a = #just a | #nothing\ndef f (x: maybe) = x", "`maybe i32`"),
    ("type t = {x: i32}\ndef f (t: t) = t->x", "Write a field after a dot: `r.x`."),
    ("type t = {x: i32, y: i32}\ndef f = {x: 1, y: 2} : t", "`{x: i32, y: i32}`"),
    ("type t = {x: i32, y: i32}\ndef f (a: t) = a with {x = 3}", "`r with x = 3`"),
    ("type t = {x: i32, y: i32}\ndef f : t = t(1, 2)", "`{x = 1}`"),
    ("let f x = x in f 3", "`def main = let f x = x in f 3`"),
    ("let () = print 3", "`def x = (1, 2)`."),
    ("def f (x: i32) : i32 =\n  begin\n    x + 1\n  end",
     "Group expressions with parentheses."),
    ("def f (x: i32) = match x with 0 -> 1 | _ -> 2", "`match x case 0 -> a case _ -> b`"),
    ("def f (xs: []i32) = List.map (\\x -> x + 1) xs", "`length xs`"),
    ("def f (xs: []i32) = loop s = 0 for i < length xs do s + xs[i] end",
     "Group expressions with parentheses."),
    ("def f (xs: []i32) = loop s = 0 for x in xs s + x", "`loop x = start for i < n do next`"),
    ("def f (xs: []i32) = loop (s = 0) for x in xs do s + x", "`loop x = start for i < n do next`"),
    ("def f (xs: []i32) = loop s = 0, t = 1 for x in xs do (s + x, t)",
     "`loop (a, b) = (0, 1) for i < n do (b, a + b)`"),
    ("def f (n: i32) = loop x = 1 while x < n x * 2", "`loop x = start while c do next`"),
    ("def f (xs: []i32) = map (\\x, y -> x + y) xs", "`\\x y -> x + y`"),
    ("def f (a: i32, b: i32) = a + b\ndef g = f(1)", "`f (a, b)`"),
    ("def f (x: i32) = printf \"%d\" x", "Programs cannot print;"),
    ("def f (xs: *[]i32) = xs[0] <- 3", "`let ys = xs with [0] = 3`"),
    ("def f (xs: []i32) = xs[0] += 1", "`let ys = xs with [0] = 3`"),
    ("def f (xs: *[]i32) = let xs[0] := 3 in xs", "`let xs[i] = v`"),
    ("def f (n: i64) (m: i64) = replicate n m 0", "`replicate n (replicate m 0)`"),
    ("def f (x: f32) = x as i32", "`f64.i32 x`"),
    ("#define N 3\ndef f = N", "`def n = 3`"),
    ("module m = { def x = 3 }\ndef f = m::x", "`[x] ++ xs`"),
    ("def f (x: i32) = x.abs", "`i32.abs`"),
    ("def f (xs: []i32) = xs.sum", "`i32.sum`"),
    ("def f 'a (x: 'a) = x", "`def f 'a (x: a): a = x`"),
    ("def f <a> (x: a) = x", "`def f 'a (x: a): a = x`"),
    ("def f (x: a) = x", "`def f 'a (x: a) = ..`"),
    ("def f [n: i64] (xs: [n]i32) = xs", "`def f [n] (xs: [n]i32) = ..`"),
    ("def f (xs: i32 array) = xs", "Write an array of it as `[]i32`."),
    ("def f (xs: [3,4]i32) = xs", "`[n][m]i32`"),
    ("def f (xs: []i32) : (i32, []i32) = xs[0], xs[1:]", "`(i32, f32)`"),
    ("def f (x: i32) : i32, i32 = (x, x)", "`(i32, f32)`"),
    ("def (a, b) = (1, 2)", "`def x = (1, 2)`."),
    ("def f (x: i32) = { let y = x; y + 1 }", "Braces hold the fields of a record; the value"),
    ("def f (x: i32) = x match case 0 -> 1", "`match x case 0 -> a case _ -> b`"),
    ("def f (x: i32) = switch x case 0 -> 1", "`match x case 0 -> a case _ -> b`"),
    ("def f (x: i32) = match x\n  0 -> 1\n  _ -> 2", "`match x case 0 -> a case _ -> b`"),
    ("def f (x: i32, y: i32) = match x, y case 0, 0 -> 1 case _ -> 2",
     "`match (x, y) case (0, 0) -> a case _ -> b`"),
    ("def f (x: i32) = match x case y when y > 0 -> 1 case _ -> 2",
     "`case y -> if c then a else b`"),
    ("def f (x: i32) = match x case y if y > 0 -> 1 case _ -> 2", "`case y -> if c then a else b`"),
    ("def f (x: i32) = match x case 0 | 1 -> 1 case _ -> 2", "`case 0 -> a case 1 -> a`"),
    ("def f (x: i32) = let y = ref x in !y", "`let y = x + 1`"),
    ("def f (x: i32) = raise \"bad\"", "`assert c x`"),
    ("def f (x: i32) = assert x > 0 x", "`assert (x > 0) x`"),
    ("def f (x: i32) = (x, )", "A tuple has at least two components; `(x)` is `x`."),
    ("def f (xs: []i32) = xs.[0]", "Read an element by its index: `xs[0]`."),
    ("def f (p: (i32, i32)) = p[0]", "The components of a tuple are `p.0` and `p.1`."),
    ("def f (p: (i32, i32)) = p.1 + p.2", "Tuple components count from 0"),
    ("def f (xs: []i32) = take 3\ndef g = f [1] + 1",
     "It is a function that still takes an argument"),
    ("def f (xs: []i32) = append xs [1]", "`xs ++ ys`"),
    ("def f (n: i64) = 0..n", "`a..b..<c`"),
    ("def f (xs: []i32) = enumerate xs", "`zip (indices xs) xs`"),
    ("def f (xs: []i32) = zipWith (+) xs xs", "`map2 f xs ys`"),
    # Numbers.
    ("def f (x: f32) = x * .5", "Write digits on both sides of the point"),
    ("def f = [.25]", "Write digits on both sides of the point"),
    ("def f = f32.cos .5", "Write digits on both sides of the point"),
    ("def f (x: f32) = 5. + x", "Write digits on both sides of the point"),
    ("def f = 5.f32", "Write digits on both sides of the point"),
    ("def f = 1.e3", "Write digits on both sides of the point"),
    ("def f = 0x1.p3", "Write digits on both sides of the point"),
    ("def f = 0x1p3", "Write digits on both sides of the point"),
    ("def f = 0xA.8", "A hexadecimal number with a point needs a binary exponent"),
    ("def f = 1.5e3_", "An exponent cannot contain `_`"),
    ("def f = 0b102", "The digits of a binary number are 0 and 1"),
    ("def f = 0o17", "hexadecimal `0x1f`"),
    ("def f = 1i33", "`2.5f32`"),
    ("def f = 1.5e", "`1.5e3`"),
    ("def f = 1e1_0", "An exponent cannot contain `_`"),
    ("def f = '\\x41'", "`'\\65'`"),
    # Sizes.
    ("def f (xs: []i32): [length xs]i32 = map (+ 1) xs", "`[n] (xs: [n]..)`"),
    ("def f [k] (x: i32) = x", "`(k: i64)`"),
    ("def f (xs: []i32) = let [m] ys = filter (> 0) xs in m", "`let [m] (ys: [m]i32) = ..`"),
    ("def f [n] [m] (xs: [n]i32) (ys: [m]i32) = map2 (+) xs ys", "say so: `.. :> [n]i32`."),
    ("def f [n] (x: [n]i32): [n]i32 = filter (> 0) x", "1:33 `filtered` is made by `filter` here."),
    (
        "def f (xs: []i32) =\n  let a = filter (> 0) xs\n  let b = filter (< 0) xs\n"
        "  in map2 (+) a b",
        "2:11 `filtered` is made by `filter` here. 3:11 `filtered'` is made by `filter` here.",
    ),
    ("def f [n] (xs: [n]i32): [n]i32 = filter (> 0) xs", "Otherwise the type of the result is"
     " `[]i32`."),
    ("def f [n] [m] (xs: [n]i32) (ys: [m]i32): [n]i32 = ys", "say so: `.. :> [n]i32`. Otherwise the"
     " type of the result is `[m]i32`."),
    ("def f [n] (xs: [n]i32): ([n]i32, i32) = (xs ++ [1], 2)", "They never are. The type of the"
     " result is `([n + 1]i32, i32)`."),
    ("def f [n] (xs: [n]i32) = map2 (+) xs (xs ++ xs)", "They are equal only where `n` is 0."),
    ("def f (a: i64) (b: i64): [a * b]i32 = replicate (a * b * 2) 0", "only where `a * b` is 0."),
]  # fmt: skip


@pytest.mark.parametrize(("source", "way_out"), MISTAKES, ids=lambda x: str(x)[:60])
def test_a_mistake_has_a_way_out(source: str, way_out: str) -> None:
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    others = [f"{at.line}:{at.col} {says}" for at, says in caught.value.related]
    assert way_out in " ".join([caught.value.hint, *others])
    told = " ".join([caught.value.message, caught.value.hint, *others])
    assert "?" not in told
    lines = source.count("\n") + 1
    assert 1 <= caught.value.span.line <= lines


def test_a_hint_for_one_mistake_is_not_told_of_another() -> None:
    for source, hint in (
        ("def f (x: i32) = {a = if x > 0 then 1 }", "An `if` needs an `else`."),
        ("def f (b: bool) (xs: [][]bool) = map (reduce (+) b) xs", ""),
        (
            "def f (x: i32) = let y = assert (x > 0) x in in y",
            "`in` ends the bindings of a `let`, but there is no open `let` here.",
        ),
    ):
        with pytest.raises(CompileError) as caught:
            check(parse(source), Ctx())
        assert hint in caught.value.hint
        assert "Call it as" not in caught.value.hint


def test_a_constant_of_a_module_is_not_told_of_as_what_is_given() -> None:
    """`k` alone is no name where `m.f` is called: nothing is claimed with it."""
    with pytest.raises(CompileError) as caught:
        check(
            parse(
                "module m = {def k = 3i64 def f (xs: [k]i32) = xs[0]}\n"
                "def g (ys: []i32) = m.f (filter (> 0) ys)"
            ),
            Ctx(),
        )
    assert caught.value.hint == "The sizes `k` and `filtered` are not the same."


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


@pytest.mark.parametrize(
    "source", ["# sums\ndef f = 1", "def f =\n let a = 1;\n a", "def f = [1; 2]"]
)
def test_what_follows_a_skipped_character_is_not_told(source: str) -> None:
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    assert caught.value.others == ()


def test_other_declarations_are_told_of_beside_a_skipped_character() -> None:
    with pytest.raises(CompileError) as caught:
        parse("def f = (1\ndef g = 1;\ndef h = [1,,2]\ndef k = 1")
    told = [caught.value, *caught.value.others]
    assert [one.span.line for one in told] == [2, 2, 3]


def test_a_size_that_has_no_name_is_not_claimed() -> None:
    """`xs :> [filtered]i32` could not be written: nothing in the program is called that."""
    source = "def f [n] (xs: [n]i32) = map2 (+) (filter (> 0) xs) xs"
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    assert "say so of what `filter` gives: `.. :> [n]i32`" in caught.value.hint
    assert "made by `filter`" in caught.value.related[0].says


def test_a_size_of_a_loop_has_a_name_of_its_own() -> None:
    source = "def f [n] (xs: [n]i32) = map2 (+) (loop ys = xs for i < n do filter (> 0) ys) xs"
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    assert "expected `[k]i32`, found `[n]i32`" in caught.value.message
    assert caught.value.related[0].says == "`k` is the size that this loop ends with."
    assert "say so of what the loop gives: `.. :> [n]i32`" in caught.value.hint


@pytest.mark.parametrize(
    ("source", "message", "told"),
    [
        (
            "def f [k] (xs: [k]i32) =\n  map2 (+) (loop ys = xs for _i < 3 do ys ++ ys) xs",
            "expected `[k']i32`, found `[k]i32`",
            ["`k'` is the size that this loop ends with."],
        ),
        (
            "def f [n] (xs: [n]i32) =\n  let a = loop ys = xs for _i < 3 do ys ++ ys\n"
            "  let b = loop ys = xs for _i < 3 do ys ++ ys\n  let k' = 1\n"
            "  in map2 (+) (map (+ k') a) b",
            "expected `[k]i32`, found `[k'']i32`",
            ["`k` is the size that this loop ends with.", "`k''` is the size that this loop ends"],
        ),
        (
            "def f [k] (xs: [k]i32) (c: bool) =\n  map2 (+) (if c then xs else [1, 2]) xs",
            "expected `[k']i32`, found `[k]i32`",
            ["`k'` is the size of one branch or the other of this `if`."],
        ),
        (
            "def f [n] (xs: [n]i32) (c: i32) =\n"
            "  map2 (+) (match c case 0 -> xs case 1 -> [c] case _ -> [1, 2]) xs",
            "expected `[n'']i32`, found `[n]i32`",
            ["`n''` is the size of one case or another of this `match`."],
        ),
        (
            "def f [filtered] (xs: [filtered]i32) = map2 (+) (filter (> 0) xs) xs",
            "expected `[filtered']i32`, found `[filtered]i32`",
            ["`filtered'` is made by `filter` here."],
        ),
    ],
)
def test_a_size_that_nobody_names_is_called_like_no_other(
    source: str, message: str, told: list[str]
) -> None:
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    assert message in caught.value.message
    assert len(caught.value.related) == len(told)
    for one, says in zip(caught.value.related, told, strict=True):
        assert says in one.says


CLAIMS = [
    "def f [n] [m] (xs: [n]i32) (ys: [m]i32) = map2 (+) xs (ys :> [n]i32)",
    "def f [n] (xs: [n]i32): [n]i32 = filter (> 0) xs :> [n]i32",
    "def f (xs: []i32) =\n  let [k] (a: [k]i32) = filter (> 0) xs\n"
    "  in map2 (+) a (filter (< 0) xs :> [k]i32)",
    "def f (xs: [](i32, i32)) = map (\\(a, b) -> a + b) xs",
    "def f (n: i64): []i32 = map i32.i64 (iota n)",
    "def f (xs: [][]f32): [][]f64 = map (map f64.f32) xs",
    "def f (xs: []i64) = i64.sum <| map (+1) xs",
    "def f (x: i32) = match x case 0 -> 1 case _ -> x",
    "def f (n: i32) = loop (a, b) = (0, 1) for _i < n do (b, a + b)",
    "type p = {x: f32} def f (q: p): p = q with x = 3",
    "def f: i32 -> i32 = (* 2) >-> (+ 1)",
    "def f (x: i32) = let y = assert (x > 0) x in y",
    "def f (x: i32) (xs: []i32) = any (== x) xs",
    "def f (xs: []i32): i32 = foldl (+) 0 xs",
    "def f (xs: *[]i32) (is: []i64) (vs: []i32) = scatter xs is vs",
    "def f [n] (xs: [n]i32): [2 * n]i32 = xs ++ xs :> [2 * n]i32",
    "def f [n] (xs: [n]i32): [n]i32 = map (+ 1) xs",
    "def f (xs: []i32) = let [m] (_: [m]i32) = filter (> 0) xs in m",
    "def xs = [1, 2.0, f64.i32 3i32]",
    "def f (xs: []i32) (x: f64) = xs[i64.f64 (x / 2)]",
    "def f (xs: []f32) = f32.sum xs / f32.i64 (length xs)",
    "def f (xs: []f32) = zip (indices xs) xs",
    "def f (xs: []f32) = zip xs (indices xs)",
    "def f (n: i64) (step: f32) = tabulate n (\\i -> f32.i64 i * step)",
    "def f [n] (xs: [n]f32) (ys: [n]f32) = f32.sum (map2 (*) xs ys)",
    "def f (xs: []f32) = map (\\x -> -x) xs",
    "def f (n: i64) (m: i64) = replicate n (replicate m 0)",
    "def f (xs: *[]i32) = let ys = xs with [0] = 3 in ys",
    "def f (xs: *[]i32) (i: i64) (v: i32) = let xs[i] = v in xs",
    "def main = let f x = x in f 3",
    "def f (a: i32) (b: i32) (c: i32) = a < b && b < c",
    "def f (x: i32) (y: i32) = match (x, y) case (0, 0) -> 1 case _ -> 2",
    "def f (x: i32) = match x case y -> if y > 0 then y else 2",
    "def f 'a (x: a): a = x",
    "def f [n] (xs: [n]i32) = (n, xs)",
    "type maybe 'a = #just a | #nothing def f (x: maybe i32) = x",
    "def f: {x: i32, y: i32} = {x = 1, y = 2}",
    "def f = (0x1f, 0b101, 0rXIV, 1.5e10, 2.5f32, 2i64, 2u8)",
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


BOTH_PLACES = [
    ("def f: i64 =\n  1.5f32", (1, 8, "This is the type of the result.")),
    ("def f (x: i32) =\n  if x > 0 then x\n  else 1.5f32", (2, 17, "This is the other branch.")),
    ("def f (x: i32) = match x\n case 0 -> 1i32\n case _ -> true", (2, 12, "the first case")),
    ("def f (x: f32) = [x,\n  true]", (1, 19, "This is the first element.")),
    ("def f (x: i32) = x +\n  true", (1, 18, "This is the left side.")),
    (
        "def f (x: i32) = loop y = x for _i < 3i32 do\n  true",
        (1, 27, "The loop starts with this value."),
    ),
    (
        "def f (xs: []i32) =\n map2 (+) xs\n  (filter (> 0) xs)",
        (3, 4, "`filtered` is made by `filter` here."),
    ),
    ("def g (x: i32) = x\ndef f = g true", (1, 5, "`g` has the type `i32 -> i32`.")),
    ("def f (g: i32 -> i32) =\n g true", (1, 8, "`g` has the type `i32 -> i32`.")),
    ("def g (x: i32) = x\ndef f = g 1 2", (1, 5, "`g` has the type `i32 -> i32`.")),
    ("def f (xs: *[]i32) =\n let ys = xs with [0] = 1\n in xs", (2, 11, "`xs` is consumed here.")),
    ("def f (xs: []i32) =\n xs with [0] = 1", (1, 8, "`xs` is bound here.")),
    (
        "def f (xs: []i32) =\n let n = 1i64 in map (\\i -> xs with [i] = 1) [n]",
        (1, 8, "bound here"),
    ),
    ("def g (x: *[]i32) (y: []i32) = 1i32\ndef f (x: *[]i32) = g x x", (2, 25, "the other")),
    ("def f = 1i32\ndef f = 2i32", (1, 5, "This is the first definition.")),
    ("type t = i32\ntype t = i64", (1, 1, "This is the first definition.")),
    ("def f (x: i32) = let (a, a) = (x, x) in a", (1, 23, "It is bound here first.")),
    (
        "def f (n: i64) (xs: [n]i32) =\n"
        " let n = 2i64\n let ys = replicate n 0i32\n in map2 (+) xs ys",
        (1, 8, "This is one `n`."),
    ),
]


ARGUMENTS = [
    (
        "def f (p: (i64, i64)) : [p.0]i32 = replicate p.0 1\n"
        "def g (a: i64) (b: i64) : [b]i32 = f (a, 3)",
        (2, 38, "`x` is this argument."),
    ),
    (
        "def f (n: i64) : [n]i32 = replicate n 1\n"
        "def g (h: i64 -> i64) (b: i64) : [b]i32 = f (h 1 + h 2 * h 1)",
        (2, 46, "`n` is this argument."),
    ),
]


@pytest.mark.parametrize(("source", "other"), ARGUMENTS)
def test_a_size_from_an_argument_without_a_name_tells_the_argument(
    source: str, other: tuple[int, int, str]
) -> None:
    with pytest.raises(CompileError) as caught:
        Compilation(source).result("typed")
    line, col, says = other
    assert [s for at, s in caught.value.related if (at.line, at.col) == (line, col)] == [says]


@pytest.mark.parametrize(("source", "other"), BOTH_PLACES, ids=lambda x: str(x)[:60])
def test_both_places_that_disagree_are_told(source: str, other: tuple[int, int, str]) -> None:
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    found = [(at.line, at.col, says) for at, says in caught.value.related]
    line, col, says = other
    assert [s for at, c, s in found if (at, c) == (line, col) and says in s], found
    assert all(at != caught.value.span for at, _ in caught.value.related)


MISFITS = [
    ("module m: {val y: i32} = {\n def y = true}", 2, {(1, 12): "requires it"}),
    ("module type s = {val y: i32}\nmodule m: s = {\n def y = true}", 3,
     {(1, 18): "requires it", (2, 11): "is used here"}),
    ("module f (p: {val y: i32}) = {def z = p.y}\nmodule a = {\n def y = true}\nmodule b = f a", 3,
     {(1, 15): "requires it", (4, 12): "is used here"}),
    ("module m: {type t = i32} = {\n type t = i64}", 2, {(1, 21): "requires it"}),
    ("module m: {type t} = {\n type^ t = i64 -> i64}", 2, {(1, 12): "requires it"}),
    ("module m: {type t 'a} = {\n type t = i64}", 2, {(1, 12): "requires it"}),
    ("module type s = {val y: i32}\nmodule m: s =\n {}", 2, {(1, 18): "requires it"}),
]  # fmt: skip


@pytest.mark.parametrize(("source", "line", "others"), MISFITS, ids=lambda x: str(x)[:60])
def test_a_misfit_is_told_where_the_module_defines_it(
    source: str, line: int, others: dict[tuple[int, int], str]
) -> None:
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    assert caught.value.span.line == line
    found = {(at.line, at.col): says for at, says in caught.value.related}
    assert found.keys() == others.keys()
    assert all(others[place] in says for place, says in found.items())


def test_a_misfit_of_an_imported_module_is_told_where_it_is_used() -> None:
    """Its file may be another's; the definition is the other place."""
    files = {"a.fut": "module m = {def y = true}"}
    told = answer({
        "op": "check",
        "source": 'import "a"\nmodule k: {val y: i32} = m',
        "files": files,
    })  # fmt: skip
    assert told["error"]["span"][0] == 2
    assert [one["span"][4:] for one in told["error"]["related"]] == [["a.fut"]]


def test_what_uses_a_wrong_module_type_is_not_told_of_again() -> None:
    with pytest.raises(CompileError) as caught:
        check(parse("module type s = {val y: t}\nmodule m: s = {}\nmodule f (p: s) = {}"), Ctx())
    assert caught.value.others == ()


def test_further_equations_of_a_wrong_function_are_not_told_of() -> None:
    """But those that are wrong in themselves, and a second definition of what is no function."""
    source = "def f 0 = 1\ndef f 1 = 2\ndef f n = n\ndef g = true + 1\ndef g = 2\ndef h = y"
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    assert [e.span.line for e in (caught.value, *caught.value.others)] == [1, 4, 5, 6]


OWN_NAMES = [
    ("type point = {x: f32, y: f32}\ndef f (p: point): i32 = p",
     "expected `i32`, found `point`. `point` is `{x: f32, y: f32}`."),
    ("type point = {x: f32, y: f32}\ndef f (x: f32): []point = [{x, z = x}]",
     "expected `[]point`, found `[1]{x: f32, z: f32}`. `point` is"),
    ("type t = #a | #b i32\ndef f: t = #c",
     "expected `t`, found a value `#c`. `t` is `#a | #b i32`."),
    ("type pair = (i32, i32)\ndef f (x: (i32, i32)): i32 = x", "found `(i32, i32)`."),
    ("module m = {type t = {x: i32}}\ndef f: m.t = {x = true}", "expected `{x: i32}`"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "told"), OWN_NAMES, ids=lambda x: str(x)[:60])
def test_types_have_the_programs_own_names(source: str, told: str) -> None:
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    assert told in caught.value.message
