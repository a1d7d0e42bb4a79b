"""Constants of the program, and what calls need to know of lowered definitions.

A constant is a function without parameters. An entry point evaluates those that it needs once, in
its prologue; other functions take what they need of them as leading parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.nodes import I64, Function, Param, Stm, Var
from compiler.ir.types import as_operand, as_scalar
from compiler.lower.build import Arr, Lowering, Value
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
    twice: tuple[bool, ...] = ()
    """Which results may have a cell twice, if any."""


class Constants(Soacs):
    """Where constants and sizes that come with them are looked up."""

    def __init__(self, ctx: Ctx, known: dict[Name, Lowered], done: Lowering | None) -> None:
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

    def constant(self, name: Name) -> Value | None:
        """The value of a top-level constant, or of a size that comes with one."""
        if name in self.heads:
            owner, at = self.heads[name]
            return (as_scalar(self.constant_params(owner)[at]),)
        found = self.needs.get(name)
        if found is None:
            target = self.known.get(name)
            if target is None or target.fun.params[len(self._heads(target)) :]:
                return None
            found = self.needs[name] = self._take(name, target)
        return found[1][self.sizes_of(name) :]

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
        operands = [as_operand(p) for c in target.needs for p in self.constant_params(c)]
        mapping: dict[Name, Poly] = {}
        heads = [p for c in target.needs for p in self.constant_params(c)]
        for param, actual in zip(target.fun.params, heads, strict=True):
            mapping[param.name] = Poly.var(actual.name)
        names = [self.ctx.fresh(name) for _ in target.fun.results]
        pat, value = self.instance_params(target.fun.results, names, mapping)
        if self.is_entry:
            self.prologue.append(Stm(pat, ir.Call(target.fun.name, tuple(operands)), self.prov))
        return pat, value

    def constant_params(self, name: Name) -> tuple[Param, ...]:
        """The variables that hold a constant's results here."""
        self.constant(name)
        return self.needs[name][0]

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
