"""Small programs of every kind: lowered, verified, and run by the reference interpreter.

Each `programs/*.fut` carries its inputs with the results, or errors, that the language demands.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from compiler.base.context import Ctx
from compiler.base.errors import CompileError
from compiler.driver.pipeline import verify
from compiler.frontend.check import check
from compiler.frontend.parser import parse
from compiler.ir.entry import find
from compiler.ir.nodes import Prog
from compiler.ir.values import Value, show
from compiler.lower.monomorphise import monomorphise
from compiler.lower.soa import soa
from compiler.semantics import interp
from testing import blocks

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.fut"))
CASES = [(path, case) for path in PROGRAMS for case in blocks.read(path)]


@cache
def lowered(path: Path) -> Prog:
    ctx = Ctx()
    return soa(monomorphise(check(parse(path.read_text("utf-8")), ctx), ctx), ctx)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_lowered_programs_are_well_formed(path: Path) -> None:
    verify(lowered(path), "soa")


@pytest.mark.parametrize(
    ("path", "case"), CASES, ids=[f"{p.stem}-{c.entry}-{k}" for k, (p, c) in enumerate(CASES)]
)
def test_programs_give_what_they_say(path: Path, case: blocks.Trial) -> None:
    prog = lowered(path)
    fun = find(prog, case.entry)
    arguments = blocks.arguments(case, fun)
    if case.error:
        with pytest.raises(CompileError) as caught:
            interp.run(prog, case.entry, arguments)
        assert re.search(case.regex, caught.value.message)
        return
    expected = blocks.expected(case, fun)
    assert expected is not None
    found = interp.run(prog, case.entry, arguments)
    assert [text(v) for v in found] == [text(v) for v in expected]


def text(value: Value) -> str:
    if value.dtype.kind == "f":
        value = np.round(value, 5)
    return show(value)
