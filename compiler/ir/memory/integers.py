"""Read numbers of a function as polynomials, and conditions as facts about them.

i64 sums and products are read as those of integers, which is meaningless where one wraps on the way
to an index. A strict reader names what may wrap, and only conditions say something of such a name.
That a sum does not wrap follows from the range of each name, and from existing blocks: none has
more elements than fit.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable

from compiler.algebra.facts import Point
from compiler.algebra.limits import LARGEST_SIZE
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Monomial, Poly
from compiler.base.names import Name
from compiler.base.prim import INTS
from compiler.ir import nodes as ir
from compiler.ir.memory.known import NEVER, Condition, KnownHere
from compiler.ir.sizes import HIGH, LOW
from compiler.ir.walk import se_uses

TERMS = 12
"""Maximum number of terms of a polynomial that stands for a name."""


class Integers:
    """Polynomials of the names of one function, and which names are inputs."""

    def __init__(self, strict: bool = False) -> None:
        self.strict = strict
        self.defined: dict[Name, Poly] = {}
        self.tests: dict[Name, ir.SE] = {}
        """Definitions of bools."""
        self.chosen: set[Name] = set()
        """Inputs and indices: all values that satisfy the facts do occur."""
        self.ranges: dict[Name, Poly] = {}
        """Upper bounds of loop and kernel indices, which count from 0."""
        self.sizes: set[Name] = set()
        """Names that are sizes of arrays."""
        self.natural: set[Name] = set()
        """Sizes of inputs, and indices: never negative."""
        self._unknown = 0
        self._normal: dict[Poly, Poly] = {}
        self._behind: dict[Name, frozenset[Name]] = {}
        """The names that the definition of a bool or number depends on."""

    def normal(self, poly: Poly) -> Poly:
        """Substitute definitions in a polynomial."""
        found = self._normal.get(poly)
        if found is None:
            found = self._normal[poly] = poly.subst(self.defined)
        return found

    def normal_lmad(self, lmad: Lmad[Poly]) -> Lmad[Poly]:
        """Substitute definitions in an index function."""
        dims = tuple([Dim(self.normal(d.size), self.normal(d.stride)) for d in lmad.dims])
        return Lmad(self.normal(lmad.offset), dims)

    def poly(self, se: ir.SE, scope: KnownHere) -> Poly | None:
        """Return the polynomial of an integer expression, or None.

        A strict reader returns None for what may wrap.
        """
        match se:
            case ir.Var(name, prim) if prim in INTS:
                return self.normal(Poly.var(name))
            case ir.Lit(value, prim) if prim in INTS:
                return Poly.const(int(value))
            case ir.Bin("+" | "-" | "*" as op, "i64", a, b):
                left, right = self.poly(a, scope), self.poly(b, scope)
                if left is None or right is None:
                    return None
                made = left + right if op == "+" else left - right if op == "-" else left * right
                return made if len(made.terms) <= TERMS and self.is_whole(made, scope) else None
            case ir.Un("neg", "i64", a):
                inner = self.poly(a, scope)
                return -inner if inner is not None and self.is_whole(-inner, scope) else None
            case ir.Conv(src, "i64", ir.Var() | ir.Lit() as a) if src in INTS and src != "u64":
                return self.poly(a, scope)
        return None

    def is_whole(self, poly: Poly, scope: KnownHere) -> bool:
        """True if a polynomial of values provably fits in 64 bits, or is assumed to."""
        if not self.strict:
            return True
        low = high = 0
        for mono, coeff in poly.terms.items():
            least, most = self._ends(mono, scope)
            low += coeff * (least if coeff > 0 else most)
            high += coeff * (most if coeff > 0 else least)
        return low >= LOW and high <= HIGH

    def _ends(self, mono: Monomial, scope: KnownHere) -> tuple[int, int]:
        """Return the range of a product of names."""
        low = high = 1
        for name, power in mono:
            least, most = self._of_name(name, scope)
            for _ in range(power):
                corners = [a * b for a in (low, high) for b in (least, most)]
                low, high = min(corners), max(corners)
        if low >= 0 and high > LARGEST_SIZE:
            above = Poly.product(self._at_most(name) for name, power in mono for _ in range(power))
            if all(not one or scope.is_counted(one) for one in above.terms):
                high = min(high, LARGEST_SIZE * sum(above.terms.values()))
        return low, high

    def _at_most(self, name: Name) -> Poly:
        """Return a sum of products of sizes that bounds an index, or the name itself."""
        bound = self.ranges.get(name)
        if bound is None or not bound.names() <= self.natural | self.sizes:
            return Poly.var(name)
        found = Poly({mono: coeff for mono, coeff in bound.terms.items() if coeff > 0})
        inner = {one: self._at_most(one) for one in found.names() if one in self.ranges}
        return found.subst(inner) if inner else found

    def _of_name(self, name: Name, scope: KnownHere) -> tuple[int, int]:
        least, most = scope.ends(name)
        if name in self.natural:
            least = max(least, 0)
        if name in self.sizes:
            most = min(most, LARGEST_SIZE)
        bound = self.ranges.get(name)
        if bound is not None and bound.constant is not None:
            most = min(most, bound.constant - 1)
        elif bound is not None and bound.as_name is not None:
            most = min(most, self._of_name(bound.as_name, scope)[1] - 1)
        return least, most

    def number(self, se: ir.SE, scope: KnownHere) -> Poly:
        """Return the polynomial of an expression, or an unknown."""
        found = self.poly(se, scope)
        if found is None:
            self._unknown += 1
            found = Poly.var(f"?{self._unknown}")
        return found

    def define(self, name: Name, se: ir.SE, scope: KnownHere) -> None:
        """Record a scalar definition."""
        if (isinstance(se, ir.Bin) and se.op in _NEGATED) or isinstance(
            se, ir.Bin | ir.Un | ir.Var
        ):
            self.tests[name] = se
        found = self.poly(se, scope)
        if found is not None and found.names().isdisjoint((name,)):
            if len(found.terms) <= TERMS:
                self.defined[name] = found
            return
        it = Poly.var(name)
        match se:
            case ir.Bin("min" | "max" as op, at, a, b) if at in INTS and at != "u64":
                for side in (self.poly(a, scope), self.poly(b, scope)):
                    if side is not None:
                        scope.know(side - it if op == "min" else it - side)
            case ir.Bin("/" | "%" as op, at, a, ir.Lit(value)) if at in INTS and int(value) > 0:
                whole, by = self.poly(a, scope), int(value)
                if op == "%":
                    scope.know(it, by - 1 - it)
                elif whole is not None:
                    scope.know(whole - it * by, it * by + (by - 1) - whole)

    def holds(self, cond: ir.SE, scope: KnownHere, holds: bool = True) -> None:
        """Record the facts that a condition, or its negation, implies."""
        match cond:
            case ir.Var(name, _) if name in self.tests:
                if not scope.has_test(name, holds):
                    self.holds(self.tests[name], scope, holds)
                return
            case ir.Un("not", _, inner):
                self.holds(inner, scope, not holds)
                return
            case ir.Bin("&&" | "||" as op, _, a, b):
                if (op == "&&") == holds:
                    self.holds(a, scope, holds)
                    self.holds(b, scope, holds)
                    return
            case ir.Bin(op, at, a, b) if op in _NEGATED and at in INTS:
                left, right = self.poly(a, scope), self.poly(b, scope)
                op = op if holds else _NEGATED[op]
                if left is not None and right is not None and op != "!=":
                    scope.know(*_compared(op, left, right))
                    return
            case ir.Lit(value):
                if value != holds:
                    scope.know(NEVER)
                return
        names = frozenset(self.names(cond))
        for name in names:
            scope.conditions.setdefault(name, []).append(Condition(cond, holds, names))

    def names(self, se: ir.SE) -> set[Name]:
        """Return the names that an expression depends on."""
        found: list[Name] = []
        se_uses(se, found.append)
        names: set[Name] = set()
        for name in found:
            if name in self.defined:
                names |= self.defined[name].names()
            elif name in self.tests:
                if name not in self._behind:
                    self._behind[name] = frozenset(self.names(self.tests[name]))
                names |= self._behind[name]
            else:
                names.add(name)
        return names

    def meets(self, point: Point, conditions: Iterable[Condition]) -> bool:
        """True if conditions evaluate as required at a point; unknown values count as no."""
        told: dict[Name, int | bool] = {}
        try:
            return all(self.value(one.cond, point, told) == one.holds for one in conditions)
        except KeyError:
            return False

    def value(self, se: ir.SE, point: Point, told: dict[Name, int | bool]) -> int | bool:
        """Evaluate an expression; `told` caches names at the same point.

        Raises KeyError for an unknown value.
        """
        match se:
            case ir.Lit(value):
                return value if isinstance(value, bool) else int(value)
            case ir.Var(name) if name not in self.tests:
                return self.normal(Poly.var(name)).evaluate(point)
            case ir.Bin("+" | "-" | "*" as op, "i64", a, b):
                left, right = (int(self.value(side, point, told)) for side in (a, b))
                found = left + right if op == "+" else left - right if op == "-" else left * right
                if found < LOW or found > HIGH:
                    raise KeyError
                return found
            case ir.Un("neg", "i64", a):
                return -int(self.value(a, point, told))
            case ir.Conv(src, "i64", a) if src in INTS and src != "u64":
                return int(self.value(a, point, told))
            case ir.Var(name) if name in self.tests:
                if name not in told:
                    told[name] = self.value(self.tests[name], point, told)
                return told[name]
            case ir.Un("not", _, a):
                return not self.value(a, point, told)
            case ir.Bin("&&" | "||" as op, _, a, b):
                left, right = (bool(self.value(side, point, told)) for side in (a, b))
                return left and right if op == "&&" else left or right
            case ir.Bin(op, at, a, b) if op in _COMPARE and at in INTS:
                return bool(_COMPARE[op](*(self.value(side, point, told) for side in (a, b))))
        raise KeyError


_COMPARE = {
    "<": operator.lt,
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "==": operator.eq,
    "!=": operator.ne,
}
_NEGATED = {"<": ">=", ">=": "<", "<=": ">", ">": "<=", "==": "!=", "!=": "=="}


def _compared(op: str, a: Poly, b: Poly) -> tuple[Poly, ...]:
    match op:
        case "<":
            return (b - a - 1,)
        case "<=":
            return (b - a,)
        case ">":
            return (a - b - 1,)
        case ">=":
            return (a - b,)
    return (a - b, b - a)
