"""Passes can be stopped after any number of rewrites, and every rule can be switched off."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from compiler.base.context import Ctx, Options
from compiler.base.fuel import Fuel
from compiler.base.names import NameSource
from compiler.driver.pipeline import BY_ID, run, verify
from compiler.ir.nodes import Prog
from compiler.ir.parser import parse
from tests.cases import Case, assert_same_values, load

HERE = Path(__file__).parent
CASES = [case for name in ("simplify", "fuse") for case in load(HERE / f"{name}.cases")]
RULES = ("hoist", "cse", "assert", "soac-input", "soac-output", "index-view", "copy")


def both(case: Case, ctx: Ctx) -> Prog:
    """The case's program after all of the optimiser, checked after each pass."""
    prog: Prog = parse(case.before)
    for stage in ("simplified", "fused"):
        prog = run(BY_ID[stage], prog, ctx)
        verify(prog, stage)
    return prog


def context(case: Case, **options: frozenset[str]) -> Ctx:
    tags = (int(tag) for tag in re.findall(r"_(\d+)", case.before))
    return Ctx(Options(**options), NameSource(1 + max(tags, default=0)))


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.title)
def test_a_pass_can_stop_anywhere(case: Case) -> None:
    before = parse(case.before)
    full = context(case)
    both(case, full)
    for budget in {0, 1, 2, full.fuel.spent // 2, full.fuel.spent - 1}:
        ctx = context(case)
        ctx.fuel = Fuel(max(budget, 0))
        assert_same_values(before, both(case, ctx), case)


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.title)
def test_rules_can_be_switched_off(case: Case) -> None:
    before = parse(case.before)
    ctx = context(case, disabled=frozenset(f"simplify/{rule}" for rule in RULES) | {"fuse"})
    assert_same_values(before, both(case, ctx), case)
    used = {remark.rule for remark in ctx.remarks if remark.kind == "applied"}
    assert used.isdisjoint(ctx.options.disabled)
