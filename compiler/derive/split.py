"""Split folds, histograms and scatters into plain forms, one operator each, for reverse mode.

    reduce op ne (map f xs)            ==> a map, and a reduction of its result
    an operator of independent parts   ==> one of each part
    reduce (map2 op) nes xss           ==> map (reduce op) nes (transpose xss)

Keeps: results. If fusion or the author had joined these, fusion joins them again behind the stage.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.nodes import Param, Type, Var
from compiler.ir.types import as_operand, row_type, with_dims
from compiler.ir.walk import Rewrite, free, rename, rewrite


class PlainForms:
    """Rewrites the statements of one body."""

    def __init__(self, ctx: Ctx) -> None:
        self.ctx = ctx
        self.stms: list[ir.Stm] = []
        self.prov: Prov = ()

    def body(self, body: ir.Body) -> ir.Body:
        """Rewrite a body so that its folds are plain."""
        inner = PlainForms(self.ctx)
        inner.all(body.stms)
        return ir.Body(tuple(inner.stms), body.results, body.prov)

    def fn(self, fn: ir.Lambda) -> ir.Lambda:
        """Rewrite a lambda."""
        return ir.Lambda(fn.params, self.body(fn.body), fn.returns)

    def all(self, stms: Sequence[ir.Stm]) -> None:
        """Append rewritten statements."""
        for stm in stms:
            self.prov = stm.prov
            self.stm(stm)

    def add(self, pat: Sequence[Param], exp: ir.Exp) -> None:
        """Append `let pat = exp`."""
        self.stms.append(ir.Stm(tuple(pat), exp, self.prov))

    def fresh(self, base: Name, kind: Type) -> Param:
        """Append `let pat = exp`."""
        return Param(self.ctx.fresh(base), kind)

    def stm(self, stm: ir.Stm) -> None:
        """Append a statement in its plain form."""
        match stm.exp:
            case ir.If() | ir.Loop() | ir.Map() | ir.Stream():
                self.add(stm.pat, rewrite(stm.exp, Rewrite(body=self.body, fn=self.fn)))
            case ir.Reduce() | ir.Scan():
                self.folds(stm, stm.exp)
            case ir.Hist(width, hists, fn, arrays):
                values = self.mapped(width, fn, arrays)
                at = done = 0
                for one in hists:
                    count = one.rank + len(one.dests)
                    pat = stm.pat[done : done + len(one.dests)]
                    self.hist(width, one, values[at : at + count], pat)
                    at, done = at + count, done + len(one.dests)
            case ir.Scatter(width, _, fn, arrays):
                self.scatter(stm, stm.exp, self.mapped(width, fn, arrays))
            case _:
                self.stms.append(stm)

    def mapped(self, width: Poly, fn: ir.Lambda, arrays: Sequence[Name]) -> list[Param]:
        """Map a lambda over all rows; return its results as arrays."""
        results: list[Param | None] = []
        rows = {p.name: a for p, a in zip(fn.params, arrays, strict=True)}
        for result, kind in zip(fn.body.results, fn.returns, strict=True):
            name = result.name if isinstance(result, Var) else result
            known = rows.get(name) if isinstance(name, str) else None
            results.append(None if known is None else Param(known, with_dims((width,), kind)))
        if all(p is not None for p in results):
            return [p for p in results if p is not None]
        pat = [self.fresh("each", with_dims((width,), kind)) for kind in fn.returns]
        self.add(pat, ir.Map(width, self.fn(fn), tuple(arrays)))
        return pat

    # --- folds -----------------------------------------------------------------------------------

    def folds(self, stm: ir.Stm, exp: ir.Reduce | ir.Scan) -> None:
        """Append each operator as a statement of its own."""
        values = self.mapped(exp.width, exp.fn, exp.arrays)
        at = 0
        for op in exp.ops:
            count = len(op.neutral)
            pairs = slice(at, at + count)
            self.fold(type(exp), exp.width, op, values[pairs], stm.pat[pairs])
            at += count
        for kept, value in zip(stm.pat[at:], values[at:], strict=True):
            assert isinstance(kept.type, ir.Array)
            self.add((kept,), ir.Reshape(kept.type.shape, value.name))

    def fold(
        self,
        node: type[ir.Reduce] | type[ir.Scan],
        width: Poly,
        op: ir.Operator,
        values: Sequence[Param],
        pat: Sequence[Param],
    ) -> None:
        """Append one operator as its independent parts, or as a map of folds."""
        parts = independent(op)
        if len(parts) > 1:
            for k, part in enumerate(parts):
                own = replace(part, fn=rename(part.fn, self.ctx.fresh))
                self.fold(node, width, own, values[k : k + 1], pat[k : k + 1])
            return
        inner = of_maps(op)
        if inner is None:
            fn = self.identity([row_type(v.type) for v in values])
            own = ir.Operator(self.fn(op.fn), op.neutral, op.commutative)
            self.add(pat, node(width, (own,), fn, tuple(v.name for v in values)))
            return
        self.map_of_folds(node, width, op, inner, values, pat)

    def map_of_folds(
        self,
        node: type[ir.Reduce] | type[ir.Scan],
        width: Poly,
        op: ir.Operator,
        inner: ir.Map,
        values: Sequence[Param],
        pat: Sequence[Param],
    ) -> None:
        """Append one fold for each column, as a map."""
        columns = [self.view((1, 0), v) for v in values]
        rows = [self.fresh("col", row_type(c.type)) for c in columns]
        starts = [self.fresh("ne", row_type(op.fn.params[k].type)) for k in range(len(values))]
        nested = PlainForms(self.ctx)
        nested.prov = self.prov
        outs = [row_type(p.type) for p in (pat if node is ir.Reduce else columns)]
        ends = [self.fresh("r", kind) for kind in outs]
        scalar = ir.Operator(
            rename(inner.fn, self.ctx.fresh), tuple(as_operand(s) for s in starts), op.commutative
        )
        nested.fold(node, width, scalar, rows, ends)
        body = ir.Body(tuple(nested.stms), tuple(as_operand(e) for e in ends))
        fn = ir.Lambda((*starts, *rows), body, tuple(outs))
        given = (*(str(n) for n in op.neutral), *(c.name for c in columns))
        if node is ir.Reduce:
            self.add(pat, ir.Map(inner.width, fn, given))
            return
        whole = [self.fresh("scans", with_dims((inner.width,), kind)) for kind in outs]
        self.add(whole, ir.Map(inner.width, fn, given))
        for p, w in zip(pat, whole, strict=True):
            self.add((p,), ir.Rearrange(_swap((1, 0), w.type), w.name))

    def view(self, perm: tuple[int, ...], value: Param) -> Param:
        """Return an array with its first two dimensions swapped."""
        full = _swap(perm, value.type)
        assert isinstance(value.type, ir.Array)
        shape = tuple(value.type.shape[k] for k in full)
        new = self.fresh(value.name, ir.Array(value.type.prim, shape))
        self.add((new,), ir.Rearrange(full, value.name))
        return new

    def identity(self, kinds: Sequence[Type]) -> ir.Lambda:
        """Return the identity function."""
        params = tuple(self.fresh("x", kind) for kind in kinds)
        return ir.Lambda(params, ir.Body((), tuple(map(as_operand, params))), tuple(kinds))

    # --- histograms and scatters ---------------------------------------------------------------

    def hist(
        self, width: Poly, one: ir.HistOp, values: Sequence[Param], pat: Sequence[Param]
    ) -> None:
        """Append one histogram as its independent parts."""
        at, rest = values[: one.rank], values[one.rank :]
        parts = independent(one.op)
        if len(parts) > 1:
            for k, part in enumerate(parts):
                part = replace(part, fn=rename(part.fn, self.ctx.fresh))
                own = ir.HistOp(one.dests[k : k + 1], one.rank, part)
                self.hist(width, own, [*at, rest[k]], pat[k : k + 1])
            return
        op = ir.Operator(self.fn(one.op.fn), one.op.neutral, one.op.commutative)
        fn = self.identity([row_type(v.type) for v in values])
        hist = ir.HistOp(one.dests, one.rank, op)
        self.add(pat, ir.Hist(width, (hist,), fn, tuple(v.name for v in values)))

    def scatter(self, stm: ir.Stm, exp: ir.Scatter, values: Sequence[Param]) -> None:
        """Append one scatter for each destination and write."""
        at = 0
        for dest, param in zip(exp.dests, stm.pat, strict=False):
            array = dest.array
            for time in range(dest.times):
                own = values[at : at + dest.rank + 1]
                at += dest.rank + 1
                last = time + 1 == dest.times
                pat = param if last else self.fresh(param.name, param.type)
                fn = self.identity([row_type(v.type) for v in own])
                to = (ir.Dest(array, dest.rank),)
                self.add((pat,), ir.Scatter(exp.width, to, fn, tuple(v.name for v in own)))
                array = pat.name
        for kept, value in zip(stm.pat[len(exp.dests) :], values[at:], strict=True):
            assert isinstance(kept.type, ir.Array)
            self.add((kept,), ir.Reshape(kept.type.shape, value.name))


def _swap(perm: tuple[int, ...], kind: Type) -> tuple[int, ...]:
    assert isinstance(kind, ir.Array)
    return (*perm, *range(2, kind.rank))


def independent(op: ir.Operator) -> list[ir.Operator]:
    """Split an operator into components that do not depend on each other, if possible."""
    width = len(op.neutral)
    if width < 2:
        return [op]
    own: dict[Name, int] = {p.name: k % width for k, p in enumerate(op.fn.params)}
    for stm in op.fn.body.stms:
        asked = {own[n] for n in free(stm) if n in own}
        if len(asked) > 1:
            return [op]
        own.update((p.name, next(iter(asked), -1)) for p in stm.pat)
    parts: list[ir.Operator] = []
    for k, result in enumerate(op.fn.body.results):
        if not {own[n] for n in free((result,)) if n in own} <= {k, -1}:
            return [op]
        stms = tuple(s for s in op.fn.body.stms if {own[p.name] for p in s.pat} <= {k, -1})
        params = (op.fn.params[k], op.fn.params[width + k])
        body = ir.Body(stms, (result,))
        fn = ir.Lambda(params, body, op.fn.returns[k : k + 1])
        parts.append(ir.Operator(fn, (op.neutral[k],), op.commutative))
    return parts


def of_maps(op: ir.Operator) -> ir.Map | None:
    """Return the map that an operator on arrays consists of, over its operands in order.

    Or None.
    """
    body = op.fn.body
    if len(body.stms) != 1 or not isinstance(body.stms[0].exp, ir.Map):
        return None
    (stm,) = body.stms
    exp = stm.exp
    assert isinstance(exp, ir.Map)
    same = tuple(p.name for p in stm.pat) == body.results
    over = exp.arrays == tuple(p.name for p in op.fn.params)
    return exp if same and over and not free(exp.fn) & set(exp.arrays) else None
