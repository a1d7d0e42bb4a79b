"""Random programs at the ends of 64 bits fail alike, and touch no foreign memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.driver.pipeline import StageResult
from compiler.runtime import runner, sanitize
from testing import campaign
from testing.generators.extremes import program


@pytest.mark.skipif(
    not runner.compiler_available() or not sanitize.available(), reason="no sanitisers"
)
@pytest.mark.parametrize("batch", [3, 7])
def test_a_batch_agrees(batch: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(campaign, "BATCH", 12)
    report = campaign.check_batch(batch, sanitized=True, generator="extremes")
    assert report.differences == []
    assert report.counts["programs"] == 12


@pytest.mark.skipif(
    not runner.compiler_available() or not sanitize.available(), reason="no sanitisers"
)
def test_a_crash_and_a_report_are_those_of_their_program(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three programs in one library, the one that leaves its block is named."""
    manner = campaign.Manner(generator="extremes", sanitized=True)
    made = [program(seed, f"p{seed}") for seed in (0, 1, 2)]
    joint = campaign.compiled(made, manner)
    text = joint.work.result("c").text
    heads = [k for k, line in enumerate(text) if line.text.startswith("int entry_p1(")]
    assert len(heads) == 1
    wrong = text[heads[0] + 1]
    broken = type(wrong)("    char *p = malloc(3); p[in[0] * 0 + 3] = 1; free(p);" + wrong.text)
    changed = (*text[: heads[0] + 1], broken, *text[heads[0] + 2 :])
    monkeypatch.setattr(StageResult, "text", changed)
    campaign.check(joint, made[0])
    with pytest.raises(campaign.Difference) as caught:
        campaign.check(joint, made[1])
    assert "heap-buffer-overflow, write of size 1" in caught.value.what
    campaign.check(joint, made[2])


def test_programs_are_the_same_every_time() -> None:
    assert program(7).source == program(7).source
    assert program(7).source != program(8).source
