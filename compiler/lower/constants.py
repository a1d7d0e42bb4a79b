"""Lower constants of the program, and record lowered definitions for calls.

A constant is a function without parameters. An entry point evaluates the constants that it needs
once, in its prologue; other functions take them as leading parameters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import islice

from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.nodes import Function, Operand, Param, Stm
from compiler.ir.types import as_operand, as_scalar
from compiler.lower.values import Value, instance_params


@dataclass(frozen=True, slots=True)
class Lowered:
    """A function that calls can refer to.

    Calls pass the constants in `needs` first, then sizes, then for each of `extra` the size of that
    component of the arguments along that dimension, then the arguments' components.
    """

    fun: Function
    needs: tuple[Name, ...]
    extra: tuple[tuple[int, int], ...]
    doubled: tuple[bool, ...] = ()
    """Results that may have a cell twice; empty if none."""
    either: Mapping[Name, tuple[Poly, ...]] = field(default_factory=dict)
    """For results that are sizes: the arguments' sizes that they may be."""


@dataclass(frozen=True, slots=True)
class Definitions:
    """All definitions of a program lowered so far."""

    lowered: dict[Name, Lowered] = field(default_factory=dict)
    heads: dict[Name, tuple[Name, int]] = field(default_factory=dict)
    """Sizes that come with constants: the constant, and the position among its results."""
    funs: dict[str, Function] = field(default_factory=dict)
    """Functions by name."""
    used: set[Name] = field(default_factory=set)
    """Names in use."""


class Constants:
    """The constants that one definition uses, with their sizes."""

    def __init__(self, ctx: Ctx, definitions: Definitions, is_entry: bool) -> None:
        self.ctx = ctx
        self.lowered = definitions.lowered
        self.heads = definitions.heads
        self.is_entry = is_entry
        self.needs: dict[Name, tuple[tuple[Param, ...], Value]] = {}
        self.prologue: list[Stm] = []

    def value(self, name: Name, prov: Prov) -> Value | None:
        """Return the value of a top-level constant, or of a size that comes with one.

        An entry point evaluates it at `prov` if it is the first to use it.
        """
        if name in self.heads:
            owner, at = self.heads[name]
            return (as_scalar(self.params(owner, prov)[at]),)
        found = self.needs.get(name)
        if found is None:
            target = self.lowered.get(name)
            if target is None or target.fun.params[len(self._heads(target)) :]:
                return None
            found = self.needs[name] = self._take(name, target, prov)
        return found[1][self._sizes_of(name) :]

    def _sizes_of(self, name: Name) -> int:
        """Count the results of a constant that are sizes of others."""
        results = self.lowered[name].fun.results
        sizes = _sizes(results)
        return sum(1 for p in results if p.name in sizes)

    def _heads(self, target: Lowered) -> list[Param]:
        return [p for c in target.needs for p in self.lowered[c].fun.results]

    def _take(self, name: Name, target: Lowered, prov: Prov) -> tuple[tuple[Param, ...], Value]:
        """Make variables for a constant's results, bound in the prologue of an entry point.

        The prologue passes the constants that it needs; elsewhere these matter only in shapes of
        results.
        """
        mapping: dict[Name, Poly] = {}
        operands: list[Operand] = []
        sizes = _sizes(target.fun.results)
        formals = iter(target.fun.params)
        for need in target.needs:
            own = list(islice(formals, len(self.lowered[need].fun.results)))
            if self.is_entry or not sizes.isdisjoint(param.name for param in own):
                for param, actual in zip(own, self.params(need, prov), strict=True):
                    mapping[param.name] = Poly.var(actual.name)
                    operands.append(as_operand(actual))
        names = [self.ctx.fresh(name) for _ in target.fun.results]
        pat, value = instance_params(target.fun.results, names, mapping)
        if self.is_entry:
            self.prologue.append(Stm(pat, ir.Call(target.fun.name, tuple(operands)), prov))
        return pat, value

    def params(self, name: Name, prov: Prov) -> tuple[Param, ...]:
        """Return the variables that hold a constant's results here."""
        self.value(name, prov)
        return self.needs[name][0]


def _sizes(results: tuple[Param, ...]) -> set[Name]:
    """Return the names in the shapes of a definition's results."""
    shapes = [p.type.shape for p in results if isinstance(p.type, ir.Array)]
    return {name for shape in shapes for size in shape for name in size.names()}
