"""Prepare a function for derivation: make it closed, inline calls, and simplify.

Its free names become its first parameters, under the same names. So its derived body can replace
the derivative. Simplified code is derived to less code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.ir import nodes as ir
from compiler.ir.nodes import Function, Param, Prog, Type
from compiler.ir.sharing import unique_arrays
from compiler.ir.walk import free
from compiler.lower.constants import Definitions
from compiler.lower.copies import copy_before_writes
from compiler.optimise.inline import inline_some
from compiler.optimise.simplify import SIMPLIFY, settled

NAME = "derived"


def closed(
    name: Name, fn: ir.Lambda, types: Mapping[Name, Type], prov: Prov, more: Iterable[Param] = ()
) -> Function:
    """Turn a lambda into a function; `types` are those of its free names."""
    around = free(fn) | {n for p in more for n in free((p,))}
    own = {p.name for p in fn.params} | {p.name for p in more}
    outer = sorted(around - own)
    sizes = [Param(n, types[n]) for n in outer if not isinstance(types[n], ir.Array)]
    arrays = [Param(n, types[n]) for n in outer if isinstance(types[n], ir.Array)]
    results = tuple(Param(f"{name}_r{k}", kind) for k, kind in enumerate(fn.returns))
    params = (*sizes, *arrays, *fn.params, *more)
    return Function(name, params, results, fn.body, True, 0, prov)


def without_calls(fun: Function, callees: Iterable[Function], ctx: Ctx) -> Function:
    """Inline all calls."""
    made = inline_some(Prog((*callees, fun)), ctx, lambda stm: True)
    return made.funs[-1]


def simplified(fun: Function, ctx: Ctx) -> Function:
    """Simplify the function: remove dead code and fold constants."""
    fun = writable(fun, ctx)
    if ctx.options.is_off(SIMPLIFY):
        return fun
    return settled(fun, ctx, unique_arrays(Prog((fun,))))


def writable(fun: Function, ctx: Ctx) -> Function:
    """Copy arrays that are overwritten while still needed."""
    while True:  # What overwrites a copy leaves its original to others, which may be results.
        new = copy_before_writes(fun, Definitions(), ctx)[0]
        if new.body.stms == fun.body.stms:
            return new
        fun = new


def as_lambda(fun: Function, params: int) -> ir.Lambda:
    """Return the lambda of the function's last parameters."""
    returns = tuple(result.type for result in fun.results)
    return ir.Lambda(fun.params[len(fun.params) - params :], fun.body, returns)


def with_body(fun: Function, body: ir.Body) -> Function:
    """Replace the function's body."""
    return replace(fun, body=body)
