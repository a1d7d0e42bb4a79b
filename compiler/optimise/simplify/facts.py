"""What is known about i64 values at a place in the program, and simple proofs from it.

Facts are lower and upper bounds of single names (loop and kernel indices, elements of `iota`,
sizes of arrays, what assertions and branches say) and the truth of whole conditions. Every fact
carries the depth of the scope that established it, so that a statement about to be moved out
can be judged by what holds there. Scopes undo their facts when they end.

A proof is over the integers, while programs wrap around at 2**64. It is therefore used only where
every name in it is bounded by sizes, and those are far below 2**63.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.base.names import Name
from compiler.ir.nodes import SE, Bin, Lit
from compiler.ir.poly import Poly
from compiler.ir.sizes import poly_of

ZERO = Poly.const(0)
EVERYWHERE = 1_000


@dataclass(frozen=True, slots=True)
class Bounds:
    """`low <= x <= high`, both inclusive; None: not known. Holds at `depth` and deeper."""

    low: Poly | None
    high: Poly | None
    depth: int


class Facts:
    """Bounds by name, and conditions by expression, with an undo log per scope."""

    __slots__ = ("_equal", "_log", "bounds", "order", "truths")

    def __init__(self, equal: Mapping[Name, Poly]) -> None:
        """`equal`: names that are polynomials of others; may grow later."""
        self._equal = equal
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

    def _learn_comparison(self, op: str, lhs: SE, rhs: SE, truth: bool, depth: int) -> None:
        if not truth:
            op = {"<": ">=", ">=": "<", "<=": ">", ">": "<=", "==": "!=", "!=": "=="}.get(op, "")
        left, right = self.poly(lhs), self.poly(rhs)
        if left is None or right is None:
            return
        if op in (">", ">="):
            left, right, op = right, left, "<" if op == ">" else "<="
        if op not in ("<", "<=", "=="):
            return
        slack = 1 if op == "<" else 0
        if (name := left.as_name) is not None and name not in right.names():
            self.bound(name, right if op == "==" else None, right - slack, depth)
        if (name := right.as_name) is not None and name not in left.names():
            self.bound(name, left + slack, left if op == "==" else None, depth)

    def poly(self, se: SE) -> Poly | None:
        """An i64 expression as a polynomial of names that are not such themselves."""
        found = poly_of(se)
        return None if found is None else found.subst(self._equal)

    # --- proofs ------------------------------------------------------------------------------

    def is_bounded(self, poly: Poly, limit: int = EVERYWHERE) -> bool:
        """Whether every name in it has a lower bound, so that it cannot wrap around."""
        return all(
            any(b.low is not None and b.depth <= limit for b in self.bounds.get(name, ()))
            for name in poly.names()
        )

    def non_negative(self, poly: Poly, limit: int = EVERYWHERE, effort: int = 12) -> bool:
        """Whether `poly >= 0` follows from the facts established at depth `limit` or above.

        Eliminates the youngest bounded name by its lower or upper bound, whichever makes the
        polynomial smaller, until all coefficients are non-negative over non-negative names.
        """
        while True:
            if not poly.terms:
                return True
            if self._obviously(poly, limit):
                return True
            if effort <= 0 or len(poly.terms) > 12:
                return False
            choices = self._eliminations(poly, limit)
            if not choices:
                return False
            effort -= len(choices)
            for choice in choices[:-1]:
                if self.non_negative(choice, limit, effort // 2):
                    return True
            poly = choices[-1]

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

    def _eliminations(self, poly: Poly, limit: int) -> list[Poly]:
        """Lower bounds of `poly` without the name, learned of last, that can be eliminated."""
        known = [name for name in poly.names() if name in self.order]
        known.sort(key=self.order.__getitem__, reverse=True)
        for name in known:
            found = self._without(poly, name, limit)
            if found:
                return found
        return []

    def _without(self, poly: Poly, name: Name, limit: int) -> list[Poly]:
        """Lower bounds of `poly` in which `name` no longer occurs."""
        if poly.degree(name) != 1:
            return []
        factor = poly.coefficient(name)
        rest = poly - factor * Poly.var(name)
        found: list[Poly] = []
        if self._obviously(factor, limit):
            for b in self.bounds[name]:
                if b.depth <= limit and b.low is not None and name not in b.low.names():
                    found.append(factor * b.low + rest)
        elif self._obviously(-factor, limit):
            for b in self.bounds[name]:
                if b.depth <= limit and b.high is not None and name not in b.high.names():
                    found.append(factor * b.high + rest)
        return found

    def decide(self, op: str, lhs: SE, rhs: SE, limit: int = EVERYWHERE) -> bool | None:
        """The truth of an i64 comparison, if it is known."""
        left = self.poly(lhs)
        right = self.poly(rhs) if left is not None else None
        if left is None or right is None:
            return None
        if left == right:
            return op in ("==", "<=", ">=")
        if op in ("==", "!=") and (left - right).constant is not None:
            return op == "!="
        if not (self.is_bounded(left, limit) and self.is_bounded(right, limit)):
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
        index = self.poly(at)
        if index is None or not self.is_bounded(index, limit):
            return False
        return self.non_negative(index, limit) and self.non_negative(extent - index - 1, limit)
