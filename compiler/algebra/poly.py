"""Multivariate integer polynomials in normal form, for sizes, strides and offsets.

A monomial is a sorted tuple of (name, power); a polynomial maps monomials to nonzero integers.
Values are immutable and hashable; equality is equality of functions over the integers. Most
polynomials of a program are constants or single names: these have fast paths and are interned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from compiler.base.names import Name

Monomial = tuple[tuple[Name, int], ...]
ONE: Monomial = ()

_CACHED_VARS = 2048
_VARS: dict[Name, Poly] = {}


class Poly:
    """A polynomial over names with integer coefficients. Operators accept ints on either side."""

    __slots__ = ("_hash", "_names", "terms")

    terms: dict[Monomial, int]

    def __init__(self, terms: dict[Monomial, int]) -> None:
        """`terms` must be in normal form and is not copied; use `const`, `var` and operators."""
        self.terms = terms
        self._hash: int | None = None
        self._names: frozenset[Name] | None = None

    @staticmethod
    def const(value: int) -> Poly:
        """Return the constant polynomial."""
        if 0 <= value < len(_SMALL):
            return _SMALL[value]
        return Poly({ONE: int(value)})

    @staticmethod
    def var(name: Name) -> Poly:
        """Return the polynomial `name`."""
        found = _VARS.get(name)
        if found is None:
            if len(_VARS) >= _CACHED_VARS:
                _VARS.clear()
            found = _VARS[name] = Poly({((name, 1),): 1})
        return found

    @staticmethod
    def of(value: PolyLike) -> Poly:
        """Convert an int, a name or a polynomial to a polynomial."""
        if isinstance(value, Poly):
            return value
        return Poly.const(value) if isinstance(value, int) else Poly.var(value)

    @staticmethod
    def product(factors: Iterable[Poly]) -> Poly:
        """Return the product of all factors; 1 for none."""
        result = _SMALL[1]
        for factor in factors:
            result = result * factor
        return result

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, Poly):
            return self.terms == other.terms
        return isinstance(other, int) and self.constant == other

    def __hash__(self) -> int:
        found = self._hash
        if found is None:
            value = self.constant
            found = hash(frozenset(self.terms.items()) if value is None else value)
            self._hash = found
        return found

    def __reduce__(self) -> tuple[type[Poly], tuple[dict[Monomial, int]]]:
        return (Poly, (self.terms,))

    def __add__(self, other: Poly | int) -> Poly:
        if not isinstance(other, Poly):
            return self._plus(other)
        if not other.terms:
            return self
        if not self.terms:
            return other
        terms = dict(self.terms)
        for mono, coeff in other.terms.items():
            total = terms.get(mono, 0) + coeff
            if total:
                terms[mono] = total
            else:
                del terms[mono]
        return Poly(terms)

    __radd__ = __add__

    def plus(self, others: Iterable[Poly]) -> Poly:
        """Return the sum of this and all others."""
        terms = dict(self.terms)
        for other in others:
            for mono, coeff in other.terms.items():
                total = terms.get(mono, 0) + coeff
                if total:
                    terms[mono] = total
                else:
                    del terms[mono]
        return Poly(terms)

    def __neg__(self) -> Poly:
        return Poly({mono: -coeff for mono, coeff in self.terms.items()}) if self.terms else self

    def __sub__(self, other: Poly | int) -> Poly:
        if not isinstance(other, Poly):
            return self._plus(-other)
        if not other.terms:
            return self
        terms = dict(self.terms)
        for mono, coeff in other.terms.items():
            total = terms.get(mono, 0) - coeff
            if total:
                terms[mono] = total
            else:
                del terms[mono]
        return Poly(terms)

    def _plus(self, number: int) -> Poly:
        if not number:
            return self
        terms = dict(self.terms)
        total = terms.get(ONE, 0) + number
        if total:
            terms[ONE] = total
        else:
            del terms[ONE]
        return Poly(terms)

    def __rsub__(self, other: int) -> Poly:
        return Poly.const(other) - self

    def __mul__(self, other: Poly | int) -> Poly:
        if not isinstance(other, Poly):
            return self._scaled(other)
        if len(self.terms) <= 1 and (value := self.constant) is not None:
            return other._scaled(value)
        if len(other.terms) <= 1 and (value := other.constant) is not None:
            return self._scaled(value)
        terms: dict[Monomial, int] = {}
        for m1, c1 in self.terms.items():
            for m2, c2 in other.terms.items():
                mono = _times(m1, m2)
                total = terms.get(mono, 0) + c1 * c2
                if total:
                    terms[mono] = total
                else:
                    del terms[mono]
        return Poly(terms)

    __rmul__ = __mul__

    def times(self, other: Poly) -> Poly | None:
        """Return the product, or None if it may have more than `MOST_OF_PRODUCT` terms.

        `(a + 1) * (b + 1) * ..` doubles with each factor. A single term multiplies any linear sum.
        """
        few, many = sorted((self, other), key=lambda poly: len(poly.terms))
        if len(few.terms) * len(many.terms) <= MOST_OF_PRODUCT or few.constant is not None:
            return self * other
        return self * other if len(few.terms) == 1 and many.is_linear else None

    @property
    def is_linear(self) -> bool:
        """True for a linear combination of names and a constant."""
        return all(not mono or (len(mono) == 1 and mono[0][1] == 1) for mono in self.terms)

    def _scaled(self, factor: int) -> Poly:
        if factor == 1:
            return self
        if factor == 0:
            return _SMALL[0]
        return Poly({mono: coeff * factor for mono, coeff in self.terms.items()})

    def __pow__(self, power: int) -> Poly:
        result = _SMALL[1]
        for _ in range(power):
            result = result * self
        return result

    def over(self, divisor: int) -> Poly | None:
        """Return the quotient by an integer that divides all coefficients, else None."""
        if any(coeff % divisor for coeff in self.terms.values()):
            return None
        return Poly({mono: coeff // divisor for mono, coeff in self.terms.items()})

    def __repr__(self) -> str:
        return f"Poly({self})"

    def __str__(self) -> str:
        """Format as `n*m + 2*n - 1`, which the IR parser reads back."""
        only = self.as_name
        return self.show(str) if only is None else only

    def show(self, spell: Callable[[Name], str]) -> str:
        """Format with names spelt by `spell`."""
        number = self.constant
        if number is not None:
            return str(number)
        only = self.as_name
        if only is not None:
            return spell(only)
        parts: list[str] = []
        for mono, coeff in self.in_order():
            spelt = [(spell(name), power) for name, power in mono]
            factors = [name if power == 1 else f"{name}**{power}" for name, power in spelt]
            if abs(coeff) != 1 or not factors:
                factors.insert(0, str(abs(coeff)))
            sign = "-" if coeff < 0 else ""
            separator = f"{sign or '+'} " if parts else sign
            parts.append(separator + "*".join(factors))
        return " ".join(parts)

    def in_order(self) -> list[tuple[Monomial, int]]:
        """Return the terms in display order: highest degree first."""
        return sorted(self.terms.items(), key=_display_order)

    @property
    def constant(self) -> int | None:
        """The value of a constant polynomial, else None."""
        terms = self.terms
        if len(terms) > 1:
            return None
        return terms.get(ONE) if terms else 0

    @property
    def as_name(self) -> Name | None:
        """The name, if the polynomial is a single variable."""
        terms = self.terms
        if len(terms) == 1:
            for mono in terms:
                if len(mono) == 1 and mono[0][1] == 1 and terms[mono] == 1:
                    return mono[0][0]
        return None

    def names(self) -> frozenset[Name]:
        """Return the variables that occur."""
        found = self._names
        if found is None:
            found = frozenset(name for mono in self.terms for name, _ in mono)
            self._names = found
        return found

    def degree(self, name: Name) -> int:
        """Return the highest power of `name`."""
        powers = (power for mono in self.terms for other, power in mono if other == name)
        return max(powers, default=0)

    def coefficient(self, name: Name, power: int = 1) -> Poly:
        """Return the coefficient of `name**power`, a polynomial in the other names."""
        terms: dict[Monomial, int] = {}
        for mono, coeff in self.terms.items():
            if dict(mono).get(name, 0) == power:
                terms[tuple(factor for factor in mono if factor[0] != name)] = coeff
        return Poly(terms)

    def subst(self, mapping: Mapping[Name, Poly]) -> Poly:
        """Substitute polynomials for variables, simultaneously."""
        if not any(name in mapping for name in self.names()):
            return self
        found = self.subst_within(mapping, None)
        assert found is not None
        return found

    def subst_within(self, mapping: Mapping[Name, Poly], most: int | None) -> Poly | None:
        """Substitute simultaneously; None if an intermediate result has more than `most` terms."""
        terms: dict[Monomial, int] = {}
        powers: dict[Name, list[Poly]] = {}
        for mono, coeff in self.terms.items():
            factor: Poly | None = None
            rest = mono
            for part in mono:
                value = mapping.get(part[0])
                if value is not None:
                    if part[1] != 1:
                        # Compute powers incrementally: often all powers of a name occur.
                        known = powers.setdefault(part[0], [value])
                        while len(known) < part[1]:
                            known.append(known[-1] * value)
                            if most is not None and len(known[-1].terms) > most:
                                return None
                        value = known[part[1] - 1]
                    factor = value if factor is None else factor * value
                    rest = tuple([other for other in rest if other is not part])
            for other, times in factor.terms.items() if factor is not None else _ALONE:
                product = _times(rest, other)
                total = terms.get(product, 0) + coeff * times
                if total:
                    terms[product] = total
                else:
                    del terms[product]
            if most is not None and len(terms) > most:
                return None
        return Poly(terms)

    def terms_after(self, mapping: Mapping[Name, Poly]) -> int:
        """Return an upper bound for the number of terms after `subst`."""
        total = 0
        for mono in self.terms:
            count = 1
            for name, power in mono:
                value = mapping.get(name)
                count *= 1 if value is None else len(value.terms) ** power
            total += count
        return total

    def put_in(self, definitions: Mapping[Name, Poly], most: int | None = None) -> Poly:
        """Substitute definitions, or none if the result may have too many terms.

        With `j = k*k + 1` after `k = i*i + 1`, and so on, their number is squared each time.
        """
        most = MOST_TERMS if most is None else most
        return self.subst(definitions) if self.terms_after(definitions) <= most else self

    def renamed(self, names: Mapping[Name, Name]) -> Poly:
        """Rename variables; `names` preserves their order."""
        return Poly(
            {
                tuple([(names.get(name, name), power) for name, power in mono]): coeff
                for mono, coeff in self.terms.items()
            }
        )

    def evaluate(self, env: Mapping[Name, int]) -> int:
        """Return the value under `env`, which must bind every name."""
        total = 0
        for mono, coeff in self.terms.items():
            for name, power in mono:
                coeff *= env[name] if power == 1 else env[name] ** power
            total += coeff
        return total


PolyLike = Poly | int | Name

MOST_TERMS = 128
"""Limit of terms after substitution."""
MOST_UNFOLDED = 256
"""Limit of terms after substitution of definitions of at most 24 terms."""
MOST_OF_PRODUCT = 32
"""Limit of terms of a product of sums."""

_ALONE = ((ONE, 1),)
_SMALL: tuple[Poly, ...] = tuple(Poly({ONE: value} if value else {}) for value in range(257))


def _times(m1: Monomial, m2: Monomial) -> Monomial:
    if not m1 or not m2:
        return m1 or m2
    if len(m1) == 1 and len(m2) == 1:
        (name1, power1), (name2, power2) = m1[0], m2[0]
        if name1 == name2:
            return ((name1, power1 + power2),)
        return m1 + m2 if name1 < name2 else m2 + m1
    powers = dict(m1)
    for name, power in m2:
        powers[name] = powers.get(name, 0) + power
    return tuple(sorted(powers.items()))


def _display_order(item: tuple[Monomial, int]) -> tuple[int, Monomial]:
    mono, _ = item
    return (-sum(power for _, power in mono), mono)
