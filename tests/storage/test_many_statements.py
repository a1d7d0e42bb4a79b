"""Bodies of many statements: what can be built in place is, or it is said that it cost too much.

No times are measured here: `bench/growth.py` does that. What is counted are steps of proofs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.storage.short_circuit import budget
from compiler.storage.short_circuit.comparison import Comparison
from compiler.storage.short_circuit.outer_accesses import OutsideViews
from compiler.storage.short_circuit.safety import Safety
from testing.attempts import attempts
from testing.generators import families
from tests.storage.test_short_circuit import check, outcomes

N, M, MANY = 70, 3, 40
ROWS = np.arange(N * M, dtype=np.int64).reshape(N, M)
FLAT = np.arange(16 * N, dtype=np.int64)
XS = np.array([5, -1, 7], np.int64)
EIGHT = np.arange(8, dtype=np.int64)
INPUTS: dict[str, list[Any]] = {
    "constant_slices": [FLAT, EIGHT, np.int64(3)],
    "constant_rows": [ROWS, XS],
    "symbolic_slices": [FLAT, XS, np.int64(3)],
    "scalar_updates": [ROWS, XS],
    "read_rows": [ROWS],
    "computed_first": [ROWS, XS],
    "computed_first_slices": [FLAT, XS],
    "parts": [XS],
    "literal": [XS],
    "functions": [ROWS, XS],
    "loops": [ROWS, XS],
    "nested_loops": [ROWS[:3], XS],
    "branches": [np.int64(7), ROWS, XS],
    "asserted": [ROWS, XS, np.int64(-4)],
    "in_kernel": [XS, EIGHT],
}
ALL_IN_PLACE = [
    "constant_slices",
    "constant_rows",
    "symbolic_slices",
    "computed_first",
    "computed_first_slices",
    "parts",
    "parts_of_any_size",
    "literal",
]


@pytest.mark.parametrize("family", ALL_IN_PLACE)
def test_each_of_many_is_built_in_its_place(family: str) -> None:
    found = outcomes(getattr(families, family)(MANY))
    assert len(found) >= MANY
    assert {condition for _, condition in found} == {0}


@pytest.mark.parametrize("family", INPUTS)
def test_results_are_those_of_the_interpreter(family: str) -> None:
    count = 5 if family == "nested_loops" else 24
    check(getattr(families, family)(count), INPUTS[family])


@pytest.mark.parametrize("family", ["computed_first", "parts", "constant_slices"])
def test_steps_grow_no_faster_than_the_program(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each array takes about as many steps as in a program of half the size."""
    spent: list[int] = []
    monkeypatch.setattr(budget.Budget, "spend", lambda self, steps: spent.append(steps + 1))

    def steps(count: int) -> int:
        spent.clear()
        outcomes(getattr(families, family)(count))
        return sum(spent)

    assert steps(80) < 2.6 * steps(40)


@pytest.mark.parametrize("family", ["parts", "literal", "computed_first"])
def test_accesses_are_looked_at_no_more_often_than_the_program_grows(
    family: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An attempt does not look at each of the arrays that were built before."""
    calls: list[str] = []

    def counted(part: type, name: str) -> None:
        old = getattr(part, name)

        def counting(self: Any, *given: Any) -> Any:
            calls.append(name)
            return old(self, *given)

        monkeypatch.setattr(part, name, counting)

    counted(OutsideViews, "leave")
    counted(Safety, "_row_of")
    counted(Safety, "_write")
    counted(Comparison, "_beyond")

    def looked(count: int) -> int:
        calls.clear()
        outcomes(getattr(families, family)(count))
        return len(calls)

    assert looked(100) < 2.6 * looked(50)


def test_a_budget_that_is_spent_is_told_and_the_rest_compiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = families.unknown_rows(6)
    monkeypatch.setattr(Options, "limit", lambda _, of: 60 if of is budget.STEPS else of.usual)
    rows = [np.int64(k) for k in (2, 3, 3, 0, 1, 4)]
    work = check(source, [ROWS, *rows])
    told = [r for r in work.remarks() if r.rule == "shortcircuit/budget"]
    assert len(told) == 1
    assert "steps" in told[0].because
    conditions = [a["condition"] for a in attempts(work.result("funmem").prog)]
    assert 8 in conditions
    assert conditions == [a["condition"] for a in attempts(work.result("funmem").prog)]
