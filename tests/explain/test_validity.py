"""Whether stages mean what the program means: also where the program fails, and calls nest."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_
from compiler.driver.pipeline import MEMORY_STAGES
from compiler.driver.worker import answer
from compiler.explain import validity
from testing.compiling import compiled

DIVIDES = "entry main [n] (xs: [n]i64) (d: i64) = map (/ d) xs"
COUNT = "def count (n: i64): i64 = if n == 0 then 0 else 1 + count (n - 1)\nentry main = count"
AT_END = (
    "def even (n: i64): bool = if n == 0 then true else if n == 1 then false else even (n - 2)\n"
    "entry main = even"
)


def stages(source: str, given: str) -> dict[str, Any]:
    told = answer({"op": "validity", "source": source, "input": given})
    assert told["ok"], told
    found: dict[str, Any] = told["stages"]
    return found


@pytest.mark.parametrize(
    ("source", "given"), [(DIVIDES, "[4i64] 2i64"), (COUNT, "600i64"), (AT_END, "5001i64")]
)
def test_all_stages_agree(source: str, given: str) -> None:
    told = stages(source, given)
    assert all(one["valid"] for one in told.values()), told
    assert all(told[stage]["verdict"] == "valid" for stage in MEMORY_STAGES)


def test_a_program_that_fails_does_so_at_all_stages() -> None:
    told = stages(DIVIDES, "[4i64] 0i64")
    assert {one["because"] for one in told.values()} == {"Both stop: division by zero"}
    assert all(one["valid"] for one in told.values())


def test_one_that_fails_at_one_stage_only_is_invalid() -> None:
    prog = compiled(DIVIDES).result("merged").prog
    fails, two = RuntimeError_("division by zero"), np.int64(2)
    xs = np.array([4, 6])
    does_not = validity.against(prog, "main", [xs, two], fails)
    assert does_not.verdict == "invalid"
    assert "this stage does not fail" in does_not.because
    does = validity.against(prog, "main", [xs, np.int64(0)], [xs])
    assert (does.verdict, does.because) == ("invalid", "division by zero")


@pytest.mark.parametrize("cause", ["bounds", "race"])
def test_leaving_a_block_or_meeting_is_no_failure_of_the_program(cause: str) -> None:
    fault = RuntimeError_("Cell 7 lies outside of `a`, which has 3.")
    fault.cause = cause
    assert not validity.agreement(fault, RuntimeError_("division by zero"))["valid"]
