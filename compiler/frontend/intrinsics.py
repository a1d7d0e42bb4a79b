"""Intrinsics of the prelude: names and types, in Futhark's notation.

The prelude uses them as `intrinsics.NAME`. The checker reads the types, lowering defines the
meanings; no other part knows the names. Maps and zips of more arguments, `filter`, `partition`,
`rotate`, .. are ordinary Futhark in the prelude. Programs reach only those of `PUBLIC`.
"""

from __future__ import annotations

INTRINSICS: dict[str, str] = {
    "map": "'a 'b [n]: (f: a -> b) -> (xs: [n]a) -> *[n]b",
    "reduce": "'a [n]: (op: a -> a -> a) -> (ne: a) -> (xs: [n]a) -> a",
    "reduce_comm": "'a [n]: (op: a -> a -> a) -> (ne: a) -> (xs: [n]a) -> a",
    "scan": "'a [n]: (op: a -> a -> a) -> (ne: a) -> (xs: [n]a) -> *[n]a",
    "zip": "'a 'b [n]: (xs: [n]a) -> (ys: [n]b) -> *[n](a, b)",
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
    "scatter_stream": (
        "'a 'b [k] [n]: (dest: *[k]a) -> (f: *acc ([k]a) -> b -> acc ([k]a)) -> (bs: [n]b) -> *[k]a"
    ),
    "hist_stream": (
        "'a 'b [k] [n]: (dest: *[k]a) -> (op: a -> a -> a) -> (ne: a)"
        " -> (f: *acc ([k]a) -> b -> acc ([k]a)) -> (bs: [n]b) -> *[k]a"
    ),
    "acc_write": "'t [n]: (acc: *acc ([n]t)) -> (i: i64) -> (v: t) -> *acc ([n]t)",
    "iota": "(n: i64) -> *[n]i64",
    "replicate": "'a: (n: i64) -> (x: a) -> *[n]a",
    "concat": "'a [n] [m]: (xs: [n]a) -> (ys: [m]a) -> *[n + m]a",
    "transpose": "'a [n] [m]: (xss: [n][m]a) -> [m][n]a",
    "flatten": "'a [n] [m]: (xss: [n][m]a) -> [n * m]a",
    "unflatten": "'a [n] [m]: (xs: [n * m]a) -> [n][m]a",
    "copy": "'~a: (x: a) -> *a",
    "scratch": "'a: (x: a) -> *a",
    "opaque": "'a: (x: a) -> a",
    "jvp2": "'a 'b: (f: a -> b) -> (x: a) -> (seed: a) -> (b, b)",
    "vjp2": "'a 'b: (f: a -> b) -> (x: a) -> (seed: b) -> (b, a)",
    "jmp2": "'a 'b [n]: (f: a -> b) -> (x: a) -> (seeds: [n]a) -> (b, [n]b)",
    "mjp2": "'a 'b [n]: (f: a -> b) -> (x: a) -> (seeds: [n]b) -> (b, [n]a)",
    "with_vjp": "'a 'b: (f: a -> b) -> (back: (res: b) -> (seed: b) -> a) -> (x: a) -> b",
    "flat_index_2d": (
        "'a [n]: (xs: [n]a) -> (offset: i64) -> (n1: i64) -> (s1: i64) -> (n2: i64) -> (s2: i64)"
        " -> ?[k][l].[k][l]a"
    ),
    "flat_index_3d": (
        "'a [n]: (xs: [n]a) -> (offset: i64) -> (n1: i64) -> (s1: i64) -> (n2: i64) -> (s2: i64)"
        " -> (n3: i64) -> (s3: i64) -> ?[k][l][m].[k][l][m]a"
    ),
    "flat_index_4d": (
        "'a [n]: (xs: [n]a) -> (offset: i64) -> (n1: i64) -> (s1: i64) -> (n2: i64) -> (s2: i64)"
        " -> (n3: i64) -> (s3: i64) -> (n4: i64) -> (s4: i64) -> ?[k][l][m][p].[k][l][m][p]a"
    ),
    "flat_update_2d": (
        "'a [n] [k] [l]: (xs: *[n]a) -> (offset: i64) -> (s1: i64) -> (s2: i64)"
        " -> (values: [k][l]a) -> *[n]a"
    ),
    "flat_update_3d": (
        "'a [n] [k] [l] [m]: (xs: *[n]a) -> (offset: i64) -> (s1: i64) -> (s2: i64) -> (s3: i64)"
        " -> (values: [k][l][m]a) -> *[n]a"
    ),
    "flat_update_4d": (
        "'a [n] [k] [l] [m] [p]: (xs: *[n]a) -> (offset: i64) -> (s1: i64) -> (s2: i64)"
        " -> (s3: i64) -> (s4: i64) -> (values: [k][l][m][p]a) -> *[n]a"
    ),
}

DERIVATIVES = ("jvp2", "vjp2", "jmp2", "mjp2")
"""Derivatives of their functional argument."""

ACCUMULATING = ("scatter_stream", "hist_stream", "acc_write")
"""Intrinsics of accumulators, values of the type `acc`."""

PUBLIC = (*(name for name in INTRINSICS if name.startswith("flat_")), *ACCUMULATING)
"""Intrinsics for programs: slices and updates by LMADs (thesis, section 3.3), and accumulators."""
