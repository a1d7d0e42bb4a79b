"""Make an entry point that takes some arrays as cells with strides, to avoid copies.

Callers have arrays of any strides: transposed ones, slices, one row that stands for many. For
`entry main [n][m] (xss: [n][m]f32) (k: i64)`, whose first input is to be taken so, the program gets

    entry main@0 [c] (n: i64) (m: i64) (xss_cells: [c]f32) (xss_at: i64)
        (xss_step: i64) (xss_step: i64) (k: i64) =
      main n m (xss_cells[xss_at + {(n : xss_step), (m : xss_step)}]) k

and no other entry points. The slice is an LMAD like any other: later passes read through it, and
copy it where the program needs contiguous elements. That its cells exist is asserted once, on the
host; the caller chooses the numbers accordingly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.build import either, inside, var
from compiler.ir.entry import external, find
from compiler.ir.sizes import se_of
from compiler.ir.types import as_operand
from compiler.lower.lmads import is_inside

Strides = tuple[str, tuple[int, ...]]
"""An entry point, and the numbers of its strided inputs, from 0."""
MOST_DIMENSIONS = 4
"""Largest rank of a strided input, as the guards of slices by LMADs have."""
OUTSIDE = "The strides of an input lead outside its memory."
I64 = ir.Scalar("i64")


def name_of(strides: Strides) -> str:
    """Return the name of the strided entry point, which no author can write."""
    return f"{strides[0]}@{'_'.join(map(str, strides[1]))}"


def with_steps(prog: ir.Prog, strides: Strides, ctx: Ctx) -> ir.Prog:
    """Make that entry point the only one. Raises UsageError where the program does not have it."""
    entry, which = strides
    inner = find(prog, entry)
    funs = tuple(replace(fun, entry=False, implicit=0) for fun in prog.funs)
    return ir.Prog((*funs, _Outer(inner, ctx).made(name_of(strides), which)))


class _Outer:
    """Builds the entry point, which calls the program's own."""

    def __init__(self, inner: ir.Function, ctx: Ctx) -> None:
        self.inner, self.ctx = inner, ctx
        self.called: dict[Name, Poly] = {}
        """Sizes of the inner entry point in the names of this one."""
        self.counts: list[ir.Param] = []
        self.params: list[ir.Param] = []
        self.operands: list[ir.Operand] = []
        self.stms: list[ir.Stm] = []

    def made(self, name: str, which: tuple[int, ...]) -> ir.Function:
        """Build the function."""
        inner = self.inner
        for param in inner.params[: inner.implicit]:
            self.same(param)
        for k, param in enumerate(external(inner)):
            (self.cells if k in which else self.same)(param)
        pat = self.renamed(inner.results)
        self.stms.append(ir.Stm(pat, ir.Call(inner.name, tuple(self.operands)), inner.prov))
        results = self.renamed(inner.results)
        body = ir.Body(tuple(self.stms), tuple(map(as_operand, pat)), inner.prov)
        params = (*self.counts, *self.params)
        return ir.Function(name, params, results, body, True, len(self.counts), inner.prov)

    def same(self, param: ir.Param) -> None:
        """Pass a parameter on unchanged."""
        made = ir.Param(self.ctx.fresh(param.name), self.type(param.type), param.unique)
        self.params.append(made)
        self.operands.append(as_operand(made))
        self.called[param.name] = Poly.var(made.name)

    def cells(self, param: ir.Param) -> None:
        """Pass a parameter as its cells, the position of its first element, and its strides."""
        fresh, kind = self.ctx.fresh, self.type(param.type)
        assert isinstance(kind, ir.Array)
        count = ir.Param(fresh("count"), I64)
        cells = ir.Param(fresh(param.name), ir.Array(kind.prim, (Poly.var(count.name),)))
        at = ir.Param(fresh("at"), I64)
        steps = [ir.Param(fresh("step"), I64) for _ in kind.shape]
        self.counts.append(count)
        self.params += [cells, at, *steps]
        strides = tuple(var(step.name) for step in steps)
        dim: ir.DimIndex
        if kind.rank == 1:
            dim = ir.DimSlice(var(at.name), kind.shape[0], strides[0])
            fits = _is_inside(dim, var(count.name))
        else:
            dim = ir.DimLmad(var(at.name), kind.shape, strides)
            fits = is_inside(dim, Poly.var(count.name))
        self.stms.append(ir.Stm((), ir.Assert(fits, (OUTSIDE,)), self.inner.prov))
        given = self.bound(param.name, kind, ir.Slice(cells.name, (dim,)))
        self.operands.append(
            self.bound(param.name, kind, ir.Copy(given)) if param.unique else given
        )

    def bound(self, name: Name, kind: ir.Type, exp: ir.Exp) -> Name:
        """Bind an expression; return its name."""
        made = self.ctx.fresh(name)
        self.stms.append(ir.Stm((ir.Param(made, kind),), exp, self.inner.prov))
        return made

    def renamed(self, results: Iterable[ir.Param]) -> tuple[ir.Param, ...]:
        """Rename results; types of later ones follow."""
        called, made = dict(self.called), []
        for one in results:
            name = self.ctx.fresh(one.name)
            made.append(replace(one, name=name, type=_subst(one.type, called)))
            called[one.name] = Poly.var(name)
        return tuple(made)

    def type(self, kind: ir.Type) -> ir.Type:
        """Return a type in sizes that are known here."""
        return _subst(kind, self.called)


def _is_inside(dim: ir.DimSlice, count: ir.SE) -> ir.SE:
    """Return the condition that all cells of a slice are in bounds of that length.

    A slice without cells is. The product does not wrap if the first and the last cell are in
    bounds: the caller ensures that with numbers of any size.
    """
    size = se_of(dim.count)
    steps = ir.Bin("*", "i64", ir.Bin("-", "i64", size, ir.ONE), dim.stride)
    ends = dim.start, ir.Bin("+", "i64", dim.start, steps)
    return either(ir.Bin("<=", "i64", size, ir.ZERO), inside(ends, (count, count)))


def _subst(kind: ir.Type, called: Mapping[Name, Poly]) -> ir.Type:
    if not isinstance(kind, ir.Array):
        return kind
    return replace(kind, shape=tuple(size.subst(called) for size in kind.shape))
