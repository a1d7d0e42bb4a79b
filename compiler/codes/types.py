"""Types that do not fit, or that nothing says."""

from compiler.base.code import Code

MISMATCH = Code(
    "T001",
    "A value of one type where another is needed",
    "The message says which type was expected, which was found, and of what. Nothing is "
    "converted by itself: between numbers `i32.i64 x` converts (the target stands before the "
    "dot), and `map i32.i64 xs` converts an array.",
    wrong="def half (n: i64): f64 = n / 2",
    mended="def half (n: i64): f64 = f64.i64 n / 2",
)
NOT_A_FUNCTION = Code(
    "T002",
    "Arguments for what is no function",
    "`f x` applies `f` to `x`. An element of an array is read by brackets that follow directly, "
    "`xs[0]`: with a space in between, `xs [0]` gives `xs` an array as its argument.",
    wrong="def first (xs: []i32): i32 = xs [0]",
    mended="def first (xs: []i32): i32 = xs[0]",
)
ARGUMENTS = Code(
    "T003",
    "Another number of arguments than the function takes",
    "Each argument stands alone: what is computed needs parentheses. To walk over two arrays at "
    "once there is `map2`, over three `map3`.",
    wrong="def sums (xs: []i32) (ys: []i32) = map (\\x y -> x + y) xs ys",
    mended="def sums [n] (xs: [n]i32) (ys: [n]i32) = map2 (\\x y -> x + y) xs ys",
)
INDEX = Code(
    "T004",
    "An index into something without that dimension",
    "Only arrays have indices, at most as many as they have dimensions. A part of a tuple is "
    "read by its number, `t.0`, and a field of a record by its name.",
    wrong="def first (t: (i32, i32)): i32 = t[0]",
    mended="def first (t: (i32, i32)): i32 = t.0",
)
NO_FIELD = Code(
    "T005",
    "A field that is not there",
    "The value is no record, or a record without a field of that name.",
    wrong="def f (p: {x: f32, y: f32}): f32 = p.z",
    mended="def f (p: {x: f32, y: f32}): f32 = p.y",
)
UNKNOWN = Code(
    "T006",
    "A type that nothing says",
    "Types are found from left to right and from the inside out. Where a field is read, or a "
    "constructor used, before the type is known, it has to be written.",
    wrong="def f (x: i32) = if x == 0 then #none else #some x",
    mended="type option = #none | #some i32\n"
    "def f (x: i32): option = if x == 0 then #none else #some x",
)
PATTERN = Code(
    "T007",
    "A pattern of another shape than its value",
    "A pattern of a tuple has as many parts as the tuple, and one of a record all of its fields.",
    wrong="def f (t: (i32, i32, i32)) = let (a, b) = t in a + b",
    mended="def f (t: (i32, i32, i32)) = let (a, b, _) = t in a + b",
)
REFUTABLE = Code(
    "T008",
    "A pattern that some values do not match",
    "`let`, loops and parameters need a pattern that every value matches. Cases are told apart by "
    "`match`.",
    wrong="def f (x: #some i32 | #none): i32 = let #some y = x in y",
    mended="def f (x: #some i32 | #none): i32 =\n  match x\n  case #some y -> y\n  case #none -> 0",
)
NOT_MATCHED = Code(
    "T009",
    "A `match` that leaves a value out",
    "Every value must have a case; the message shows one that has none. A case with a name or `_` "
    "takes all that is left.",
    wrong="def f (x: i32): i32 =\n  match x\n  case 0 -> 1\n  case 1 -> 2",
    mended="def f (x: i32): i32 =\n  match x\n  case 0 -> 1\n  case 1 -> 2\n  case _ -> 0",
)
CONSTRUCTOR = Code(
    "T010",
    "A constructor that does not fit the sum type",
    "The sum type has no constructor of that name, or one with another number of arguments.",
    wrong="def f (x: #some i32 | #none): i32 =\n  match x\n  case #some -> 1\n  case #none -> 0",
    mended="def f (x: #some i32 | #none): i32 =\n  match x\n  case #some y -> y\n  case #none -> 0",
)
FUNCTION = Code(
    "T011",
    "A function where only data can be",
    "Functions are no data: they cannot be compared, be elements of arrays or be given to and "
    "returned by entry points. A type that holds one is defined by `type^`.",
    wrong="type rule = i32 -> i32",
    mended="type^ rule = i32 -> i32",
)
ENDLESS = Code(
    "T012",
    "A type that would contain itself",
    "Something is used as if it were a part of itself, such as a function that is its own "
    "argument. No finite type says that.",
    wrong="def twice = \\f -> f f",
    mended="def twice 'a = \\(f: a -> a) (x: a) -> f (f x)",
)
OPERANDS = Code(
    "T013",
    "An operator on values that it is not for",
    "Arithmetic is for numbers, `&`, `|` and `^` for integers, and comparison for numbers and "
    "truth values. An operator works on elements: arrays have it by `map2`.",
    wrong="def f (x: bool) (y: bool): bool = x + y",
    mended="def f (x: bool) (y: bool): bool = x || y",
)
TYPE_ARGUMENTS = Code(
    "T014",
    "A type with other arguments than it takes",
    "A type with parameters is given one argument for each: sizes in brackets, types without.",
    wrong="type pair 'a = (a, a)\ndef f (p: pair): i32 = p.0",
    mended="type pair 'a = (a, a)\ndef f (p: pair i32): i32 = p.0",
)
TOO_MANY_CONSTRUCTORS = Code(
    "T015",
    "A sum type of more than 255 constructors",
    "Which constructor a value has is kept in a byte. Constructors that differ only in what they "
    "mean can be one with a number as argument.",
    wrong="type t =\n  "
    + "\n| ".join(" | ".join(f"#c{16 * i + j}" for j in range(16)) for i in range(16)),
    mended="type t = #c u8",
)
LOOP = Code(
    "T016",
    "A loop that starts with nothing",
    "`loop x for ..` starts with the variable `x` that is there already. A pattern that is not "
    "only names needs a value: `loop (x, 0) = ..`.",
    wrong="def f (n: i64) = loop (x, _) for i < n do (x, i)",
    mended="def f (n: i64) = loop (x, _) = (0, 0) for i < n do (x + 1, i)",
)
POLYMORPHIC_ENTRY = Code(
    "T017",
    "An entry point for values of any type",
    "Who calls an entry point gives it bytes: their type must be known. A function for one type "
    "calls the general one.",
    wrong="entry first 't (xs: []t): t = xs[0]",
    mended="def first 't (xs: []t): t = xs[0]\nentry first_i32 (xs: []i32): i32 = first xs",
)
RECURSION = Code(
    "T018",
    "A function that calls itself as it cannot",
    "Only definitions of a file or module can call themselves. The result is no function, and has "
    "its type written if it has a size. Functional parameters are passed on as they are.",
    wrong="def go (f: i64 -> i64) (n: i64): i64 =\n"
    "  if n == 0 then f 0 else go (\\x -> f x * 2) (n - 1)\n"
    "entry main (n: i64) = go (+ 1) n",
    mended="def go (f: i64 -> i64) (factor: i64) (n: i64): i64 =\n"
    "  if n == 0 then f 0 * factor else go f (factor * 2) (n - 1)\n"
    "entry main (n: i64) = go (+ 1) 1 n",
)
