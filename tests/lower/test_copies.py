"""Copies before writes: results with them, and none where each array has one name.

`programs/copies.fut` says what the programs give; the core program's own meaning cannot tell, since
its arrays are values, so C runs them here as well.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler import api
from compiler.base.context import Ctx
from compiler.frontend.check import check
from compiler.frontend.parser import parse
from compiler.ir.entry import find
from compiler.ir.nodes import Prog
from compiler.ir.values import show
from compiler.lower.constants import Definitions, Lowered
from compiler.lower.copies import copy_before_writes
from compiler.lower.monomorphise import monomorphise
from compiler.lower.soa import soa
from testing import blocks
from tests.codegen.helpers import needs_cc

PROGRAM = Path(__file__).parent / "programs" / "copies.fut"
CASES = blocks.read(PROGRAM).cases
EXAMPLES = sorted((Path(api.__file__).parents[1] / "app" / "examples").glob("*.fut"))


def lowered(source: str) -> tuple[Prog, Ctx]:
    ctx = Ctx()
    return soa(monomorphise(check(parse(source), ctx), ctx), ctx), ctx


@needs_cc
@pytest.mark.parametrize("stage", ["", "funmem", "imp"], ids=["c", "funmem", "imp"])
def test_in_memory_as_in_the_source(stage: str) -> None:
    source = PROGRAM.read_text("utf-8")
    prog, _ = lowered(source)
    for case in CASES:
        fun = find(prog, case.entry)
        given, backend = case.arguments(fun), "ref" if stage else "c"
        found = api.run_values(source, case.entry, given, backend, stage, {}, 60)["values"]
        expected = case.expected(fun)
        assert expected is not None
        assert [show(x) for x in found] == [show(x) for x in expected], case.entry


def test_remarks_tell_of_copies() -> None:
    prog, ctx = lowered(PROGRAM.read_text("utf-8"))
    told = [r for r in ctx.remarks if r.rule == "soa/copy"]
    assert all(r.kind == "note" and "overwritten" in r.because for r in told)
    calls = find(prog, "given_with_itself").prov[0].line
    assert any(calls < span.line <= calls + 2 for r in told for span in r.at), "where it is given"


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_nothing_is_copied_where_each_array_has_one_name(path: Path) -> None:
    prog, ctx = lowered(path.read_text("utf-8"))
    definitions = Definitions()
    for fun in prog.funs:
        assert copy_before_writes(fun, definitions, ctx)[0] == fun
        definitions.funs[fun.name] = fun
        definitions.lowered[fun.name] = Lowered(fun, (), ())
