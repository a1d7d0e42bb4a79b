"""Facts about integers at a place of a program, from its text.

Sizes are not negative, indices lie within their bounds, and the conditions of branches and checks
hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field

from compiler.algebra.poly import Monomial, Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.sizes import HIGH, LOW

ONE = Poly.const(1)
NEVER = Poly.const(-1)
"""Fact of an unreachable place."""
FACTS = 24
"""Maximum number of facts for one question."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that holds, or does not, with its names."""

    cond: ir.SE
    holds: bool
    names: frozenset[Name]


@dataclass(eq=False, slots=True)
class KnownHere:
    """Facts of a body, and the point in the enclosing one at which it begins."""

    outer: Moment | None = None
    facts: list[Poly] = field(default_factory=list)
    """Polynomials that are not negative."""
    by_name: dict[Name, list[int]] = field(default_factory=dict)
    """Indices of the facts that mention a name."""
    conditions: dict[Name, list[Condition]] = field(default_factory=dict)
    """Conditions that yield no facts, by the names in them."""
    never: int | None = None
    """Index of a fact that is a negative number: what follows is unreachable."""
    counted: set[Monomial] = field(default_factory=set)
    """Products of sizes that are a block's size or a summand of it: no larger than a block."""
    _all: set[Poly] = field(default_factory=set)
    _tests: set[tuple[Name, bool]] = field(default_factory=set)
    _places: set[ir.MemBind] = field(default_factory=set)

    def around(self) -> Iterator[KnownHere]:
        """Yield this body and the enclosing ones, whose facts hold here too."""
        scope: KnownHere | None = self
        while scope is not None:
            yield scope
            scope = scope.outer.scope if scope.outer is not None else None

    def knows(self, fact: Poly) -> bool:
        """True if a fact was recorded here or in an enclosing body."""
        return any(fact in scope._all for scope in self.around())

    def has_test(self, name: Name, holds: bool) -> bool:
        """True if the consequences of a bool were recorded here before; marks them recorded."""
        known = (name, holds) in self._tests
        self._tests.add((name, holds))
        return known

    def is_new(self, place: ir.MemBind) -> bool:
        """Record the binding of an array; False if it was recorded here or around."""
        if any(place in scope._places for scope in self.around()):
            return False
        self._places.add(place)
        return True

    def allocated(self, count: Poly) -> None:
        """Record that a block has `count` elements."""
        if all(coeff > 0 for coeff in count.terms.values()):
            self.counted.update(mono for mono in count.terms if mono)

    def is_counted(self, mono: Monomial) -> bool:
        """True if a block of so many elements exists."""
        return any(mono in scope.counted for scope in self.around())

    def ends(self, name: Name) -> tuple[int, int]:
        """Return the range of an i64 by facts about it alone."""
        low, high = LOW, HIGH
        for scope in self.around():
            for at in scope.by_name.get(name, ()):
                terms = scope.facts[at].terms
                coeff = terms.get(((name, 1),), 0)
                if not coeff or terms.keys() - {((name, 1),), ()}:
                    continue
                bound = -terms.get((), 0)
                if coeff > 0:
                    low = max(low, -(-bound // coeff))
                else:
                    high = min(high, bound // coeff)
        return low, high

    def know(self, *facts: Poly) -> None:
        """Record facts."""
        for fact in facts:
            if (fact.constant is not None and fact.constant >= 0) or self.knows(fact):
                continue
            self._all.add(fact)
            if fact.constant is not None:
                fact = NEVER
                self.never = len(self.facts) if self.never is None else self.never
            for name in fact.names():
                self.by_name.setdefault(name, []).append(len(self.facts))
            self.facts.append(fact)


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in a body: the facts recorded before it."""

    scope: KnownHere
    count: int

    @staticmethod
    def of(scope: KnownHere) -> Moment:
        """Return the current point of a scope."""
        return Moment(scope, len(scope.facts))

    def chain(self) -> Iterator[Moment]:
        """Yield this point and the enclosing ones, innermost first."""
        place: Moment | None = self
        while place is not None:
            yield place
            place = place.scope.outer


@dataclass(slots=True)
class Relevant:
    """Facts connected to some names; `all` is False if there were too many."""

    facts: dict[Poly, None] = field(default_factory=dict)
    conditions: dict[Condition, None] = field(default_factory=dict)
    all: bool = True

    def names(self) -> set[Name]:
        """Return all names in the facts."""
        found = (fact.names() for fact in self.facts)
        return set().union(*found, *(one.names for one in self.conditions))


def about(places: Iterable[Moment], names: Iterable[Name]) -> Relevant:
    """Return the facts at all given points that are connected to names."""
    chains = [place for start in places for place in start.chain()]
    scopes = {id(place.scope): place for place in reversed(chains)}
    for place in chains:
        if place.count > scopes[id(place.scope)].count:
            scopes[id(place.scope)] = place
    known = Relevant()
    if any(one.scope.never is not None and one.scope.never < one.count for one in scopes.values()):
        known.facts[NEVER] = None
        return known
    seen: set[Name] = set()
    todo = sorted(names)
    for name in todo:
        if name in seen:
            continue
        seen.add(name)
        for place in scopes.values():
            for one in place.scope.conditions.get(name, ()):
                known.conditions[one] = None
                todo += sorted(one.names - seen)
            for at in place.scope.by_name.get(name, ()):
                fact = place.scope.facts[at]
                if at >= place.count or fact in known.facts:
                    continue
                if len(known.facts) >= FACTS:
                    known.all = False
                    return known
                known.facts[fact] = None
                todo += sorted(fact.names() - seen)
    return known
