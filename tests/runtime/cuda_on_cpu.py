"""CUDA programs on the CPU, under the observer: results, and nothing that no program may do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from compiler.runtime.observer import build
from compiler.runtime.observer.records import Observation, Order, observe

needs_cxx = pytest.mark.skipif(bool(build.why_not()), reason=build.why_not())


def run(code: str, args: Sequence[Any], order: Order = "ascending") -> list[Any]:
    """The results of `main` of a CUDA text. Raises the error of a check that failed."""
    return results(observe(code, "main", args, order, records=False))


def results(seen: Observation) -> list[Any]:
    """What a run without problems gave."""
    assert not seen.problems
    if seen.error is not None:
        raise seen.error
    assert seen.results is not None
    return seen.results
