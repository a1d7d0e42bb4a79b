"""Resolve infix operators to trees, by precedence and associativity."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from compiler.base.spans import Span
from compiler.frontend import ast

# Longest prefixes first: an operator binds as the longest built-in one that begins it.
_LEVELS: tuple[tuple[str, int], ...] = (
    ("||", 3), ("|>", 1), ("<|", 2), ("&&", 4), ("<<", 7), (">>", 7), ("<=", 5), (">=", 5),
    ("==", 5), ("!=", 5), ("**", 10), ("//", 9), ("%%", 9), ("|", 6), ("&", 6), ("^", 6),
    ("<", 5), (">", 5), ("=", 5), ("!", 5), ("+", 8), ("-", 8), ("*", 9), ("/", 9), ("%", 9),
)  # fmt: skip
_BACKTICK = 0
_RIGHT = 2

At = TypeVar("At")
Operand = TypeVar("Operand")


def precedence(name: str) -> int:
    """Return the operator's precedence; a name in backticks binds loosest."""
    return next((level for prefix, level in _LEVELS if name.startswith(prefix)), _BACKTICK)


def is_right(name: str) -> bool:
    """Test for right associativity."""
    return precedence(name) == _RIGHT


def tree_of(first: ast.Exp, rest: list[tuple[tuple[ast.QualName, Span], ast.Exp]]) -> ast.Exp:
    """Build nested `BinOp`s from `first op operand op operand ..`."""
    return folded(first, rest, _binary)


def _binary(name: ast.QualName, span: Span, lhs: ast.Exp, rhs: ast.Exp) -> ast.BinOp:
    return ast.BinOp(lhs.span.to(rhs.span), name, span, lhs, rhs)


def folded(
    first: Operand,
    rest: list[tuple[tuple[ast.QualName, At], Operand]],
    combine: Callable[[ast.QualName, At, Operand, Operand], Operand],
) -> Operand:
    """Combine operands pairwise by precedence (operator-precedence parsing)."""
    operands: list[Operand] = [first]
    operators: list[tuple[ast.QualName, At]] = []

    def apply() -> None:
        rhs, lhs = operands.pop(), operands.pop()
        operands.append(combine(*operators.pop(), lhs, rhs))

    for operator, operand in rest:
        name = operator[0][-1]
        level = precedence(name)
        while operators:
            above = precedence(operators[-1][0][-1])
            if above < level or (above == level and is_right(name)):
                break
            apply()
        operators.append(operator)
        operands.append(operand)
    while operators:
        apply()
    return operands[0]
