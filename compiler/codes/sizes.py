"""Sizes: which are equal, what determines them, and when they are known."""

from compiler.base.code import Code

DIFFER = Code(
    "Z001",
    "Two sizes that may differ",
    "The size of an array is part of its type. Two sizes are equal if they are the "
    "same name, number or expression. If you know that two other sizes are always "
    "equal, claim it with a coercion, `xs :> [n]i32`; the program checks it when it "
    "runs. Each result of `filter` has a new size: name it with `let [k] (ys: [k]i32) "
    "= ..`.",
    wrong="def dot [n] [m] (xs: [n]i32) (ys: [m]i32): i32 =\n  i32.sum (map2 (*) xs ys)",
    mended="def dot [n] (xs: [n]i32) (ys: [n]i32): i32 =\n  i32.sum (map2 (*) xs ys)",
)
UNDETERMINED = Code(
    "Z002",
    "A size that cannot be determined",
    "Each size parameter must be the size of an array among the parameters or the "
    "result, so that each call determines it. If you only need the number, take it as "
    "a parameter of type `i64`.",
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
    "A size that is used before it is computed",
    "Arguments are evaluated from right to left, and a size is known only after the "
    "array that has it. Bind that array with `let` first.",
    wrong="def f (xs: []i32) =\n"
    "  let empty = [] : [][]i32\n  let rows = [filter (> 0) xs]\n  in null (concat empty rows)",
    mended="def f (xs: []i32) =\n"
    "  let rows = [filter (> 0) xs]\n  let empty = [] : [][]i32\n  in null (concat empty rows)",
)
INSIDE = Code(
    "Z005",
    "A type with a size that callers cannot know",
    "The type of a parameter or of the result mentions a size that is bound inside the "
    "function, or is a component of a tuple. Use a size parameter or an earlier "
    "parameter.",
    wrong="def f (p: (i64, i32)): i32 = p.1\ndef g ((n, x): (i64, i32)): [n]i32 = replicate n x",
    mended="def f (p: (i64, i32)): i32 = p.1\ndef g (n: i64) (x: i32): [n]i32 = replicate n x",
)
OPEN_TYPE = Code(
    "Z006",
    "A type whose values may differ in size",
    "Values of a type with `[]` may have different sizes. Define such a type with "
    "`type~`; it cannot be the element type of an array. With a size parameter, `type "
    "row [n] = [n]i32`, all values of `row [n]` have one size.",
    wrong="type row = []i32",
    mended="type row [n] = [n]i32",
)
UNNAMED = Code(
    "Z007",
    "A size that needs a name",
    "In a module type, or in the type of a function, name the sizes of the parameters, "
    "as in `[n]i32`.",
    wrong="module type summing = { val sum: []i32 -> i32 }",
    mended="module type summing = { val sum [n]: [n]i32 -> i32 }",
)
LOOP = Code(
    "Z008",
    "A loop that changes the size of its value",
    "A loop parameter has one type in all iterations. If its size may change, bind the "
    "size at the loop: `loop [k] (ys: [k]i32) = ..`.",
    wrong="def f [n] (xs: [n]i32): []i32 = loop (ys: [n]i32) = xs for _i < 3i32 do filter (> 0) ys",
    mended="def f [n] (xs: [n]i32): []i32 = loop ys = xs for _i < 3i32 do filter (> 0) ys",
)
CONSUMING = Code(
    "Z009",
    "A size expression that consumes an array",
    "A size expression may be evaluated several times or not at all, so it cannot "
    "consume an array.",
    wrong="def f (xs: *[]i64): i64 = xs[0]\ndef g (xs: *[]i64) (ys: [f xs]i32): i64 = length ys",
    mended="def f (xs: []i64): i64 = xs[0]\ndef g (xs: []i64) (ys: [f xs]i32): i64 = length ys",
)
CONSTANT = Code(
    "Z010",
    "A constant with size parameters",
    "Only a function call can determine a size parameter, and a constant is not "
    "called. Make the size an ordinary parameter.",
    wrong="def both [n]: ([n]i32, []i32) = (replicate n 1, filter (> 0) [1, -2])",
    mended="def both (n: i64): ([n]i32, []i32) = (replicate n 1, filter (> 0) [1, -2])",
)
HIDDEN = Code(
    "Z011",
    "A function whose result may have another size at each call",
    "`map`, for example, needs a function that returns the same size for every "
    "element, and `filter` may return a different size each time. Mark elements "
    "instead of removing them, or filter all of them at once: `filter p (flatten xss)`.",
    wrong="def f [n] (xss: [n][3]i32) = map (filter (> 0)) xss",
    mended="def f [n] (xss: [n][3]i32) = filter (> 0) (flatten xss)",
)
