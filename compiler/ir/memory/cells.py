"""Walk a function statement by statement and verify the layout of its arrays."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.memory.accesses import Kernel
from compiler.ir.memory.blocks import mem_of, parts
from compiler.ir.memory.known import KnownHere, Moment
from compiler.ir.memory.meetings import Meetings
from compiler.ir.walk import mentioned, visit


class Cells(Meetings):
    """One function."""

    def run(self) -> None:
        """Ask all questions. Raises CompilerBug if one is refuted."""
        for param in self.fun.params:
            self.bind(param)
            if self.fun.entry and param.type == ir.I64:
                self.numbers.chosen.add(param.name)
            if isinstance(param.type, ir.Mem) and param.name in self.blocks.sizes:
                self.scope.allocated(self.blocks.sizes[param.name])
            if isinstance(param.type, ir.Array):
                self.numbers.natural.update(size.as_name or "" for size in param.type.shape)
        self.body(self.fun.body.stms, self.fun.body.results, set())
        for name in self.fun.body.results:
            if isinstance(name, str) and name in self.types:
                self.read(name)
        for write, name in self.later:
            self.seen_later(write, name)

    # --- bodies ---

    def body(
        self,
        stms: Sequence[ir.Stm],
        results: Sequence[ir.KernelResult],
        dying: set[Name],
        kernel: ir.Stm | None = None,
    ) -> list[Name]:
        """Walk statements; `dying` are outer arrays that are dead after them.

        Writes the results of a kernel after its statements. Returns the arrays of `dying` that were
        dropped.
        """
        last = _last_uses(stms, results)
        dropped = [name for name in dying if name not in last and self.drop(name)]
        ends: dict[int, list[Name]] = {}
        for name, at in last.items():
            ends.setdefault(at, []).append(name)
        mine = set(dying)
        for at, stm in enumerate(stms):
            self.where.append(stm)
            ending = mine.intersection(ends.get(at, ()))
            self.statement(stm, ending)
            for name in ending:
                if self.drop(name) and name in dying:
                    dropped.append(name)
            self.time += 1
            self.where.pop()
            for param in stm.pat:
                self.bind(param, stm.exp)
                if param.name in self.types and last.get(param.name, at) > at:
                    mine.add(param.name)
                    self.need(param.name)
        if kernel is not None:
            self.results(kernel, results)
        for name in mine - dying:
            self.drop(name)
        return dropped

    def inner(
        self,
        body: ir.Body | ir.KernelBody,
        dying: set[Name],
        conds: Sequence[tuple[ir.SE, bool]] = (),
        more: Sequence[Poly] = (),
        params: Sequence[ir.Param] = (),
        around: ir.Exp | None = None,
        kernel: ir.Stm | None = None,
    ) -> None:
        """Walk a body with the facts that hold in it."""
        outer = self.scope
        self.scope = KnownHere(Moment.of(outer))
        self.scope.know(*more)
        for cond, holds in conds:
            self.numbers.holds(cond, self.scope, holds)
        for param in params:
            self.bind(param, around)
            if param.name in self.types:
                self.need(param.name)
        dropped = self.body(body.stms, body.results, dying, kernel)
        for param in params:
            self.drop(param.name)
        for name in dropped:
            self.need(name)
        self.scope = outer

    # --- statements ---

    def statement(self, stm: ir.Stm, ending: set[Name]) -> None:
        """Record the accesses of a statement; `ending` are arrays whose last use it is."""
        match stm.exp:
            case ir.If(cond, then, orelse):
                outer, start = self.sides, self.time
                for body, holds in ((then, True), (orelse, False)):
                    self.time += 1
                    self.sides = {**outer, start: holds}
                    self.inner(body, ending, ((cond, holds),))
                    self.sides = outer
                    for param, end in zip(stm.pat, body.results, strict=True):
                        self.passes(end, param)
            case ir.Loop():
                self.loop(stm, stm.exp, ending)
            case exp if isinstance(exp, ir.SegOp):
                self.kernel(stm, exp, ending)
            case ir.Assert(cond):
                self.numbers.holds(cond, self.scope)
            case ir.Push():
                self.push(stm.exp)
            case ir.Call(_, args):
                for arg in args:
                    self.read(arg)
            case ir.Index(array, at):
                self.index_read(array, at)
                if stm.pat[0].type == ir.I64:
                    self.numbers.tests.pop(stm.pat[0].name, None)
            case ir.Lit() | ir.Var() | ir.Bin() | ir.Un() | ir.Conv() | ir.Fun() | ir.Select():
                self.numbers.define(stm.pat[0].name, stm.exp, self.scope)
            case ir.Alloc(count):
                self.scope.allocated(self.numbers.normal(count))
            case ir.Scratch() | ir.Threshold() | ir.Apply():
                pass
            case _:
                self.operation(stm)

    def operation(self, stm: ir.Stm) -> None:
        """Record the accesses of an operation with a single array result."""
        (param,) = stm.pat
        mem, exp = mem_of(param), stm.exp
        if mem is None:
            return
        if isinstance(exp, ir.Slice | ir.Rearrange | ir.Reshape):
            source = self.types[exp.array].mem
            if source is None or source.block == mem.block:
                self.passes(exp.array, param)
            else:
                self.read(exp.array)
                self.write(param.name, mem, mem)
            return
        if isinstance(exp, ir.Update):
            taken = exp.array
            self.passes(taken, param)
            place, known = self.slice(mem, exp.dims, self.types[taken])
            if isinstance(exp.value, str):
                self.put(param.name, mem, place, exp.value, taken, known)
            else:
                self.write(param.name, place, mem, taken, known)
            return
        if not isinstance(exp, ir.ArrayLit | ir.Concat | ir.Copy):
            if isinstance(exp, ir.Replicate) and isinstance(exp.value, str):
                self.read(exp.value)
            self.write(param.name, mem, mem)
            return
        for part, lmad in parts(exp, mem.lmad, self.types):
            self.put(param.name, mem, ir.MemBind(mem.block, lmad), part)
        if isinstance(exp, ir.ArrayLit) and not all(isinstance(e, str) for e in exp.elems):
            self.write(param.name, mem, mem)

    def loop(self, stm: ir.Stm, exp: ir.Loop, ending: set[Name]) -> None:
        """Walk a loop: outer arrays that it uses are live in every iteration."""
        for param, out, start in zip(exp.params, stm.pat, exp.init, strict=True):
            self.passes(start, param)
            self.passes(start, out)
        more: list[Poly] = []
        used = set().union(*map(mentioned, exp.body.stms))
        used |= {end for end in exp.body.results if isinstance(end, str)}
        if isinstance(exp.form, ir.ForLoop):
            more = self.index(exp.form.index, self.numbers.poly(exp.form.bound, self.scope))
        outer = self.loops
        self.loops = (*outer, self.time)
        self.time += 1
        self.inner(exp.body, ending - used, more=more, params=exp.params, around=exp)
        self.loops = outer
        for out, end in zip(stm.pat, exp.body.results, strict=True):
            self.passes(end, out)

    def index(self, name: Name, bound: Poly | None) -> list[Poly]:
        """Return the facts about an index that counts from 0."""
        self.born[name] = self.time
        it = Poly.var(name)
        self.numbers.natural.add(name)
        if bound is None:
            return [it]
        bound = self.numbers.normal(bound)
        self.ranges[name] = bound
        self.numbers.chosen.add(name)
        return [it, bound - 1 - it]

    # --- kernels ---

    def kernel(self, stm: ir.Stm, exp: ir.SegOp, ending: set[Name]) -> None:
        """Walk a parallel operator; one at thread level is a loop."""
        dims = exp.space.dims
        outer = self.loops
        self.time += 1
        more = [fact for index, bound in dims for fact in self.index(index, bound)]
        operators = [op if isinstance(op, ir.Operator) else op.op for op in getattr(exp, "ops", ())]
        if exp.level == "thread":
            self.loops = (*outer, self.time)
            used = mentioned(ir.Stm((), exp))
            ending = ending - used
        else:
            split = dims[:-1] if isinstance(exp, ir.SegRed) else dims
            self.kernels.append(Kernel(self.time, split))
        for op in operators:
            self.inner(op.fn.body, set(), params=op.fn.params)
        self.inner(exp.body, ending, more=more, kernel=stm)
        self.loops = outer
        if exp.level != "thread":
            self.meeting(self.kernels.pop())

    def results(self, stm: ir.Stm, results: Sequence[ir.KernelResult]) -> None:
        """Record the results that each thread writes at its end."""
        exp = stm.exp
        assert isinstance(exp, ir.SegOp)
        point = [Poly.var(index) for index, _ in exp.space.dims]
        if isinstance(exp, ir.SegHist):
            for result in results:
                if isinstance(result, str):
                    self.read(result)
            dests = [dest for op in exp.ops for dest in op.dests]
            for dest, param in zip(dests, stm.pat, strict=True):
                self.passes(dest, param)
                mem = mem_of(param)
                if mem is not None:
                    own = ir.MemBind(mem.block, mem.lmad.fix(*point[:-1]))
                    self.write(param.name, own, mem, dest, meeting=True)
            return
        folded = sum(len(op.neutral) for op in getattr(exp, "ops", ()))
        for at, (param, result) in enumerate(zip(stm.pat, results, strict=True)):
            mem = mem_of(param)
            if isinstance(result, ir.Write):
                self.passes(result.dest, param)
                for places, value in result.writes:
                    self.scattered(param, result.dest, places, value)
            elif mem is not None:
                outer = isinstance(exp, ir.SegRed) and at < folded
                own = ir.MemBind(mem.block, mem.lmad.fix(*(point[:-1] if outer else point)))
                if isinstance(result, str):
                    self.put(param.name, mem, own, result)
                else:
                    self.write(param.name, own, mem)
            else:
                self.read(result)
            if isinstance(param.type, ir.Array):
                self.types[param.name] = param.type
                self.need(param.name)  # The next result may overwrite it.
        for param in stm.pat:
            self.drop(param.name)

    def scattered(
        self, param: ir.Param, dest: Name, places: Sequence[ir.SE], value: ir.Operand
    ) -> None:
        """Record a write to computed places, which other threads may also write."""
        mem = mem_of(param)
        if mem is None:
            return
        row, known = self.row(dest, mem, places)
        there = self.types[value].mem if isinstance(value, str) else None
        if isinstance(value, str) and there is not None and self.is_there(there, row):
            self.built(value, param.name)
            return
        self.read(value)
        self.write(param.name, row, mem, dest, known, meeting=True)

    def push(self, exp: ir.Push) -> None:
        """Record values pushed to accumulators."""
        for value in exp.values:
            self.read(value)
        for dest in exp.dests:
            mem = self.types[dest].mem
            if mem is not None:
                row, known = self.row(dest, mem, exp.at)
                self.write(dest, row, mem, dest, known, meeting=True)


def _last_uses(stms: Sequence[ir.Stm], results: Sequence[ir.KernelResult]) -> dict[Name, int]:
    """Return the last statement that mentions each name; results come after all of them."""
    last: dict[Name, int] = {}
    for at, stm in enumerate(stms):
        for name in mentioned(stm):
            last[name] = at
    for result in results:
        found: list[Name] = []
        visit(result, found.append, lambda name: None)
        last |= dict.fromkeys(found, len(stms))
        if isinstance(result, str):
            last[result] = len(stms)
    return last
