"""Ways out of the slips of syntax that people make who are new, or come from other languages.

A hint is told from the word that did not fit, from what could have stood there, and from the words
before it on the same line.
"""

from __future__ import annotations

from dataclasses import dataclass

from lark import Token

_OPENING = {"LPAR": "(", "LBRACK": "[", "IBRACK": "[", "LCURL": "{"}
_CLOSING = {"RPAR": "(", "RBRACK": "[", "RCURL": "{"}
_DECLARATION = frozenset(("DEF", "ENTRY", "LET", "TYPE", "MODULE", "OPEN", "IMPORT", "LOCAL"))
_LAMBDA = "A function without a name is written `\\x -> x + 1`."
_LOOP = "A loop is written `loop x = start for i < n do next`."
_WHILE = "A loop is written `loop x = start while c do next`."
_RETURN = "A function's result is the value of its body: `def f (x: i32): i32 = x + 1`."
_COMPREHENSION = "There are no comprehensions: write `map (\\x -> x * 2) xs`, or `filter`."
_COMMENT = "A comment begins with `--` and goes to the end of the line."
_BINDINGS = "After its bindings, `let` has `in` and the value: `let y = x in y`."
_NO_VALUE = frozenset(("RPAR", "RBRACK", "RCURL", "$END", "THEN", "ELSE", "IN", "DO", "COMMA"))

CHARACTERS = {
    ";": "No sign ends a line: after its bindings `let` has `in`, and elements have commas.",
    "$": "Write `f <| x`, or parentheses.",
    "@": "Arrays are joined by `++`; a pattern cannot name the whole as well.",
    "~": "The bits of a number are turned by `!x`.",
    "#": f"A constructor's name follows `#` directly. {_COMMENT}",
    "\u2018": "A character stands between straight quotes: `'a'`.",
    "\u2019": "A character stands between straight quotes: `'a'`.",
    "\u201c": 'A text stands between straight quotes: `"abc"`.',
    "\u201d": 'A text stands between straight quotes: `"abc"`.',
    "\u2212": "A minus is written `-`.",
    "\u2013": "A minus is written `-`.",
    "\u2192": "An arrow is written `->`.",
    "\u03bb": _LAMBDA,
}
"""What is written instead of a character that Futhark has no use for."""


@dataclass(frozen=True, slots=True)
class Slip:
    """A word that did not fit: what could have stood there, and all words before it."""

    token: Token
    wanted: frozenset[str]
    before: list[Token]

    def preceded(self, *kinds: str) -> bool:
        """Whether the last words before are of these kinds, in this order."""
        return tuple(t.type for t in self.before[-len(kinds) :]) == kinds

    def on_its_line(self, *words: str) -> bool:
        """Whether one of these words stands before it on its line."""
        return any(str(t) in words for t in self.before if t.line == self.token.line)


def way_out(slip: Slip) -> str:
    """What to write instead; empty where nothing is known."""
    return _of_word(slip) or _of_kind(slip) or _unclosed(slip)


def _of_word(slip: Slip) -> str:
    """Words of other languages, and what they are here."""
    match str(slip.token):
        case "where":
            return "Futhark has no `where`; bind names with `let .. in` before they are used."
        case "elif" | "elseif" | "elsif":
            return "Write `else if`."
        case "fun" | "func" | "fn" | "function" | "define" | "val":
            return "A definition is written `def f x = ..`."
        case "while":
            return _WHILE
        case "for" if "RBRACK" in slip.wanted:
            return _COMPREHENSION
        case "for":
            return _LOOP
        case "<=" if slip.on_its_line("for"):
            return "A `for` loop counts up to its bound, excluded: `for i < n + 1`."
        case "?":
            return "A choice is written `if c then a else b`."
        case "//" | "/*" | "/**":
            return _COMMENT
    if slip.preceded("ID") and str(slip.before[-1]) == "return":
        return _RETURN
    return ""


def _of_kind(slip: Slip) -> str:
    """Signs in places where another language has them."""
    match slip.token.type:
        case "EQ" if slip.on_its_line("where"):
            return "Futhark has no `where`; bind names with `let .. in` before they are used."
        case "EQ" if slip.preceded("RBRACK"):
            return "An array is updated by `let ys = xs with [i] = v`; two values compare by `==`."
        case "EQ":
            return "To compare two values write `==`."
        case "ARROW" if "EQ" in slip.wanted and "COLON" in slip.wanted:
            return "The type of a result follows a colon: `def f (x: i32): i32 = ..`."
        case "ARROW" if slip.on_its_line("fun", "fn", "function", "lambda"):
            return _LAMBDA
        case "COLON" if slip.preceded("COLON"):
            return "There are no lists: arrays are joined by `++`, as in `[x] ++ xs`."
        case "COMMA" if "IN" in slip.wanted:
            return "Bindings follow each other without a sign; the last one is followed by `in`."
        case "LBRACK" if "UNDERSCORE" in slip.wanted and "IF" not in slip.wanted:
            return "No pattern takes an array apart: ask `length xs == 0`, and read `xs[0]`."
        case "DOT":
            return "A function stands before its argument: `f x`; a field behind a dot: `r.x`."
        case "RANGE_END" | "DOTDOT":
            return "A range is written `a..<b`, `a...b` or `a..b..<c`."
        case "IN":
            return "`in` closes a `let`; is there one that has its `in` already?"
        case "DEF" | "ENTRY" | "LET" | "$END" if "ELSE" in slip.wanted:
            return "An `if` always has an `else`."
        case "DEF" | "ENTRY" | "$END" if "IN" in slip.wanted:
            return _BINDINGS
    if slip.on_its_line("lambda"):
        return _LAMBDA
    if slip.token.type in _NO_VALUE and "IF" in slip.wanted and slip.preceded("OP"):
        counts = ": to count up write `n + 1`" if str(slip.before[-1]) == "++" else ""
        return f"`{slip.before[-1]}` stands between two values{counts}."
    if slip.preceded("LBRACK", "ID", "RBRACK"):
        name = slip.before[-2]
        return f"If `{name}` is a type, an array of it is `[]{name}`."
    return ""


def _unclosed(slip: Slip) -> str:
    """The innermost bracket that is open, where its closing one could have stood."""
    if slip.token.type in _DECLARATION and not slip.wanted & set(_CLOSING):
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
