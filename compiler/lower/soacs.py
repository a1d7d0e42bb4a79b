"""The intrinsics: parallel operators, and what becomes views, copies and nothing at all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from compiler.algebra.poly import Poly
from compiler.base.errors import CompilerBug, Limitation
from compiler.base.names import Name, base_of
from compiler.frontend import typed as ty
from compiler.frontend.types import Type
from compiler.ir import nodes as ir
from compiler.ir.build import both
from compiler.ir.nodes import FALSE, ONE, SE, ZERO, Bin, Lambda, Param, Var
from compiler.ir.sizes import se_of
from compiler.ir.types import array_type, as_operand
from compiler.lower.build import (
    Arr,
    Message,
    Shape,
    Value,
    as_params,
    leaf_type,
    operand,
    show_shape,
)
from compiler.lower.leaves import leaves
from compiler.lower.lmads import Lmads


def arrays_of(value: Value) -> tuple[Arr, ...]:
    """The leaves of an array value."""
    return tuple(x for x in value if isinstance(x, Arr))


def no_size(shape: Shape) -> Message:
    """What is wrong with an array that has no other view."""
    return ("Array of shape ", *show_shape(shape), " has a size that no array can have.")


def outer_size(value: Value) -> Poly:
    """The number of rows of an array value."""
    return arrays_of(value)[0].shape[0]


class Soacs(Lmads):
    """Lowering of applied intrinsics."""

    def intrinsic(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """An applied intrinsic."""
        return INTRINSIC[fn.name.removeprefix("intrinsics.")](self, e, fn, hint)

    # --- parallel operators ------------------------------------------------------------------

    def row_params(self, pat: ty.Pat, rows: Value) -> Value:
        """Variables for one row of each array, bound to `pat`."""
        names = [name for name, _ in self.leaf_names(pat)]
        if not names:
            self.bind_pat(pat, ())
            return ()
        result: list[SE | Arr] = []
        for name, array in zip(names, arrays_of(rows), strict=True):
            if len(array.shape) > 1:
                result.append(Arr(name, array.prim, array.shape[1:]))
                continue
            result.append(Var(name, array.prim))
            count = self.iotas.get(array.name)
            if count is not None:
                self.facts.index(name, count)
                self.facts.runs(count)
        self.bind_pat(pat, tuple(result))
        return tuple(result)

    def lambda_of(self, e: ty.Exp) -> ty.Lambda:
        """A functional argument."""
        if not isinstance(e, ty.Lambda):
            raise CompilerBug("a functional argument that is no lambda", e.span)
        return e

    def map(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """`map f xs`."""
        lam = self.lambda_of(e.args[0])
        xs = self.lower(e.args[1])
        self.prov = (e.span,)
        width = outer_size(xs)
        result_type = fn.type_args[1]
        declared = leaves(result_type)
        stated = self.lambda_shapes(result_type)
        outer = self.open()
        params = self.row_params(lam.params[0], xs)
        body = self.lower(lam.body)
        self.prov = (e.span,)
        if declared and not self.stms and all(x in params for x in body):
            self.close(outer)
            rows = dict(zip(params, arrays_of(xs), strict=True))
            return tuple(replace(rows[x], borrowed=True) for x in body)
        if not declared:
            body, stated, declared = (FALSE,), [()], (("bool", (), ""),)
        shapes = [
            s if s is not None else x.shape if isinstance(x, Arr) else ()
            for s, x in zip(stated, body, strict=True)
        ]
        self.check_regular(shapes, params)
        body = self.expect_all(body, shapes)
        stms = self.close(outer)
        returns = tuple(
            array_type(prim, s) for (prim, _, _), s in zip(declared, shapes, strict=True)
        )
        code = Lambda(
            as_params(params), ir.Body(tuple(stms), tuple(operand(x) for x in body)), returns
        )
        used = tuple(a.name for a in arrays_of(xs)) if params else ()
        names = self.names(hint or "map", (end for _, _, end in declared))
        value = tuple(
            Arr(name, prim, (width, *shape))
            for name, (prim, _, _), shape in zip(names, declared, shapes, strict=True)
        )
        self.emit(as_params(value), ir.Map(width, code, used))
        return value

    def check_regular(self, shapes: list[Shape], params: Value) -> None:
        """Refuse rows whose size the outside cannot know."""
        names = {name for shape in shapes for poly in shape for name in poly.names()}
        if not names:
            return
        inside = {p.name for stm in self.stms for p in stm.pat}
        inside |= {x.name for x in params if isinstance(x, Arr | Var)}
        if names & inside:
            raise Limitation(
                "The rows of this array may have different sizes.",
                self.prov[0],
                "Give all rows one size that is known before, as in `row :> [n]t`.",
            )

    def lambda_shapes(self, t: Type) -> list[Shape | None]:
        """The shapes of a lambda's results as declared; None where they mention unknown names."""
        found: list[Shape | None] = []
        for _, dims, _ in leaves(t):
            polys = [self.known_size(d) for d in dims]
            found.append(tuple(p for p in polys if p is not None) if None not in polys else None)
        return found

    def operator(self, lam: ty.Lambda, elem: Type, shapes: list[Shape]) -> Lambda:
        """A binary operator on elements of type `elem`."""
        sides: list[SE | Arr] = []
        for pat in lam.params:
            names = [name for name, _ in self.leaf_names(pat)]
            side = self.params(names, elem, shapes)
            self.bind_pat(pat, side)
            sides.extend(side)
        outer = self.open()
        body = self.expect_all(self.lower(lam.body), shapes)
        stms = self.close(outer)
        returns = tuple(leaf_type(x) for x in self.params(["_"] * len(shapes), elem, shapes))
        results = tuple(operand(x) for x in body)
        return Lambda(as_params(tuple(sides)), ir.Body(tuple(stms), results), returns)

    def identity(self, types: tuple[tuple[str, ir.Type], ...]) -> Lambda:
        """The function that returns its arguments."""
        params = tuple(Param(self.ctx.fresh(base), t) for base, t in types)
        results = tuple(map(as_operand, params))
        return Lambda(params, ir.Body((), results), tuple(p.type for p in params))

    def same_width(self, first: Value, other: Value) -> Value:
        """`other` with as many rows as `first`."""
        width = outer_size(first)
        have = outer_size(other)
        if have == width:
            return other
        what = (
            "Arrays of different outer sizes: ",
            *show_shape((width,)),
            " and ",
            *show_shape((have,)),
            ".",
        )
        return self.expect_all(other, [(width, *a.shape[1:]) for a in arrays_of(other)], what)

    def fold(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """`reduce`, `reduce_comm` and `scan`."""
        elem = fn.type_args[0]
        neutral, xs = self.lower(e.args[1]), self.lower(e.args[2])
        self.prov = (e.span,)
        if not leaves(elem):
            return () if fn.name != "intrinsics.scan" else xs
        width = outer_size(xs)
        shapes = [a.shape[1:] for a in arrays_of(xs)]
        neutral = self.expect_all(neutral, shapes)
        lam = self.operator(self.lambda_of(e.args[0]), elem, shapes)
        self.prov = (e.span,)
        commutative = fn.name == "intrinsics.reduce_comm"
        op = ir.Operator(lam, tuple(operand(x) for x in neutral), commutative)
        ends = [end for _, _, end in leaves(elem)]
        rows = self.identity(tuple(("x", t) for t in lam.returns))
        arrays = tuple(a.name for a in arrays_of(xs))
        if fn.name == "intrinsics.scan":
            names = self.names(hint or "scan", ends)
            value: Value = tuple(
                Arr(n, a.prim, (width, *a.shape[1:]))
                for n, a in zip(names, arrays_of(xs), strict=True)
            )
            self.emit(as_params(value), ir.Scan(width, (op,), rows, arrays))
            return value
        names = self.names(hint or "red", ends)
        value = self.params(names, elem, shapes)
        self.emit(as_params(value), ir.Reduce(width, (op,), rows, arrays))
        return value

    def dests(self, value: Value) -> tuple[Arr, ...]:
        """Destinations to consume: each array once."""
        result: list[Arr] = []
        for a in arrays_of(value):
            if a.borrowed or any(a.name == b.name for b in result):
                a = self.copied(a)
            result.append(a)
        return tuple(result)

    def scatter(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """`scatter_1d`, `scatter_2d`, `scatter_3d`."""
        rank = int(fn.name[-2])
        dests = self.dests(self.lower(e.args[0]))
        at = self.lower(e.args[1])
        values = self.same_width(at, self.lower(e.args[2]))
        self.prov = (e.span,)
        values = self.expect_all(values, [(outer_size(at), *d.shape[rank:]) for d in dests])
        types = [
            *(("i", ir.I64) for _ in at),
            *(("v", array_type(v.prim, v.shape[1:])) for v in arrays_of(values)),
        ]
        plain = self.identity(tuple(types))
        places, items = plain.body.results[:rank], plain.body.results[rank:]
        results = tuple(x for item in items for x in (*places, item))
        returns = tuple(t for r in plain.returns[rank:] for t in (*plain.returns[:rank], r))
        code = Lambda(plain.params, ir.Body((), results), returns)
        arrays = tuple(a.name for a in (*arrays_of(at), *arrays_of(values)))
        value = self.like(dests, fn.type_args[0], hint or base_of(dests[0].name))
        to = tuple(ir.Dest(d.name, rank) for d in dests)
        self.emit(as_params(value), ir.Scatter(outer_size(at), to, code, arrays))
        return value

    def like(self, arrays: tuple[Arr, ...], elem: Type, hint: Name) -> Value:
        """New variables of the same types."""
        ends = [end for _, _, end in leaves(elem)] or [""]
        names = self.names(hint, ends)
        return tuple(Arr(n, a.prim, a.shape) for n, a in zip(names, arrays, strict=True))

    def hist(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """`hist_1d`, `hist_2d`, `hist_3d`."""
        rank = int(fn.name[-2])
        elem = fn.type_args[0]
        dests = self.dests(self.lower(e.args[0]))
        neutral, at = self.lower(e.args[2]), self.lower(e.args[3])
        values = self.same_width(at, self.lower(e.args[4]))
        self.prov = (e.span,)
        if not leaves(elem):
            return dests
        shapes = [d.shape[rank:] for d in dests]
        neutral = self.expect_all(neutral, shapes)
        values = self.expect_all(values, [(outer_size(at), *s) for s in shapes])
        lam = self.operator(self.lambda_of(e.args[1]), elem, shapes)
        self.prov = (e.span,)
        types = [*(("i", ir.I64) for _ in at), *(("v", t) for t in lam.returns)]
        rows = self.identity(tuple(types))
        op = ir.Operator(lam, tuple(operand(x) for x in neutral))
        value = self.like(dests, elem, hint or base_of(dests[0].name))
        hist_op = ir.HistOp(tuple(d.name for d in dests), rank, op)
        arrays = tuple(a.name for a in (*arrays_of(at), *arrays_of(values)))
        self.emit(as_params(value), ir.Hist(outer_size(at), (hist_op,), rows, arrays))
        return value

    # --- pairs -------------------------------------------------------------------------------

    def zip(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """The leaves of both; an array of unit vanishes beside another."""
        xs, ys = self.lower(e.args[0]), self.lower(e.args[1])
        self.prov = (e.span,)
        ys = self.same_width(xs, ys)
        left, right = (bool(leaves(t)) for t in fn.type_args[:2])
        value = xs + ys if left and right else xs if left else ys
        return tuple(replace(a, borrowed=True) for a in arrays_of(value))

    def unzip(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """The leaves again; an array of unit is made up."""
        value = self.lower(e.args[0])
        first, second = fn.type_args[:2]
        if leaves(first) and leaves(second):
            return value
        width = (outer_size(value),)
        units = self.array(ir.Replicate(width, FALSE), "bool", width, "units")
        if not leaves(first):
            return (units, *(value if leaves(second) else (units,)))
        return (*value, units)

    # --- making arrays -----------------------------------------------------------------------

    def count(self, e: ty.Apply) -> Poly:
        """A number of elements, the first argument of `e`, asserted not to be negative."""
        n = self.poly(self.se(e.args[0], "n"), "n")
        self.prov = (e.span,)
        self.check_size(n, ("Range 0..1..<", se_of(n), " is invalid."))
        return n

    def iota(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """`0, 1, .. n-1`."""
        n = self.count(e)
        self.prov = (e.span,)
        array = self.array(ir.Iota(n, ZERO, ONE, "i64"), "i64", (n,), hint or "iota")
        self.iotas[array.name] = n
        return (array,)

    def replicate(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """`n` times the same."""
        n = self.count(e)
        value = self.lower(e.args[1]) or (FALSE,)
        self.prov = (e.span,)
        ends = [end for _, _, end in leaves(fn.type_args[0])] or [""]
        names = self.names(hint or "rep", ends)
        result: list[Arr] = []
        for leaf, name in zip(value, names, strict=True):
            shape = leaf.shape if isinstance(leaf, Arr) else ()
            exp = ir.Replicate((n,), operand(leaf))
            t = leaf_type(leaf)
            assert not isinstance(t, ir.Mem)
            result.append(self.array(exp, t.prim, (n, *shape), name))
        return tuple(result)

    def concat(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """One array after the other."""
        xs, ys = self.lower(e.args[0]), self.lower(e.args[1])
        self.prov = (e.span,)
        ends = [end for _, _, end in leaves(fn.type_args[0])] or [""]
        names = self.names(hint or "cat", ends)
        result: list[Arr] = []
        for a, b, name in zip(arrays_of(xs), arrays_of(ys), names, strict=True):
            second = self.expect(b, (b.shape[0], *a.shape[1:]))
            total = a.shape[0] + b.shape[0]
            self.check_size(total, ("Array of size [", se_of(total), "] is too large."))
            shape = (total, *a.shape[1:])
            exp = ir.Concat((a.name, str(operand(second))))
            result.append(self.array(exp, a.prim, shape, name))
        return tuple(result)

    def views(self, e: ty.Apply, hint: Name, view: Callable[[Arr], tuple[ir.Exp, Shape]]) -> Value:
        """One view per leaf."""
        value = self.lower(e.args[0])
        self.prov = (e.span,)
        result: list[Arr] = []
        for array in arrays_of(value):
            exp, shape = view(array)
            single = hint if len(value) == 1 else ""
            result.append(self.view(exp, array, shape, single or base_of(array.name)))
        return tuple(result)

    def transpose(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """The first two dimensions exchanged."""

        def view(a: Arr) -> tuple[ir.Exp, Shape]:
            self.check_size(a.shape[1], no_size(a.shape))
            perm = (1, 0, *range(2, len(a.shape)))
            return ir.Rearrange(perm, a.name), (a.shape[1], a.shape[0], *a.shape[2:])

        return self.views(e, hint, view)

    def flatten(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """The first two dimensions as one."""

        def view(a: Arr) -> tuple[ir.Exp, Shape]:
            total = a.shape[0] * a.shape[1]
            self.check_size(total, no_size(a.shape))
            shape = (total, *a.shape[2:])
            return ir.Reshape(shape, a.name), shape

        return self.views(e, hint, view)

    def unflatten(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """The first dimension as two."""
        outer, inner = (self.size(s) for s in fn.size_args[:2])

        def view(a: Arr) -> tuple[ir.Exp, Shape]:
            total = outer * inner
            wanted = ("array of shape ", *show_shape((outer, inner)), ".")
            text = ("Cannot unflatten array of shape ", *show_shape(a.shape[:1]), " to ", *wanted)
            for size in (outer, inner):
                self.check_size(size, text)
            ok = self.products_fit(total)
            if a.shape[0] != total:
                ok = both(ok, Bin("==", "i64", se_of(a.shape[0]), se_of(total)))
            self.check(ok, text)
            shape = (outer, inner, *a.shape[1:])
            return ir.Reshape(shape, a.name), shape

        return self.views(e, hint, view)

    def copy(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """Fresh arrays; scalars are themselves."""
        value = self.lower(e.args[0])
        self.prov = (e.span,)
        single = hint if len(value) == 1 else ""
        return tuple(
            self.array(ir.Copy(x.name), x.prim, x.shape, single or base_of(x.name))
            if isinstance(x, Arr)
            else x
            for x in value
        )

    def opaque(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """The argument."""
        return self.lower(e.args[0], hint)


INTRINSIC: dict[str, Callable[[Soacs, ty.Apply, ty.Var, Name], Value]] = {
    "map": Soacs.map,
    "reduce": Soacs.fold,
    "reduce_comm": Soacs.fold,
    "scan": Soacs.fold,
    "zip": Soacs.zip,
    "unzip": Soacs.unzip,
    "scatter_1d": Soacs.scatter,
    "scatter_2d": Soacs.scatter,
    "scatter_3d": Soacs.scatter,
    "hist_1d": Soacs.hist,
    "hist_2d": Soacs.hist,
    "hist_3d": Soacs.hist,
    "iota": Soacs.iota,
    "replicate": Soacs.replicate,
    "concat": Soacs.concat,
    "transpose": Soacs.transpose,
    "flatten": Soacs.flatten,
    "unflatten": Soacs.unflatten,
    "copy": Soacs.copy,
    "opaque": Soacs.opaque,
    **{f"flat_index_{rank}d": Soacs.flat_index for rank in (2, 3, 4)},
    **{f"flat_update_{rank}d": Soacs.flat_update for rank in (2, 3, 4)},
}
