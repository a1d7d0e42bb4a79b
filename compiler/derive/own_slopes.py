"""Functions with a custom reverse mode, `with_vjp`.

Reverse mode runs the function unchanged and calls its `back` for adjoints. Everything else, forward
mode as well, sees only the function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compiler.base.context import Ctx
from compiler.base.rules import Rule
from compiler.base.spans import Prov
from compiler.derive.reverse import Back, Reverse
from compiler.ir import nodes as ir
from compiler.ir.nodes import Operand, Param, Type
from compiler.ir.types import as_operand
from compiler.ir.walk import all_stms, map_stms, rename

OWN = Rule(
    "ad/own-slopes",
    "Uses the reverse mode that a function defines for itself (`with_vjp`).",
    optional=False,
    equation="vjp (with_vjp f g) x s = g (f x) s",
)


def has_own(stms: Sequence[ir.Stm]) -> bool:
    """Return True if statements hold a function with a custom reverse mode."""
    return any(isinstance(stm.exp, ir.WithVjp) for stm in all_stms(stms))


def without_own(stms: tuple[ir.Stm, ...], ctx: Ctx) -> tuple[ir.Stm, ...]:
    """Replace functions with a custom reverse mode by the functions alone."""

    def plain(stms: tuple[ir.Stm, ...]) -> tuple[ir.Stm, ...]:
        found: list[ir.Stm] = []
        for stm in stms:
            if isinstance(stm.exp, ir.WithVjp):
                found += plain(tuple(opened(stm, stm.exp, ctx)))
            else:
                found.append(ir.Stm(stm.pat, map_stms(stm.exp, plain), stm.prov))
        return tuple(found)

    return plain(stms) if has_own(stms) else stms


def opened(stm: ir.Stm, exp: ir.WithVjp, ctx: Ctx) -> list[ir.Stm]:
    """Inline the function in its place."""
    stms, results = applied(exp.fn, exp.args, ctx, stm.prov)
    ends = zip(stm.pat, results, strict=True)
    return [*stms, *(ir.Stm((p,), as_exp(r, p.type), stm.prov) for p, r in ends)]


def applied(
    fn: ir.Lambda, args: Sequence[Operand], ctx: Ctx, prov: Prov
) -> tuple[list[ir.Stm], tuple[Operand, ...]]:
    """Inline a function for these arguments; return its statements and results."""
    first: list[ir.Stm] = []
    names: dict[str, Operand] = {}
    for param, arg in zip(fn.params, args, strict=True):
        if not isinstance(arg, str | ir.Var | ir.Lit):
            own = Param(ctx.fresh(param.name), param.type)
            first.append(ir.Stm((own,), arg, prov))
            arg = as_operand(own)
        names[param.name] = arg
    body = rename(fn.body, ctx.fresh, names)
    return [*first, *body.stms], body.results


def as_exp(result: Operand, kind: Type) -> ir.Exp:
    """Return an expression for a result under another name: an array as a view."""
    if not isinstance(result, str):
        return result
    assert isinstance(kind, ir.Array)
    return ir.Reshape(kind.shape, result)


def _with_vjp(r: Reverse, stm: ir.Stm, exp: ir.WithVjp) -> Back:
    """Y = f x: x gets what `back` makes of y and its adjoint."""
    for own in opened(stm, exp, r.ctx):
        r.learn(own.pat)
        r.stms.append(own)

    def back() -> None:
        found = [r.adjoint(p.name) for p in stm.pat]
        if all(a is None for a in found):
            return
        seeds = [r.full(p.name) for p in stm.pat]
        values = [as_operand(p) for p in stm.pat]
        stms, adjoints = applied(exp.back, [*values, *seeds], r.ctx, r.prov)
        for own in stms:
            r.learn(own.pat)
            r.stms.append(own)
        r.ctx.tell("applied", OWN, r.prov, "The function's own reverse mode computes the adjoints.")
        for arg, adjoint in zip(exp.args, adjoints, strict=True):
            r.give(arg, adjoint)

    return back


RULES: dict[type, Any] = {ir.WithVjp: _with_vjp}
