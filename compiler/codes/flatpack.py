"""FlatPack, the second language: programs whose main file ends in `.fp`."""

from functools import partial

from compiler.base import code

Code = partial(code.Code, main="main.fp")

UNEXPECTED = Code(
    "P001",
    "A word where FlatPack has none of its kind",
    "A definition begins in the first column of a line, `name params = expression`, and goes on up "
    "to the next text in the first column. The message says what could stand there.",
    wrong="main (xs : n) = Twist (SubRange 1 3 xs",
    mended="main (xs : n) = Twist (SubRange 1 3) xs",
)
UNKNOWN = Code(
    "P002",
    "A name that no FlatPack program knows",
    "A name is a parameter, bound by `let`, `LetMap` or `\\x ->`, defined in the file, one of the "
    "language's constructors, or of its library.",
    wrong="main (xs : n Of m) = Twist Transpos xs",
    mended="main (xs : n Of m) = Twist Transpose xs",
)
SHAPE = Code(
    "P003",
    "Shapes that do not fit",
    "Arithmetic combines values at the same indices, and `Zip` stacks arrays of one shape: all "
    "must have the same shape, but for single values, which fit everywhere. If two sizes are the "
    "same whenever the program runs, `HasShape xs (n Of m)` says so, and the run checks it.",
    wrong="main (xs : n Of m) = xs * Twist Transpose xs",
    mended="main (xs : n Of m) = xs * xs",
)
KIND = Code(
    "P004",
    "A value of another kind",
    "FlatPack has arrays, tuples, sizes and indices, structural transformations, shapes and "
    "functions. `Twist` takes a transformation and an array, `Slice` an index, `Fold` an operator.",
    wrong="main (xs : n Of m) = Transpose xs",
    mended="main (xs : n Of m) = Twist Transpose xs",
)
RANGE = Code(
    "P005",
    "A place outside of the array",
    "Indices count from 0, `SubRange i j` has both ends in it, `DownSample` keeps every `i`th row "
    "for an `i` of at least 1, and `Split i` needs a size that is a multiple of `i`.",
    wrong="main (xs : 4 Of m) = Twist (Slice 4) xs",
    mended="main (xs : 4 Of m) = Twist (Slice 3) xs",
)
ENDLESS = Code(
    "P006",
    "A definition that needs itself",
    "Functions are put in place where they are used. One that uses itself, directly or through "
    "another, would be put in place without end: repetition is `LetMap` or `Fold`.",
    wrong="total xs = head xs + total (tail xs)\nmain (xs : n) = total xs",
    mended="total xs = Fold (+) 0 xs\nmain (xs : n) = total xs",
)
MAIN = Code(
    "P007",
    "A program without a `main` that can be called",
    "A program computes `main`. Each of its parameters says what is given: `(xs : n Of m)` is an "
    "array, whose sizes may be names, `(k : Int)` an integer, `(s : Scalar)` one value.",
    wrong="main xs = Fold (+) 0 xs",
    mended="main (xs : n) = Fold (+) 0 xs",
)
NUMBER = Code(
    "P008",
    "A number that is no value of the elements' type",
    "Elements have the type `f64`, or what stands in the program's first line, `type i32`; those "
    "of tuples, and what `As` converts, have their own. A number has the type of what it stands "
    "beside.",
    wrong="type i32\nmain (xs : n) = xs * 0.5",
    mended="type f32\nmain (xs : n) = xs * 0.5",
)
TOO_MUCH = Code(
    "P009",
    "A program that becomes too large",
    "Functions are put in place where they are used, so that each which calls another one twice "
    "doubles what there is. A program has at most 20,000 operations then.",
    wrong="d0 x = x + 1\n"
    + "".join(f"d{i} x = d{i - 1} (d{i - 1} x)\n" for i in range(1, 16))
    + "main (xs : n) = d15 xs",
    mended="d0 x = x + 1\nd1 x = d0 (d0 x)\nmain (xs : n) = d1 xs",
)
WINDOW = Code(
    "P010",
    "Data that cannot be read window by window",
    "Data that is given as a file is read from its first row to its last, and only a window of it "
    "is in memory. Each row of a result must need rows that lie next to each other, as many for "
    "each row: `xs + transpose xs` needs row and column `i` at once. Data that fits into memory "
    "can be given as an input instead.",
)
TYPES = Code(
    "P011",
    "Elements of several types",
    "The arrays of a tuple may have elements of different types, such as those of "
    "`(ps : n Of (f32, i32))`. Arithmetic, `Zip`, `Fold` and the branches of `If` take elements of "
    "one type, and convert none by themselves: `As f32 xs` does. A number has the type of what it "
    "stands beside.",
    wrong="main (ps : n Of (f32, i32)) = let (x, k) = ps in x * k",
    mended="main (ps : n Of (f32, i32)) = let (x, k) = ps in x * As f32 k",
)
