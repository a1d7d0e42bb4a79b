"""Comparisons of integers: their contraries, their parts, what is not negative if they hold."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.algebra.poly import Poly
from compiler.ir.nodes import SE, Bin, Un
from compiler.ir.sizes import HIGH, LOW

OPPOSITE = {"<": ">=", ">=": "<", "<=": ">", ">": "<=", "==": "!=", "!=": "=="}


def parts(cond: SE) -> Iterator[SE]:
    """A condition, and those of which it is the negation, conjunction or disjunction."""
    pending = [cond]
    while pending:
        part = pending.pop()
        yield part
        if type(part) is Un and part.op == "not":
            pending.append(part.arg)
        elif type(part) is Bin and part.op in ("&&", "||"):
            pending += (part.lhs, part.rhs)


def in_order(op: str, left: Poly, right: Poly) -> tuple[Poly, Poly, int]:
    """The side of an order that is smaller, the larger one, and by how much at least."""
    slack = 0 if op in ("<=", ">=") else 1
    return (left, right, slack) if op in ("<", "<=") else (right, left, slack)


def true_claims(op: str, left: Poly, right: Poly) -> tuple[Poly, ...]:
    """What is not negative if a comparison of two i64 holds that are equal to two polynomials."""
    if op == "==":
        gap = right - left
        return gap, -gap, left - LOW, HIGH - right
    low, high, slack = in_order(op, left, right)
    return high - low - slack, low - LOW, HIGH - high
