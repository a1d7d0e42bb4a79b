"""Literals in source text: numbers, characters, strings and truth values."""

from __future__ import annotations

import re

from lark import Token

from compiler import codes
from compiler.base.errors import SyntaxError_
from compiler.base.prim import FLOATS, INTS
from compiler.base.spans import Span
from compiler.frontend import ast
from compiler.frontend.characters import unescaped

MOST_DIGITS = 1100
"""Most digits of an integer literal: those of the largest `f64` in base 2, and some."""
_BASES = {"0x": 16, "0b": 2}
_ROMAN = {
    "M": 1000, "CM": 900, "D": 500, "CD": 400, "C": 100, "XC": 90, "L": 50, "XL": 40, "X": 10,
    "IX": 9, "V": 5, "IV": 4, "I": 1,
}  # fmt: skip


def literal(token: Token, span: Span) -> ast.Exp:
    """Parse a literal.

    Errors: a number or a character that there is not.
    """
    match token.type:
        case "INT":
            return _integer(str(token), span)
        case "FLOAT":
            digits, suffix = _suffix(str(token), FLOATS)
            return ast.FloatLit(span, digits.replace("_", ""), suffix)
        case "CHAR":
            return ast.IntLit(span, ord(_character(token, span)), "")
        case "STRING":
            return ast.StringLit(span, characters(token, span))
        case _:
            return ast.BoolLit(span, token.type == "TRUE")


def characters(token: Token, span: Span) -> str:
    """Decode a quoted literal.

    Errors: an escape that there is not.
    """
    try:
        return unescaped(str(token)[1:-1])
    except ValueError as error:
        raise SyntaxError_(codes.syntax.LITERAL, str(error), span) from None


def _suffix(text: str, suffixes: tuple[str, ...]) -> tuple[str, str]:
    for suffix in suffixes:
        if text.endswith(suffix):
            return text[: -len(suffix)], suffix
    return text, ""


def _integer(text: str, span: Span) -> ast.IntLit:
    begins = text[:2].lower()
    digits, suffix = _suffix(text, INTS if begins == "0x" else (*INTS, *FLOATS))
    if begins == "0r":
        return ast.IntLit(span, _roman(digits[2:]), suffix)
    base = _BASES.get(begins, 10)
    digits = (digits if base == 10 else digits[2:]).replace("_", "").lstrip("0") or "0"
    if len(digits) > MOST_DIGITS:
        raise SyntaxError_(
            codes.syntax.NUMBER,
            f"This number has {len(digits)} digits, more than any type can hold.",
            span,
            "The largest numbers are those of `f64`, with at most 309 digits.",
        )
    return ast.IntLit(span, int(digits, base), suffix)


def _roman(numerals: str) -> int:
    """Sum numerals in any order and number: `VX` is 15, `IIII` 4."""
    return sum(_ROMAN[one] for one in re.findall("CM|CD|XC|XL|IX|IV|.", numerals))


def _character(token: Token, span: Span) -> str:
    value = characters(token, span)
    if len(value) != 1:
        raise SyntaxError_(
            codes.syntax.LITERAL, "A character literal must contain exactly one character.", span
        )
    if token[1] == "\\" and len(token) > 4 and not token[2:-1].isdecimal():
        raise SyntaxError_(
            codes.syntax.LITERAL,
            "In a character literal, write one character or a decimal number after `\\`.",
            span,
            f"Write `'\\{ord(value)}'`.",
        )
    return value
