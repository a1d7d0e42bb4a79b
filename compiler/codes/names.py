"""Names: undefined, defined twice or out of place."""

from compiler.base.code import Code

UNKNOWN = Code(
    "N001",
    "A name that is not defined",
    "Every name must be a parameter, bound by an earlier `let`, or defined above: a "
    "definition can use only what stands above it. If the name resembles a defined "
    "one, the message suggests that one.",
    wrong="def area (width: f32) (height: f32): f32 = widht * height",
    mended="def area (width: f32) (height: f32): f32 = width * height",
)
TYPE = Code(
    "N002",
    "A type that is not defined",
    "The built-in types are `i8` to `i64`, `u8` to `u64`, `f16`, `f32`, `f64` and "
    "`bool`. Define any other type with `type`, above its first use.",
    wrong="def next (x: int): int = x + 1",
    mended="def next (x: i32): i32 = x + 1",
)
MODULE = Code(
    "N003",
    "A module that is not defined",
    "The name before a dot must be a module: a built-in one, such as `i32` or `f64`, "
    "one that is defined above, or one from an imported file.",
    wrong="def root (x: f32): f32 = math.sqrt x",
    mended="def root (x: f32): f32 = f32.sqrt x",
)
MEMBER = Code(
    "N004",
    "A module has no member of this name",
    "The module exists, but it defines nothing with this name.",
    wrong="def most (x: i32) (y: i32): i32 = i32.maximum2 x y",
    mended="def most (x: i32) (y: i32): i32 = i32.max x y",
)
SIZE = Code(
    "N005",
    "A size that is not defined",
    "A name used as a size must be a size parameter, written `[n]` after the "
    "function's name, or a variable of type `i64` that is already bound.",
    wrong="def f (xs: [n]i32): [n]i32 = xs",
    mended="def f [n] (xs: [n]i32): [n]i32 = xs",
)
UNDERSCORE = Code(
    "N006",
    "A use of a name that begins with an underscore",
    "A leading underscore marks a name as intentionally unused. To use the value, "
    "remove the underscore from its name.",
    wrong="def f (_x: i32): i32 = _x + 1",
    mended="def f (x: i32): i32 = x + 1",
)
DEFINED_TWICE = Code(
    "N007",
    "A name that is defined twice",
    "A file or module defines each name at most once; Futhark has no overloading. You "
    "may redefine a name of the prelude or of an opened module. `local` definitions "
    "may repeat a name.",
    wrong="def size: i64 = 10\ndef size: i64 = 20",
    mended="def size: i64 = 10\ndef larger_size: i64 = 20",
)
BOUND_TWICE = Code(
    "N008",
    "A name that occurs twice in parameters, a pattern or a type",
    "Parameters, the names in one pattern, the fields of a record and the constructors "
    "of a sum type must all have different names.",
    wrong="def add (x: i32) (x: i32): i32 = x + x",
    mended="def add (x: i32) (y: i32): i32 = x + y",
)
MODULE_TYPE = Code(
    "N009",
    "A module type that is not defined",
    "Define a module type with `module type name = { .. }`, above its first use.",
    wrong="module m: numbers = { type t = i32 }",
    mended="module type numbers = { type t }\nmodule m: numbers = { type t = i32 }",
)
ENTRY_IN_MODULE = Code(
    "N010",
    "An entry point inside a module",
    "Entry points must stand at the top level of the program. To make a function of a "
    "module callable, define an entry point outside the module that calls it.",
    wrong="module m = { entry next (x: i32): i32 = x + 1 }",
    mended="module m = { def next (x: i32): i32 = x + 1 }\nentry next (x: i32): i32 = m.next x",
)
