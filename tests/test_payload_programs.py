"""Random programs with sums that hold arrays give the same wherever they are run."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.base.context import Options
from compiler.driver.pipeline import Compilation
from compiler.runtime import runner
from testing import campaign, kernels
from testing.generators import payloads
from tests.runtime.cuda_on_cpu import needs_cxx

FOUND = Path(__file__).parent / "lower" / "programs" / "payloads_found.fut"
pytestmark = pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")


def test_a_batch_agrees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(campaign, "BATCH", 4)
    report = campaign.check_batch(1, generator="payloads")
    assert report.differences == []
    assert report.counts["programs"] == 4
    assert not report.counts["failing"]


def test_what_once_broke_a_pass_is_compiled() -> None:
    work = Compilation(FOUND.read_text("utf-8"), Options(verify=True))
    assert work.result("merged").prog


@needs_cxx
@pytest.mark.parametrize("seed", range(3))
def test_texts_of_kernels_agree(seed: int) -> None:
    kernels.check_text(payloads.program(seed).with_one_input(), "grid")
