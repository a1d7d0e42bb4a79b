"""The stage `ad`: expand `jvp` and `vjp` into programs, innermost first.

A derivative's function becomes a separate one (`prepare.py`), and derivatives inside it come first.
Then each of its statements is differentiated by the chain rule (`forward.py`), and the result
replaces the derivative. A program without derivatives is unchanged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, get_args

from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.rules import Pass, Rule
from compiler.base.spans import Prov
from compiler.derive import (
    forward_folds,
    own_slopes,
    reverse,
    reverse_arrays,
    reverse_control,
    reverse_folds,
    reverse_loops,
    reverse_maps,
    reverse_writes,
)
from compiler.derive.activity import Activity
from compiler.derive.forward import Forward
from compiler.derive.normal import Normal
from compiler.derive.own_slopes import OWN, as_exp, has_own, without_own
from compiler.derive.prepare import closed, simplified, with_body, without_calls, writable
from compiler.derive.reverse import Reverse
from compiler.derive.reverse_loops import CHECKPOINTS
from compiler.derive.reverse_maps import ONE_ROW
from compiler.derive.split import PlainForms
from compiler.derive.sums import SUM_INSIDE, sums_inside
from compiler.ir import nodes as ir
from compiler.ir.nodes import Function, Operand, Param, Prog, Type
from compiler.ir.types import as_operand
from compiler.ir.walk import all_stms, children, map_stms, rename
from compiler.optimise.dead import remove_dead

FORWARD = Rule(
    "ad/forward",
    "Forward mode: computes the tangent of each value next to the value.",
    optional=False,
    equation="jvp f x s = f'(x) * s",
)


REVERSE = Rule(
    "ad/reverse",
    "Reverse mode: computes the adjoint of each value, from the result back to the inputs.",
    optional=False,
    equation="vjp f x s = s * f'(x)",
)
REVERSE_RULES: dict[type, Any] = {
    **dict.fromkeys(ir.SE_NODES, reverse.scalar),
    **reverse_arrays.RULES,
    **reverse_control.RULES,
    **reverse_loops.RULES,
    **reverse_maps.RULES,
    **reverse_folds.RULES,
    **reverse_writes.RULES,
    **own_slopes.RULES,
    ir.Call: reverse.refused,
    ir.Apply: reverse.refused,
}


def derive(prog: Prog, ctx: Ctx) -> Prog:
    """Expand all `Jvp` and `Vjp`.

    Needs: unique names, no recursive function under a derivative. Keeps: results, the order of
    effects; each slope has the provenance of its primal.
    """
    if not has_derivatives(prog):
        return prog
    funs: list[Function] = []
    for fun in prog.funs:
        deriver = _Deriver(ctx, tuple(funs))
        deriver.learn(fun.params)
        stms = deriver.stms(fun.body.stms)
        body = ir.Body(stms, fun.body.results, fun.body.prov)
        same = stms is fun.body.stms
        funs.append(
            fun
            if same
            else Function(
                fun.name, fun.params, fun.results, body, fun.entry, fun.implicit, fun.prov
            )
        )
    return Prog(tuple(_alone(fun, ctx) for fun in funs))


def has_derivatives(prog: Prog) -> bool:
    """Return True if anything is derived, or has a custom reverse mode."""
    kinds = (*get_args(ir.Derivative), ir.WithVjp)
    return any(isinstance(stm.exp, kinds) for fun in prog.funs for stm in all_stms(fun.body.stms))


def _alone(fun: Function, ctx: Ctx) -> Function:
    """Replace functions with a custom reverse mode by the functions alone."""
    if not has_own(fun.body.stms):
        return fun
    body = ir.Body(without_own(fun.body.stms, ctx), fun.body.results, fun.body.prov)
    return with_body(fun, body)


@dataclass(slots=True)
class _Deriver:
    """Walks one function; knows the types of the names in scope."""

    ctx: Ctx
    callees: tuple[Function, ...]
    types: dict[Name, Type] = field(default_factory=dict)

    def learn(self, params: Sequence[Param]) -> None:
        """Record the types of names."""
        self.types.update((p.name, p.type) for p in params)

    def stms(self, stms: tuple[ir.Stm, ...]) -> tuple[ir.Stm, ...]:
        """Expand derivatives in statements; return the same tuple if there were none."""
        new: list[ir.Stm] = []
        changed = False
        for stm in stms:
            if isinstance(stm.exp, ir.Derivative):
                new += self.derivative(stm, stm.exp)
                changed = True
            else:
                self._bind(stm.exp)
                exp = map_stms(stm.exp, self.stms)
                changed = changed or exp is not stm.exp
                new.append(stm if exp is stm.exp else ir.Stm(stm.pat, exp, stm.prov))
            self.learn(stm.pat)
        return tuple(new) if changed else stms

    def _bind(self, exp: ir.Exp) -> None:
        for child in children(exp):
            if isinstance(child, ir.Lambda):
                self.learn(child.params)
        if isinstance(exp, ir.Loop):
            self.learn(exp.params)
            if isinstance(exp.form, ir.ForLoop):
                self.types[exp.form.index] = ir.Scalar(exp.form.prim)

    def derivative(self, stm: ir.Stm, exp: ir.Derivative) -> list[ir.Stm]:
        """Return the expansion of a derivative."""
        ctx = self.ctx
        name = ctx.fresh("derived")
        fun = closed(name, exp.fn, self.types, stm.prov)
        fun = without_calls(fun, self.callees, ctx)
        inner = _Deriver(ctx, ())
        inner.learn(fun.params)
        body = ir.Body(inner.stms(fun.body.stms), fun.body.results, fun.body.prov)
        fun = Function(name, fun.params, fun.results, body, True, 0, stm.prov)
        fun = simplified(fun, ctx)
        fun = self._derived(fun, exp, stm.prov)
        return self._placed(stm, exp, fun)

    def _derived(self, fun: Function, exp: ir.Derivative, prov: Prov) -> Function:
        return (self._forward if isinstance(exp, ir.Jvp) else self._reverse)(fun, exp, prov)

    def _reverse(self, fun: Function, exp: ir.Derivative, prov: Prov) -> Function:
        params = fun.params[len(fun.params) - len(exp.args) :]
        split = PlainForms(self.ctx)
        body = split.body(fun.body)
        activity = Activity(p.name for p in params)
        activity.learn(body.stms)
        body = Normal(self.ctx, activity, prov).body(body)
        back = Reverse(self.ctx, activity, REVERSE_RULES)
        back.prov = prov
        back.learn(fun.params)
        kinds = [r.type for r in fun.results]
        seeds = [back.fresh("seed", kind) for kind in kinds]

        def seeded() -> None:
            for result, seed in zip(body.results, seeds, strict=True):
                back.give(result, as_operand(seed))

        back.there_and_back(body.stms, seeded)
        back.prov = prov
        slopes = [back.full(p.name) for p in params]
        whole = ir.Body(tuple(back.stms), (*body.results, *slopes), body.prov)
        said = f"Reverse mode: {len(params)} inputs, {len(activity.active)} values with adjoints."
        self.ctx.tell("applied", REVERSE, prov, said)
        every = (*kinds, *(p.type for p in params))
        results = tuple(Param(self.ctx.fresh("r"), k) for k in every)
        made = Function(fun.name, (*fun.params, *seeds), results, whole, True, 0, prov)
        made = remove_dead(writable(remove_dead(made)[0], self.ctx))[0]
        return remove_dead(sums_inside(simplified(made, self.ctx), self.ctx))[0]

    def _forward(self, fun: Function, exp: ir.Derivative, prov: Prov) -> Function:
        params = fun.params[len(fun.params) - len(exp.args) :]
        fun = _alone(fun, self.ctx)
        activity = Activity(p.name for p in params)
        activity.learn(fun.body.stms)
        normal = Normal(self.ctx, activity, prov)
        body = normal.body(fun.body)
        forward = Forward(self.ctx, activity.active, forward_folds.RULES)
        forward.prov = prov
        forward.learn(fun.params)
        seeds = [forward.dual(p) for p in params]
        forward.all(body.stms)
        kinds = [r.type for r in fun.results]
        slopes = [forward.full(r, k) for r, k in zip(body.results, kinds, strict=True)]
        whole = ir.Body(tuple(forward.stms), (*body.results, *slopes), body.prov)
        said = f"Forward mode: {len(seeds)} inputs, {len(activity.active)} values with tangents."
        self.ctx.tell("applied", FORWARD, prov, said)
        results = tuple(Param(self.ctx.fresh("r"), k) for k in (*kinds, *kinds))
        made = Function(fun.name, (*fun.params, *seeds), results, whole, True, 0, prov)
        return remove_dead(writable(remove_dead(made)[0], self.ctx))[0]

    def _placed(self, stm: ir.Stm, exp: ir.Derivative, fun: Function) -> list[ir.Stm]:
        """Inline the derived function in place of the derivative."""
        given: list[Operand] = [*exp.args, *exp.seeds]
        own = fun.params[len(fun.params) - len(given) :]
        first: list[ir.Stm] = []
        names: dict[Name, Operand] = {}
        for param, value in zip(own, given, strict=True):
            if isinstance(value, str | ir.Var | ir.Lit):
                names[param.name] = value
            else:
                first.append(ir.Stm((param,), value, stm.prov))
        mine = {p.name: self.ctx.fresh(p.name) for p in own if p.name not in names}
        first = [ir.Stm(subst_pat(stm.pat, mine), stm.exp, stm.prov) for stm in first]
        body = rename(fun.body, self.ctx.fresh, {**names, **mine})
        ends = [
            ir.Stm((p,), as_exp(r, p.type), stm.prov)
            for p, r in zip(stm.pat, body.results, strict=True)
        ]
        return [*first, *body.stms, *ends]


def subst_pat(pat: Sequence[Param], names: dict[Name, Name]) -> tuple[Param, ...]:
    """Rename a pattern."""
    return tuple(Param(names[p.name], p.type) for p in pat)


DERIVE = Pass(
    "ad",
    "Replaces `jvp` and `vjp` by programs that compute the derivatives.",
    derive,
    (FORWARD, REVERSE, OWN, ONE_ROW, CHECKPOINTS, SUM_INSIDE),
)
