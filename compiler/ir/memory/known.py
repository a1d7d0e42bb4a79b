"""What holds of integers at a place of a program, as far as its text says so.

Sizes are not negative, indices lie within their bounds, and the conditions of branches and checks
hold. Sums and products of i64 are taken as those of integers: where one wraps, nothing of that
size can be allocated.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from dataclasses import field

from compiler.algebra.facts import Point
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import INTS
from compiler.ir import nodes as ir
from compiler.ir.walk import se_uses

ONE = Poly.const(1)
NEVER = Poly.const(-1)
"""Not negative where no run comes to."""
TERMS = 12
"""Of a polynomial that stands for a name at most."""
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


class Integers:
    """Integers of one function: which polynomials names stand for, and which of them are inputs."""

    def __init__(self) -> None:
        self.defined: dict[Name, Poly] = {}
        self.tests: dict[Name, ir.SE] = {}
        """What bools stand for."""
        self.chosen: set[Name] = set()
        """Inputs and indices: any values that meet the facts do occur."""
        self.natural: set[Name] = set()
        """Sizes of what a function is given, and indices: never negative."""
        self._unknown = 0
        self._normal: dict[Poly, Poly] = {}
        self._behind: dict[Name, frozenset[Name]] = {}
        """The names that what a bool or number stands for goes back to."""

    def normal(self, poly: Poly) -> Poly:
        """A polynomial over names that stand for nothing else."""
        found = self._normal.get(poly)
        if found is None:
            found = self._normal[poly] = poly.subst(self.defined)
        return found

    def normal_lmad(self, lmad: Lmad[Poly]) -> Lmad[Poly]:
        """The same of an index function."""
        dims = tuple([Dim(self.normal(d.size), self.normal(d.stride)) for d in lmad.dims])
        return Lmad(self.normal(lmad.offset), dims)

    def poly(self, se: ir.SE) -> Poly | None:
        """The polynomial that an integer expression is, else None."""
        match se:
            case ir.Var(name, prim) if prim in INTS:
                return self.normal(Poly.var(name))
            case ir.Lit(value, prim) if prim in INTS:
                return Poly.const(int(value))
            case ir.Bin("+" | "-" | "*" as op, "i64", a, b):
                left, right = self.poly(a), self.poly(b)
                if left is None or right is None:
                    return None
                made = left + right if op == "+" else left - right if op == "-" else left * right
                return made if len(made.terms) <= TERMS else None
            case ir.Un("neg", "i64", a):
                inner = self.poly(a)
                return None if inner is None else -inner
            case ir.Conv(src, "i64", ir.Var() | ir.Lit() as a) if src in INTS and src != "u64":
                return self.poly(a)
        return None

    def number(self, se: ir.SE) -> Poly:
        """The polynomial of an expression; an unknown where it is none."""
        found = self.poly(se)
        if found is None:
            self._unknown += 1
            found = Poly.var(f"?{self._unknown}")
        return found

    def define(self, name: Name, se: ir.SE, scope: KnownHere) -> None:
        """Enter a scalar that a statement binds."""
        if (isinstance(se, ir.Bin) and se.op in _NEGATED) or isinstance(
            se, ir.Bin | ir.Un | ir.Var
        ):
            self.tests[name] = se
        found = self.poly(se)
        if found is not None and found.names().isdisjoint((name,)):
            if len(found.terms) <= TERMS:
                self.defined[name] = found
            return
        it = Poly.var(name)
        match se:
            case ir.Bin("min" | "max" as op, at, a, b) if at in INTS and at != "u64":
                for side in map(self.poly, (a, b)):
                    if side is not None:
                        scope.know(side - it if op == "min" else it - side)
            case ir.Bin("/" | "%" as op, at, a, ir.Lit(value)) if at in INTS and int(value) > 0:
                whole, by = self.poly(a), int(value)
                if op == "%":
                    scope.know(it, by - 1 - it)
                elif whole is not None:
                    scope.know(whole - it * by, it * by + (by - 1) - whole)

    def holds(self, cond: ir.SE, scope: KnownHere, holds: bool = True) -> None:
        """Enter what follows from a condition that holds, or does not."""
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
                left, right = self.poly(a), self.poly(b)
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
        """The names that an expression goes back to."""
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
        """Whether conditions are as they should be for numbers, as far as these tell."""
        told: dict[Name, int | bool] = {}
        try:
            return all(self.value(one.cond, point, told) == one.holds for one in conditions)
        except KeyError:
            return False

    def value(self, se: ir.SE, point: Point, told: dict[Name, int | bool]) -> int | bool:
        """What an expression is; `told` are names that were asked for at the same point.

        Raises KeyError where that cannot be told.
        """
        whole = self.poly(se)
        if whole is not None:
            return whole.evaluate(point)
        match se:
            case ir.Lit(bool(value)):
                return value
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
