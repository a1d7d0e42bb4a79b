"""Copies before writes: results with them, and none where each array has one name.

`programs/copies.fut` says what the programs give; the core program's own meaning cannot tell, since
its arrays are values, so C runs them here as well.
"""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from compiler.base.context import Ctx
from compiler.driver import api
from compiler.driver.pipeline import verify
from compiler.frontend.check import check
from compiler.frontend.parser import parse
from compiler.ir.entry import find
from compiler.ir.nodes import Prog
from compiler.ir.values import show
from compiler.lower.constants import Definitions, Lowered
from compiler.lower.copies import copy_before_writes
from compiler.lower.monomorphise import monomorphise
from compiler.lower.soa import soa
from compiler.protocol.kinds import OfProgram
from testing import blocks
from tests.codegen.helpers import needs_cc

PROGRAM = Path(__file__).parent / "programs" / "copies.fut"
CASES = blocks.read(PROGRAM)
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
        given, backend = blocks.arguments(case, fun), "ref" if stage else "c"
        found = api.run_values(OfProgram(source), case.entry, given, backend, stage, 60)["values"]
        expected = blocks.expected(case, fun)
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


# --- random programs -----------------------------------------------------------------------------


class Random:
    """Arrays under several names, some of which are overwritten; each is used as Futhark allows."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.live = ["xs"]
        self.lines: list[str] = []
        self.count = 0

    def new(self) -> str:
        self.count += 1
        return f"v{self.count}"

    def take(self) -> str:
        """An array that is overwritten: nobody uses that name again."""
        return self.live.pop(self.rng.randrange(len(self.live)))

    def read(self) -> str:
        return self.rng.choice(self.live)

    def same(self, depth: int = 2) -> str:
        """A new array of the elements of one that exists."""
        name = self.read()
        kind = self.rng.randrange(4 if depth else 2)
        if kind == 2:
            return f"(if k > {self.rng.randrange(4)} then {self.same(0)} else {self.same(0)})"
        if kind == 3:
            return f"(loop r = {self.same(0)} for _i < 2 do map (\\x -> x) r)"
        return f"map (\\x -> x) {name}"

    def statement(self) -> None:
        kind = self.rng.randrange(8)
        if kind < 2 or len(self.live) < 2:
            self.bind(self.same())
            return
        taken = self.take()
        at = self.rng.randrange(3)
        if kind < 4:
            self.bind(f"{taken} with [{at}] = {self.read()}[{self.rng.randrange(3)}] + 1")
        elif kind == 4:
            given = f"({self.same(0)})" if self.rng.random() < 0.4 else self.read()
            self.bind(f"onto {taken} {given}")
        elif kind == 5:
            into = self.rng.choice((f"scatter {taken}", f"reduce_by_index {taken} (+) 0"))
            self.bind(f"{into} [2, 0, 1] ({self.same(0)})")
        elif kind == 6:
            body = self.rng.choice(("b, a", "a, map (\\x -> x) b", "b with [1] = a[0] + 1, a"))
            one, other = self.new(), self.new()
            self.lines.append(
                f"let ({one}, {other}) = loop (a: *[3]i32, b: *[3]i32) = ({taken}, {self.same(0)})"
                f" for i < 3 do let a = a with [i] = b[{at}] * 2 in ({body})"
            )
            self.live += [one, other]
        else:
            self.bind(
                f"loop a = {taken} for i < 3 do\n    let b = map (\\x -> x) a\n"
                f"    in if i > k then a with [i] = b[{at}] + {self.read()}[0] else a"
            )

    def bind(self, exp: str) -> None:
        name = self.new()
        self.lines.append(f"let {name} = {exp}")
        self.live.append(name)

    def program(self) -> str:
        for _ in range(self.rng.randint(2, 7)):
            self.statement()
        shown = self.rng.sample(self.live, min(self.rng.randint(1, 2), len(self.live)))
        body = "\n  ".join([*self.lines, f"in ({', '.join(shown)})"])
        return (
            "def onto (a: *[3]i32) (b: [3]i32) : *[3]i32 =\n"
            "  loop a for i < 3 do a with [i] = b[2 - i] * 2\n\n"
            f"entry main (xs: *[3]i32) (k: i64) =\n  {body}\n"
        )


@pytest.mark.parametrize("seed", range(60))
def test_random_programs_mean_in_memory_what_they_mean_as_values(seed: int) -> None:
    source = Random(seed).program()
    verify(lowered(source)[0], "soa")
    for k in (0, 2):
        given = [np.array([5, 6, 7], np.int32), np.int64(k)]
        values, memory = (
            api.run_values(OfProgram(source), "main", given, "ref", stage, 60)["values"]
            for stage in ("soa", "imp")
        )
        assert [show(x) for x in memory] == [show(x) for x in values], source
