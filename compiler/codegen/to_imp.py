"""Translate FUNMEM to IMP: arrays become cells of flat blocks (thesis, procedures 4.6 and 4.7).

The input is the stage `merged`: every array has a block and an LMAD, and no kernel allocates device
memory. A change of layout generates no code; every other array operation writes to the place of its
pattern's LMAD. Operators within a thread become loops; those of grids and blocks stay kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any

from compiler import codes
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from compiler.base.by_class import handles
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.errors import CompilerBug, Limitation
from compiler.base.names import Name
from compiler.base.prim import Prim
from compiler.base.spans import NOWHERE, Prov, Span
from compiler.codegen.deallocate import insert_frees
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.nodes import Stm, Stms
from compiler.codegen.index import add, cell, mul, poly_exp
from compiler.codegen.sequential import assign_all, sequential
from compiler.ir import nodes as ir
from compiler.ir.build import inside, row_dims
from compiler.ir.nodes import SE, Array, Level, Lit, Mem, MemBind, Scalar, Var
from compiler.ir.sizes import poly_of
from compiler.ir.slices import itself, sliced, with_indices
from compiler.ir.types import row_type
from compiler.ir.walk import all_stms

LARGEST = 2**63 - 1
Where = Level | None
"""Executor of the statements: None is the host; else a point of a kernel of that level."""


def to_imp(prog: ir.Prog, ctx: Ctx) -> imp.ImpProg:
    """Translate all functions of `prog`, and the scalar functions that they apply."""
    called = {
        stm.exp.fun
        for fun in prog.funs
        for stm in all_stms(fun.body.stms)
        if isinstance(stm.exp, ir.Call)
    }
    params = {fun.name: fun.params for fun in prog.funs if fun.name in called}
    hosts = [fun for fun in prog.funs if fun.entry or fun.name in called]
    applied = [fun for fun in prog.funs if not fun.entry and fun.name not in called]
    return imp.ImpProg(
        tuple(_function(fun, ctx, params) for fun in hosts),
        tuple(_applied(fun, ctx) for fun in applied),
    )


def _applied(fun: ir.Function, ctx: Ctx) -> imp.ScalarFun:
    body = _Maker(ctx).stms(fun.body.stms, None)
    values = tuple(_scalar(value, fun.prov) for value in fun.body.results)
    return imp.ScalarFun(
        fun.name, _formals(fun.params), _formals(fun.results), body, values, fun.prov
    )


def _function(fun: ir.Function, ctx: Ctx, called: Mapping[str, Sequence[ir.Param]]) -> imp.ImpFun:
    maker = _Maker(ctx, called)
    for param in fun.params:
        maker.bind(param)
    body = maker.stms(fun.body.stms, None)
    values = tuple(
        value
        for value, result in zip(fun.body.results, fun.results, strict=True)
        if not isinstance(result.type, Array)
    )
    return imp.ImpFun(
        fun.name,
        _formals(fun.params),
        _formals(fun.results),
        insert_frees(
            body,
            {v for v in values if isinstance(v, str)},
            [] if fun.entry else [p.name for p in fun.params if isinstance(p.type, Mem)],
        ),
        values,
        _externals(fun.params[fun.implicit :]) if fun.entry else (),
        _results(fun.results) if fun.entry else (),
        fun.implicit if fun.entry else 0,
        fun.prov,
        fun.entry,
    )


def _formals(params: Iterable[ir.Param]) -> tuple[imp.Formal, ...]:
    return tuple(imp.Formal(p.name, p.type) for p in params if not isinstance(p.type, Array))


def _externals(params: Iterable[ir.Param]) -> tuple[imp.External, ...]:
    found = []
    for p in params:
        if isinstance(p.type, Array):
            block = p.type.mem.block if p.type.mem else ""
            plain = Array(p.type.prim, p.type.shape)
            found.append(imp.External(p.name, plain, block, p.unique))
        elif isinstance(p.type, Scalar):
            found.append(imp.External(p.name, p.type))
    return tuple(found)


def _results(results: Sequence[ir.Param]) -> tuple[imp.External, ...]:
    """Return the results visible to a caller, without sizes of later arrays."""
    sizes = {
        name
        for r in results
        if isinstance(r.type, Array)
        for size in r.type.shape
        for name in size.names()
    }
    return tuple(e for e in _externals(results) if e.name not in sizes)


_CALLED = imp.IMP.trait("called")
_MAKERS: dict[type, Callable[[Any, ir.Stm, Any, Where], Stms]] = {}


@dataclass(slots=True)
class _Maker:
    """Translates statements; `arrays` are the types of all arrays bound so far.

    `called` has the parameters of host functions.
    """

    ctx: Ctx
    called: Mapping[str, Sequence[ir.Param]] = field(default_factory=dict)
    arrays: dict[Name, Array] = field(default_factory=dict)

    def bind(self, param: ir.Param) -> None:
        """Record the type of an array."""
        if isinstance(param.type, Array):
            self.arrays[param.name] = param.type

    def memory(self, name: Name) -> MemBind:
        """Return the binding of array `name`."""
        return bind_of(self.arrays[name])

    # --- statements --------------------------------------------------------------------------

    def stms(self, stms: Iterable[ir.Stm], where: Where) -> Stms:
        """Translate statements in order."""
        out: list[Stm] = []
        for stm in stms:
            for param in stm.pat:
                self.bind(param)
            make = _MAKERS.get(type(stm.exp))
            if make is None:
                kind = type(stm.exp).__name__
                raise CompilerBug(f"no imperative code for {kind}", span_of(stm.prov))
            out.extend(make(self, stm, stm.exp, where))
        return tuple(out)

    @handles(_MAKERS, *ir.SE_NODES)
    def scalar(self, stm: ir.Stm, exp: SE, where: Where) -> Stms:
        """Translate a scalar definition."""
        (param,) = stm.pat
        return (imp.Define(param.name, prim_of(param), exp, stm.prov),)

    @handles(_MAKERS, ir.Apply)
    def apply(self, stm: ir.Stm, exp: ir.Apply, where: Where) -> Stms:
        """Translate a scalar call."""
        names, prims = zip(*((p.name, prim_of(p)) for p in stm.pat), strict=True)
        return (imp.Apply(names, prims, exp.fun, exp.args, stm.prov),)

    @handles(_MAKERS, ir.Call)
    def call(self, stm: ir.Stm, exp: ir.Call, where: Where) -> Stms:
        """Translate a call; arrays are passed by their blocks."""
        pairs = zip(exp.args, self.called[exp.fun], strict=True)
        args = tuple(arg for arg, param in pairs if not isinstance(param.type, Array))
        return (imp.Call(_formals(stm.pat), exp.fun, args, prov=stm.prov),)

    @handles(_MAKERS, ir.Threshold)
    def threshold(self, stm: ir.Stm, exp: ir.Threshold, where: Where) -> Stms:
        """Compare with the tuning parameter's value."""
        chosen = dict(self.ctx.options.thresholds).get(exp.name, exp.default)
        reached = ir.Bin(">=", "i64", exp.amount, Lit(chosen, "i64"))
        return (imp.Define(stm.pat[0].name, "bool", reached, stm.prov),)

    @handles(_MAKERS, ir.Assert)
    def check(self, stm: ir.Stm, exp: ir.Assert, where: Where) -> Stms:
        """Translate an assertion."""
        return (imp.Assert(exp.cond, exp.message, stm.prov),)

    @handles(_MAKERS, ir.Alloc)
    def alloc(self, stm: ir.Stm, exp: ir.Alloc, where: Where) -> Stms:
        """Translate an allocation. A size beyond 64 bits saturates."""
        told = all(-LARGEST <= coeff <= LARGEST for coeff in exp.count.terms.values())
        count = poly_exp(exp.count) if told else Lit(LARGEST, "i64")
        return (imp.Alloc(stm.pat[0].name, count, exp.prim, exp.space, stm.prov),)

    @handles(_MAKERS, ir.Index)
    def index(self, stm: ir.Stm, exp: ir.Index, where: Where) -> Stms:
        """Translate a read."""
        mem = self.memory(exp.array)
        prim = prim_of(stm.pat[0])
        return (imp.Load(stm.pat[0].name, prim, mem.block, cell(mem.lmad, exp.at), stm.prov),)

    @handles(_MAKERS, ir.Slice, ir.Rearrange, ir.Reshape)
    def view(self, stm: ir.Stm, exp: ir.Slice | ir.Rearrange | ir.Reshape, where: Where) -> Stms:
        """Translate a view: no code in the same block, else a copy."""
        dest, source = bind_of(stm.pat[0].type), self.memory(exp.array)
        if dest.block == source.block:
            return ()
        shape = self.arrays[exp.array].shape
        match exp:
            case ir.Slice():
                lmad = sliced(source.lmad, exp.dims, _poly, itself)
                return self.copy(self.arrays[stm.pat[0].name].prim, dest, lmad, source, stm.prov)
            case ir.Rearrange(perm, _):
                lmad = source.lmad.permute(perm)
                return self.copy(self.arrays[stm.pat[0].name].prim, dest, lmad, source, stm.prov)
            case ir.Reshape():
                target = Lmad.row_major(shape, dest.lmad.offset)
                prim = self.arrays[exp.array].prim
                return self.copy(prim, MemBind(dest.block, target), source.lmad, source, stm.prov)

    def copy(
        self, prim: Prim, dest: MemBind, lmad: Lmad[Poly], source: MemBind, prov: Prov
    ) -> Stms:
        """Copy `source`'s block at `lmad` to `dest`, unless both are equal.

        Both have the same sizes, possibly spelt differently: as a name, and as its definition.
        """
        pairs = zip(dest.lmad.dims, lmad.dims, strict=True)
        lmad = Lmad(lmad.offset, tuple(Dim(to.size, dim.stride) for to, dim in pairs))
        if dest.block == source.block and dest.lmad.same_cells(lmad):
            return ()
        return (imp.Copy(prim, dest.block, dest.lmad, source.block, lmad, prov),)

    def put(self, prim: Prim, dest: MemBind, value: ir.Operand, prov: Prov) -> Stms:
        """Write a scalar or an array to `dest`, whose LMAD has the value's rank."""
        if isinstance(value, str):
            source = self.memory(value)
            return self.copy(prim, dest, source.lmad, source, prov)
        return (imp.Store(dest.block, prim, poly_exp(dest.lmad.offset), value, prov),)

    @handles(_MAKERS, ir.Update)
    def update(self, stm: ir.Stm, exp: ir.Update, where: Where) -> Stms:
        """Write a cell or a slice in place."""
        mem = bind_of(stm.pat[0].type)
        prim = self.arrays[exp.array].prim
        if not isinstance(exp.value, str):
            at = cell(mem.lmad, [d.at for d in exp.dims if isinstance(d, ir.DimFix)])
            return (imp.Store(mem.block, prim, at, exp.value, stm.prov),)
        lmads, early = self.named_slice(mem.lmad, exp.dims, stm.prov)
        return early + self.put(prim, MemBind(mem.block, lmads), exp.value, stm.prov)

    def named_slice(
        self, lmad: Lmad[Poly], dims: Sequence[ir.DimIndex], prov: Prov
    ) -> tuple[Lmad[Poly], Stms]:
        """Return a slice's LMAD, with non-polynomial indices bound to names."""
        early: list[Stm] = []

        def name(se: SE) -> SE:
            if poly_of(se) is not None:
                return se
            fresh = self.ctx.fresh("at")
            early.append(imp.Define(fresh, "i64", se, prov))
            return Var(fresh, "i64")

        named = [with_indices(dim, name) for dim in dims]
        return sliced(lmad, named, _poly, itself), tuple(early)

    @handles(_MAKERS, ir.Copy)
    def copied(self, stm: ir.Stm, exp: ir.Copy, where: Where) -> Stms:
        """Translate a copy."""
        (param,) = stm.pat
        return self.put(self.arrays[param.name].prim, bind_of(param.type), exp.array, stm.prov)

    @handles(_MAKERS, ir.Concat)
    def concat(self, stm: ir.Stm, exp: ir.Concat, where: Where) -> Stms:
        """Write the operands one after another."""
        result = self.arrays[stm.pat[0].name]
        mem = bind_of(result)
        out: list[Stm] = []
        start = Poly.const(0)
        for name in exp.arrays:
            count = self.arrays[name].shape[0]
            part = mem.rows(start, count)
            out.extend(self.put(result.prim, part, name, stm.prov))
            start = start + count
        return tuple(out)

    @handles(_MAKERS, ir.ArrayLit)
    def literal(self, stm: ir.Stm, exp: ir.ArrayLit, where: Where) -> Stms:
        """Write each element to its place."""
        result = self.arrays[stm.pat[0].name]
        mem = bind_of(result)
        out: list[Stm] = []
        for k, value in enumerate(exp.elems):
            out.extend(self.put(result.prim, mem.row(Poly.const(k)), value, stm.prov))
        return tuple(out)

    @handles(_MAKERS, ir.Scratch)
    def nothing(self, stm: ir.Stm, exp: ir.Scratch, where: Where) -> Stms:
        """Generate no code for uninitialised memory."""
        return ()

    @handles(_MAKERS, ir.Iota)
    def iota(self, stm: ir.Stm, exp: ir.Iota, where: Where) -> Stms:
        """Fill by a kernel (or a loop within a thread)."""
        i = self.ctx.fresh("i")
        number: SE = Var(i, "i64")
        if exp.prim == "i64":
            value = add(exp.start, mul(number, exp.step))
        else:
            number = ir.Conv("i64", exp.prim, number)
            step = ir.Bin("*", exp.prim, number, exp.step)
            value = ir.Bin("+", exp.prim, exp.start, number if _is_one(exp.step) else step)
            if isinstance(exp.start, Lit) and exp.start.value == 0:
                value = value.rhs
        mem = bind_of(stm.pat[0].type)
        store = imp.Store(mem.block, exp.prim, cell(mem.lmad, [Var(i, "i64")]), value, stm.prov)
        return self.fill("iota", [(i, exp.count)], (store,), where, stm.prov)

    @handles(_MAKERS, ir.Replicate)
    def replicate(self, stm: ir.Stm, exp: ir.Replicate, where: Where) -> Stms:
        """Write the value to every point of the shape."""
        result = self.arrays[stm.pat[0].name]
        mem = bind_of(result)
        dims = [(self.ctx.fresh("i"), size) for size in exp.shape]
        if isinstance(exp.value, str):
            mem_in = self.memory(exp.value)
            wide = Lmad(
                mem_in.lmad.offset,
                (*(Dim(size, Poly.const(0)) for size in exp.shape), *mem_in.lmad.dims),
            )
            return self.copy(result.prim, mem, wide, mem_in, stm.prov)
        at = cell(mem.lmad, [Var(i, "i64") for i, _ in dims])
        store = imp.Store(mem.block, result.prim, at, exp.value, stm.prov)
        return self.fill("replicate", dims, (store,), where, stm.prov)

    def fill(
        self,
        base: str,
        dims: Sequence[tuple[Name, Poly]],
        body: Stms,
        where: Where,
        prov: Prov,
    ) -> Stms:
        """Generate a map at the level that suits its executor."""
        level: Level = "grid" if where is None else "thread" if where == "grid" else where
        space = tuple((i, poly_exp(size)) for i, size in dims)
        kernel = imp.Kernel(self.ctx.fresh(base), level, space, body, imp.MapWork(), prov=prov)
        return sequential(kernel) if level == "thread" else (kernel,)

    # --- control -----------------------------------------------------------------------------

    @handles(_MAKERS, ir.If)
    def branch(self, stm: ir.Stm, exp: ir.If, where: Where) -> Stms:
        """Declare the results, then assign them in both branches."""
        kept = [not isinstance(p.type, Array) for p in stm.pat]
        params = [p for p, keep in zip(stm.pat, kept, strict=True) if keep]
        out: list[Stm] = [imp.Declare(p.name, flat_type(p), None, stm.prov) for p in params]
        arms = []
        for body in (exp.then, exp.orelse):
            inner = self.stms(body.stms, where)
            values = [v for v, keep in zip(body.results, kept, strict=True) if keep]
            ends = tuple(
                imp.Assign(p.name, v, body.prov or stm.prov)
                for p, v in zip(params, values, strict=True)
            )
            arms.append(inner + ends)
        out.append(imp.If(exp.cond, arms[0], arms[1], stm.prov))
        return tuple(out)

    @handles(_MAKERS, ir.Loop)
    def loop(self, stm: ir.Stm, exp: ir.Loop, where: Where) -> Stms:
        """Translate a loop: parameters are variables, assigned together per iteration."""
        for param in exp.params:
            self.bind(param)
        kept = [not isinstance(p.type, Array) for p in exp.params]
        params = [p for p, keep in zip(exp.params, kept, strict=True) if keep]
        init = [v for v, keep in zip(exp.init, kept, strict=True) if keep]
        out: list[Stm] = [
            imp.Declare(p.name, flat_type(p), v, stm.prov)
            for p, v in zip(params, init, strict=True)
        ]
        values = [v for v, keep in zip(exp.body.results, kept, strict=True) if keep]
        body = self.stms(exp.body.stms, where) + self.next_iteration(
            params, values, exp.body.prov or stm.prov
        )
        match exp.form:
            case ir.ForLoop(index, prim, bound):
                out.append(imp.For(index, prim, bound, body, stm.prov))
            case ir.WhileLoop(cond):
                out.append(imp.While(cond, body, stm.prov))
        results = [p for p in stm.pat if not isinstance(p.type, Array)]
        for result, param in zip(results, params, strict=True):
            if isinstance(param.type, Mem):
                out.append(imp.Declare(result.name, param.type, param.name, stm.prov))
            else:
                value = Var(param.name, prim_of(param))
                out.append(imp.Define(result.name, prim_of(result), value, stm.prov))
        return tuple(out)

    def next_iteration(
        self, params: Sequence[ir.Param], values: Sequence[ir.Operand], prov: Prov
    ) -> Stms:
        """Assign all loop parameters simultaneously."""
        blocks: list[Stm] = []
        late: list[Stm] = []
        moved: set[Name] = set()
        names, prims, ses = [], [], []
        for param, value in zip(params, values, strict=True):
            if isinstance(value, str):
                if value == param.name:
                    continue
                if value in moved:
                    kept = self.ctx.fresh(value)
                    blocks.insert(0, imp.Declare(kept, flat_type(param), value, prov))
                    value = kept
                moved.add(param.name)
                late.append(imp.Assign(param.name, value, prov))
            else:
                names.append(param.name)
                prims.append(prim_of(param))
                ses.append(value)
        return (*blocks, *late, *assign_all(names, prims, ses, prov))

    # --- parallel operators ------------------------------------------------------------------

    @handles(_MAKERS, ir.SegMap, ir.SegRed, ir.SegScan, ir.SegHist)
    def kernel(self, stm: ir.Stm, exp: ir.SegOp, where: Where) -> Stms:
        """Translate a segmented operator: body, result stores, and work over the points."""
        per_block = isinstance(exp, ir.SegMap) and exp.per_block
        inner: Where = "block" if per_block else "thread" if exp.level == "thread" else exp.level
        inner = "thread" if exp.level == "block" else inner
        body = self.stms(exp.body.stms, inner)
        dims = tuple((i, poly_exp(bound)) for i, bound in exp.space.dims)
        point = [Poly.var(i) for i, _ in exp.space.dims]
        declared: Stms = ()
        work: imp.Work = imp.MapWork()
        results = list(exp.body.results)
        pat = list(stm.pat)
        match exp:
            case ir.SegRed() | ir.SegScan():
                folds, declared = self.folds(stm, exp, results, pat)
                scan = isinstance(exp, ir.SegScan)
                work = imp.ScanWork(folds) if scan else imp.ReduceWork(folds)
            case ir.SegHist():
                hists, computed = self.hists(stm, exp, results, pat, point[:-1])
                work, body = imp.HistWork(hists), (*body, *computed)
        for param, result in zip(pat, results, strict=True):
            body += self.result(param, result, point, exp.body.prov or stm.prov)
        name = self.ctx.fresh(_CALLED[type(work)])
        made = imp.Kernel(name, exp.level, dims, body, work, per_block, stm.prov)
        return declared + (sequential(made) if exp.level == "thread" else (made,))

    def result(
        self, param: ir.Param, result: ir.KernelResult, point: Sequence[Poly], prov: Prov
    ) -> Stms:
        """Store the result of one point."""
        assert isinstance(param.type, Array)
        mem = bind_of(param.type)
        if not isinstance(result, ir.Write):
            return self.put(param.type.prim, mem.row(*point), result, prov)
        shape = [poly_exp(size) for size in param.type.shape]
        out: list[Stm] = []
        for indices, value in result.writes:
            if self.is_in_place(mem, indices, value):
                continue
            at = self.named(indices, out, prov)
            stores = self.put_at(param.type, at, value, prov)
            out.append(imp.If(inside(at, shape[: len(at)]), stores, (), prov))
        return tuple(out)

    @handles(_MAKERS, ir.Push)
    def push(self, stm: ir.Stm, exp: ir.Push, where: Where) -> Stms:
        """Store or combine values, if the place is in bounds."""
        out: list[Stm] = []
        at = self.named(exp.at, out, stm.prov)
        kinds = [self.arrays[name] for name in exp.dests]
        sizes = tuple(poly_exp(size) for size in kinds[0].shape[: len(at)])
        if exp.op:
            combine = self.combine(ir.Operator(exp.op[0], ()), stm.prov)
            values = tuple(_scalar(value, stm.prov) for value in exp.values)
            dests = tuple((mem.block, mem.lmad) for mem in map(bind_of, kinds))
            hist = imp.Histogram(combine, sizes, at, values, dests)
            return (*out, imp.Push(hist, stm.prov))
        pairs = zip(kinds, exp.values, strict=True)
        stores = [s for kind, value in pairs for s in self.put_at(kind, at, value, stm.prov)]
        return (*out, imp.If(inside(at, sizes), tuple(stores), (), stm.prov))

    def put_at(self, kind: Array, at: tuple[SE, ...], value: ir.Operand, prov: Prov) -> Stms:
        """Write an element or row at outer indices of an array."""
        mem = bind_of(kind)
        if isinstance(value, str):
            lmad, early = self.named_slice(mem.lmad, row_dims(at, row_type(kind, len(at))), prov)
            return early + self.put(kind.prim, MemBind(mem.block, lmad), value, prov)
        return (imp.Store(mem.block, kind.prim, cell(mem.lmad, at), value, prov),)

    def is_in_place(self, mem: MemBind, indices: Sequence[SE], value: ir.Operand) -> bool:
        """True if an array was built in its row, at outer indices."""
        row = mem.row(*(at for at in map(poly_of, indices) if at is not None))
        return isinstance(value, str) and row == self.memory(value)

    def named(self, ses: Sequence[SE], out: list[Stm], prov: Prov) -> tuple[SE, ...]:
        """Bind expressions that take computing to names defined in `out`."""
        names: list[SE] = []
        for se in ses:
            if not isinstance(se, (Var, Lit)):
                name = self.ctx.fresh("at")
                out.append(imp.Define(name, "i64", se, prov))
                se = Var(name, "i64")
            names.append(se)
        return tuple(names)

    def folds(
        self,
        stm: ir.Stm,
        exp: ir.SegFold,
        results: list[ir.KernelResult],
        pat: list[ir.Param],
    ) -> tuple[tuple[imp.Fold, ...], Stms]:
        """Return the operators with inputs and destinations.

        Removes their share of `results` and `pat`.
        """
        outer = exp.space.dims if isinstance(exp, ir.SegScan) else exp.space.dims[:-1]
        point: list[SE] = [Var(i, "i64") for i, _ in outer]
        folds: list[imp.Fold] = []
        declared: list[Stm] = []
        for op in exp.ops:
            combine = self.combine(op, stm.prov)
            count = len(op.neutral)
            inputs = tuple(_scalar(r, stm.prov) for r in results[:count])
            into: list[imp.Cell | Name] = []
            for param in pat[:count]:
                if isinstance(param.type, Array):
                    mem = bind_of(param.type)
                    into.append(imp.Cell(mem.block, cell(mem.lmad, point)))
                else:
                    declared.append(imp.Declare(param.name, flat_type(param), None, stm.prov))
                    into.append(param.name)
            folds.append(imp.Fold(combine, inputs, tuple(into), exp.body.prov))
            del results[:count], pat[:count]
        return tuple(folds), tuple(declared)

    def hists(
        self,
        stm: ir.Stm,
        exp: ir.SegHist,
        results: list[ir.KernelResult],
        pat: list[ir.Param],
        outer: Sequence[Poly],
    ) -> tuple[tuple[imp.Histogram, ...], Stms]:
        """Return the histograms, and the definitions of their bins, which are used repeatedly.

        Removes their share of `results` and `pat`.
        """
        found = []
        computed: list[Stm] = []

        def bin_of(result: ir.KernelResult) -> SE:
            se = _scalar(result, stm.prov)
            if isinstance(se, Var | Lit):
                return se
            name = self.ctx.fresh("bin")
            computed.append(imp.Define(name, "i64", se, exp.body.prov or stm.prov))
            return Var(name, "i64")

        for op in exp.ops:
            combine = self.combine(op.op, stm.prov)
            bins = tuple(map(bin_of, results[: op.rank]))
            values = tuple(_scalar(r, stm.prov) for r in results[op.rank :][: len(op.dests)])
            shape = self.arrays[op.dests[0]].shape[len(outer) : len(outer) + op.rank]
            dests = []
            for param in pat[: len(op.dests)]:
                mem = bind_of(param.type).row(*outer)
                dests.append((mem.block, mem.lmad))
            sizes = tuple(poly_exp(size) for size in shape)
            found.append(imp.Histogram(combine, sizes, bins, values, tuple(dests), exp.body.prov))
            del results[: op.rank + len(op.dests)], pat[: len(op.dests)]
        return tuple(found), tuple(computed)

    def combine(self, op: ir.Operator, prov: Prov) -> imp.Combine:
        """Translate a scalar operator."""
        prims: list[Prim] = []
        for kind in op.fn.returns:
            if not isinstance(kind, Scalar):
                raise Limitation.at(
                    codes.limits.ARRAY_OPERATOR,
                    "a reduction, scan or histogram whose operator works on whole arrays is not"
                    " supported by the back ends yet",
                    prov,
                    "Work on the rows' elements: `map (reduce op ne) (transpose xss)`.",
                )
            prims.append(kind.prim)
        count = len(prims)
        names = [p.name for p in op.fn.params]
        body = self.stms(op.fn.body.stms, "thread")
        return imp.Combine(
            tuple(prims),
            tuple(names[:count]),
            tuple(names[count:]),
            body,
            tuple(_scalar(r, prov) for r in op.fn.body.results),
            tuple(_scalar(r, prov) for r in op.neutral),
            op.commutative,
            op.fn.body.prov,
        )


def span_of(prov: Prov) -> Span:
    """Return the most specific source position."""
    return prov[0] if prov else NOWHERE


def bind_of(type_: ir.Type) -> MemBind:
    """Return the binding of an array type. Raises CompilerBug without one."""
    if not isinstance(type_, Array) or type_.mem is None:
        raise CompilerBug("an array without memory reached the back end")
    return type_.mem


def flat_type(param: ir.Param) -> Scalar | Mem:
    """Return the type of a parameter that is no array."""
    assert not isinstance(param.type, Array)
    return param.type


def prim_of(param: ir.Param) -> Prim:
    """Return the element type of a parameter."""
    return param.type.prim


def _poly(se: SE) -> Poly:
    found = poly_of(se)
    if found is None:
        raise CompilerBug("a slice whose bounds are not polynomials reached the back end")
    return found


def _is_one(se: SE) -> bool:
    return isinstance(se, Lit) and se.value == 1


def _scalar(operand: ir.KernelResult, prov: Prov) -> SE:
    if isinstance(operand, (str, ir.Write)):
        raise Limitation.at(
            codes.limits.ARRAY_OPERATOR,
            "an operator on whole arrays is not supported by the back ends yet",
            prov,
        )
    return operand
