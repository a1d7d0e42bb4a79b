"""Random programs mean the same at every stage and on every back end that runs here.

A failure names the seed; `testing/generators/programs.py` makes the program again, and `shrunk` a
shorter one.
"""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.errors import RuntimeError_
from compiler.base.text import plain
from compiler.codegen.imp.verify import verify as verify_imp
from compiler.driver.pipeline import STAGES, Compilation, verify
from compiler.ir.nodes import Threshold
from compiler.ir.parser import parse
from compiler.ir.printer import show_text
from compiler.ir.values import Value, show
from compiler.ir.walk import all_stms, without_prov
from compiler.runtime import imp_interp, runner
from compiler.semantics import heap, interp
from testing import kernel_interp
from testing.compiling import different
from testing.generators.programs import Generated, program
from testing.kernels import same

IR_STAGES = [stage.id for stage in STAGES if stage.kind == "ir"]


def assert_same(found: list[Value], expected: list[Value], what: str) -> None:
    assert len(found) == len(expected), what
    for a, b in zip(found, expected, strict=True):
        nan = a.dtype.kind == "f"
        agree = a.dtype == b.dtype and np.array_equal(a, b, equal_nan=nan)
        assert agree, f"{what}: {show(a)} and not {show(b)}"


def check_stages(made: Generated, work: Compilation) -> list[Value]:
    """Verify, read back and run every stage of the core language, and IMP; gives the results."""
    for stage in IR_STAGES:
        prog = work.result(stage).prog
        what = f"seed {made.seed}, stage {stage}"
        verify(prog, stage)
        assert parse(show_text(prog)) == without_prov(prog), what
    progs = different(work, IR_STAGES)
    expected = interp.run(next(progs)[1], "main", made.inputs)
    for stage, prog in progs:
        found = interp.run(prog, "main", made.inputs)
        assert_same(found, expected, f"seed {made.seed}, stage {stage}")
    verify_imp(work.result("imp").prog)
    found = imp_interp.run(work.result("imp").prog, "main", made.inputs)
    assert_same(found, expected, f"seed {made.seed}, stage imp")
    return expected


@pytest.mark.parametrize("seed", range(1000, 1024))
def test_all_stages_agree(seed: int) -> None:
    made = program(seed, 8)
    check_stages(made, Compilation(made.source))


@pytest.mark.parametrize("seed", range(3000, 3006))
def test_every_version_agrees_for_the_gpu(seed: int) -> None:
    """Both sides of all thresholds, with memory laid out for CUDA, with and without memory."""
    made = program(seed, 8)
    work = Compilation(made.source, Options(target="cuda"))
    expected = interp.run(work.result("soa").prog, "main", made.inputs)
    for stage in ("flat", "merged"):
        prog = work.result(stage).prog
        stms = [stm for fun in prog.funs for stm in all_stms(fun.body.stms)]
        names = {stm.exp.name for stm in stms if isinstance(stm.exp, Threshold)}
        for least in (0, 1 << 60):
            found = interp.run(prog, "main", made.inputs, thresholds=dict.fromkeys(names, least))
            assert_same(found, expected, f"seed {seed}, stage {stage}, thresholds {least}")
    values, _ = heap.run(work.result("merged").prog, "main", made.inputs)
    assert_same([np.asarray(v)[()] for v in values], expected, f"seed {seed}, heap")


@pytest.mark.parametrize("seed", range(5000, 5006))
def test_threads_and_their_host_agree(seed: int) -> None:
    """Numbers stay on the device in most of them: threads compute what the host would."""
    made = program(seed, 8)
    work = Compilation(made.source, Options(target="cuda"))
    prog = work.result("kernels").prog
    verify(prog, "kernels", "cuda")
    expected = interp.run(work.result("soa").prog, "main", made.inputs)
    same(kernel_interp.run(prog, "main", made.inputs), expected)


@pytest.mark.parametrize("seed", range(4000, 4008))
def test_empty_arrays_agree_or_fail_everywhere(seed: int) -> None:
    made = program(seed, 6, smallest=0)
    work = Compilation(made.source)
    outcomes = [outcome(made, work, stage) for stage in ("soa", "fused", "flat", "expanded")]
    assert outcomes == outcomes[:1] * len(outcomes), f"seed {seed}"


def outcome(made: Generated, work: Compilation, stage: str) -> list[str]:
    """The results as text, or that the run fails."""
    try:
        return [show(v) for v in interp.run(work.result(stage).prog, "main", made.inputs)]
    except RuntimeError_:
        return ["fails"]


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler here")
@pytest.mark.parametrize("seed", range(2000, 2004))
def test_c_agrees(seed: int) -> None:
    made = program(seed, 5)
    work = Compilation(made.source)
    expected = check_stages(made, work)
    code = plain(work.result("c").text)
    done = runner.run_c(code, "main", made.inputs, 60.0)
    assert_same(done.values, expected, f"seed {seed}, C")


def test_programs_are_the_same_every_time() -> None:
    assert program(7).source == program(7).source
    assert program(7).source != program(8).source
