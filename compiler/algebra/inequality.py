"""Prove `p >= 0` from facts, with a certificate: a sum of products of facts.

Attempts, in this order: refute by sample points; match a fact; shift every name to its lower bound
and inspect the signs; eliminate a name, `p(x) = p(L) + (x - L) * Q`; subtract products of two
facts. The work is bounded: elimination alone could run for minutes.

For a multiple `s*p` of the claim, `s*p > -s` suffices, as the claim is an integer: `2*x - 1 >= 0`
gives `x - 1 >= 0`. The same holds for `p(L)`, but not for `Q`, which is multiplied.
"""

from __future__ import annotations

from math import lcm

from compiler.algebra.argument import Lemma
from compiler.algebra.certificate import Sum
from compiler.algebra.facts import Facts
from compiler.algebra.gate import follow
from compiler.algebra.poly import ONE, Poly
from compiler.base.names import Name

ELIMINATIONS = 60
WORK = 1500
"""Attempts at inequalities shared by all provers of one search."""
LARGEST = 40
"""Maximum number of terms of a polynomial."""
ON_THE_WAY = 4 * LARGEST
"""Maximum number of terms of an intermediate result, whose terms may cancel."""
DEGREE = 8

Terms = dict[tuple[Poly, ...], int]
_MARK = "\0"


class _Bounds:
    """A set of bounds with cached consequences."""

    __slots__ = ("_depths", "_linear", "_lower", "_shifted", "bounds")

    def __init__(self, bounds: tuple[Poly, ...]) -> None:
        self.bounds = _tightest(bounds)
        self._lower = _lower_bounds(self.bounds)
        self._depths = _depths(self._lower)
        self._linear: dict[Name, list[tuple[Poly, int]]] = {}
        self._shifted: dict[Poly, tuple[int, Terms] | None] = {}

    def linear(self, name: Name) -> list[tuple[Poly, int]]:
        """Return the bounds that are linear in a name with a constant slope, and the slope."""
        found = self._linear.get(name)
        if found is None:
            found = self._linear[name] = []
            for bound in self.bounds:
                slope = bound.coefficient(name).constant if bound.degree(name) == 1 else None
                if slope is not None:
                    found.append((bound, slope))
        return found

    def shift(self, p: Poly) -> tuple[int, Terms] | None:
        """Prove `p >= 0` by shifting names to lower bounds until no coefficient is negative."""
        if p not in self._shifted:
            found, chosen = self._shift_by(p, tightest=True)
            if found is None and chosen:
                found, _ = self._shift_by(p, tightest=False)
            self._shifted[p] = found
        return self._shifted[p]

    def _shift_by(self, p: Poly, *, tightest: bool) -> tuple[tuple[int, Terms] | None, bool]:
        """Shift by the tightest or loosest bounds; also says if there was a choice."""
        symbols: dict[Name, Poly] = {}
        done: set[Name] = set()
        chosen = False
        while True:
            open_names = [n for n in p.names() if n[0] != _MARK]
            if not open_names:
                break
            name = max(open_names, key=lambda n: (self._depths.get(n, 0), n))
            choices = self._lower.get(name, [])
            chosen = chosen or len(choices) > 1
            fact = next(
                (
                    f
                    for f in (choices if tightest else reversed(choices))
                    if not (f.names() - {name}) & done
                ),
                None,
            )
            if fact is None:
                return None, chosen
            done.add(name)
            symbol = f"{_MARK}{len(symbols)}"
            symbols[symbol] = fact
            value = Poly.var(symbol) + Poly.var(name) - fact
            shifted = p.subst_within({name: value}, ON_THE_WAY)
            if shifted is None or len(shifted.terms) > LARGEST:
                return None, chosen
            p = shifted
        if any(coefficient < 0 for coefficient in p.terms.values()):
            return None, chosen
        terms: Terms = {}
        for monomial, coefficient in p.terms.items():
            factors = tuple(symbols[name] for name, power in monomial for _ in range(power))
            terms[factors] = terms.get(factors, 0) + coefficient
        return (1, terms), chosen


class Prover:
    """Proves inequalities from one set of facts; `missing` is the last failure not refuted."""

    __slots__ = (
        "_at_points",
        "_bounds",
        "_failed",
        "_given",
        "_known",
        "_left",
        "_vain",
        "_work",
        "facts",
        "missing",
    )

    def __init__(
        self,
        facts: Facts,
        parent: Prover | None = None,
        alike: Prover | None = None,
        work: int = WORK,
    ) -> None:
        """`parent`: share its budget of attempts.

        `alike`: another prover of the same question, whose cached bounds are shared.
        """
        self.facts = facts
        self._given: int = work if parent is None else parent._given
        self._work: list[int] = [work] if parent is None else parent._work
        other = parent or alike
        self._known: dict[tuple[Poly, ...], _Bounds] = {} if other is None else other._known
        self._bounds: _Bounds | None = None
        self.missing: Poly | None = None
        self._failed: set[Poly] = set()
        self._left = 0
        self._vain: dict[tuple[Poly, int, bool], tuple[int, int]] = {}
        """Failed attempts, with the work and the eliminations that they took."""
        self._at_points: dict[Poly, list[int]] = {}

    @property
    def steps(self) -> int:
        """Number of inequalities attempted by this prover and those that share its budget."""
        return self._given - self._work[0]

    def nonnegative(self, claim: Poly) -> Sum | None:
        """Return a certificate of `claim >= 0`, or None."""
        claim = self.facts.normal(claim)
        if claim in self._failed:
            return None
        self._left = ELIMINATIONS
        found = self._prove(claim, 4, rounded=True)
        if found is None:
            self._failed.add(claim)
            if not self.facts.refutes(claim):
                self.missing = claim
            return None
        return _sum(claim, *found)

    def plainly(self, claim: Poly) -> Sum | None:
        """Return a certificate of `claim >= 0` found without elimination or products, or None."""
        claim = self.facts.normal(claim)
        found = self._prove(claim, 0, rounded=False)
        return None if found is None else _sum(claim, *found)

    def _prove(self, p: Poly, depth: int, *, rounded: bool) -> tuple[int, Terms] | None:
        """Return a scale and terms, or None; `rounded`: the sum may exceed by under the scale."""
        constant = p.constant
        if constant is not None:
            return (1, {(): constant} if constant else {}) if constant >= 0 else None
        self._work[0] -= 1
        if self._work[0] < 0 or len(p.terms) > LARGEST or self.facts.refutes(p):
            return None
        vain = self._vain.get((p, depth, rounded))
        if vain is not None and vain[0] <= self._work[0] and vain[1] < self._left:
            self._work[0] -= vain[0]
            self._left -= vain[1]
            return None
        work, left = self._work[0], self._left
        found = self._read_off(p) or self._of_bounds().shift(p)
        if found is None and depth > 0:
            found = self._eliminate(p, depth, rounded) or self._products(p, depth, rounded)
        if found is None and self._work[0] >= 0 and self._left > 0:
            self._vain[p, depth, rounded] = work - self._work[0], left - self._left
        return found

    def _read_off(self, p: Poly) -> tuple[int, Terms] | None:
        """Prove `p` as a fact plus a natural number."""
        for fact in self.facts.bounds:
            difference = (p - fact).constant
            if difference is not None and difference >= 0:
                return 1, {(fact,): 1, **({(): difference} if difference else {})}
        return None

    def _of_bounds(self) -> _Bounds:
        """Return the cached consequences of the bounds; most provers never ask."""
        if self._bounds is None:
            bounds = self.facts.bounds
            if bounds not in self._known:
                self._known[bounds] = _Bounds(bounds)
            self._bounds = self._known[bounds]
        return self._bounds

    def _eliminate(self, p: Poly, depth: int, rounded: bool) -> tuple[int, Terms] | None:
        for name in sorted(p.names(), key=lambda n: (p.degree(n), n)):
            if p.degree(name) > DEGREE:
                continue
            for fact, slope in self._of_bounds().linear(name):
                if self._left <= 0:
                    return None
                found = self._at_bound(p, name, fact, slope, depth, rounded)
                if found is not None:
                    return found
        return None

    def _at_bound(
        self, p: Poly, name: Name, fact: Poly, slope: int, depth: int, rounded: bool
    ) -> tuple[int, Terms] | None:
        """Prove `p` from its value where `fact` is 0 and its growth from there."""
        if abs(slope) == 1:
            if self._fails_at_bound(p, name, fact, slope):
                return None
            edge = (Poly.var(name) * slope - fact) * slope
            growth = _quotient(p, name, edge) * slope
            at_edge, scale = p.subst({name: edge}), 1
        else:
            if p.degree(name) != 1:
                return None
            scale = abs(slope)
            growth = p.coefficient(name) * (1 if slope > 0 else -1)
            at_edge = p * scale - growth * fact + (scale - 1 if rounded else 0)
        if self.facts.refutes(growth) or self.facts.refutes(at_edge):
            return None
        self._left -= 1
        first = self._prove(at_edge, depth - 1, rounded=rounded)
        if first is None:
            return None
        second = self._prove(growth, depth - 1, rounded=False)
        if second is None:
            return None
        return _combine(first, second, fact, scale)

    def _fails_at_bound(self, p: Poly, name: Name, fact: Poly, slope: int) -> bool:
        """True if a sample point refutes the remainder of `p` before that is computed.

        Where `fact` is 0 the name is `slope * fact` less; what `p` loses on the way is `fact` times
        its growth.
        """
        try:
            for point, value, gap in zip(
                self.facts.points, self._values(p), self._values(fact), strict=True
            ):
                at_edge = p.evaluate({**point, name: point[name] - slope * gap}) if gap else value
                if at_edge < 0 or (gap and value < at_edge):
                    return True
        except KeyError:
            pass
        return False

    def _values(self, p: Poly) -> list[int]:
        """Return the values of `p` at the points. Raises KeyError."""
        found = self._at_points.get(p)
        if found is None:
            found = self._at_points[p] = [p.evaluate(point) for point in self.facts.points]
        return found

    def _products(self, p: Poly, depth: int, rounded: bool) -> tuple[int, Terms] | None:
        """Subtract a product of two facts that takes away a monomial of the highest degree."""
        names = p.names()
        degree = max(_degree(m) for m in p.terms)
        if degree < 2:
            return None
        useful = [f for f in self.facts.bounds if f.names() <= names]
        for i, left in enumerate(useful):
            for right in useful[i:]:
                if self._left <= 0:
                    return None
                product = left * right
                if not any(_degree(m) == degree and m in p.terms for m in product.terms):
                    continue
                rest = p - product
                if len(rest.terms) > len(p.terms) or self.facts.refutes(rest):
                    continue
                self._left -= 1
                found = self._prove(rest, depth - 2, rounded=rounded)
                if found is not None:
                    scale, terms = found
                    key = (left, right)
                    return scale, {**terms, key: terms.get(key, 0) + scale}
        return None


def prove_inequality(prover: Prover, claim: Poly) -> Lemma | None:
    """Prove `claim >= 0` and return the line if the checker accepts it."""
    found = prover.nonnegative(claim)
    if found is None:
        return None
    used = dict.fromkeys(factor for _, factors in found.terms for factor in factors)
    if not all(factor in prover.facts.bounds for factor in used):
        return None
    premises = tuple([prover.facts.line(factor) for factor in used])
    line = Lemma(prover.facts.normal(claim), found, premises, 0)
    return line if follow((line,)) else None


def _tightest(bounds: tuple[Poly, ...]) -> tuple[Poly, ...]:
    """Keep the strongest of bounds that differ by a constant."""
    found: dict[Poly, Poly] = {}
    for bound in bounds:
        rest = bound - bound.terms.get(ONE, 0)
        other = found.get(rest)
        if other is None or bound.terms.get(ONE, 0) < other.terms.get(ONE, 0):
            found[rest] = bound
    return tuple(found.values())


def _lower_bounds(bounds: tuple[Poly, ...]) -> dict[Name, list[Poly]]:
    """Return facts of the form `name - L`, by name; those with the most names first."""
    found: dict[Name, list[Poly]] = {}
    for fact in sorted(bounds, key=lambda f: (-len(f.names()), len(f.terms))):
        for name in fact.names():
            if fact.degree(name) == 1 and fact.coefficient(name).constant == 1:
                found.setdefault(name, []).append(fact)
    return found


def _depths(lower: dict[Name, list[Poly]]) -> dict[Name, int]:
    """Return each name's height in the order that lower bounds give: `q` above `i` if `q > i`."""
    depth = dict.fromkeys(lower, 1)
    for _ in range(len(lower)):
        before = dict(depth)
        for name, found in lower.items():
            lower_depths = [before.get(n, 0) for f in found for n in f.names() if n != name]
            depth[name] = min(len(lower) + 1, 1 + max(lower_depths, default=0))
        if depth == before:
            break
    return depth


def _quotient(p: Poly, name: Name, edge: Poly) -> Poly:
    """`(p - p(edge)) / (name - edge)`."""
    x = Poly.var(name)
    total = Poly.const(0)
    for power in range(1, p.degree(name) + 1):
        inner = Poly.const(0)
        for k in range(power):
            inner = inner + x**k * edge ** (power - 1 - k)
        total = total + p.coefficient(name, power) * inner
    return total


def _combine(
    first: tuple[int, Terms], second: tuple[int, Terms], fact: Poly, scale: int
) -> tuple[int, Terms]:
    """Return `scale*p = first + fact * second` over a common scale."""
    common = lcm(first[0], second[0])
    terms: Terms = {key: c * (common // first[0]) for key, c in first[1].items()}
    for key, c in second[1].items():
        product = (*key, fact)
        terms[product] = terms.get(product, 0) + c * (common // second[0])
    return common * scale, terms


def _degree(monomial: tuple[tuple[Name, int], ...]) -> int:
    return 0 if monomial is ONE else sum(power for _, power in monomial)


def _sum(claim: Poly, scale: int, terms: Terms) -> Sum:
    """Return the certificate with the least rounding."""
    found = Sum(claim, scale, tuple((c, factors) for factors, c in terms.items()))
    spare = min(terms.get((), 0), found.rounded) if scale > 1 else 0
    if not spare:
        return found
    less: Terms = {**terms, (): terms[()] - spare}
    return Sum(claim, scale, tuple((c, factors) for factors, c in less.items() if c))
