"""Verify an imperative program: scopes, types, blocks, kernels.

- Every name is bound once in the program, and before it is used; a variable is read only where it
  has been assigned on all paths.
- Loads, stores and copies fit their blocks; expressions have the declared types.
- The host frees each block variable that a statement list declares in that list, once, and does not
  use it afterwards; returned blocks are kept. Kernels allocate and free no device memory.
- A function is called by the host, after its definition; it writes to none of its argument blocks.
- A kernel has points, is permitted at its level, and assigns no outer variable: points communicate
  only through blocks, and through the kernel's work.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NoReturn

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.base.prim import INTS, Prim
from compiler.base.spans import NOWHERE
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import defined
from compiler.codegen.imp.printer import show_stm
from compiler.dialect.visiting import NodeRules
from compiler.ir.nodes import SE, Array, Mem, Operand, Scalar, Type, Var
from compiler.ir.show_scalar import show_type
from compiler.ir.verify_scalar import ScalarChecker

Where = str
"""Executor of the statements: `host`, a `thread` of a kernel, or the `block` of threads of one."""


_OF_FUNCTIONS = imp.Define | imp.Apply | imp.Declare | imp.Assign | imp.If | imp.For
"""Statements permitted in scalar functions."""


class _Checker(ScalarChecker, NodeRules):
    """State of the checker: names in scope, and blocks owned or freed."""

    language = imp.IMP

    def __init__(self) -> None:
        super().__init__()
        self.bound: set[Name] = set()
        """All names so far, in scope or not."""
        self.variables: set[Name] = set()
        """Variables that may be assigned here."""
        self.unset: set[Name] = set()
        """Variables that may be unassigned here."""
        self.owned: set[Name] = set()
        """Blocks that the current statement list has to free."""
        self.freed: set[Name] = set()
        self.where: Where = "host"
        self.path: list[imp.Stm] = []
        self.fun = ""
        self.applied: dict[str, imp.ScalarFun] = {}
        """Scalar functions so far."""
        self.funs: dict[str, imp.ImpFun] = {}
        """Host functions so far."""
        self.given: frozenset[Name] = frozenset()
        """Argument blocks of a function that is no entry point."""

    def fail(self, message: str) -> NoReturn:
        """Raise an error at the current statement."""
        place = f"imp, function `{self.fun}`"
        span = NOWHERE
        if self.path:
            stm = self.path[-1]
            place += f", in `{self.shown(stm)}`"
            span = stm.prov[0] if stm.prov else NOWHERE
        raise CompilerBug(f"{place}: {message}", span)

    def shown(self, stm: imp.Stm) -> str:
        """Format a statement for messages."""
        return show_stm(stm)

    # --- names -------------------------------------------------------------------------------

    def bind(self, name: Name, kind: Type) -> None:
        """Bring a name into scope."""
        self.must(name not in self.bound, f"`{name}` is bound twice")
        self.bound.add(name)
        self.types[name] = kind

    def leave(self, names: Iterable[Name]) -> None:
        """Take names out of scope."""
        for name in names:
            del self.types[name]

    def se(self, se: SE) -> Prim:
        """Check a scalar expression and return its type."""
        if isinstance(se, Var):
            self.must(se.name not in self.unset, f"`{se.name}` may have no value")
        return super().se(se)

    def sizes(self, polys: Iterable[Poly]) -> None:
        """Check that the names in polynomials are i64, in scope, and have a value."""
        polys = list(polys)
        super().sizes(polys)
        for name in {name for poly in polys for name in poly.names()}:
            self.must(name not in self.unset, f"`{name}` may have no value")

    def block(self, name: Name, prim: Prim | None = None) -> Mem:
        """Check that a name is a live block of that element type."""
        kind = self.types.get(name)
        if not isinstance(kind, Mem):
            self.fail(f"`{name}` is no block in scope")
        self.must(name not in self.unset, f"`{name}` may have no value")
        self.must(name not in self.freed, f"`{name}` has been freed")
        self.must(prim in (None, kind.prim), f"`{name}` holds {kind.prim} and not {prim}")
        return kind

    def cell(self, block: Name, prim: Prim, at: SE) -> None:
        """Check a cell of a block."""
        self.block(block, prim)
        self.scalar(at, "i64", "an index")

    def lmad(self, lmad: Lmad[Poly]) -> None:
        """Check that the names in an LMAD are in scope."""
        self.sizes([lmad.offset, *(p for dim in lmad.dims for p in (dim.size, dim.stride))])

    def value(self, value: Operand, kind: Type, what: str) -> None:
        """Check that a scalar expression, or the name of a block, has a type."""
        found = self.block(value) if isinstance(value, str) else Scalar(self.se(value))
        self.must(found == kind, f"{what} is {show_type(found)} and not {show_type(kind)}")

    # --- functions ---------------------------------------------------------------------------

    def function(self, fun: imp.ImpFun) -> None:
        """Check an entry point or a host function, which may call earlier ones."""
        self.fun = fun.name
        plain = fun.entry or not (fun.implicit or fun.inputs or fun.outputs)
        self.must(plain, "only callers of entry points see arrays")
        self.must(fun.name not in self.funs, "a second function of that name")
        self.given = frozenset(() if fun.entry else (p.name for p in fun.params))
        for formal in fun.params:
            self.formal(formal.name, formal.type)
        for formal in fun.params[: fun.implicit]:
            self.must(formal.type == Scalar("i64"), f"the size `{formal.name}` is no i64")
        for taken in fun.inputs:
            self.external(taken)
        self.owned = {p.name for p in fun.params if isinstance(p.type, Mem) and not fun.entry}
        names = self.stms_kept_open(fun.body)
        self.must(len(fun.values) == len(fun.results), "as many values as results are returned")
        for value, formal in zip(fun.values, fun.results, strict=True):
            self.value(value, formal.type, f"the result `{formal.name}`")
        given = {value for value in fun.values if isinstance(value, str)}
        self.must(given.isdisjoint(self.given), "a function gives back what it is given")
        self.all_freed(given)
        self.leave(names)
        for formal in fun.results:
            self.formal(formal.name, formal.type)
        for seen in fun.outputs:
            self.external(seen)
        self.leave(list(self.types))
        self.funs[fun.name] = fun

    def scalar_function(self, fun: imp.ScalarFun) -> None:
        """Check a scalar function, which may apply earlier ones."""
        self.fun = fun.name
        self.must(fun.name not in self.applied, "a second function of that name")
        for formal in (*fun.params, *fun.results):
            self.must(isinstance(formal.type, Scalar), f"`{formal.name}` is no scalar")
        for formal in fun.params:
            self.formal(formal.name, formal.type)
        self.where = "function"
        names = self.stms_kept_open(fun.body)
        self.where = "host"
        self.must(len(fun.values) == len(fun.results), "as many values as results are returned")
        for value, formal in zip(fun.values, fun.results, strict=True):
            self.value(value, formal.type, f"the result `{formal.name}`")
        self.leave([*names, *(formal.name for formal in fun.params)])
        self.applied[fun.name] = fun

    def formal(self, name: Name, kind: Type) -> None:
        """Bind a parameter or result."""
        outside = isinstance(kind, Scalar) or (isinstance(kind, Mem) and kind.space == "device")
        self.must(outside, f"`{name}` is {show_type(kind)}, which callers cannot hold")
        self.bind(name, kind)

    def external(self, value: imp.External) -> None:
        """Check an external value against the parameters and results."""
        if isinstance(value.type, Array):
            self.block(value.block, value.type.prim)
            self.sizes(value.type.shape)
        else:
            same = self.types.get(value.name) == value.type
            self.must(same, f"`{value.name}` is another type inside")

    # --- statements --------------------------------------------------------------------------

    def stms(self, stms: imp.Stms) -> None:
        """Check a statement list, which is a scope and frees its own blocks."""
        outer, self.owned = self.owned, set()
        names = self.stms_kept_open(stms)
        self.all_freed(set())
        self.owned = outer
        self.leave(names)

    def stms_kept_open(self, stms: imp.Stms) -> list[Name]:
        """Check statements in order; the names that they bind stay in scope."""
        names: list[Name] = []
        for stm in stms:
            self.path.append(stm)
            fits = self.where != "function" or isinstance(stm, _OF_FUNCTIONS)
            self.must(fits, "a function of scalars cannot do this")
            new = defined(stm) - self.types.keys()
            self.rules[type(stm)](self, stm)
            self.path.pop()
            names += new
        return names

    def all_freed(self, kept: set[Name]) -> None:
        """Check that a statement list has freed its own blocks, except returned ones."""
        for name in sorted(self.owned - kept):
            self.fail(f"`{name}` is never freed")

    def own(self, name: Name, kind: Mem) -> None:
        """Check that a block of that kind may be held here; the host must free it."""
        if self.where == "host":
            self.must(kind.space == "device", f"the host has no {kind.space} memory")
            self.owned.add(name)

    def define(self, s: imp.Define) -> None:
        self.scalar(s.value, s.prim, f"`{s.name}`")
        self.bind(s.name, Scalar(s.prim))

    def apply(self, s: imp.Apply) -> None:
        fun = self.applied.get(s.fun)
        if fun is None:
            self.fail(f"`{s.fun}` is no function above")
        self.typed(s.args, [p.type.prim for p in fun.params], f"the arguments of `{s.fun}`")
        fits = list(s.prims) == [r.type.prim for r in fun.results]
        self.must(fits and len(s.names) == len(s.prims), f"`{s.fun}` gives other types")
        for name, prim in zip(s.names, s.prims, strict=True):
            self.bind(name, Scalar(prim))

    def call(self, s: imp.Call) -> None:
        self.must(self.where == "host", "only the host calls functions")
        fun = self.funs.get(s.fun)
        if fun is None:
            self.fail(f"`{s.fun}` is no function of the host above")
        self.must(len(s.args) == len(fun.params), f"`{s.fun}` takes {len(fun.params)} arguments")
        for arg, param in zip(s.args, fun.params, strict=True):
            self.value(arg, param.type, f"`{param.name}` of `{s.fun}`")
        for name in s.gone:
            self.must(s.args.count(name) == 1, f"`{name}` is not given to `{s.fun}`, or twice")
            self.end(name)
        fits = [r.type for r in s.results] == [r.type for r in fun.results]
        self.must(fits, f"`{s.fun}` gives other types")
        for result in s.results:
            if isinstance(result.type, Mem):
                self.own(result.name, result.type)
            self.bind(result.name, result.type)

    def declare(self, s: imp.Declare) -> None:
        if s.value is not None:
            self.value(s.value, s.type, f"`{s.name}`")
        else:
            self.unset.add(s.name)
        self.bind(s.name, s.type)
        self.variables.add(s.name)
        if isinstance(s.type, Mem):
            self.own(s.name, s.type)

    def assign(self, s: imp.Assign) -> None:
        self.may_assign(s.name)
        self.value(s.value, self.types[s.name], f"`{s.name}`")
        self.unset.discard(s.name)

    def may_assign(self, name: Name) -> None:
        """Check that a name is a variable of the host, or of the current point."""
        self.must(name in self.variables and name in self.types, f"`{name}` is no variable here")
        self.must(name not in self.freed, f"`{name}` has been freed")

    def alloc(self, s: imp.Alloc) -> None:
        self.scalar(s.count, "i64", "the number of elements")
        kind = Mem(s.prim, s.space)
        if self.where != "host":
            spaces = ("shared", "private") if self.where == "block" else ("private",)
            self.must(s.space in spaces, f"a {self.where} cannot allocate {s.space} memory")
        self.own(s.name, kind)
        self.bind(s.name, kind)

    def free(self, s: imp.Free) -> None:
        self.must(self.where == "host", "a kernel frees no memory")
        self.end(s.name)

    def end(self, name: Name) -> None:
        """Check that a block may be freed here, and mark it as freed."""
        self.must(name not in self.freed, f"`{name}` has been freed")
        self.must(name in self.owned, f"`{name}` is no block of this statement list")
        self.owned.remove(name)
        self.freed.add(name)

    def load(self, s: imp.Load) -> None:
        self.cell(s.block, s.prim, s.at)
        self.bind(s.name, Scalar(s.prim))

    def store(self, s: imp.Store) -> None:
        self.may_write(s.block)
        self.cell(s.block, s.prim, s.at)
        self.scalar(s.value, s.prim, "what is stored")

    def may_write(self, block: Name) -> None:
        """Check that a block is not an argument of the function."""
        self.must(block not in self.given, f"`{block}` is given, and may not be written")

    def copy(self, s: imp.Copy) -> None:
        self.may_write(s.dest)
        for block, lmad in ((s.dest, s.dest_lmad), (s.source, s.source_lmad)):
            self.block(block, s.prim)
            self.lmad(lmad)
        same = [d.size for d in s.dest_lmad.dims] == [d.size for d in s.source_lmad.dims]
        self.must(same, "the two sides of a copy have different sizes")

    def branch(self, s: imp.If) -> None:
        self.scalar(s.cond, "bool", "the condition")
        before = set(self.unset)
        self.stms(s.then)
        after, self.unset = self.unset, before
        self.stms(s.orelse)
        self.unset |= after

    def count_loop(self, s: imp.For) -> None:
        self.must(s.prim in INTS, f"a loop cannot count in {s.prim}")
        self.scalar(s.bound, s.prim, "the bound")
        self.bind(s.index, Scalar(s.prim))
        self.loop_body(s.body)
        self.leave([s.index])

    def while_loop(self, s: imp.While) -> None:
        self.may_assign(s.cond)
        self.scalar(Var(s.cond, "bool"), "bool", "the condition")
        self.loop_body(s.body)

    def loop_body(self, body: imp.Stms) -> None:
        """Check a body that may run any number of times, including zero."""
        before = set(self.unset)
        self.stms(body)
        self.unset = before

    def check(self, s: imp.Assert) -> None:
        self.scalar(s.cond, "bool", "the condition")
        for part in s.message:
            if not isinstance(part, str):
                self.se(part)

    # --- kernels -----------------------------------------------------------------------------

    def kernel(self, s: imp.Kernel) -> None:
        stands = {"grid": "host", "block": "block"}.get(s.level)
        self.must(self.where == stands, f"a kernel of level {s.level} stands in a {self.where}")
        self.must(not s.per_block or s.level == "grid", "a block has no blocks")
        self.must(not s.per_block or isinstance(s.work, imp.MapWork), "blocks of threads only map")
        self.must(bool(s.dims), "a kernel has no dimensions")
        for _, bound in s.dims:
            self.scalar(bound, "i64", "the size of a kernel")
        self.before_points(s)
        scope = (self.where, self.variables, set(self.unset))
        self.where, self.variables = "block" if s.per_block else "thread", set()
        cell_dims = s.dims if isinstance(s.work, imp.ScanWork) else s.dims[:-1]
        for name, _ in cell_dims:
            self.bind(name, Scalar("i64"))
        self.result_cells(s)
        for name, _ in s.dims[len(cell_dims) :]:
            self.bind(name, Scalar("i64"))
        outer, self.owned = self.owned, set()
        names = self.stms_kept_open(s.body)
        self.inputs(s)
        self.leave([*names, *(name for name, _ in s.dims)])
        self.owned = outer
        self.where, self.variables, self.unset = scope
        if isinstance(s.work, imp.ReduceWork):
            self.unset -= {
                into for fold in s.work.folds for into in fold.into if isinstance(into, str)
            }

    def before_points(self, s: imp.Kernel) -> None:
        """Check what is evaluated once per kernel: operators, shapes, result variables."""
        match s.work:
            case imp.ReduceWork(folds) | imp.ScanWork(folds):
                self.must(bool(folds), "nothing is folded")
                for fold in folds:
                    self.operator(fold.op)
                    self.fold_into_variables(s, fold)
            case imp.HistWork(hists):
                self.must(bool(hists), "there is no histogram")
                for hist in hists:
                    self.operator(hist.op)
                    for size in hist.shape:
                        self.scalar(size, "i64", "a size of a histogram")

    def operator(self, op: imp.Combine) -> None:
        """Check an operator, whose body sees no names of the points."""
        counts = {len(part) for part in (op.prims, op.lhs, op.rhs, op.results, op.neutral)}
        self.must(len(counts) == 1, "an operator's parts differ in number")
        for value, prim in zip(op.neutral, op.prims, strict=True):
            self.scalar(value, prim, "the neutral element")
        self.operator_body(op)

    def operator_body(self, op: imp.Combine) -> None:
        """Check the body of an operator."""
        scope = (self.where, self.variables, set(self.unset))
        self.where, self.variables = "thread", set()
        names = [*op.lhs, *op.rhs]
        for name, prim in zip(names, op.prims + op.prims, strict=True):
            self.bind(name, Scalar(prim))
        outer, self.owned = self.owned, set()
        names += self.stms_kept_open(op.body)
        for value, prim in zip(op.results, op.prims, strict=True):
            self.scalar(value, prim, "an operator's result")
        self.leave(names)
        self.owned = outer
        self.where, self.variables, self.unset = scope

    def fold_into_variables(self, s: imp.Kernel, fold: imp.Fold) -> None:
        """Check the variables that a reduction assigns."""
        self.must(len(fold.into) == len(fold.op.prims), "a fold's results differ in number")
        for into, prim in zip(fold.into, fold.op.prims, strict=True):
            if isinstance(into, str):
                alone = isinstance(s.work, imp.ReduceWork) and len(s.dims) == 1
                self.must(alone, f"many results go to the one variable `{into}`")
                self.may_assign(into)
                self.must(self.types[into] == Scalar(prim), f"`{into}` is no {prim}")

    def result_cells(self, s: imp.Kernel) -> None:
        """Check result cells, which depend on the outer indices only (for scans: on all)."""
        match s.work:
            case imp.ReduceWork(folds) | imp.ScanWork(folds):
                for fold in folds:
                    for into, prim in zip(fold.into, fold.op.prims, strict=True):
                        if isinstance(into, imp.Cell):
                            self.cell(into.block, prim, into.at)
            case imp.HistWork(hists):
                for hist in hists:
                    self.destinations(hist)

    def destinations(self, hist: imp.Histogram) -> None:
        """Check a histogram's destinations."""
        self.must(len(hist.dests) == len(hist.op.prims), "a histogram's parts differ in number")
        for (block, lmad), prim in zip(hist.dests, hist.op.prims, strict=True):
            self.block(block, prim)
            self.lmad(lmad)
            self.must(len(lmad.dims) == len(hist.shape), f"`{block}` has other dimensions")

    def inputs(self, s: imp.Kernel) -> None:
        """Check a point's contribution to the kernel's work."""
        match s.work:
            case imp.ReduceWork(folds) | imp.ScanWork(folds):
                for fold in folds:
                    self.typed(fold.inputs, fold.op.prims, "what is folded")
            case imp.HistWork(hists):
                for hist in hists:
                    self.bin(hist)

    def bin(self, hist: imp.Histogram) -> None:
        """Check a point's bin and values."""
        self.must(len(hist.bins) == len(hist.shape), "a bin has other dimensions")
        for index in hist.bins:
            self.scalar(index, "i64", "a bin")
        self.typed(hist.values, hist.op.prims, "what is combined")

    def push(self, s: imp.Push) -> None:
        hist, op = s.hist, s.hist.op
        counts = {len(part) for part in (op.prims, op.lhs, op.rhs, op.results)}
        self.must(len(counts) == 1 and not op.neutral, "an operator's parts differ in number")
        self.must(self.where == "thread", "a push stands outside of threads")
        self.bin(hist)
        for size in hist.shape:
            self.scalar(size, "i64", "a size of an accumulator")
        self.destinations(hist)
        self.operator_body(op)

    def typed(self, values: Sequence[SE], prims: Sequence[Prim], what: str) -> None:
        """Check that expressions have these types."""
        self.must(len(values) == len(prims), f"{what}: {len(values)} for {len(prims)}")
        for value, prim in zip(values, prims, strict=True):
            self.scalar(value, prim, what)


def verify(prog: imp.ImpProg) -> None:
    """Check a program. Raises `CompilerBug` with violation and place."""
    checker = _Checker()
    checker.must(any(fun.entry for fun in prog.funs), "no function is an entry point")
    for applied in prog.applied:
        checker.scalar_function(applied)
    for fun in prog.funs:
        checker.function(fun)


"""Base class for checkers of extended IRs."""


ImpChecker = _Checker
