"""Programs of kinds that people write: each runs to its result; what is wrong nearby is refused."""

from __future__ import annotations

import pytest

from compiler.base.context import Ctx
from compiler.base.errors import CompileError, Limitation
from compiler.driver.worker import answer
from compiler.frontend.check import check
from compiler.frontend.parser import parse

RUN = {
    "a result whose size is what calls of functions give": (
        "def most (n: i64) = i64.max n 3\n"
        "def taken (ks: []i64) (xs: []i32) =\n"
        " let k = reduce (+) 0 ks in (take k xs, rep k: [k]i64)\n"
        "def made (flag: bool) (n: i64) =\n"
        " let xs = if flag then sized (most n) [] else replicate (most n) 2i64\n"
        " let ys = match flag case true -> replicate (most n) 1 case false -> iota (most n)\n"
        " let zs = let c = 1 in map (+ c) (iota (most n)) in (map2 (+) xs ys, zs)\n"
        "def app 'a 'b (f: a -> b) (x: a): b = f x\n"
        "entry main (ks: []i64) (xs: []i32) =\n"
        " (map2 (\\x k -> x + i32.i64 k) (taken ks xs).0 (taken ks xs).1, (app (taken ks) xs).0,\n"
        "  map2 (+) (made false 2).0 (made false 2).1)",
        "[1i64, 2i64] [4, 5, 6, 7]",
        "[7i32, 8i32, 9i32]\n[4i32, 5i32, 6i32]\n[3i64, 5i64, 7i64]",
    ),
    "a parameter whose size is what a call of a parameter before gives": (
        "def f (h: i32 -> i64) q = zip (iota (h 3)) q\n"
        "def g (h: i32 -> i64) = \\q -> zip (iota (h 3)) q\n"
        "def both (h: i32 -> i64) ((q: []i32), r) = map2 (+) (map2 (+) (replicate (h 3) 1) q) r\n"
        "def of_sum (ks: []i64) q = zip (replicate (i64.sum ks) true) q\n"
        "entry main (n: i64) (xs: []i32) =\n"
        " let h (_: i32) = n let ys = xs :> [h 3]i32 let ks = [1, 2]\n"
        " in (f h ys, g h ys, both h (ys, ys), of_sum ks (xs :> [i64.sum ks]i32))",
        "3i64 [1, 2, 3]",
        "[(0i64, 1i32), (1i64, 2i32), (2i64, 3i32)]\n[(0i64, 1i32), (1i64, 2i32), (2i64, 3i32)]\n"
        "[3i32, 5i32, 7i32]\n[(true, 1i32), (true, 2i32), (true, 3i32)]",
    ),
    "a function that is applied at once, each of whose calls gives an array of another size": (
        "entry main (n: i64) =\n"
        " ((\\g -> (g n, g 3)) (\\k -> filter (> 1) (iota k)),\n"
        "  (\\k -> filter (> 1) (iota k)) |> (\\g -> (g n, g 3)),\n"
        "  (\\g xs -> map (\\x -> length (g x)) xs) (\\k -> filter (> 1) (iota k)) [n, 3])",
        "4i64",
        "([2i64, 3i64], [2i64])\n([2i64, 3i64], [2i64])\n[2i64, 1i64]",
    ),
    "a function before the operand whose size a call gives": (
        "def rows [n] (ks: []i64) (xs: [n]i64) =\n"
        " map (\\a -> let (x, y) = split a in (x, map2 (+) xs y))\n"
        " <| transpose <| tabulate (i64.sum ks + n) (\\i -> [i, i * 10])\n"
        "entry main (ks: []i64) (xs: []i64) =\n"
        " ((rows ks xs)[1], flatten <| tabulate_2d (i64.sum ks) 2 \\r c -> r + c)",
        "[1i64, 1i64] [4i64, 5i64]", "([0i64, 10i64], [24i64, 35i64])\n[0i64, 1i64, 1i64, 2i64]",
    ),
    "a record among the arguments that a size is a part of": (
        "type cam = {n: i64, k: i32} def d : cam = {n = 9, k = 3}\n"
        "def square (xs: []i32) (c: cam) = let n = c.n in replicate n (replicate n (c.k + xs[0]))\n"
        "entry main (xs: []i32) (n: i64) =\n"
        " let enc (x: i32) = x + 1\n"
        " let both 't [a][b] (x: [a][b]t) (f: i32 -> i32) = (x[0], f 2)\n"
        " in (map (map enc) (square xs (d with n = n)),\n"
        "  square xs (d with n = n) |> map (map enc),\n"
        "  map (map (+ 2)) <| square xs (d with n = n), both (square xs (d with n = n)) (+ xs[0]))",
        "[1] 1i64", "[[5i32]]\n[[5i32]]\n[[6i32]]\n([4i32], 3i32)",
    ),
    "a type of which the module type says that it has no size of its own, made one that has": (
        "module type key = {type~ ctx val use : ctx -> i32}\n"
        "module type table = {type ctx type~ t [n] val mk [n] : ctx -> [n]i32 -> t [n]\n"
        " val sum [n] : t [n] -> i32}\n"
        "module inner (K: key) : table with ctx = K.ctx = {type~ ctx = K.ctx\n"
        " type~ t [n] = (ctx, [n]i32) def mk [n] (c: ctx) (xs: [n]i32) : t [n] = (c, xs)\n"
        " def sum [n] ((c, xs): t [n]) = K.use c + i32.sum xs}\n"
        "module outer (K: key) : table with ctx = K.ctx = {module i = inner K type ctx = i.ctx\n"
        " type~ t [n] = i.t [n] def mk [n] (c: ctx) (xs: [n]i32) = i.mk c xs\n"
        " def sum [n] (x: t [n]) = i.sum x}\n"
        "module o = outer {type~ ctx = ?[n].[n]i32 def use (c: ctx) = i32.sum c}\n"
        "entry main (c: []i32) (xs: []i32) = o.sum (o.mk c xs)",
        "[1, 2] [4, 5, 6]", "18i32",
    ),
    "a local function as an argument, and a fresh result": (
        "def keep 't (f: t -> t -> t) (ne: t) (ts: []t) : t = reduce f ne ts\n"
        "entry main [n] (xs: [n][2]i32) : *[2]i32 =\n"
        " let add [k] (a: [k]i32) (b: [k]i32) = map2 (+) a b in keep add (rep 1) (copy xs)",
        "[[1, 2], [3, 4]]", "[5i32, 7i32]",
    ),
    "size parameters of a local function, and marks of types, with and without space": (
        "module type m = {type ^f type~s type ~ r val ap : f -> i32 val len : s -> r -> i64}\n"
        "module n : m = {type ^ f = i32 -> i32 type~s = []i32 type ~r = []bool\n"
        " def ap (g: f) = g 1 def len (a: s) (b: r) = length a + length b}\n"
        "entry main [k][m] (xs: [k][m]i32) =\n"
        " let turned [a][b]'t[c] (x: [a][b][c]t) = map transpose x in turned [xs]",
        "[[1, 2]]", "[[[1i32], [2i32]]]",
    ),
    "an entry point with a parameter and a function": (
        "entry main [n] (xs: [n]i32) : i64 -> i32 -> i32 = \\i y -> xs[i] - y",
        "[1, 2] 1i64 5", "-3i32",
    ),
    "operators in a module type, without parentheses": (
        "module type num = {type t val +: t -> t -> t val ** : t -> t -> t val <=>: t -> t -> bool"
        " val `at` [n] 'a : [n]a -> i64 -> a}\n"
        "module n : num with t = i32 = {type t = i32 def (+) (a: i32) (b: i32) = a i32.+ b * 2\n"
        " def a ** b = a + b + b def (<=>) (a: t) (b: t) = a < b\n"
        " def at 'a (xs: []a) (i: i64) = xs[i]}\n"
        "entry main (x: i32) = (x n.+ x, x n.** x, x n.<=> 4, [x, 7] `n.at` 1)",
        "3", "9i32\n15i32\ntrue\n7i32",
    ),
    "a result of which the type says that a part is fresh, and all of it is": (
        "module type T = {val f [n] : *[n]i32 -> [n]i32 -> *([n]i32, [n]i32)}\n"
        "module m : T = {\n"
        " def f [n] (a: *[n]i32) (b: [n]i32): (*[n]i32, [n]i32) = (a, map (+ 1) b)}\n"
        "entry main [n] (a: *[n]i32) (b: [n]i32) =\n"
        " let (x, y) = m.f a b in (x with [0] = b[0], y with [0] = b[1])",
        "[1, 2] [3, 4]", "[3i32, 2i32]\n[4i32, 5i32]",
    ),
    "a copy of a value whose size its module keeps to itself": (
        "module m: {type~ t val mk: i64 -> t val sum: t -> i64 val up: *t -> *t} = {\n"
        " type~ t = []i64 def mk (n: i64): t = iota n def sum (x: t) = i64.sum x\n"
        " def up (x: *t): *t = x with [0] = 9}\n"
        "entry main (n: i64) = let a = m.mk n let b = m.up (copy a) in (m.sum a, m.sum b)",
        "4i64", "6i64\n15i64",
    ),
    "a local function that is applied at two types": (
        "entry main (x: i32): i32 = let apply f y = f y in apply (apply (i32.+) x) x",
        "3", "6i32",
    ),
    "a loop whose body gives a size that is the same as a polynomial": (
        "def both [n] (xs: [n]i32) (ys: [n - 1 + 1]i32): [n - 1 + 1]i32 = map2 (+) xs ys\n"
        "entry main [n] (xs: [n]i32) (ys: [n]i32): [n]i32 = loop xs for _i < 2 do both xs ys",
        "[1, 2] [3, 4]", "[7i32, 10i32]",
    ),
    "a local function that uses an earlier one of its name": (
        "entry main (x: i32) =\n let f (y: i32) = y * 2\n let f (y: i32) = f y + 1\n in f x",
        "3", "7i32",
    ),
    "a function of a module named like one of the prelude": (
        "module m = {def map f {data} = {data = map f data} def reverse xs = reverse xs}\n"
        "entry main (xs: []i32) = m.reverse (m.map (+ 1) {data = xs}).data",
        "[1, 2]", "[3i32, 2i32]",
    ),
    "an operator that is defined by the built-in one": (
        "module m = {def (+) (a: i32) (b: i32) = a + b * 2 def a - b = a + b - 1i32}\n"
        "entry main (x: i32) = (x m.+ 1, x m.- 1)",
        "5", "7i32\n6i32",
    ),
    "an entry point named like what was opened": (
        "module m = {def twice (x: i32) = x * 2}\nopen m\nentry twice (x: i32) = twice x + 1\n"
        "entry main = twice",
        "3", "7i32",
    ),
    "a parametric module that opens an earlier one of its name": (
        "module a = {module mk (T: {val k: i32}) = {def k = T.k}}\nopen a\n"
        "module mk (T: {val k: i32}) = {open mk T def k1 = k + 1}\nmodule m = mk {def k = 3i32}\n"
        "entry main (x: i32) = x - 3 + m.k1",
        "3", "4i32",
    ),
    "a module exports its own name, not what it opened locally": (
        "module a = {def v = 1i32 def w = 5i32}\n"
        "module b = {def v = 2i32 local open a def x = v}\n"
        "module c = {local open a open a}\nmodule d = {local open a def v = 3i32}\n"
        "entry main (x: i32) = (x, b.v, b.x, c.w, d.v)",
        "0", "0i32\n2i32\n1i32\n5i32\n3i32",
    ),
    "a variable hides the module of its name, where it is in scope": (
        "module s = {def q = 1i32 module t = {def p = 4i32}}\n"
        "def grow (s: {q: i32}) = s.q\n"
        "entry main (x: i32) = (grow {q = x}, s.q, (\\s -> s.t.p) {t = {p = true}}, s.t.p)",
        "9", "9i32\n1i32\ntrue\n4i32",
    ),
    "a module that was opened hides a value": (
        "def s = {q = 4i32}\nmodule m = {module s = {def q = 1i32}}\nopen m\n"
        "entry main (x: i32) = x + s.q",
        "1", "2i32",
    ),
    "loops over parameters without types": (
        "def rows q = loop q = q for _i < 2i32 do map (\\r -> [r[0], r[2] * 2, i32.sum r]) q\n"
        "def turn a b = loop (x, y) = (a, b) for _i < 3i32 do (y, map (+ 1i32) x)\n"
        "def keep (a: []i32) (b: []i32) =\n"
        " loop x = a for i < 2i32 do loop _y = b for _j < i do x\n"
        "entry main [n] (xs: [n][3]i32) (ys: []i32): ([n][3]i32, ([3]i32, [3]i32), []i32) =\n"
        " ((\\q -> rows (loop q = q for _i < 1i32 do rows q)) xs, turn xs[0] xs[1], keep xs[0] ys)",
        "[[1, 2, 3], [4, 5, 6]] [7, 8]",
        "[[1i32, 52i32, 53i32], [4i32, 130i32, 131i32]]\n"
        "([5i32, 6i32, 7i32], [3i32, 4i32, 5i32])\n[7i32, 8i32]",
    ),
    "loops and branches that give a parameter of a size of its own": (
        "def other (xs: []i32) ys = loop x = xs for i < 2i32 do if i > 3 then x else map (+ i) ys\n"
        "def start xs = loop (a, b) = (xs, [1i32]) for _i < 2i32 do (map (+ 1) a, a)\n"
        "def rows xss = loop x = [] for y in xss do if length y > 9i64 then x else y\n"
        "def within apx (v: #none | #some ([]i32)) =\n"
        " match v case #some b -> #some (apx b) case #none -> v\n"
        "def other_one q (r: #x ([]i32) | #y) =\n"
        " match r case #x _ -> #x (map (+ 1i32) q) case #y -> r\n"
        "def choose a b = if a[0] > 1i32 then map (+ 1) a else map (+ 1) b\n"
        "entry main (xs: []i32) (ys: []i32) =\n"
        " (other xs ys, start xs, rows [xs, xs], choose xs ys,\n"
        "  xs |> (\\x -> if x[0] > 1 then x else ys), (\\f -> (f 2, f 3)) iota,\n"
        "  match within (map (+ 1)) (#some xs) case #some a -> map2 (+) a a case #none -> [0],\n"
        "  match other_one xs (#x ys) case #x a -> a case #y -> [])",
        "[1, 2] [7, 8, 9]",
        "[8i32, 9i32, 10i32]\n([3i32, 4i32], [2i32, 3i32])\n[1i32, 2i32]\n[8i32, 9i32, 10i32]\n"
        "[7i32, 8i32, 9i32]\n([0i64, 1i64], [0i64, 1i64, 2i64])\n[4i32, 6i32]\n[2i32, 3i32]",
    ),
    "two results that may be one array, beside another one that the loop consumes": (
        "entry main (n: i64) =\n let (r, a, b) = loop (r, a, b) = (iota n, iota n, iota n)"
        " for i < 3 do\n  let (a, b) = unzip (map2 (\\x y -> (x + y, y)) a b)\n"
        "  let r = scatter r b a in (r, a, b)\n in (r, a, b)",
        "3i64", "[0i64, 4i64, 8i64]\n[0i64, 4i64, 8i64]\n[0i64, 1i64, 2i64]",
    ),
    "a loop's `*` that its body does not need": (
        "entry main [n] (xs: [n]i32) (ys: *[n]i32) =\n"
        " let (a, i) = loop (e: *[]i32, i) = (xs, 0) while length e != 1 do\n"
        "  let f = map (+ 1) e in (f[1:], i + 1)\n"
        " let b = loop (e: *[n]i32) = xs for _i < 3i32 do let f = map (+ 1) e\n"
        "  in if f[0] > 3 then f else map (+ 2) f\n"
        " let c = loop (e: *[n]i32) = ys for _i < 2i32 do let f = map (+ 1) e in f\n"
        " in (a, i, b, c with [0] = xs[0])",
        "[1, 2, 3] [5, 6, 7]",
        "[5i32]\n2i32\n[6i32, 7i32, 8i32]\n[1i32, 8i32, 9i32]",
    ),
    "branches of different size, one computed inside the function": (
        "def ilog2 (n: i64) : i64 = i64.i32 (63 - i64.clz n)\n"
        "def pad_to k x xs = sized k (xs ++ replicate (k - length xs) x)\n"
        "def padpow2 (x: i32) xs =\n let d = ilog2 (length xs) in\n"
        " if d < 0 || length xs == 2**d then (xs, d) else (pad_to (2**(d+1)) x xs, d+1)\n"
        "entry main (x: i32) (xs: []i32) = (padpow2 x xs).0",
        "7 [1, 2, 3]", "[1i32, 2i32, 3i32, 7i32]",
    ),
    "a branch may decide the size of a parameter that comes before": (
        "def f [n] (ys: [n]i64) xs = if length xs > 3 then map (+ 1) xs else ys\n"
        "entry main [n] (xs: [n]i64) (ys: [n]i64) = map2 (+) xs (sized n (f ys xs))",
        "[1i64, 2i64] [3i64, 4i64]", "[4i64, 6i64]",
    ),
    "a module's function with sizes more exact than its module type asks for": (
        "module type v = {type~ t val mk : i64 -> i64 -> t val all : t -> bool}\n"
        "module m : v = {type~ t = {a: [][]bool}\n"
        " def mk (h: i64) (w: i64) : t = {a = replicate h (replicate w true)}\n"
        " def all (x: t) = and (map and x.a)}\n"
        "module type s = {type t [d][w] val mk : (d: i64) -> (w: i64) -> ?[e][f].t [e][f]\n"
        " val n [d][w] : t [d][w] -> i64}\n"
        "module n : s = {type t [d][w] = {a: [d][w]i32}\n"
        " def mk (d: i64) (w: i64) : t [d][w] = {a = replicate d (replicate w 0)}\n"
        " def n [d][w] (_: t [d][w]) = d * 10 + w}\n"
        "entry main (x: i64) = (m.all (m.mk x 3), n.n (n.mk x 4))",
        "2i64", "true\n24i64",
    ),
    "`*` before what holds no array": (
        "module type v = {type t val c : f32 -> *t val p : f32 -> *(t, t)}\n"
        "module m : v with t = f32 = {type t = f32 def c (x: f32) = x def p (x: t) = (x, x)}\n"
        "entry main (x: f32) = (m.c x, (m.p x).1)",
        "3f32", "3.0f32\n3.0f32",
    ),
    "a function that was given a constant": (
        "module mk (R: real) = {type t = R.t def A1 = [R.i32 1, R.i32 2]\n"
        " def eval [n] (cs: [n]t) (x: t) : t = R.(reduce (+) (i32 0) (map (* x) cs))\n"
        " def look = eval A1}\n"
        "module m = mk f32\ndef B = [1, 2i32] def pick [n] (xs: [n]i32) (_: i64) = xs\n"
        "def picked = pick B entry main (x: f32) = (m.look x, (picked 3)[1], copy (picked 1))",
        "2f32", "6.0f32\n2i32\n[1i32, 2i32]",
    ),
    "an empty array as evidence that two sizes are equal": (
        "module same: {type eq [n] [m] val cast [n] [m] 't: eq [n] [m] -> [n]t -> [m]t\n"
        " val trans [n] [m] [k]: eq [n] [m] -> eq [m] [k] -> eq [n] [k]\n"
        " val swap [a] [b]: eq [a + b] [b + a]} = {\n"
        " type eq [n] [m] = [0][n][m]() def cast [n] [m] 't (_: eq [n] [m]) (a: [n]t) = a :> [m]t\n"
        " def trans _ _ = [] def swap = []}\n"
        "entry main [n] [m] (xs: [n]i32) (ys: [m]i32) =\n"
        " let twice: same.eq [m + n] [m + n] = same.swap `same.trans` same.swap\n"
        " in map2 (+) (same.cast same.swap (xs ++ ys)) (same.cast twice (ys ++ xs))",
        "[1] [2, 3]", "[3i32, 5i32, 4i32]",
    ),
    "branches that build a sum with arrays of different sizes": (
        "type opt 't = #some t | #none\n"
        "def f (b: bool) (x: i64) =\n"
        " if b then #some (iota x) else (#none: opt ([1]i64)) :> opt ([]i64)\n"
        "def g (b: bool) (x: i64) =\n"
        " if b then #a (iota x) else (#c (replicate 4 1): #a [2]i64 | #c [4]i64)\n"
        "def h (c: bool) = match f c 3 case #some xs -> xs case #none -> [7]\n"
        "def k (c: bool) = match g c 2 case #a xs -> xs case #c xs -> xs\n"
        "entry main (b: bool) = (h b, h (!b), k b, k (!b))",
        "true", "[0i64, 1i64, 2i64]\n[7i64]\n[0i64, 1i64]\n[1i64, 1i64, 1i64, 1i64]",
    ),
    "a function whose result has a size of its own, as an argument": (
        "type^ opt '~a = #some a | #none\ntype^ two '~b = #foo b | #bar b\n"
        "def map_opt 'a '~b (f: a -> b) (a: opt a): opt b =\n"
        " match a case #some x -> (#some (f x): opt b) case #none -> #none\n"
        "def both '^a '^b (f: a -> b) (x: a) (y: a) = let p = f x let q = f y in (q, p)\n"
        "def pick '^a '~b (c: bool) (f: a -> b) (x: a) (y: a): b = if c then f x else f y\n"
        "def mk 'a '~b (f: a -> b) (x: a): two b = #foo (f x)\n"
        "def rows (n: i64) (m: i64) (b: bool) = replicate n (replicate m b)\n"
        "def last_of (n: i64): ([n](), [n]i64 -> i64) = (replicate n (), \\xs -> xs[n - 1])\n"
        "entry main (l: []i64) =\n"
        " let (p, q) = both (filter (> 1)) l (map (* 2) l)\n"
        " let (a, f) = id last_of 3\n"
        " in (p, q, pick (length q > 9) iota 2 3, uncurry rows (1, 2) true, f (map (\\_ -> 8) a),\n"
        "  (match mk (filter (> 2)) l case #foo xs -> length xs case #bar xs -> 9 + length xs),\n"
        "  (match map_opt iota (#some l[0]) case #some xs -> xs case #none -> [7]))",
        "[1, 2, 3]", "[2i64, 4i64, 6i64]\n[2i64, 3i64]\n[0i64, 1i64, 2i64]\n"
        "[[true, true]]\n8i64\n1i64\n[0i64]",
    ),
    "a function that takes and gives what calls give arrays of any size": (
        "def iterate '~a (n: i32) (f: (() -> a) -> a) (x: () -> a) =\n"
        " loop x = x () for _i < n do f (\\() -> x)\n"
        "def twice '~a (f: (() -> a) -> a) (x: () -> a) = f (\\() -> f x)\n"
        "def until '~a (f: (() -> a) -> a) (x: () -> a) =\n"
        " loop (x, i) = (x (), 0i32) while i < 2 do (f (\\() -> x), i + 1)\n"
        "def many '~a (f: (() -> a) -> i64) (x: () -> a) = f x\n"
        "entry main (xs: []i32) =\n"
        " let grow (p: () -> ([]i32, i32)) = let (a, b) = p () in (a ++ a, b + 1)\n"
        " let (ys, k) = iterate 2 (\\(p: () -> ([]i32, i32)) -> grow p) (\\() -> (xs, 6))\n"
        " let (zs, i) = until (\\(p: () -> []i32) -> p () ++ xs) (\\() -> xs)\n"
        " in (ys, k, twice (\\(p: () -> []i32) -> p () ++ [0]) (\\() -> xs), zs, i,\n"
        "  many (\\(p: () -> []i32) -> length (p ())) (\\() -> filter (> 1) xs))",
        "[1, 2]",
        "[1i32, 2i32, 1i32, 2i32, 1i32, 2i32, 1i32, 2i32]\n8i32\n[1i32, 2i32, 0i32, 0i32]\n"
        "[1i32, 2i32, 1i32, 2i32, 1i32, 2i32]\n2i32\n1i64",
    ),
    "constants of a size of their own that hold functions": (
        "type^ t [n] = ([n]i32, i32 -> [n]i32)\n"
        "def v: t [] = let k = 3 in (replicate k 1, \\i -> replicate k i)\n"
        "def w: ?[n].{a: [n]i32, r: {g: i32 -> [n]i32, k: i64}} =\n"
        " let xs = filter (> 5) [9, 8] in {a = xs, r = {g = \\i -> map (+ i) xs, k = length xs}}\n"
        "def u: ?[n][m].([n]i32, [m]i32, i32 -> ([n]i32, [m]i32)) =\n"
        " let (a, b) = partition (> 2) [1, 2, 3] in (a, b, \\x -> (map (+ x) a, map (+ x) b))\n"
        "type^ s [n] = #f (i32 -> [n]i32) ([n]i32) | #g\n"
        "def y: s [] = let (a, b, _) = u in #f (\\x -> map (+ x) b) (copy b)\n"
        "def p 'a: ?[n].([n]i32, a -> [n]a) =\n"
        " let k = length (filter (> 1) [1, 2]) in (replicate k 1, \\x -> replicate k x)\n"
        "def use (x: i32) = i32.sum (map2 (*) v.0 (v.1 x))\n"
        "entry main (x: i32) =\n"
        " let {a = _, r = {g, k}} = w let (q, h) = p let (_, i) = p\n"
        " in (copy v.0, v.1 x, map use [x, 1], g x, k, (u.2 x).1,\n"
        "  (match y case #f f c -> map2 (*) (f x) c case #g -> []), copy q, h true, i x)",
        "2",
        "[1i32, 1i32, 1i32]\n[2i32, 2i32, 2i32]\n[6i32, 3i32]\n[11i32, 10i32]\n2i64\n"
        "[3i32, 4i32]\n[3i32, 8i32]\n[1i32]\n[true]\n[2i32]",
    ),
    "an array, and a function that takes arrays of its size": (
        "type^ dual = ?[n].([n]bool, bool -> [n]bool)\n"
        "def v (x: i64): dual = let n = x + 1 in (replicate n true, \\b -> replicate n b)\n"
        "def w (x: i64) = let (n, _) = (x + 1, 0) in (iota n, \\(ys: [n]i64) -> ys[0])\n"
        "entry main (x: i64) =\n"
        " let (xs, f) = v x let (ys, g) = w x in (unzip (zip xs (f false)), g (map (+ 1) ys))",
        "1", "([true, true], [false, false])\n1i64",
    ),
    "a zip is overwritten, what it is made of is not": (
        "def f [n] (xs: [n]i32) (ys: [n]i32): *[n](i32, i32) = zip xs ys\n"
        "entry main [n] (xs: [n]i32) (ys: [n]i32) =\n"
        " let (a, b) = unzip (zip xs ys) let q = i32.sum b let a = a with [0] = q\n"
        " let z = zip xs xs let z = z with [0] = (1, ys[0])\n"
        " let l = loop z = zip xs ys for i < n do\n"
        "  let w = zip (map (.0) z) ys in w with [i] = (1, w[0].1)\n"
        " let m = map (\\x -> let z = f xs ys in z with [0] = (x, 2)) xs\n"
        " let s = scatter (zip xs ys) (iota n) (zip ys xs)\n"
        " in (a, unzip z, unzip l, map (map (.0)) m, (unzip s).1, xs, ys)",
        "[5, 6] [7, 8]", "[15i32, 6i32]\n([1i32, 6i32], [7i32, 6i32])\n"
        "([1i32, 1i32], [7i32, 7i32])\n[[5i32, 6i32], [6i32, 6i32]]\n"
        "[5i32, 6i32]\n[5i32, 6i32]\n[7i32, 8i32]",
    ),
    "the module type of a parametric module": (
        "module type num = {type t val of: i32 -> t val to: t -> i32}\n"
        "module type pairs = (P: num) -> (Q: num) -> {type u val mk: P.t -> Q.t -> u"
        " val sum: u -> i32}\n"
        "module twice: pairs = \\(P: {type t val to: t -> i32}) -> \\(Q: num) -> {\n"
        " type u = (P.t, Q.t)\n"
        " def more = 1i32 def mk (p: P.t) (q: Q.t) = (p, q) def sum (p, q) = P.to p + Q.to q}\n"
        "module other (N: num) (F: pairs) = {module q = F N N def f x = q.sum (q.mk x (N.of 4))}\n"
        "module i = {type t = i64 def of = i64.i32 def to = i32.i64}\n"
        "module m = twice i i module o = other i twice\n"
        "entry main (x: i32) = (m.sum (m.mk (i64.i32 x) 2), o.f 3)",
        "1", "3i32\n7i32",
    ),
    "a function that returns an abstract constant": (
        "module m: {type t val mk: i32 -> t val like [n]: t -> [n]i32 -> [n]i32 val id: t -> t\n"
        " val sum: t -> i32 val up: *t -> *t} = {\n"
        " type t = [2]i32 def mk (x: i32): t = [x, x] def like [n] (_: t) (xs: [n]i32) = xs\n"
        " def id (t: t) = t def sum (t: t) = i32.sum t def up (t: *t) = t with [0] = 9}\n"
        "def s = m.mk 3 def f (_: i32) = m.id s def l (xs: []i32) = m.like s xs\n"
        "def g (b: bool) = let k = \\(x: bool) -> if x then s else f 2 in k b\n"
        "def h (b: bool) = let k (x: bool) = if x then s else f 2 in k b\n"
        "module mk (P: {type t val one: t}) = {def A = P.one def get (_: i32) = A}\n"
        "module q = mk {type t = [2]i32 def one = [1i32, 2]}\n"
        "entry main (x: i32) = (m.sum (g (x > 1)) + m.sum (h (x > 1)), m.sum (m.up (copy (f x))),\n"
        " copy (q.get x), q.get x, l [x], m.sum (f x))",
        "3", "12i32\n12i32\n[1i32, 2i32]\n[1i32, 2i32]\n[3i32]\n6i32",
    ),
    "what a functor's function computes from a constant of it": (
        "module mk (R: real) = {type t = R.t def A = [R.i32 1, R.i32 2]\n"
        " def eval [n] (cs: [n]t) (x: t) : t = R.(reduce (+) (i32 0) (map (* x) cs))\n"
        " def look = eval A def twice (x: t) = R.(look x + look x)}\n"
        "module m = mk f32 entry main (x: f32) = m.twice x",
        "2f32", "12.0f32",
    ),
    "an entry point whose type a module type narrows": (
        "module type k = {type t val copy [n] : [n]t -> *[n]t}\n"
        "module mk (P: real) : k with t = P.t = {type t = P.t def copy = copy}\n"
        "module f32_k = mk f32 entry main = f32_k.copy",
        "[1f32, 2f32]", "[1.0f32, 2.0f32]",
    ),
    "a module type that fixes a type whose values differ in size": (
        "module type s = {type ctx type map 'ctx val mk : ctx -> map ctx}\n"
        "module mk (P: {type~ ctx}) : s with ctx = P.ctx = {\n"
        " type~ ctx = P.ctx type map 'ctx = (i32, ctx) def mk ctx = (0i32, ctx)}\n"
        "module m = mk {type~ ctx = ?[k].[k]bool}\n"
        "entry main (x: bool) = length [m.mk [x, false], m.mk [false, x]]",
        "true", "2i64",
    ),
    "a size that an abbreviation leaves open is one size": (
        "module type s = {type~ t val init : i64 -> t val render : t -> [][]i32}\n"
        "type board [n] = {world: [n][n]i32, goal: [n][n]i32}\n"
        "module m : s = {type~ t = {b: board [], w: i64}\n"
        " def init (n: i64) : t = {b = {world = replicate n (replicate n 1), goal = replicate n"
        " (replicate n 2)}, w = n - 1}\n"
        " def render (s: t) = map (take s.w) (map2 (map2 (+)) s.b.world s.b.goal)}\n"
        "entry main (n: i64) = let xss = m.render (m.init n) in (length xss, length xss[0])",
        "3i64", "3i64\n2i64",
    ),
    "an array type that a parametric module's parameter is given": (
        "module type encoder = {type t type u val get : i64 -> t -> u val num : t -> i64}\n"
        "module count (K: {type key val one : key -> i64})\n"
        " (E: encoder with t = []K.key with u = i64) = {\n"
        " def all [n] (keys: [n]K.key) ="
        " E.num keys + i64.sum (map (\\i -> E.get i keys) (iota n))}\n"
        "module m = count {type key = i32 def one (x: i32) = i64.i32 x} {\n"
        " type~ t = []i32 type u = i64 def get (i: i64) (x: t) = i64.i32 x[i] * 10\n"
        " def num (x: t) = length x}\n"
        "entry main (xs: []i32) = m.all xs",
        "[1, 2]", "32i64",
    ),
    "a sum type that a module type tells": (
        "module type s = {val event : (#down i32 | #up i32 | #step) -> i32 -> i32}\n"
        "module m : s = {def event _ s = s}\n"
        "entry main (e: i32) (key: i32) =\n"
        " let e' = if e == 0 then #down key else #up key in m.event e' key",
        "0 5", "5i32",
    ),
    "an abstract type and all that its module lets one do with it": (
        "module type money = {type t val of : i32 -> t val to : t -> i32 val + : t -> t -> t}\n"
        "module cents : money = {type t = i32 def of (x: i32) = x * 100 def to (x: t) = x / 100\n"
        " open i32}\n"
        "module list : {type t [n] val mk : (n: i64) -> t [n] val len [n] : t [n] -> i64\n"
        " val add [n] : t [n] -> *t [n] -> *t [n]} = {type t [n] = {xs: [n]i32}\n"
        " def mk 'b (n: i64) : t [n] = {xs = replicate n 1} def len [n] (_: t [n]) = n\n"
        " def add [n] (a: t [n]) (b: *t [n]) : *t [n] = {xs = map2 (+) a.xs b.xs}}\n"
        "module u : {type t val + : t -> t -> t val i32 : i32 -> t val to_i64 : t -> i64} = u8\n"
        "entry main (xs: []i32) =\n"
        " let sum = cents.(reduce (+) (of 0) (map of xs))\n"
        " let l = if xs[0] > 0 then list.mk 3 else list.mk 4\n"
        " in (cents.to sum, list.len (list.add l (copy l)), u.(to_i64 (i32 3 + i32 4)))",
        "[1, 2]", "3i32\n3i64\n7i64",
    ),
    "a function named like the module that it uses": (
        "def f32 (x: i32) : f32 = f32.i32 x + 1\nentry main (x: i32) = f32 x",
        "3", "4.0f32",
    ),
    "ranges that count, and a size that consumes what is its own": (
        "def a (n: i64) : [n]i64 = 0..1..<n def b (n: i64) : [n]i64 = 1..2...n\n"
        "def use (xs: *[]i64) = xs[1]\n"
        "def c (xs: [use (iota 2)]i64) = xs[0]\n"
        "entry main (n: i64) = (a n, b n, c (sized (use (iota 2)) [n]))",
        "2i64", "[0i64, 1i64]\n[1i64, 2i64]\n2i64",
    ),
    "an empty array beside one of arrays": (
        "def f [n] (c: bool) (xs: [n]i32) = if c then [xs] else []\n"
        "def g [n] 'a (c: bool) (xs: [n]a) = if c then ([], 1i64) else ([xs, xs], 2)\n"
        "entry main (xs: []i32) = (length (f true xs), length (g false [xs]).0, map (+ 1) <| xs)",
        "[1, 2]", "1i64\n2i64\n[2i32, 3i32]",
    ),
    "an abstract type with sizes of its own": (
        "module m : {type~ t val mk : i64 -> t val sum : t -> i64 val grow : *t -> *t} = {\n"
        " type~ t = []i64 def mk = iota def sum = i64.sum\n"
        " def grow (xs: *t) : *t = concat xs [10]}\n"
        "def pick (c: bool) (a: m.t) (b: m.t) = if c then a else b\n"
        "entry main (n: i64) =\n"
        " let a = loop a = m.mk n for i < n do if i == 1 then m.mk i else m.grow a\n"
        " let f = \\(x: *m.t) -> m.grow x\n"
        " in m.sum (pick (n > 3) a (f (m.mk n)))",
        "3i64", "13i64",
    ),
    "what `with` and a definition say of types is known": (
        "module type s = {module k: {type t} type t type u = (t, k.t) val f : t -> k.t -> u}\n"
        "module m : s with k.t = i64 with t = i32 = {module k = {type t = i64} type t = i32\n"
        " type u = (i32, i64) def f a b = (a, b)}\n"
        "module type v = {include s with t = i32 with k.t = i64 val g : u -> k.t}\n"
        "module n : v = {open m def g (x: u) = x.1 }\n"
        "module p (A: s) (B: {include s with t = A.t val h : t -> i32}) : s with t = A.t"
        " with k.t = A.k.t = {\n"
        " open A def f a b = let _ = B.h a in A.f a b}\n"
        "module q = p m {open m def h (x: t) : i32 = x}\n"
            "entry main (x: i32) = (m.f x 3, n.g (n.f x 4), q.f x 5)",
        "1", "(1i32, 3i64)\n4i64\n(1i32, 5i64)",
    ),
    "a sealed sum of arrays, made with one of its constructors": (
        "module m : {type~ t val mk : i64 -> *t val len : t -> i64} = {\n"
        " type~ t = #some ([]i32) | #other ([]i32)\n def mk (n: i64) : *t = #some (replicate n 0)\n"
        " def len (x: t) = match x case #some a -> length a case #other b -> -length b}\n"
        "def mk (b: bool) n = if b then m.mk n else m.mk (n + 1)\n"
        "entry main n = (m.len (m.mk n), m.len (mk false n), m.mk n)",
        "1i64", "1i64\n2i64\n#some [0i32]",
    ),
    "a size that folds with an operator": (
        "def f [n] (reps: [n]i64) : [reduce (+) 0 reps]i64 = iota (reduce (+) 0 reps)\n"
        "entry main (xs: []i64) =\n"
        " (length (f (map (\\x -> x) xs)), map2 (+) (f xs) (reverse (f xs)), length xs)",
        "[1i64, 2i64]", "3i64\n[2i64, 2i64, 2i64]\n2i64",
    ),
    "the length of what is in scope, as a size": (
        "def f [n] (xs: [n]i64) = iota (length xs)\n"
        "def two [n] (xs: [n]i64) = map2 (+) (f xs) (f xs) :> [n]i64\n"
        "entry main (xss: [][]i64) =\n"
        " (map (\\xs -> map2 (*) (two xs :> [2]i64) (iota (length xss[0]) :> [2]i64)) xss,\n"
        "  let ys = f xss[0] in iota (length ys), map (\\i -> i + length xss) (iota (length xss)))",
        "[[1, 2]]", "[[0i64, 2i64]]\n[0i64, 1i64]\n[1i64]",
    ),
    "a name that is local and has another definition": (
        "module m = {def f = 1i32 def g = f local def f = 2i32 def h = f}\n"
        "local def main = 5i32\n"
        "type t = i32 local type t = i64 local local type t = i8\n"
        "module n = {def a = 3i32} local module n = {def a: t = 4}\n"
        "module type s = {val a: i32} local module type s = {val a: t}\n"
        "module sealed: s = n\n"
        "def k = 6i32 local open {def k = 7i32} open {def l = 8i32} def l = 9i32\n"
        "entry main = (m.f, m.g, m.h, sealed.a, k, l)",
        "", "1i32\n1i32\n2i32\n4i8\n7i32\n9i32",
    ),
    "loops over what has a size of its own, the length of a name, own arrays in an argument": (
        "def id '~t (x: t): t = loop x for _i < 3u8 do x\n"
        "entry main [n][m] (xss: [n][m]i32) =\n"
        " (length (id (loop q = filter (> 1) (flatten xss) for _i < 2 do q)),\n"
        "  map (\\r -> let q = map (+ 1) r in q[:length q]) xss,\n"
        "  length (0u8..2u8..<5u8),\n"
        "  map (const (copy (replicate 2 1i32) with [0] = 2)) (iota 2))",
        "[[1, 2]]", "1i64\n[[2i32, 3i32]]\n3i64\n[[2i32, 1i32], [2i32, 1i32]]",
    ),
}  # fmt: skip
"""By what it is about: a program, the input of `main`, its output."""

REFUSED = {
    "module m: {val f: *[1]i32 -> [1]i32 -> *([1]i32, [1]i32)} ="
    " {def f (a: *[1]i32) (b: [1]i32): (*[1]i32, [1]i32) = (a, b)}": "-> (*[1]i32, [1]i32)`",
    "def f [n] (_: [n + 1]i32) = n def g [m] (xs: [m]i32) = f xs": "The sizes `_ + 1` and `m` must",
    "type~ s = #a ([]i8) | #b ([]i8) def f (x: []i8) = let _v: s = #a x in x": "Nothing determines",
    "def f q (h: i32 -> i64) = zip (iota (h 3)) q": "bound inside the function",
    "def f (h: i32 -> i64) q = let k = (\\q -> q + h 1) 3 in zip (iota k) q": "bound inside the",
    "def f (xs: []i32) = let n = 2 + 3 in zip (iota n) xs": "bound inside the function",
    "def f (xs: []i32) = let q = copy xs let n = length q in zip (iota n) q": "bound inside the",
    "def g [n] (a: [n]i32): [n]i32 = a def f (xs: []i32) = let q = g xs let n = length q in"
    " scatter (copy q) (iota n) q": "bound inside the function",
    "def f (h: i32 -> i64) q = let n = h 3 in zip (iota (n + 1)) q": "has no value before it",
    "type p = {a: i32} i32": "Only a named type takes arguments, and this type has no name.",
    "def f (x: [2](i32, i32) [3]) = x": "Only a named type takes arguments, and this type has no",
    "module type s = {val ! : i32 -> i32}": "cannot be redefined",
    "module type s = {val m.+ : i32 -> i32 -> i32}": "`m.+` belongs to another module.",
    "def a m.+ b = a": "`m.+` belongs to another module.",
    "def f (m.+) = 1i32": "`m.+` belongs to another module.",
    "module type s = {val -: i32 -> i32 -> i32 val (-) : i32 -> i32}": "`-` is specified twice",
    "module type s = {type t type t}": "`t` is specified twice",
    "module type s = {val x: i32 module x: {val y: i32}}": "`x` is specified twice",
    "module a = {def v = 1i32} module b = {local open a def x = v} def y = b.v": "has no `v`",
    "module s = {def q = 1i32} def s = {q = 2i32}": "`s` is defined twice",
    "module s = {def q = 1i32} module s = {def p = 1i32}": "`s` is defined twice",
    "module type s = {val q: i32} module type s = {val p: i32}": "`s` is defined twice",
    "def f = 1i32 local def f = 2i32 def f = 3i32": "`f` is defined twice",
    "type t = i32 local type t = i64 type t = i8": "The type `t` is defined twice",
    "entry f = 1i32 local entry f = 2i32": "The entry point `f` is defined twice",
    "module m = {def f = 1i32 local def g = 2i32} def h = m.g": "has no `g`",
    "module s = {def q = 1i32} def f (s: {r: i32}) = s.q": "There is no field `q`",
    "def f (i32: i32) = i32.i64 3": "Only records have fields",
    "module reduce = {def q = 1i32} def f (x: []i32) = reduce (+) 0 x": "Unknown name `reduce`",
    "def f xs = let e = xs[0] in map2 (+) xs (iota e)": "The size of this parameter",
    "def f (n: i64) = loop (a, b) = (iota n, iota n) for i < n do\n"
    " let (c, d) = unzip (zip a b) in (c with [0] = 1, d)": "This uses `d`, which was consumed at",
    "def f (n: i64) = loop (a, b) = (iota n, iota n) for i < 3i32 do\n"
    " let (c, d) = unzip (zip (iota n) b) let a = a with [0] = 1 in (c, d)": "loop consumes one",
    "def f [n] (xs: [n]i32) = loop (e: *[n]i32) = xs for _i < 3i32 do map (+ 1) e": "no `*`",
    "def f [n] (xs: [n]i32) = loop (e: *[n]i32) = xs for _i < 3i32 do e": "no `*`",
    "def f [n] (xs: [n]i32) =\n"
    " let y = loop (e: *[n]i32) = xs for _i < 3i32 do let f = map (+ 1) e in f\n"
    " in y with [0] = 1": "This consumes `xs`",
    "def f [n] (xs: [n]i32) (ys: *[n]i32) = loop (e: *[n]i32) = ys for _i < 3i32 do xs": "outside",
    "def f [n] (xs: [n]i32) = loop (e: *[n]i32, f: *[n]i32) = (xs, xs) for _i < 3i32 do\n"
    " let g = map (+ 1) e in (g, g)": "in the next iteration, and the loop consumes one of them.",
    "module type v = {type t val c : []f32 -> *t}": "needs a name",
    "module type v = {type t [n] val c [n] : [n]f32 -> *t [n]}\n"
    "module m : v = {type t [n] = [n]f32 def c [n] (x: [n]f32) : t [n] = x}": "has type",
    "module type v = {val mk : i64 -> []i32 val mj : (n: i64) -> [n]i32}\n"
    "module m : v = {def mk (n: i64) = replicate n 1i32 def mj (n: i64) = [1i32]}": "`mj`",
    "def c = [1, 2] def pick [n] (xs: [n]i32) (_: i64) = xs def look i = pick c i": "alias `c`",
    "module m : {val f : i32 -> i32} = {def f x = x} def g = m.f true": "The argument of `m.f`",
    "module f (E: {type t val num : t -> i64} with t = []i32) =\n"
    " {def g (x: []i64) = E.num x}": "The argument of `E.num`",
    "module type s = {val f : i64 -> []i32 -> i32}": "needs a name",
    "entry f = copy": "cannot have type parameters",
    "def f (n: i64) : [n]i64 = 1..2..<n + 1": "expected `[n]i64`",
    "def f (n: i64) : [n]i64 = 2..3..<n + 2": "expected `[n]i64`",
    "def f (n: i64) : [n + 1]i64 = 0..1...n": "expected `[n + 1]i64`",
    "def f (n: i64) : [n]i64 = 0..1...n - 1": "expected `[n]i64`",
    "module m = intrinsics": "`intrinsics`",
    "open intrinsics": "`intrinsics`",
    "def use (xs: *[]i64) = xs[0] def f [n] (ns: *[n]i64) (xs: [use ns]f32) = xs[0]": "consume",
    "def f (xs: []i32) = map (+ 1) <| filter (> 0) xs": "This uses the size `filtered` before the",
    "def f = (.0) <| loop (xs: []i32, j) = ([], 0) for i < 3i32 do (xs ++ xs, i)": "the size",
    "def f (xs: []i32) (xss: [][]i32) = map (filter (> 0) xs ++) xss": "This uses the size",
    "def f (c: bool) (xs: []i32) = if c then [xs] else xs": "branches",
    "module m : {type t val of : i32 -> t} = {type t = i32 def of x = x}\n"
    "def f (x: i32) : i32 = m.of x": "expected `i32`, found `m.t`",
    "module type s = {type t val x : t val f : t -> i32}\n"
    "module a : s = {type t = i32 def x = 1i32 def f (x: t) = x}\nmodule b : s = a\n"
    "def y = b.f a.x": "expected `b.t`, found `a.t`",
    "module f (X: {type t}) : {type u val x : u} = {type u = i32 def x = 1i32}\n"
    "module a = f {type t = i32}\nmodule b = f {type t = i32}\n"
    "def xs = [a.x, b.x]": "expected `u`, found `u`",
    "module m : {module n: {type t val x : t}} = {module n = {type t = i32 def x = 1i32}}\n"
    "def y = m.n.x + 1": "`m.n.t`",
    "module m : {type t val of : i32 -> t} = {type t = (i32, i32) def of (x: i32) = (x, x)}\n"
    "def y = (m.of 1).0": "Only records have fields",
    "module m : {type t val of : i32 -> t} = {type t = i32 def of (x: i32) = x}\n"
    "def y = m.of 1 == m.of 2": "cannot be compared",
    "module m : {type t 'a val of 'a : a -> t a} = {type t 'a = i32 def of 'a (_: a) : t a = 1}\n"
    "def f (x: m.t i32) = x def y = f (m.of true)": "expected `m.t i32`, found `m.t bool`",
    "module m : {type t [n] val mk : (n: i64) -> t [n]} = {\n"
    " type t [n] = [n]i32 def mk n = replicate n 1i32}\n"
    "def f (n: i64) : m.t [n] = m.mk 3": "expected `m.t [n]`, found `m.t [3]`",
    "module m : {type t [n]} = {type t [n] = [n + 1]i32}": "size parameter `n`",
    "module m : {type^ t [n]} = {type^ t [n] = [n]i32 -> i64}": "size parameter `n`",
    "module m : {val mk : i64 -> []i32} = {def mk (n: i64) = replicate n 1i32}\n"
    "def f (n: i64) : [n]i32 = m.mk n": "expected `[n]i32`, found `[d]i32`",
    "module m : {type t [n] 'a = [n]a} = {type t [n] 'a = [n][1]a}": "The type `t` must be",
    "def f (x: bool) = let (n, _) = if x then (10, 1) else (20, 2i32)\n"
    " in \\(_: [n]bool) -> true": "takes arrays of size `n`",
    "def f n = let (m, _) = (n + 1, true) in (iota (m + 1), zip (iota m))": "takes arrays of size",
    "def f [n] (xs: [n]i32) = let (a, b) = unzip (zip xs xs) in (a with [0] = 1, b)": "consumed at",
    "def f [n] (xs: *[n](i32, i32)) =\n"
    " let (a, b) = unzip xs in (a with [0] = 1, b with [0] = 2)": "This uses `b`, which was",
    "module type s = {type t val x: t} module f: (X: s) -> {type u val y: u} =\n"
    " \\(X: s) -> {type u = X.t def y = X.x}\n"
    "module a = f {type t = i32 def x = 1i32} def z = a.y + 1": "expected `u`",
    "module type s = {type t val x: t} module type f = (X: s) -> {val z: X.t}\n"
    "module g: f = \\(X: s) -> {def y = X.x}": "no value `z`",
    "module type s = {type t val x: t} module type f = s -> {val x: i32}\n"
    "module g: f = \\(X: {type t val x: t val y: t}) -> {def x = 1i32}": "no value `y`",
    "module type s = {type t val x: t} module type f = (X: s) -> {val x: X.t}\n"
    "module g: f = \\(X: s) -> {def x = X.x def y = X.x}\n"
    "module a = g {type t = i32 def x = 1i32} def z = a.y": "has no `y`",
    "module type s = {val x: i32} module g: s -> {val x: i32} = {def x = 1i32}": "no parameters",
    "def f 'a '~b (g: i64 -> a -> b) (x: a) = [g 0 x, g 1 x]": "might differ in size",
    "def one 'a (f: i64 -> a): a = (tabulate 2 f)[0]\n"
    "def f 'a '~b (g: i64 -> a -> b) (x: a) = one (\\i -> g i x)": "The argument of `one`",
    "def both '^a '^b '^c (f: a -> b) (g: b -> c) (x: a): c = g (f x)\n"
    "def f = both iota (\\xs -> length xs) 2": "This argument's size would have to be a size that",
    "def both '~a (x: () -> a) (f: a -> i64) = f (x ())\n"
    "def f (xs: []i32) = both (\\() -> filter (> 0) xs) (\\ys -> length ys)": "This argument's",
    "def once 'a (f: (() -> a) -> a) (x: () -> a): a = f x\n"
    "def f (xs: []i32) = once (\\(p: () -> []i32) -> p () ++ p ()) (\\() -> xs)": "`once`",
    "def g (n: i64) (m: i64) (b: [n][m]bool) = b[0, 0]\ndef f = uncurry g": "This argument's size",
    "def both '^a '^b (f: a -> b) (x: a) (y: a) = (f x, f y)\n"
    "def f (n: i64) = let (a, b) = both iota n n in zip a b": "Argument 2 of `zip`",
    "def f 'a 'b (g: a -> b) (x: a) = g x\ndef h (n: i64) = f iota n": "Argument 1 of `f`",
    "def f (xs: []i32) = map (\\i -> filter (> i) xs) [1, 2]": "Argument 1 of `map`",
    "module m: {type~ t val mk: i64 -> t} = {type~ t = []i64 def mk = iota}\n"
    "def id 'a (x: a) = x def f (n: i64) = id (m.mk n)": "The argument of `id`",
    "def f (n: i64) = (\\g -> zip (g n) (g n)) (\\k -> filter (> 3) (iota k))": "Argument 2 of",
    "def f (n: i64) = (\\g -> [g n, g 3]) (\\k -> filter (> 3) (iota k))": "An element after",
    "def f (m: i64) = [] :> [0][m]i32": "Nothing determines the sizes",
    "def f q = loop q = q for _i < 3i32 do filter (> 2i32) q": "The size of this parameter",
    "def f q = loop q = q for i < 3i64 do replicate i q[0]": "The size of this parameter",
    "def f q = loop q = q for _i < 3i32 do [q[0], 1i32]\ndef g = f [1, 2, 3]": "expected `[2]i32`",
}
"""Programs, and what the error says."""


@pytest.mark.parametrize("name", RUN)
def test_runs(name: str) -> None:
    source, given, wanted = RUN[name]
    asked = {"op": "run", "source": source, "entry": "main", "input": given, "backend": "ref"}
    told = answer({**asked, "stage": "merged", "options": {"verify": True}})
    assert told.get("output") == wanted, told


@pytest.mark.parametrize("range_", ["0..<n", "0..1..<n", "0i64..1i64..<n", "1...n", "1..2...n"])
def test_the_ranges_of_n_elements(range_: str) -> None:
    assert check(parse(f"def f (n: i64): [n]i64 = {range_}"), Ctx()).defs


@pytest.mark.parametrize("source", REFUSED)
def test_refused(source: str) -> None:
    with pytest.raises(CompileError) as caught:
        check(parse(source), Ctx())
    assert REFUSED[source] in caught.value.message
    assert caught.value.span.line
    assert not isinstance(caught.value, Limitation)


TWO = """
module type two = {type a type b val f: a -> b val c: b -> bool}
module of_two (o: two) = {def f (x: o.a) = o.f x def c (y: o.b) = o.c y}
"""


@pytest.mark.parametrize(
    ("param", "result", "is_right"),
    [
        ("two", "val f: o.a -> o.b", True),
        ("two with a = i32", "", True),
        ("two with a = i32", "val c: o.b -> bool", True),
        ("two with a = i32", "val f: i32 -> o.b", False),
        ("two with a = i32", "val f: o.a -> o.b", False),
        ("{include two with a = i32}", "val f: i32 -> o.b", False),
        ("{type a = i32 type b val f: a -> b val c: b -> bool}", "val f: i32 -> o.b", False),
        ("{type a = i32 type b val f: a -> b val c: b -> bool}", "val c: o.b -> bool", True),
    ],
)
def test_what_is_abstract_to_a_functor_is_so_in_its_result(
    param: str, result: str, is_right: bool
) -> None:
    for use in (
        f"module g (f: (o: {param}) -> {{{result}}}) = {{}} module r = g of_two",
        f"module r: (o: {param}) -> {{{result}}} = of_two",
    ):
        told = answer({"op": "check", "source": TWO + use})
        assert told["ok"] == is_right, told
        assert is_right or "is abstract in the parameter" in told["error"]["hint"]


SEALED = """
module m: {type t val mk: i32 -> t val id: t -> t val up: *t -> *t} = {
  type t = [2]i32 def mk (x: i32): t = [x, x] def id (t: t) = t def up (t: *t) = t with [0] = 9}
def s = m.mk 3 def f (_: i32) = m.id s
def g (b: bool) = let k = \\(x: bool) -> if x then s else f 2 in k b
def h (b: bool) = let k (x: bool) = if x then s else f 2 in k b
module mk (P: {type t val one: t}) = {def A = P.one def get (_: i32) = A def one (_: i32) = P.one}
module q = mk {type t = [2]i32 def one = [1i32, 2]}
def c = [1, 2] def pick [n] (xs: [n]i32) (_: i64) = xs def look = pick c def again i = look i
"""


@pytest.mark.parametrize(
    ("body", "constant"),
    [
        ("m.up s", "s"), ("m.up (f 1)", "s"), ("m.up (g true)", "s"), ("m.up (h true)", "s"),
        ("q.get 1 with [0] = 1", "A"), ("q.one 1 with [0] = 1", "one"),
        ("look 1 with [0] = 3", "c"), ("again 1 with [0] = 3", "c"),
        ("loop x = again 1 for i < 2 do x with [i] = 3", "c"),
    ],
)  # fmt: skip
def test_a_constant_that_a_function_returns_is_not_overwritten(body: str, constant: str) -> None:
    """Futhark's checker accepts some of these, and a later pass of it finds a constant consumed."""
    with pytest.raises(CompileError) as caught:
        check(parse(f"{SEALED}\ndef main = {body}"), Ctx())
    assert f"This consumes `{constant}`, a constant" in caught.value.message


PARTLY_BUILT = """
module m = {def k = 2i32 def grow (xs: []i32) = intrinsics.reverse xs}
entry main (x: i32) = x + m.k
entry slope (xs: []f32) = vjp f32.gamma (f32.sum xs) 1
def through (xs: []f32) = slope xs
entry twice (xs: []f32) = through xs
entry grow [n] (xs: [n]i64) = map (\\x ->
  let (ys: []i64, _) = loop (ys, k) = (iota 1, 0) while k < x do (ys ++ ys, k + 1)
  in i64.sum (scan (+) 0 ys)) xs
"""


@pytest.mark.parametrize("backend", ["ref", "c"])
def test_an_entry_point_that_needs_nothing_else_runs(backend: str) -> None:
    told = answer({"op": "run", "source": PARTLY_BUILT, "input": "3", "backend": backend})
    assert told.get("output") == "5i32", told
    told = answer({"op": "generate", "source": PARTLY_BUILT, "entry": "main"})
    assert told["ok"], told


@pytest.mark.parametrize("entry", ["slope", "twice"])
def test_an_entry_point_that_is_not_built_is_told_so(entry: str) -> None:
    asked = {"op": "run", "source": PARTLY_BUILT, "entry": entry, "input": "[1]", "backend": "c"}
    told = answer(asked)
    assert told["error"]["kind"] == "limitation"
    assert answer({"op": "check", "source": PARTLY_BUILT})["error"]["kind"] == "limitation"


def test_an_error_elsewhere_is_told_although_the_entry_point_does_not_need_it() -> None:
    source = PARTLY_BUILT + "def wrong = 1i32 + true\n"
    told = answer({"op": "run", "source": source, "input": "3", "backend": "ref"})
    assert not told["ok"]
