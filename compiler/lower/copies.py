"""Insert copies before writes, so that overwriting an array is never observable.

As values, the rows of `windows 2 xs` are separate, and a map that only permutes fields makes new
arrays; in memory, rows share cells, and the new arrays are the old ones. So an array is copied
before it is overwritten if

1. its memory is read later, or by the same statement, under its own or another name; 2. it is one
for all iterations of a loop or rows of an operator, or it is the caller's; 3. it may be a view that
has a cell twice.

A value passed to a loop parameter that the next iteration may overwrite counts as overwritten.
Programs that use each array under one name need no copies: the type checker ensures that.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import Any, TypeVar, cast

from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir import walk
from compiler.ir.aliases import (
    NOTHING,
    Sources,
    aliases,
    consumed,
    of_body,
    overwriting,
    overwritten,
    without_accumulators,
)
from compiler.lower.build import COPY, SHARED
from compiler.lower.constants import Definitions
from compiler.lower.lmads import is_injective

T = TypeVar("T")
DOUBLED = "Two of its elements may share one memory cell, and it is overwritten."
_OUTSIDE = -1
"""The level of arrays that no statement of the function may overwrite."""


@dataclass(slots=True)
class Memory:
    """The memory of a function's arrays, in all of its bodies.

    `roots`: for each array the arrays that it may be a view of; `level`: for each of these
    the number of loops and operators around it; `doubled`: arrays that may have a cell twice.
    """

    funs: Mapping[str, ir.Function]
    results: Mapping[str, tuple[bool, ...]]
    """Results of functions that may have a cell twice; empty if none."""
    types: dict[Name, ir.Array] = field(default_factory=dict)
    roots: dict[Name, Sources] = field(default_factory=dict)
    level: dict[Name, int] = field(default_factory=dict)
    doubled: set[Name] = field(default_factory=set)

    def of(self, names: Iterable[ir.Operand]) -> set[Name]:
        """Return the roots of all arrays among some names."""
        roots = self.roots
        return {root for n in names if isinstance(n, str) for root in roots.get(n, NOTHING)}

    def bind(self, params: Iterable[ir.Param], level: int) -> None:
        """Bring fresh arrays into scope."""
        for param in params:
            if isinstance(param.type, ir.Array):
                self.types[param.name] = param.type
                self.roots[param.name] = frozenset((param.name,))
                self.level[param.name] = level

    def learn(self, stms: Iterable[ir.Stm], level: int) -> None:
        """Record the bindings of statements, nested ones too."""
        for stm in stms:
            self._inside(stm.exp, level)
            self.bind(stm.pat, level)
            gone = self.of(consumed(stm.exp, self.funs))
            for param, sources in zip(stm.pat, aliases(stm, self.funs), strict=True):
                found = self.of(sources) - gone
                if found:
                    self.roots[param.name] = frozenset(found)
            twice = self._twice(stm.exp, len(stm.pat))
            self.doubled.update(p.name for p, yes in zip(stm.pat, twice, strict=True) if yes)

    def _inside(self, exp: ir.Exp, level: int) -> None:
        match exp:
            case ir.If(_, then, orelse):
                self.learn(then.stms, level)
                self.learn(orelse.stms, level)
            case ir.Loop(params, init, _, body):
                self.bind(params, level + 1)
                for param, value in zip(params, init, strict=True):
                    if not param.unique and isinstance(value, str):
                        self.level[param.name] = _OUTSIDE
                        self.roots[param.name] |= self.roots[value]
                self._carried(params, init)
                self.learn(body.stms, level + 1)
                while self._carried(params, body.results):
                    self.learn(body.stms, level + 1)
            case _:
                for part in walk.children(exp):
                    if isinstance(part, ir.Lambda):
                        self.bind(part.params, level + 1)
                        self.learn(part.body.stms, level + 1)

    def _carried(self, params: Sequence[ir.Param], values: Sequence[ir.Operand]) -> bool:
        """Propagate `doubled` to loop parameters that are not overwritten.

        Return True on a change.
        """
        pairs = zip(params, values, strict=True)
        new = {p.name for p, value in pairs if not p.unique and value in self.doubled}
        more = not new <= self.doubled
        self.doubled |= new
        return more

    def _twice(self, exp: ir.Exp, count: int) -> Sequence[bool]:
        """Return for each result of an expression whether it may have a cell twice."""
        none = (False,) * count
        match exp:
            case ir.Slice(array, dims):
                overlaps = any(isinstance(d, ir.DimLmad) and not is_injective(d) for d in dims)
                return (overlaps or array in self.doubled,)
            case ir.Rearrange(_, array) | ir.Reshape(_, array):
                return (array in self.doubled,)
            case ir.If(_, then, orelse):
                pairs = zip(then.results, orelse.results, strict=True)
                return [not self.doubled.isdisjoint(pair) for pair in pairs]
            case ir.Loop(params, _, _, _):
                return [p.name in self.doubled for p in params]
            case ir.Call(fun, args):
                given = not self.doubled.isdisjoint(args)
                flags = self.results[fun] or none
                may = zip(self.funs[fun].results, flags, strict=True)
                return [yes or (given and not p.unique) for p, yes in may]
        return none


def copy_before_writes(
    fun: ir.Function, definitions: Definitions, ctx: Ctx
) -> tuple[ir.Function, tuple[bool, ...]]:
    """Insert the copies that a function needs; return which results may have a cell twice too.

    `definitions` holds the functions that it calls.
    """
    doubled = {known.fun.name: known.doubled for known in definitions.lowered.values()}
    memory = Memory(definitions.funs, doubled)
    for param in fun.params:
        memory.bind((param,), 0 if param.unique else _OUTSIDE)
    memory.learn(fun.body.stms, 0)
    copier = _Copier(memory, ctx)
    stms = copier.stms(fun.body.stms, memory.of(fun.body.results), 0)
    twice = tuple(r in memory.doubled for r in fun.body.results)
    return replace(fun, body=replace(fun.body, stms=stms)), twice


class _Copier:
    """Walks bodies backwards; `live` are roots of arrays that are read later."""

    def __init__(self, memory: Memory, ctx: Ctx) -> None:
        self.memory = memory
        self.ctx = ctx

    def stms(self, stms: tuple[ir.Stm, ...], live: set[Name], level: int) -> tuple[ir.Stm, ...]:
        """Rewrite statements of a body, at whose end `live` is needed.

        Add the arrays that they need.
        """
        new: list[ir.Stm] = []
        for stm in reversed(stms):
            if isinstance(stm.exp, ir.SE_NODES):
                new.append(stm)
                continue
            copies: list[ir.Stm] = []
            exp = self._inside(stm.exp, live, level)
            taken = _taken(exp, self.memory.funs)
            if any(taken):
                exp = self._with_copies(exp, taken, live, level, stm.prov, copies)
            live |= self.memory.of(walk.free(stm.exp))
            new += [stm if exp is stm.exp else ir.Stm(stm.pat, exp, stm.prov), *copies]
        new.reverse()
        return tuple(new)

    def _with_copies(
        self,
        exp: ir.Exp,
        taken: Sequence[Name],
        live: set[Name],
        level: int,
        prov: Prov,
        copies: list[ir.Stm],
    ) -> ir.Exp:
        """Make an expression overwrite copies where it cannot overwrite arrays in `taken`."""
        uses = walk.count_uses(without_accumulators(exp))
        given: list[Name] = []
        for name in taken:
            if name:
                uses[name] -= 1
                others = self.memory.of(n for n, count in uses.items() if count)
                because = self._obstacle(name, level, live, others)
                uses[name] += not because
                name = self._copy(name, because, prov, copies) if because else name
            given.append(name)
        return exp if given == taken else _overwriting(exp, given)

    def _obstacle(self, name: Name, level: int, *read: set[Name]) -> str:
        """Explain why an array cannot be overwritten while `read` is needed; "" if it can."""
        roots = self.memory.of((name,))
        if name in self.memory.doubled:
            return DOUBLED
        far = any(self.memory.level[root] != level for root in roots)
        return SHARED if far or not all(map(roots.isdisjoint, read)) else ""

    def _copy(self, array: Name, because: str, prov: Prov, into: list[ir.Stm]) -> Name:
        kind = self.memory.types[array]
        name = self.ctx.fresh(array)
        self.ctx.tell("note", COPY, prov, because)
        into.append(ir.Stm((ir.Param(name, kind),), ir.Copy(array), prov))
        return name

    def _inside(self, exp: ir.Exp, live: set[Name], level: int) -> ir.Exp:
        """Insert copies in the bodies of an expression."""
        match exp:
            case ir.If(cond, then, orelse):
                sides = [self._body(side, level, live) for side in (then, orelse)]
                same = sides[0] is then and sides[1] is orelse
                return exp if same else ir.If(cond, *sides)
            case ir.Loop(params, init, form, body):
                new = self._iteration(params, body, level + 1)
                return exp if new is body else ir.Loop(params, init, form, new)
        return walk.rewrite(exp, walk.Rewrite(fn=partial(self._lambda, level=level + 1)))

    def _iteration(self, params: Sequence[ir.Param], body: ir.Body, level: int) -> ir.Body:
        """Insert copies in a loop body so that values of unique parameters are not shared."""
        results, copies = list(body.results), list[ir.Stm]()
        for at, (param, value) in enumerate(zip(params, body.results, strict=True)):
            if param.unique and isinstance(value, str):
                others = self.memory.of((*results[:at], *results[at + 1 :]))
                because = self._obstacle(value, level, others)
                if because:
                    prov = body.stms[-1].prov if body.stms else ()
                    results[at] = self._copy(value, because, prov, copies)
        new = self._body(body, level, set())
        return ir.Body((*new.stms, *copies), tuple(results), body.prov) if copies else new

    def _lambda(self, fn: ir.Lambda, level: int) -> ir.Lambda:
        body = self._body(fn.body, level, set())
        return fn if body is fn.body else ir.Lambda(fn.params, body, fn.returns)

    def _body(self, body: ir.Body, level: int, live: set[Name]) -> ir.Body:
        stms = self.stms(body.stms, live | self.memory.of(body.results), level)
        same = len(stms) == len(body.stms) and all(map(operator.is_, stms, body.stms))
        return body if same else ir.Body(stms, body.results, body.prov)


def _taken(exp: ir.Exp, funs: Mapping[str, ir.Function]) -> list[Name]:
    """Return the arrays that an expression overwrites, by operand; "" for operands only read."""
    match exp:
        case ir.Map(_, fn, arrays):
            taken = of_body(fn.body.stms, (), funs)[0] if fn.body.stms else ()
            return [a if p.name in taken else "" for p, a in zip(fn.params, arrays, strict=True)]
        case ir.Loop(params, values, _, _):
            pass
        case ir.Call(fun, values):
            params = funs[fun].params
        case _:
            return list(overwritten(exp))
    pairs = zip(params, values, strict=True)
    return [v if p.unique and isinstance(v, str) else "" for p, v in pairs]


def _overwriting(exp: ir.Exp, arrays: list[Name]) -> ir.Exp:
    """Make an expression overwrite these arrays instead."""
    if isinstance(exp, ir.Stream):
        return walk.subst(exp, dict(zip(exp.dests, arrays, strict=True)))
    operands = _OPERANDS.get(type(exp))
    if operands is None:
        return overwriting(exp, arrays)
    changed: Any = replace(cast(Any, exp), **{operands: _put(getattr(exp, operands), arrays)})
    return cast(ir.Exp, changed)


_OPERANDS = {ir.Map: "arrays", ir.Loop: "init", ir.Call: "args"}
"""The operands that `_taken` tells one by one."""


def _put(given: Sequence[T], arrays: Sequence[Name]) -> tuple[T | Name, ...]:
    return tuple(a or value for value, a in zip(given, arrays, strict=True))
