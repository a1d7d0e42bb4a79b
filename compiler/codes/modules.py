"""Modules and what their types ask for."""

from compiler.base.code import Code

MISSING = Code(
    "M001",
    "A module without what its module type asks for",
    "A module type lists what a module must define: types, values and modules, each by name.",
    wrong="module m: { type t val zero: t } = { type t = i32 }",
    mended="module m: { type t val zero: t } = { type t = i32 def zero: i32 = 0 }",
)
VALUE = Code(
    "M002",
    "A value of another type than the module type says",
    "What a module type says of a value must be what its definition has, with its sizes and "
    "its `*`; the definition may be more general.",
    wrong="module m: { val next: i32 -> i32 } = { def next (x: i64): i64 = x + 1 }",
    mended="module m: { val next: i32 -> i32 } = { def next (x: i32): i32 = x + 1 }",
)
TYPE = Code(
    "M003",
    "A type that is not the one that the module type says",
    "`type t = i32` in a module type, or `with t = i32` behind it, fixes a type. The module must "
    "define it as that one.",
    wrong="module m: { type t = i32 } = { type t = i64 }",
    mended="module m: { type t = i64 } = { type t = i64 }",
)
PARAMETERS = Code(
    "M004",
    "A type with other parameters than in the module type",
    "The type in the module and the one in its type must have the same parameters.",
    wrong="module m: { type t 'a } = { type t = i32 }",
    mended="module m: { type t 'a } = { type t 'a = [2]a }",
)
HOLDS_MORE = Code(
    "M005",
    "A type that may hold more than the module type says",
    "`type` is for data, `type~` for data with sizes of its own and `type^` for anything, also "
    "functions. A module type that says `type` is used as if there were arrays of it.",
    wrong="module m: { type t } = { type^ t = i32 -> i32 }",
    mended="module m: { type^ t } = { type^ t = i32 -> i32 }",
)
NOT_ABSTRACT = Code(
    "M006",
    "A type whose size parameter could not be found again",
    "A value of an abstract type with a size parameter must show what the size is: it must be "
    "the size of an array in it.",
    wrong="module m: { type t [n] } = { type t [n] = [n + 1]i32 }",
    mended="module m: { type t [n] } = { type t [n] = [n]i32 }",
)
NOT_A_FUNCTOR = Code(
    "M007",
    "Arguments for a module without parameters",
    "Only a module with parameters, `module m (p: module_type) = ..`, can be applied.",
    wrong="module m = { def x: i32 = 1 }\nmodule k = m { def x: i32 = 2 }",
    mended="module m (p: { val x: i32 }) = { def y: i32 = p.x }\nmodule k = m { def x: i32 = 1 }",
)
WITH = Code(
    "M008",
    "A `with` for a type that is not abstract there",
    "`with t = i32` says what an abstract type of the module type is. It must be one of its types, "
    "and one about which nothing has been said.",
    wrong="module type numbers = { type t }\nmodule type ints = numbers with u = i32",
    mended="module type numbers = { type t }\nmodule type ints = numbers with t = i32",
)
INTRINSICS = Code(
    "M009",
    "`intrinsics` as a module",
    "`intrinsics` holds what the compiler builds in. Some of it can be called by its full name; "
    "the module itself cannot be opened, renamed or given away.",
    wrong="module i = intrinsics",
    mended="def f (xs: [6]i32): [][]i32 = intrinsics.flat_index_2d xs 0 2 3 3 1",
)
