r"""Move sums into maps: summands need not be stored first.

    reduce (map2 +) zeros (map (\x -> map (\y -> f x y) ys) xs)
      ==> map (\y -> reduce (+) 0 (map (\x -> f x y) xs)) ys

Reverse mode makes such sums for the adjoints of a map's free arrays: for a product of matrices the
left side has an array of three dimensions in memory, and the right side is one more product.
What `f` needs of `x` alone is computed for each `y` then: a few scalar operations at most.

Keeps: results, but for the order in which numbers are added up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.analysis.cost import CHEAP, cost
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.remarks import Applied
from compiler.base.rules import Rule
from compiler.base.spans import Prov
from compiler.derive.split import of_maps
from compiler.ir import nodes as ir
from compiler.ir.may_fail import cannot_fail
from compiler.ir.nodes import SE, Operand, Param
from compiler.ir.types import as_operand, row_type, shape_of, with_dims
from compiler.ir.walk import count_uses, free, map_stms, rename

SUM_INSIDE = Rule(
    "ad/sum-inside",
    "Moves a sum over the rows of a map into the map.",
    equation="`reduce (map2 +) zeros (map (\\x -> map (f x) ys) xs) ==> "
    "map (\\y -> reduce (+) 0 (map (\\x -> f x y) xs)) ys`",
)


def sums_inside(fun: ir.Function, ctx: Ctx) -> ir.Function:
    """Turn sums of rows into rows of sums, where that computes nothing twice."""
    if ctx.options.is_off(SUM_INSIDE):
        return fun
    moved = _Sums(ctx, count_uses(fun.body), {})
    stms = moved.stms(fun.body.stms)
    body = ir.Body(stms, fun.body.results, fun.body.prov)
    return ir.Function(fun.name, fun.params, fun.results, body, fun.entry, fun.implicit, fun.prov)


@dataclass(slots=True)
class _Nest:
    """A sum of rows made by a map with an inner map, of which it uses one result."""

    outer: ir.Map
    inner: ir.Map
    result: int
    op: ir.Map
    zero: Operand
    scalars: tuple[ir.Stm, ...] = ()
    """Scalars of an outer row that the inner map needs."""


class _Sums:
    """Walks bodies; knows the definitions of arrays, and the number of uses of each name."""

    def __init__(self, ctx: Ctx, uses: dict[Name, int], fills: dict[Name, ir.Replicate]) -> None:
        self.ctx = ctx
        self.uses = uses
        self.fills = fills

    def stms(self, stms: tuple[ir.Stm, ...]) -> tuple[ir.Stm, ...]:
        """Rewrite the statements of a body."""
        made: dict[Name, tuple[ir.Map, int]] = {}
        new: list[ir.Stm] = []
        for stm in stms:
            exp = map_stms(stm.exp, self.stms)
            stm = stm if exp is stm.exp else ir.Stm(stm.pat, exp, stm.prov)
            if isinstance(exp, ir.Map):
                made.update((p.name, (exp, k)) for k, p in enumerate(stm.pat))
            if isinstance(exp, ir.Replicate):
                self.fills[stm.pat[0].name] = exp
            nest = self.nest(exp, made)
            moved = None
            if nest is not None:
                said = (
                    "The sum is computed where the rows are computed, so the rows are never stored."
                )
                outcome = Applied(nest, said)
                moved = self.ctx.commit(SUM_INSIDE, stm.prov, outcome)
            new += [stm] if moved is None else self.moved(moved, stm.pat[0], stm.prov)
        return tuple(new)

    def nest(self, exp: ir.Exp, made: dict[Name, tuple[ir.Map, int]]) -> _Nest | None:
        """Match a sum over nested maps."""
        if not isinstance(exp, ir.Reduce) or len(exp.ops) != 1 or len(exp.arrays) != 1:
            return None
        (op,), (array,) = exp.ops, exp.arrays
        if array not in made or self.uses.get(array) != 1 or not _is_identity(exp.fn):
            return None
        outer, k = made[array]
        added, fill = of_maps(op), self.fills.get(str(op.neutral[0]))
        value = outer.fn.body.results[k]
        if added is None or fill is None or isinstance(fill.value, str):
            return None
        for stm in outer.fn.body.stms:
            names = [p.name for p in stm.pat]
            if isinstance(stm.exp, ir.Map) and value in names:
                found = _Nest(outer, stm.exp, names.index(str(value)), added, fill.value)
                return self._with_scalars(found)
        return None

    def _with_scalars(self, nest: _Nest) -> _Nest | None:
        """Return the nest with the scalars that it needs of an outer row; None if it needs more."""
        of_row = {p.name: stm for stm in nest.outer.fn.body.stms for p in stm.pat}
        own = {p.name for p in nest.outer.fn.params}
        todo = list(free(nest.inner.fn))
        if of_row.keys() & {*nest.inner.arrays, *nest.inner.width.names()}:
            return None
        needed: dict[Name, SE] = {}
        while todo:
            stm = of_row.get(name := todo.pop())
            if stm is None or name in needed:
                continue
            if not isinstance(stm.exp, ir.SE_NODES) or not cannot_fail(stm.exp):
                return None
            needed[name] = stm.exp
            todo += free(stm.exp)
        scalars = tuple(s for s in nest.outer.fn.body.stms if s.pat and s.pat[0].name in needed)
        rows = set(nest.inner.arrays) & own
        if sum(map(cost, needed.values())) > CHEAP or free((nest.inner.fn, scalars)) & rows:
            return None
        return replace(nest, scalars=scalars)

    def moved(self, nest: _Nest, result: Param, prov: Prov) -> list[ir.Stm]:
        """Return the map of sums."""
        fresh = self.ctx.fresh
        params = {
            p.name: array for p, array in zip(nest.outer.fn.params, nest.outer.arrays, strict=True)
        }
        kinds = {p.name: p.type for p in nest.outer.fn.params}
        first: list[ir.Stm] = []
        over: list[Name] = []
        rows: list[Param] = []
        given: list[Operand] = []
        extra: list[tuple[Param, Name]] = []
        g = rename(nest.inner.fn, fresh)
        for p, array in zip(g.params, nest.inner.arrays, strict=True):
            if array not in params:
                own = Param(fresh(p.name), p.type)
                over.append(array)
                rows.append(own)
                given.append(as_operand(own))
                continue
            whole = with_dims((nest.outer.width,), kinds[array])
            view = self._turned(params[array], whole, first, prov)
            column = Param(fresh(p.name), with_dims((nest.outer.width,), p.type))
            over.append(view)
            rows.append(column)
            each = Param(fresh(p.name), p.type)
            extra.append((each, column.name))
            given.append(as_operand(each))
        names = dict(zip((p.name for p in g.params), given, strict=True))
        needed = free((nest.inner.fn, nest.scalars))
        wanted = [p for p in nest.outer.fn.params if p.name in needed]
        mine = [Param(fresh(p.name), p.type) for p in wanted]
        names.update((p.name, as_operand(q)) for p, q in zip(wanted, mine, strict=True))
        stms = (*nest.scalars, *g.body.stms)
        body = rename(ir.Body(stms, (g.body.results[nest.result],)), fresh, names)
        kind = row_type(result.type)
        fn = ir.Lambda((*mine, *(p for p, _ in extra)), body, (kind,))
        arrays = (*(params[p.name] for p in wanted), *(name for _, name in extra))
        sums = self._sum(nest, fn, arrays, prov)
        whole_fn = ir.Lambda(tuple(rows), sums, (kind,))
        return [*first, ir.Stm((result,), ir.Map(nest.inner.width, whole_fn, tuple(over)), prov)]

    def _turned(self, array: Name, kind: ir.Type, into: list[ir.Stm], prov: Prov) -> Name:
        """Return an array with its first two dimensions swapped."""
        assert isinstance(kind, ir.Array)
        perm = (1, 0, *range(2, kind.rank))
        shape = tuple(kind.shape[k] for k in perm)
        view = Param(self.ctx.fresh(array), ir.Array(kind.prim, shape))
        into.append(ir.Stm((view,), ir.Rearrange(perm, array), prov))
        return view.name

    def _sum(self, nest: _Nest, fn: ir.Lambda, arrays: Sequence[Name], prov: Prov) -> ir.Body:
        """Return the sum of a function's results over all rows, with nested sums moved too."""
        fresh, width = self.ctx.fresh, nest.outer.width
        (kind,) = fn.returns
        stms: list[ir.Stm] = []
        each = Param(fresh("each"), with_dims((width,), kind))
        stms.append(ir.Stm((each,), ir.Map(width, fn, tuple(arrays)), prov))
        neutral: Operand = nest.zero
        if isinstance(kind, ir.Array):
            zero = Param(fresh("zero"), kind)
            stms.append(ir.Stm((zero,), ir.Replicate(shape_of(kind), nest.zero), prov))
            neutral = zero.name
        adder = rename(nest.op.fn, fresh)
        x = Param(fresh("x"), kind)
        identity = ir.Lambda((x,), ir.Body((), (as_operand(x),)), (kind,))
        op = ir.Operator(adder, (neutral,), True)
        total = Param(fresh("sum"), kind)
        stms.append(ir.Stm((total,), ir.Reduce(width, (op,), identity, (each.name,)), prov))
        inner = _Sums(self.ctx, {**self.uses, each.name: 1}, dict(self.fills))
        return ir.Body(inner.stms(tuple(stms)), (as_operand(total),))


def _is_identity(fn: ir.Lambda) -> bool:
    return not fn.body.stms and fn.body.results == tuple(map(as_operand, fn.params))
