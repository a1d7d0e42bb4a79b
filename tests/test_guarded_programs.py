"""Random programs that guard what may fail give the same, or fail alike, wherever they are run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_
from compiler.driver.worker import answer
from compiler.runtime import runner
from compiler.semantics import evaluator
from testing import campaign, kernels
from testing.generators import guards
from testing.generators.storage import Generated
from testing.outcomes import kind
from tests.runtime.cuda_on_cpu import needs_cxx

pytestmark = pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
QUOTIENT = Generated(
    0,
    "main",
    "entry main (a: i64) (d: i64) = d != 0 && a / d < 5\n",
    [[np.int64(1), np.int64(0)], [np.int64(9), np.int64(2)]],
)


@pytest.mark.parametrize("batch", [1, 2])
def test_a_batch_agrees(batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(campaign, "BATCH", 12)
    report = campaign.check_batch(batch, generator="guards")
    assert report.differences == []
    assert report.counts["programs"] == 12
    assert 0 < report.counts["failing"] < 6


@pytest.mark.parametrize("seed", range(12))
def test_kernels_agree(seed: int) -> None:
    kernels.check(guards.program(seed).with_one_input(), "grid" if seed % 2 else "default")


@needs_cxx
@pytest.mark.parametrize("seed", range(20, 24))
def test_texts_of_kernels_agree(seed: int) -> None:
    kernels.check_text(guards.program(seed).with_one_input(), "default")


def test_a_reference_that_fails_where_others_do_not_differs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    manner = campaign.Manner()
    joint = campaign.compiled([QUOTIENT], manner)
    assert not campaign.check(joint, QUOTIENT)
    monkeypatch.setattr(evaluator, "LOGIC_OPS", ())
    with pytest.raises(campaign.Difference, match=r"by the letter: .* not the error"):
        campaign.check(joint, QUOTIENT)


def test_a_test_says_that_it_was_the_reference_that_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = f"-- ==\n-- input {{ 1i64 0i64 }} auto output\n{QUOTIENT.source}"
    asked = {"op": "test", "source": source, "case": 0, "backend": "c"}
    assert answer(asked)["tested"]["outcome"] == "passed"
    monkeypatch.setattr(evaluator, "LOGIC_OPS", ())
    told = answer(asked)["tested"]
    assert told["outcome"] == "failed"
    assert told["because"] == "`ref` fails, and `c` does not: Division by zero."


def test_a_program_that_fails_has_to_fail_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    manner = campaign.Manner()
    made = Generated(0, "main", "entry main (a: i64) = 7 / a\n", [[np.int64(0)], [np.int64(2)]])
    joint = campaign.compiled([made], manner)
    assert campaign.check(joint, made) == {"failing": 1, "failing: division": 1}
    failing = replace(made, inputs=made.inputs[:1])
    monkeypatch.setattr(campaign.imp_interp, "run", lambda *_: [np.int64(0)])
    with pytest.raises(campaign.Difference, match=r"imp: \(0i64\) and not the error"):
        campaign.check(joint, failing)


@pytest.mark.parametrize(
    ("message", "cause", "wanted"),
    [
        ("division by zero", "", "division"),
        ("Division by zero.", "", "division"),
        ("Index [7] out of bounds for array of shape [3].", "", "index"),
        ("Two threads meet.", "race", "race"),
    ],
)
def test_kinds_of_failures(message: str, cause: str, wanted: str) -> None:
    error = RuntimeError_(message)
    error.cause = cause
    assert kind(error) == wanted


def test_programs_are_the_same_every_time() -> None:
    assert guards.program(7).source == guards.program(7).source
    assert guards.program(7).source != guards.program(8).source
