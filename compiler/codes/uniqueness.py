"""Uniqueness: arrays that are consumed, and results that must be fresh."""

from compiler.base.code import Code

USED_AFTER = Code(
    "U001",
    "A use of a value after it was consumed",
    "An in-place update consumes its array, and so does a function whose parameter "
    "type has a `*`: the result reuses the array's memory. Afterwards you cannot read "
    "the array or anything that shares its memory. Read it before, or consume a copy.",
    wrong="def f (xs: *[]i32): ([]i32, i32) =\n  let ys = xs with [0] = 5\n  in (ys, xs[0])",
    mended="def f (xs: *[]i32): ([]i32, i32) =\n"
    "  let x = xs[0]\n  let ys = xs with [0] = 5\n  in (ys, x)",
)
BORROWED = Code(
    "U002",
    "A parameter that the function may not consume",
    "A parameter without `*` in its type belongs to the caller and must stay "
    "unchanged. Add the `*`, so that callers give the array away, or consume a copy.",
    wrong="def set [n] (xs: [n]i32): [n]i32 = xs with [0] = 5",
    mended="def set [n] (xs: *[n]i32): *[n]i32 = xs with [0] = 5",
)
CONSTANT = Code(
    "U003",
    "A constant that is consumed",
    "A definition without parameters is computed once, and all uses share the same "
    "array. Consume a copy.",
    wrong="def table: [3]i32 = [1, 2, 3]\ndef f (i: i64): [3]i32 = table with [i] = 0",
    mended="def table: [3]i32 = [1, 2, 3]\ndef f (i: i64): [3]i32 = copy table with [i] = 0",
)
OUTSIDE = Code(
    "U004",
    "A lambda or loop consumes a value from outside",
    "A lambda or a loop body may run more than once, but a value can be consumed only "
    "once. Make the value a parameter of the loop, or consume a copy.",
    wrong="def f (n: i64) =\n  let xs = replicate n 0i32\n"
    "  in map (\\i -> xs with [i] = 1) (iota n)",
    mended="def f (n: i64) =\n  let xs = replicate n 0i32\n"
    "  in map (\\i -> copy xs with [i] = 1) (iota n)",
)
SHARED = Code(
    "U005",
    "A consumed value that is passed twice",
    "One array, or two arrays that share memory, occur twice in a call or value, and "
    "one of them is consumed: the other would change. Copy one of them.",
    wrong="def f (xs: *[]i32) (ys: []i32): i32 = xs[0] + ys[0]\ndef g (xs: *[]i32): i32 = f xs xs",
    mended="def f (xs: *[]i32) (ys: []i32): i32 = xs[0] + ys[0]\n"
    "def g (xs: *[]i32): i32 = f (copy xs) xs",
)
VALUE_ALIASES = Code(
    "U006",
    "A new value that shares memory with the updated array",
    "The update writes the array while it reads the new value. If both share memory, "
    "the result would depend on the order of reads and writes. Copy the new value.",
    wrong="def f (xss: *[3][3]i32): [3][3]i32 = xss with [0] = xss[1]",
    mended="def f (xss: *[3][3]i32): [3][3]i32 = xss with [0] = copy xss[1]",
)
NOT_FRESH = Code(
    "U007",
    "A result with `*` that is not fresh",
    "`*` in a result's type promises a fresh array, which shares memory with nothing "
    "else. A parameter without `*`, a part of one, or an array that is returned twice "
    "is not fresh. Return a copy, or remove the `*`.",
    wrong="def f [n] (xs: [n]i32): *[n]i32 = xs",
    mended="def f [n] (xs: [n]i32): *[n]i32 = copy xs",
)
RESULT_CONSTANT = Code(
    "U008",
    "A function that returns a constant of the program",
    "The result must not share memory with a constant of the program, because the "
    "caller may consume it. Return a copy.",
    wrong="def table: [3]i32 = [1, 2, 3]\ndef f (_x: i32): [3]i32 = table",
    mended="def table: [3]i32 = [1, 2, 3]\ndef f (_x: i32): [3]i32 = copy table",
)
PARTIAL = Code(
    "U009",
    "A partial application of a consuming function",
    "A partially applied function may be called several times, but the argument that "
    "it consumes exists once. Give all arguments at once, or write a lambda.",
    wrong="def set [n] (xs: *[n]i32) (i: i64): [n]i32 = xs with [i] = 0\n"
    "def f (xs: *[3]i32) = map (set xs) [0, 1]",
    mended="def set [n] (xs: *[n]i32) (i: i64): [n]i32 = xs with [i] = 0\n"
    "def f (xs: *[3]i32) = map (\\i -> set (copy xs) i) [0, 1]",
)
LOOP = Code(
    "U010",
    "A loop that consumes a value that it does not own",
    "If a loop consumes a parameter, the parameter's next value must be an array of "
    "its own: not one from outside, not one that another loop parameter shares, and "
    "not one that the body reads under another name.",
    wrong="def f (xs: *[3]i32) (ys: []i32) =\n"
    "  loop zs = xs for i < 3 do let _new = zs with [i] = 0 in ys :> [3]i32",
    mended="def f (xs: *[3]i32) (ys: []i32) =\n"
    "  loop zs = xs for i < 3 do let _new = zs with [i] = 0 in copy (ys :> [3]i32)",
)
FUNCTION = Code(
    "U011",
    "A function whose consumption does not fit its type",
    "`*` is part of a function's type. A caller keeps an argument whose type has no "
    "`*`, and relies on a result with `*` to be fresh.",
    wrong="def apply (f: []i32 -> i32) (xs: []i32): i32 = f xs\n"
    "def g (xs: []i32): i32 = apply (\\(ys: *[]i32) -> ys[0]) xs",
    mended="def apply (f: []i32 -> i32) (xs: []i32): i32 = f xs\n"
    "def g (xs: []i32): i32 = apply (\\(ys: []i32) -> ys[0]) xs",
)
