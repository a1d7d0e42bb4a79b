"""Find the points where an array is copied into place, and try to build it there (thesis 6.2).

A point is an update with an array, an operand of a concatenation or array literal, a copy, or a
kernel's result. Outer bodies come before inner ones and the last point before the first, so that an
array nested in others ends up in the outermost.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, count
from typing import cast

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.base.remarks import Applied, Missed
from compiler.base.rules import Rule
from compiler.ir import nodes as ir
from compiler.ir.sizes import poly_of
from compiler.ir.slices import as_lmad, with_indices
from compiler.ir.source_names import sentence
from compiler.ir.walk import se_uses
from compiler.protocol.refusals import Refusal
from compiler.storage.blocks import Meanings
from compiler.storage.short_circuit import costs, edits, in_place
from compiler.storage.short_circuit.assumptions import Assumptions
from compiler.storage.short_circuit.attempts import (
    CONCAT,
    COPY,
    GUARD,
    IN_PLACE_MAP,
    KERNEL_RESULT,
    UPDATE,
    Attempt,
)
from compiler.storage.short_circuit.budget import BUDGET, Budget
from compiler.storage.short_circuit.conditions import Failed, out_of_budget
from compiler.storage.short_circuit.contexts import NOTHING, Context
from compiler.storage.short_circuit.edit_state import Edited
from compiler.storage.short_circuit.guards import Guards
from compiler.storage.short_circuit.project import NO_NAME, Projection, checks, sliced
from compiler.storage.short_circuit.safety import Safety
from compiler.storage.short_circuit.summaries import Summaries
from compiler.storage.short_circuit.terms import ZERO, Terms
from compiler.storage.short_circuit.tree import Item, TreeBody
from compiler.storage.short_circuit.wording import called, describe_pair

_HINTS = 32
"""Maximum number of source changes tried per function: each takes a proof, and following one
means another compilation."""


@dataclass(frozen=True, slots=True)
class CircuitPoint:
    """A point: `source` goes into its place in `destination` at statement `end` of `scope`.

    Result `given` of a body goes there at its end, `end` being the number of statements.
    """

    rule: Rule
    scope: TreeBody
    end: int
    source: Name
    destination: Name
    item: Item
    given: int | None = None
    row: tuple[Poly, ...] = ()
    """Computed indices of the place; out of bounds, nothing is written."""
    beside: tuple[Poly, ...] = ()
    """Numbers of rows before and after the place, which is in bounds if these are natural; that
    may be checked only later."""
    dims: tuple[ir.DimIndex, ...] = ()
    """Indices of an update, with names for those that are no polynomials."""
    new: tuple[Item, ...] = ()
    """The statements that bind these names."""

    def update(self, lifted: Sequence[Item]) -> tuple[Item, ir.Stm] | None:
        """Return an update whose indices are replaced by names bound now; others stay."""
        old = self.item.stm
        if not isinstance(old.exp, ir.Update):
            return None
        plain = {item.stm.pat[0].name: item.stm.exp for item in self.new if item not in lifted}

        def bound(se: ir.SE) -> ir.SE:
            found = plain.get(se.name, se) if isinstance(se, ir.Var) else se
            return cast(ir.SE, found)

        dims = tuple(with_indices(dim, bound) for dim in self.dims)
        if dims == old.exp.dims:
            return None
        return self.item, replace(old, exp=replace(old.exp, dims=dims))


class Forced(Exception):
    """The forced attempt was made: the function is as if conditions 5 and 6 had held."""


class Shortcut:
    """Short-circuits one function."""

    def __init__(
        self,
        fun: ir.Function,
        ctx: Ctx,
        given: Context = NOTHING,
        forced: int | None = None,
        budget: Budget | None = None,
        numbers: Iterator[int] | None = None,
    ) -> None:
        """`given`: additional facts in the function.

        `forced`: number of the last attempt, made regardless of what it overwrites: `run` raises
        Forced then, if no other condition fails. `budget`: proof steps for the whole program.
        """
        self.ctx = ctx
        self.now = Edited(fun, ctx.names.said)
        self.terms = Terms(self.now)
        self.assumptions = Assumptions(self.now, self.terms, given, budget)
        self.attempts: list[Attempt] = []
        self.meant: dict[str, Name] = {}
        """The names that amounts spell so."""
        self.numbers = numbers or count()
        self.forced = forced
        self.tried = 0
        """Number of source changes tried for hints."""
        self.inside: set[Name] = set()
        """Arrays that became parts of others, or whose sizes hold by a check: checked to fit
        when created."""
        self.beside: dict[Name, tuple[Poly, ...]] = {}
        """Sizes that must be natural, for arrays that became parts of others."""
        self.meanings = Meanings(fun.body.stms, self.now.block)
        self.summaries = Summaries(self.now)

    def run(self) -> ir.Function:
        """Make all attempts; return the resulting function."""
        overwriting = not self._off(IN_PLACE_MAP)
        if overwriting:
            self._overwriting(self.now.tree.root, True)
        self._scope(self.now.tree.root)
        if overwriting:
            self._overwriting(self.now.tree.root, False)
        if not self._off(GUARD):
            guards = Guards(self.now, self.terms, self.assumptions, self.ctx, self.numbers)
            self.attempts += guards.prove(self.now.tree.root)
        if not any(attempt.done for attempt in self.attempts):
            return self.now.tree.fun
        return self.now.rebuilt()

    def _scope(self, scope: TreeBody) -> None:
        if scope.kind == "operator":
            return
        self._results(scope)
        for item in reversed(self.now.items(scope)):
            self._item(item)
        for item in reversed(self.now.items(scope)):
            for child in reversed(item.children):
                self._scope(child)

    # --- in-place maps ---

    def _overwriting(self, scope: TreeBody, carried: bool) -> None:
        """Try in-place maps, inner bodies first.

        First those that overwrite loop-carried arrays, so that their memory is one block; the
        others once everything else is built in place.
        """
        if scope.kind == "operator":
            return
        for item in self.now.items(scope):
            for child in item.children:
                self._overwriting(child, carried)
            self._overwrite(item, carried)
            for param, result, start in in_place.unchanged_blocks(self.now, item):
                edits.apply(self.now, edits.StopCarrying(item, param, result, start))
                self.meanings.changed()
                self.summaries.forget()

    def _overwrite(self, item: Item, carried: bool) -> None:
        """Try to let a kernel's results take the places of arrays that it reads last."""
        done: set[Name] = set()
        for name, array in in_place.candidates(self.now, self.terms, item, carried):
            target = self.now.mem[array]
            if name in done or target.block in done:
                continue
            attempt = Attempt(next(self.numbers), IN_PLACE_MAP, name, array, item.stm.prov, target)
            kind = self.now.array(name)
            attempt.allocated = (self._bytes(kind.prim, Poly.product(kind.shape)),)
            try:
                self._overwritable(attempt, target.block, item)
            except Failed as failed:
                self._not_reused(attempt, failed)
            else:
                if self._reuse(attempt):
                    done |= {name, target.block}

    def _overwritable(self, attempt: Attempt, block: Name, item: Item) -> None:
        """Check that a statement's result may take over a block. Raises Failed.

        Gives a hint only if all else is well.
        """
        self._afford(attempt)
        changeable = self._needed(block, item)
        new = self._renamed(attempt.source, block)
        if changeable is None and len(self.attempts) == self.forced:
            self._reuse(attempt)
            attempt.moved = new
            raise Forced
        common = (self.now, self.terms, self.assumptions, self.meanings)
        safety = Safety(*common, new, block, summaries=self.summaries)
        attempt.obligations = safety.comparison.obligations
        try:
            if isinstance(item.stm.exp, ir.SegMap):
                safety.item(item)
            elif isinstance(item.stm.exp, ir.Loop):
                first = self.now.tree.binder[attempt.source]
                safety.segment(item.scope, self.now.at(first), self.now.at(item) + 1)
        except Failed as failed:
            if changeable is None:
                raise
            raise Failed(changeable.refusal, changeable.because) from failed
        if changeable is not None:
            raise changeable

    def _needed(self, block: Name, item: Item) -> Failed | None:
        """Return why a block is still needed, if the author can change that. Raises Failed."""
        try:
            in_place.nobody_needs(self.now, self.meanings.of, block, item)
        except Failed as failed:
            made_up = failed.refusal is Refusal.START_KEPT and self._is_made_up(block)
            if made_up or not self.ctx.is_shown or self.tried == _HINTS:
                raise Failed(failed.refusal, failed.because) from None
            if not failed.hint:
                raise
            self.tried += 1
            return failed
        return None

    def _is_made_up(self, block: Name) -> bool:
        """True if the loop that carries a block is compiler-generated."""
        return self.ctx.source.loops.isdisjoint(self.now.tree.binder[block].stm.prov)

    def _renamed(self, name: Name, block: Name) -> dict[Name, ir.MemBind]:
        """Rebind all arrays that share a block with `name` to another block."""
        mem = self.now.mem
        return {
            other: ir.MemBind(block, mem[other].lmad) for other in self.now.members[mem[name].block]
        }

    def _not_reused(self, attempt: Attempt, failed: Failed) -> None:
        self.attempts.append(attempt)
        attempt.refused(failed)
        if failed.condition == 6 and not failed.hint:
            return  # Not reported: most arrays are used again.
        source, destination = describe_pair(self.now, attempt.source, attempt.destination)
        because = sentence(f"{source} does not take the place of {destination}. {failed.because}")
        numbers = (("allocated", self._amount(attempt.allocated)),)
        missed = Missed(because, attempt.hint, numbers, failed.refusal.id)
        self.ctx.commit(IN_PLACE_MAP, attempt.prov, missed, attempt.number)

    def _reuse(self, attempt: Attempt) -> bool:
        """Give the result the block that it overwrites; False if fuel has run out."""
        name, array = attempt.source, attempt.destination
        source, destination = describe_pair(self.now, name, array)
        because = sentence(
            f"{source} takes the place of {destination}, which nothing uses any more."
        )
        numbers = (("allocated", self._amount(attempt.allocated)),)
        new = Applied(attempt, because, numbers)
        if self.ctx.commit(IN_PLACE_MAP, attempt.prov, new, attempt.number) is None:
            return False
        self.attempts.append(attempt)
        attempt.done, attempt.because, attempt.creation = True, because, name
        old = self.now.mem[name].block
        assert attempt.target is not None
        edits.apply(self.now, edits.TakeBlock(old, attempt.target.block))
        self.meanings.changed()
        self.summaries.forget()
        attempt.projected = self.now.mem[name]
        attempt.moved = {name: attempt.projected}
        return True

    def _bytes(self, prim: Prim, count: Poly) -> Poly:
        """Return a number of elements in bytes, in the function's sizes if possible."""
        normal = self.terms.normal(count)
        plain = count if any(name in self.terms.atoms for name in normal.names()) else normal
        spelt = {name: self.now.spell.number(name) for name in sorted(plain.names())}
        self.meant |= {said: name for name, said in spelt.items()}
        return plain.subst({name: Poly.var(said) for name, said in spelt.items()}) * BYTES[prim]

    def _amount(self, sizes: tuple[Poly, ...]) -> str:
        """Format numbers of bytes, such as `4*n*m B`."""
        return " or ".join(dict.fromkeys(f"{size} B" for size in sizes))

    def _off(self, rule: Rule) -> bool:
        return self.ctx.options.is_off(rule)

    # --- points ---

    def _results(self, scope: TreeBody) -> None:
        """Attempt the array results of a kernel, except those of reductions and scans."""
        item = scope.parent
        if item is None or scope.kind != "kernel" or isinstance(item.stm.exp, ir.SegHist):
            return
        exp = item.stm.exp
        assert isinstance(exp, ir.SegMapping)
        thread = [Poly.var(index) for index, _ in exp.space.dims]
        folded = 0 if isinstance(exp, ir.SegMap) else sum(len(op.neutral) for op in exp.ops)
        pairs = list(enumerate(zip(item.stm.pat, scope.results, strict=True)))
        for k, (param, result) in reversed(pairs[folded:]):
            if isinstance(result, str) and isinstance(param.type, ir.Array):
                full = self.now.mem[param.name]
                target = full.row(*thread)
                end = len(self.now.items(scope))
                at = CircuitPoint(KERNEL_RESULT, scope, end, result, param.name, item, k)
                self._try(at, target)
            elif isinstance(result, ir.Write):
                self._rows(scope, param.name, result, k, item)

    def _rows(self, scope: TreeBody, name: Name, write: ir.Write, given: int, item: Item) -> None:
        """Attempt arrays that a kernel writes at computed indices."""
        full = self.now.mem[name]
        for at, value in reversed(write.writes):
            if isinstance(value, str) and len([v for _, v in write.writes if v == value]) == 1:
                plain = [poly_of(index) for index in at]
                row = tuple(
                    self.terms.poly(index) if found is None else found
                    for found, index in zip(plain, at, strict=True)
                )
                target = full.row(*row)
                end = len(self.now.items(scope))
                point = CircuitPoint(KERNEL_RESULT, scope, end, value, name, item, given, row)
                self._try(point, target)

    def _item(self, item: Item) -> None:
        exp = item.stm.exp
        mem = self.now.mem
        match exp:
            case ir.Update(_, dims, str(value)):
                name = item.stm.pat[0].name
                full = mem[name]
                point = CircuitPoint(UPDATE, item.scope, self.now.at(item), value, name, item)
                if mem[value].block == full.block:
                    return
                new: list[Item] = []
                dims = tuple(
                    with_indices(dim, lambda se: self._name(se, item, new)) for dim in dims
                )
                lmad = sliced(self.terms, full.lmad, dims, item)
                self._try(replace(point, dims=dims, new=tuple(new)), ir.MemBind(full.block, lmad))
            case ir.Copy(array):
                name = item.stm.pat[0].name
                self._try(
                    CircuitPoint(COPY, item.scope, self.now.at(item), array, name, item), mem[name]
                )
            case ir.Concat() | ir.ArrayLit():
                name = item.stm.pat[0].name
                for source, target, beside in reversed(list(self._parts(mem[name], exp))):
                    point = CircuitPoint(
                        CONCAT, item.scope, self.now.at(item), source, name, item, beside=beside
                    )
                    self._try(point, target)

    def _name(self, se: ir.SE, item: Item, new: list[Item]) -> ir.SE:
        """Return an index, or a name for one that is no polynomial or may wrap.

        The name is bound if the attempt succeeds.
        """
        poly = poly_of(se)
        if poly is not None and self.terms.is_read_so(poly, se):
            return se
        found = self.terms.named(se, item)
        if found is None:
            found = self.ctx.fresh("at")
            new.append(self.terms.define(found, se, item))
        return ir.Var(found, "i64")

    def _parts(
        self, full: ir.MemBind, exp: ir.Concat | ir.ArrayLit
    ) -> Iterator[tuple[Name, ir.MemBind, tuple[Poly, ...]]]:
        """Yield the operands with their places, and the sizes before and after them."""
        if isinstance(exp, ir.ArrayLit):
            for k, elem in enumerate(exp.elems):
                if isinstance(elem, str):
                    yield elem, full.row(Poly.const(k)), ()
            return
        counts = [self.now.array(name).shape[0] for name in exp.arrays]
        starts = [*accumulate(counts, initial=ZERO)]
        after = [*accumulate(reversed(counts), initial=ZERO)][-2::-1]
        for name, start, size, rest in zip(exp.arrays, starts, counts, after, strict=False):
            yield name, full.rows(start, size), (start, rest)

    # --- one attempt ---

    def _attempt(self, point: CircuitPoint, target: ir.MemBind | None) -> Attempt:
        kind = self.now.array(self._reshaped(point.source))
        what = point.source, point.destination, point.item.stm.prov
        attempt = Attempt(next(self.numbers), point.rule, *what, target)
        attempt.copied = (self._bytes(kind.prim, Poly.product(kind.shape)),)
        self.attempts.append(attempt)
        return attempt

    def _reshaped(self, name: Name) -> Name:
        """Return the array of which it is a reshape: after a check, sizes may have other names."""
        item = self.now.binder(name)
        while item is not None and isinstance(item.stm.exp, ir.Rearrange | ir.Reshape):
            name = item.stm.exp.array
            item = self.now.binder(name)
        return name

    def _try(self, point: CircuitPoint, target: ir.MemBind) -> None:
        """Build the array in place if that is safe."""
        if self._off(point.rule):
            return
        mine = self.now.mem[point.source]
        normal = self.terms.normal_lmad
        if mine.block == target.block and normal(mine.lmad).same_cells(normal(target.lmad)):
            return
        attempt = self._attempt(point, target)
        plan = Projection(self.now, self.terms, self.assumptions, point.new)
        try:
            creation = self._creation(point, target, attempt, plan)
        except Failed as failed:
            late = plan.late
            if late is not None and late.refusal is Refusal.USED_AGAIN:
                # The author's change has been assumed: all other conditions must hold as well.
                tried = failed is late and point.rule is not COPY
                failed = late if tried else Failed(late.refusal, late.because)
            self._refuse(attempt, failed)
            return
        attempt.creation = _created(creation, plan)
        attempt.projected = plan.new.get(attempt.creation)
        attempt.lifted = [p.name for item in plan.lifted for p in item.stm.pat]
        self._commit(point, plan, creation, attempt)

    def _creation(
        self, point: CircuitPoint, target: ir.MemBind, attempt: Attempt, plan: Projection
    ) -> Item:
        """Return the statement that creates the array, if it may do so in place. Raises Failed."""
        self._afford(attempt)
        if point.rule is KERNEL_RESULT:
            slower = costs.why_slower(self.now, point.source, point.scope)
            if slower is not None and not self.ctx.target.in_step:
                raise slower
        creation = plan.build(point.scope, point.end, point.source, target, point.given)
        plan.make_room(point.scope, creation, point.destination, point.end)
        self._available(plan, point, target, creation)
        if len(self.attempts) - 1 == self.forced and plan.late is None:
            self._commit(point, plan, creation, attempt)
            raise Forced
        safety = Safety(
            self.now,
            self.terms,
            self.assumptions,
            self.meanings,
            plan.new,
            target.block,
            self.terms.normal_lmad(self.now.mem[point.destination].lmad),
            self.assumptions.checked(plan.lifted),
            frozenset(plan.lifted),
            self.summaries,
        )
        attempt.obligations = safety.comparison.obligations
        safety.segment(point.scope, self.now.at(creation), point.end)
        rows = point.rule is KERNEL_RESULT and not point.row
        safety.others(point.scope, target.lmad, point.source, rows)
        if plan.late is not None:
            raise plan.late
        return creation

    def _afford(self, attempt: Attempt) -> None:
        """Check that proof steps are left; remarks once if not. Raises Failed."""
        budget = self.assumptions.budget
        if not budget.is_spent:
            return
        if not budget.told:
            budget.told = True
            self.ctx.tell("note", BUDGET, attempt.prov, budget.said)
        raise out_of_budget()

    def _refuse(self, attempt: Attempt, failed: Failed) -> None:
        attempt.refused(failed)
        because = f"{self._words(attempt, False)}. {failed.because}"
        numbers = (("copied", self._amount(attempt.copied)),)
        missed = Missed(because, attempt.hint, numbers, failed.refusal.id)
        self.ctx.commit(attempt.rule, attempt.prov, missed, attempt.number)

    def _words(self, attempt: Attempt, done: bool) -> str:
        """Describe what happens to the source, as a sentence without its full stop."""
        source, destination = describe_pair(self.now, attempt.source, attempt.destination)
        if attempt.rule is KERNEL_RESULT:
            how = f"builds {source} in" if done else f"copies {source} into"
            return f"Every point {how} its row of {destination}"
        if destination == f"a copy of {source}":
            return f"Builds {source} where its copy lies" if done else f"Copies {source}"
        how = f"Builds {source} in" if done else f"Copies {source} into"
        return f"{how} its place in {destination}"

    def _commit(
        self, point: CircuitPoint, plan: Projection, creation: Item, attempt: Attempt
    ) -> None:
        saved = (
            self._bytes(item.stm.exp.prim, item.stm.exp.count)
            for item in plan.allocations
            if isinstance(item.stm.exp, ir.Alloc)
        )
        attempt.allocated = tuple(dict.fromkeys(saved))
        attempt.moved = dict(plan.new)
        because = f"{self._words(attempt, True)}, and nothing is copied."
        numbers = (
            ("copied", self._amount(attempt.copied)),
            ("allocated", self._amount(attempt.allocated)),
        )
        new = Applied(plan, because, numbers)
        if self.ctx.commit(point.rule, attempt.prov, new, attempt.number) is None:
            attempt.because = "There is no fuel left."
            return
        attempt.done, attempt.because = True, because
        within = point.rule is not KERNEL_RESULT and point.destination in self.inside
        if point.rule is UPDATE or within or plan.sizes:
            self.inside.update(plan.new)
        beside = self._beside(point)
        if beside:
            self.beside |= dict.fromkeys(plan.new, beside)
        edits.apply(self.now, plan.edit(creation, point.update(plan.lifted)))
        self.summaries.moved(plan.new)
        self.summaries.changed(point.item)

    # --- condition 4 ---

    def _available(
        self, plan: Projection, point: CircuitPoint, target: ir.MemBind, creation: Item
    ) -> None:
        """Check that the place is known at the creation, and in bounds. Raises Failed."""
        if creation.scope is not point.scope:
            raise plan.built_otherwise(point.source)
        names = set(target.lmad.names()) | {target.block}
        plan.make_available(point.scope, creation, names, point.end, point.source)
        for array, mem in plan.new.items():
            for name in mem.lmad.names():
                if not self._in_scope(name, array, plan):
                    raise Failed(Refusal.NO_NAME, NO_NAME)
        if point.row:
            self._inside(plan, point, creation)
        if (
            isinstance(point.item.stm.exp, ir.Update)
            or plan.sizes
            or point.destination in self.inside
        ):
            self._checked(plan, point, creation, names | plan.sizes)
        self._has_room(plan, point, creation)

    def _beside(self, point: CircuitPoint) -> tuple[Poly, ...]:
        """Return the sizes before and after the place, and those of its enclosing places."""
        found = (*point.beside, *self.beside.get(point.destination, ()))
        return tuple(
            dict.fromkeys(size for size in found if (size.constant or 0) < 0 or size.names())
        )

    def _has_room(self, plan: Projection, point: CircuitPoint, creation: Item) -> None:
        """Check that these sizes are natural, as far as known at the creation. Raises Failed.

        Lifts checks that come later.
        """
        claims = [self.terms.normal(size) for size in self._beside(point)]
        missing = self._negative(plan, point, creation, claims)
        if missing is None:
            return
        between = self.now.items(point.scope)[self.now.at(creation) : point.end]
        names = set[Name]().union(*(size.names() for size in (*claims, *self._beside(point))))
        self._first(plan, point, creation, checks(between, names))
        missing = self._negative(plan, point, creation, claims)
        if missing is not None:
            raise Failed(
                Refusal.NO_ROOM,
                f"It is not known yet where {called(self.now, point.source)} is created that"
                f" {self.now.spell.poly(missing)} >= 0.",
                missing=(missing,),
            )

    def _negative(
        self,
        plan: Projection,
        point: CircuitPoint,
        creation: Item,
        claims: Sequence[Poly],
    ) -> Poly | None:
        """Return the first size that may be negative at the creation."""
        known = self.assumptions.in_front(creation)
        known = known.plus(self.assumptions.checked(plan.lifted))
        claims = [claim for claim in claims if not self.assumptions.is_size(claim, known)]
        if not claims:
            return None
        known = known.plus(Context(tuple(self._sizes(creation, claims))))
        where = self.terms.normal_lmad(plan.new[point.source].lmad)
        return self.assumptions.unproved(claims, known, where)

    def _sizes(self, creation: Item, claims: Sequence[Poly]) -> Iterator[Poly]:
        """Yield sizes of arrays that exist before a statement, if related to the claims."""
        now = self.now
        names = set[Name]().union(*(size.names() for size in claims))
        for name in now.mem:
            if now.visible(name, creation):
                for size in map(self.terms.normal, now.array(name).shape):
                    if size.constant is None and size.names() & names:
                        yield size

    def _inside(self, plan: Projection, point: CircuitPoint, creation: Item) -> None:
        """Check that computed indices are in bounds: otherwise the row is not written.

        Raises Failed.
        """
        shape = self.now.array(point.destination).shape
        known = self.assumptions.in_front(creation)
        known = known.plus(self.assumptions.checked(plan.lifted))
        claims: list[Poly] = []
        for at, size in zip(point.row, shape, strict=False):
            index = self.terms.normal(at)
            claims += [index, self.terms.normal(size) - 1 - index]
        where = self.terms.normal_lmad(plan.new[point.source].lmad)
        missing = self.assumptions.unproved(claims, known, where)
        if missing is not None:
            inside = f"inside of {called(self.now, point.destination)}"
            needs = f"that needs {self.now.spell.poly(missing)} >= 0"
            because = f"It is not proved that the place is {inside}: {needs}."
            raise Failed(Refusal.OUTSIDE, because, missing=(missing,))

    def _in_scope(self, name: Name, array: Name, plan: Projection) -> bool:
        """True if a name can be used where an array is bound."""
        at, item = self.now.tree.binder[array], plan.binder(name)
        return item is at or item in plan.lifted or self.now.visible(name, at)

    def _checked(
        self, plan: Projection, point: CircuitPoint, creation: Item, names: set[Name]
    ) -> None:
        """Lift the bounds checks of the place."""
        between = self.now.items(point.scope)[self.now.at(creation) : point.end]
        exp = point.item.stm.exp
        mentioned = {name for name in names if name != self.now.mem[point.destination].block}
        for lifted in plan.lifted:
            mentioned |= lifted.names
        for dim in point.dims:
            for se in (dim.start, *dim.strides):
                se_uses(se, mentioned.add)
        mentioned = {name for name in mentioned if name not in self.now.mem}
        stuck = self._first(plan, point, creation, checks(between, mentioned))
        if stuck is not None and (plan.sizes or not isinstance(exp, ir.Update)):
            raise stuck
        left = [x for x in between if isinstance(x.stm.exp, ir.Assert) and x not in plan.lifted]
        if not left:
            return
        fits = not isinstance(exp, ir.Update) or self._fits(plan, point, creation)
        if not fits or point.destination in self.inside:
            # Any of them may be the bounds check.
            stuck = self._first(plan, point, creation, left)
            if stuck is not None:
                raise stuck

    def _first(
        self,
        plan: Projection,
        point: CircuitPoint,
        creation: Item,
        checks: Sequence[Item],
    ) -> Failed | None:
        """Lift checks before the creation; return why one cannot be lifted."""
        stuck: Failed | None = None
        for check in checks:
            try:
                source = point.source if plan.late is not None else ""
                plan.make_available(point.scope, creation, set(check.names), point.end, source)
                plan.lift([check])
            except Failed as failed:
                stuck = failed
        return stuck

    def _fits(self, plan: Projection, point: CircuitPoint, creation: Item) -> bool:
        """True if the checks before the creation prove the slice in bounds."""
        known = self.assumptions.in_front(creation)
        known = known.plus(self.assumptions.checked(plan.lifted))
        shape = self.now.array(point.destination).shape
        claims: list[Poly] = []
        for dim, size in zip(point.dims, map(self.terms.normal, shape), strict=True):
            part = as_lmad(dim, self.terms.poly, self.terms.normal)
            for cell in part.corners():
                claims += [cell, size - 1 - cell]
        where = self.terms.normal_lmad(plan.new[point.source].lmad)
        return self.assumptions.unproved(claims, known, where) is None


def _created(creation: Item, plan: Projection) -> Name:
    return next((p.name for p in creation.stm.pat if p.name in plan.new), "")
