"""Programs whose arrays lie wrong: two blocks become one, or a block gets too small."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

from compiler.base.errors import CompilerBug
from compiler.base.names import Name
from compiler.ir import nodes as ir
from compiler.ir.forms import Form
from compiler.ir.verify import verify
from compiler.ir.walk import all_stms, map_stms, subst


def mutants(prog: ir.Prog, form: Form, rng: random.Random, most: int) -> Iterator[ir.Prog]:
    """Programs that are well-formed still, each with one change, which may be harmless."""
    for at, fun in enumerate(prog.funs):
        changes = [*_joined(fun), *_smaller(fun)]
        for change in rng.sample(changes, min(most, len(changes))):
            mutant = ir.Prog((*prog.funs[:at], change, *prog.funs[at + 1 :]))
            try:
                verify(mutant, form, "mutant")
            except CompilerBug:
                continue
            yield mutant


def _allocs(fun: ir.Function) -> list[tuple[Name, ir.Alloc]]:
    stms = all_stms(fun.body.stms)
    return [(stm.pat[0].name, stm.exp) for stm in stms if isinstance(stm.exp, ir.Alloc)]


def _joined(fun: ir.Function) -> Iterator[ir.Function]:
    """A block in the place of another of its type, where it is as large."""
    made = _allocs(fun)
    for k, (first, one) in enumerate(made):
        for second, other in made[k + 1 :]:
            if (one.prim, one.space) == (other.prim, other.space):
                stms = _with(fun.body.stms, second, None)
                yield replace(fun, body=subst(replace(fun.body, stms=stms), {second: first}))


def _smaller(fun: ir.Function) -> Iterator[ir.Function]:
    """A block with one element less than it had."""
    for name, alloc in _allocs(fun):
        less = replace(alloc, count=alloc.count - 1)
        yield replace(fun, body=replace(fun.body, stms=_with(fun.body.stms, name, less)))


def _with(stms: tuple[ir.Stm, ...], name: Name, alloc: ir.Alloc | None) -> tuple[ir.Stm, ...]:
    """Statements with another allocation for a block, or none."""
    out: list[ir.Stm] = []
    for stm in stms:
        if stm.pat and stm.pat[0].name == name:
            if alloc is not None:
                out.append(replace(stm, exp=alloc))
            continue
        exp = map_stms(stm.exp, lambda inner: _with(inner, name, alloc))
        out.append(stm if exp is stm.exp else replace(stm, exp=exp))
    return tuple(out)
