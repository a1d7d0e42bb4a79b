"""What holds of integers at a place of a program, as far as its text says so.

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
"""Not negative where no run comes to."""
FACTS = 24
"""That one question may use."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What holds, or does not, of names."""

    cond: ir.SE
    holds: bool
    names: frozenset[Name]


@dataclass(eq=False, slots=True)
class KnownHere:
    """A body: what is known in it, and in front of how many of the facts around it it begins."""

    outer: Moment | None = None
    facts: list[Poly] = field(default_factory=list)
    """Polynomials that are not negative."""
    by_name: dict[Name, list[int]] = field(default_factory=dict)
    """The facts that mention a name."""
    conditions: dict[Name, list[Condition]] = field(default_factory=dict)
    """Those of which no facts could be made, by the names in them."""
    never: int | None = None
    """Which of the facts is a negative number: no run comes to what is behind it."""
    counted: set[Monomial] = field(default_factory=set)
    """Products of sizes that are those of a block, or a part of one: no more than it can have."""
    _all: set[Poly] = field(default_factory=set)
    _tests: set[tuple[Name, bool]] = field(default_factory=set)
    _places: set[ir.MemBind] = field(default_factory=set)

    def around(self) -> Iterator[KnownHere]:
        """This body and those around it: what holds there holds here."""
        scope: KnownHere | None = self
        while scope is not None:
            yield scope
            scope = scope.outer.scope if scope.outer is not None else None

    def knows(self, fact: Poly) -> bool:
        """Whether a fact was entered here or around."""
        return any(fact in scope._all for scope in self.around())

    def has_test(self, name: Name, holds: bool) -> bool:
        """Whether what follows from a bool was entered here before; it is from now on."""
        known = (name, holds) in self._tests
        self._tests.add((name, holds))
        return known

    def is_new(self, place: ir.MemBind) -> bool:
        """Enter where an array lies; false if an array here or around has been there."""
        if any(place in scope._places for scope in self.around()):
            return False
        self._places.add(place)
        return True

    def allocated(self, count: Poly) -> None:
        """A block has so many elements."""
        if all(coeff > 0 for coeff in count.terms.values()):
            self.counted.update(mono for mono in count.terms if mono)

    def is_counted(self, mono: Monomial) -> bool:
        """Whether there is a block of so many elements."""
        return any(mono in scope.counted for scope in self.around())

    def ends(self, name: Name) -> tuple[int, int]:
        """The least and the most that an i64 is known to be, by facts about it alone."""
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
        """Add facts."""
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
    """A point in a body: what was known there."""

    scope: KnownHere
    count: int

    @staticmethod
    def of(scope: KnownHere) -> Moment:
        """The point that a scope has come to."""
        return Moment(scope, len(scope.facts))

    def chain(self) -> Iterator[Moment]:
        """This point, and the statements around it, from inside to outside."""
        place: Moment | None = self
        while place is not None:
            yield place
            place = place.scope.outer


@dataclass(slots=True)
class Relevant:
    """What has to do with some names; not `all` if there is more than one question may use."""

    facts: dict[Poly, None] = field(default_factory=dict)
    conditions: dict[Condition, None] = field(default_factory=dict)
    all: bool = True

    def names(self) -> set[Name]:
        """All names in it."""
        found = (fact.names() for fact in self.facts)
        return set().union(*found, *(one.names for one in self.conditions))


def about(places: Iterable[Moment], names: Iterable[Name]) -> Relevant:
    """What is known at all of some points that has to do with names."""
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
