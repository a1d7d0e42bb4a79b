"""Modules and module types."""

from compiler.base.code import Code

MISSING = Code(
    "M001",
    "A module that lacks a member of its module type",
    "A module type lists what a module must define: types, values and modules, each by "
    "name. Define the missing one.",
    wrong="module m: { type t val zero: t } = { type t = i32 }",
    mended="module m: { type t val zero: t } = { type t = i32 def zero: i32 = 0 }",
)
VALUE = Code(
    "M002",
    "A value whose type differs from the module type",
    "The type of a definition must be the type in the module type, including sizes and "
    "`*`, or a more general one.",
    wrong="module m: { val next: i32 -> i32 } = { def next (x: i64): i64 = x + 1 }",
    mended="module m: { val next: i32 -> i32 } = { def next (x: i32): i32 = x + 1 }",
)
TYPE = Code(
    "M003",
    "A type that differs from the module type",
    "`type t = i32` in a module type, or `with t = i32` after it, fixes a type. The "
    "module must define the same type.",
    wrong="module m: { type t = i32 } = { type t = i64 }",
    mended="module m: { type t = i64 } = { type t = i64 }",
)
PARAMETERS = Code(
    "M004",
    "A type whose parameters differ from the module type",
    "A type must have the same parameters in the module and in its module type.",
    wrong="module m: { type t 'a } = { type t = i32 }",
    mended="module m: { type t 'a } = { type t 'a = [2]a }",
)
HOLDS_MORE = Code(
    "M005",
    "A type that is more general than the module type allows",
    "`type` declares data of one size, `type~` data whose size may differ between "
    "values, and `type^` anything, including functions. A type that a module type "
    "declares with `type` may be used as an array element, so the module must define "
    "one that can be.",
    wrong="module m: { type t } = { type^ t = i32 -> i32 }",
    mended="module m: { type^ t } = { type^ t = i32 -> i32 }",
)
NOT_ABSTRACT = Code(
    "M006",
    "An abstract type that does not determine its size parameter",
    "A value of an abstract type must determine the type's size parameter: the "
    "parameter itself must be the size of an array in it.",
    wrong="module m: { type t [n] } = { type t [n] = [n + 1]i32 }",
    mended="module m: { type t [n] } = { type t [n] = [n]i32 }",
)
NOT_A_FUNCTOR = Code(
    "M007",
    "An argument applied to a module without parameters",
    "Only a parametric module, `module m (p: module_type) = ..`, can be applied.",
    wrong="module m = { def x: i32 = 1 }\nmodule k = m { def x: i32 = 2 }",
    mended="module m (p: { val x: i32 }) = { def y: i32 = p.x }\nmodule k = m { def x: i32 = 1 }",
)
WITH = Code(
    "M008",
    "A `with` for a type that is not abstract",
    "`with t = i32` defines an abstract type of the module type. `t` must be a type of "
    "that module type that has no definition yet.",
    wrong="module type numbers = { type t }\nmodule type ints = numbers with u = i32",
    mended="module type numbers = { type t }\nmodule type ints = numbers with t = i32",
)
INTRINSICS = Code(
    "M009",
    "`intrinsics` used as a module",
    "`intrinsics` holds the built-in functions. You can call some of them by their "
    "full name, `intrinsics.f x`. You cannot open, rename or pass the module itself.",
    wrong="module i = intrinsics",
    mended="def f (xs: [6]i32): [][]i32 = intrinsics.flat_index_2d xs 0 2 3 3 1",
)
