"""Normalise scalar expressions: each operation on active numbers gets its own statement.

So a rule for an operation sees names and literals, and its result is not recomputed in the slopes
of surrounding operations. Needs: the active names. Keeps: results and failures.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.base.context import Ctx
from compiler.base.names import Name
from compiler.base.spans import Prov
from compiler.derive.activity import Activity
from compiler.ir import nodes as ir
from compiler.ir.may_fail import cannot_fail, total
from compiler.ir.nodes import SE, Lit, Operand, Var
from compiler.ir.sizes import prim_of
from compiler.ir.walk import Rewrite, map_subexpressions, rewrite


class Normal:
    """Normalises the statements of one body."""

    def __init__(self, ctx: Ctx, activity: Activity, prov: Prov = ()) -> None:
        self.ctx = ctx
        self.activity = activity
        self.prov = prov
        self.stms: list[ir.Stm] = []

    def body(self, body: ir.Body) -> ir.Body:
        """Normalise a body, whose active results become names and literals."""
        inner = Normal(self.ctx, self.activity, self.prov)
        inner.all(body.stms)
        inner.prov = body.prov or inner.prov
        results = tuple(inner.operand(r) for r in body.results)
        return ir.Body(tuple(inner.stms), results, body.prov)

    def fn(self, fn: ir.Lambda) -> ir.Lambda:
        """Normalise a lambda."""
        return ir.Lambda(fn.params, self.body(fn.body), fn.returns)

    def all(self, stms: Sequence[ir.Stm]) -> None:
        """Append normalised statements."""
        for stm in stms:
            self.prov = stm.prov
            exp = self.exp(stm.exp)
            self.stms.append(stm if exp is stm.exp else ir.Stm(stm.pat, exp, stm.prov))

    def exp(self, exp: ir.Exp) -> ir.Exp:
        """Normalise an expression, whose active parts become names and literals."""
        if isinstance(exp, ir.SE_NODES):
            return self.taken_apart(exp)
        if isinstance(exp, ir.Apply | ir.Call):
            return exp
        # Of `with_vjp` the arguments alone count: its slopes are what it was given.
        inside = (lambda fn: fn) if isinstance(exp, ir.WithVjp) else self.fn
        return rewrite(exp, Rewrite(se=self.atom, body=self.body, fn=inside))

    def operand(self, operand: Operand) -> Operand:
        """Normalise an operand: an active one becomes a name or a literal."""
        return operand if isinstance(operand, str) else self.atom(operand)

    def atom(self, se: SE) -> SE:
        """Name a scalar expression if it is active."""
        if isinstance(se, Lit | Var) or not self.activity.has(se):
            return se
        return self.named(self.taken_apart(se), active=True)

    def taken_apart(self, se: SE) -> SE:
        """Reduce an active expression to one operation on names and literals."""
        if isinstance(se, Lit | Var) or not self.activity.has(se):
            return se
        if not cannot_fail(se):
            se = total(se) or se
        if not cannot_fail(se):
            return se
        return map_subexpressions(se, self.part)

    def part(self, se: SE) -> SE:
        """Name a part of an operation."""
        if isinstance(se, Lit | Var):
            return se
        active = self.activity.has(se)
        return self.named(self.taken_apart(se) if active else se, active)

    def named(self, se: SE, active: bool) -> SE:
        """Bind an expression to a new name."""
        name: Name = self.ctx.fresh("t")
        prim = prim_of(se)
        self.stms.append(ir.Stm((ir.Param(name, ir.Scalar(prim)),), se, self.prov))
        if active:
            self.activity.active.add(name)
        return Var(name, prim)
