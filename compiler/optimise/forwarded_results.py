"""Remove results of functions that forward what the caller already has.

A result that is a parameter, a literal or an earlier result of the same function is redundant.
Functions that update one field of a record have many: without them, all array results may be fresh,
so that the function need not be inlined (`shared_functions.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import is_

from compiler.base.names import Name
from compiler.ir import walk
from compiler.ir.nodes import Call, Exp, Function, Lit, Operand, Param, Prog, Stm, Var
from compiler.ir.types import as_operand
from compiler.ir.walk import Replacement

_Source = int | Lit | None
"""Source of a result: index of the argument, or behind them of the result; the literal; None if
new."""


def remove_forwarded_results(prog: Prog) -> Prog:
    """Remove forwarded results of functions that are no entries, and adapt their calls.

    One result stays if all are forwarded. A recursive function stays as it is.
    """
    given: dict[str, tuple[_Source, ...]] = {}
    return Prog(tuple(_Remover(given).function(fun) for fun in prog.funs))


class _Remover:
    """Transforms one function; `values` substitutes results that calls no longer return."""

    __slots__ = ("given", "values")

    def __init__(self, given: dict[str, tuple[_Source, ...]]) -> None:
        self.given = given
        self.values: dict[Name, Replacement] = {}

    def function(self, fun: Function) -> Function:
        """Transform a function; records its own forwarded results in `given`."""
        stms = self.stms(fun.body.stms)
        if stms is not fun.body.stms:
            fun = replace(fun, body=walk.subst(replace(fun.body, stms=stms), self.values))
        if fun.entry or _calls_itself(fun):
            return fun
        sources = self.sources(fun)
        if all(source is None for source in sources):
            return fun
        self.given[fun.name] = sources
        return _without(fun, sources)

    def sources(self, fun: Function) -> tuple[_Source, ...]:
        """Return the sources of the function's results for callers."""
        places: dict[Name, int] = {param.name: i for i, param in enumerate(fun.params)}
        found: list[_Source] = []
        for place, value in enumerate(fun.body.results, len(fun.params)):
            name = _name(value)
            if name is None:
                found.append(value if isinstance(value, Lit) else None)
            else:
                found.append(places.get(name))
                places.setdefault(name, place)
        return (None, *found[1:]) if None not in found else tuple(found)

    def stms(self, stms: tuple[Stm, ...]) -> tuple[Stm, ...]:
        """Transform statements; the same tuple if nothing changes."""
        new = tuple(one for stm in stms for one in self.stm(stm))
        return stms if len(new) == len(stms) and all(map(is_, new, stms)) else new

    def stm(self, stm: Stm) -> list[Stm]:
        """Transform one statement; itself if it has no such call."""
        if isinstance(stm.exp, Call) and stm.exp.fun in self.given:
            return self.call(stm, stm.exp)
        exp: Exp = walk.map_stms(stm.exp, self.stms)
        return [stm if exp is stm.exp else Stm(stm.pat, exp, stm.prov)]

    def call(self, stm: Stm, call: Call) -> list[Stm]:
        """Return the call without forwarded results, after statements that bind literal ones."""
        given = self.given[call.fun]
        known = [*call.args, *map(as_operand, stm.pat)]
        kept: list[Param] = []
        before: list[Stm] = []
        for target, source in zip(stm.pat, given, strict=True):
            if source is None:
                kept.append(target)
                continue
            value = known[source] if isinstance(source, int) else source
            name = _name(value)
            if name is not None:
                self.values[target.name] = self.values.get(name, value)
            elif isinstance(value, Lit):
                self.values[target.name] = value
            else:
                assert not isinstance(value, str)
                before.append(Stm((target,), value, stm.prov))
        return [*before, Stm(tuple(kept), call, stm.prov)]


def _name(value: Operand) -> Name | None:
    """Return the name of an array or variable; None for other expressions."""
    return value.name if isinstance(value, Var) else value if isinstance(value, str) else None


def _calls_itself(fun: Function) -> bool:
    every = walk.all_stms(fun.body.stms)
    return any(isinstance(stm.exp, Call) and stm.exp.fun == fun.name for stm in every)


def _without(fun: Function, sources: Sequence[_Source]) -> Function:
    """Remove results with a source."""
    known = [*map(as_operand, fun.params), *map(as_operand, fun.results)]
    pairs = [*zip(fun.results, sources, strict=True)]
    named: dict[Name, Replacement] = {
        result.name: known[source] if isinstance(source, int) else source
        for result, source in pairs
        if source is not None
    }
    results = [
        replace(result, type=walk.subst(result.type, named))
        for result, source in pairs
        if source is None
    ]
    values = zip(fun.body.results, sources, strict=True)
    body = replace(fun.body, results=tuple(value for value, source in values if source is None))
    return replace(fun, results=tuple(results), body=body)
