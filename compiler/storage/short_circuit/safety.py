"""Check that nothing live is overwritten: access summaries, compared pairwise (thesis 6.4.3).

Traverses statements backwards from the point: `uses` are the cells of the destination that later
statements access, `writes` those that a statement writes of the source in its new place. Loops and
kernels are analysed for one iteration or thread, compared with the other ones (6.6), then
aggregated.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.walk import visit
from compiler.protocol.refusals import Refusal
from compiler.storage.short_circuit.access import Access, unique
from compiler.storage.short_circuit.analyses import Analyses
from compiler.storage.short_circuit.comparison import Comparison, NoComparison
from compiler.storage.short_circuit.conditions import Failed
from compiler.storage.short_circuit.contexts import NOTHING, Context
from compiler.storage.short_circuit.outer_accesses import OutsideViews
from compiler.storage.short_circuit.tree import Item, TreeBody, all_items
from compiler.storage.short_circuit.uses import NO_USES, Summary, Uses, combine_uses, uses
from compiler.storage.short_circuit.wording import called, describe


class Safety:
    """The check of one attempt; `new` are the prospective bindings of the source and its views."""

    comparing: type[Comparison] = Comparison

    def __init__(
        self,
        state: Analyses,
        new: dict[Name, ir.MemBind],
        block: Name,
        destination: Lmad[Poly] | None = None,
        checked: Context = NOTHING,
        lifted: frozenset[Item] = frozenset(),
    ) -> None:
        """`destination`: index function that certainly contains the source's place.

        `checked`: facts checked before the source is created; `lifted`: statements moved before it.
        """
        self.lifted = lifted
        self.state = state
        self.new = new
        self.block = block
        self.outside = OutsideViews(state)
        self.comparison = self.comparing(state, destination, checked)
        meanings = state.meanings
        self._kept = state.summaries.of(block if meanings.is_given(block) else meanings.of(block))
        self._alone: dict[TreeBody, set[Item]] = {}
        """Statements analysed individually, because they concern the source or are lifted."""
        for item in (*self.state.summaries.concerned(new), *lifted):
            at: Item | None = item
            while at is not None:
                self._alone.setdefault(at.scope, set()).add(at)
                at = at.scope.parent
        self._using: dict[Name, bool] = {}
        self._wider_new: dict[Name, tuple[Lmad[Poly], ...]] = {}

    # --- statements, last first ---

    def segment(self, scope: TreeBody, first: int, end: int) -> Summary:
        """Summarise the statements `first .. end - 1` of the body that ends in the point."""
        return self._backwards(scope, first, end, Summary(), self.state.assumptions.at(scope, end))

    def _body(self, scope: TreeBody, after: Summary | None = None) -> Summary:
        """Summarise a nested body; `after` summarises its end."""
        known = self.state.assumptions.at(scope)
        end = len(self.state.now.items(scope))
        return self._backwards(scope, 0, end, after or Summary(), known)

    def _backwards(
        self, scope: TreeBody, first: int, end: int, total: Summary, known: Context
    ) -> Summary:
        items = self.state.summaries.touching(scope)
        row = self._kept.body(scope, items)

        def others(*ends: int) -> list[Uses]:
            first, end = (self.state.summaries.number(scope, at) for at in ends)
            return row.between(first, end, lambda k: self._uses(items[k]))

        alone = [
            item for item in self._alone.get(scope, ()) if first <= self.state.now.at(item) < end
        ]
        for item in sorted(alone, key=lambda item: -self.state.now.at(item)):
            total.uses = combine_uses([total.uses, *others(self.state.now.at(item) + 1, end)])
            end = self.state.now.at(item)
            if item not in self.lifted:
                here = self.item(item)
                if here.writes and total.uses.count:
                    self.comparison.compare(
                        here.writes,
                        total.uses,
                        known,
                        f"after {describe(self.state.now, item)}",
                    )
                total.writes += here.writes
                total.uses = combine_uses([total.uses, here.uses])
        total.uses = combine_uses([total.uses, *others(first, end)]).once()
        total.writes = unique(total.writes)
        return total

    def _uses(self, item: Item) -> Uses:
        """Return the cached accesses of a statement that does not concern the source."""
        if not any(map(self._is_used, item.arrays)):
            return NO_USES
        found = self._kept.kept.get(item)
        if found is None:
            found = self._kept.kept[item] = self.item(item).uses
        return found

    def item(self, item: Item) -> Summary:
        """Summarise one statement."""
        stm = item.stm
        exp: Any = stm.exp
        out = Summary()
        match exp:
            case ir.Index(array, at):
                lmad = self._lmad(array)
                if lmad is not None:
                    self._indexed(out, array, lmad, at)
            case _ if type(exp) in _VIEWS:
                self._view(item, getattr(exp, _VIEWS[type(exp)]), out)
            case ir.Update(array, dims, value):
                lmad = self._lmad(array)
                if lmad is not None:
                    self._write(out, array, self.state.terms.sliced(lmad, dims))
                self._move(item, out, [value])
            case ir.If():
                for scope in item.children:
                    inner = self._body(scope)
                    out.writes += [self.outside.leave(w, scope, ()) for w in inner.writes]
                    out.uses = combine_uses([out.uses, self.outside.left(inner.uses, scope, ())])
            case ir.Loop():
                self._loop(item, out)
            case _ if isinstance(exp, ir.SegOp):
                self._kernel(item, exp, out)
            case ir.Call(_, args):
                self._move(item, out, args)
            case ir.Push(dests, _, values):
                for name in dests:
                    self._somewhere(out, name)
                self._operators(item.children, out)
                self._move(item, out, values)
            case _ if not isinstance(exp, ir.Scratch):  # it writes a new array
                self._create(out, stm)
                self._move(item, out, _used(exp))
        return out

    # --- single accesses ---

    def _indexed(self, out: Summary, array: Name, lmad: Lmad[Poly], at: Sequence[ir.SE]) -> None:
        """Record the read of an element."""
        for one in self.state.terms.chosen(at):
            thread = list(map(self.state.terms.poly, one))
            rows = tuple(lmad.fix(*thread[:k]) for k in range(len(thread) - 1, 0, -1))
            self._use(out, array, lmad.fix(*thread), False, rows)

    def _lmad(self, name: Name) -> Lmad[Poly] | None:
        """Return an array's index function if it may lie in the destination's block."""
        mem = self.new.get(name)
        if mem is None:
            if not self._is_used(name):
                return None
            mem = self.state.now.mem[name]
        return self.state.terms.normal_lmad(mem.lmad)

    def _is_used(self, name: Name) -> bool:
        """True if an array may share memory with the destination."""
        found = self._using.get(name)
        if found is None:
            mem = self.state.now.mem.get(name)
            found = mem is not None and self.state.meanings.may_be_one(self.block, mem.block)
            self._using[name] = found
        return found

    def _use(
        self,
        out: Summary,
        name: Name,
        lmad: Lmad[Poly],
        writes: bool,
        rows: tuple[Lmad[Poly], ...] = (),
    ) -> None:
        if name not in self.new:
            out.use([Access(name, lmad, writes, (*rows, *self._wider(name)))])

    def _write(self, out: Summary, name: Name, lmad: Lmad[Poly]) -> None:
        """Record a write to the source, or to the destination by another statement."""
        if name in self.new:
            out.writes.append(Access(name, lmad, True, self._wider(name)))
        else:
            out.use([Access(name, lmad, True, self._wider(name))])

    def _wider(self, name: Name) -> tuple[Lmad[Poly], ...]:
        """Return the index functions of an array and of those that it is a view of."""
        mem = self.new if name in self.new else self.state.now.mem
        kept = self._wider_new if name in self.new else self.state.summaries.wider
        block = mem[name].block
        views: list[Name] = []
        at: Name | None = name
        while at is not None and at in mem and mem[at].block == block and at not in kept:
            views.append(at)
            at = self.state.now.tree.behind(at)
        known = at is not None and at in mem and mem[at].block == block
        found = kept[at] if known and at is not None else ()
        for view in reversed(views):
            lmad = self.state.terms.normal_lmad(mem[view].lmad)
            found = (lmad, *(other for other in found if other != lmad))
            kept[view] = found
        return found

    def _create(self, out: Summary, stm: ir.Stm) -> None:
        """Record writes to all of new arrays."""
        for param in stm.pat:
            lmad = self._lmad(param.name)
            if lmad is not None:
                self._write(out, param.name, lmad)

    def _view(self, item: Item, array: Name, out: Summary) -> None:
        """Record a copy if the elements move to another block; else nothing."""
        mem = self.state.now.mem
        if mem[item.stm.pat[0].name].block != mem[array].block:
            self._create(out, item.stm)
            self._move(item, out, [array])

    def _move(self, item: Item, out: Summary, values: Iterable[ir.Operand]) -> None:
        """Record reads of arrays that overlap other writes, in any order."""
        reads: list[Access] = []
        for array in (value for value in values if isinstance(value, str)):
            lmad = self._lmad(array)
            if lmad is not None and array not in self.new:
                reads.append(Access(array, lmad, False, self._wider(array)))
        if out.writes and reads:
            written = {write.lmad for write in out.writes}
            meeting = uses(use for use in reads if use.lmad not in written)
            known = self.state.assumptions.in_front(item)
            self.comparison.compare(
                out.writes, meeting, known, f"within {describe(self.state.now, item)}"
            )
        out.use(reads)

    # --- loops and kernels ---

    def _loop(self, item: Item, out: Summary) -> None:
        """Summarise a loop: later iterations must not access its writes (thesis 6.6.1)."""
        (scope,) = item.children
        one = self._body(scope)
        over = self.state.assumptions.ranges(scope)
        where = f"in {{}} iterations of {describe(self.state.now, item)}"
        if one.writes and one.uses.count:
            self.comparison.across(scope, one, over, True, where)
        out.writes += [self.outside.leave(w, scope, over) for w in one.writes]
        out.uses = combine_uses([out.uses, self.outside.left(one.uses, scope, over)])

    def _kernel(self, item: Item, exp: ir.SegOp, out: Summary) -> None:
        """Summarise a kernel: other threads must not access a thread's writes (thesis 6.6.2).

        A thread of a scan or map writes its result after all its reads. Accesses of operators, and
        of threads in other kernels, are unordered.
        """
        scope = item.children[-1]
        over = self.state.assumptions.ranges(scope)
        one = self._body(scope, self._results(item, exp, scope))
        self._operators(item.children[:-1], out)
        unordered, where = out.uses, describe(self.state.now, item)
        if not isinstance(exp, ir.SegMap | ir.SegScan):
            unordered = combine_uses([one.uses, out.uses])
        elif one.writes and one.uses.count:
            self.comparison.across(scope, one, over, False, f"at {{}} points of {where}")
        if one.writes and unordered.count:
            self.comparison.all_apart(scope, Summary(one.writes, unordered), over, f"in {where}")
        out.writes += [self.outside.leave(w, scope, over) for w in one.writes]
        out.uses = combine_uses([out.uses, self.outside.left(one.uses, scope, over)])

    def _operators(self, scopes: Iterable[TreeBody], out: Summary) -> None:
        """Record the accesses of operators' functions, whose order is unknown."""
        for scope in scopes:
            for inner in all_items(scope):
                for name in inner.names:
                    if name in self.new:
                        raise Failed(
                            Refusal.IN_OPERATOR, f"An operator uses {called(self.state.now, name)}."
                        )
                    if name in self.state.now.mem and self._is_used(name):
                        out.use([Access(name, None, True, self._wider(name))])

    def _results(self, item: Item, exp: ir.SegOp, scope: TreeBody) -> Summary:
        """Summarise the result writes of a thread."""
        out = Summary()
        if isinstance(exp, ir.SegHist):
            for param in item.stm.pat:
                self._somewhere(out, param.name)
            return out
        row = self._kept.results(scope)

        def one(at: int) -> Uses:
            alone = Summary()
            self._result(item, exp, at, alone)
            return alone.uses

        start = 0
        results = self.state.summaries.results(self.new)
        for at in sorted({k for body, k in results if body is scope}):
            out.uses = combine_uses([out.uses, *row.between(start, at, one)])
            self._result(item, exp, at, out)
            start = at + 1
        out.uses = combine_uses([out.uses, *row.between(start, len(scope.results), one)])
        known = self.state.assumptions.at(scope)
        where = f"in the results of {describe(self.state.now, item)}"
        self.comparison.compare(out.writes, out.uses, known, where)
        return out

    def _result(self, item: Item, exp: ir.SegMapping, at: int, out: Summary) -> None:
        """Record the write of one result by a thread."""
        scope = item.children[-1]
        param, result = item.stm.pat[at], scope.results[at]
        if not isinstance(param.type, ir.Array):
            return
        known = self.state.assumptions.at(scope)
        if isinstance(result, ir.Write):
            for index, value in result.writes:
                row = self._row_of(out, param.name, list(map(self.state.terms.poly, index)))
                if isinstance(value, str):
                    self._row(item, out, value, row, known)
            return
        thread = [Poly.var(index) for index, _ in exp.space.dims]
        if isinstance(exp, ir.SegRed) and at < sum(len(op.neutral) for op in exp.ops):
            thread.pop()
        row = self._row_of(out, param.name, thread)
        if isinstance(result, str):
            self._row(item, out, result, row, known)

    def _row_of(self, out: Summary, name: Name, at: Sequence[Poly]) -> Lmad[Poly] | None:
        """Record a write at outer indices of an array; return the cells if they matter."""
        lmad = self._lmad(name)
        row = None if lmad is None else lmad.fix(*at)
        if row is not None:
            self._write(out, name, row)
        return row

    def _row(
        self, item: Item, out: Summary, result: Name, row: Lmad[Poly] | None, known: Context
    ) -> None:
        """Record the read of a row that is not in its place already."""
        lmad = self._lmad(result)
        if lmad is None or result in self.new or lmad == row:
            return
        access = Access(result, lmad, False, self._wider(result))
        where = f"in the results of {describe(self.state.now, item)}"
        self.comparison.compare(out.writes, uses([access]), known, where)
        out.use([access])

    def _somewhere(self, out: Summary, name: Name) -> None:
        """Record a write to unknown cells of an array."""
        lmad = self._lmad(name)
        if lmad is not None:
            self._write(out, name, lmad)

    def others(self, scope: TreeBody, own: Lmad[Poly], name: Name, rows: bool) -> None:
        """Check that no other thread of an enclosing kernel accesses a thread's cells.

        Raises Failed.

        `own` are the cells, `scope` is the body that the array `name` is built in. `rows`: the
        place is the thread's row of a result of that body's kernel.
        """
        bound = self.state.now.scope_of(self.block)
        access = Access(name, self.state.terms.normal_lmad(own), True)
        while scope is not bound and scope.parent is not None:
            item = scope.parent
            over = self.state.assumptions.ranges(scope)
            if scope.kind == "kernel":
                touched = self._touched(scope, item).unlike(access.lmad)
                if not touched.count and rows:
                    # Different rows of one array are disjoint.
                    access = self.outside.leave(access, scope, over)
                    scope, rows = item.scope, False
                    continue
                rows = False
                where = f"at {{}} points of {describe(self.state.now, item)}"
                if isinstance(item.stm.exp, ir.SegMap):
                    touched = combine_uses([touched, uses([access])])
                else:
                    self.comparison.all_apart(scope, Summary([access], touched), over, where)
                    touched = uses([access])
                self.comparison.across(scope, Summary([access], touched), over, False, where)
            access = self.outside.leave(access, scope, over)
            scope = item.scope

    def _touched(self, scope: TreeBody, item: Item) -> Uses:
        """Return all accesses of one thread of a kernel to the destination."""
        quiet = _Quiet(self.state, self.new, self.block)
        exp = item.stm.exp
        assert isinstance(exp, ir.SegOp)
        return quiet._body(scope, quiet._results(item, exp, scope)).uses


_VIEWS = ir.CORE.trait("views")


def _used(exp: ir.Exp) -> list[Name]:
    """Return the names that an expression uses, in order."""
    found: list[Name] = []
    visit(exp, found.append, lambda _: None)
    return found


class _Quiet(Safety):
    """Computes summaries without comparisons."""

    comparing = NoComparison
