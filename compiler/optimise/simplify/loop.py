"""Simplify loops: few trips, unrolling, invariant parameters; learn index bounds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from compiler.base.names import Name, base_of
from compiler.base.prim import Prim
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import NodeRule
from compiler.ir import nodes as ir
from compiler.ir.sizes import poly_of
from compiler.ir.types import as_operand
from compiler.ir.walk import all_stms, map_stms, rename
from compiler.optimise.dead import loop_with, select
from compiler.optimise.simplify.bodies import Instead
from compiler.optimise.simplify.scalars import operand, operands
from compiler.optimise.simplify.state import State


def few_trips(s: State, stm: ir.Stm, exp: ir.Loop) -> Outcome[Instead]:
    """`loop p = x for i < 0 do e ==> x`; `loop p = x for i < 1 do e ==> e with p = x, i = 0`."""
    before = Instead(ir.Body((), exp.init))
    if not isinstance(exp.form, ir.ForLoop):
        cond = _start_of(exp, exp.init)
        if not isinstance(cond, ir.Lit) or cond.value:
            return None
        return Applied(before, "The loop's condition is false at the start.")
    bound = exp.form.bound
    if not isinstance(bound, ir.Lit) or bound.value > 1:
        return None
    if bound.value < 1:
        return Applied(before, "The loop runs zero times.")
    index = ir.Param(exp.form.index, ir.Scalar(exp.form.prim))
    given = (*zip(exp.params, exp.init, strict=True), (index, ir.Lit(0, exp.form.prim)))
    return Applied(Instead(exp.body, given), "The loop runs once.")


def unrolled(s: State, stm: ir.Stm, exp: ir.Loop) -> Outcome[Instead]:
    """`loop p = x for i < 2 unroll do e ==> e with p = (e with p = x, i = 0), i = 1`."""
    form = exp.form
    if not isinstance(form, ir.ForLoop) or not form.unroll:
        return None
    if not isinstance(form.bound, ir.Lit):
        return Missed(
            "The loop is not unrolled: its number of iterations is known only at run time.",
            "Give the loop a constant bound.",
        )
    trips = int(form.bound.value)
    count = trips * (len(exp.params) + sum(1 for _ in all_stms(exp.body.stms)))
    if count > form.unroll:
        return Missed(
            f"The loop is not unrolled: it would become {count} statements, but the "
            f"limit is {form.unroll}.",
            "Unroll a part of it: write a loop with few iterations inside one with many.",
        )
    body = replace(exp.body, stms=_with_less(exp.body.stms, form.unroll // trips))
    index = ir.Param(form.index, ir.Scalar(form.prim))
    given = (*zip(exp.params, exp.init, strict=True), (index, ir.Lit(0, form.prim)))
    stms, results = list(body.stms), body.results
    for k in range(1, trips):
        now: dict[Name, ir.Operand] = {form.index: ir.Lit(k, form.prim)}
        for param, value in zip(exp.params, results, strict=True):
            now[param.name] = value
            if not isinstance(value, str | ir.Lit | ir.Var):
                new = ir.Param(s.ctx.fresh(param.name), param.type)
                stms.append(ir.Stm((new,), value, stm.prov))
                now[param.name] = as_operand(new)
        again = rename(body, partial(_copied, s), now)
        stms += again.stms
        results = again.results
    said = f"Unrolled into {trips} iterations, as the author requested."
    return Applied(Instead(ir.Body(tuple(stms), results), given), said)


def _with_less(stms: tuple[ir.Stm, ...], most: int) -> tuple[ir.Stm, ...]:
    """Limit the unrolling of nested loops to `most` statements each."""
    found = []
    for stm in stms:
        exp = map_stms(stm.exp, partial(_with_less, most=most))
        if isinstance(exp, ir.Loop) and isinstance(exp.form, ir.ForLoop) and exp.form.unroll:
            exp = replace(exp, form=replace(exp.form, unroll=most))
        found.append(stm if exp is stm.exp else replace(stm, exp=exp))
    return tuple(found)


def _copied(s: State, name: Name) -> Name:
    """Return a fresh name for a copy of an array, unique if the original is."""
    new = s.ctx.fresh(name)
    if name in s.unique:
        s.unique.add(new)
    return new


def _start_of(exp: ir.Loop, init: tuple[ir.Operand, ...]) -> ir.Operand | None:
    if isinstance(exp.form, ir.WhileLoop):
        for param, value in zip(exp.params, init, strict=True):
            if param.name == exp.form.cond:
                return value
    return None


def invariant(s: State, exp: ir.Loop, k: int) -> Outcome[ir.Operand]:
    """`loop (p, q) = (x, y) for i < n do (p, e) ==> loop q = y for i < n do e, with p = x`."""
    param, value = exp.params[k], exp.init[k]
    if isinstance(exp.form, ir.WhileLoop) and param.name == exp.form.cond:
        return None
    if not _is_kept(param, value, exp.body.results[k]):
        return None
    return Applied(value, f"`{base_of(param.name)}` is the same in every iteration.")


INVARIANT = NodeRule(
    "simplify/loop-invariant",
    "Removes loop parameters that never change.",
    (ir.Loop,),
    invariant,
    by_part=True,
)


def drop_invariant(
    s: State, stm: ir.Stm, exp: ir.Loop, init: tuple[ir.Operand, ...]
) -> tuple[ir.Loop, tuple[ir.Param, ...], tuple[ir.Operand, ...]]:
    """Return the loop, its pattern and its operands without invariant parameters."""
    kept: list[int] = []
    for k, param in enumerate(exp.params):
        value = s.part(INVARIANT, stm.prov, exp, k)
        if value is None:
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
    new_init = operands(s, select(init, kept))
    if isinstance(exp.form, ir.ForLoop):
        s.depths |= s.depends(exp.form.bound)
    return loop_with(exp, kept), select(stm.pat, kept), new_init


def value_prim(param: ir.Param) -> Prim:
    """Return the primitive type of a scalar parameter."""
    return param.type.prim


def _is_kept(param: ir.Param, start: ir.Operand, result: ir.Operand) -> bool:
    if isinstance(result, str):
        return result == param.name or result == start
    if isinstance(result, ir.Var):
        return result.name == param.name or result == start
    return isinstance(result, ir.Lit) and result == start


def index_facts(s: State, form: ir.ForLoop) -> None:
    """Learn that the index lies between 0 and the bound."""
    s.facts.counter(form.index, form.prim, form.bound)
    bound = poly_of(form.bound)
    if bound is not None:
        s.facts.runs(bound, s.depth)


RULES = (
    INVARIANT,
    NodeRule(
        "simplify/loop-trips",
        "Removes loops that run once or not at all.",
        (ir.Loop,),
        few_trips,
    ),
    NodeRule(
        "simplify/loop-unroll",
        "Unrolls a loop with `#[unroll]` and a known number of iterations.",
        (ir.Loop,),
        unrolled,
    ),
)
