"""Aggregate accesses over loops, kernels and branches, and over other iterations.

An access that depends on values computed inside is widened to the whole array.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.storage.short_circuit import quotients
from compiler.storage.short_circuit.access import Access, Range, expanded, with_lmad
from compiler.storage.short_circuit.analyses import Analyses
from compiler.storage.short_circuit.contexts import NOTHING, Context
from compiler.storage.short_circuit.terms import ZERO
from compiler.storage.short_circuit.tree import TreeBody
from compiler.storage.short_circuit.uses import Uses

_Key = tuple[TreeBody, Lmad[Poly], int]


class OutsideViews:
    """Aggregated accesses of bodies, cached across attempts."""

    def __init__(
        self,
        state: Analyses,
        checked: Context = NOTHING,
    ) -> None:
        """`checked`: further facts of one attempt, for single accesses."""
        self._state = state
        self._checked = checked
        self._kept = state.summaries.outside
        self._own: dict[_Key, Lmad[Poly] | None] = {}

    def leave(self, access: Access, scope: TreeBody, over: Sequence[Range]) -> Access:
        """Aggregate an access over all values of some indices."""
        found = self._leave(access, scope, over, NOTHING)
        if found is access or found.lost is None or self._checked is NOTHING:
            return found
        return self._leave(access, scope, over, self._checked)

    def _leave(
        self, access: Access, scope: TreeBody, over: Sequence[Range], more: Context
    ) -> Access:
        if access.lmad is None:
            return access
        lost: Name | None = None
        for lmad in (access.lmad, *access.wider):
            found = self._outside(lmad, scope, over, more)
            if found is not None:
                return with_lmad(access, found, lost)
            lost = self._lost(access.lmad, scope, over)
        return with_lmad(access, None, lost)

    def left(self, some: Uses, scope: TreeBody, over: Sequence[Range]) -> Uses:
        """Aggregate the accesses of a body over all values of its indices."""
        return some.left(lambda use: self._leave(use, scope, over, NOTHING))

    def _lost(self, lmad: Lmad[Poly], scope: TreeBody, fixed: Iterable[Range]) -> Name:
        """Return a name in the cells that is not in scope outside; "" if none."""
        names = {one.name for one in fixed}
        inside = (x for x in sorted(lmad.names()) if x not in names and self._bound_in(x, scope))
        return next(inside, "")

    def _outside(
        self, lmad: Lmad[Poly], scope: TreeBody, over: Sequence[Range], more: Context
    ) -> Lmad[Poly] | None:
        """Aggregate cells over all values of some indices; None if no LMAD in outer names has them.

        `more` holds besides the facts of the program.
        """
        key = scope, lmad, len(over)
        kept = self._kept if more is NOTHING else self._own
        if key not in kept:
            known = self._state.assumptions.at(scope).plus(more)
            found: Lmad[Poly] | None = lmad
            for one in reversed(over):
                if found is not None:
                    found = quotients.expanded(
                        found, one, known, self._state.terms, self._state.assumptions
                    )
            kept[key] = None if found is None or self._inside(found, scope) else found
        return kept[key]

    def _inside(self, lmad: Lmad[Poly], scope: TreeBody) -> bool:
        """True if an index function mentions a name bound in a scope."""
        return any(self._bound_in(name, scope) for name in lmad.names())

    def _bound_in(self, name: Name, scope: TreeBody) -> bool:
        """True if a name is bound in a scope or further inside."""
        found = self._state.terms.scope(name)
        return found is not None and found.depth >= scope.depth

    def others(
        self, use: Access, scope: TreeBody, over: Sequence[Range], only_later: bool
    ) -> Iterable[tuple[Access, str, Context]]:
        """Yield the use in other iterations, by the first index that differs.

        Each comes with a description, and the fact that there are such iterations.
        """
        if not over:
            yield self.leave(use, scope, ()), "other", NOTHING
            return
        for k, index in enumerate(over):
            inner = over[k + 1 :]
            at = Poly.var(index.name)
            later = Range(f"{index.name}'", at + 1, index.count - 1 - at)
            earlier = Range(f"{index.name}'", ZERO, at)
            for side, text in ((later, "later"), (earlier, "earlier")):
                if only_later and side is earlier:
                    continue
                some = self._state.assumptions.stated(side.count - 1)
                yield self._shifted(use, scope, over[: k + 1], index, side, inner), text, some

    def _shifted(
        self,
        use: Access,
        scope: TreeBody,
        fixed: Sequence[Range],
        index: Range,
        side: Range,
        inner: Sequence[Range],
    ) -> Access:
        """Return the use with one index in another range, aggregated over the inner ones."""
        if use.lmad is None:
            return use
        names = {one.name for one in fixed}
        lost: Name | None = None
        for lmad in (use.lmad, *use.wider):
            found: Lmad[Poly] | None = lmad
            for one in reversed(inner):
                found = expanded(found, one) if found is not None else None
            if found is not None:
                found = expanded(found.subst({index.name: Poly.var(side.name)}), side)
            if found is not None and not any(
                self._bound_in(name, scope) and name not in names for name in found.names()
            ):
                return with_lmad(use, found, lost)
            lost = self._lost(use.lmad, scope, (*fixed, *inner))
        return with_lmad(use, None, lost)
