"""Branches: known conditions, sides that agree, and choices between scalars."""

from __future__ import annotations

from compiler.base.names import base_of
from compiler.ir.nodes import SE, If, Lit, Operand, Param, Select, Stm
from compiler.optimise.dead import has_effects as has_effects
from compiler.optimise.simplify import arith
from compiler.optimise.simplify.state import State

_MAX_SELECTED = 12
"""Operations that are computed on both sides rather than branched over."""


def said(cond: Lit) -> str:
    """Why only one side is left."""
    return f"The condition is always {'true' if cond.value else 'false'}: one side is left."


def as_selects(exp: If) -> tuple[SE, ...] | None:
    """`if c then x else y ==> select c x y`, where both are cheap scalars that cannot fail."""
    then, orelse = exp.then, exp.orelse
    if then.stms or orelse.stms:
        return None
    cost = 0
    for one, other in zip(then.results, orelse.results, strict=True):
        if isinstance(one, str) or isinstance(other, str):
            return None
        if not (arith.is_total(one) and arith.is_total(other)):
            return None
        cost += arith.size(one) + arith.size(other)
    if cost > _MAX_SELECTED:
        return None
    pairs = zip(then.results, orelse.results, strict=True)
    return tuple(Select(exp.cond, one, other) for one, other in pairs)  # type: ignore[arg-type]


def share_equal_results(s: State, exp: If, stm: Stm) -> tuple[If, tuple[Param, ...]]:
    """`let a, b = if c then (x, y) else (x, z) ==> a is x`; `b = if c then y else z`."""
    pairs = list(zip(exp.then.results, exp.orelse.results, strict=True))
    if not any(one == other for one, other in pairs):
        return exp, stm.pat
    kept: list[int] = []
    for k, (one, other) in enumerate(pairs):
        said = f"`{base_of(stm.pat[k].name)}` is the same on both sides."
        if one == other and s.apply("simplify/branch-same", stm.prov, said):
            s.mask = s.depends(one)
            s.let(stm.pat[k], one, stm.prov)
        else:
            kept.append(k)
    if len(kept) == len(pairs):
        return exp, stm.pat
    s.mask = s.depends(exp.cond)
    return pick(exp, kept), tuple(stm.pat[k] for k in kept)


def pick(exp: If, kept: list[int]) -> If:
    """The same branch with only some of its results."""
    sides = []
    for side in (exp.then, exp.orelse):
        results: tuple[Operand, ...] = tuple(side.results[k] for k in kept)
        sides.append(type(side)(side.stms, results))
    return If(exp.cond, *sides)
