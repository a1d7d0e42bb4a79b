"""Types that do not fit or cannot be inferred."""

from compiler.base.code import Code

MISMATCH = Code(
    "T001",
    "A value of the wrong type",
    "The message says which type was expected and which was found. Futhark converts "
    "nothing implicitly. `i32.i64 x` converts the `i64` `x` to `i32`, and `map i32.i64 "
    "xs` converts an array.",
    wrong="def half (n: i64): f64 = n / 2",
    mended="def half (n: i64): f64 = f64.i64 n / 2",
)
NOT_A_FUNCTION = Code(
    "T002",
    "An argument applied to a value that is not a function",
    "`f x` applies `f` to `x`. To read an element of an array, write the bracket "
    "directly after the name, `xs[0]`. With a space, `xs [0]` applies `xs` to the "
    "array `[0]`.",
    wrong="def first (xs: []i32): i32 = xs [0]",
    mended="def first (xs: []i32): i32 = xs[0]",
)
ARGUMENTS = Code(
    "T003",
    "The wrong number of arguments",
    "Put parentheses around an argument that is itself an expression, as in `f (x + "
    "1)`. To map over two arrays use `map2`, over three `map3`.",
    wrong="def sums (xs: []i32) (ys: []i32) = map (\\x y -> x + y) xs ys",
    mended="def sums [n] (xs: [n]i32) (ys: [n]i32) = map2 (\\x y -> x + y) xs ys",
)
INDEX = Code(
    "T004",
    "An index into a value that lacks this dimension",
    "Only an array can be indexed, with at most as many indices as it has dimensions. "
    "Read a component of a tuple by its number, `t.0`, and a field of a record by its "
    "name, `r.x`.",
    wrong="def first (t: (i32, i32)): i32 = t[0]",
    mended="def first (t: (i32, i32)): i32 = t.0",
)
NO_FIELD = Code(
    "T005",
    "A field that does not exist",
    "The value is not a record, or it is a record without a field of this name.",
    wrong="def f (p: {x: f32, y: f32}): f32 = p.z",
    mended="def f (p: {x: f32, y: f32}): f32 = p.y",
)
UNKNOWN = Code(
    "T006",
    "A type that cannot be inferred",
    "The compiler infers types from left to right and from the inside out. Write the "
    "type where a field is read, or a constructor is used, before the compiler can "
    "infer it.",
    wrong="def f (x: i32) = if x == 0 then #none else #some x",
    mended="type option = #none | #some i32\n"
    "def f (x: i32): option = if x == 0 then #none else #some x",
)
PATTERN = Code(
    "T007",
    "A pattern that does not fit its value",
    "A tuple pattern must have as many components as the tuple, and a record pattern "
    "must name all fields of the record.",
    wrong="def f (t: (i32, i32, i32)) = let (a, b) = t in a + b",
    mended="def f (t: (i32, i32, i32)) = let (a, b, _) = t in a + b",
)
REFUTABLE = Code(
    "T008",
    "A pattern that can fail to match",
    "The pattern of a `let`, loop or parameter must match every value. Use `match` to "
    "distinguish cases.",
    wrong="def f (x: #some i32 | #none): i32 = let #some y = x in y",
    mended="def f (x: #some i32 | #none): i32 =\n  match x\n  case #some y -> y\n  case #none -> 0",
)
NOT_MATCHED = Code(
    "T009",
    "A `match` that does not cover all values",
    "Every value must have a case; the message shows a value that has none. A case "
    "with a name or `_` matches all remaining values.",
    wrong="def f (x: i32): i32 =\n  match x\n  case 0 -> 1\n  case 1 -> 2",
    mended="def f (x: i32): i32 =\n  match x\n  case 0 -> 1\n  case 1 -> 2\n  case _ -> 0",
)
CONSTRUCTOR = Code(
    "T010",
    "A constructor that does not fit the sum type",
    "The sum type has no constructor of this name, or its constructor takes another "
    "number of arguments.",
    wrong="def f (x: #some i32 | #none): i32 =\n  match x\n  case #some -> 1\n  case #none -> 0",
    mended="def f (x: #some i32 | #none): i32 =\n  match x\n  case #some y -> y\n  case #none -> 0",
)
FUNCTION = Code(
    "T011",
    "A function where only data is allowed",
    "A function is not data. It cannot be compared, stored in an array, or passed to "
    "or returned from an entry point. Define a type that contains a function with "
    "`type^`.",
    wrong="type rule = i32 -> i32",
    mended="type^ rule = i32 -> i32",
)
ENDLESS = Code(
    "T012",
    "A type that would contain itself",
    "The value is used as a part of itself, such as a function applied to itself. Its "
    "type would be infinite.",
    wrong="def twice = \\f -> f f",
    mended="def twice 'a = \\(f: a -> a) (x: a) -> f (f x)",
)
OPERANDS = Code(
    "T013",
    "An operator that does not accept these operands",
    "Arithmetic takes numbers. `&`, `|` and `^` take integers. `<` and the other "
    "orderings take numbers and booleans. Operators do not work on arrays: use `map2 "
    "(+) xs ys`.",
    wrong="def f (x: bool) (y: bool): bool = x + y",
    mended="def f (x: bool) (y: bool): bool = x || y",
)
TYPE_ARGUMENTS = Code(
    "T014",
    "The wrong arguments for a type",
    "Give a type one argument for each of its parameters: a size in brackets, a type without.",
    wrong="type pair 'a = (a, a)\ndef f (p: pair): i32 = p.0",
    mended="type pair 'a = (a, a)\ndef f (p: pair i32): i32 = p.0",
)
TOO_MANY_CONSTRUCTORS = Code(
    "T015",
    "A sum type with more than 255 constructors",
    "A value stores its constructor in one byte. Replace similar constructors by one "
    "constructor that takes a number.",
    wrong="type t =\n  "
    + "\n| ".join(" | ".join(f"#c{16 * i + j}" for j in range(16)) for i in range(16)),
    mended="type t = #c u8",
)
LOOP = Code(
    "T016",
    "A loop without an initial value",
    "`loop x for ..` takes the existing variable `x` as its initial value. A pattern "
    "with anything but names needs an explicit one: `loop (x, _) = ..`.",
    wrong="def f (n: i64) = loop (x, _) for i < n do (x, i)",
    mended="def f (n: i64) = loop (x, _) = (0, 0) for i < n do (x + 1, i)",
)
POLYMORPHIC_ENTRY = Code(
    "T017",
    "An entry point with a type parameter",
    "The types of an entry point must be known, because callers pass plain data. Write "
    "an entry point for one type that calls the polymorphic function.",
    wrong="entry first 't (xs: []t): t = xs[0]",
    mended="def first 't (xs: []t): t = xs[0]\nentry first_i32 (xs: []i32): i32 = first xs",
)
RECURSION = Code(
    "T018",
    "A recursive call that is not supported",
    "Only a top-level definition of a file or module can call itself. Its result "
    "cannot be a function. If its result has a size, write the result's type. Pass "
    "functional parameters on unchanged.",
    wrong="def go (f: i64 -> i64) (n: i64): i64 =\n"
    "  if n == 0 then f 0 else go (\\x -> f x * 2) (n - 1)\n"
    "entry main (n: i64) = go (+ 1) n",
    mended="def go (f: i64 -> i64) (factor: i64) (n: i64): i64 =\n"
    "  if n == 0 then f 0 * factor else go f (factor * 2) (n - 1)\n"
    "entry main (n: i64) = go (+ 1) 1 n",
)
