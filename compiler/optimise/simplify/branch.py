"""Branches: known conditions, sides that agree, and choices between scalars."""

from __future__ import annotations

from compiler.analysis.cost import size
from compiler.base.names import base_of
from compiler.base.remarks import Applied, Outcome
from compiler.base.rules import NodeRule, Rule
from compiler.ir.may_fail import cannot_fail
from compiler.ir.nodes import SE, If, Lit, Operand, Param, Select, Stm
from compiler.ir.types import as_operand
from compiler.optimise.dead import branch_with, some
from compiler.optimise.simplify.bodies import Instead
from compiler.optimise.simplify.state import State

SAME = Rule("simplify/branch-same", "A result that is the same in both branches is not chosen.")
_MAX_SELECTED = 12
"""Operations that are computed on both sides rather than branched over."""


def known_side(s: State, stm: Stm, exp: If) -> Outcome[Instead]:
    """`if true then x else y ==> x`; `if false then x else y ==> y`."""
    known = s.decided(exp.cond) or exp.cond
    if type(known) is not Lit:
        return None
    said = f"The condition is always {'true' if known.value else 'false'}: one side is left."
    return Applied(Instead(exp.then if known.value else exp.orelse), said)


def as_selects(exp: If) -> tuple[SE, ...] | None:
    """`if c then x else y ==> select c x y`, where both are cheap scalars that cannot fail."""
    then, orelse = exp.then, exp.orelse
    if then.stms or orelse.stms:
        return None
    cost = 0
    selected: list[SE] = []
    for one, other in zip(then.results, orelse.results, strict=True):
        if isinstance(one, str) or isinstance(other, str):
            return None
        if not (cannot_fail(one) and cannot_fail(other)):
            return None
        cost += size(one) + size(other)
        selected.append(Select(exp.cond, one, other))
    return None if cost > _MAX_SELECTED else tuple(selected)


def share_equal_results(s: State, exp: If, stm: Stm) -> tuple[If, tuple[Param, ...]]:
    """`let a, b = if c then (x, y) else (x, z) ==> a is x`; `b = if c then y else z`.

    Two results that are equal to each other on both sides are one as well.
    """
    kept: list[int] = []
    first: dict[tuple[Operand, Operand], Param] = {}
    depths = s.depths
    for k, pair in enumerate(zip(exp.then.results, exp.orelse.results, strict=True)):
        param = stm.pat[k]
        same: Operand | None = pair[0] if pair[0] == pair[1] else None
        said = f"`{base_of(param.name)}` is the same on both sides."
        if same is None and pair in first:
            same = as_operand(first[pair])
            said = f"`{base_of(param.name)}` is always `{base_of(first[pair].name)}`."
        if same is not None:
            same = s.commit(SAME, stm.prov, Applied(same, said))
        if same is not None:
            s.depths = s.depends(same)
            s.let(param, same, stm.prov)
        else:
            kept.append(k)
            first.setdefault(pair, param)
    s.depths = depths
    if len(kept) == len(stm.pat):
        return exp, stm.pat
    return branch_with(exp, kept), some(stm.pat, kept)


RULES = (
    NodeRule(
        "simplify/branch-known", "Takes the branch whose condition is known.", (If,), known_side
    ),
    SAME,
)
