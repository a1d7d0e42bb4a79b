"""Uniqueness: what is consumed, by whom, and what may share its memory."""

from compiler.base.code import Code

USED_AFTER = Code(
    "U001",
    "A value that is used after it was consumed",
    "An update in place, and a function with `*` in its parameter's type, consume an array: its "
    "memory becomes that of the result. Afterwards neither the array nor what shares its memory "
    "can be read. Read it before, or consume a copy.",
    wrong="def f (xs: *[]i32): ([]i32, i32) =\n  let ys = xs with [0] = 5\n  in (ys, xs[0])",
    mended="def f (xs: *[]i32): ([]i32, i32) =\n"
    "  let x = xs[0]\n  let ys = xs with [0] = 5\n  in (ys, x)",
)
BORROWED = Code(
    "U002",
    "A parameter is consumed that belongs to the caller",
    "Without `*` in its type, a parameter still belongs to the caller and must stay as it is. "
    "With the `*`, callers give it away. Otherwise consume a copy.",
    wrong="def set [n] (xs: [n]i32): [n]i32 = xs with [0] = 5",
    mended="def set [n] (xs: *[n]i32): *[n]i32 = xs with [0] = 5",
)
CONSTANT = Code(
    "U003",
    "A constant of the program is consumed",
    "A definition without parameters is computed once, and every use sees the same array. Consume "
    "a copy.",
    wrong="def table: [3]i32 = [1, 2, 3]\ndef f (i: i64): [3]i32 = table with [i] = 0",
    mended="def table: [3]i32 = [1, 2, 3]\ndef f (i: i64): [3]i32 = copy table with [i] = 0",
)
OUTSIDE = Code(
    "U004",
    "Something from outside is consumed in a lambda or loop",
    "A lambda may be called, and a loop's body run, more than once: what is bound outside of it "
    "can be consumed only once. Carry it as the loop's value, or consume a copy.",
    wrong="def f (n: i64) =\n  let xs = replicate n 0i32\n"
    "  in map (\\i -> xs with [i] = 1) (iota n)",
    mended="def f (n: i64) =\n  let xs = replicate n 0i32\n"
    "  in map (\\i -> copy xs with [i] = 1) (iota n)",
)
SHARED = Code(
    "U005",
    "What is consumed is given a second time",
    "One array, or two that share memory, are two arguments of a call, or two parts of one "
    "value, and one of them is consumed: the other would change.",
    wrong="def f (xs: *[]i32) (ys: []i32): i32 = xs[0] + ys[0]\ndef g (xs: *[]i32): i32 = f xs xs",
    mended="def f (xs: *[]i32) (ys: []i32): i32 = xs[0] + ys[0]\n"
    "def g (xs: *[]i32): i32 = f (copy xs) xs",
)
VALUE_ALIASES = Code(
    "U006",
    "A new value that shares memory with what it updates",
    "The array is written while the new value is read. Where both are the same memory, the "
    "result would depend on the order of the two. Write a copy.",
    wrong="def f (xss: *[3][3]i32): [3][3]i32 = xss with [0] = xss[1]",
    mended="def f (xss: *[3][3]i32): [3][3]i32 = xss with [0] = copy xss[1]",
)
NOT_FRESH = Code(
    "U007",
    "A result with `*` that belongs to somebody else as well",
    "`*` in a result's type promises callers an array that nobody else has. A parameter without "
    "`*`, a part of one, or the same array twice is none.",
    wrong="def f [n] (xs: [n]i32): *[n]i32 = xs",
    mended="def f [n] (xs: [n]i32): *[n]i32 = copy xs",
)
RESULT_CONSTANT = Code(
    "U008",
    "A function's result that is a constant of the program",
    "Callers could not tell whether the result is theirs. Return a copy.",
    wrong="def table: [3]i32 = [1, 2, 3]\ndef f (_x: i32): [3]i32 = table",
    mended="def table: [3]i32 = [1, 2, 3]\ndef f (_x: i32): [3]i32 = copy table",
)
PARTIAL = Code(
    "U009",
    "A consuming function with some of its arguments",
    "A function that has been given some of its arguments may be called several times; the "
    "argument that it consumes is there once. Give all arguments at once, or write a lambda.",
    wrong="def set [n] (xs: *[n]i32) (i: i64): [n]i32 = xs with [i] = 0\n"
    "def f (xs: *[3]i32) = map (set xs) [0, 1]",
    mended="def set [n] (xs: *[n]i32) (i: i64): [n]i32 = xs with [i] = 0\n"
    "def f (xs: *[3]i32) = map (\\i -> set (copy xs) i) [0, 1]",
)
LOOP = Code(
    "U010",
    "A loop that consumes what is not its own",
    "What a loop consumes in an iteration must be its own in the next: not an array from "
    "outside, not one that another of its variables is as well, and not what its body reads under "
    "another name.",
    wrong="def f (xs: *[3]i32) (ys: []i32) =\n"
    "  loop zs = xs for i < 3 do let _new = zs with [i] = 0 in ys :> [3]i32",
    mended="def f (xs: *[3]i32) (ys: []i32) =\n"
    "  loop zs = xs for i < 3 do let _new = zs with [i] = 0 in copy (ys :> [3]i32)",
)
FUNCTION = Code(
    "U011",
    "A function that consumes where one may not, or the other way round",
    "`*` is part of a function's type. What calls a function without `*` keeps the argument, and "
    "what is promised a fresh result relies on that.",
    wrong="def apply (f: []i32 -> i32) (xs: []i32): i32 = f xs\n"
    "def g (xs: []i32): i32 = apply (\\(ys: *[]i32) -> ys[0]) xs",
    mended="def apply (f: []i32 -> i32) (xs: []i32): i32 = f xs\n"
    "def g (xs: []i32): i32 = apply (\\(ys: []i32) -> ys[0]) xs",
)
