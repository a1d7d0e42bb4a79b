"""Names with primes, `x'`, read as their author wrote them everywhere but in C and CUDA."""

from __future__ import annotations

import re

import numpy as np
import pytest

from compiler.base.text import plain
from compiler.codegen.signature import symbol
from compiler.driver import pipeline
from compiler.driver.worker import answer
from compiler.runtime import runner
from tests.codegen.helpers import check_source, compiled, needs_cc
from tests.runtime import cuda_on_cpu

SOURCE = """\
module m' = {def f' [n'] (xs': [n']i64) = map (\\x' -> x' + n') xs' type t' = {a': i64, b: i32}}
entry main [n'] (xs': [n']i64) (xp: i64) (x': i64) (x'': i64) =
  let ys' = scan (+) 0 (m'.f' xs')
  let (z', _) = loop (a', i') = (0, 0) while i' < n' do (a' + ys'[i'], i' + 1)
  in (z', xs', map (\\i' -> xp + 10 * x' + 100 * x'' + i') ys')
"""
STAGES = [s.id for s in pipeline.STAGES if s.id not in ("ast", "c", "kernels", "cuda")]
TWO = "entry fp (x: i32) = x + 1\nentry f' (x: i32) = x + 2\nentry f_27_ (x: i32) = x + 3"


@pytest.mark.parametrize("stage", STAGES)
def test_stages_show_the_authors_names(stage: str) -> None:
    text = plain(compiled(SOURCE).result(stage).text)
    assert "x''_" in text
    assert not re.search(r"\\b(xpp|np|xsp|ysp|ip)_\\d", text)


GIVEN = [np.array([1, 2], "i8"), np.int64(1), np.int64(2), np.int64(3)]


@needs_cc
def test_they_stay_apart_in_c() -> None:
    assert check_source(SOURCE, GIVEN)[0] == 10


@cuda_on_cpu.needs_cxx
def test_they_stay_apart_in_cuda() -> None:
    code = plain(compiled(SOURCE, "cuda").result("cuda").text)
    total, _, rows = cuda_on_cpu.run(code, GIVEN)
    assert total == 10
    assert rows.tolist() == [324, 328]


@needs_cc
@pytest.mark.parametrize(("entry", "wanted"), [("fp", 2), ("f'", 3), ("f_27_", 4)])
def test_entry_points_stay_apart_in_one_library(entry: str, wanted: int) -> None:
    code = plain(compiled(TWO).result("c").text)
    assert runner.run_c(code, entry, [np.int32(1)]).values == [wanted]


def test_every_entry_point_has_a_symbol_of_its_own() -> None:
    names = ["f'", "fp", "f_27_", "_f'", "5f_f_27_", "f''", "f'_", "é", "e9", "_e9_"]
    assert len({symbol(name) for name in names}) == len(names)


def test_messages_show_them() -> None:
    told = answer({"op": "check", "source": "def f' (n': i64) (xs': [n']i32): [2]i32 = xs'"})
    assert told["error"]["message"] == "The body of `f'`: expected `[2]i32`, found `[n']i32`."
