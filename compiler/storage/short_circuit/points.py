"""Find the points where an array is copied into place, and try to build it there (thesis 6.2).

A point is an update with an array, an operand of a concatenation or array literal, a copy, or a
kernel's result. Outer bodies come before inner ones and the last point before the first, so that an
array nested in others ends up in the outermost.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, count

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.base.remarks import Applied, Missed
from compiler.base.rules import Rule
from compiler.ir import nodes as ir
from compiler.ir.sizes import poly_of
from compiler.ir.slices import with_indices
from compiler.ir.source_names import sentence
from compiler.protocol.refusals import Refusal
from compiler.storage.short_circuit import costs, edits, in_place
from compiler.storage.short_circuit.analyses import Analyses
from compiler.storage.short_circuit.attempts import (
    CONCAT,
    COPY,
    GUARD,
    IN_PLACE_MAP,
    KERNEL_RESULT,
    UPDATE,
    Attempt,
)
from compiler.storage.short_circuit.available import Availability
from compiler.storage.short_circuit.budget import BUDGET, Budget
from compiler.storage.short_circuit.circuit_point import CircuitPoint
from compiler.storage.short_circuit.conditions import Failed, out_of_budget
from compiler.storage.short_circuit.contexts import NOTHING, Context
from compiler.storage.short_circuit.guards import Guards
from compiler.storage.short_circuit.project import Projection, sliced
from compiler.storage.short_circuit.safety import Safety
from compiler.storage.short_circuit.terms import ZERO
from compiler.storage.short_circuit.tree import Item, TreeBody
from compiler.storage.short_circuit.wording import describe_pair

_HINTS = 32
"""Maximum number of source changes tried per function: each takes a proof, and following one
means another compilation."""


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
        self.state = Analyses(fun, ctx.names.said, given, budget)
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

    def run(self) -> ir.Function:
        """Make all attempts; return the resulting function."""
        overwriting = not self._off(IN_PLACE_MAP)
        if overwriting:
            self._overwriting(self.state.now.tree.root, True)
        self._scope(self.state.now.tree.root)
        if overwriting:
            self._overwriting(self.state.now.tree.root, False)
        if not self._off(GUARD):
            guards = Guards(self.state, self.ctx, self.numbers)
            self.attempts += guards.prove(self.state.now.tree.root)
        if not any(attempt.done for attempt in self.attempts):
            return self.state.now.tree.fun
        return self.state.now.rebuilt()

    def _scope(self, scope: TreeBody) -> None:
        if scope.kind == "operator":
            return
        self._results(scope)
        for item in reversed(self.state.now.items(scope)):
            self._item(item)
        for item in reversed(self.state.now.items(scope)):
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
        for item in self.state.now.items(scope):
            for child in item.children:
                self._overwriting(child, carried)
            self._overwrite(item, carried)
            for param, result, start in in_place.unchanged_blocks(self.state.now, item):
                self.state.apply(edits.StopCarrying(item, param, result, start))

    def _overwrite(self, item: Item, carried: bool) -> None:
        """Try to let a kernel's results take the places of arrays that it reads last."""
        done: set[Name] = set()
        for name, array in in_place.candidates(self.state.now, self.state.terms, item, carried):
            target = self.state.now.mem[array]
            if name in done or target.block in done:
                continue
            attempt = Attempt(next(self.numbers), IN_PLACE_MAP, name, array, item.stm.prov, target)
            kind = self.state.now.array(name)
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
        safety = Safety(self.state, new, block)
        attempt.obligations = safety.comparison.obligations
        try:
            if isinstance(item.stm.exp, ir.SegMap):
                safety.item(item)
            elif isinstance(item.stm.exp, ir.Loop):
                first = self.state.now.tree.binder[attempt.source]
                safety.segment(item.scope, self.state.now.at(first), self.state.now.at(item) + 1)
        except Failed as failed:
            if changeable is None:
                raise
            raise Failed(changeable.refusal, changeable.because) from failed
        if changeable is not None:
            raise changeable

    def _needed(self, block: Name, item: Item) -> Failed | None:
        """Return why a block is still needed, if the author can change that. Raises Failed."""
        try:
            in_place.nobody_needs(self.state.now, self.state.meanings.of, block, item)
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
        return self.ctx.source.loops.isdisjoint(self.state.now.tree.binder[block].stm.prov)

    def _renamed(self, name: Name, block: Name) -> dict[Name, ir.MemBind]:
        """Rebind all arrays that share a block with `name` to another block."""
        mem = self.state.now.mem
        return {
            other: ir.MemBind(block, mem[other].lmad)
            for other in self.state.now.members[mem[name].block]
        }

    def _not_reused(self, attempt: Attempt, failed: Failed) -> None:
        self.attempts.append(attempt)
        attempt.refused(failed)
        if failed.condition == 6 and not failed.hint:
            return  # Not reported: most arrays are used again.
        source, destination = describe_pair(self.state.now, attempt.source, attempt.destination)
        because = sentence(f"{source} does not take the place of {destination}. {failed.because}")
        numbers = (("allocated", self._amount(attempt.allocated)),)
        missed = Missed(because, attempt.hint, numbers, failed.refusal.id)
        self.ctx.commit(IN_PLACE_MAP, attempt.prov, missed, attempt.number)

    def _reuse(self, attempt: Attempt) -> bool:
        """Give the result the block that it overwrites; False if fuel has run out."""
        name, array = attempt.source, attempt.destination
        source, destination = describe_pair(self.state.now, name, array)
        because = sentence(f"{source} overwrites {destination}, which is no longer used.")
        numbers = (("allocated", self._amount(attempt.allocated)),)
        new = Applied(attempt, because, numbers)
        if self.ctx.commit(IN_PLACE_MAP, attempt.prov, new, attempt.number) is None:
            return False
        self.attempts.append(attempt)
        attempt.done, attempt.because, attempt.creation = True, because, name
        old = self.state.now.mem[name].block
        assert attempt.target is not None
        self.state.apply(edits.TakeBlock(old, attempt.target.block))
        attempt.projected = self.state.now.mem[name]
        attempt.moved = {name: attempt.projected}
        return True

    def _bytes(self, prim: Prim, count: Poly) -> Poly:
        """Return a number of elements in bytes, in the function's sizes if possible."""
        normal = self.state.terms.normal(count)
        plain = count if any(name in self.state.terms.atoms for name in normal.names()) else normal
        spelt = {name: self.state.now.spell.number(name) for name in sorted(plain.names())}
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
                full = self.state.now.mem[param.name]
                target = full.row(*thread)
                end = len(self.state.now.items(scope))
                at = CircuitPoint(KERNEL_RESULT, scope, end, result, param.name, item, k)
                self._try(at, target)
            elif isinstance(result, ir.Write):
                self._rows(scope, param.name, result, k, item)

    def _rows(self, scope: TreeBody, name: Name, write: ir.Write, given: int, item: Item) -> None:
        """Attempt arrays that a kernel writes at computed indices."""
        full = self.state.now.mem[name]
        for at, value in reversed(write.writes):
            if isinstance(value, str) and len([v for _, v in write.writes if v == value]) == 1:
                plain = [poly_of(index) for index in at]
                row = tuple(
                    self.state.terms.poly(index) if found is None else found
                    for found, index in zip(plain, at, strict=True)
                )
                target = full.row(*row)
                end = len(self.state.now.items(scope))
                point = CircuitPoint(KERNEL_RESULT, scope, end, value, name, item, given, row)
                self._try(point, target)

    def _item(self, item: Item) -> None:
        exp = item.stm.exp
        mem = self.state.now.mem
        match exp:
            case ir.Update(_, dims, str(value)):
                name = item.stm.pat[0].name
                full = mem[name]
                point = CircuitPoint(UPDATE, item.scope, self.state.now.at(item), value, name, item)
                if mem[value].block == full.block:
                    return
                new: list[Item] = []
                dims = tuple(
                    with_indices(dim, lambda se: self._name(se, item, new)) for dim in dims
                )
                lmad = sliced(self.state.terms, full.lmad, dims, item)
                self._try(replace(point, dims=dims, new=tuple(new)), ir.MemBind(full.block, lmad))
            case ir.Copy(array):
                name = item.stm.pat[0].name
                self._try(
                    CircuitPoint(COPY, item.scope, self.state.now.at(item), array, name, item),
                    mem[name],
                )
            case ir.Concat() | ir.ArrayLit():
                name = item.stm.pat[0].name
                for source, target, beside in reversed(list(self._parts(mem[name], exp))):
                    point = CircuitPoint(
                        CONCAT,
                        item.scope,
                        self.state.now.at(item),
                        source,
                        name,
                        item,
                        beside=beside,
                    )
                    self._try(point, target)

    def _name(self, se: ir.SE, item: Item, new: list[Item]) -> ir.SE:
        """Return an index, or a name for one that is no polynomial or may wrap.

        The name is bound if the attempt succeeds.
        """
        poly = poly_of(se)
        if poly is not None and self.state.terms.is_read_so(poly, se):
            return se
        found = self.state.terms.named(se, item)
        if found is None:
            found = self.ctx.fresh("at")
            new.append(self.state.terms.define(found, se, item))
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
        counts = [self.state.now.array(name).shape[0] for name in exp.arrays]
        starts = [*accumulate(counts, initial=ZERO)]
        after = [*accumulate(reversed(counts), initial=ZERO)][-2::-1]
        for name, start, size, rest in zip(exp.arrays, starts, counts, after, strict=False):
            yield name, full.rows(start, size), (start, rest)

    # --- one attempt ---

    def _attempt(self, point: CircuitPoint, target: ir.MemBind | None) -> Attempt:
        kind = self.state.now.array(self._reshaped(point.source))
        what = point.source, point.destination, point.item.stm.prov
        attempt = Attempt(next(self.numbers), point.rule, *what, target)
        attempt.copied = (self._bytes(kind.prim, Poly.product(kind.shape)),)
        self.attempts.append(attempt)
        return attempt

    def _reshaped(self, name: Name) -> Name:
        """Return the array of which it is a reshape: after a check, sizes may have other names."""
        item = self.state.now.binder(name)
        while item is not None and isinstance(item.stm.exp, ir.Rearrange | ir.Reshape):
            name = item.stm.exp.array
            item = self.state.now.binder(name)
        return name

    def _try(self, point: CircuitPoint, target: ir.MemBind) -> None:
        """Build the array in place if that is safe."""
        if self._off(point.rule):
            return
        mine = self.state.now.mem[point.source]
        normal = self.state.terms.normal_lmad
        if mine.block == target.block and normal(mine.lmad).same_cells(normal(target.lmad)):
            return
        attempt = self._attempt(point, target)
        plan = Projection(self.state, point.new)
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
            slower = costs.why_slower(self.state.now, point.source, point.scope)
            if slower is not None and not self.ctx.target.in_step:
                raise slower
        creation = plan.build(point.scope, point.end, point.source, target, point.given)
        plan.make_room(point.scope, creation, point.destination, point.end)
        inside = point.destination in self.inside
        Availability(self.state, plan, point, creation, inside, self._beside(point)).check(target)
        if len(self.attempts) - 1 == self.forced and plan.late is None:
            self._commit(point, plan, creation, attempt)
            raise Forced
        safety = Safety(
            self.state,
            plan.new,
            target.block,
            self.state.terms.normal_lmad(self.state.now.mem[point.destination].lmad),
            self.state.assumptions.checked(plan.lifted),
            frozenset(plan.lifted),
        )
        attempt.obligations = safety.comparison.obligations
        safety.segment(point.scope, self.state.now.at(creation), point.end)
        rows = point.rule is KERNEL_RESULT and not point.row
        safety.others(point.scope, target.lmad, point.source, rows)
        if plan.late is not None:
            raise plan.late
        return creation

    def _afford(self, attempt: Attempt) -> None:
        """Check that proof steps are left; remarks once if not. Raises Failed."""
        budget = self.state.assumptions.budget
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
        source, destination = describe_pair(self.state.now, attempt.source, attempt.destination)
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
            attempt.because = "The limit on rewrites (`--fuel`) is reached."
            return
        attempt.done, attempt.because = True, because
        within = point.rule is not KERNEL_RESULT and point.destination in self.inside
        if point.rule is UPDATE or within or plan.sizes:
            self.inside.update(plan.new)
        beside = self._beside(point)
        if beside:
            self.beside |= dict.fromkeys(plan.new, beside)
        self.state.apply(plan.edit(creation, point.update(plan.lifted)), point.item)

    def _beside(self, point: CircuitPoint) -> tuple[Poly, ...]:
        """Return the sizes before and after the place, and those of its enclosing places."""
        found = (*point.beside, *self.beside.get(point.destination, ()))
        return tuple(
            dict.fromkeys(size for size in found if (size.constant or 0) < 0 or size.names())
        )


def _created(creation: Item, plan: Projection) -> Name:
    return next((p.name for p in creation.stm.pat if p.name in plan.new), "")
