"""Infix operators: from a flat list to a tree, by precedence and associativity."""

from __future__ import annotations

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

Operator = tuple[ast.QualName, Span]


def precedence(name: str) -> int:
    """How tightly the operator binds; a name in backticks binds loosest."""
    return next((level for prefix, level in _LEVELS if name.startswith(prefix)), _BACKTICK)


def tree_of(first: ast.Exp, rest: list[tuple[Operator, ast.Exp]]) -> ast.Exp:
    """`first op operand op operand ..` as nested `BinOp`s."""
    operands: list[ast.Exp] = [first]
    operators: list[Operator] = []
    for operator, operand in rest:
        level = precedence(operator[0][-1])
        while operators:
            above = precedence(operators[-1][0][-1])
            if above > level or (above == level and level != _RIGHT):
                _combine(operands, operators)
            else:
                break
        operators.append(operator)
        operands.append(operand)
    while operators:
        _combine(operands, operators)
    return operands[0]


def _combine(operands: list[ast.Exp], operators: list[Operator]) -> None:
    name, span = operators.pop()
    rhs = operands.pop()
    lhs = operands.pop()
    operands.append(ast.BinOp(lhs.span.to(rhs.span), name, span, lhs, rhs))
