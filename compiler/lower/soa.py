"""The typed, monomorphic program as the core language FUN: first-order, A-normal, no records.

Needs: `monomorphise` has run. Keeps: results and failures of every entry point. Gives: arrays of
primitives only (arrays of tuples become tuples of arrays), sizes as polynomials over explicit i64
parameters, and a check in front of whatever may fail.

Provenance: a statement has the span of the expression that it computes. Code of the prelude that
was put in place carries the user's call already; in functions of the prelude that are called, spans
keep their file, and whoever inlines the call replaces them by the call's.

Note [Borrowed arrays]. A zip gives no new array in this representation, although the source takes
its result for fresh: both may be consumed. So its leaves are marked as borrowed, and marked leaves
are copied before they are consumed. What remains is a borrowed array that has a name while its
lender is consumed: when a function has lent an array and consumes it somewhere, the function is
lowered once more, this time with a copy of every borrowed array that gets a name.

Constants of the program are functions without parameters. An entry point evaluates those that it
needs once, at its start; other functions take what they need of them as leading parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from compiler.base.context import Ctx
from compiler.base.errors import CompilerBug
from compiler.base.names import Name, base_of
from compiler.frontend import typed as ty
from compiler.frontend.types import SizeVar
from compiler.ir import nodes as ir
from compiler.ir.effects import aliases, consumed
from compiler.ir.nodes import I64, SE, Function, Operand, Param, Prog, Stm, Var
from compiler.ir.poly import Poly
from compiler.ir.sizes import poly_of, se_of
from compiler.ir.walk import all_stms
from compiler.lower.build import (
    TRUE,
    Arr,
    Builder,
    Leaf,
    Shape,
    Value,
    as_params,
    leaf_type,
    operand,
)
from compiler.lower.leaves import leaves
from compiler.lower.soacs import Soacs


@dataclass(frozen=True, slots=True)
class Lowered:
    """A function that calls can refer to.

    Calls pass the constants in `needs` first, then sizes, then for each of `extra` the size of that
    leaf of the arguments along that dimension, then the arguments' leaves.
    """

    fun: Function
    needs: tuple[Name, ...]
    extra: tuple[tuple[int, int], ...]


class Soa(Soacs):
    """Lowers one definition after the other; one instance per definition."""

    def __init__(self, ctx: Ctx, known: dict[Name, Lowered], done: Builder | None) -> None:
        super().__init__(ctx)
        self.known = known
        if done is not None:
            self.used, self.funs, self.heads = done.used, done.funs, done.heads
        self.is_entry = False
        self.needs: dict[Name, tuple[tuple[Param, ...], Value]] = {}
        self.prologue: list[Stm] = []
        self.extra: list[tuple[int, int]] = []
        self.unique_params: frozenset[Name] = frozenset()
        self.param_names: set[Name] = set()
        """Parameters, which types of results may mention."""

    def lower(self, e: ty.Exp, hint: Name = "") -> Value:
        """The value of `e`; statements that compute it are appended to the open block."""
        return LOWER[type(e)](self, e, hint)

    def apply(self, e: ty.Apply, hint: Name) -> Value:
        """A call of an intrinsic or of a definition."""
        fn = e.fn
        if not isinstance(fn, ty.Var):
            raise CompilerBug("a call of something without a name", e.span)
        if fn.name.startswith("intrinsics."):
            value = self.intrinsic(e, fn, hint)
        else:
            value = self.call(e, fn, hint)
        self.bind_sizes(e.ext, e.type, value)
        return value

    def call(self, e: ty.Apply, fn: ty.Var, hint: Name) -> Value:
        """A call; sizes go first, and results of unknown size come with their sizes.

        Variables are looked up last: they may be sizes that other arguments bring.
        """
        target = self.known[fn.name]
        lowered = {k: self.lower(a) for k, a in enumerate(e.args) if not isinstance(a, ty.Var)}
        args = [
            leaf
            for k, a in enumerate(e.args)
            for leaf in (lowered[k] if k in lowered else self.lower(a))
        ]
        sizes = tuple(se_of(self.size(s)) for s in fn.size_args)
        self.prov = (e.span,)
        given: list[Any] = [*sizes, *(_size_of(args[k], at) for k, at in target.extra), *args]
        constants = [p for c in target.needs for p in self.constant_params(c)]
        mapping: dict[Name, Poly] = {}
        operands: list[Operand] = [_as_operand(p) for p in constants]
        heads = target.fun.params[: len(constants)]
        for param, actual in zip(heads, constants, strict=True):
            mapping[param.name] = Poly.var(actual.name)
        for param, leaf in zip(target.fun.params[len(constants) :], given, strict=True):
            if isinstance(param.type, ir.Array):
                shape = tuple(p.subst(mapping) for p in param.type.shape)
                leaf = self.expect(leaf, shape)
                if param.unique and isinstance(leaf, Arr) and leaf.borrowed:
                    leaf = self.array(ir.Copy(leaf.name), leaf.prim, leaf.shape)
            elif param.type == I64:
                poly = poly_of(leaf)
                if poly is None:
                    leaf = self.atom(leaf, param.name and base_of(param.name))
                    poly = poly_of(leaf)
                if poly is not None:
                    mapping[param.name] = poly.subst(self.facts.defined)
            operands.append(operand(leaf))
        return self.results(target.fun, tuple(operands), mapping, e, hint)

    def results(
        self,
        fun: Function,
        operands: tuple[Operand, ...],
        mapping: dict[Name, Poly],
        e: ty.Apply,
        hint: Name,
    ) -> Value:
        """The statement of a call, with the results' shapes in the caller's names."""
        ends = [end for _, _, end in leaves(e.type)]
        extra = len(fun.results) - len(ends)
        names = [self.name(base_of(p.name)) for p in fun.results[:extra]]
        names += self.names(hint or "r", ends)
        pat, value = self.instance_params(fun.results, names, mapping)
        self.facts.size(*names[:extra])
        self.emit(pat, ir.Call(fun.name, operands))
        shared = [p.name for p in fun.results if isinstance(p.type, ir.Array) and not p.unique]
        if len(shared) < 2:
            return value[extra:]
        return tuple(
            replace(x, borrowed=True) if isinstance(x, Arr) and p.name in shared else x
            for x, p in zip(value[extra:], fun.results[extra:], strict=True)
        )

    def instance_params(
        self, params: tuple[Param, ...], names: list[Name], mapping: dict[Name, Poly]
    ) -> tuple[tuple[Param, ...], Value]:
        """New variables for a function's results; sizes to the left are in scope to the right."""
        pat: list[Param] = []
        value: list[Arr | Var] = []
        for param, name in zip(params, names, strict=True):
            t = param.type
            if isinstance(t, ir.Array):
                t = ir.Array(t.prim, tuple(p.subst(mapping) for p in t.shape))
                value.append(Arr(name, t.prim, t.shape))
            elif isinstance(t, ir.Scalar):
                value.append(Var(name, t.prim))
                if t == I64:
                    mapping[param.name] = Poly.var(name)
            pat.append(Param(name, t))
        return tuple(pat), tuple(value)

    # --- constants ---------------------------------------------------------------------------

    def constant(self, name: Name) -> Value | None:
        """The value of a top-level constant, or of a size that comes with one."""
        if name in self.heads:
            owner, at = self.heads[name]
            return (_as_scalar(self.constant_params(owner)[at]),)
        found = self.needs.get(name)
        if found is None:
            target = self.known.get(name)
            if target is None or target.fun.params[len(self._heads(target)) :]:
                return None
            found = self.needs[name] = self._take(name, target)
        params, value = found
        extra = len(params) - self.sizes_of(name)
        return value[len(params) - extra :]

    def sizes_of(self, name: Name) -> int:
        """How many of a constant's results are sizes of the others."""
        fun = self.known[name].fun
        named = {
            n
            for p in fun.results
            if isinstance(p.type, ir.Array)
            for d in p.type.shape
            for n in d.names()
        }
        return sum(1 for p in fun.results if p.name in named)

    def _heads(self, target: Lowered) -> list[Param]:
        return [p for c in target.needs for p in self.known[c].fun.results]

    def _take(self, name: Name, target: Lowered) -> tuple[tuple[Param, ...], Value]:
        """Variables for a constant's results, bound in the prologue of an entry point."""
        operands = [_as_operand(p) for c in target.needs for p in self.constant_params(c)]
        mapping: dict[Name, Poly] = {}
        heads = [p for c in target.needs for p in self.constant_params(c)]
        for param, actual in zip(target.fun.params, heads, strict=True):
            mapping[param.name] = Poly.var(actual.name)
        names = [self.ctx.fresh(base_of(name)) for _ in target.fun.results]
        pat, value = self.instance_params(target.fun.results, names, mapping)
        if self.is_entry:
            self.prologue.append(Stm(pat, ir.Call(target.fun.name, tuple(operands)), self.prov))
        return pat, value

    def constant_params(self, name: Name) -> tuple[Param, ...]:
        """The variables that hold a constant's results here."""
        self.constant(name)
        return self.needs[name][0]

    # --- definitions -------------------------------------------------------------------------

    def definition(self, code: ty.Def) -> Lowered:
        """One definition."""
        self.is_entry = code.is_entry
        self.prov = (code.span,)
        size_params: list[Param] = []
        for name in code.size_params:
            mine = self.name(name)
            self.sizes[name] = Poly.var(mine)
            self.facts.size(mine)
            size_params.append(Param(mine, I64))
        params = self.parameters(code, size_params)
        body = self.lower(code.body)
        self.prov = (code.span,)
        heads, results, value = self.function_results(code, body)
        constants = [] if self.is_entry else [p for ps, _ in self.needs.values() for p in ps]
        implicit = len(size_params) if self.is_entry else 0
        fun = Function(
            code.source_name if self.is_entry else code.name,
            (*constants, *size_params, *params),
            results,
            ir.Body((*self.prologue, *self.stms), (*heads, *(operand(x) for x in value))),
            self.is_entry,
            implicit,
            (code.span,),
        )
        return Lowered(fun, () if self.is_entry else tuple(self.needs), tuple(self.extra))

    def parameters(self, code: ty.Def, size_params: list[Param]) -> list[Param]:
        """The IR parameters, bound to the patterns of the definition.

        A size that no parameter to the left tells becomes a size parameter, checked in the body.
        """
        params: list[Param] = []
        in_scope = {p.name for p in size_params}
        for pat in code.params:
            pairs = self.leaf_names(pat)
            wanted = self.shapes(pat.type)
            if not self.is_entry:
                in_scope.update(p.name for held, _ in self.needs.values() for p in held)
            shapes: list[Shape] = []
            for shape in wanted:
                new = list(shape)
                for at, poly in enumerate(shape):
                    if not poly.names() <= in_scope:
                        size_params.append(Param(self.ctx.fresh("n"), I64))
                        new[at] = Poly.var(size_params[-1].name)
                        self.facts.size(size_params[-1].name)
                        self.extra.append((len(params) + len(shapes), at))
                shapes.append(tuple(new))
            value = self.params([name for name, _ in pairs], pat.type, shapes)
            new_params = as_params(value)
            in_scope.update(p.name for p in new_params)
            params += [
                Param(p.name, p.type, unique and isinstance(p.type, ir.Array))
                for p, (_, unique) in zip(new_params, pairs, strict=True)
            ]
            if shapes == wanted:
                self.bind_pat(pat, value)
            else:
                self.bind_pat(pat, self.expect_all(value, wanted))
        self.unique_params = frozenset(p.name for p in params if p.unique)
        self.param_names = {p.name for p in size_params} | {p.name for p in params}
        return params

    def function_results(
        self, code: ty.Def, body: Value
    ) -> tuple[list[Operand], tuple[Param, ...], Value]:
        """Results with their declared sizes; sizes that only the body knows are results as well."""
        self.bind_sizes(code.ext, code.ret, body)
        declared = leaves(code.ret)
        locally: list[Shape] = []
        for (_, dims, _), leaf in zip(declared, body, strict=True):
            known = [self.known_size(d) for d in dims]
            actual = leaf.shape if isinstance(leaf, Arr) else ()
            locally.append(tuple(p or a for p, a in zip(known, actual, strict=True)))
        value = self.expect_all(body, locally)
        heads: dict[Poly, Name] = {}
        for (_, dims, _), shape in zip(declared, locally, strict=True):
            for dim, poly in zip(dims, shape, strict=True):
                if isinstance(dim, SizeVar) and dim.name in code.ext and poly not in heads:
                    if not code.params:
                        self.heads[dim.name] = (code.name, len(heads))
                    heads[poly] = self.ctx.fresh(dim.name)
        outside = self.param_names | set(heads.values())
        if not self.is_entry:
            outside |= {p.name for held, _ in self.needs.values() for p in held}
        rename = {p.as_name: Poly.var(h) for p, h in heads.items() if p.as_name is not None}
        rename = {name: h for name, h in rename.items() if name not in outside}
        shapes: list[Shape] = []
        for shape in locally:
            stated: list[Poly] = []
            for poly in shape:
                if poly not in heads and not poly.subst(rename).names() <= outside:
                    heads[poly] = self.ctx.fresh("n")
                    outside.add(heads[poly])
                stated.append(Poly.var(heads[poly]) if poly in heads else poly.subst(rename))
            shapes.append(tuple(stated))
        results = [Param(name, I64) for name in heads.values()]
        result_names = self.names("res", (end for _, _, end in declared))
        params = as_params(self.params(result_names, code.ret, shapes))
        aliased = self.aliased(value)
        if code.unique:
            value = tuple(
                self.array(ir.Copy(x.name), x.prim, x.shape) if isinstance(x, Arr) and shared else x
                for x, shared in zip(value, aliased, strict=True)
            )
            aliased = [False] * len(value)
        results += [
            Param(p.name, p.type, isinstance(p.type, ir.Array) and not shared)
            for p, shared in zip(params, aliased, strict=True)
        ]
        return [se_of(poly) for poly in heads], tuple(results), value

    def aliased(self, value: Value) -> list[bool]:
        """For each result, whether it may share memory with a parameter that is not consumed."""
        if not any(isinstance(x, Arr) for x in value):
            return [False] * len(value)
        body = ir.Body(tuple(self.stms), tuple(operand(x) for x in value))
        pat = tuple(Param("", leaf_type(x)) for x in value)
        found = aliases(Stm(pat, ir.If(TRUE, body, body)), self.funs)
        fresh = self.unique_params
        return [
            bool(names - fresh) or (isinstance(x, Arr) and x.borrowed)
            for x, names in zip(value, found, strict=True)
        ]


def _size_of(leaf: Leaf, at: int) -> SE:
    assert isinstance(leaf, Arr)
    return se_of(leaf.shape[at])


def _as_scalar(p: Param) -> Var:
    assert isinstance(p.type, ir.Scalar)
    return Var(p.name, p.type.prim)


def _as_operand(p: Param) -> Operand:
    return Var(p.name, p.type.prim) if isinstance(p.type, ir.Scalar) else p.name


def soa(prog: ty.TypedProg, ctx: Ctx) -> Prog:
    """Stage `soa` of a monomorphic program."""
    known: dict[Name, Lowered] = {}
    last: Soa | None = None
    for code in prog.defs:
        last = Soa(ctx, known, last)
        found = last.definition(code)
        if last.lent and last.lent & set(all_consumed(found.fun.body.stms, last.funs)):
            last = Soa(ctx, known, last)
            last.careful = True
            found = last.definition(code)
        known[code.name] = found
        last.funs[found.fun.name] = found.fun
    return Prog(tuple(found.fun for found in known.values()))


def all_consumed(stms: Iterable[Stm], funs: dict[str, Function]) -> set[Name]:
    """Every array that statements consume, at any depth, and what those are views of."""
    sources: dict[Name, set[Name]] = {}
    taken: set[Name] = set()
    for stm in all_stms(stms):
        for param, names in zip(stm.pat, aliases(stm, funs), strict=True):
            sources[param.name] = {y for x in names for y in (x, *sources.get(x, ()))}
        taken.update(consumed(stm.exp, funs))
    return taken.union(*(sources.get(name, ()) for name in taken))


LOWER: dict[type, Callable[[Soa, Any, Name], Value]] = {
    ty.Const: Soa.const,
    ty.StringConst: Soa.string,
    ty.Var: Soa.var,
    ty.PrimOp: Soa.prim_op,
    ty.Convert: Soa.convert,
    ty.PrimFun: Soa.prim_fun,
    ty.Apply: Soa.apply,
    ty.Let: Soa.let,
    ty.If: Soa.if_exp,
    ty.Match: Soa.match,
    ty.Loop: Soa.loop,
    ty.RecordExp: Soa.record,
    ty.Project: Soa.project,
    ty.RecordUpdate: Soa.record_update,
    ty.ArrayLit: Soa.array_lit,
    ty.Range: Soa.range_exp,
    ty.Index: Soa.index,
    ty.Update: Soa.update,
    ty.Coerce: Soa.coerce,
    ty.Assert: Soa.assert_exp,
    ty.Constr: Soa.constr,
    ty.Attr: Soa.attr,
}
