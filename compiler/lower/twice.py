"""Which slices by LMADs must be copied: those that may have a cell twice, and are overwritten.

As values, the elements of `windows 2 xs` are all apart; in memory, they share cells of `xs`. So
none of them may be written in place. Nothing is copied for slices that are only read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.base.names import Name
from compiler.ir.aliases import aliases, consumed
from compiler.ir.nodes import Function, If, Loop, Operand, Stm
from compiler.ir.walk import all_stms

Sources = dict[Name, set[Name]]
"""For each array, those that it is a view of, or the same as."""


def overwritten(fun: Function, funs: Mapping[str, Function]) -> set[Name]:
    """The arrays in memory that the function may write to, under all of their names.

    What a loop carries on in a parameter that it may write to counts as well.
    """
    sources: Sources = {}
    taken: set[Name] = set()
    for stm in all_stms(fun.body.stms):
        _note(stm, sources, funs)
        taken.update(consumed(stm.exp, funs))
        if isinstance(stm.exp, Loop):
            pairs = zip(stm.exp.params, stm.exp.body.results, strict=True)
            taken.update(r for p, r in pairs if p.unique and isinstance(r, str))
    return reached(taken, sources)


def may_be(fun: Function, funs: Mapping[str, Function], names: Iterable[Name]) -> tuple[bool, ...]:
    """For each result of the function, whether it may be a view of one of `names`."""
    sources: Sources = {}
    for stm in all_stms(fun.body.stms):
        _note(stm, sources, funs)
    wanted = set(names)
    return tuple(
        isinstance(r, str) and not wanted.isdisjoint(reached({r}, sources))
        for r in fun.body.results
    )


def reached(names: set[Name], sources: Sources) -> set[Name]:
    """`names`, and all that they are views of."""
    seen, todo = set(names), list(names)
    while todo:
        new = sources.get(todo.pop(), set()) - seen
        seen |= new
        todo.extend(new)
    return seen


def _note(stm: Stm, sources: Sources, funs: Mapping[str, Function]) -> None:
    """Add what a statement's names may be views of."""
    match stm.exp:
        case If(_, then, orelse):
            _join(sources, (p.name for p in stm.pat), then.results, orelse.results)
        case Loop(params, init, _, body):
            carried = [p.name for p in params]
            _join(sources, carried, init, body.results)
            _join(sources, (p.name for p in stm.pat), carried, carried)
        case _:
            for param, names in zip(stm.pat, aliases(stm, funs), strict=True):
                if names:
                    sources[param.name] = set(names)


def _join(
    sources: Sources, names: Iterable[Name], first: Iterable[Operand], second: Iterable[Operand]
) -> None:
    for name, a, b in zip(names, first, second, strict=True):
        sources[name] = {x for x in (a, b) if isinstance(x, str)}
