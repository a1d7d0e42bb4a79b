"""Compare writes with uses pair by pair: each pair must be provably disjoint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from compiler.algebra.disjoint import Disjoint, Unknown, Verdict, prove_beyond
from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.protocol.refusals import Refusal
from compiler.storage.short_circuit.access import Access, Obligation, Range, unique, with_lmad
from compiler.storage.short_circuit.analyses import Analyses
from compiler.storage.short_circuit.conditions import Failed, out_of_budget
from compiler.storage.short_circuit.contexts import Context
from compiler.storage.short_circuit.covers import covers
from compiler.storage.short_circuit.outer_accesses import OutsideViews
from compiler.storage.short_circuit.terms import ZERO
from compiler.storage.short_circuit.tree import TreeBody
from compiler.storage.short_circuit.uses import Summary, Uses, uses
from compiler.storage.short_circuit.wording import (
    anywhere,
    called,
    describe_pair,
    not_apart,
    unbounded,
)

_FEW = 8
"""Maximum number of uses with a proof for each; more are covered together where possible."""
_CHOICES = 2
"""Maximum number of `Select` values split into cases."""
_LONG = 12
"""Maximum terms of an offset for a proof of its own."""


class Comparison:
    """Comparisons of one attempt, with the resulting `obligations`."""

    def __init__(
        self,
        state: Analyses,
        destination: Lmad[Poly] | None,
        checked: Context,
    ) -> None:
        """`destination`, `checked`: see `Safety`."""
        self._state = state
        self._outside = OutsideViews(state, checked)
        self._destination = destination
        self._checked = checked
        self.obligations: list[Obligation] = []

    def compare(self, writes: Sequence[Access], some: Uses, known: Context, where: str) -> None:
        """Prove each write disjoint from each use. Raises Failed."""
        for write in writes:
            for use in self._one_by_one(write, some, known, where):
                if write.lmad is None or use.lmad is None:
                    unknown = use if use.lmad is None else write
                    array = called(self._state.now, unknown.array)
                    raise Failed(
                        Refusal.COMPUTED_CELLS,
                        f"The elements of {array} that are used {where} depend on "
                        "values that are computed there.",
                    )
                if use.lmad == self._destination:
                    kind = Refusal.ANY_CELL if use.lost is None else Refusal.UNKNOWN_CELLS
                    raise Failed(kind, anywhere(self._state.now, self._state.terms, use, where))
                verdict = self._decided(write.lmad, use.lmad, known, where)
                if not isinstance(verdict, Disjoint):
                    first, second = describe_pair(self._state.now, write.array, use.array)
                    does = "written" if use.writes else "read"
                    because = not_apart(
                        self._state.now.spell.poly, first, second, does, where, verdict
                    )
                    raise Failed(
                        Refusal.NOT_APART, because + self._unbounded(write.lmad, use.lmad, verdict)
                    )

    def across(
        self,
        scope: TreeBody,
        one: Summary,
        over: Sequence[Range],
        only_later: bool,
        where: str,
    ) -> None:
        """Compare one iteration's writes with uses of other, or only of later iterations."""
        assert scope.parent is not None
        outside = self._state.assumptions.in_front(scope.parent)
        inside = self._state.assumptions.at(scope)
        for write in one.writes:
            for use in self._not_all_apart(write, one.uses, scope, over, outside, where):
                if self._apart(write, use, scope, over, outside, where):
                    continue
                for other, which, some in self._outside.others(use, scope, over, only_later):
                    self.compare([write], uses([other]), inside.plus(some), where.format(which))

    def _not_all_apart(
        self,
        write: Access,
        some: Uses,
        scope: TreeBody,
        over: Sequence[Range],
        known: Context,
        where: str,
    ) -> Iterable[Access]:
        """Return the uses left after aggregated writes were proved disjoint from the rest."""
        first = self._outside.leave(write, scope, over).lmad
        if some.count <= _FEW or first is None:
            return some
        left = self._outside.left(some, scope, over)
        near = self._uncovered(first, left, known, where.format("other"))
        return unique(use.origin for use in (*left.unknown(), *near) if use.origin is not None)

    def _apart(
        self,
        write: Access,
        use: Access,
        scope: TreeBody,
        over: Sequence[Range],
        known: Context,
        where: str,
    ) -> bool:
        """True if all writes together are disjoint from all uses together, or from their rows."""
        if write.lmad == use.lmad:
            return False
        first = self._outside.leave(write, scope, over).lmad
        tried: list[Lmad[Poly] | None] = [None, self._destination]
        for lmad in (use.lmad, *use.wider):
            second = self._outside.leave(with_lmad(use, lmad), scope, over).lmad
            if first is None or second is None or second in tried:
                continue
            tried.append(second)
            verdict = self._verdict(first, second, known)
            if isinstance(verdict, Disjoint):
                self._record(first, second, where.format("other"), verdict)
                return True
        return False

    def all_apart(self, scope: TreeBody, one: Summary, over: Sequence[Range], where: str) -> None:
        """Compare all writes of all iterations with all uses."""
        assert scope.parent is not None
        known = self._state.assumptions.in_front(scope.parent)
        writes = [self._outside.leave(w, scope, over) for w in one.writes]
        self.compare(writes, self._outside.left(one.uses, scope, over), known, where.format("all"))

    def _unbounded(self, write: Lmad[Poly], use: Lmad[Poly], verdict: Verdict) -> str:
        missing = verdict.missing if isinstance(verdict, Unknown) else None
        names = write.names() | use.names() if missing is None else missing.names()
        return unbounded(self._state.now, self._state.terms, names)

    def _one_by_one(
        self, write: Access, some: Uses, known: Context, where: str
    ) -> Iterable[Access]:
        """Return the uses to compare individually: all if they are few."""
        few = some.count <= _FEW and all(len(_offset(use).terms) <= _LONG for use in some)
        if few or write.lmad is None:
            return some
        hard = next((use for use in some.unknown() if use.access is not None), None)
        if hard is not None:
            return hard
        return (
            use.access
            for use in self._uncovered(write.lmad, some, known, where)
            if use.access is not None
        )

    def _uncovered(
        self, write: Lmad[Poly], some: Uses, known: Context, where: str
    ) -> Iterator[Uses]:
        """Yield the uses not proved disjoint from a write as part of a cover."""

        def is_size(size: Poly) -> bool:
            return self._state.assumptions.is_size(size, known)

        def is_argument(size: Poly) -> bool:
            return self._state.assumptions.is_size(
                size, self._state.assumptions.at(self._state.now.tree.root)
            )

        waiting = [*covers(some.covers(is_argument), is_size, write)][::-1]
        while waiting:
            cover = waiting.pop()
            if cover.count > 1 and self._beyond(write, cover.cells, known, where):
                continue
            if cover.member is not None:
                yield cover.member
            waiting += cover.halves()[::-1]

    def _beyond(self, write: Lmad[Poly], cover: Lmad[Poly], known: Context, where: str) -> bool:
        """True if a write is disjoint from a cover."""
        verdict: Verdict | None = prove_beyond(write, cover)
        if verdict is None:
            verdict = self._verdict(write, cover, known)
        if isinstance(verdict, Disjoint):
            self._record(write, cover, where, verdict)
            return True
        return False

    def _decided(
        self,
        write: Lmad[Poly],
        use: Lmad[Poly],
        known: Context,
        where: str,
        told: tuple[Name, ...] = (),
    ) -> Verdict:
        """Decide and record whether two sets of cells are disjoint, by cases of `Select` values.

        `told`: names whose case is already fixed.
        """
        verdict = self._verdict(write, use, known)
        names = sorted((write.names() | use.names()).difference(told))
        chosen = next((name for name in names if self._state.terms.choice(name)), None)
        if isinstance(verdict, Disjoint) or chosen is None or len(told) == _CHOICES:
            self._record(write, use, where, verdict)
            return verdict
        before = len(self.obligations)
        for value, cond, holds in self._state.terms.choice(chosen):
            more = self._state.assumptions.condition(cond, holds)
            side = Context(equal=((chosen, value),)).plus(more)
            found = self._decided(write, use, known.plus(side), where, (*told, chosen))
            if not isinstance(found, Disjoint):
                del self.obligations[before:]
                self._record(write, use, where, verdict)
                return verdict
        return found

    def _verdict(self, write: Lmad[Poly], use: Lmad[Poly], known: Context) -> Verdict:
        if self._state.assumptions.budget.is_spent:
            raise out_of_budget()
        return self._state.assumptions.disjoint(write, use, known.plus(self._checked))

    def _record(self, write: Lmad[Poly], use: Lmad[Poly], where: str, verdict: Verdict) -> None:
        self.obligations.append(Obligation(write, use, where, verdict))


class NoComparison(Comparison):
    """Compares nothing, for computing summaries alone."""

    def compare(self, writes: Sequence[Access], some: Uses, known: Context, where: str) -> None:
        """Do nothing."""

    def across(
        self, scope: TreeBody, one: Summary, over: Sequence[Range], only_later: bool, where: str
    ) -> None:
        """Do nothing."""


def _offset(access: Access) -> Poly:
    return ZERO if access.lmad is None else access.lmad.offset
