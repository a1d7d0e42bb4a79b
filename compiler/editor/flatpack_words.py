"""Documentation of FlatPack's words for editors: notation, shape, meaning.

Here `a` has the shape `s Of t Of u`, as in the tables of `docs/flatpack.md`.
"""

from __future__ import annotations

WORD_HELP: dict[str, tuple[str, str, str]] = {
    "GetData": ('GetData "file" shape', "shape", "Data that is given when the program runs."),
    "Literal": ("Literal [1, 2, 3] shape", "shape", "Numbers, in row-major order."),
    "Scalar": (
        "Scalar x",
        "Scalar",
        "One value; as a parameter's shape, it declares a single value.",
    ),
    "Enumerate": (
        "Enumerate s (+ d) n",
        "n",
        "`s + d*i` at each index `i`; also with `-` and `*`.",
    ),
    "Split": ("Split i a", "i Of s/i Of t Of u", "The outer dimension split into `i` pieces."),
    "Join": ("Join a", "s*t Of u", "The two outer dimensions joined into one."),
    "Zip": ("Zip [a, b]", "2 Of s Of t Of u", "Arrays of one shape, stacked."),
    "Repack": ("Repack a", "s Of t Of u", "The same values, copied to contiguous memory."),
    "Let": ("Let x a body", "that of body", "Binds a name for use in the body."),
    "LetMap": ("LetMap x a body", "s Of that of body", "The body for each row of `a`."),
    "map": ("map f a", "s Of that of f's result", "The function for each row of `a`."),
    "Arith": ("Arith (+) a b", "s Of t Of u", "The operator at every index."),
    "If": ("If c a b", "s Of t Of u", "`a` where `c` is not 0, else `b`."),
    "Fold": ("Fold (+) acc a", "t Of u", "`acc` and all rows, combined by the operator."),
    "Filter": ("Filter x a cond", "? Of t Of u", "The rows for which the condition is not 0."),
    "Twist": ("Twist how a", "as `how` says", "The same values in another order."),
    "HasShape": ("HasShape a shape", "shape", "The shape is checked."),
    "As": ("As f32 a", "s Of t Of u", "The elements converted to another type."),
    "size": ("size a", "Int", "The number of rows, `s`."),
    "N": ("N n", "n", "One dimension, as the paper writes it."),
    "Of": ("s Of t", "s Of t", "Dimensions from the outer one to the inner ones."),
    "Int": ("(k : Int)", "Int", "A parameter that is an integer, for sizes and indices."),
    "Transpose": ("Twist Transpose a", "t Of s Of u", "The two outer dimensions, swapped."),
    "RotateL": ("Twist RotateL a", "t Of u Of s", "The outer dimension becomes the innermost."),
    "RotateR": ("Twist RotateR a", "u Of s Of t", "The innermost dimension becomes the outer one."),
    "Slice": ("Twist (Slice i) a", "t Of u", "Row `i`; the first is 0."),
    "SubRange": (
        "Twist (SubRange i j) a",
        "j-i+1 Of t Of u",
        "The rows `i` to `j`, both included.",
    ),
    "DownSample": (
        "Twist (DownSample i) a",
        "(s+i-1)/i Of t Of u",
        "Every `i`th row, from the first on.",
    ),
    "Smap": ("Twist (Smap f) a", "s Of as `f` says", "The transformation in every row."),
    "Compose": ("Twist (Compose f g) a", "as `f` says", "`f` after `g`, as `f . g`."),
    "Plus": ("Arith Plus a b", "s Of t Of u", "`a + b`."),
    "Minus": ("Arith Minus a b", "s Of t Of u", "`a - b`."),
    "Times": ("Arith Times a b", "s Of t Of u", "`a * b`."),
    "Divide": ("Arith Divide a b", "s Of t Of u", "`a / b`."),
    "min": ("min a b", "s Of t Of u", "The smaller value at every index."),
    "max": ("max a b", "s Of t Of u", "The larger value at every index."),
}
