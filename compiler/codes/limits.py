"""Limitations: correct programs that need a feature not built yet."""

from compiler.base.code import Code


def _product(count: int) -> str:
    """Write a reduction of `count` numbers at once."""
    names = [[f"{letter}{i}" for i in range(count)] for letter in "ab"]
    left, right = (", ".join(row) for row in names)
    both = ", ".join(f"{a} * {b}" for a, b in zip(*names, strict=True))
    return (
        f"entry main (xs: []f64) =\n  reduce (\\({left})\n         ({right}) ->\n"
        f"    ({both}))\n"
        f"    ({', '.join(['1'] * count)})\n"
        f"    (map (\\x -> ({', '.join(['x'] * count)})) xs)"
    )


NOT_BUILT = Code(
    "L001",
    "A part of the language that is not built yet",
    "Futhark has it, Stridescope does not have it yet: derivatives with respect to arrays whose "
    "sizes only a value tells, those in variants of a sum.",
    wrong="type~ opt = #none | #some ([]f32)\n"
    "entry f (n: i64): f32 =\n"
    "  let g (o: opt) = match o case #none -> 0 case #some xs -> f32.sum xs\n"
    "  in jvp g (#some (replicate n 1)) (#some (replicate n 2))",
    mended="entry f (n: i64): f32 = jvp f32.sum (replicate n 1) (replicate n 2)",
)
SIZE = Code(
    "L004",
    "A size that is too complicated",
    "Sizes are compared by what is written in them. An expression with functions or loops in it "
    "gets a name by `let`, and the name is the size.",
    wrong="entry f (n: i64): [loop x = n for _i < 3i32 do x * 2]i32 =\n  replicate (n * 8) 0",
    mended="entry f (n: i64): []i32 =\n  let m = loop x = n for _i < 3i32 do x * 2\n"
    "  in replicate m 0",
)
FUNCTION = Code(
    "L006",
    "A function that is chosen by the run",
    "Which function is called must be known when the program is compiled. Functions can be "
    "passed, bound and put into tuples, but not be the result of an `if` or carried by a loop.",
)
ROWS = Code(
    "L007",
    "An array whose rows may differ in size",
    "All rows of an array have one size. Where it cannot be told before the rows are computed, "
    "give them one: `row :> [n]t`.",
)
UNKNOWN_SIZE = Code(
    "L008",
    "A size that cannot be told from the types",
    "A size of a value is needed that nothing in the program has a name for. Give the value a "
    "name with its size: `let [k] (xs: [k]t) = ..`.",
)
KERNEL_SIZE = Code(
    "L009",
    "An array of a kernel whose size only its thread knows",
    "A kernel's memory is reserved before it starts. A kernel before it computes the largest size "
    "that a thread needs; but where an array's size in an iteration of a loop follows from the "
    "array of the iteration before, that would need the memory itself.",
    wrong="entry f (ks: []i64) =\n"
    "  map (\\k -> loop s = k while s > 10 do s - (scan (+) 0 (iota s))[s / 2]) ks",
    mended="entry f (ks: []i64) =\n"
    "  map (\\k -> loop s = k while s > 10 do s - (loop t = 0 for i < s / 2 + 1 do t + i)) ks",
)
KERNEL_LOOP = Code(
    "L010",
    "An array of a kernel that grows in a loop",
    "A kernel's memory is reserved before it starts. Give the array the largest size that it can "
    "have, and keep count of what is in use.",
)
ARRAY_OPERATOR = Code(
    "L011",
    "An operator on whole arrays",
    "A reduction, scan or histogram whose operator takes arrays is turned into one on their "
    "elements. Here that is not possible.",
)
GPU_MEMORY = Code(
    "L012",
    "A kernel that needs more shared or private memory than there is",
    "The threads of a block share little memory, and arrays of a thread's own must have small "
    "constant sizes. The C back end has no such bounds.",
    wrong=_product(200),
    mended=_product(3),
)
CALL = Code(
    "L013",
    "A call inside a kernel that could not be inlined",
    "What runs in a kernel is one piece of code, into which functions are inlined.",
)
INTRINSIC = Code(
    "L014",
    "An intrinsic that programs cannot use",
    "Only some of what the compiler builds in can be used by its name; the message lists it.",
    wrong="entry f (xs: []i32) = intrinsics.opaque xs",
    mended="entry f (xs: []i32) = opaque xs",
)
DEPTH = Code(
    "L015",
    "A program that nests too deeply",
    "Expressions inside of expressions inside of expressions, many thousands of times.",
)
RESOURCES = Code(
    "L016",
    "A program that takes too long to compile, or too much room",
    "The C compiler did not finish in time, or there was no room for what it made. The reference "
    "interpreter needs no C compiler.",
)
MUTUAL = Code(
    "L017",
    "Two functions that call each other",
    "A function that calls itself may call another one that does so, but not by way of a function "
    "that it gives to it. One of the two can be written as a loop.",
    wrong="def times (n: i64) (f: i64 -> i64) (x: i64): i64 =\n"
    "  if n == 0 then x else times (n - 1) f (f x)\n"
    "def g (n: i64): i64 = if n == 0 then 1 else times n (\\x -> x + g (n - 1)) 0\n"
    "entry main (n: i64) = g n",
    mended="def times (n: i64) (f: i64 -> i64) (x: i64): i64 = loop y = x for _i < n do f y\n"
    "def g (n: i64): i64 = if n == 0 then 1 else times n (\\x -> x + g (n - 1)) 0\n"
    "entry main (n: i64) = g n",
)
DERIVATIVE = Code(
    "L018",
    "A function that cannot be derived",
    "Something on the way from the inputs to the result has no derivative that can be written down "
    "here. The hint says how to get around it.",
    wrong="entry f (x: f64): f64 = vjp f64.gamma x 1",
    mended="entry f (x: f64): f64 = vjp (\\y -> f64.sqrt y) x 1",
)
