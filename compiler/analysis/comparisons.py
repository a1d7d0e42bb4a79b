"""Comparisons of integers: negation, subconditions, and the inequalities that they imply."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.algebra.poly import Poly
from compiler.ir.nodes import SE, Bin, Un
from compiler.ir.sizes import HIGH, LOW

OPPOSITE = {"<": ">=", ">=": "<", "<=": ">", ">": "<=", "==": "!=", "!=": "=="}


def parts(cond: SE) -> Iterator[SE]:
    """Yield a condition and the operands of its negations, conjunctions and disjunctions."""
    pending = [cond]
    while pending:
        part = pending.pop()
        yield part
        if type(part) is Un and part.op == "not":
            pending.append(part.arg)
        elif type(part) is Bin and part.op in ("&&", "||"):
            pending += (part.lhs, part.rhs)


def in_order(op: str, left: Poly, right: Poly) -> tuple[Poly, Poly, int]:
    """Normalise an order to `(smaller, larger, slack)` with `smaller + slack <= larger`."""
    slack = 0 if op in ("<=", ">=") else 1
    return (left, right, slack) if op in ("<", "<=") else (right, left, slack)


def true_claims(op: str, left: Poly, right: Poly) -> tuple[Poly, ...]:
    """Return polynomials that are not negative if a comparison of two i64 holds.

    `left` and `right` equal the operands modulo 2**64.
    """
    if op == "==":
        gap = right - left
        return gap, -gap, left - LOW, HIGH - right
    low, high, slack = in_order(op, left, right)
    return high - low - slack, low - LOW, HIGH - high
