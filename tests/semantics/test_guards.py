"""What stands behind a guard is asked for only where the guard says so: by every interpreter.

`guards.fut` has the programs, with the right results in its test blocks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from compiler.base.errors import RuntimeError_
from compiler.driver.pipeline import MEMORY_STAGES, STAGES
from compiler.explain.statement_values import flow
from compiler.ir.values import Value
from compiler.runtime import imp_interp, runner
from compiler.semantics import heap, interp, value
from compiler.testing.compare import same
from testing import blocks, kernel_interp
from testing.attempts import always
from testing.compiling import compiled, different
from testing.kernels import CUDA
from tests.codegen.helpers import needs_cc

PATH = Path(__file__).parent / "guards.fut"
SOURCE = PATH.read_text("utf-8")
CASES = blocks.read(PATH)
IR_STAGES = [stage.id for stage in STAGES if stage.kind == "ir"]
Run = Callable[[], list[Value]]


def runs(entry: str, args: list[Value]) -> Iterator[tuple[str, Run]]:
    """All ways to run an entry point on this machine, but C."""
    for stage, prog in different(compiled(SOURCE), IR_STAGES):
        yield f"by the letter, {stage}", partial(value.run, prog, entry, args)
        yield f"fast, {stage}", partial(interp.run, prog, entry, args, thresholds=always(prog))
        if stage in MEMORY_STAGES:
            yield (
                f"heap, {stage}",
                lambda p=prog: heap.run(p, entry, args, thresholds=always(p))[0],
            )
    yield "imp", partial(imp_interp.run, compiled(SOURCE).result("imp").prog, entry, args)
    kernels = compiled(SOURCE, CUDA).result("kernels").prog
    yield "kernels", partial(kernel_interp.run, kernels, entry, args)


def assert_right(case: blocks.Trial, wanted: list[Value] | None, run: Run, where: str) -> None:
    try:
        found = run()
    except RuntimeError_ as failed:
        assert case.error, (where, failed.message)
        assert re.search(case.regex, failed.message), where
    else:
        assert wanted is not None, where
        assert same(found, wanted), (where, found)


@pytest.mark.parametrize("case", CASES, ids=[f"{c.entry}-{k}" for k, c in enumerate(CASES)])
def test_guards_at_all_stages(case: blocks.Trial) -> None:
    soa = compiled(SOURCE).result("soa").prog
    fun = next(fun for fun in soa.funs if fun.name == case.entry)
    args, wanted = blocks.arguments(case, fun), blocks.expected(case, fun)
    for where, run in runs(case.entry, args):
        assert_right(case, wanted, run, where)
    for stage in ("soa", "merged"):
        told = flow(compiled(SOURCE).result(stage).prog, stage == "merged", case.entry, args)
        assert told["note"].startswith("The run fails here") == case.error, (stage, told)


@needs_cc
def test_guards_in_c() -> None:
    work = compiled(SOURCE)
    code, funs = work.result("c").text, {fun.name: fun for fun in work.result("soa").prog.funs}

    def run(entry: str, args: list[Value]) -> list[Value]:
        return runner.run_c(code, entry, args, 20).values

    for case in CASES:
        fun = funs[case.entry]
        args, wanted = blocks.arguments(case, fun), blocks.expected(case, fun)
        assert_right(case, wanted, partial(run, case.entry, args), f"c, {case.entry}")
