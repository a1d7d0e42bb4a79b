"""Names: which of them are known, who binds them, and which may be used where."""

from compiler.base.code import Code

UNKNOWN = Code(
    "N001",
    "A name that nothing defines",
    "A name must be a parameter, bound by `let` before, or defined above: a file is read from "
    "top to bottom. If a name looks like a known one, the message says so.",
    wrong="def area (width: f32) (height: f32): f32 = widht * height",
    mended="def area (width: f32) (height: f32): f32 = width * height",
)
TYPE = Code(
    "N002",
    "A type that nothing defines",
    "The built-in types are `i8` to `i64`, `u8` to `u64`, `f16`, `f32`, `f64` and `bool`. All "
    "others are defined by `type`, above their first use.",
    wrong="def next (x: int): int = x + 1",
    mended="def next (x: i32): i32 = x + 1",
)
MODULE = Code(
    "N003",
    "A module that nothing defines",
    "Before a dot stands a module: one of the built-in ones, such as `i32` or `f64`, one that is "
    "defined above, or one that an imported file declares.",
    wrong="def root (x: f32): f32 = math.sqrt x",
    mended="def root (x: f32): f32 = f32.sqrt x",
)
MEMBER = Code(
    "N004",
    "A module without a member of that name",
    "The module is there, but nothing in it is called so.",
    wrong="def most (x: i32) (y: i32): i32 = i32.maximum2 x y",
    mended="def most (x: i32) (y: i32): i32 = i32.max x y",
)
SIZE = Code(
    "N005",
    "A size that nothing binds",
    "A size in a type is a size parameter, as `[n]` after the function's name, or a variable of "
    "type `i64` that is bound before.",
    wrong="def f (xs: [n]i32): [n]i32 = xs",
    mended="def f [n] (xs: [n]i32): [n]i32 = xs",
)
UNDERSCORE = Code(
    "N006",
    "A name that says that it is not used",
    "A name that begins with an underscore stands for a value that is on purpose not used. To "
    "use the value, give it a name without one.",
    wrong="def f (_x: i32): i32 = _x + 1",
    mended="def f (x: i32): i32 = x + 1",
)
DEFINED_TWICE = Code(
    "N007",
    "One name with two definitions",
    "A module, and a file, defines each name once; there is no overloading. A name of the prelude, "
    "or of a module that is opened, may be defined anew, and what is `local` may have any name.",
    wrong="def size: i64 = 10\ndef size: i64 = 20",
    mended="def size: i64 = 10\ndef larger_size: i64 = 20",
)
BOUND_TWICE = Code(
    "N008",
    "One name twice among parameters, in a pattern or in a type",
    "What is bound at once needs different names, as do the fields of a record and the "
    "constructors of a sum type.",
    wrong="def add (x: i32) (x: i32): i32 = x + x",
    mended="def add (x: i32) (y: i32): i32 = x + y",
)
MODULE_TYPE = Code(
    "N009",
    "A module type that nothing defines",
    "A module type is defined by `module type name = { .. }`, above its first use.",
    wrong="module m: numbers = { type t = i32 }",
    mended="module type numbers = { type t }\nmodule m: numbers = { type t = i32 }",
)
ENTRY_IN_MODULE = Code(
    "N010",
    "An entry point inside a module",
    "Entry points are what others call: they stand at the top of the program. A function of a "
    "module is made one by a definition outside.",
    wrong="module m = { entry next (x: i32): i32 = x + 1 }",
    mended="module m = { def next (x: i32): i32 = x + 1 }\nentry next (x: i32): i32 = m.next x",
)
