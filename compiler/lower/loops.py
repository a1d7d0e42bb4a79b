"""Loops in their three forms."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from compiler.algebra.poly import Poly
from compiler.base.names import Name, base_of
from compiler.frontend import typed as ty
from compiler.frontend.types import SizeVar
from compiler.ir import nodes as ir
from compiler.ir.build import whole_dims
from compiler.ir.effects import aliases, consumed
from compiler.ir.nodes import SE, TRUE, ZERO, Param, Stm, Var
from compiler.ir.sizes import se_of
from compiler.lower.branches import Branches
from compiler.lower.build import Arr, Shape, Value, as_params, operand
from compiler.lower.leaves import leaves


@dataclass(frozen=True, slots=True)
class Carried:
    """What a loop carries: the shapes of its leaves, and the sizes in them that change.

    `heads` are the parameters for these sizes, by the source's names; `starts` what they are first.
    """

    shapes: list[Shape]
    heads: dict[Name, Name]
    starts: list[Poly]


@dataclass(frozen=True, slots=True)
class Head:
    """A loop's bound, under a name and as it was computed, and the array's leaves."""

    bound: SE
    limit: SE
    rows: Value


class Loops(Branches):
    """Lowering of `loop`."""

    def loop(self, e: ty.Loop, hint: Name) -> Value:
        """A loop in any of its forms."""
        init = self.lower(e.init, self.pat_hint(e.pat))
        head = self.loop_head(e)
        self.prov = (e.span,)
        carried = self.carried(e, init)
        init = self.fit(init, carried, carried.starts)
        pairs = self.leaf_names(e.pat)
        values = self.params([name for name, _ in pairs], e.pat.type, carried.shapes)
        start = self.condition(e, carried, carried.starts, init)
        cond_name = self.ctx.fresh("go") if start else ""
        self.bind_heads(carried, carried.heads.values())
        self.bind_pat(e.pat, values)
        outer = self.open()
        form = self.loop_form(e, head, cond_name)
        result = self.lower(e.body)
        self.prov = (e.span,)
        ends = self.ends(e, carried, result)
        result = self.fit(result, carried, ends)
        again = self.condition(e, carried, ends, result)
        results = (*again, *(se_of(p) for p in ends), *(operand(x) for x in result))
        body = ir.Body(tuple(self.close(outer)), results)
        heads = [Param(cond_name, ir.BOOL)] if cond_name else []
        heads += [Param(head, ir.I64) for head in carried.heads.values()]
        params = [
            Param(p.name, p.type, unique and isinstance(p.type, ir.Array))
            for p, (_, unique) in zip(as_params(values), pairs, strict=True)
        ]
        params = self.consumed_params(params, body, len(heads))
        inits = (*start, *(se_of(p) for p in carried.starts), *(operand(x) for x in init))
        self.prov = (e.span,)
        return self.loop_result(e, ir.Loop((*heads, *params), inits, form, body), carried, hint)

    def carried(self, e: ty.Loop, init: Value) -> Carried:
        """The shapes of what a loop carries; sizes that change become parameters."""
        found = Carried([], {}, [])
        for (_, dims, _), leaf in zip(leaves(e.pat.type), init, strict=True):
            shape: list[Poly] = []
            for at, dim in enumerate(dims):
                size = dim.name if isinstance(dim, SizeVar) else ""
                if size in e.sizes and size not in found.heads and isinstance(leaf, Arr):
                    found.heads[size] = self.name(size)
                    if at == 0:
                        self.facts.array([Poly.var(found.heads[size])])
                    self.sizes[size] = Poly.var(found.heads[size])
                    found.starts.append(leaf.shape[at])
                shape.append(self.size(dim))
            found.shapes.append(tuple(shape))
        return found

    def fit(self, value: Value, carried: Carried, sizes: list[Poly]) -> Value:
        """`value` with the shapes that the loop carries when its sizes are `sizes`."""
        now = dict(zip(carried.heads.values(), sizes, strict=True))
        shapes = [tuple(p.subst(now) for p in shape) for shape in carried.shapes]
        return tuple(self.own(x) for x in self.expect_all(value, shapes))

    def bind_heads(self, carried: Carried, values: Iterable[Name | Poly]) -> None:
        """Let the sizes that change stand for `values`."""
        for size, value in zip(carried.heads, values, strict=True):
            self.sizes[size] = Poly.of(value)

    def condition(
        self, e: ty.Loop, carried: Carried, sizes: list[Poly], value: Value
    ) -> tuple[SE, ...]:
        """The condition of a `while` on these values; nothing for other loops."""
        if not isinstance(e.form, ty.While):
            return ()
        self.bind_heads(carried, sizes)
        self.bind_pat(e.pat, value)
        return (self.se(e.form.cond),)

    def ends(self, e: ty.Loop, carried: Carried, result: Value) -> list[Poly]:
        """The sizes that change, as an iteration leaves them."""
        ends: dict[Name, Poly] = {}
        for (_, dims, _), leaf in zip(leaves(e.pat.type), result, strict=True):
            for dim, poly in zip(dims, leaf.shape if isinstance(leaf, Arr) else (), strict=True):
                if isinstance(dim, SizeVar) and dim.name in carried.heads:
                    ends.setdefault(dim.name, poly)
        return [ends[size] for size in carried.heads]

    def consumed_params(self, params: list[Param], body: ir.Body, skip: int) -> list[Param]:
        """The parameters; unique where the body consumes them or passes them on to unique ones."""
        unique = set(consumed(ir.If(TRUE, body, body), self.funs))
        unique |= {p.name for p in params if p.unique}
        if not unique.isdisjoint(p.name for p in params):
            results = ir.Body(body.stms, body.results[skip:])
            found = aliases(Stm(tuple(params), ir.If(TRUE, results, results)), self.funs)
            for _ in params:
                for p, names in zip(params, found, strict=True):
                    if p.name in unique:
                        unique |= names
        return [Param(p.name, p.type, True) if p.name in unique else p for p in params]

    def loop_result(self, e: ty.Loop, loop: ir.Loop, carried: Carried, hint: Name) -> Value:
        """The loop's statement and what its names stand for afterwards."""
        after = {head: self.ctx.fresh(head) for head in carried.heads.values()}
        final = {head: Poly.var(name) for head, name in after.items()}
        shapes = [tuple(p.subst(final) for p in shape) for shape in carried.shapes]
        own = self.pat_hint(e.pat)
        hint = hint or (own and base_of(own))
        if hint or not isinstance(e.pat, ty.PRecord):
            names = self.names(hint or "r", (end for _, _, end in leaves(e.pat.type)))
        else:
            names = [self.ctx.fresh(name) for name, _ in self.leaf_names(e.pat)]
        value = self.params(names, e.pat.type, shapes)
        for leaf in value:
            if isinstance(leaf, Arr):
                self.facts.array(leaf.shape)
        heads = [Param(name, ir.I64) for name in after.values()]
        if isinstance(loop.form, ir.WhileLoop):
            heads.insert(0, Param(self.ctx.fresh("go"), ir.BOOL))
        self.emit((*heads, *as_params(value)), loop)
        self.bind_heads(carried, final.values())
        self.bind_sizes(e.ext, e.type, value)
        return value

    def loop_head(self, e: ty.Loop) -> Head:
        """What a loop's form evaluates once."""
        if isinstance(e.form, ty.For):
            bound = self.se(e.form.bound)
            return Head(self.atom(bound, "bound"), bound, ())
        if isinstance(e.form, ty.ForIn):
            rows = self.lower(e.form.array)
            first = rows[0]
            assert isinstance(first, Arr)
            return Head(se_of(first.shape[0]), se_of(first.shape[0]), rows)
        return Head(ZERO, ZERO, ())

    def loop_form(self, e: ty.Loop, head: Head, cond_name: Name) -> ir.ForLoop | ir.WhileLoop:
        """The IR form; binds what each iteration starts with."""
        match e.form:
            case ty.For(name, prim, _):
                index = self.name(name)
                self.env[name] = (Var(index, prim),)
                self.facts.counter(index, prim, head.limit)
                return ir.ForLoop(index, prim, head.bound)
            case ty.ForIn(pat, _):
                index = self.ctx.fresh("i")
                at = Var(index, "i64")
                self.facts.counter(index, "i64", head.limit)
                self.facts.runs(self.poly(head.limit))
                row = tuple(self.row(x, at) for x in head.rows if isinstance(x, Arr))
                self.bind_pat(pat, row if leaves(pat.type) else ())
                return ir.ForLoop(index, "i64", head.bound)
        return ir.WhileLoop(cond_name)

    def row(self, array: Arr, at: SE) -> SE | Arr:
        """`array[at]`, not checked."""
        if len(array.shape) == 1:
            return self.scalar(ir.Index(array.name, (at,)), array.prim, f"{base_of(array.name)}_el")
        exp = ir.Slice(array.name, (ir.DimFix(at), *whole_dims(array.shape[1:])))
        return self.view(exp, array, array.shape[1:], f"{base_of(array.name)}_row")
