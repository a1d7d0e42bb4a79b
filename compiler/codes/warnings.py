"""Warnings: legal programs that are probably mistakes."""

from compiler.base.code import Code

UNUSED = Code(
    "W001",
    "A name that is not used",
    "A value is bound but never used. Check whether you meant another name. Begin the "
    "name with an underscore if this is intentional.",
    wrong="def f (x: i32) (y: i32): i32 = x + x",
    mended="def f (x: i32) (_y: i32): i32 = x + x",
)
ATTRIBUTE = Code(
    "W002",
    "An unknown attribute",
    "An attribute `#[..]` tells the compiler how to compile the expression after it. "
    "An unknown attribute has no effect.",
    wrong="def f (xs: []i32) = #[sequentiel] map (+ 1) xs",
    mended="def f (xs: []i32) = #[sequential] map (+ 1) xs",
)
FAILS = Code(
    "W003",
    "An assertion that always fails",
    "The condition is false for every input.",
    wrong="def f (x: i32): i32 = assert false x",
    mended="def f (x: i32): i32 = assert (x > 0) x",
)
DIVISION = Code(
    "W004",
    "A division by zero",
    "The divisor is the literal zero, so the division always fails.",
    wrong="def f (x: i32): i32 = x / 0",
    mended="def f (x: i32) (y: i32): i32 = if y == 0 then 0 else x / y",
)
BOUNDS = Code(
    "W005",
    "An index that is always out of bounds",
    "Indices count from 0, so the last index is the size minus 1. Negative indices do "
    "not count from the end.",
    wrong="def f (xs: [3]i32): i32 = xs[3]",
    mended="def f (xs: [3]i32): i32 = xs[2]",
)
COMPARISON = Code(
    "W006",
    "A comparison of whole arrays",
    "Futhark deprecates `==` on arrays. Compare the elements.",
    wrong="def f [n] (xs: [n]i32) (ys: [n]i32): bool = xs == ys",
    mended="def f [n] (xs: [n]i32) (ys: [n]i32): bool = and (map2 (==) xs ys)",
)
UNREACHED = Code(
    "W007",
    "A case that no value reaches",
    "Cases are tried from top to bottom, and the cases above match every value. Move "
    "this case up, or remove it.",
    wrong="def f (x: i32): i32 = match x case _ -> 0 case 1 -> 2",
    mended="def f (x: i32): i32 = match x case 1 -> 2 case _ -> 0",
)
HOLE = Code(
    "W008",
    "A hole",
    "`???` stands for an expression that you have not written yet. The message shows "
    "its type. The program compiles, and fails when it evaluates the hole.",
    wrong="def f (x: i32): i32 = x + ???",
    mended="def f (x: i32): i32 = x + 1",
)
OWN_NAME = Code(
    "W010",
    "A function with the name of a prelude function that it calls",
    "Inside the body, the name still means the prelude's function. From Futhark 0.27 "
    "on it means the function itself. Choose another name.",
    wrong="def reverse (xs: []i32): []i32 = map (+ 1) (reverse xs)",
    mended="def backwards (xs: []i32): []i32 = map (+ 1) (reverse xs)",
)

GUESSED = Code(
    "W011",
    "A number whose type is ambiguous",
    "A parameter is used as a number, but neither its type nor its uses determine "
    "which type of number. The compiler chooses `i32`, or `f64`, and rejects calls "
    "with other numbers. Write the type.",
    wrong="def twice x = x + x",
    mended="def twice (x: i64) = x + x",
)
STAR = Code(
    "W012",
    "A `*` that has no effect",
    "`*` marks an array as consumed or as fresh. Numbers, and records of numbers, are "
    "copied, so there is nothing to consume. Remove the `*`.",
    wrong="def f (x: *i32): i32 = x + 1",
    mended="def f (x: i32): i32 = x + 1",
)
UNTOLD = Code(
    "W013",
    "A size expression with a binding",
    "An argument that determines a size contains a `let`, a lambda or a loop. Types "
    "cannot contain these, so the size becomes unknown. Bind the argument with `let` "
    "first.",
    wrong="def f (n: i64): []i64 = iota (let m = n + 2 in m * m)",
    mended="def f (n: i64): []i64 = let m = n + 2 let k = m * m in iota k",
)
HIDES = Code(
    "W014",
    "An `include` that hides a type",
    "Two included module types declare a type of the same name. They are different "
    "types, and the first can no longer be named. If they are the same, write `include "
    "b with t = t`.",
    wrong="module type a = {type t val x: t}\nmodule type b = {type t val y: t}\n"
    "module type c = {include a include b}",
    mended="module type a = {type t val x: t}\nmodule type b = {type t val y: t}\n"
    "module type c = {include a include b with t = t}",
)
UNROLL = Code(
    "W015",
    "An `#[unroll]` that has no effect",
    "The compiler can unroll a loop only if its number of iterations is a literal.",
    wrong="def f (n: i64): i64 = #[unroll] loop x = 1 for i < n do x * i",
    mended="def f: i64 = #[unroll] loop x = 1 for i < 4i64 do x * i",
)
CHECKED = Code(
    "W016",
    "A safety check that remains",
    "`#[warn(safety_checks)]` reports the accesses in an expression, and in the "
    "functions that it calls, that are still checked at run time. The compiler has "
    "proved all others to be in bounds.",
    wrong="entry f [n] (xs: [n]i32) (i: i64): i32 = #[warn(safety_checks)] xs[i]",
    mended="entry f [n] (xs: [n]i32) (i: i64): i32 =\n"
    "  if i >= 0 && i < n then #[warn(safety_checks)] xs[i] else 0",
)
FEW = Code(
    "W017",
    "A parallel reduction of a few numbers",
    "On a GPU this writes the numbers to memory and launches kernels to reduce them. "
    "Apply the operator directly instead. Inside a parallel function such a reduction "
    "is a short loop, and there is no warning.",
    wrong="entry f (x: f32) (y: f32) (z: f32) = reduce (+) 0 [x, y, z]",
    mended="entry f (x: f32) (y: f32) (z: f32) = x + y + z",
)
SMALL_ROWS = Code(
    "W018",
    "A reduction or scan whose operator works on small arrays",
    "A reduction or scan keeps an intermediate result. Numbers and tuples are kept in "
    "registers, but an array is kept in memory, and one GPU thread processes its "
    "elements one by one. Use a tuple. An operator of the form `map2 op` has no such "
    "cost: the compiler moves the map outside, with one reduction for each element.",
    wrong="def f (xs: [][2]f32) = reduce (\\a b -> [a[0] * b[0], a[1] * b[0] + b[1]]) [1, 0] xs",
    mended="def f (xs: [](f32, f32)) = reduce (\\a b -> (a.0 * b.0, a.1 * b.0 + b.1)) (1, 0) xs",
)
NARROW = Code(
    "W019",
    "A histogram with narrow bins",
    "GPUs have atomic operations for 32 and 64 bits. Updates of narrower bins take "
    "locks, so threads wait. Use wider bins, and convert the result.",
    wrong="def f (is: []i64) (xs: []u8) = hist (+) 0 1000 is xs",
    mended="def f (is: []i64) (xs: []u8) = map u8.u32 (hist (+) 0 1000 is (map u32.u8 xs))",
)
SUMS = Code(
    "W020",
    "An array of sum values that contain arrays",
    "A sum value is stored as a number for its variant and fields for the values of "
    "all variants; only scalars of one type share a field. In an array, every element "
    "reserves room for the arrays of every variant. Store indices in the variants, and "
    "keep the arrays outside.",
    wrong="def f [n] (xs: [n](#ints [8]i32 | #floats [8]f32)) = length xs",
    mended="def f [n] (xs: [n](#ints i64 | #floats i64)) (_: [][8]i32) (_: [][8]f32) = length xs",
)
FOLD = Code(
    "W021",
    "A loop that could be a reduction or a scan",
    "A loop runs its iterations one after the other. This loop only combines values "
    "with an associative operator, which `reduce` or `scan` does in parallel. The "
    "compiler warns only in entry points, and only about loops with many iterations or "
    "an unknown number of them.",
    wrong="entry f [n] (xs: [n]i32) = loop sum = 0 for x in xs do sum + x * x",
    mended="entry f [n] (xs: [n]i32) = reduce (+) 0 (map (\\x -> x * x) xs)",
)
