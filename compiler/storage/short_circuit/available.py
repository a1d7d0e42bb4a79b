"""Condition 4: the place is known, and in bounds, where the array is created (thesis 6.2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.slices import as_lmad
from compiler.ir.walk import se_uses
from compiler.protocol.refusals import Refusal
from compiler.storage.short_circuit.analyses import Analyses
from compiler.storage.short_circuit.circuit_point import CircuitPoint
from compiler.storage.short_circuit.conditions import Failed
from compiler.storage.short_circuit.contexts import NOTHING, Context
from compiler.storage.short_circuit.project import NO_NAME, Projection, checks
from compiler.storage.short_circuit.tree import Item
from compiler.storage.short_circuit.wording import called


class Availability:
    """The check of condition 4 for one projection.

    `inside`: the destination's place is in bounds only by a check. `beside`: sizes around the
    place that must be natural.
    """

    def __init__(
        self,
        state: Analyses,
        plan: Projection,
        point: CircuitPoint,
        creation: Item,
        inside: bool,
        beside: tuple[Poly, ...],
    ) -> None:
        self.state = state
        self.plan = plan
        self.point = point
        self.creation = creation
        self.inside = inside
        self.beside = beside

    def check(self, target: ir.MemBind) -> None:
        """Check that the place is known at the creation, and in bounds. Raises Failed."""
        plan, point = self.plan, self.point
        if self.creation.scope is not point.scope:
            raise plan.built_otherwise(point.source)
        names = set(target.lmad.names()) | {target.block}
        plan.make_available(point.scope, self.creation, names, point.end, point.source)
        for array, mem in plan.new.items():
            for name in mem.lmad.names():
                if not self._in_scope(name, array):
                    raise Failed(Refusal.NO_NAME, NO_NAME)
        if point.row:
            self._row_inside()
        if isinstance(point.item.stm.exp, ir.Update) or plan.sizes or self.inside:
            self._lift_checks(names | plan.sizes)
        self._has_room()

    def _in_scope(self, name: Name, array: Name) -> bool:
        """True if a name can be used where an array is bound."""
        now, plan = self.state.now, self.plan
        at, item = now.tree.binder[array], plan.binder(name)
        return item is at or item in plan.lifted or now.visible(name, at)

    def _between(self) -> tuple[Item, ...]:
        """Return the statements from the creation to the point."""
        now = self.state.now
        return now.items(self.point.scope)[now.at(self.creation) : self.point.end]

    def _unproved(self, claims: Sequence[Poly], more: Context = NOTHING) -> Poly | None:
        """Return the first claim that is not proved at the creation, by `more` facts as well."""
        state = self.state
        known = state.known_in_front(self.creation, self.plan.lifted).plus(more)
        where = state.terms.normal_lmad(self.plan.new[self.point.source].lmad)
        return state.assumptions.unproved(claims, known, where)

    # --- sizes beside the place ---

    def _has_room(self) -> None:
        """Check that these sizes are natural, as far as known at the creation. Raises Failed.

        Lifts checks that come later.
        """
        state = self.state
        claims = [state.terms.normal(size) for size in self.beside]
        if self._negative(claims) is None:
            return
        names = set[Name]().union(*(size.names() for size in (*claims, *self.beside)))
        self._lift(checks(self._between(), names))
        missing = self._negative(claims)
        if missing is not None:
            raise Failed(
                Refusal.NO_ROOM,
                f"Where {called(state.now, self.point.source)} is created, it is not "
                f"known that {state.now.spell.poly(missing)} >= 0.",
                missing=(missing,),
            )

    def _negative(self, claims: Sequence[Poly]) -> Poly | None:
        """Return the first size that may be negative at the creation."""
        known = self.state.known_in_front(self.creation, self.plan.lifted)
        claims = [claim for claim in claims if not self.state.assumptions.is_size(claim, known)]
        return self._unproved(claims, Context(tuple(self._sizes(claims)))) if claims else None

    def _sizes(self, claims: Sequence[Poly]) -> Iterator[Poly]:
        """Yield sizes of arrays that exist before the creation, if related to the claims."""
        now = self.state.now
        names = set[Name]().union(*(size.names() for size in claims))
        for name in now.mem:
            if now.visible(name, self.creation):
                for size in map(self.state.terms.normal, now.array(name).shape):
                    if size.constant is None and size.names() & names:
                        yield size

    # --- bounds ---

    def _row_inside(self) -> None:
        """Check that computed indices are in bounds: otherwise the row is not written.

        Raises Failed.
        """
        now, normal = self.state.now, self.state.terms.normal
        shape = now.array(self.point.destination).shape
        claims: list[Poly] = []
        for at, size in zip(map(normal, self.point.row), shape, strict=False):
            claims += [at, normal(size) - 1 - at]
        missing = self._unproved(claims)
        if missing is not None:
            inside = f"inside {called(now, self.point.destination)}"
            needs = f"that needs {now.spell.poly(missing)} >= 0"
            because = f"It is not proved that the slice is {inside}: {needs}."
            raise Failed(Refusal.OUTSIDE, because, missing=(missing,))

    def _lift_checks(self, names: set[Name]) -> None:
        """Lift the bounds checks of the place. Raises Failed."""
        now, plan, point = self.state.now, self.plan, self.point
        is_update = isinstance(point.item.stm.exp, ir.Update)
        mentioned = {name for name in names if name != now.mem[point.destination].block}
        for lifted in plan.lifted:
            mentioned |= lifted.names
        for dim in point.dims:
            for se in (dim.start, *dim.strides):
                se_uses(se, mentioned.add)
        between = self._between()
        stuck = self._lift(checks(between, {name for name in mentioned if name not in now.mem}))
        if stuck is not None and (plan.sizes or not is_update):
            raise stuck
        left = [x for x in between if isinstance(x.stm.exp, ir.Assert) and x not in plan.lifted]
        if left and ((is_update and not self._slice_fits()) or self.inside):
            # Any of them may be the bounds check.
            stuck = self._lift(left)
            if stuck is not None:
                raise stuck

    def _lift(self, some: Sequence[Item]) -> Failed | None:
        """Lift checks before the creation; return why one cannot be lifted."""
        plan, point = self.plan, self.point
        stuck: Failed | None = None
        for check in some:
            try:
                source = point.source if plan.late is not None else ""
                plan.make_available(point.scope, self.creation, set(check.names), point.end, source)
                plan.lift([check])
            except Failed as failed:
                stuck = failed
        return stuck

    def _slice_fits(self) -> bool:
        """True if the checks before the creation prove the slice in bounds."""
        terms = self.state.terms
        shape = self.state.now.array(self.point.destination).shape
        claims: list[Poly] = []
        for dim, size in zip(self.point.dims, map(terms.normal, shape), strict=True):
            for cell in as_lmad(dim, terms.poly, terms.normal).corners():
                claims += [cell, size - 1 - cell]
        return self._unproved(claims) is None
