"""Random programs that update, slice, concatenate, loop and branch mean the same everywhere.

A small part of what `bench/campaign.py` runs; it says how a seed that fails is made small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler import codes
from compiler.base.errors import CompileError, Limitation
from compiler.driver.pipeline import Compilation
from compiler.ir.values import Value
from compiler.runtime import imp_interp, runner
from compiler.runtime.observer.build import why_not
from testing import campaign
from testing.campaign import (
    Manner,
    Report,
    check,
    check_batch,
    compiled,
    count_attempts,
    failure,
)
from testing.generators.storage import Generated, program
from testing.shrinking import shrunk

needs_cc = pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")


@needs_cc
@pytest.mark.parametrize("batch", [150, 10_001, 10_002, 10_003, 10_004])
def test_all_stages_and_c_agree(batch: int) -> None:
    report = check_batch(batch)
    assert report.differences == []
    assert report.counts["programs"] >= 15


@needs_cc
def test_short_programs_agree_for_sizes_0_and_1_as_well() -> None:
    made = [Manner(generator="short").program(seed) for seed in range(250_020, 250_040)]
    sizes = {size for one in made for args in one.inputs for arg in args for size in np.shape(arg)}
    assert {0, 1} <= sizes
    report = check_batch(12_501, generator="short")
    assert report.differences == []
    assert report.counts["programs"] >= 15
    assert report.counts["failing"] <= 3


@needs_cc
@pytest.mark.skipif(bool(why_not()), reason="no C++ compiler")
def test_kernels_under_the_observer_are_compared_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    source = "entry main [n] (xs: [n]i64) = map (+ 1) xs\n"
    made = Generated(0, "main", source, [[np.arange(3)]])
    joint = compiled([made], Manner(kernels="grid"))
    assert check(joint, made) == {"kernels": 1}
    monkeypatch.setattr(campaign, "watched", lambda *_: [np.arange(3)])
    with pytest.raises(campaign.Difference, match="CUDA's text"):
        check(joint, made)


def test_a_compiler_that_is_not_done_in_time_is_no_difference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def slow(*_: Any) -> list[Value]:
        raise Limitation(codes.limits.RESOURCES, "the C compiler needs more than 120 s")

    monkeypatch.setattr(campaign, "BATCH", 2)
    monkeypatch.setattr(campaign, "outcomes", slow)
    report = check_batch(4)
    assert report.differences == []
    assert report.counts["late"] == report.counts["programs"] == 2


def test_programs_are_the_same_every_time() -> None:
    assert program(7).source == program(7).source
    assert program(7).source != program(8).source


def test_attempts_of_many_kinds_succeed_and_fail() -> None:
    report = Report()
    for seed in range(40):
        source = program(seed).source
        try:
            count_attempts(Compilation(source), report)
        except CompileError:
            continue
    for kind in ("update", "concat", "in-place-map"):
        assert report.counts[f"{kind}: done"]
    assert sum(n for k, n in report.counts.items() if "condition" in k) >= 10


@needs_cc
def test_a_difference_is_found_and_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    source = """entry main [n] (xs: *[n]i64) =
  let a = map (+ 1) xs
  let b = map (* 2) a
  let c = xs with [0] = 7
  in (b, c)
"""
    made = Generated(0, "main", source, [[np.arange(3)]])
    assert failure(made, Manner()) == ""
    right = imp_interp.run

    def wrong(*args: Any) -> list[Value]:
        return [value + (value == 7) for value in right(*args)]

    monkeypatch.setattr(imp_interp, "run", wrong)
    assert failure(made, Manner()).startswith("imp:")
    small = shrunk(made, lambda g: failure(g, Manner()).startswith("imp:"))
    assert "let c" in small.source


def test_expressions_are_made_small_as_well() -> None:
    made = Generated(
        0, "main", "entry main (x: i64) =\n  f (g (x + 1)) (if x > 0 then (h 3) else 4)\n", []
    )
    small = shrunk(made, lambda g: "(x: i64)" in g.source and "h 3" in g.source)
    assert small.source == "entry main (x: i64) =\n  f 0 (h 3)\n"
