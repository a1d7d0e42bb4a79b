"""What the prelude is written over: names and types, in Futhark's own notation.

A definition in the prelude reaches them as `intrinsics.NAME`. The checker reads the types, lowering
knows the meaning; nobody else knows the names. Maps and zips of more arguments, `filter`,
`partition`, `rotate`, .. are ordinary Futhark in the prelude.
"""

from __future__ import annotations

INTRINSICS: dict[str, str] = {
    "map": "'a 'b [n]: (f: a -> b) -> (xs: [n]a) -> *[n]b",
    "reduce": "'a [n]: (op: a -> a -> a) -> (ne: a) -> (xs: [n]a) -> a",
    "reduce_comm": "'a [n]: (op: a -> a -> a) -> (ne: a) -> (xs: [n]a) -> a",
    "scan": "'a [n]: (op: a -> a -> a) -> (ne: a) -> (xs: [n]a) -> *[n]a",
    "zip": "'a 'b [n]: (xs: [n]a) -> (ys: [n]b) -> [n](a, b)",
    "unzip": "'a 'b [n]: (xs: [n](a, b)) -> ([n]a, [n]b)",
    "scatter_1d": "'a [k] [n]: (dest: *[k]a) -> (is: [n]i64) -> (vs: [n]a) -> *[k]a",
    "scatter_2d": (
        "'a [k] [l] [n]: (dest: *[k][l]a) -> (is: [n](i64, i64)) -> (vs: [n]a) -> *[k][l]a"
    ),
    "scatter_3d": (
        "'a [k] [l] [m] [n]: (dest: *[k][l][m]a) -> (is: [n](i64, i64, i64)) -> (vs: [n]a)"
        " -> *[k][l][m]a"
    ),
    "hist_1d": (
        "'a [k] [n]: (dest: *[k]a) -> (op: a -> a -> a) -> (ne: a) -> (is: [n]i64) -> (vs: [n]a)"
        " -> *[k]a"
    ),
    "hist_2d": (
        "'a [k] [l] [n]: (dest: *[k][l]a) -> (op: a -> a -> a) -> (ne: a) -> (is: [n](i64, i64))"
        " -> (vs: [n]a) -> *[k][l]a"
    ),
    "hist_3d": (
        "'a [k] [l] [m] [n]: (dest: *[k][l][m]a) -> (op: a -> a -> a) -> (ne: a)"
        " -> (is: [n](i64, i64, i64)) -> (vs: [n]a) -> *[k][l][m]a"
    ),
    "iota": "(n: i64) -> *[n]i64",
    "replicate": "'a: (n: i64) -> (x: a) -> *[n]a",
    "concat": "'a [n] [m]: (xs: [n]a) -> (ys: [m]a) -> *[n + m]a",
    "transpose": "'a [n] [m]: (xss: [n][m]a) -> [m][n]a",
    "flatten": "'a [n] [m]: (xss: [n][m]a) -> [n * m]a",
    "unflatten": "'a [n] [m]: (xs: [n * m]a) -> [n][m]a",
    "copy": "'a: (x: a) -> *a",
    "opaque": "'a: (x: a) -> a",
}
