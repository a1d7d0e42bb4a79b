"""What is known about integers at a point of the program, to leave out checks that cannot fail.

Two kinds of names have a known range: sizes (not negative) and indices of loops and of maps over
`0..<n`. Conditions of branches and assertions add linear facts about such names; about others
nothing is believed, because their arithmetic may wrap around.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.base.names import Name
from compiler.base.prim import INTS
from compiler.ir.nodes import SE, Bin, Conv, Lit, Select, Un, Var
from compiler.ir.poly import Poly
from compiler.ir.sizes import poly_of

RECENT = 24
"""How many facts a proof tries."""
SMALL = 1 << 31
"""Coefficients and constants beyond this are not reasoned about."""
_NEGATED = {"<": ">=", "<=": ">", ">": "<=", ">=": "<", "==": "!=", "!=": "=="}


@dataclass(slots=True)
class _Mark:
    """Where a block began: how many facts there were, and what has been learnt since."""

    facts: int
    asserted: set[SE] = field(default_factory=set)
    sizes: set[Name] = field(default_factory=set)
    indices: list[Name] = field(default_factory=list)


class Facts:
    """Ranges, facts and assertions, by block."""

    def __init__(self) -> None:
        self.upper: dict[Name, Poly] = {}
        """Integer names that count from 0 up to, not including, this."""
        self.sizes: set[Name] = set()
        """Integer names that are not negative."""
        self.defined: dict[Name, Poly] = {}
        """i64 names that were bound to a polynomial of others."""
        self.least: list[Poly] = []
        """Polynomials that are at least 0."""
        self.asserted: set[SE] = set()
        self.meaning: dict[Name, SE] = {}
        """i64 names bound to something that is no polynomial."""
        self._marks: list[_Mark] = []

    def open(self) -> None:
        """Start a block: what is learnt in it is forgotten at its end."""
        self._marks.append(_Mark(len(self.least)))

    def close(self) -> None:
        """End a block."""
        mark = self._marks.pop()
        del self.least[mark.facts :]
        self.asserted -= mark.asserted
        self.sizes -= mark.sizes
        for name in mark.indices:
            del self.upper[name]

    # --- learning ----------------------------------------------------------------------------

    def is_known(self, cond: SE) -> bool:
        """Whether this very condition has been asserted."""
        return cond in self.asserted

    def assume(self, cond: SE) -> None:
        """An asserted condition holds from here on."""
        if cond not in self.asserted:
            self.asserted.add(cond)
            if self._marks:
                self._marks[-1].asserted.add(cond)
        self.learn(cond, True)

    def index(self, name: Name, size: Poly) -> None:
        """`0 <= name < size` in the current block."""
        if name not in self.upper:
            self.upper[name] = size
            if self._marks:
                self._marks[-1].indices.append(name)
            gap = size - 1 - Poly.var(name)
            if self._is_tame(gap):
                self.least.append(gap)

    def size(self, *names: Name) -> None:
        """The names are not negative in the current block."""
        new = set(names) - self.sizes
        self.sizes |= new
        if self._marks:
            self._marks[-1].sizes |= new

    def learn(self, cond: SE, holds: bool) -> None:
        """Facts that follow from a condition or its negation."""
        match cond:
            case Bin("&&", _, a, b) if holds:
                self.learn(a, True)
                self.learn(b, True)
            case Bin("||", _, a, b) if not holds:
                self.learn(a, False)
                self.learn(b, False)
            case Un("not", "bool", a):
                self.learn(a, not holds)
            case Bin("<" | "<=" | ">" | ">=" | "==" | "!=" as op, _, a, b):
                left, right = self.poly(a), self.poly(b)
                if left is not None and right is not None:
                    self._compare(op if holds else _NEGATED[op], left, right)

    def _compare(self, op: str, a: Poly, b: Poly) -> None:
        gap = b - a
        if not self._is_tame(gap):
            return
        match op:
            case "<":
                self.least.append(gap - 1)
            case "<=":
                self.least.append(gap)
            case ">":
                self.least.append(-gap - 1)
            case ">=":
                self.least.append(-gap)
            case "==":
                self.least += [gap, -gap]
            case "!=":
                if self.is_nonneg(gap):
                    self.least.append(gap - 1)
                elif self.is_nonneg(-gap):
                    self.least.append(-gap - 1)

    def poly(self, se: SE) -> Poly | None:
        """An integer expression as a polynomial of names, i64 or of known range."""
        inner = se.arg if isinstance(se, Conv) and se.dst == "i64" else se
        if isinstance(inner, Var) and self._is_ranged(inner.name):
            return Poly.var(inner.name)
        if isinstance(inner, Lit) and inner.prim in INTS:
            return Poly.const(int(inner.value))
        poly = poly_of(se)
        return None if poly is None else poly.subst(self.defined)

    def _is_tame(self, poly: Poly) -> bool:
        """Linear, with small coefficients, over names of known range."""
        for mono, coeff in poly.terms.items():
            if abs(coeff) > SMALL or len(mono) > 1:
                return False
            if mono and not self._is_ranged(mono[0][0]):
                return False
        return True

    def _is_ranged(self, name: Name) -> bool:
        return name in self.sizes or name in self.upper

    # --- proving -----------------------------------------------------------------------------

    def is_nonneg(self, poly: Poly) -> bool:
        """Whether `poly` is shown to be at least 0, by ranges and one fact."""
        if any(abs(coeff) > SMALL for coeff in poly.terms.values()):
            return False
        if self._by_range(poly):
            return True
        if not self.least or not self._is_tame(poly):
            return False
        return any(self._by_range(poly - fact) for fact in self.least[: -RECENT - 1 : -1])

    def _by_range(self, poly: Poly) -> bool:
        """Take each falling index at its largest; what is left must have no negative term."""
        for _ in range(4):
            worst: Name | None = None
            negative = False
            rising: set[Name] = set()
            for mono, coeff in poly.terms.items():
                names = [n for n, _ in mono]
                if not all(self._is_ranged(n) for n in names):
                    return False
                if coeff > 0:
                    rising.update(names)
                    continue
                negative = True
                if names:
                    worst = next((n for n in names if n in self.upper), None)
                    if worst is None:
                        return False
            if worst is None or worst in rising:
                return not negative
            poly = poly.subst({worst: self.upper[worst] - 1})
        return False

    def is_low(self, se: SE) -> bool:
        """Whether an index is shown not to be negative."""
        match self._meaning(se):
            case Bin("max", _, a, b):
                return self.is_low(a) or self.is_low(b)
            case Bin("min", _, a, b) | Select(_, a, b):
                return self.is_low(a) and self.is_low(b)
            case Bin("%", _, _, b):
                return self.is_low(b)
            case Bin("/", _, a, Lit(value)):
                return value > 0 and self.is_low(a)
        poly = self.poly(se)
        return poly is not None and self._is_tame(poly) and self.is_nonneg(poly)

    def is_high(self, se: SE, size: Poly) -> bool:
        """Whether an index is shown to be less than `size`."""
        match self._meaning(se):
            case Bin("min", _, a, b):
                return self.is_high(a, size) or self.is_high(b, size)
            case Bin("max", _, a, b) | Select(_, a, b):
                return self.is_high(a, size) and self.is_high(b, size)
            case Bin("%", _, _, b):
                divisor = self.poly(b)
                return divisor is not None and self.is_low(b) and self.is_nonneg(size - divisor)
        poly = self.poly(se)
        return poly is not None and self.is_nonneg(size - 1 - poly)

    def is_inside(self, se: SE, size: Poly) -> bool:
        """Whether an index is shown to lie in `0..<size`, be it by products of names."""
        poly = self.poly(se)
        if poly is None:
            return self.is_low(se) and self.is_high(se, size)
        return self.is_nonneg(poly) and self.is_nonneg(size - 1 - poly)

    def _meaning(self, se: SE) -> SE:
        return self.meaning.get(se.name, se) if isinstance(se, Var) else se
