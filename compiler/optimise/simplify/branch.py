"""Simplify branches: known conditions, equal sides, and choices between scalars."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.analysis.cost import size
from compiler.base.names import base_of
from compiler.base.remarks import Applied, Outcome
from compiler.base.rules import NodeRule
from compiler.ir.may_fail import cannot_fail
from compiler.ir.nodes import SE, If, Lit, Operand, Param, Select, Stm, Var
from compiler.ir.types import as_operand
from compiler.optimise.dead import branch_with, select
from compiler.optimise.simplify.bodies import Instead
from compiler.optimise.simplify.scalars import operand
from compiler.optimise.simplify.state import State

Pair = tuple[Operand, Operand]
_MAX_SELECTED = 12
"""Maximum operations computed on both sides in place of a branch."""


def known_side(s: State, stm: Stm, exp: If) -> Outcome[Instead]:
    """`if true then x else y ==> x`; `if false then x else y ==> y`."""
    known = s.decided(exp.cond) or exp.cond
    if type(known) is not Lit:
        return None
    said = (
        f"The condition is always {'true' if known.value else 'false'}, so only one branch remains."
    )
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


def same_result(
    s: State, param: Param, pair: Pair, first: Mapping[Pair, Param]
) -> Outcome[Operand]:
    """`let a, b = if c then (x, y) else (x, z) ==> a is x`; `b = if c then y else z`.

    Two results that are equal to each other on both sides are one as well: `first` has those that
    came before.
    """
    if pair[0] == pair[1]:
        return Applied(pair[0], f"`{base_of(param.name)}` is the same in both branches.")
    if pair not in first:
        return None
    said = f"`{base_of(param.name)}` is always `{base_of(first[pair].name)}`."
    return Applied(as_operand(first[pair]), said)


SAME = NodeRule(
    "simplify/branch-same",
    "Moves a result that is the same in both branches out of the condition.",
    (If,),
    same_result,
    by_part=True,
)


def share_equal_results(s: State, exp: If, stm: Stm) -> tuple[If, tuple[Param, ...]]:
    """Return the branch and its pattern without results that involve no choice."""
    kept: list[int] = []
    first: dict[Pair, Param] = {}
    depths = s.depths
    for k, pair in enumerate(zip(exp.then.results, exp.orelse.results, strict=True)):
        param = stm.pat[k]
        same = s.part(SAME, stm.prov, param, pair, first)
        if same is not None:
            s.depths = s.depends(same)
            s.let(param, same, stm.prov)
        else:
            kept.append(k)
            first.setdefault(pair, param)
    s.depths = depths
    if len(kept) == len(stm.pat):
        return exp, stm.pat
    return branch_with(exp, kept), select(stm.pat, kept)


def follow_shared(s: State, stm: Stm, kept: tuple[Param, ...]) -> None:
    """Update results that stand for others of the branch, once those are placed.

    The others may have been replaced by the results of an earlier equal branch.
    """
    if len(kept) == len(stm.pat):
        return
    for param in stm.pat:
        found = s.subst.get(param.name)
        if isinstance(found, Var):
            s.depths_of[param.name] = s.depends(found)
        if isinstance(found, Var) and found.name in s.subst:
            s.alias(param, operand(s, found))


RULES = (
    NodeRule(
        "simplify/branch-known",
        "Replaces a condition that is known by the branch taken.",
        (If,),
        known_side,
    ),
    SAME,
)
