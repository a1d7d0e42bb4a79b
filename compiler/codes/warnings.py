"""Warnings: legal programs that are probably mistakes."""

from compiler.base.code import Code

UNUSED = Code(
    "W001",
    "A name that is not used",
    "A value is bound and never read: perhaps another name was meant. A name that begins with an "
    "underscore says that this is on purpose.",
    wrong="def f (x: i32) (y: i32): i32 = x + x",
    mended="def f (x: i32) (_y: i32): i32 = x + x",
)
ATTRIBUTE = Code(
    "W002",
    "An attribute that nothing knows",
    "`#[..]` tells the compiler how to compile what follows. A word that it does not know has no "
    "effect.",
    wrong="def f (xs: []i32) = #[sequentiel] map (+ 1) xs",
    mended="def f (xs: []i32) = #[sequential] map (+ 1) xs",
)
FAILS = Code(
    "W003",
    "An assertion that always fails",
    "The condition is false whatever the program is given.",
    wrong="def f (x: i32): i32 = assert false x",
    mended="def f (x: i32): i32 = assert (x > 0) x",
)
DIVISION = Code(
    "W004",
    "A division by zero",
    "An integer is divided by the literal zero, which fails whenever it runs.",
    wrong="def f (x: i32): i32 = x / 0",
    mended="def f (x: i32) (y: i32): i32 = if y == 0 then 0 else x / y",
)
BOUNDS = Code(
    "W005",
    "An index that is always out of bounds",
    "Indices count from 0, so that the last one is the size less 1; negative ones do not count "
    "from the end.",
    wrong="def f (xs: [3]i32): i32 = xs[3]",
    mended="def f (xs: [3]i32): i32 = xs[2]",
)
COMPARISON = Code(
    "W006",
    "A comparison of whole arrays",
    "`==` on arrays is on its way out of the language. Compare the elements.",
    wrong="def f [n] (xs: [n]i32) (ys: [n]i32): bool = xs == ys",
    mended="def f [n] (xs: [n]i32) (ys: [n]i32): bool = and (map2 (==) xs ys)",
)
UNREACHED = Code(
    "W007",
    "A case that no value reaches",
    "Cases are tried from top to bottom, and those above take all values.",
    wrong="def f (x: i32): i32 = match x case _ -> 0 case 1 -> 2",
    mended="def f (x: i32): i32 = match x case 1 -> 2 case _ -> 0",
)
HOLE = Code(
    "W008",
    "A hole",
    "`???` stands for what is not written yet. The message says which type it must have; the "
    "program runs, and fails where it needs the value.",
    wrong="def f (x: i32): i32 = x + ???",
    mended="def f (x: i32): i32 = x + 1",
)
OWN_NAME = Code(
    "W010",
    "A function with the name of one that it uses",
    "In its body the name still is the prelude's function. Newer versions of Futhark take it for "
    "the function itself.",
    wrong="def reverse (xs: []i32): []i32 = map (+ 1) (reverse xs)",
    mended="def backwards (xs: []i32): []i32 = map (+ 1) (reverse xs)",
)

GUESSED = Code(
    "W011",
    "A number whose type nothing says",
    "A parameter is used as a number, and neither its type nor its uses say which. It is taken for "
    "`i32`, or `f64`, and callers with other numbers are refused.",
    wrong="def twice x = x + x",
    mended="def twice (x: i64) = x + x",
)
STAR = Code(
    "W012",
    "A `*` without an effect",
    "`*` says that an array is consumed, or is fresh. Numbers, and records of them, are copied: "
    "there is nothing to consume.",
    wrong="def f (x: *i32): i32 = x + 1",
    mended="def f (x: i32): i32 = x + 1",
)
UNTOLD = Code(
    "W013",
    "A size that binds a name",
    "An argument that sizes depend on has a `let`, a function or a loop in it. No type can mention "
    "that, so that the size is one about which nothing is known.",
    wrong="def f (n: i64): []i64 = iota (let m = n + 2 in m * m)",
    mended="def f (n: i64): []i64 = let m = n + 2 let k = m * m in iota k",
)
HIDES = Code(
    "W014",
    "An `include` that hides a type",
    "Two module types that are included have a type of one name. The second is another type than "
    "the first, which can no longer be named.",
    wrong="module type a = {type t val x: t}\nmodule type b = {type t val y: t}\n"
    "module type c = {include a include b}",
    mended="module type a = {type t val x: t}\nmodule type b = {type t val y: t}\n"
    "module type c = {include a include b with t = t}",
)
UNROLL = Code(
    "W015",
    "An `#[unroll]` without an effect",
    "The loop can be written out only if the number of its turns is a literal.",
    wrong="def f (n: i64): i64 = #[unroll] loop x = 1 for i < n do x * i",
    mended="def f: i64 = #[unroll] loop x = 1 for i < 4i64 do x * i",
)
CHECKED = Code(
    "W016",
    "A check that is left",
    "`#[warn(safety_checks)]` asks which accesses in an expression, or in what it calls, are still "
    "checked when the program runs. The others are proved to lie inside.",
    wrong="entry f [n] (xs: [n]i32) (i: i64): i32 = #[warn(safety_checks)] xs[i]",
    mended="entry f [n] (xs: [n]i32) (i: i64): i32 =\n"
    "  if i >= 0 && i < n then #[warn(safety_checks)] xs[i] else 0",
)
FEW = Code(
    "W017",
    "A parallel reduction of a few numbers",
    "A reduction is made for arrays of any size. On a GPU the numbers are written to memory first, "
    "and kernels are started for them, where one addition would do. Inside of a parallel function "
    "it is a short loop, and nothing is told.",
    wrong="entry f (x: f32) (y: f32) (z: f32) = reduce (+) 0 [x, y, z]",
    mended="entry f (x: f32) (y: f32) (z: f32) = x + y + z",
)
SMALL_ROWS = Code(
    "W018",
    "An operator on small arrays",
    "A reduction or scan keeps what it has so far. Numbers and tuples of them are in registers; "
    "an array is in memory, and a thread of a GPU goes over all elements one after the other. "
    "`map2 op` is another matter: the map goes outside, and each element has a reduction of its "
    "own.",
    wrong="def f (xs: [][2]f32) = reduce (\\a b -> [a[0] * b[0], a[1] * b[0] + b[1]]) [1, 0] xs",
    mended="def f (xs: [](f32, f32)) = reduce (\\a b -> (a.0 * b.0, a.1 * b.0 + b.1)) (1, 0) xs",
)
NARROW = Code(
    "W019",
    "A histogram with narrow bins",
    "A GPU has atomic operations on 32 and 64 bits. Narrower bins are updated under locks, for "
    "which threads wait.",
    wrong="def f (is: []i64) (xs: []u8) = hist (+) 0 1000 is xs",
    mended="def f (is: []i64) (xs: []u8) = map u8.u32 (hist (+) 0 1000 is (map u32.u8 xs))",
)
SUMS = Code(
    "W020",
    "An array of sums that hold arrays",
    "A sum is a number for its variant, beside the values of all variants; only scalars of one "
    "type share a place. A single value has empty arrays for the variants that it is not; in an "
    "array all elements have rows of one size, for every variant.",
    wrong="def f [n] (xs: [n](#ints [8]i32 | #floats [8]f32)) = length xs",
    mended="def f [n] (xs: [n](#ints i64 | #floats i64)) (_: [][8]i32) (_: [][8]f32) = length xs",
)
FOLD = Code(
    "W021",
    "A loop that could be a reduction or a scan",
    "A loop makes its rounds one after the other. This one only carries a number through an "
    "operator for which the order of steps does not matter: `reduce` and `scan` do that in "
    "parallel. Told in entry points, of loops with many rounds, or nobody knows how many.",
    wrong="entry f [n] (xs: [n]i32) = loop sum = 0 for x in xs do sum + x * x",
    mended="entry f [n] (xs: [n]i32) = reduce (+) 0 (map (\\x -> x * x) xs)",
)
