"""Derive facts about quotients, with the lines that prove them.

A quotient `a // b`, rounded down, is a name of its own. Facts about it need the sign of `b`: `0 <=
a - b*q <= b - 1` for a positive one, and `a // b` is `(-a) // (-b)`. Its bounds follow by rules of
the checker (`docs/certificates.md`); nothing else is assumed. Where `a` is a name plus a constant,
the name is replaced by `b*q + r`, with the remainder `r`: then `i // b` and `i` combine in sums.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from compiler.algebra.argument import Deduction, Lemma, Source
from compiler.algebra.divide import divide, exact, size
from compiler.algebra.facts import Facts, solve
from compiler.algebra.inequality import Prover, prove_inequality
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name

ZERO = Poly.const(0)


@dataclass(frozen=True, slots=True)
class Quotient:
    """A name that stands for `dividend // divisor`, rounded down."""

    name: Name
    dividend: Poly
    divisor: Poly


Operation = tuple[str, Poly, Poly]
"""`//` or `%`, and its operands."""


class UnknownSign(Exception):
    """The sign of a divisor is unknown."""

    def __init__(self, quotient: Quotient) -> None:
        super().__init__(quotient)
        self.quotient = quotient


@dataclass(frozen=True, slots=True)
class Stated:
    """Statements about names: bounds, equalities, quotients, and sizes of non-empty sets."""

    bounds: tuple[Poly, ...]
    equalities: tuple[tuple[Name, Poly], ...]
    quotients: tuple[Quotient, ...]
    names: tuple[Name, ...] = ()
    sizes: tuple[Poly, ...] = ()
    """Each size minus one, natural where the sets are non-empty."""

    def facts(self, lines: Mapping[Poly, Lemma] | None = None) -> Facts:
        """Return the facts; those about quotients are the proved `lines`."""
        more = lines or {}
        return Facts.of((*self.bounds, *more), dict(self.equalities), self.names, more)

    def guide(self) -> Facts:
        """Return facts that assume positive divisors: for sample points, not for proofs."""
        more: list[Poly] = []
        for one in self.quotients:
            sign = -1 if (one.divisor.constant or 0) < 0 else 1
            rest = (one.dividend - one.divisor * Poly.var(one.name)) * sign
            more += [one.divisor * sign - 1, rest, one.divisor * sign - 1 - rest]
        return Facts.of((*self.bounds, *more), dict(self.equalities), self.names)

    def with_quotients(self) -> Iterator[tuple[Facts, Mapping[Name, Operation]]]:
        """Yield facts, with the operations that new names stand for. Raises UnknownSign.

        First with names replaced by quotients and remainders, if any.
        """
        split = _Split(self)
        found = split.result()
        if found is not self:
            with suppress(UnknownSign):
                yield _known(found), split.fresh
        yield _known(self), {}


def _known(stated: Stated) -> Facts:
    """Return the facts with those derived for each quotient, in order. Raises UnknownSign."""
    lines: dict[Poly, Lemma] = {}
    for at, quotient in enumerate(stated.quotients):
        facts = stated.facts(lines)
        one = _Known(quotient, facts, stated.sizes)
        for line in one.lines(stated.quotients[:at]):
            if line.claim.constant is None:
                lines.setdefault(line.claim, line)
    return stated.facts(lines)


class _Known:
    """Derives facts about one quotient."""

    def __init__(self, quotient: Quotient, facts: Facts, sizes: Iterable[Poly]) -> None:
        """Determine the sign of the divisor. Raises UnknownSign."""
        known = facts.with_bounds(*map(facts.normal, sizes))
        self.facts = replace(known, lines=facts.lines)
        self.prover = Prover(self.facts)
        self.quotient = quotient
        a, b = facts.normal(quotient.dividend), facts.normal(quotient.divisor)
        self.x = facts.normal(Poly.var(quotient.name))
        sign, self.positive = self._sign(quotient, a, b)
        self.a, self.b = a * sign, b * sign
        self.source = self._source(quotient, self.a, self.b)

    def _source(self, quotient: Quotient, a: Poly, b: Poly) -> Source:
        return Source("atom", (quotient.name, "/", a, b, self.x))

    def _sign(self, quotient: Quotient, a: Poly, b: Poly) -> tuple[int, tuple[Lemma, ...]]:
        """Return the sign that makes the divisor positive, with the lines that prove it."""
        if b.constant:
            return (1 if b.constant > 0 else -1), ()
        for sign in (1, -1):
            line = prove_inequality(self.prover, b * sign - 1)
            if line is not None:
                return sign, (line,)
        for sign in (1, -1):  # the divisor is not 0
            line = prove_inequality(self.prover, b * sign)
            if line is not None:
                because = Deduction("divisor", (self._source(quotient, a * sign, b * sign),))
                return sign, (Lemma(b * sign - 1, because, _premises(line), 0),)
        raise UnknownSign(quotient)

    def lines(self, others: Sequence[Quotient]) -> list[Lemma]:
        """Prove that the divisor is positive, and bound the remainder and the quotient."""
        rest = self.a - self.b * self.x
        found = list(self.positive)
        for claim in (rest, self.b - 1 - rest):
            found.append(Lemma(claim, Deduction("quotient", (self.source,)), self.positive, 0))
        found += self._between()
        for other in others:
            found += self._beside(other)
        return found

    def _between(self) -> list[Lemma]:
        """Bound the quotient from below and above, guided by points and bounds of the dividend."""
        values: list[int] = []
        for point in self.facts.points:
            try:
                values.append(self.a.evaluate(point) // max(1, self.b.evaluate(point)))
            except KeyError:
                break
        low, high = min(values, default=0), max(values, default=-1)
        numbers = [(1, Poly.const(low)), (1, ZERO), (-1, Poly.const(high)), (-1, Poly.const(-1))]
        found = self._first(numbers)
        for bound in self.facts.bounds:
            for side, end in ((1, self.a - bound), (-1, self.a + bound)):
                multiple, _ = divide(end, self.b)
                if multiple.names() and not end.names() & (self.a.names() - self.b.names()):
                    found += self._first([(side, multiple + more) for more in (side, 0, -side)])
        return found

    def _beside(self, other: Quotient) -> list[Lemma]:
        """Compare it with another quotient by the same divisor, or a multiple of it."""
        x, a, b = (
            self.facts.normal(p) for p in (Poly.var(other.name), other.dividend, other.divisor)
        )
        if a == self.a and b != self.b and (factor := exact(b, self.b)) is not None:
            return self._first([(1, factor * x), (-1, factor * x + factor - 1)])
        if b != self.b:
            return []
        gap = self.quotient.dividend - other.dividend
        sides: list[tuple[int, Poly]] = []
        for end in (*self._ends(gap), gap):
            more, _ = divide(end, b)
            sides += [(1, x + more), (-1, x + more)]
        return self._first([*sides, (1, x), (-1, x)])

    def _ends(self, gap: Poly) -> list[Poly]:
        """Return the gap between two dividends at the extremes of a name that facts allow."""
        found: list[Poly] = []
        for bound in self.facts.bounds:
            for name in sorted(bound.names() & gap.names()) if len(bound.names()) > 1 else ():
                slope = bound.coefficient(name).constant if bound.degree(name) == 1 else None
                if slope in (1, -1):
                    found.append(gap.subst({name: Poly.var(name) - bound * slope}))
        return found

    def _first(self, limits: Iterable[tuple[int, Poly]]) -> list[Lemma]:
        """Return for each side the first limit that can be proved."""
        found: dict[int, Lemma] = {}
        for side, limit in dict.fromkeys(limits):
            if side not in found and limit != self.x:
                line = self._floor(side, limit)
                if line is not None:
                    found[side] = line
        return list(found.values())

    def _floor(self, side: int, limit: Poly) -> Lemma | None:
        """Prove the quotient not below (above, for -1) a limit."""
        multiple = self.b * limit
        need = self.a - multiple if side == 1 else multiple + self.b - 1 - self.a
        line = prove_inequality(self.prover, need)
        if line is None:
            return None
        because = Deduction("floor", (self.source, side))
        premises = (*self.positive, *_premises(line))
        return Lemma((self.x - limit) * side, because, premises, 0)


def _premises(line: Lemma) -> tuple[Lemma, ...]:
    """Return a line as premises; constants need none."""
    return () if line.claim.constant is not None else (line,)


class _Split:
    """Replace names by `divisor*quotient + remainder` where possible.

    Dividends are divided as well: `(b*k + r) // b` is `k + r // b`.
    """

    def __init__(self, stated: Stated) -> None:
        self.stated = stated
        self.equal = list(stated.equalities)
        self.quotients: list[Quotient] = []
        self.fresh: dict[Name, Operation] = {}
        self._remainders: list[tuple[Poly, Poly]] = []
        self._by_parts: dict[tuple[Poly, Poly], Poly] = {}

    def result(self) -> Stated:
        """Return the new statements; the same object if nothing was replaced."""
        for quotient in _coarse_first(self.stated.quotients):
            self._add(quotient)
        if len(self.equal) == len(self.stated.equalities):
            return self.stated
        return replace(
            self.stated,
            equalities=tuple(self.equal),
            quotients=tuple(self.quotients),
            names=(*self.stated.names, *self.fresh),
        )

    def _add(self, quotient: Quotient) -> None:
        solved = solve(self.equal)
        a, b = quotient.dividend.subst(solved), quotient.divisor.subst(solved)
        parts, left = _divided(a, b)
        if parts.terms:
            self._equate(quotient.name, parts + self._quotient(left, b))
            return
        self.quotients.append(Quotient(quotient.name, a, b))
        x = Poly.var(quotient.name)
        self._by_parts[a, b] = x
        for part, modulus in self._remainders:  # `x` is below the quotient of the modulus
            below = exact(modulus, b) if part == a else None
            if below is not None:
                self._by_parts[x, below] = ZERO
        name = _alone(a, b)
        if name is not None and name not in Poly.var(quotient.name).subst(solved).names():
            remainder = self._new("%", a, b)
            self._by_parts[Poly.var(remainder), b] = ZERO
            self._remainders.append((Poly.var(remainder), b))
            slope = a.coefficient(name)
            whole = b * Poly.var(quotient.name) + Poly.var(remainder)
            self._equate(name, (whole - (a - slope * Poly.var(name))) * slope)

    def _quotient(self, a: Poly, b: Poly) -> Poly:
        """Return `a // b` for the remaining dividend."""
        if not a.terms:
            return a
        found = self._by_parts.get((a, b))
        if found is None:
            name = self._new("//", a, b)
            self._add(Quotient(name, a, b))
            found = Poly.var(name)
        return found

    def _new(self, op: str, a: Poly, b: Poly) -> Name:
        """Name a quotient or remainder that the problem does not mention."""
        name = f"({spelt(a)}{op}{spelt(b)})"
        self.fresh[name] = op, a, b
        return name

    def _equate(self, name: Name, value: Poly) -> None:
        self.equal.append((name, value))


def _divided(a: Poly, b: Poly) -> tuple[Poly, Poly]:
    """Divide `a` by `b`; the constant is rounded towards zero, like coefficients."""
    parts, left = divide(a, b)
    if parts.terms.get((), 0) < 0 and left.terms.get((), 0):
        parts, left = parts + 1, left - b
    return parts, left


def _coarse_first(quotients: Sequence[Quotient]) -> list[Quotient]:
    """Sort quotients of equal dividend by divisor, largest first: the others follow from it."""
    groups: dict[Poly, list[Quotient]] = {}
    for quotient in quotients:
        groups.setdefault(quotient.dividend, []).append(quotient)
    return [
        quotient
        for group in groups.values()
        for quotient in sorted(group, key=lambda q: size(q.divisor), reverse=True)
    ]


def _alone(a: Poly, b: Poly) -> Name | None:
    """Return the name if a dividend is that name plus a constant and the divisor lacks it."""
    names = a.names() - b.names()
    if len(a.names()) != 1 or len(names) != 1:
        return None
    (name,) = names
    slope = a.coefficient(name).constant if a.degree(name) == 1 else None
    return name if slope in (1, -1) else None


def spelt(poly: Poly) -> str:
    """Format an operand, in parentheses unless it is a name or a natural constant."""
    is_bare = poly.as_name is not None or (poly.constant is not None and poly.constant >= 0)
    return str(poly) if is_bare else f"({poly})"
