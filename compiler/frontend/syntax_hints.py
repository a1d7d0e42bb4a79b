"""Hints for syntax errors typical of beginners and users of other languages.

A hint depends on the unexpected token, on the accepted tokens, and on the tokens before it on the
same line.
"""

from __future__ import annotations

from lark import Token

from compiler.base.dataclass import dataclass
from compiler.base.prim import PRIMS

BEFORE_THE_TEXT = -1
"""Position of the tokens that make an expression a program."""
_OPENING = {"LPAR": "(", "LBRACK": "[", "IBRACK": "[", "LCURL": "{"}
_CLOSING = {"RPAR": "(", "RBRACK": "[", "RCURL": "{"}
_DECLARATION = frozenset(("DEF", "ENTRY", "LET", "TYPE", "MODULE", "OPEN", "IMPORT", "LOCAL"))
_LAMBDA = "Write an anonymous function as `\\x -> x + 1`."
_LOOP = "Write a loop as `loop x = start for i < n do next`."
_WHILE = "Write a loop as `loop x = start while c do next`."
_RETURN = "A function returns the value of its body: `def f (x: i32): i32 = x + 1`."
_VALUES_OF_LOOP = (
    "A loop has one value, which may be a tuple: `loop (a, b) = (0, 1) for i < n do (b, a + b)`."
)
_TUPLE = "Write a tuple in parentheses: `(a, b)`, of type `(i32, f32)`."
_TYPE_PARAMETER = "Declare a type parameter with a quote: `def f 'a (x: a): a = x`."
_SIZE_PARAMETER = "A size is declared by `[n]`, and is an `i64`: `def f [n] (xs: [n]i32) = ..`."
_GUARD = "A case has no condition: write `case y -> if c then a else b`."
_TOP = "A definition binds one name: `def x = (1, 2)`. Read the components as `x.0` and `x.1`."
_RECORD = "Write a record as `{x = 1, y = 2}`; its type is `{x: i32, y: i32}`."
_COMPREHENSION = "Futhark has no comprehensions: write `map (\\x -> x * 2) xs`, or `filter`."
_COMMENT = "A comment begins with `--` and goes to the end of the line."
_BINDINGS = "Write `in` and a value after the bindings of a `let`: `let y = x in y`."
_CHOICE = "Write a choice as `if c then a else b`."
_MATCH = "Distinguish cases with `match x case 0 -> a case _ -> b`."
_NAMED = "Bind a name with `let y = x + 1`, or with its type, `let y: i32 = x + 1`."
_IN_PLACE = "A value cannot be changed."
_NEXT = "The value of a loop's body is the loop's next value."
_RANGE = "A range is written `a..<b`, `a...b` or `a..b..<c`."
_REFERENCE = (
    "Futhark has no references. Pass a value directly, `(x: i32)`, and an array that "
    "may be overwritten as `(xs: *[]i32)`."
)
_STEPS = "Futhark has no statements: bind each intermediate value, as in `let x = f in g x`."
_SUM = "Constructors begin with `#`: `type shape = #circle f32 | #square f32`."
DECLARED = "Write declarations in the program."
MISSING = (
    "Every variable has a value. Use a sum type for a value that may be missing: `#some "
    "i32 | #none`."
)
ARRAYS = "Write the type of an array as `[]i32`, and of a matrix as `[][]i32`."
EXPONENT = "An exponent cannot contain `_`: write `1.5e10`."
_NO_VALUE = frozenset(("RPAR", "RBRACK", "RCURL", "$END", "THEN", "ELSE", "IN", "DO", "COMMA"))

CHARACTERS = {
    ";": (
        "Do not end a line with a sign. Write `in` after the bindings of a `let`, and "
        "commas between elements."
    ),
    "$": "Write `f <| x`, or parentheses.",
    "@": (
        "Concatenate arrays with `++`. Futhark has no `as` patterns and no matrix "
        "operator: write a matrix product as a `map` of sums."
    ),
    "~": "Invert the bits of a number with `!x`.",
    "#": f"Write a constructor's name directly after `#`. {_COMMENT}",
    "\u2018": "Write a character between straight quotes: `'a'`.",
    "\u2019": "Write a character between straight quotes: `'a'`.",
    "\u201c": 'Write a string between straight quotes: `"abc"`.',
    "\u201d": 'Write a string between straight quotes: `"abc"`.',
    "\u2212": "Write a minus as `-`.",
    "\u2013": "Write a minus as `-`.",
    "\u2192": "Write an arrow as `->`.",
    "\u03bb": _LAMBDA,
}
"""Replacements for characters that Futhark does not use."""

TYPES = {
    "int": "Integers are `i32` and `i64` (also `i8`, `i16`), unsigned `u8` to `u64`.",
    "long": "The type is called `i64`.",
    "float": "Floating-point numbers are `f32`, `f64` and `f16`.",
    "double": "The type is called `f64`.",
    "char": "A byte is a `u8`.",
    "string": "A string is an array of bytes, `[]u8`.",
    "str": "A string is an array of bytes, `[]u8`.",
    "boolean": "The type is called `bool`.",
    "unit": "Write the unit type as `()`.",
    "void": "Write the unit type as `()`.",
    "integer": "Integers are `i32` and `i64` (also `i8`, `i16`), unsigned `u8` to `u64`.",
    "array": ARRAYS,
    "vector": ARRAYS,
    "list": ARRAYS,
    "matrix": ARRAYS,
    "byte": "A byte is a `u8`.",
    **dict.fromkeys(("maybe", "option", "optional"), MISSING),
    **dict.fromkeys(("usize", "size_t"), "Sizes and indices are `i64`."),
    **dict.fromkeys(("number", "num", "real"), "Numbers are `f64`, `f32`, `i32` and the like."),
    **dict.fromkeys(("ndarray", "tensor", "vec", "slice", "seq"), ARRAYS),
    "tuple": "Write the type of a tuple as `(i32, f32)`.",
    **{
        f"{kind}{bits}": f"The type is called `{kind[0] if kind != 'float' else 'f'}{bits}`."
        for kind in ("int", "uint", "float")
        for bits in (8, 16, 32, 64)
        if kind != "float" or bits > 8
    },
}
"""Replacements for types of other languages, by lowercase name."""


@dataclass(frozen=True, slots=True)
class Slip:
    """An unexpected token: the accepted tokens, and all tokens before it."""

    token: Token
    wanted: frozenset[str]
    before: list[Token]

    def preceded(self, *kinds: str) -> bool:
        """Test whether the preceding tokens are of these kinds, in this order."""
        return tuple(t.type for t in self.before[-len(kinds) :]) == kinds

    def on_its_line(self, *words: str) -> bool:
        """Test whether one of these words precedes it on its line."""
        return any(str(t) in words for t in self.line())

    def ends_in_a_range(self) -> bool:
        """Test whether two dots are the last sign but a value before it."""
        return any(t.type == "DOTDOT" for t in self.before[-4:])

    def line(self) -> list[Token]:
        """Return the tokens before it on its line."""
        return [t for t in self.before if t.line == self.token.line]


def way_out(slip: Slip) -> str:
    """Suggest a correction; "" where none is known."""
    for kind in (
        _of_number,
        _of_word,
        _of_phrase,
        _of_equals,
        _of_function,
        _of_type,
        _of_brackets,
        _of_data,
        _of_kind,
        _unclosed,
    ):
        if hint := kind(slip):
            return hint
    return ""


def _of_number(slip: Slip) -> str:
    """Hint at numbers without digits on a side of their point."""
    text, last = str(slip.token), slip.before[-1] if slip.before else None
    if slip.token.type == "FIELD" and text[1].isdigit():
        return points_digits(f"0{text}")
    is_behind = last is not None and last.end_pos == slip.token.start_pos
    if slip.token.type == "DOT" and is_behind and slip.preceded("INT"):
        return points_digits(f"{last}.0")
    if slip.token.type == "UNDERSCORE" and is_behind and slip.preceded("FLOAT"):
        return EXPONENT
    return ""


def points_digits(number: str) -> str:
    """Hint at a number without digits on a side of its point."""
    return f"Write digits on both sides of the point: `{number}`."


def _of_word(slip: Slip) -> str:
    """Hint at words of other languages."""
    match str(slip.token):
        case "where":
            return "Futhark has no `where`; bind names with `let .. in` before they are used."
        case "elif" | "elseif" | "elsif":
            return "Write `else if`."
        case "fun" | "func" | "fn" | "function" | "define" | "val":
            return "Write a definition as `def f x = ..`."
        case "while":
            return _WHILE
        case "case" if "IF" in slip.wanted or slip.on_its_line("switch"):
            return _MATCH
        case "match":
            return _MATCH
        case "when" | "if" if slip.on_its_line("case"):
            return _GUARD
        case "if" if "DEF" in slip.wanted:
            return _CHOICE
        case "let" if slip.preceded("LCURL"):
            return "Braces hold the fields of a record; the value of a body follows `=`."
        case "data" | "struct" | "newtype" | "enum" | "record" | "class" if "TYPE" in slip.wanted:
            return "A type is defined by `type t = (i32, f32)`, `{x: i32}` or `#a i32 | #b`."
        case "for" if "RBRACK" in slip.wanted:
            return _COMPREHENSION
        case "for":
            return _LOOP
        case "<=" if slip.on_its_line("for"):
            return "A `for` loop counts up to its bound, excluded: `for i < n + 1`."
        case "do" if "IF" in slip.wanted:
            return _STEPS
        case "as" if slip.preceded("IMPORT", "STRING"):
            return (
                f"Name an imported file with `module m = import {slip.before[-1]}`, and use `m.x`."
            )
        case "?":
            return _CHOICE
        case "//" | "/*" | "/**":
            return _COMMENT
    return ""


def _of_phrase(slip: Slip) -> str:
    """Hint at words that fit no other hint, by the tokens before them."""
    if slip.on_its_line("return") and ("EQ" in slip.wanted or str(slip.before[-1]) == "return"):
        return _RETURN
    if slip.preceded("ASSERT", "ID") and slip.token.type in ("OP", "LT"):
        return "Put the asserted condition in parentheses: `assert (x > 0) x`."
    if slip.token.type == "CONSTR" and "TYPE" in slip.wanted:
        return "Write a definition as `def n = 3`, and a comment as `-- ..`."
    if slip.preceded("DEF", "ID", "COLON") and slip.token.type == "COLON":
        return "Write types at the parameters: `def f (x: i32): i32 = x + 1`."
    if slip.preceded("IMPORT"):
        return f'Write the name of a file between quotes: `import "{slip.token}"`.'
    if slip.preceded("WITH") and slip.token.type in ("BAR", "CASE", "INT"):
        return _MATCH
    return ""


def _of_equals(slip: Slip) -> str:
    """Hint at a `=` of other languages, and at the arrows of cases."""
    match slip.token.type:
        case "EQ" if slip.preceded("LOOP", "LPAR", "ID"):
            return _LOOP
        case "EQ" if slip.preceded("RPAR") and slip.on_its_line("def", "entry", "let"):
            return _TOP
        case "EQ" if slip.on_its_line("where"):
            return "Futhark has no `where`; bind names with `let .. in` before they are used."
        case "INT" | "FLOAT" if slip.preceded("COLON") and slip.on_its_line("if"):
            return _CHOICE
        case "EQ" if slip.preceded("COLON"):
            return f"{_NAMED} {_NEXT if slip.on_its_line('do') else _IN_PLACE}"
        case "EQ" if slip.preceded("FOR", "ID"):
            return "A `for` loop counts from 0: `loop x = start for i < n do next`."
        case "EQ" if any(t.column == 1 and t.type == "ID" for t in slip.line()):
            return f"Write a definition as `def {slip.line()[0]} .. = ..`."
        case "EQ" if slip.preceded("ID", "ID"):
            return _NAMED
        case "EQ" if slip.preceded("RBRACK"):
            return (
                "Update an array with `let ys = xs with [i] = v`, and compare two values with `==`."
            )
        case "EQ":
            return "To compare two values write `==`."
        case "COLON" if slip.preceded("RBRACK") and slip.on_its_line("let"):
            return "Replace an element with `let xs[i] = v`."
        case "OP" if str(slip.token) == "=>" and slip.on_its_line("match"):
            return _MATCH
        case "OP" if str(slip.token) == "=>" and "ARROW" in slip.wanted:
            return _LAMBDA if slip.on_its_line("\\") else _MATCH
    return ""


def _of_function(slip: Slip) -> str:
    """Hint at functions, parameters and compositions in the syntax of other languages."""
    match slip.token.type:
        case "ARROW" if "EQ" in slip.wanted and "COLON" in slip.wanted:
            return "The type of a result follows a colon: `def f (x: i32): i32 = ..`."
        case "ARROW" if slip.on_its_line("match") or "CASE" in slip.wanted:
            return _MATCH
        case "ARROW" if slip.preceded("ID") and slip.token.start_pos == slip.before[-1].end_pos:
            return "Write a field after a dot: `r.x`."
        case "COMMA" if slip.preceded("LAM", "ID"):
            return "Write parameters without commas: `\\x y -> x + y`."
        case "TYVAR" if slip.preceded("COLON"):
            return _TYPE_PARAMETER
        case "OP" | "LT" if slip.preceded("DEF", "ID", "LT", "ID"):
            return _TYPE_PARAMETER
        case "ARROW" if slip.on_its_line("fun", "fn", "function", "lambda"):
            return _LAMBDA
        case "ARROW" if slip.preceded("EQ", "ID"):
            return _LAMBDA
        case "ARROW" if slip.preceded("LPAR", "ID") or slip.preceded("LPAR", "ID", "ID"):
            return _LAMBDA
        case "DOT" if slip.preceded("LAM", "ID"):
            return _LAMBDA
        case "DOT" if slip.preceded("RPAR"):
            return "Compose functions with `f >-> g`, which applies `f` first."
        case "DOT":
            return "Write a function before its argument, `f x`, and a field after a dot, `r.x`."
        case "ID" if slip.preceded("TYPE", "ID"):
            return (
                f"Write a type parameter with a quote: `type {slip.before[-1]} '{slip.token} = ..`."
            )
        case "ID" if slip.preceded("LET", "LPAR", "ID"):
            both = f"({slip.before[-1]}, {slip.token})"
            return f"Separate the components of a tuple by commas: `let {both} = ..`."
        case "ID" if "COLON" in slip.wanted and slip.preceded("LPAR", "ID"):
            pair = str(slip.before[-1]), str(slip.token)
            name, type_ = pair[::-1] if pair[0] in PRIMS else pair
            return f"A type follows a colon: `({name}: {type_})`."
        case "ID" if "TYPE" in slip.wanted:
            return f"Write a definition as `def {slip.token} = ..` or `def {slip.token} x = ..`."
    return ""


def _of_type(slip: Slip) -> str:
    """Hint at types in the syntax of other languages."""
    is_in_a_type = "ARROW" in slip.wanted and "IF" not in slip.wanted
    match str(slip.token):
        case "<" if is_in_a_type and slip.preceded("ID"):
            name = str(slip.before[-1])
            return TYPES.get(name.lower()) or f"A type's arguments follow it: `{name} i32`."
        case "&" if "STAR" in slip.wanted and "IF" not in slip.wanted:
            return _REFERENCE
        case "*" if is_in_a_type and slip.preceded("ID"):
            return _REFERENCE
    return ""


def _of_data(slip: Slip) -> str:
    """Hint at tuples, records, sums, arrays and texts in the syntax of other languages."""
    match slip.token.type:
        case "BAR" if slip.on_its_line("type"):
            return _SUM
        case "ID" | "LPAR" | "UNDERSCORE" if slip.preceded("CASE", "ID"):
            return f"Constructors begin with `#`: `case #{slip.before[-1]} x -> ..`."
        case "BAR" if slip.on_its_line("case"):
            return "A case has one pattern: write `case 0 -> a case 1 -> a`, or an `if`."
        case "BAR" if "EQ" in slip.wanted and not slip.preceded("LCURL", "ID"):
            return _CHOICE
        case "COLON" if slip.preceded("LCURL", "ID"):
            return _RECORD
        case "LCURL" if slip.preceded("WITH"):
            return "To replace a field, write `r with x = 3`, without braces."
        case "COLON" if slip.preceded("LBRACK", "ID") or slip.preceded("IBRACK", "ID"):
            return _SIZE_PARAMETER
        case "COMMA" if any(slip.preceded("COLON", "LBRACK", of) for of in ("INT", "ID")):
            return "Write the type of a matrix as `[n][m]i32`."
        case "DOTBRACK":
            return "Read an element by its index: `xs[0]`."
        case "RPAR" if slip.preceded("COMMA"):
            return "A tuple has at least two components; `(x)` is `x`."
        case "WITH" | "BAR" if slip.preceded("LCURL", "ID"):
            return f"To replace a field, write `{slip.before[-1]} with x = 3`, without braces."
        case "TYVAR" if str(slip.token).endswith("'"):
            return 'Write a string of several characters between `"`.'
        case "RBRACK" | "RPAR" | "$END" | "DEF" | "ENTRY" if slip.before and slip.ends_in_a_range():
            return _RANGE
        case "RANGE_END" | "DOTDOT":
            return _RANGE
        case "COLON" if slip.preceded("COLON"):
            return (
                "Futhark has no lists: concatenate arrays with `++`, as in `[x] ++ "
                "xs`. Write a member of a module as `m.x`."
            )
        case "COMMA" if slip.preceded("LET", "ID"):
            name = slip.before[-1]
            return f"Write a tuple pattern in parentheses: `let ({name}, ..) = ..`."
        case "LBRACK" if "UNDERSCORE" in slip.wanted and "IF" not in slip.wanted:
            return "A pattern cannot match an array: test `length xs == 0`, and read `xs[0]`."
    return ""


def _of_brackets(slip: Slip) -> str:
    """Hint at brackets and braces as in other languages."""
    match slip.token.type:
        case "TYVAR" if slip.preceded("RBRACK"):
            return _TYPE_PARAMETER
        case "RPAR" | "EQ" if slip.preceded("LBRACK", "RBRACK") and "STAR" in slip.wanted:
            return "Write the element type after the brackets: `[]i32`."
        case "STRING" if slip.preceded("LCURL"):
            return _RECORD
        case "DOTDOT" if "WITH" in slip.wanted and "RBRACK" in slip.wanted:
            return "Write a slice as `xs[1:3]`, from index 1 up to but excluding index 3."
        case "RBRACK" | "COMMA" if slip.preceded("COLON") and "COLON" not in slip.wanted:
            return "Write a step after a second colon: `xs[::2]` is every other element."
        case "COMMA" if slip.preceded("FOR", "ID"):
            return (
                "To loop over elements with their indices, write `for (i, x) in zip "
                "(indices xs) xs`."
            )
        case "COMMA" if slip.preceded("IBRACK"):
            return "Select all of a dimension with `:`, as in `xs[:, 0]`."
        case "UNDERSCORE" if slip.preceded("LPAR") and "IF" in slip.wanted:
            return f"Write an operator with one operand as a section, `(+ 1)`. {_LAMBDA}"
        case "LCURL" if slip.preceded("MODULE", "ID"):
            return f"Write a module as `module {slip.before[-1]} = {{def x = 1}}`."
        case "DEF" | "LET" | "ENTRY" if "VAL" in slip.wanted:
            return "A module type declares names with their types: `val x: i32`."
    return ""


def _of_kind(slip: Slip) -> str:
    """Hint at tokens of an incomplete construct."""
    match slip.token.type:
        case "LT" if slip.preceded("LOOP", "ID"):
            return _LOOP
        case "COMMA" if slip.wanted == {"RPAR"}:
            return "Write arguments without commas: `f (+ 1) x`."
        case "COMMA" if "WHILE" in slip.wanted:
            return _VALUES_OF_LOOP
        case "COMMA" if "CASE" in slip.wanted:
            return "Match two values as a tuple: `match (x, y) case (0, 0) -> a case _ -> b`."
        case _ if "DO" in slip.wanted and slip.token.type in ("DEF", "ENTRY", "$END"):
            return _WHILE if slip.on_its_line("while") else _LOOP
        case "RCURL" | "OP" if "THEN" not in slip.wanted and _is_choice_in_braces(slip):
            return f"{_CHOICE[:-1]}, without braces."
        case "RCURL" if slip.wanted == {"COLON"}:
            return "The body of a function follows `=`: `def f (x: i32): i32 = x + 1`."
        case "COMMA" if "IN" in slip.wanted:
            return "Write bindings one after the other, and `in` after the last one."
        case "COMMA" if "DEF" in slip.wanted or slip.wanted == {"EQ"}:
            return _TUPLE
        case "IN" if _asserts_alone(slip.before):
            return "Write a value after the condition of an `assert`: `assert (x > 0) x`."
        case "IN" if slip.line() and slip.line()[0].column == 1 and slip.line()[0].type == "LET":
            return "Only definitions may stand at the top level: `def main = let f x = x in f 3`."
        case "IN":
            alone = "`in` ends the bindings of a `let`, but there is no open `let` here."
            return _unclosed(slip) or alone
        case "DEF" | "ENTRY" | "LET" | "RCURL" | "$END" if "ELSE" in slip.wanted:
            return "An `if` needs an `else`."
        case "DEF" | "ENTRY" | "ELSE" | "$END" if "THEN" in slip.wanted:
            return _CHOICE
        case "DEF" | "ENTRY" | "$END" if "IN" in slip.wanted:
            return _BINDINGS
    if slip.on_its_line("lambda"):
        return _LAMBDA
    if slip.token.type in _NO_VALUE and "IF" in slip.wanted and slip.preceded("OP"):
        counts = ": to add 1, write `n + 1`" if str(slip.before[-1]) == "++" else ""
        return f"`{slip.before[-1]}` stands between two values{counts}."
    if slip.preceded("LBRACK", "ID", "RBRACK"):
        name = slip.before[-2]
        return f"If `{name}` is a type, an array of it is `[]{name}`."
    return ""


def _is_choice_in_braces(slip: Slip) -> bool:
    """Test for a seeming record behind the condition of an `if`."""
    return "EQ" in slip.wanted and slip.on_its_line("if") and not slip.on_its_line("then")


def _asserts_alone(before: list[Token]) -> bool:
    """Test whether the last tokens are an assertion without the value that it guards."""
    at = len(before) - 1
    if before and before[-1].type == "RPAR":
        depth = 0
        for at in reversed(range(len(before))):
            depth += (before[at].type == "RPAR") - (before[at].type == "LPAR")
            if not depth:
                break
    return at > 0 and str(before[at - 1]) == "assert"


def _unclosed(slip: Slip) -> str:
    """Hint at the innermost open bracket, where its closing one was acceptable."""
    if slip.token.type in _DECLARATION and not slip.wanted & set(_CLOSING):
        if slip.before and slip.before[-1].start_pos == BEFORE_THE_TEXT:
            return DECLARED
        return "The declaration before this one is not complete."
    if not slip.wanted & set(_CLOSING):
        return ""
    stack: list[Token] = []
    for token in slip.before:
        if token.type in _DECLARATION and token.column == 1:
            stack.clear()
        elif token.type in _OPENING:
            stack.append(token)
        elif token.type in _CLOSING and stack:
            stack.pop()
    if not stack:
        return ""
    last = stack[-1]
    return f"The `{_OPENING[last.type]}` at {last.line}:{last.column} is not closed."
