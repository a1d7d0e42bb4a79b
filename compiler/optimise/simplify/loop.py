"""Loops: trips that do not happen or happen once, parameters that never change, index bounds."""

from __future__ import annotations

from compiler.base.names import base_of
from compiler.base.prim import Prim
from compiler.base.remarks import Applied, Outcome
from compiler.base.rules import NodeRule, Rule
from compiler.ir import nodes as ir
from compiler.ir.sizes import poly_of
from compiler.optimise.dead import loop_with, some
from compiler.optimise.simplify.bodies import Instead
from compiler.optimise.simplify.scalars import operand, operands
from compiler.optimise.simplify.state import State

INVARIANT = Rule("simplify/loop-invariant", "A loop no longer carries what it never changes.")


def few_trips(s: State, stm: ir.Stm, exp: ir.Loop) -> Outcome[Instead]:
    """`loop p = x for i < 0 do e ==> x`; `loop p = x for i < 1 do e ==> e with p = x, i = 0`."""
    before = Instead(ir.Body((), exp.init))
    if not isinstance(exp.form, ir.ForLoop):
        cond = _start_of(exp, exp.init)
        if not isinstance(cond, ir.Lit) or cond.value:
            return None
        return Applied(before, "The loop's condition is false at once.")
    bound = exp.form.bound
    if not isinstance(bound, ir.Lit) or bound.value > 1:
        return None
    if bound.value < 1:
        return Applied(before, "The loop runs zero times.")
    index = ir.Param(exp.form.index, ir.Scalar(exp.form.prim))
    given = (*zip(exp.params, exp.init, strict=True), (index, ir.Lit(0, exp.form.prim)))
    return Applied(Instead(exp.body, given), "The loop runs once.")


def _start_of(exp: ir.Loop, init: tuple[ir.Operand, ...]) -> ir.Operand | None:
    if isinstance(exp.form, ir.WhileLoop):
        for param, value in zip(exp.params, init, strict=True):
            if param.name == exp.form.cond:
                return value
    return None


def drop_invariant(
    s: State, stm: ir.Stm, exp: ir.Loop, init: tuple[ir.Operand, ...]
) -> tuple[ir.Loop, tuple[ir.Param, ...], tuple[ir.Operand, ...]]:
    """`loop (p, q) = (x, y) for i < n do (p, e) ==> loop q = y for i < n do e, with p = x`."""
    kept: list[int] = []
    cond = exp.form.cond if isinstance(exp.form, ir.WhileLoop) else ""
    for k, (param, value, result) in enumerate(
        zip(exp.params, init, exp.body.results, strict=True)
    ):
        if param.name == cond or not _is_kept(param, value, result):
            kept.append(k)
            continue
        said = f"`{base_of(param.name)}` is the same in every iteration."
        if s.commit(INVARIANT, stm.prov, Applied(value, said)) is None:
            kept.append(k)
            continue
        s.depths = s.depends(value)
        s.let(param, value, stm.prov)
        start = param.name if isinstance(value, str) else ir.Var(param.name, value_prim(param))
        s.depths = 0
        s.let(stm.pat[k], operand(s, start), stm.prov)
    if len(kept) == len(exp.params):
        return exp, stm.pat, init
    s.depths = 0
    new_init = operands(s, some(init, kept))
    if isinstance(exp.form, ir.ForLoop):
        s.depths |= s.depends(exp.form.bound)
    return loop_with(exp, kept), some(stm.pat, kept), new_init


def value_prim(param: ir.Param) -> Prim:
    """The primitive type of a scalar parameter."""
    return param.type.prim


def _is_kept(param: ir.Param, start: ir.Operand, result: ir.Operand) -> bool:
    if isinstance(result, str):
        return result == param.name or result == start
    if isinstance(result, ir.Var):
        return result.name == param.name or result == start
    return isinstance(result, ir.Lit) and result == start


def index_facts(s: State, form: ir.ForLoop) -> None:
    """The index lies between 0 and the bound."""
    s.facts.counter(form.index, form.prim, form.bound)
    bound = poly_of(form.bound)
    if bound is not None:
        s.facts.runs(bound, s.depth)


RULES = (
    INVARIANT,
    NodeRule(
        "simplify/loop-trips",
        "Loops that run once or not at all are no loops.",
        (ir.Loop,),
        few_trips,
    ),
)
