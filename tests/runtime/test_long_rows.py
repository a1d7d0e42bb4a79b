"""Rows longer than a block of threads: its threads take them by turns, where blocks are enough."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.runtime.observer.records import observe
from testing.kernels import same
from tests.runtime.cuda_on_cpu import needs_cxx, results

ROWS = (
    "entry main [n]{m} (a: [n][{of}]i64) ="
    " map (\\r -> let s = i64.sum r in map (+ s) (scan (+) 0 r)) a"
)
ANY, KNOWN = ROWS.format(m="[m]", of="m"), ROWS.format(m="", of="1030")


def remarks(source: str) -> list[str]:
    work = Compilation(source, Options(target="cuda"))
    work.result("flat")
    return [one.because for one in work.remarks() if one.rule == "flatten/intra-block"]


@needs_cxx
@pytest.mark.parametrize(
    ("source", "rows", "columns", "kernels"),
    [(ANY, 128, 1025, 1), (ANY, 128, 1024, 1), (ANY, 127, 1025, 0), (KNOWN, 128, 1030, 1)],
)
def test_a_block_goes_through_a_longer_row(
    source: str, rows: int, columns: int, kernels: int
) -> None:
    code = plain(Compilation(source, Options(target="cuda")).result("cuda").text)
    a = np.random.default_rng(1).integers(-9, 9, (rows, columns))
    seen = observe(code, "main", [a])
    same(results(seen), [a.cumsum(1) + a.sum(1)[:, None]])
    assert len([name for name, blocks in seen.launches if blocks == rows]) >= kernels
    assert (len(seen.launches) == 1) == bool(kernels)


def test_too_few_blocks_for_long_rows_are_refused() -> None:
    few = KNOWN.replace("main [n]", "main").replace("[n][1030]", "[4][1030]")
    few = few.replace("= map", "= #[incremental_flattening(no_outer)] map")
    assert remarks(few) == [
        "1030 inner elements are too many for each of only 4 blocks of threads."
    ]
    assert "fits into a block" in remarks(KNOWN)[0]
