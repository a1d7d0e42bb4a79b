"""What is known about i64 values at a place in the program, and simple proofs from it.

Facts are lower and upper bounds of single names (loop and kernel indices, elements of `iota`,
sizes of arrays, what assertions and branches say) and the truth of whole conditions. Every fact
carries the depth of the scope that established it, so that a statement about to be moved out
can be judged by what holds there. Scopes undo their facts when they end.

A proof is over the integers, while programs wrap around at 2**64. It is therefore used only where
every name in it is small: the size of an array, an index of something that runs that often, or
bounded by such. Those are far below 2**63, and so are their sums and products in index arithmetic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compiler.base.names import Name
from compiler.ir.nodes import SE, Bin, Lit, Select
from compiler.ir.poly import Poly
from compiler.ir.sizes import poly_of, se_of

EVERYWHERE = 1_000
_EITHER: Any = "either"
_MAX_TERMS = 12
_ZERO = Lit(0, "i64")
_OPPOSITE = {"<": ">=", ">=": "<", "<=": ">", ">": "<=", "==": "!=", "!=": "=="}


@dataclass(frozen=True, slots=True)
class Bounds:
    """`low <= x <= high`, both inclusive; None: not known. Holds at `depth` and deeper."""

    low: Poly | None
    high: Poly | None
    depth: int


class Facts:
    """Bounds by name, and conditions by expression, with an undo log per scope."""

    __slots__ = ("_cases", "_equal", "_log", "_small", "bounds", "order", "truths")

    def __init__(self, equal: Mapping[Name, Poly]) -> None:
        """`equal`: names that are polynomials of others; may grow later."""
        self._equal = equal
        self._small: set[Name] = set()
        self._cases: dict[Name, tuple[str, Poly, Poly]] = {}
        self.bounds: dict[Name, tuple[Bounds, ...]] = {}
        self.truths: dict[SE, tuple[bool, int]] = {}
        self.order: dict[Name, int] = {}
        self._log: list[list[tuple[Name, tuple[Bounds, ...]] | SE]] = [[]]

    def enter(self) -> None:
        """Begin a scope."""
        self._log.append([])

    def leave(self) -> None:
        """End a scope: what was learned in it is forgotten."""
        for entry in reversed(self._log.pop()):
            if isinstance(entry, tuple):
                name, before = entry
                self.bounds[name] = before
            else:
                del self.truths[entry]

    def bound(self, name: Name, low: Poly | None, high: Poly | None, depth: int) -> None:
        """Learn `low <= name <= high`."""
        before = self.bounds.get(name, ())
        if len(before) >= 4 or any(b.low == low and b.high == high for b in before):
            return
        self._log[-1].append((name, before))
        self.bounds[name] = (*before, Bounds(low, high, depth))
        self.order.setdefault(name, len(self.order))

    def small(self, name: Name) -> None:
        """Learn that a name is a size or an index, and so far below 2**63."""
        self._small.add(name)

    def learn(self, cond: SE, truth: bool, depth: int) -> None:
        """Learn that a condition is true, or false."""
        if type(cond) is Lit or cond in self.truths:
            return
        self.truths[cond] = (truth, depth)
        self._log[-1].append(cond)
        if type(cond) is not Bin:
            return
        if cond.op == ("&&" if truth else "||"):
            self.learn(cond.lhs, truth, depth)
            self.learn(cond.rhs, truth, depth)
        elif cond.at == "i64":
            self._learn_comparison(cond.op, cond.lhs, cond.rhs, truth, depth)

    def defined(self, name: Name, value: SE, depth: int) -> None:
        """Learn what a name bound at `depth` is: a minimum, maximum, choice or quotient."""
        match value:
            case Bin("min" | "max" as kind, "i64", lhs, rhs):
                pass
            case Select(_, lhs, rhs):
                kind = _EITHER
            case Bin("/" | "//" as op, "i64", lhs, Lit(by, _)) if by > 1:
                self._quotient(name, op, lhs, int(by), depth)
                return
            case _:
                return
        one, other = self.poly(lhs), self.poly(rhs)
        if one is not None and other is not None:
            self._cases[name] = (kind, one, other)
            self.order.setdefault(name, len(self.order))

    def _quotient(self, name: Name, op: str, number: SE, by: int, depth: int) -> None:
        """Learn `by * name <= number < by * (name + 1)`."""
        found = self.poly(number)
        if found is None or not self.is_small(found, depth):
            return
        natural = self.non_negative(found, depth)
        if op == "/" or natural:
            self._cases[name] = ("quotient", found, Poly.const(by))
            self.order.setdefault(name, len(self.order))
        if natural:
            self.bound(name, Poly.const(0), None, 0)

    def _learn_comparison(self, op: str, lhs: SE, rhs: SE, truth: bool, depth: int) -> None:
        op = op if truth else _OPPOSITE[op]
        left, right = poly_of(lhs), poly_of(rhs)
        if left is None or right is None:
            return
        if op in (">", ">="):
            left, right, op = right, left, "<" if op == ">" else "<="
        for one, other, sign in ((left, right, 1), (right, left, -1)):
            name = one.as_name
            if name is not None and name not in other.names():
                self._learn_bound(name, op, other.subst(self._equal), sign, depth)

    def _learn_bound(self, name: Name, op: str, other: Poly, sign: int, depth: int) -> None:
        """`name op other` (sign 1) or `other op name` (sign -1)."""
        if op == "==":
            self.bound(name, other, other, depth)
        elif op == "!=":
            known = self.bounds.get(name, ())
            if any(b.low == other for b in known):
                self.bound(name, other + 1, None, depth)
            if any(b.high == other for b in known):
                self.bound(name, None, other - 1, depth)
        else:
            limit = other - sign if op == "<" else other
            low, high = (None, limit) if sign == 1 else (limit, None)
            self.bound(name, low, high, depth)

    def poly(self, se: SE) -> Poly | None:
        """An i64 expression as a polynomial of names that are not such themselves."""
        found = poly_of(se)
        return None if found is None else found.subst(self._equal)

    # --- proofs ------------------------------------------------------------------------------

    def is_small(self, poly: Poly, limit: int = EVERYWHERE) -> bool:
        """Whether every name in it is far from wrapping: a size, an index, or between such."""
        return all(name in self._small or self._is_between(name, limit) for name in poly.names())

    def _is_between(self, name: Name, limit: int) -> bool:
        cases = self._cases.get(name)
        if cases is not None:
            return self.is_small(cases[1], limit) and self.is_small(cases[2], limit)
        ends = [b for b in self.bounds.get(name, ()) if b.depth <= limit]
        low = any(b.low is not None and self._names_are_small(b.low) for b in ends)
        return low and any(b.high is not None and self._names_are_small(b.high) for b in ends)

    def _names_are_small(self, poly: Poly) -> bool:
        return all(name in self._small for name in poly.names())

    def non_negative(self, poly: Poly, limit: int = EVERYWHERE, effort: int = 16) -> bool:
        """Whether `poly >= 0` follows from the facts established at depth `limit` or above.

        Eliminates the youngest name that can be: a minimum, maximum or choice by its cases, others
        by a lower or upper bound, whichever makes the polynomial smaller, until all coefficients
        are non-negative over non-negative names.
        """
        if not poly.terms or self._obviously(poly, limit):
            return True
        if effort <= 0 or len(poly.terms) > _MAX_TERMS:
            return False
        known = [name for name in poly.names() if name in self.order]
        known.sort(key=self.order.__getitem__, reverse=True)
        for name in known:
            every, choices = self._eliminated(poly, name, limit)
            if choices:
                effort = (effort - 1) // len(choices)
                proved = (self.non_negative(choice, limit, effort) for choice in choices)
                return all(proved) if every else any(proved)
        return False

    def _eliminated(self, poly: Poly, name: Name, limit: int) -> tuple[bool, list[Poly]]:
        """Polynomials without `name`: `poly >= 0` if all of them (True) or any of them is."""
        if poly.degree(name) != 1:
            return False, []
        factor = poly.coefficient(name)
        rest = poly - factor * Poly.var(name)
        if name in self._cases:
            kind, one, other = self._cases[name]
            if kind == "quotient":
                return False, self._without_quotient(factor, rest, one, other, limit)
            helps = {"max": factor, "min": -factor}.get(kind)
            every = helps is None or not self._obviously(helps, limit)
            return every, [factor * one + rest, factor * other + rest]
        if self._obviously(factor, limit):
            ends = [b.low for b in self.bounds.get(name, ()) if b.depth <= limit]
        elif self._obviously(-factor, limit):
            ends = [b.high for b in self.bounds.get(name, ()) if b.depth <= limit]
        else:
            return False, []
        usable = [end for end in ends if end is not None and name not in end.names()]
        return False, [factor * end + rest for end in usable]

    def _obviously(self, poly: Poly, limit: int) -> bool:
        for coeff in poly.terms.values():
            if coeff < 0:
                return False
        return all(self._is_natural(name, limit) for name in poly.names())

    def _is_natural(self, name: Name, limit: int) -> bool:
        for b in self.bounds.get(name, ()):
            if b.depth <= limit and b.low is not None:
                least = b.low.constant
                if least is not None and least >= 0:
                    return True
        return False

    def _without_quotient(
        self, factor: Poly, rest: Poly, number: Poly, by: Poly, limit: int
    ) -> list[Poly]:
        """Lower bounds of `by * (factor * (number / by) + rest)`."""
        if self._obviously(factor, limit):
            return [factor * (number - by + 1) + by * rest]
        return [factor * number + by * rest] if self._obviously(-factor, limit) else []

    def decide(self, op: str, lhs: SE, rhs: SE, limit: int = EVERYWHERE) -> bool | None:
        """The truth of an i64 comparison, if it is known."""
        left = poly_of(lhs)
        right = poly_of(rhs) if left is not None else None
        if left is None or right is None:
            return None
        known = self._decide(op, left, right, limit)
        if known is not None:
            return known
        other_left, other_right = left.subst(self._equal), right.subst(self._equal)
        if other_left is left and other_right is right:
            return None
        return self._decide(op, other_left, other_right, limit)

    def _decide(self, op: str, left: Poly, right: Poly, limit: int) -> bool | None:
        if left == right:
            return op in ("==", "<=", ">=")
        if op in ("==", "!=") and (left - right).constant is not None:
            return op == "!="
        if not (self.is_small(left, limit) and self.is_small(right, limit)):
            return None
        if op in (">", ">="):
            left, right, op = right, left, "<" if op == ">" else "<="
        gap = right - left
        if op in ("<", "<="):
            slack = 1 if op == "<" else 0
            if self.non_negative(gap - slack, limit):
                return True
            return False if self.non_negative(slack - 1 - gap, limit) else None
        if self.non_negative(gap - 1, limit) or self.non_negative(-gap - 1, limit):
            return op == "!="
        return None

    def within(self, at: SE, extent: Poly, limit: int = EVERYWHERE) -> bool:
        """Whether `0 <= at < extent` is known."""
        size = se_of(extent)
        return (
            self.decide(">=", at, _ZERO, limit) is True
            and self.decide("<", at, size, limit) is True
        )
