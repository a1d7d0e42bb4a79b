"""The optimiser's passes on pairs of programs: `simplify.cases`, `fuse.cases`, `flat.cases`."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.base.context import Ctx
from compiler.driver.pipeline import BY_ID, run
from compiler.ir.nodes import Prog
from compiler.optimise.fuse import fuse
from compiler.optimise.simplify import simplify
from tests.cases import Case, check, load

HERE = Path(__file__).parent


def simplified(prog: Prog, ctx: Ctx) -> Prog:
    """Both passes of the stage: without calls, and simple."""
    found: Prog = run(BY_ID["simplified"], prog, ctx)
    return found


FILES = {
    "simplify": (simplified, ("soa", "simplified")),
    "fuse": (fuse, ("simplified", "fused")),
    "flat": (simplify, ("flat", "flat")),
}
ALL = [(name, case) for name in FILES for case in load(HERE / f"{name}.cases")]


@pytest.mark.parametrize(("name", "case"), ALL, ids=[f"{n}: {c.title}" for n, c in ALL])
def test_case(name: str, case: Case, update: bool) -> None:
    made, stages = FILES[name]
    check(HERE / f"{name}.cases", case, made, stages, update)


def test_titles_are_unique() -> None:
    titles = [(name, case.title) for name, case in ALL]
    assert len(titles) == len(set(titles))
