"""FlatPack, the second language: programs whose main file ends in `.fp`."""

from functools import partial

from compiler.base import code

Code = partial(code.Code, main="main.fp")

UNEXPECTED = Code(
    "P001",
    "A word that cannot stand here in FlatPack",
    "A definition, `name params = expression`, begins in the first column of a line "
    "and ends where the next text begins in the first column. The message says what "
    "could stand there.",
    wrong="main (xs : n) = Twist (SubRange 1 3 xs",
    mended="main (xs : n) = Twist (SubRange 1 3) xs",
)
UNKNOWN = Code(
    "P002",
    "A name that is not defined in FlatPack",
    "A name must be a parameter, bound by `let`, `LetMap` or `\\x ->`, defined in the "
    "file, or belong to the language or its library.",
    wrong="main (xs : n Of m) = Twist Transpos xs",
    mended="main (xs : n Of m) = Twist Transpose xs",
)
SHAPE = Code(
    "P003",
    "Shapes that do not fit",
    "Arithmetic combines elements at the same indices, and `Zip` stacks arrays, so all "
    "arrays must have the same shape; a single value fits every shape. If you know "
    "that two sizes are always equal, claim it with `HasShape xs (n Of m)`; the "
    "program checks it when it runs.",
    wrong="main (xs : n Of m) = xs * Twist Transpose xs",
    mended="main (xs : n Of m) = xs * xs",
)
KIND = Code(
    "P004",
    "A value of the wrong kind",
    "FlatPack has arrays, tuples, sizes and indices, structural transformations, shapes and "
    "functions. `Twist` takes a transformation and an array, `Slice` an index, `Fold` an operator.",
    wrong="main (xs : n Of m) = Transpose xs",
    mended="main (xs : n Of m) = Twist Transpose xs",
)
RANGE = Code(
    "P005",
    "An index outside the array",
    "Indices count from 0. `SubRange i j` includes both ends. `DownSample i` needs an "
    "`i` of at least 1. `Split i` needs a size that is a multiple of `i`.",
    wrong="main (xs : 4 Of m) = Twist (Slice 4) xs",
    mended="main (xs : 4 Of m) = Twist (Slice 3) xs",
)
ENDLESS = Code(
    "P006",
    "A definition that uses itself",
    "FlatPack inlines every function where it is used, so a function cannot use "
    "itself, directly or through another one. Write repetition with `LetMap` or `Fold`.",
    wrong="total xs = head xs + total (tail xs)\nmain (xs : n) = total xs",
    mended="total xs = Fold (+) 0 xs\nmain (xs : n) = total xs",
)
MAIN = Code(
    "P007",
    "A program without a `main` that can be called",
    "A program computes `main`. Give each parameter of `main` a type: `(xs : n Of m)` "
    "for an array, whose sizes may be names, `(k : Int)` for an integer, `(s : "
    "Scalar)` for one value.",
    wrong="main xs = Fold (+) 0 xs",
    mended="main (xs : n) = Fold (+) 0 xs",
)
NUMBER = Code(
    "P008",
    "A number that the element type cannot hold",
    "Elements have the type `f64`, unless the first line of the program names another, "
    "such as `type i32`. Tuples and `As` may give an array another element type. A "
    "literal has the type of the value that it is combined with.",
    wrong="type i32\nmain (xs : n) = xs * 0.5",
    mended="type f32\nmain (xs : n) = xs * 0.5",
)
TOO_MUCH = Code(
    "P009",
    "A program that becomes too large",
    "FlatPack inlines every function where it is used, so a function that calls "
    "another one twice doubles its operations. A program may have at most 20,000 "
    "operations after inlining.",
    wrong="d0 x = x + 1\n"
    + "".join(f"d{i} x = d{i - 1} (d{i - 1} x)\n" for i in range(1, 16))
    + "main (xs : n) = d15 xs",
    mended="d0 x = x + 1\nd1 x = d0 (d0 x)\nmain (xs : n) = d1 xs",
)
WINDOW = Code(
    "P010",
    "A program that cannot read its data in windows",
    "Data in a file is read from the first row to the last, and only a window of rows "
    "is in memory. Each row of a result must need the same number of neighbouring "
    "rows; `xs + transpose xs`, for example, needs row `i` and column `i` at once. If "
    "the data fits into memory, pass it as an input instead.",
)
TYPES = Code(
    "P011",
    "Elements of several types",
    "The arrays of a tuple may have different element types, as in `(ps : n Of (f32, "
    "i32))`. Arithmetic, `Zip`, `Fold` and the branches of `If` need one element type. "
    "Convert with `As f32 xs`. A literal has the type of the value that it is combined "
    "with.",
    wrong="main (ps : n Of (f32, i32)) = let (x, k) = ps in x * k",
    mended="main (ps : n Of (f32, i32)) = let (x, k) = ps in x * As f32 k",
)
