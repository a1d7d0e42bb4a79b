"""The text is not a program."""

from compiler.base.code import Code

UNEXPECTED = Code(
    "S001",
    "A word where none of its kind can stand",
    "The text was read up to here, and what follows cannot continue it. The message says what "
    "could. Often the cause is shortly before: a bracket that is not closed, a `let` without "
    "`in`, an operator without its second value, or a notation of another language.",
    wrong="def double (xs: []i32) =\n  let ys = map (* 2) xs\n\ndef other: i32 = 1",
    mended="def double (xs: []i32) =\n  let ys = map (* 2) xs\n  in ys\n\ndef other: i32 = 1",
)
CHARACTER = Code(
    "S002",
    "A character that Futhark has no use for",
    "Some signs of other languages mean nothing here. No sign ends a line, for example: the "
    "bindings of a `let` follow each other, and the last one is followed by `in`.",
    wrong="def f (x: i32): i32 =\n  let y = x + 1;\n  in y",
    mended="def f (x: i32): i32 =\n  let y = x + 1\n  in y",
)
UNCLOSED = Code(
    "S003",
    "A text, character or attribute that does not end",
    "A text stands between double quotes, a character between single ones and an attribute "
    "between `#[` and `]`, on one line.",
    wrong='def name: []u8 = "sum',
    mended='def name: []u8 = "sum"',
)
LITERAL = Code(
    "S004",
    "No character stands between the quotes",
    "Between single quotes is one character: `'a'`, or an escape such as `'\\n'`, `'\\x41'` or "
    "`'\\65'`. Several characters are a text, `\"ab\"`, which has the type `[]u8`.",
    wrong="def slash: u8 = '\\/'",
    mended="def slash: u8 = '/'",
)
NUMBER = Code(
    "S005",
    "A number that its type cannot hold",
    "Each type of numbers holds a range: `u8` from 0 to 255, `i32` from -2147483648 to "
    "2147483647. A literal outside of the range of its type is refused rather than wrapped.",
    wrong="def most: u8 = 256",
    mended="def most: u16 = 256",
)
OPERATOR = Code(
    "S006",
    "An operator that cannot be defined",
    "`&&` and `||` look at their second value only if they have to, and `!` stands before its "
    "value: no definition could do that. An operator of another module is opened, not defined "
    "anew under its full name.",
    wrong="def (&&) (a: bool) (b: bool): bool = if a then b else false",
    mended="def (&&&) (a: bool) (b: bool): bool = if a then b else false",
)
NOT_TEXT = Code(
    "S007",
    "The file is not text",
    "Programs are text in UTF-8. A byte that is no part of a character in it, or half of a "
    "surrogate pair, cannot be read. Save the file as UTF-8.",
)
