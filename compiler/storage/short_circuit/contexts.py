"""What holds somewhere: facts that grow from statement to statement, and those a question needs.

A body of hundreds of statements has hundreds of checks and asks hundreds of questions. So a context
is what one before it says and a little more, facts are found by their names, and alternatives by
what decides them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from heapq import merge

from compiler.algebra.poly import ONE, Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name

_KEPT = 64
"""How many contexts stay resolved, beside every `_EVERY`-th of those that grow from one another."""
_EVERY = 16


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What holds somewhere: `bounds` are not negative, `equal` are what names are equal to.

    `either`: the facts of one side hold, or those of the other. A sum of two contexts says what
    `parts` say, and nothing itself; `depth` is how many sums its first part is made of, and one.
    """

    bounds: tuple[Poly, ...] = ()
    equal: tuple[tuple[Name, Poly], ...] = ()
    either: tuple[tuple[Context, Context], ...] = ()
    parts: tuple[Context, Context] | None = None
    depth: int = 0
    _sums: dict[int, Context] = field(default_factory=dict)

    def plus(self, other: Context) -> Context:
        """Both together: one object for the same two."""
        if other is NOTHING:
            return self
        if self is NOTHING:
            return other
        found = self._sums.get(id(other))
        if found is None:
            found = Context(parts=(self, other), depth=self.depth + 1)
            self._sums[id(other)] = found
        return found

    def leaves(self) -> Iterator[Context]:
        """The contexts that this one is the sum of, in order."""
        left = [self]
        while left:
            one = left.pop()
            if one.parts is None:
                yield one
            else:
                left += reversed(one.parts)

    def flat(self) -> Context:
        """The same as one context that is no sum."""
        if self.parts is None:
            return self
        leaves = list(self.leaves())
        return Context(
            tuple(fact for leaf in leaves for fact in leaf.bounds),
            tuple(pair for leaf in leaves for pair in leaf.equal),
            tuple(sides for leaf in leaves for sides in leaf.either),
        )


NOTHING = Context()


class ResolvedFacts:
    """The facts of a context, with those of an alternative whose other side is impossible.

    What one alternative comes to may decide another one.
    """

    __slots__ = (
        "_by_name",
        "_kinds",
        "_later",
        "_waiting",
        "_watching",
        "_weaker",
        "_where",
        "bounds",
        "equal",
    )

    def __init__(self, before: ResolvedFacts | None = None) -> None:
        self.bounds: list[Poly] = list(before.bounds) if before else []
        self.equal: dict[Name, tuple[int, tuple[Poly, ...]]] = dict(before.equal) if before else {}
        """For names that equal something: how many came before, and what that is."""
        self._by_name: dict[Name, tuple[int, ...]] = dict(before._by_name) if before else {}
        """Where among the bounds those with a name are that no alternative came to."""
        self._later: dict[Name, tuple[int, ...]] = dict(before._later) if before else {}
        """Where those are that some alternative came to."""
        self._kinds: dict[Poly, tuple[int, int]] = dict(before._kinds) if before else {}
        """For what bounds are but for a number: where the strongest is, and its number."""
        self._weaker: set[int] = set(before._weaker) if before else set()
        """Where the bounds are that follow from others by adding a number."""
        self._waiting: dict[int, tuple[Context, Context]] = dict(before._waiting) if before else {}
        self._watching: dict[Poly, tuple[int, ...]] = dict(before._watching) if before else {}
        """For the kinds of facts that contradict a side of an alternative: which alternatives."""
        self._where: dict[frozenset[tuple[Poly, int]], ResolvedFacts] = {}
        """These facts where more is certain: many questions are about the same sizes."""

    def extended(self, more: Context) -> ResolvedFacts:
        """These facts and more."""
        new = ResolvedFacts(self)
        new._add(list(more.leaves()), {})
        return new

    def with_certain(self, certain: Iterable[Poly]) -> ResolvedFacts:
        """These facts where more is certain: it is no fact here, but may decide alternatives."""
        numbers: dict[Poly, int] = {}
        for fact in certain:
            kind, number = _kind(fact)
            if any(at in self._waiting for at in self._watching.get(kind, ())):
                numbers[kind] = min(number, numbers.get(kind, number))
        if not numbers:
            return self
        key = frozenset(numbers.items())
        new = self._where.get(key)
        if new is None:
            new = self._where[key] = ResolvedFacts(self)
            new._resolve([at for kind in numbers for at in new._watching[kind]], numbers)
        return new

    def about(self, names: Iterable[Name], most: int, taken: Container[Poly]) -> list[Poly]:
        """Bounds with any of some names: the first so many that are not taken yet.

        Those that alternatives came to are last. If there are more, those that follow from another
        one by adding a number are left out.
        """
        names = list(names)
        found = self._first(self._positions(names), most + 1, taken)
        if len(found) > most:
            strongest = (at for at in self._positions(names) if at not in self._weaker)
            found = self._first(strongest, most, taken)
        return found

    def _positions(self, names: Sequence[Name]) -> Iterator[int]:
        for positions in (self._by_name, self._later):
            yield from merge(*(positions[name] for name in names if name in positions))

    def _first(self, positions: Iterable[int], most: int, taken: Container[Poly]) -> list[Poly]:
        found: dict[Poly, None] = {}
        for at in positions:
            if len(found) >= most:
                break
            if self.bounds[at] not in taken:
                found[self.bounds[at]] = None
        return list(found)

    def _add(self, more: list[Context], certain: Mapping[Poly, int], later: bool = False) -> None:
        """Add contexts that are no sums; `later`: alternatives came to them."""
        open_: list[int] = []
        for one in more:
            for name, value in one.equal:
                rank, values = self.equal.get(name, (len(self.equal), ()))
                self.equal[name] = (rank, (*values, value))
            for fact in one.bounds:
                open_ += self._bound(fact, self._later if later else self._by_name)
            open_ += [self._wait(sides) for sides in one.either]
        self._resolve(open_, certain)

    def _resolve(self, open_: list[int], certain: Mapping[Poly, int]) -> None:
        """Add what alternatives come to that are decided now, with what else is certain."""
        more = [other for at in open_ for other in self._decided(at, certain)]
        if more:
            self._add(more, certain, True)

    def _bound(self, fact: Poly, positions: dict[Name, tuple[int, ...]]) -> tuple[int, ...]:
        """Add a fact; the alternatives that it may decide."""
        kind, number = _kind(fact)
        at, least = self._kinds.get(kind, (-1, number + 1))
        if least == number:
            return ()
        here = len(self.bounds)
        self.bounds.append(fact)
        for name in fact.names():
            positions[name] = (*positions.get(name, ()), here)
        if least < number:
            self._weaker.add(here)
            return ()
        if at >= 0:
            self._weaker.add(at)
        self._kinds[kind] = (here, number)
        return self._watching.get(kind, ())

    def _wait(self, sides: tuple[Context, Context]) -> int:
        at = next(reversed(self._waiting), -1) + 1
        self._waiting[at] = sides
        for fact in _stated(sides):
            kind = _kind(-fact)[0]
            self._watching[kind] = (*self._watching.get(kind, ()), at)
        return at

    def _decided(self, at: int, certain: Mapping[Poly, int]) -> list[Context]:
        """The side of an alternative that holds, as contexts that are no sums; none if open."""
        sides = self._waiting.get(at)
        if sides is None:
            return []
        for one, other in (sides, sides[::-1]):
            if self._impossible(one, certain):
                del self._waiting[at]
                return list(other.leaves())
        return []

    def _impossible(self, one: Context, certain: Mapping[Poly, int]) -> bool:
        """Whether a fact plainly contradicts one that holds."""
        for leaf in one.leaves():
            for fact in leaf.bounds:
                kind, number = _kind(-fact)
                number = -number
                known = self._kinds.get(kind)
                if known is not None and number + known[1] < 0:
                    return True
                if number + certain.get(kind, -number) < 0:
                    return True
            for sides in leaf.either:
                if all(self._impossible(side, certain) for side in sides):
                    return True
        return False


class Contexts:
    """Resolves contexts, each from the one that it adds to."""

    def __init__(self) -> None:
        self._recent: dict[int, tuple[Context, ResolvedFacts]] = {}
        self._steps: dict[int, tuple[Context, ResolvedFacts]] = {}

    def resolved(self, context: Context) -> ResolvedFacts:
        """The facts of a context."""
        ahead: list[Context] = []
        at = context
        found = self._known(at)
        while found is None and at.parts is not None:
            ahead.append(at)
            at = at.parts[0]
            found = self._known(at)
        if found is None:
            found = ResolvedFacts().extended(at)
            self._keep(at, found)
        near = (context, *(context.parts or ()))
        for one in reversed(ahead):
            assert one.parts is not None
            found = found.extended(one.parts[1])
            if one in near or one.depth % _EVERY == 0:
                self._keep(one, found)
        return found

    def _known(self, context: Context) -> ResolvedFacts | None:
        found = self._recent.get(id(context)) or self._steps.get(id(context))
        return found[1] if found is not None else None

    def _keep(self, context: Context, found: ResolvedFacts) -> None:
        """Remember it; the context as well, so that its identity stays its own."""
        if context.depth % _EVERY == 0:
            self._steps[id(context)] = (context, found)
            return
        if len(self._recent) >= _KEPT:
            del self._recent[next(iter(self._recent))]
        self._recent[id(context)] = (context, found)


def _kind(fact: Poly) -> tuple[Poly, int]:
    """A fact as what it is but for a number, and the number."""
    number = fact.terms.get(ONE)
    if number is None:
        return fact, 0
    return Poly({mono: coeff for mono, coeff in fact.terms.items() if mono != ONE}), number


def _stated(sides: Sequence[Context]) -> Iterator[Poly]:
    """All facts in an alternative, also in alternatives within."""
    for side in sides:
        for leaf in side.leaves():
            yield from leaf.bounds
            for inner in leaf.either:
                yield from _stated(inner)
