"""Multivariate integer polynomials in normal form: sizes, strides, offsets.

A monomial is a sorted tuple of (name, power); a polynomial maps monomials to non-zero integers.
Values are immutable and hashable; equality is equality of functions over the integers.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.base.names import Name

Monomial = tuple[tuple[Name, int], ...]
ONE: Monomial = ()


class Poly:
    """A polynomial over names with integer coefficients. Operators accept ints on either side."""

    __slots__ = ("_hash", "terms")

    terms: dict[Monomial, int]

    def __init__(self, terms: dict[Monomial, int]) -> None:
        """`terms` must be in normal form and is not copied; use `const`, `var` and operators."""
        self.terms = terms
        self._hash: int | None = None

    @staticmethod
    def const(value: int) -> Poly:
        """The constant polynomial."""
        return Poly({ONE: value} if value else {})

    @staticmethod
    def var(name: Name) -> Poly:
        """The polynomial `name`."""
        return Poly({((name, 1),): 1})

    @staticmethod
    def of(value: PolyLike) -> Poly:
        """An int, a name or a polynomial as a polynomial."""
        if isinstance(value, Poly):
            return value
        return Poly.const(value) if isinstance(value, int) else Poly.var(value)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, int):
            other = Poly.const(other)
        return isinstance(other, Poly) and self.terms == other.terms

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash(frozenset(self.terms.items()))
        return self._hash

    def __add__(self, other: Poly | int) -> Poly:
        terms = dict(self.terms)
        for mono, coeff in Poly.of(other).terms.items():
            total = terms.get(mono, 0) + coeff
            if total:
                terms[mono] = total
            else:
                del terms[mono]
        return Poly(terms)

    __radd__ = __add__

    def __neg__(self) -> Poly:
        return Poly({mono: -coeff for mono, coeff in self.terms.items()})

    def __sub__(self, other: Poly | int) -> Poly:
        return self + -Poly.of(other)

    def __rsub__(self, other: int) -> Poly:
        return Poly.const(other) - self

    def __mul__(self, other: Poly | int) -> Poly:
        terms: dict[Monomial, int] = {}
        for m1, c1 in self.terms.items():
            for m2, c2 in Poly.of(other).terms.items():
                mono = _times(m1, m2)
                total = terms.get(mono, 0) + c1 * c2
                if total:
                    terms[mono] = total
                else:
                    terms.pop(mono, None)
        return Poly(terms)

    __rmul__ = __mul__

    def __pow__(self, power: int) -> Poly:
        result = Poly.const(1)
        for _ in range(power):
            result = result * self
        return result

    def __repr__(self) -> str:
        return f"Poly({self})"

    def __str__(self) -> str:
        """Such as `n*m + 2*n - 1`; reads back by the IR parser."""
        if not self.terms:
            return "0"
        parts: list[str] = []
        for mono, coeff in sorted(self.terms.items(), key=_display_order):
            factors = [name if power == 1 else f"{name}**{power}" for name, power in mono]
            if abs(coeff) != 1 or not factors:
                factors.insert(0, str(abs(coeff)))
            sign = "-" if coeff < 0 else "+"
            parts.append(f"{sign} {'*'.join(factors)}" if parts else f"{'-' if coeff < 0 else ''}{'*'.join(factors)}")
        return " ".join(parts)

    @property
    def constant(self) -> int | None:
        """The value of a constant polynomial, else None."""
        if not self.terms:
            return 0
        return self.terms.get(ONE) if len(self.terms) == 1 else None

    @property
    def as_name(self) -> Name | None:
        """The name, if the polynomial is a single variable."""
        if len(self.terms) == 1:
            ((mono, coeff),) = self.terms.items()
            if coeff == 1 and len(mono) == 1 and mono[0][1] == 1:
                return mono[0][0]
        return None

    def names(self) -> frozenset[Name]:
        """The variables that occur."""
        return frozenset(name for mono in self.terms for name, _ in mono)

    def subst(self, mapping: Mapping[Name, Poly]) -> Poly:
        """Replace variables by polynomials, all at once."""
        if not any(name in mapping for mono in self.terms for name, _ in mono):
            return self
        result = Poly({})
        for mono, coeff in self.terms.items():
            term = Poly.const(coeff)
            for name, power in mono:
                term = term * (mapping[name] if name in mapping else Poly.var(name)) ** power
            result = result + term
        return result

    def evaluate(self, env: Mapping[Name, int]) -> int:
        """The value under `env`, which must bind every name."""
        total = 0
        for mono, coeff in self.terms.items():
            for name, power in mono:
                coeff *= env[name] ** power
            total += coeff
        return total


PolyLike = Poly | int | Name


def _times(m1: Monomial, m2: Monomial) -> Monomial:
    if not m1 or not m2:
        return m1 or m2
    powers = dict(m1)
    for name, power in m2:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted(powers.items()))


def _display_order(item: tuple[Monomial, int]) -> tuple[int, Monomial]:
    mono, _ = item
    return (-sum(power for _, power in mono), mono)
