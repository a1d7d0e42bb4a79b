"""What variants hold (`compiler/lower/payloads.py`): at every stage, in C and under the observer.

`programs/payloads.fut` has guards before sizes that no array can have; a variant that is not chosen
makes nothing of them. In `programs/payloads_of_two_sizes.fut` branches and loops differ in sizes.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.base.context import Options
from compiler.driver.pipeline import MEMORY_STAGES
from compiler.ir.entry import find
from compiler.runtime.runner import Settings, run_c
from compiler.semantics import heap, interp
from testing import blocks, compiling
from testing.campaign import IR
from testing.compiling import different
from testing.kernels import compiled, observed, same
from tests.runtime.cuda_on_cpu import needs_cxx

FOLDER = Path(__file__).parent / "programs"
PROGRAMS = [FOLDER / "payloads.fut", FOLDER / "payloads_of_two_sizes.fut"]
each_program = pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)


@each_program
def test_every_stage_gives_the_same(path: Path) -> None:
    work = compiling.compiled(path.read_text("utf-8"), Options(verify=True))
    for stage, prog in different(work, IR):
        for case in blocks.read(path):
            args = blocks.arguments(case, find(prog, case.entry))
            wanted = blocks.expected(case, find(prog, case.entry))
            assert wanted is not None
            same(interp.run(prog, case.entry, args), wanted, f"{stage} {case}")
            if stage in MEMORY_STAGES:
                same(heap.run(prog, case.entry, args)[0], wanted, f"heap {stage} {case}")


@each_program
def test_c_gives_the_same(path: Path) -> None:
    work = compiling.compiled(path.read_text("utf-8"))
    soa = work.result("soa").prog
    for case in blocks.read(path):
        fun = find(soa, case.entry)
        settings = Settings(flags=("-O0",))
        args = blocks.arguments(case, fun)
        found = run_c(work.result("c").text, case.entry, args, 60, settings=settings)
        same(found.values, blocks.expected(case, fun) or [], str(case))


@needs_cxx
@pytest.mark.parametrize(
    ("path", "version"), [(PROGRAMS[0], "default"), (PROGRAMS[0], "grid"), (PROGRAMS[1], "grid")]
)
def test_kernels_give_the_same(path: Path, version: str) -> None:
    work = compiled(path.read_text("utf-8"), version)
    soa = work.result("soa").prog
    for case in blocks.read(path):
        fun = find(soa, case.entry)
        found = observed(work, case.entry, blocks.arguments(case, fun), "ascending")
        same(found, blocks.expected(case, fun) or [], f"{version} {case}")
