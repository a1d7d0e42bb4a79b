"""Every code version means the same through memory and down to imperative code."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.base.context import Ctx, Options
from compiler.base.names import NameSource
from compiler.codegen.to_imp import to_imp
from compiler.driver.pipeline import verify
from compiler.driver.targets import target_named
from compiler.ir.parser import parse
from compiler.ir.random_values import inputs
from compiler.optimise.simplify import simplify
from compiler.parallel.flatten import flatten
from compiler.runtime import imp_interp
from compiler.semantics import heap, interp
from compiler.storage.allocate import allocate
from compiler.storage.expand import expand
from tests.cases import Case, compare, load
from tests.parallel.versions import flat, versions

CASES = load(Path(__file__).parent / "flatten.cases")


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("case", CASES, ids=[c.title for c in CASES])
def test_every_version_runs_as_imperative_code(case: Case, target: str) -> None:
    before = parse(case.before)
    args = inputs(before.funs[0], {"n": 5, "m": 4, "k": 3}, 1).values
    wanted = interp.run(before, "main", args)
    for setting in versions(flat(before, target)[0]):
        options = Options(thresholds=tuple(setting.items()))
        ctx = Ctx(options, NameSource(10_000), target=target_named(target))
        prog = allocate(simplify(flatten(before, ctx), ctx), ctx)
        verify(prog, "funmem")
        prog = expand(prog, ctx)
        verify(prog, "expanded")
        compare(wanted, heap.run(prog, "main", args)[0])
        compare(wanted, imp_interp.run(to_imp(prog, ctx), "main", args))
