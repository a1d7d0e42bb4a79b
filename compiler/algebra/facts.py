"""Assumptions: polynomials that are not negative, and equalities used as substitutions.

Facts carry sample points that satisfy all of them. Most claims that a prover is asked about are
false, and a counterexample among the points refutes them in microseconds.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field

from compiler.algebra.argument import Lemma, Source
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name

POINTS = 16
TRIES = 60
_REMEMBERED = 256
_LARGEST = 1 << 256
"""Bound of sample values: a chain of powers soon exceeds any usable number."""
_STEPS = (0, 0, 0, 1, 1, 2, 3, 5, 9)

Point = dict[Name, int]


@dataclass(frozen=True, slots=True)
class Facts:
    """Facts `bounds >= 0` over names that no equality defines.

    `points` satisfy all bounds; they also bind names without a bound if those were listed. Few or
    no points may mean that the facts are contradictory.

    `sources` are the bounds and `given` the equalities as they were stated, for certificates. An
    equality that defines a name by itself is kept as two bounds.
    """

    bounds: tuple[Poly, ...]
    equalities: Mapping[Name, Poly] = field(default_factory=dict)
    points: tuple[Point, ...] = ()
    sources: tuple[Poly, ...] = ()
    given: tuple[tuple[Name, Poly], ...] = ()
    lines: Mapping[Poly, Lemma] = field(default_factory=dict, compare=False)
    """Proofs of bounds that were derived rather than stated."""

    @staticmethod
    def of(
        bounds: Iterable[Poly],
        equalities: Mapping[Name, Poly] | None = None,
        names: Iterable[Name] = (),
        lines: Mapping[Poly, Lemma] | None = None,
    ) -> Facts:
        """Return facts with fresh points over their names and `names`.

        `lines` prove some of the bounds, with the equalities substituted.
        """
        stated = tuple((equalities or {}).items())
        solved = solve(stated)
        sources: dict[Poly, Poly] = {}
        unsolved = [poly - Poly.var(name) for name, poly in stated if name not in solved]
        for bound in (*bounds, *unsolved, *(-poly for poly in unsolved)):
            known = bound.subst(solved)
            if known.constant is None or known.constant < 0:
                sources.setdefault(known, bound)
        normal = tuple(sources)
        free = {n for b in normal for n in b.names()} | {n for n in names if n not in solved}
        for poly in solved.values():
            free |= poly.names()
        given = tuple((name, poly) for name, poly in stated if name in solved)
        points = _points(normal, tuple(sorted(free)))
        return Facts(normal, solved, points, tuple(sources.values()), given, lines or {})

    def line(self, bound: Poly) -> Lemma:
        """Return the line that justifies one of the bounds. Raises KeyError for any other."""
        found = self.lines.get(bound)
        if found is None:
            stated = dict(zip(self.bounds, self.sources or self.bounds, strict=True))
            found = Lemma(bound, Source("fact", (stated[bound], bound)), (), 0)
        return found

    def normal(self, poly: Poly) -> Poly:
        """Return `poly` with the equalities substituted."""
        return poly.subst(self.equalities) if self.equalities else poly

    def with_bounds(self, *more: Poly) -> Facts:
        """Return these facts and more, with the points that still fit; none if a name is new."""
        new = tuple(
            b for b in more if b not in self.bounds and (b.constant is None or b.constant < 0)
        )
        if not new:
            return self
        names = frozenset[Name]().union(*(b.names() for b in new))
        known = [p for p in self.points if names <= p.keys()]
        fitting = tuple(p for p in known if all(b.evaluate(p) >= 0 for b in new))
        return Facts(
            (*self.bounds, *new),
            self.equalities,
            fitting,
            (*(self.sources or self.bounds), *new),
            self.given,
            self.lines,
        )

    def refutes(self, poly: Poly) -> bool:
        """True if `poly >= 0` is false at one of the points that bind its names."""
        try:
            return any(poly.evaluate(point) < 0 for point in self.points)
        except KeyError:
            return False

    def complete(self, point: Point) -> Point:
        """Extend a point by the names that equalities define."""
        return {**point, **{name: poly.evaluate(point) for name, poly in self.equalities.items()}}


def solve(
    equalities: Iterable[tuple[Name, Poly]],
    subst: Callable[[Poly, Mapping[Name, Poly]], Poly] = Poly.subst,
) -> dict[Name, Poly]:
    """Solve equalities by substitution, one by one, so that no right side mentions a defined name.

    Omits an equality that then defines its name by itself.
    """
    solved: dict[Name, Poly] = {}
    for name, poly in equalities:
        value = subst(poly, solved)
        if name not in value.names():
            for other, old in solved.items():
                if name in old.names():
                    solved[other] = subst(old, {name: value})
            solved[name] = value
    return solved


_remembered: dict[str, tuple[tuple[int, ...], ...]] = {}
"""Cache of sample values, shared by questions that are equal up to renaming."""


def _points(bounds: Sequence[Poly], names: Sequence[Name]) -> tuple[Point, ...]:
    """Return sample points for sorted names; equal for questions that are equal up to renaming."""
    number = {name: k for k, name in enumerate(names)}
    terms = [
        [([(number[n], p) for n, p in mono], coeff) for mono, coeff in bound.terms.items()]
        for bound in bounds
    ]
    question = f"{len(names)} {terms}"
    found = _remembered.get(question)
    if found is None:
        if len(_remembered) >= _REMEMBERED:
            _remembered.clear()
        found = _remembered[question] = tuple(_sampled(bounds, names))
    return tuple([dict(zip(names, values, strict=True)) for values in found])


def _sampled(bounds: Sequence[Poly], names: Sequence[Name]) -> list[tuple[int, ...]]:
    """Return at most POINTS tuples of values that satisfy all bounds."""
    rng = random.Random(7)
    found: dict[tuple[int, ...], None] = {}
    within: dict[Name, list[Poly]] = {name: [] for name in names}
    for bound in bounds:
        for name in bound.names():
            within[name].append(bound)
    order = sorted(names, key=lambda name: len(within[name]))
    edges = {name: _edges(name, within[name]) for name in names}
    for attempt in range(TRIES * 4):
        if len(found) >= POINTS:
            break
        if attempt:
            rng.shuffle(order)
        point = _point(order, edges, rng)
        if point is not None and all(b.evaluate(point) >= 0 for b in bounds):
            found[tuple([point[n] for n in names])] = None
        if attempt >= TRIES and not found:
            break
    rising = [] if found else _rising(names, edges)
    for _ in range(TRIES if rising else 0):
        point = _point(rising, edges, rng)
        if point is not None and all(b.evaluate(point) >= 0 for b in bounds):
            found[tuple([point[n] for n in names])] = None
    return list(found)[:POINTS]


def _rising(names: Iterable[Name], edges: Mapping[Name, list[_Edge]]) -> list[Name]:
    """Order names after those in their lower bounds, and quotients after their dividends.

    Long chains are hard to satisfy in another order.
    """
    order: dict[Name, None] = {}
    for start in names:
        stack, seen = [start], {start}
        while stack:
            lower = {
                other
                for edge in edges[stack[-1]]
                if edge.slope.constant is None
                or (edge.slope.constant > 0 and all(len(m) < 2 for m in edge.rest.terms))
                for other in edge.others
                if other not in order and other not in seen
            }
            if lower:
                stack += sorted(lower)
                seen |= lower
            else:
                order[stack.pop()] = None
    return list(order)


@dataclass(frozen=True, slots=True)
class _Edge:
    """A bound `slope*x + rest >= 0` on a name x, and the other names in it."""

    slope: Poly
    rest: Poly
    others: frozenset[Name]


def _edges(name: Name, bounds: Iterable[Poly]) -> list[_Edge]:
    """Return the bounds that are linear in a name."""
    found: list[_Edge] = []
    for bound in bounds:
        if bound.degree(name) == 1:
            slope = bound.coefficient(name)
            rest = bound - slope * Poly.var(name)
            found.append(_Edge(slope, rest, slope.names() | rest.names()))
    return found


def _point(
    order: list[Name], edges: Mapping[Name, list[_Edge]], rng: random.Random
) -> Point | None:
    """Choose values one by one, each within its linear bounds over names already bound."""
    point: Point = {}
    for name in order:
        low: int | None = None
        high: int | None = None
        for bound in edges[name]:
            if not bound.others <= point.keys():
                continue
            slope, rest = bound.slope.evaluate(point), bound.rest.evaluate(point)
            if slope > 0:
                edge = -(rest // slope)
                low = edge if low is None else max(low, edge)
            elif slope < 0:
                edge = rest // -slope
                high = edge if high is None else min(high, edge)
            elif rest < 0:
                return None
        step = rng.choice(_STEPS)
        if low is not None:
            value = low + step if high is None else min(low + step, high)
            if high is not None and value < low:
                return None
            if high is not None and step == 9:
                value = high
        elif high is not None:
            value = high - step
        else:
            value = rng.randint(-4, 12)
        if abs(value) > _LARGEST:
            return None
        point[name] = value
    return point
