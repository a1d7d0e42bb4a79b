"""Sizes: which are equal, what determines them, and when they are known."""

from compiler.base.code import Code

DIFFER = Code(
    "Z001",
    "Two sizes that are not known to be equal",
    "The size of an array is part of its type. Two sizes are equal if they are the same name, "
    "number or expression; that they happen to be equal whenever the program runs has to be "
    "claimed, `xs :> [n]i32`, and is then checked by the run. The result of `filter` has a size "
    "of its own at each use: `let [k] (ys: [k]i32) = ..` gives it a name.",
    wrong="def dot [n] [m] (xs: [n]i32) (ys: [m]i32): i32 =\n  i32.sum (map2 (*) xs ys)",
    mended="def dot [n] (xs: [n]i32) (ys: [n]i32): i32 =\n  i32.sum (map2 (*) xs ys)",
)
UNDETERMINED = Code(
    "Z002",
    "A size that nothing determines",
    "Each size parameter must be the size of an array in the types, so that a call says what it "
    "is. One that is only a number is an ordinary parameter of type `i64`.",
    wrong="def zeros [n] (x: i32): i32 = x",
    mended="def zeros (n: i64) (x: i32): [n]i32 = replicate n x",
)
ENTRY = Code(
    "Z003",
    "An entry point with a size that its arguments do not have",
    "An entry point's sizes come from its arguments. A size that is only in the result must be "
    "an argument itself, or be left open as `[]`.",
    wrong="entry f [n]: [n]i32 = replicate n 0",
    mended="entry f (n: i64): [n]i32 = replicate n 0",
)
TOO_EARLY = Code(
    "Z004",
    "A size that is needed before it is there",
    "Arguments are evaluated from right to left, and a size is known after what brings it forth "
    "was evaluated. Bind that by `let` first.",
    wrong="def f (xs: []i32) =\n"
    "  let empty = [] : [][]i32\n  let rows = [filter (> 0) xs]\n  in null (concat empty rows)",
    mended="def f (xs: []i32) =\n"
    "  let rows = [filter (> 0) xs]\n  let empty = [] : [][]i32\n  in null (concat empty rows)",
)
INSIDE = Code(
    "Z005",
    "A type with a size that callers cannot know",
    "The types of parameters and result mention sizes that are bound inside of the function, or "
    "are a part of a tuple. A size must be a size parameter or a parameter before.",
    wrong="def f (p: (i64, i32)): i32 = p.1\ndef g ((n, x): (i64, i32)): [n]i32 = replicate n x",
    mended="def f (p: (i64, i32)): i32 = p.1\ndef g (n: i64) (x: i32): [n]i32 = replicate n x",
)
OPEN_TYPE = Code(
    "Z006",
    "A type whose values may differ in size",
    "A type with `[]` in it has values of different sizes, so it is defined by `type~`, and no "
    "array has elements of it. With a size parameter, `type row [n] = [n]i32`, all of them have "
    "the same.",
    wrong="type row = []i32",
    mended="type row [n] = [n]i32",
)
UNNAMED = Code(
    "Z007",
    "A size that needs a name",
    "What a function in a module type, or in a type, takes has its sizes named: otherwise nobody "
    "could say that two of them are equal.",
    wrong="module type summing = { val sum: []i32 -> i32 }",
    mended="module type summing = { val sum [n]: [n]i32 -> i32 }",
)
LOOP = Code(
    "Z008",
    "A loop that changes the size of what it carries",
    "A value that a loop carries has one type in all iterations. If its size may change, the loop "
    "binds it: `loop [k] (ys: [k]i32) = ..`.",
    wrong="def f [n] (xs: [n]i32): []i32 = loop (ys: [n]i32) = xs for _i < 3i32 do filter (> 0) ys",
    mended="def f [n] (xs: [n]i32): []i32 = loop ys = xs for _i < 3i32 do filter (> 0) ys",
)
CONSUMING = Code(
    "Z009",
    "A size that consumes what it is computed from",
    "Types are no computations: an expression in a size may be evaluated never, or several times.",
    wrong="def f (xs: *[]i64): i64 = xs[0]\ndef g (xs: *[]i64) (ys: [f xs]i32): i64 = length ys",
    mended="def f (xs: []i64): i64 = xs[0]\ndef g (xs: []i64) (ys: [f xs]i32): i64 = length ys",
)
CONSTANT = Code(
    "Z010",
    "A constant with size parameters",
    "Only a function's call can say what a size parameter is.",
    wrong="def both [n]: ([n]i32, []i32) = (replicate n 1, filter (> 0) [1, -2])",
    mended="def both (n: i64): ([n]i32, []i32) = (replicate n 1, filter (> 0) [1, -2])",
)
HIDDEN = Code(
    "Z011",
    "A function whose result has a size that only it knows",
    "`map`, for one, needs a function whose results have the same size, whatever it is given. "
    "The result of `filter` may have another one each time. Keep what is left out as well, with "
    "a mark, or make one array of all results with `flatten` and `filter`.",
    wrong="def f [n] (xss: [n][3]i32) = map (filter (> 0)) xss",
    mended="def f [n] (xss: [n][3]i32) = filter (> 0) (flatten xss)",
)
