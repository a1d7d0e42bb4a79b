"""Syntax: text that is not a program."""

from compiler.base.code import Code

UNEXPECTED = Code(
    "S001",
    "A word that cannot stand here",
    "The parser read the program up to this word and cannot go on. The message says "
    "what it expected. The cause is often just before: an unclosed bracket, a `let` "
    "without `in`, an operator without its right operand, or notation of another "
    "language.",
    wrong="def double (xs: []i32) =\n  let ys = map (* 2) xs\n\ndef other: i32 = 1",
    mended="def double (xs: []i32) =\n  let ys = map (* 2) xs\n  in ys\n\ndef other: i32 = 1",
)
CHARACTER = Code(
    "S002",
    "A character that Futhark does not use",
    "Some characters of other languages have no meaning in Futhark. For example, no "
    "`;` ends a line: write the bindings of a `let` one after the other, and `in` "
    "after the last one.",
    wrong="def f (x: i32): i32 =\n  let y = x + 1;\n  in y",
    mended="def f (x: i32): i32 =\n  let y = x + 1\n  in y",
)
UNCLOSED = Code(
    "S003",
    "A string, character or attribute that is not closed",
    "Write a string between double quotes, a character between single quotes, and an "
    "attribute between `#[` and `]`. Each must end on the line where it begins.",
    wrong='def name: []u8 = "sum',
    mended='def name: []u8 = "sum"',
)
LITERAL = Code(
    "S004",
    "Not exactly one character between single quotes",
    "Write one character between single quotes: `'a'`, or an escape such as `'\\n'`, "
    "`'\\x41'` or `'\\65'`. Write several characters as a string, `\"ab\"`, of type "
    "`[]u8`.",
    wrong="def slash: u8 = '\\/'",
    mended="def slash: u8 = '/'",
)
NUMBER = Code(
    "S005",
    "A number outside the range of its type",
    "Each integer type has a range: `u8` holds 0 to 255, `i32` holds -2147483648 to "
    "2147483647. The compiler rejects a literal outside the range of its type; it does "
    "not wrap it. Use a wider type.",
    wrong="def most: u8 = 256",
    mended="def most: u16 = 256",
)
OPERATOR = Code(
    "S006",
    "An operator that a program cannot define",
    "`&&` and `||` evaluate their right operand only when they need it, and `!` is a "
    "prefix operator: a definition cannot express either. Choose another name. To "
    "redefine an operator of a module, define it without the module's name.",
    wrong="def (&&) (a: bool) (b: bool): bool = if a then b else false",
    mended="def (&&&) (a: bool) (b: bool): bool = if a then b else false",
)
NOT_TEXT = Code(
    "S007",
    "The file is not text",
    "A program is UTF-8 text. This file has a byte sequence that is not valid UTF-8, "
    "or half of a surrogate pair. Save the file as UTF-8.",
)
