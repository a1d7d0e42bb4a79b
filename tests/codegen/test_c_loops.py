"""The form of the loops in C: what is in vector registers, and what is left alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.runtime.runner import Settings, run_c
from tests.codegen.helpers import needs_cc

QUICK = Settings(flags=("-O1",))


def c_text(source: str, *disabled: str) -> str:
    """The C text of a program, without some rules."""
    options = Options(target="c", disabled=frozenset(disabled))
    return plain(Compilation(source, options).result("c").text)


def remarks(source: str, rule: str, *disabled: str) -> list[str]:
    """What a rule has said."""
    work = Compilation(source, Options(target="c", disabled=frozenset(disabled)))
    work.result("c")
    return [one.because for one in work.remarks() if one.rule == rule]


SHORT_ROWS = "c/short-rows"
SUMS = "entry main [n][m] (xs: [n][m]i32) = map i32.sum xs"
IN_LANES = "#pragma omp simd reduction("


def test_a_row_of_any_length_has_a_plain_loop_beside_the_one_in_lanes() -> None:
    usual, off = c_text(SUMS), c_text(SUMS, SHORT_ROWS)
    assert "< 32) {\n" in usual
    assert usual.count(IN_LANES) == off.count(IN_LANES)
    assert "< 32) {\n" not in off
    assert remarks(SUMS, SHORT_ROWS)
    assert not remarks(SUMS, SHORT_ROWS, SHORT_ROWS)


@pytest.mark.parametrize(("length", "lanes"), [(1, False), (10, False), (31, False), (32, True)])
def test_a_row_of_known_length_is_left_alone_while_it_is_short(length: int, lanes: bool) -> None:
    text = c_text(f"entry main [n] (xs: [n][{length}]i32) = map i32.sum xs")
    assert (IN_LANES in text) == lanes
    assert "< 32) {\n" not in text


@needs_cc
@pytest.mark.parametrize("length", [0, 1, 31, 32, 33, 70])
def test_rows_of_all_lengths_are_summed(length: int) -> None:
    xs = np.random.default_rng(length).integers(-(2**31), 2**31, (40, length), dtype=np.int32)
    given: list[Any] = [xs]
    (found,) = run_c(c_text(SUMS), "main", given, settings=QUICK).values
    assert np.array_equal(found, xs.sum(axis=1, dtype=np.int32))
