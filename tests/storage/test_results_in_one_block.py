"""Several results of one kernel in one block, with rows of threads (`storage/strided_rows.py`)."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.driver.pipeline import MEMORY_STAGES, Compilation
from compiler.runtime.runner import Settings, run_c
from compiler.semantics import heap, interp
from testing import compiling
from testing.kernels import compiled, observed, same
from tests.runtime.cuda_on_cpu import needs_cxx

HEAD = "entry main [n][m] (arr: [n]i32) (is: [m]i32) =\n"
ARGS = (np.arange(1, 6, dtype=np.int32), np.array([4, -5, 6], np.int32))


def row(op: str, of: str = "arr") -> str:
    """Each element with the one before it, one after the other."""
    return f"(loop r = copy {of} for k < n - 1 do r with [k + 1] = r[k] * i {op} r[k + 1])"


def rows(op: str, of: str = "arr") -> str:
    """A row for each number."""
    return f"map (\\i -> {row(op, of)}) is"


FORMS = {
    "literal": "[{}, {}]",
    "concatenation": "{} ++ {}",
    "updates": (
        "let d = replicate (2 * m) (replicate n 0) let d[0:m] = {} let d[m:2 * m] = {} in d"
    ),
    "updates of strides": (
        "let d = replicate (2 * m) (replicate n 0) let d[::2] = {} let d[1::2] = {} in d"
    ),
    "loop": (
        "loop d = replicate (2 * m) (replicate n 0) for _t < 2 do\n"
        "  let d[0:m] = {} let d[m:2 * m] = {} in d"
    ),
    "branch": "if n > 3 then [{0}, {1}] else [{1}, {0}]",
    "parts": ("let (a, b) = unzip (map (\\i -> ({0} ++ {1}, {1} ++ {0})) is) in a ++ b"),
    "twice": "let (a, b) = unzip (map (\\i -> let x = {0} in (x, x)) is) in [a, b]",
}
INSIDE = ("parts", "twice")
"""Forms of rows; the others are of arrays."""


def program(form: str, one: str, other: str) -> str:
    """A program of that form, whose rows are made by these operators."""
    made = row if form in INSIDE else rows
    return HEAD + FORMS[form].format(made(one), made(other))


def written(work: Compilation) -> list[str]:
    """What became of rows that threads write."""
    work.result("merged")
    return [one.kind for one in work.remarks() if one.rule == "coalesce/writes"]


def check(form: str, one: str, other: str) -> tuple[Compilation, list[object]]:
    """The program for CUDA, and what it gives, which memory of all stages gives as well."""
    work = compiled(program(form, one, other), "default")
    wanted = interp.run(work.result("soa").prog, "main", list(ARGS))
    for stage in MEMORY_STAGES:
        same(heap.run(work.result(stage).prog, "main", list(ARGS))[0], wanted, stage)
    return work, list(wanted)


@needs_cxx
@pytest.mark.parametrize("form", FORMS)
def test_each_result_moves_by_itself(form: str) -> None:
    work, wanted = check(form, "+", "*")
    assert "missed" not in written(work)
    same(observed(work, "main", ARGS, "random"), wanted)
    c = plain(compiling.compiled(work.source, Options()).result("c").text)
    same(run_c(c, "main", ARGS, settings=Settings(flags=("-O0",))).values, wanted)


@pytest.mark.parametrize("ops", [("-", "+"), ("&", "|"), ("*", "-")])
@pytest.mark.parametrize("form", ["literal", "concatenation", "updates"])
def test_whatever_the_rows_are_made_of(form: str, ops: tuple[str, str]) -> None:
    check(form, *ops)
