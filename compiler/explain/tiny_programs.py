"""Tiny programs for rules, and for passes without rules, shown on their pages.

They are compiled and run on request, and by the tests.
"""

from __future__ import annotations

from dataclasses import KW_ONLY

from compiler.base.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Tiny:
    """A program on which a rule applies, and an input for its entry point `main`."""

    source: str
    given: str
    _: KW_ONLY
    target: str = "c"
    flatpack: bool = False
    off: tuple[str, ...] = ()
    """Other switches, off before and after, which would apply first."""
    unsafe: bool = False
    """Compile with the option `unsafe`; the program says so in a comment."""
    limits: tuple[tuple[str, int], ...] = ()
    """Lower limits of the rule, so that it applies to a small program."""


def _flatpack(source: str, given: str) -> Tiny:
    return Tiny(source, given, flatpack=True)


_ROWS_ADDED = "entry main [n][m] (xss: [n][m]i32) =\n  map (\\xs -> i32.sum (map (* 2) xs)) xss"


def _shared(result: str) -> Tiny:
    return Tiny(
        "def f [n] (xs: [n]i32) = scan (+) 0 (map (* 2) xs)\n"
        f"entry main [n] (xs: [n]i32) = {result}",
        "[1, 2]",
        limits=(
            ("simplify/share-function/program", 2),
            ("simplify/share-function/least", 1),
            ("simplify/share-function/copies", 1),
        ),
    )


_SHARED = _shared("f (map (+ 1) (f xs))")

BY_PASS: dict[str, Tiny] = {
    "parse": Tiny("entry main (x: i32) = x + 1", "1"),
    "translate": _flatpack("main (xs : n) = sum xs", "[1.0, 2.0]"),
    "check": Tiny("entry main xs = map (+ 1i32) xs", "[1, 2]"),
    "monomorphise": Tiny(
        "def twice 'a (f: a -> a) (x: a) = f (f x)\nentry main (x: i32) = twice (+ 1) x", "1"
    ),
    "look-inside": _shared("(f xs, f (reverse xs))"),
    "imp": Tiny("entry main (xs: []i32) = map (* 2) xs", "[1, 2]"),
}

BY_RULE: dict[str, Tiny] = {
    # --- derivatives --------------------------------------------------------------------------
    "ad/reverse": Tiny("entry main (x: f64) = vjp (\\y -> y * f64.sin y) x 1", "2.0"),
    "ad/own-slopes": Tiny(
        "entry main (x: f64) = vjp (with_vjp f64.sqrt (\\y seed -> seed / (2 * y))) x 1", "4.0"
    ),
    "ad/checkpoints": Tiny(
        "entry main (x: f64) (n: i64) =\n"
        "  vjp (\\y -> #[stripmine] loop a = y for i < n do f64.sin (a * y)) x 1",
        "0.5 9",
    ),
    "ad/one-row": Tiny(
        "entry main (xs: []f64) = vjp (\\ys -> f64.maximum (map f64.sin ys)) xs 1", "[1.0, 2.0]"
    ),
    "ad/sum-inside": Tiny(
        "entry main (a: [2][2]f64) (b: [2][2]f64) =\n"
        "  vjp (\\b -> map (\\r -> map (\\c -> f64.sum (map2 (*) r c)) b) a) b a",
        "[[1.0, 2.0], [3.0, 4.0]] [[5.0, 6.0], [7.0, 8.0]]",
    ),
    "ad/forward": Tiny("entry main (x: f64) = jvp (\\y -> y * f64.sin y) x 1", "2.0"),
    # --- laws of FlatPack ---------------------------------------------------------------------
    "laws/inverse": _flatpack(
        "main (xs : n Of m) = transpose (transpose xs)", "[[1.0, 2.0], [3.0, 4.0]]"
    ),
    "laws/split-join": _flatpack("main (xs : 4) = Join (Split 2 xs)", "[1.0, 2.0, 3.0, 4.0]"),
    "laws/slice-zip": _flatpack(
        "main (xs : n) (ys : n) = Twist (Slice 1) (Zip [xs, ys])", "[1.0, 2.0] [3.0, 4.0]"
    ),
    "laws/part-arith": _flatpack(
        "main (xs : 3 Of m) (ys : 3 Of m) = Twist (Slice 2) (xs + ys * 2)",
        "[[1.0], [2.0], [3.0]] [[4.0], [5.0], [6.0]]",
    ),
    "laws/part-map": _flatpack(
        "main (xs : n Of m) = head (map sum xs)", "[[1.0, 2.0], [3.0, 4.0]]"
    ),
    "repack/insert": _flatpack("main (xs : n Of m) = Join (transpose xs)", "[[1.0], [2.0]]"),
    "repack/remove": _flatpack("main (xs : n Of m) = Repack (transpose xs)", "[[1.0], [2.0]]"),
    "windows/stream": _flatpack("main (xs : n) = sum (tail xs - init xs)", "[1.0, 2.0, 4.0]"),
    # --- to the core language -----------------------------------------------------------------
    "soa/bounds": Tiny(
        "entry main [n] (xs: [n]i32) = map (\\i -> xs[n - 1 - i]) (iota n)", "[1, 2, 3]"
    ),
    "soa/scratch": Tiny(
        "-- compiled with --unsafe\n"
        "entry main [n] (xs: [n]i32) = scatter (#[scratch] copy xs) (reverse (iota n)) xs",
        "[1, 2, 3]",
        unsafe=True,
    ),
    "soa/copy": Tiny(
        "entry main (xs: *[3]i32) =\n  let ys = map (\\x -> x) xs\n  in (xs with [0] = 7, ys)",
        "[1, 2, 3]",
    ),
    "recursion/tail": Tiny(
        "def gcd (a: i32) (b: i32): i32 = if b == 0 then a else gcd b (a % b)\n"
        "entry main (a: i32) (b: i32) = gcd a b",
        "12 18",
    ),
    "recursion/stack": Tiny(
        "def fib (n: i32): i32 = if n < 2 then n else fib (n - 1) + fib (n - 2)\n"
        "entry main (n: i32) = fib n",
        "7",
    ),
    # --- simplification -----------------------------------------------------------------------
    "simplify/inline": Tiny("def square (x: i32) = x * x\nentry main (x: i32) = square x + 1", "3"),
    "simplify/keep-function": Tiny(
        "def f (x: i32) =\n"
        "  let a = x * x + 1\n"
        "  let b = a * a + x\n"
        "  in a * b + b\n"
        "entry main (x: i32) (y: i32) = f x + f y",
        "1 2",
        limits=(
            ("simplify/keep-function/program", 2),
            ("simplify/keep-function/least", 2),
            ("simplify/keep-function/copies", 2),
        ),
    ),
    "simplify/share-function": _SHARED,
    "simplify/compute-call": Tiny(
        "def power (x: i32) (n: i32) =\n"
        "  loop y = 1 for _i < n do y * x\n"
        "entry main (x: i32) (y: i32) = (power 3 4 + x) * power x 2 + power y 2",
        "1 2",
        limits=(
            ("simplify/keep-function/program", 2),
            ("simplify/keep-function/least", 2),
            ("simplify/keep-function/copies", 2),
        ),
    ),
    "simplify/assert": Tiny("entry main (x: i32) = assert (2 > 1) (x + 1)", "1"),
    "simplify/elements": Tiny(
        "entry main [n] (xs: [n]i32) =\n"
        "  map (\\i -> xs[i] * 2) (filter (\\i -> xs[i] > 0) (iota n))",
        "[1, -2, 3]",
    ),
    "simplify/known-map": Tiny(
        "entry main [n] (xs: [n]i64) = map (\\x -> (map (+ 1) [x, x + 1])[0]) xs\n"
        "entry known (i: i64) = (map (* 3) [1i64, 2, 4])[i]",
        "[1i64, 2i64]",
    ),
    "simplify/branch-known": Tiny(
        "entry main (xs: []i32) = if 2 > 1i32 then map (+ 1) xs else map (+ 2) xs", "[1, 2]"
    ),
    "simplify/branch-same": Tiny(
        "entry main (c: bool) (xs: [2]i32) (ys: [2]i32) =\n"
        "  if c then (xs, map (+ 1) xs) else (xs, map (+ 1) ys)",
        "true [1, 2] [3, 4]",
    ),
    "simplify/index-view": Tiny(
        "entry main [n][m] (xss: [n][m]i32) (i: i64) = (transpose xss)[i, 0]",
        "[[1, 2], [3, 4]] 1i64",
    ),
    "simplify/index-known": Tiny(
        "entry main (n: i64) (i: i64) = (replicate n 7i32)[i] + 1", "4i64 1i64"
    ),
    "simplify/view-whole": Tiny("entry main [n] (xs: [n]i32) = xs[0:n]", "[1, 2, 3]"),
    "simplify/view-view": Tiny(
        "entry main (xs: [9]i32) = xs[2:8][1:3]", "[0, 1, 2, 3, 4, 5, 6, 7, 8]"
    ),
    "simplify/view-known": Tiny(
        "entry main (n: i64) (xs: [4]i64) = map2 (+) xs (iota n)[1:5]",
        "9i64 [1i64, 2i64, 3i64, 4i64]",
    ),
    "simplify/copy": Tiny("entry main (n: i64) = copy (replicate n 7i32)", "3i64"),
    "simplify/replicate": Tiny("entry main (n: i64) = replicate n (replicate 3 0i32)", "2i64"),
    "simplify/concat": Tiny(
        "entry main [n] (xs: [n]i32) (ys: [n]i32) (zs: [n]i32) = (xs ++ ys) ++ zs", "[1] [2] [3]"
    ),
    "simplify/loop-invariant": Tiny(
        "entry main (x: i32) (y: i32) (n: i64) =\n  loop (a, b) = (x, y) for _i < n do (a, a + b)",
        "1 2 3i64",
    ),
    "simplify/loop-trips": Tiny(
        "entry main (x: i32) (y: i32) = loop x for _i < 1i64 do x * y", "2 3"
    ),
    "simplify/loop-unroll": Tiny(
        "entry main (x: i32) (y: i32) = #[unroll] loop x for _i < 2i64 do x * y", "2 3"
    ),
    "simplify/index-input": Tiny(
        "entry main [n] (xs: [n]i32) = map (\\i -> xs[i] + 1) (iota n)", "[1, 2, 3]"
    ),
    "simplify/soac-input": Tiny(
        "entry main [n] (xs: [n]i32) (y: i32) = map2 (+) xs (replicate n y)", "[1, 2] 5"
    ),
    "simplify/soac-output": Tiny(
        "entry main [n] (xs: [n]i32) = unzip (map (\\x -> (7i32, x + 1)) xs)", "[1, 2]"
    ),
    "simplify/soac-one": Tiny("entry main (xs: [1]i32) = map (+ 1) xs", "[4]"),
    "simplify/scatter-parts": Tiny(
        "entry main [n] (ds: *[]i32) (is: [n]i64) (js: [n]i64) (xs: [n]i32) (ys: [n]i32) =\n"
        "  scatter ds (is ++ js) (xs ++ ys)",
        "[0, 0, 0] [0i64] [2i64] [1] [2]",
    ),
    "simplify/stream-nothing": Tiny(
        "entry main (ds: *[3]i32) (xs: []i32) =\n"
        "  scatter_stream ds (\\(acc: *acc ([3]i32)) _ -> acc) xs",
        "[1, 2, 3] [4]",
    ),
    "simplify/cse": Tiny(
        "entry main (xs: []i32) (y: i32) = (i32.sum (map (/ y) xs), 1 + i32.sum (map (/ y) xs))",
        "[4, 6] 2",
    ),
    "simplify/hoist": Tiny(
        "entry main (x: i32) (y: i32) (n: i64) = loop a = 0 for _i < n do a + x / y", "6 2 3i64"
    ),
    "simplify/out-of-branch": Tiny(
        "entry main [n] (xs: [n]i32) =\n"
        "  map (\\i -> if xs[i] == 0 then 0 else (xs ++ [7])[i + 1]) (iota n)",
        "[0, 4, 6]",
    ),
    # --- fusion -------------------------------------------------------------------------------
    "fuse/cut-map": Tiny(
        "entry main (xs: [6]i32) = (map (\\x -> x * x) xs)[1:4]", "[1, 2, 3, 4, 5, 6]"
    ),
    "fuse/rows-view": Tiny(
        "entry main [n][m] (xs: *[n][m][m]i32) =\n"
        "  let sums = map (\\ys -> map i32.sum ys) (map transpose xs)\n"
        "  in xs with [0, 0] = sums[0]",
        "[[[1, 2], [3, 4]]]",
    ),
    "fuse/transpose-map": Tiny(
        "entry main [n][m] (xss: [n][m]i32) = map i32.sum (transpose (map (map (* 2)) xss))",
        "[[1, 2], [3, 4]]",
    ),
    "fuse/flatten-map": Tiny(
        "entry main [n][m] (xss: [n][m]i32) = i32.sum (flatten (map (map (* 2)) xss))",
        "[[1, 2], [3, 4]]",
    ),
    "fuse/into-producer": Tiny(
        "entry main (xs: []i32) =\n"
        "  let ys = map (* 2) xs\n"
        "  in (ys, i32.maximum xs, map (/ 3) ys)",
        "[1, 2, 3]",
    ),
    "fuse/map-map": Tiny(
        "entry main (xs: []i32) =\n  let ys = map (+ 1) xs\n  in map (* 2) ys", "[1, 2, 3]"
    ),
    "fuse/map-reduce": Tiny(
        "entry main (xs: []i32) =\n  let ys = map (\\x -> x * x) xs\n  in reduce (+) 0 ys",
        "[1, 2, 3]",
    ),
    "fuse/map-scan": Tiny(
        "entry main (xs: []i32) =\n  let ys = map (\\x -> x * x) xs\n  in scan (+) 0 ys",
        "[1, 2, 3]",
    ),
    "fuse/map-scatter": Tiny(
        "entry main [n] (ds: *[3]i32) (is: [n]i64) (xs: [n]i32) =\n  scatter ds is (map (* 2) xs)",
        "[0, 0, 0] [2i64, 0i64] [5, 6]",
    ),
    "fuse/map-hist": Tiny(
        "entry main [n] (is: [n]i64) (xs: [n]i32) =\n  hist (+) 0 3 is (map (* 2) xs)",
        "[2i64, 0i64, 2i64] [5, 6, 7]",
    ),
    "fuse/map-stream": Tiny(
        "entry main (ds: *[3]i32) (is: []i64) =\n"
        "  scatter_stream ds (\\(acc: *acc ([3]i32)) i -> write acc i 5) (map (+ 1) is)",
        "[7, 7, 7] [0i64, 1i64]",
    ),
    "fuse/wider": Tiny(
        "entry main [n] (is: [n]i32) =\n"
        "  let wide = map i64.i32 is\n"
        "  let ones = reduce_by_index (replicate 3 0) (+) 0 wide (replicate n 1)\n"
        "  in reduce_by_index ones i32.max 0 wide is",
        "[0, 2, 0, 1]",
    ),
    "fuse/side-by-side": Tiny("entry main (xs: []i32) = (i32.sum xs, i32.maximum xs)", "[1, 5, 3]"),
    # --- kernels ------------------------------------------------------------------------------
    "flatten/whole-rows": Tiny(
        "entry main [n][m] (xss: [n][m]f32): [n][m]f32 =\n"
        "  map (\\xs -> let s = f32.sum xs in map (/ s) xs) xss",
        "[[1f32, 3f32], [2f32, 2f32]]",
        target="cuda",
    ),
    "flatten/attribute": Tiny(
        "entry main [n][m] (xss: [n][m]i32) =\n  #[sequential_inner] map (\\xs -> i32.sum xs) xss",
        "[[1, 2], [3, 4]]",
    ),
    "flatten/elements": Tiny(
        "entry main [n][m] (is: [n]i64) (vs: [n][m]i32) =\n"
        "  reduce_by_index (replicate 2 (replicate m 0)) (map2 (+)) (replicate m 0) is vs",
        "[0i64, 1i64, 0i64] [[1, 2], [3, 4], [5, 6]]",
    ),
    "flatten/growing": Tiny(
        "entry main (ks: []i64) =\n  map (\\k -> i64.sum (loop a = [1] for _i < k do a ++ a)) ks",
        "[1i64, 3i64]",
    ),
    "flatten/irregular": Tiny(
        "entry main (ks: []i64) = map (\\k -> i64.sum (iota k)) ks", "[2i64, 4i64]"
    ),
    "flatten/operator": Tiny(
        "entry main [n][m] (xss: [n][m]i32) (ys: [n]i32) =\n"
        "  map2 (\\xs y -> reduce i32.max y xs) xss ys",
        "[[1, 2], [3, 4]] [7, 0]",
    ),
    "flatten/small": Tiny(
        "entry main [n] (xss: [n][3]i32) = map i32.sum xss", "[[1, 2, 3], [4, 5, 6]]"
    ),
    "flatten/interchange-loop": Tiny(
        "entry main [n][m] (xss: [n][m]i32) (k: i64) =\n"
        "  map (\\xs -> loop ys = xs for _i < k do scan (+) 0 ys) xss",
        "[[1, 2], [3, 4]] 2i64",
    ),
    "flatten/interchange-if": Tiny(
        "entry main [n][m] (c: bool) (xss: [n][m]i32) =\n"
        "  map (\\xs -> if c then scan (+) 0 xs else scan (*) 1 xs) xss",
        "true [[1, 2], [3, 4]]",
    ),
    "flatten/interchange-reduce": Tiny(
        "entry main [n][m] (xss: [n][m]i32) =\n  reduce (map2 (+)) (replicate m 0) xss",
        "[[1, 2], [3, 4]]",
    ),
    "flatten/distribute": Tiny(
        "entry main [n][m] (xss: [n][m]i32) =\n"
        "  map (\\xs -> let s = i32.sum xs in map (+ s) xs) xss",
        "[[1, 2], [3, 4]]",
    ),
    "flatten/intra-block": Tiny(
        "entry main [n][m] (xss: [n][m]i32) = map (scan (+) 0 >-> scan i32.max 0) xss",
        "[[1, 2], [3, 4]]",
        target="cuda",
    ),
    "flatten/nest": Tiny(
        "entry main [n][m] (xss: [n][m]i32) = map (map (+ 1)) xss", "[[1, 2], [3, 4]]"
    ),
    "flatten/segmented": Tiny(_ROWS_ADDED, "[[1, 2], [3, 4]]"),
    "flatten/stream": Tiny(
        "entry main [n][m] (ds: *[n][m]i32) (is: []i64) (v: [m]i32) =\n"
        "  reduce_by_index_stream ds (\\a b -> scan (+) 0 (map2 (+) a b)) (replicate m 0)\n"
        "    (\\(acc: *acc ([n][m]i32)) i -> write acc i v) is",
        "[[1, 2], [3, 4]] [0i64] [5, 6]",
    ),
    "flatten/versions": Tiny(_ROWS_ADDED, "[[1, 2], [3, 4]]"),
    # --- memory -------------------------------------------------------------------------------
    "memory/array-operator": Tiny(
        "entry main [n] (ps: [n][3]i64) = scan (\\p q -> map (\\i -> p[i]) q) [0, 1, 2] ps",
        "[[1i64, 2i64, 0i64], [1i64, 0i64, 2i64]]",
    ),
    "memory/if": Tiny(
        "entry main [n] (c: bool) (xss: [n][n]i32) =\n"
        "  let b = if c then xss else transpose xss\n  in map i32.sum b",
        "true [[1, 2], [3, 4]]",
    ),
    "memory/concat": Tiny("entry main (xs: [3]i32) (ys: [2]i32) = xs ++ ys", "[1, 2, 3] [4, 5]"),
    "memory/loop": Tiny(
        "entry main [n] (xs: [n]i32) (k: i64) =\n  loop ys = xs for _i < k do scan (+) 0 ys",
        "[1, 2, 3] 2i64",
    ),
    "memory/reshape": Tiny(
        "entry main [n][m] (xss: [n][m]i32) = i32.sum (scan (+) 0 (flatten (transpose xss)))",
        "[[1, 2], [3, 4]]",
    ),
    "memory/result": Tiny("entry main [n][m] (xss: [n][m]i32) = transpose xss", "[[1, 2], [3, 4]]"),
    "memory/row": Tiny(
        "entry main [n][m] (xss: [n][m]i32) =\n"
        "  map (\\xs -> loop ys = copy xs for i < m do ys with [i] = ys[i] + 1) xss",
        "[[1, 2], [3, 4]]",
    ),
    "memory/update": Tiny(
        "entry main (xs: *[5]i32) (ys: [3]i32) = xs with [0:3] = scan (+) 0 ys",
        "[1, 2, 3, 4, 5] [6, 7, 8]",
    ),
    # --- short-circuiting ---------------------------------------------------------------------
    "shortcircuit/budget": Tiny(
        "entry main [n] (xss: *[3][n]i32) =\n"
        "  let xss = xss with [1] = map (+ 1) xss[0]\n"
        "  in xss with [2] = map (* 2) xss[0]",
        "[[1, 2], [3, 4], [5, 6]]",
        limits=(("shortcircuit/budget/steps", 2),),
    ),
    "shortcircuit/concat": Tiny(
        "entry main (xs: [3]i32) (ys: [2]i32) = map (+ 1) xs ++ map (* 2) ys", "[1, 2, 3] [4, 5]"
    ),
    "shortcircuit/copy": Tiny(
        "entry main [n][m] (xss: [n][m]i32) =\n  let yss = map (map (+ 1)) xss\n  in transpose yss",
        "[[1, 2], [3, 4]]",
        off=("fuse",),
    ),
    "shortcircuit/guard": Tiny(
        "entry main [n][m] (xss: *[n][m]i32): [n][m]i32 =\n"
        "  let new = tabulate_2d n m (\\i j -> i32.i64 (i - j))\n"
        "  in unflatten (lmad_update_2d (flatten xss) 0 (m, 1) new)",
        "[[1, 2], [3, 4]]",
    ),
    "shortcircuit/in-place-map": Tiny(
        "entry main [n] (xs: *[n]i32): *[n]i32 = map (* 2) xs", "[1, 2, 3]"
    ),
    "shortcircuit/kernel-result": Tiny(
        "entry main [n][m] (xss: [n][m]i32) =\n"
        "  map (\\xs -> loop ys = copy xs for i < m do ys with [i] = ys[i] + 1) xss",
        "[[1, 2], [3, 4]]",
    ),
    "shortcircuit/update": Tiny(
        "entry main (xs: *[5]i32) (ys: [3]i32) = xs with [0:3] = scan (+) 0 ys",
        "[1, 2, 3, 4, 5] [6, 7, 8]",
    ),
    # --- memory of threads, and blocks that are shared ----------------------------------------
    "memory/double-buffer": Tiny(
        "entry main [n][m] (xss: [n][m]i32) =\n"
        "  map (\\xs -> loop ys = xs for i < 5 do scan (+) i (reverse ys)) xss",
        "[[1, 2], [3, 4]]",
    ),
    "memory/expand": Tiny(
        "entry main [n][m] (xss: [n][m]i32) =\n"
        "  map (\\xs -> let ys = loop ys = copy xs for i < m do ys with [i] = ys[m - 1 - i]\n"
        "              in ys[0] + ys[m / 2]) xss",
        "[[1, 2], [3, 4]]",
    ),
    "memory/turned": Tiny(
        "entry main [n] (a: [2][n]f32) (k: i32) =\n"
        "  loop a for _i < k do transpose (map (\\r -> [r[1], r[0] + r[1]]) (transpose a))",
        "[[1, 2], [3, 4]] 3i32",
        target="cuda",
    ),
    "coalesce/reads": Tiny(
        "entry main [n][m] (xss: [n][m]i32) =\n"
        "  map (\\xs -> loop s = 0 for x in xs do s * 3 + x) xss",
        "[[1, 2], [3, 4]]",
        target="cuda",
    ),
    "coalesce/writes": Tiny(
        "entry main [n] (xs: [n]i32) (m: i64) =\n"
        "  map (\\x -> loop ys = replicate m x for i < m - 1 do ys with [i + 1] = ys[i] * 3) xs",
        "[1, 2] 3i64",
        target="cuda",
    ),
    "merge/blocks": Tiny(
        "entry main [n] (xs: [n]i32) =\n"
        "  let a = scan (+) 0 xs\n  let b = scan (*) 1 (reverse a)\n"
        "  in scan i32.max 0 (reverse b)",
        "[1, 2, 3]",
    ),
    "merge/double-buffer": Tiny(
        "entry main [n] (xs: [n]i32) (k: i64) =\n"
        "  loop ys = xs for _i < k do scan (+) 0 (reverse ys)",
        "[1, 2, 3] 2i64",
    ),
    "merge/in-kernels": Tiny(
        "entry main [n][m] (xss: [n][m]i32) =\n"
        "  map (\\xs ->\n"
        "    let a = loop a = replicate m 0 for i < m do a with [i] = xs[m - 1 - i]\n"
        "    let b = loop b = replicate m 0 for i < m do b with [i] = a[m - 1 - i] * a[i / 2]\n"
        "    let c = loop c = replicate m 0 for i < m do c with [i] = b[m - 1 - i] + b[i / 2]\n"
        "    in c[0]) xss",
        "[[1, 2], [3, 4]]",
    ),
    "merge/hoist": Tiny(_ROWS_ADDED, "[[1, 2], [3, 4]]"),
    # --- kernels for blocks of threads --------------------------------------------------------
    "kernels/rows": Tiny(_ROWS_ADDED, "[[1, 2], [3, 4]]", target="cuda"),
    "kernels/thread-rows": Tiny(_ROWS_ADDED, "[[1, 2], [3, 4]]", target="cuda"),
    "kernels/handed": Tiny("entry main (xs: []i32) = filter (> 0) xs", "[1, -2, 3]", target="cuda"),
    "kernels/kept": Tiny(
        "entry main [n] (xs: [n]i32) =\n"
        "  scan (+) 0 (map (\\x -> i64.bool (xs[i64.i32 x % n] > 3)) xs)",
        "[1, 4, 3]",
        target="cuda",
    ),
    "kernels/look-back": Tiny("entry main (xs: []i32) = scan (+) 0 xs", "[1, 2, 3]", target="cuda"),
    "kernels/several": Tiny("entry main (xs: []i32) = scan (+) 0 xs", "[1, 2, 3]", target="cuda"),
    "kernels/tiled": Tiny(
        "entry main [n][m] (a: [n][m]i32) =\n"
        "  map (\\r -> map (\\s -> i32.sum (map2 (*) r s)) a) a",
        "[[1, 2], [3, 4]]",
        target="cuda",
    ),
    "kernels/stencils": Tiny(
        "entry main [n] (xs: [n]i32) =\n"
        "  tabulate n (\\i -> xs[i64.max 0 (i - 1)] + xs[i] + xs[i64.min (n - 1) (i + 1)])",
        "[1, 2, 4]",
        target="cuda",
    ),
    "kernels/shared-bins": Tiny(
        "entry main [n] (is: [n]i64) = hist (+) 0 3 is (replicate n 1i32)",
        "[2i64, 0i64, 2i64]",
        target="cuda",
    ),
    "cuda/read-only": Tiny("entry main (xs: []i32) = map (+ 1) xs", "[1, 2]", target="cuda"),
    "cuda/narrow": Tiny("entry main (xs: []i32) = map (+ 1) xs", "[1, 2]", target="cuda"),
    "kernels/kept-rows": Tiny(
        "entry main [n][m] (xss: [n][m]f32) =\n  map (\\xs -> map (/ f32.sum xs) xs) xss",
        "[[1.0f32, 3.0f32]]",
        target="cuda",
    ),
    "kernels/fma": Tiny(
        "entry main (xs: []f32) (y: f32) = map (\\x -> x * x + y) xs",
        "[1.0f32, 2.0f32] 3.0f32",
        target="cuda",
    ),
    "c/fast-functions": Tiny("entry main (xs: []f64) = map f64.exp xs", "[1.0f64, 2.0f64]"),
    "flatten/one-loop": Tiny(
        "entry main [n][m] (xss: [n][m]i32) =\n  map (\\xs -> i32.maximum (scan (+) 0 xs)) xss",
        "[[1, -2], [3, 4]]",
    ),
    "widen/indices": Tiny(
        "entry main [n] (xs: [n]i32) =\n"
        "  tabulate n (\\i -> let k = i32.i64 i in if k == 0 then xs[k] else xs[k - 1])",
        "[1, 2, 3]",
    ),
    "c/interior": Tiny(
        "entry main [n] (xs: [n]i32) =\n  tabulate n (\\i -> if i == 0 then 0 else xs[i - 1])",
        "[1, 2, 3]",
    ),
    "c/lane-scans": Tiny(
        "entry main [n][m] (xs: [n][m]i32) = map (scan (+) 0) xs", "[[1, 2], [3, 4]]"
    ),
    "c/one-pass": Tiny("entry main (xs: []i32) = scan (+) 0 xs", "[1, 2, 3]"),
    "c/interchange": Tiny(
        "entry main [n][m][k] (a: [n][m]i32) (b: [m][k]i32) =\n"
        "  map (\\r -> let s = i32.sum r\n"
        "        in map (\\c -> i32.sum (map2 (\\x y -> x * y * s) r c)) (transpose b)) a",
        "[[1, 2], [3, 4]] [[5, 6], [7, 8]]",
    ),
    "c/element-rows": Tiny(
        "entry main [n][d] (is: [n]i64) (xss: [n][d]i32) =\n"
        "  hist (map2 (+)) (replicate d 0) 3 is xss",
        "[2i64, 0i64] [[1, 2], [3, 4]]",
    ),
    "c/row-tiles": Tiny(
        "entry main [n][m][k] (a: [n][m]i32) (b: [m][k]i32) =\n"
        "  map (\\r -> map (\\c -> i32.sum (map2 (*) r c)) (transpose b)) a",
        "[[1, 2], [3, 4]] [[5, 6], [7, 8]]",
    ),
    "c/short-rows": Tiny(_ROWS_ADDED, "[[1, 2], [3, 4]]"),
    "cuda/graphs": Tiny(
        "entry main [n] (xs: *[n]i32) = loop xs for _i < 3i32 do map (+ 1) xs", "[1]", target="cuda"
    ),
    "kernels/rounds": Tiny(
        "entry main [n] (xs: *[n]i64) (k: i64) =\n"
        "  loop xs for i < k do let shift = i * n in map (+ shift) xs",
        "[1i64, 2i64] 3i64",
        target="cuda",
    ),
    "kernels/fitted": Tiny(
        "entry main [n][m] (xss: [n][m]i32) =\n"
        "  map (\\xs -> reverse (scan (+) 0 (reverse xs))) xss",
        "[[1, 2], [3, 4]]",
        target="cuda",
    ),
    "kernels/sunk": Tiny(
        "entry main [n] (xs: [n]i32) =\n"
        "  tabulate n (\\i -> let x = xs[n - 1 - i] in if i % 2 == 0 then x else 0)",
        "[1, 2, 3]",
        target="cuda",
    ),
    "kernels/resident": Tiny(
        "entry main (xs: []i32) = let most = i32.maximum xs in map (+ most) xs",
        "[1, 2]",
        target="cuda",
    ),
    "kernels/fewer-threads": Tiny(
        "entry main [n][m] (xss: [n][m]f32): [n][m]f32 =\n"
        "  map (\\xs -> let s = f32.sum xs in map (/ s) xs) xss",
        "[[1f32, 3f32], [2f32, 2f32]]",
        target="cuda",
    ),
    "kernels/large-tiles": Tiny(
        "entry main [n][m][k] (xss: [n][k]f32) (yss: [k][m]f32) =\n"
        "  map (\\xs -> map (\\ys -> f32.sum (map2 (*) xs ys)) (transpose yss)) xss",
        "[[1f32, 2f32]] [[3f32], [4f32]]",
        target="cuda",
    ),
    "coalesce/squares": Tiny(
        "entry main [n][m] (xss: [n][m]i32) = map (map (+ 1)) (transpose xss)",
        "[[1, 2], [3, 4]]",
        target="cuda",
    ),
    "c/squares": Tiny(
        "entry main [n][m] (xss: [n][m]i32) = map (map (+ 1)) (transpose xss)", "[[1, 2], [3, 4]]"
    ),
    "flatten/flat-views": Tiny(
        "entry main [n][m] (xss: [n][m]i32) = map (+ 1) (flatten (transpose xss))",
        "[[1, 2], [3, 4]]",
    ),
    "coalesce/columns": Tiny(
        "entry main [n][m] (xss: [n][m]i32) = map i32.sum (transpose xss)",
        "[[1, 2], [3, 4]]",
        target="cuda",
    ),
    "kernels/wide": Tiny("entry main (xs: []i32) = map (+ 1) xs", "[1, 2]", target="cuda"),
    "kernels/squares": Tiny(
        "entry main [n][m] (xss: [n][m]i32) = transpose xss", "[[1, 2], [3, 4]]", target="cuda"
    ),
}
