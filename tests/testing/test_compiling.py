"""What goes on from shared stages is what a compilation of its own gives."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from compiler.base.context import Options
from compiler.base.errors import CompileError
from compiler.base.text import plain
from compiler.driver.pipeline import STAGES, Compilation
from compiler.optimise import inline
from testing import kernels
from testing.compiling import SHARED, begun, branch, called, changed, compiled, different

EXAMPLES = Path(__file__).parents[2] / "app" / "examples"


def told(work: Compilation) -> list[object]:
    """All texts, remarks and fates, and how much was proved."""
    texts = [plain(work.result(stage.id).text) for stage in STAGES]
    fates = [(fate.at, fate.how) for fate in work.fates()]
    return [texts, work.remarks(), fates, [(stage, len(made)) for stage, made in work.proved()]]


@pytest.mark.parametrize("last", ["soa", "fused"])
@pytest.mark.parametrize(
    "options",
    [
        Options(),
        Options(disabled=frozenset(("flatten", "shortcircuit/map"))),
        Options(target="cuda", verify=True),
        Options(fuel=40),
    ],
    ids=["plain", "without", "cuda", "little fuel"],
)
def test_a_branch_is_a_compilation_of_its_own(last: str, options: Options) -> None:
    source = (EXAMPLES / "blocked_rows.fut").read_text("utf-8")
    work = begun(source, Options(), last)
    before = branch(work, options)
    own = told(Compilation(source, options))
    assert told(before) == own
    assert told(branch(work, options)) == own, "branches leave nothing in what they share"


def test_what_is_made_for_a_target_is_not_shared() -> None:
    work = begun("entry main = 1i32", Options(), SHARED[-1])
    work.result("flat")
    with pytest.raises(AssertionError, match="depend on the options"):
        branch(work, Options())


@pytest.mark.parametrize("version", kernels.VERSIONS)
def test_code_versions_are_those_of_compilations_of_their_own(version: str) -> None:
    source = (EXAMPLES / "matrix_multiplication.fut").read_text("utf-8")
    made = kernels.compiled(source, version)
    assert kernels.compiled(source, version) is made
    own = plain(Compilation(source, made.options).result("cuda").text)
    assert plain(made.result("cuda").text) == own


def test_an_error_is_kept_as_well() -> None:
    for _ in range(2):
        with pytest.raises(CompileError, match="maq"):
            compiled("entry main = maq (+ 1) [1]").result("fused")


def test_a_test_that_changes_the_compiler_has_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not compiled.cache_info().currsize
    monkeypatch.setattr(inline, "_LARGE", 0)
    compiled("entry main = 1i32")


def test_nothing_of_it_is_kept() -> None:
    assert not compiled.cache_info().currsize


def test_a_stage_that_changes_nothing_is_not_looked_at_again() -> None:
    work = Compilation("entry main [n] (xs: [n]i64) = map (+ 1) (map (* 2) xs)")
    stages = [stage.id for stage in STAGES if stage.kind == "ir"]
    found = dict(different(work, stages))
    assert list(found) == ["soa", "fused", "flat", "funmem"]
    progs = [work.result(stage).prog for stage in stages]
    assert all(prog in found.values() for prog in progs)
    assert progs.count(found["funmem"]) == 4


def test_of_programs_compiled_at_once_the_changed_ones_are_looked_at_again() -> None:
    source = """entry plain (x: i64) = x
def twice [n] (xs: [n]i64) = map (* 2) xs
entry fused [n] (xs: [n]i64) = map (+ 1) (twice xs)
"""
    stages = [stage.id for stage in STAGES if stage.kind == "ir"]
    work = Compilation(source)
    found = {stage: names for stage, _, names in changed(work, stages[0], stages[1:])}
    assert found["fused"] == {"fused"}
    assert not any("plain" in names for names in found.values())


def test_who_calls_a_changed_function_has_changed() -> None:
    source = "def f (n: i64) = n + 1\nentry main (n: i64) = f n\nentry other (n: i64) = n\n"
    before = Compilation(source).result("soa").prog
    assert called(before.funs[1]) == {before.funs[0].name}
    prog = replace(before, funs=(replace(before.funs[0], results=()), *before.funs[1:]))
    progs = {"before": before, "after": prog}
    work = Mock(result=lambda stage: Mock(prog=progs[stage]))
    assert list(changed(work, "before", ["after"])) == [
        ("after", prog, frozenset((before.funs[0].name, "main")))
    ]
