"""Accesses as they look from outside of a loop, kernel or branch, and in its other iterations.

What depends on values computed inside is taken to be all of the array that is gone through.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.storage.short_circuit import quotients
from compiler.storage.short_circuit.access import Access, Range, expanded, with_lmad
from compiler.storage.short_circuit.assumptions import Assumptions
from compiler.storage.short_circuit.contexts import NOTHING, Context
from compiler.storage.short_circuit.summaries import Summaries
from compiler.storage.short_circuit.terms import ZERO, Terms
from compiler.storage.short_circuit.tree import TreeBody
from compiler.storage.short_circuit.uses import Uses

_Key = tuple[TreeBody, Lmad[Poly], int]


class OutsideViews:
    """How the accesses of bodies look from outside; found out once for all attempts."""

    def __init__(
        self,
        terms: Terms,
        assumptions: Assumptions,
        summaries: Summaries,
        checked: Context = NOTHING,
    ) -> None:
        """`checked`: what else holds, in one attempt, where one access is asked about."""
        self._terms = terms
        self._assumptions = assumptions
        self._checked = checked
        self._kept = summaries.outside
        self._own: dict[_Key, Lmad[Poly] | None] = {}

    def leave(self, access: Access, scope: TreeBody, over: Sequence[Range]) -> Access:
        """The access over all values of some indices."""
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
        """What is touched over all values of a body's indices."""
        return some.left(lambda use: self._leave(use, scope, over, NOTHING))

    def _lost(self, lmad: Lmad[Poly], scope: TreeBody, fixed: Iterable[Range]) -> Name:
        """A name that cells depend on and that means nothing outside of a scope; "" if none."""
        names = {one.name for one in fixed}
        inside = (x for x in sorted(lmad.names()) if x not in names and self._bound_in(x, scope))
        return next(inside, "")

    def _outside(
        self, lmad: Lmad[Poly], scope: TreeBody, over: Sequence[Range], more: Context
    ) -> Lmad[Poly] | None:
        """Cells for all values of some indices; None if no LMAD has them that means any outside.

        `more` is known beside what the program says there.
        """
        key = scope, lmad, len(over)
        kept = self._kept if more is NOTHING else self._own
        if key not in kept:
            known = self._assumptions.at(scope).plus(more)
            found: Lmad[Poly] | None = lmad
            for one in reversed(over):
                if found is not None:
                    found = quotients.expanded(found, one, known, self._terms, self._assumptions)
            kept[key] = None if found is None or self._inside(found, scope) else found
        return kept[key]

    def _inside(self, lmad: Lmad[Poly], scope: TreeBody) -> bool:
        """Whether an index function mentions what is bound in a scope."""
        return any(self._bound_in(name, scope) for name in lmad.names())

    def _bound_in(self, name: Name, scope: TreeBody) -> bool:
        """Whether a name is bound in a scope or further inside."""
        found = self._terms.scope(name)
        return found is not None and found.depth >= scope.depth

    def others(
        self, use: Access, scope: TreeBody, over: Sequence[Range], only_later: bool
    ) -> Iterable[tuple[Access, str, Context]]:
        """What other iterations touch: those that agree on the first indices, for each of them.

        With it which they are, and that there are any.
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
                some = self._assumptions.stated(side.count - 1)
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
        """The use with one index in another range, and all values of those inside of it."""
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
