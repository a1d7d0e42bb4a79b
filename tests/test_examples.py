"""Every example: all stages, all interpreters and C agree with its expected results.

Stages are verified, read back from their text, and compared on each data set. Those without an
expected result are compared with stage `soa`. `codegen/test_cuda.py` compiles the CUDA kernels.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.driver import api, explanations, pipeline
from compiler.ir.memory import check
from compiler.ir.parser import parse as parse_ir
from compiler.ir.printer import show_text
from compiler.protocol.kinds import OfProgram
from compiler.protocol.runs import ValidityRequest
from compiler.runtime import runner, sanitize
from compiler.testing.compare import same
from testing import blocks
from testing.compiling import different

EXAMPLES = sorted((Path(__file__).parent.parent / "app" / "examples").glob("*.fut"))
IR_STAGES = [s.id for s in pipeline.STAGES if s.kind == "ir"]
SMALL = 2000
"""Elements of input up to which the slow interpreters run as well."""


def stem(path: Path) -> str:
    return path.stem


@cache
def compiled(path: Path, target: str) -> pipeline.Compilation:
    return pipeline.Compilation(path.read_text("utf-8"), Options(target=target, verify=True))


CASES = [
    pytest.param(path, case, id=f"{path.stem}-{i}")
    for path in EXAMPLES
    for i, case in enumerate(blocks.read(path))
]


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("path", EXAMPLES, ids=stem)
def test_every_stage_verifies_and_reads_back(path: Path, target: str) -> None:
    work = compiled(path, target)
    for stage in IR_STAGES:
        text = show_text(work.result(stage).prog)
        assert show_text(parse_ir(text)) == text, stage
    work.result("imp")


@pytest.mark.parametrize("path", EXAMPLES, ids=stem)
def test_what_is_open_of_memory_is_what_the_page_says(path: Path) -> None:
    text = (Path(__file__).parent.parent / "docs" / "memory.md").read_text("utf-8")
    said = dict(re.findall(r"^\| `(\w+)` \| (\d+) \|", text, re.M))
    found = sum(
        len(check(compiled(path, target).result(stage).prog, stage).open)
        for target in ("c", "cuda")
        for stage in pipeline.MEMORY_STAGES
    )
    assert found == int(said.get(path.stem, 0)), "docs/memory.md: the number may only fall"


@pytest.mark.parametrize(("path", "case"), CASES)
def test_stages_and_back_ends_give_the_same_results(path: Path, case: blocks.Trial) -> None:
    source = path.read_text("utf-8")
    work = api.compilation(OfProgram(source))
    fun = api.entry_function(work, case.entry)
    args, expected = blocks.arguments(case, fun), blocks.expected(case, fun)

    def run(backend: str, stage: str) -> list[Any]:
        found: list[Any] = api.run_values(OfProgram(source), case.entry, args, backend, stage, 60)[
            "values"
        ]
        return found

    reference = run("ref", "soa")
    if expected is not None:
        assert same(reference, expected), "soa"
    assert same(run("c", ""), reference), "c"
    if sum(np.asarray(a).size for a in args) <= SMALL:
        stages = [stage for stage, _ in different(work, IR_STAGES)]
        for stage in [*stages[1:], "imp"]:
            assert same(run("ref", stage), reference), stage


@pytest.mark.skipif(
    not runner.compiler_available() or not sanitize.available(), reason="no sanitisers"
)
@pytest.mark.parametrize(("path", "case"), CASES)
def test_sanitisers_have_nothing_to_report(path: Path, case: blocks.Trial) -> None:
    source = path.read_text("utf-8")
    fun = api.entry_function(api.compilation(OfProgram(source)), case.entry)
    args, reference = blocks.arguments(case, fun), blocks.expected(case, fun)
    if reference is None:
        reference = api.run_values(OfProgram(source), case.entry, args, "ref", "soa", 60)["values"]
    sanitized = OfProgram(source, {"sanitize": True})
    assert same(
        api.run_values(sanitized, case.entry, args, "c", "", 60)["values"],
        reference,
    )


@pytest.mark.parametrize(("path", "case"), [p for p in CASES if p.values[1].output is not None])
def test_memory_is_valid(path: Path, case: blocks.Trial) -> None:
    source = path.read_text("utf-8")
    given = "" if case.input is None else case.input.text
    answer = explanations.check_validity(ValidityRequest(source, entry=case.entry, input=given))
    verdicts = answer["stages"]
    assert set(verdicts) >= {"flat", "funmem", "expanded", "merged", "imp"}
    for stage, verdict in verdicts.items():
        assert verdict["valid"], (stage, verdict)


@pytest.mark.parametrize("path", EXAMPLES, ids=stem)
def test_lines_of_every_stage_lead_back_to_the_source(path: Path) -> None:
    source = path.read_text("utf-8")
    ends = [len(line) + 1 for line in source.splitlines()]
    work = compiled(path, "c")
    for stage in pipeline.BY_ID:
        text = work.result(stage).text
        assert plain(text).strip()
        linked = {span for line in text for span in line.src if not span.file}
        assert linked, stage
        for span in linked:
            assert 1 <= span.line <= span.end_line <= len(ends)
            assert span.col <= ends[span.line - 1]
            assert span.end_col <= ends[span.end_line - 1]
