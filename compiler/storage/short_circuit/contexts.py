"""Growing sets of facts, and the selection of those relevant to a question.

A body of hundreds of statements has hundreds of checks and asks hundreds of questions. So a context
extends an earlier one (persistent data), facts are indexed by name, and alternatives by the facts
that decide them.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from heapq import merge

from compiler.algebra.poly import ONE, Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name

_KEPT = 64
"""Number of recently resolved contexts cached, besides every `_EVERY`-th of a chain."""
_EVERY = 16


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """Facts: `bounds` are not negative, `equal` defines names.

    `either`: the facts of one side hold, or those of the other. A sum of two contexts has `parts`
    and no facts of its own; `depth` is the length of the chain of first parts.
    """

    bounds: tuple[Poly, ...] = ()
    equal: tuple[tuple[Name, Poly], ...] = ()
    either: tuple[tuple[Context, Context], ...] = ()
    parts: tuple[Context, Context] | None = None
    depth: int = 0
    _sums: dict[int, Context] = field(default_factory=dict)

    def plus(self, other: Context) -> Context:
        """Return the union; interned for the same two contexts."""
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
        """Yield the summands, in order."""
        left = [self]
        while left:
            one = left.pop()
            if one.parts is None:
                yield one
            else:
                left += reversed(one.parts)

    def flat(self) -> Context:
        """Return the same facts as one context without parts."""
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
    """Facts of a context, with alternatives decided where one side is impossible.

    Facts from one alternative may decide another.
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
        """Defined names: position of the definition, and its value."""
        self._by_name: dict[Name, tuple[int, ...]] = dict(before._by_name) if before else {}
        """Positions of bounds by name, except those from alternatives."""
        self._later: dict[Name, tuple[int, ...]] = dict(before._later) if before else {}
        """Positions of bounds from alternatives, by name."""
        self._kinds: dict[Poly, tuple[int, int]] = dict(before._kinds) if before else {}
        """For bounds up to a constant: position and constant of the strongest."""
        self._weaker: set[int] = set(before._weaker) if before else set()
        """Positions of bounds that follow from others by adding a constant."""
        self._waiting: dict[int, tuple[Context, Context]] = dict(before._waiting) if before else {}
        self._watching: dict[Poly, tuple[int, ...]] = dict(before._watching) if before else {}
        """Alternatives by the kinds of facts that contradict one of their sides."""
        self._where: dict[frozenset[tuple[Poly, int]], ResolvedFacts] = {}
        """Cached extensions by certain facts: many questions are about the same sizes."""

    def extended(self, more: Context) -> ResolvedFacts:
        """Return these facts and more."""
        new = ResolvedFacts(self)
        new._add(list(more.leaves()), {})
        return new

    def with_certain(self, certain: Iterable[Poly]) -> ResolvedFacts:
        """Return these facts where more is certain.

        A certain inequality is not a fact here, but may decide alternatives.
        """
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
        """Return the first `most` bounds with any of the names that are not taken yet.

        Those from alternatives come last. If there are more, weaker bounds are left out.
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
        """Add contexts without parts; `later`: they come from alternatives."""
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
        """Add the facts of alternatives that are decided now, given certain facts."""
        more = [other for at in open_ for other in self._decided(at, certain)]
        if more:
            self._add(more, certain, True)

    def _bound(self, fact: Poly, positions: dict[Name, tuple[int, ...]]) -> tuple[int, ...]:
        """Add a fact; return the alternatives that it may decide."""
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
        """Return the side of an alternative that holds, as contexts without parts; none if open."""
        sides = self._waiting.get(at)
        if sides is None:
            return []
        for one, other in (sides, sides[::-1]):
            if self._impossible(one, certain):
                del self._waiting[at]
                return list(other.leaves())
        return []

    def _impossible(self, one: Context, certain: Mapping[Poly, int]) -> bool:
        """True if a fact contradicts a known one up to a constant."""
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
    """Resolves contexts, each incrementally from the one that it extends."""

    def __init__(self) -> None:
        self._recent: dict[int, tuple[Context, ResolvedFacts]] = {}
        self._steps: dict[int, tuple[Context, ResolvedFacts]] = {}

    def resolved(self, context: Context) -> ResolvedFacts:
        """Return the facts of a context."""
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
        """Cache the result, with the context so that its `id` stays valid."""
        if context.depth % _EVERY == 0:
            self._steps[id(context)] = (context, found)
            return
        if len(self._recent) >= _KEPT:
            del self._recent[next(iter(self._recent))]
        self._recent[id(context)] = (context, found)


def _kind(fact: Poly) -> tuple[Poly, int]:
    """Split a fact into its non-constant part and its constant."""
    number = fact.terms.get(ONE)
    if number is None:
        return fact, 0
    return Poly({mono: coeff for mono, coeff in fact.terms.items() if mono != ONE}), number


def _stated(sides: Sequence[Context]) -> Iterator[Poly]:
    """Yield all facts in an alternative, nested ones included."""
    for side in sides:
        for leaf in side.leaves():
            yield from leaf.bounds
            for inner in leaf.either:
                yield from _stated(inner)
