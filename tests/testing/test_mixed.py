"""Batches of programs of several generators, and of those at the borders of their types."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from compiler.base.prim import FLOATS
from compiler.runtime import runner
from compiler.runtime.observer.build import why_not
from testing import campaign
from testing.campaign import MIXED, Difference, Manner, check_batch, same
from testing.generators import points
from testing.generators.mixed import BATCH, KERNELS


def test_shares_go_by_the_batch() -> None:
    usual = Counter(MIXED.sort(seed) for seed in range(20_000) if seed // BATCH % 4 != KERNELS)
    kernels = Counter(MIXED.sort(seed) for seed in range(80_000) if seed // BATCH % 4 == KERNELS)
    assert usual.keys() == MIXED.usual.keys()
    assert kernels.keys() == MIXED.kernels.keys()
    assert 0.1 < kernels["results"] / kernels.total() < 0.18


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
@pytest.mark.parametrize("batch", [KERNELS + 4 * 77, 4 * 77 + 5])
def test_a_batch_agrees(batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "BATCH", 8)
    report = check_batch(batch, sanitized=None, generator="mixed")
    assert report.differences == []
    assert report.counts["programs"] == 8
    if batch % 4 == KERNELS and not why_not():
        assert report.counts["kernels"] == 8


def test_points_meet_the_borders() -> None:
    made = [points.program(seed) for seed in range(60)]
    values = [np.asarray(arg) for one in made for args in one.inputs for arg in args]
    assert {0, 1, 3, 17} <= {size for value in values for size in value.shape}
    floats = [value for value in values if value.dtype.kind == "f"]
    assert len({value.dtype for value in floats}) == len(FLOATS)
    assert any(np.isnan(value).any() for value in floats)
    assert any((np.signbit(value) & (value == 0)).any() for value in floats)
    for dtype in (np.int8, np.int32, np.int64):
        assert any((v == np.iinfo(dtype).min).any() for v in values if v.dtype == dtype)


def test_kernels_of_few_points_take_the_forms_for_many() -> None:
    found = [Manner.of(batch) for batch in range(KERNELS, 200, 4)]
    assert {name for one in found for name, _ in one.limits} == set(campaign.LIMITS)
    assert {"look-back" in str(one.enabled) for one in found} == {False, True}


def test_zeros_of_another_sign_differ() -> None:
    same([np.array([-0.0, 1.0])], [np.array([-0.0, 1.0])], "c")
    with pytest.raises(Difference):
        same([np.array([0.0, 1.0])], [np.array([-0.0, 1.0])], "c")
    with pytest.raises(Difference):
        same([np.float32(-0.0)], [np.float32(0.0)], "c")
