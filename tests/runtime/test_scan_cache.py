"""What a scan keeps of its points between its stages: where, and that what is meant stays."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from compiler.base.text import plain
from compiler.codegen.kernels.verify import verify
from compiler.driver.pipeline import Compilation, Options
from compiler.driver.targets import target_named
from compiler.runtime.observer.records import ORDERS, Observation, observe
from compiler.semantics import interp
from testing import kernel_interp
from testing.kernels import same
from tests.codegen.helpers import all_thresholds, compiled
from tests.runtime.cuda_on_cpu import needs_cxx, results

RULE = "kernels/kept"
KEPT = {
    "a flag of what it points to": (
        "entry main [n] (xs: [n]i32) ="
        " scan (+) 0 (map (\\x -> i64.bool (xs[i64.i32 x % n] % 7 > 3)) xs)"
    ),
    "a result of its own": (
        "entry main [n] (xs: [n]i32): ([n]i32, [n]i32) ="
        " let ys = map (\\x -> if xs[i64.i32 x % n] > 99 then x else 2) xs"
        " in (scan (+) 0 ys, ys)"
    ),
    "neighbours": (
        "entry main [n] (xs: [n]i32) ="
        " scan (+) 0 (map (\\i -> i64.bool (xs[i] < xs[(i + 1) % n])) (iota n))"
    ),
    "two components": (
        "entry main [n] (xs: [n]i32) ="
        " let (fs, vs) = unzip (map (\\x -> let y = xs[i64.i32 x % n] in (y > 99, f32.i32 y)) xs)"
        " in unzip (scan (\\(f, v) (g, w) -> (f || g, if g then w else v + w)) (false, 0)"
        " (zip fs vs))"
    ),
    "what is filtered": (
        "entry main [n] (xs: [n]i32) = filter (\\x -> xs[i64.i32 x % n] % 7 > 3) xs"
    ),
    "segments": (
        "entry main [n] (xs: [n]i32) = let at x = xs[i64.i32 x % n]"
        " in map (\\k -> scan (+) 0 (map (\\x -> i32.bool (at x > k)) xs)) [1, 2, 3]"
    ),
}
NOT_KEPT = {
    "what is read once": "entry main [n] (xs: [n]i32) = scan (+) 0 xs",
    "what its end reads too": "entry main [n] (xs: [n]i32) = filter (> 3) xs",
    "indices": "entry main [n] (xs: [n]i32) = scan (+) 0 (map (% 7) (indices xs))",
    "what is as wide": "entry main [n] (xs: [n]i32) = scan (+) 0 (map2 (*) xs (reverse xs))",
}
SIZES = (0, 1, 33, 1025, 7000)


def compilation(source: str, *off: str) -> Compilation:
    """For a GPU, with all parallelism."""
    thresholds = all_thresholds(compiled(source, "cuda"), 1 << 40)
    options = Options(target="cuda", thresholds=thresholds, disabled=frozenset(off))
    return Compilation(source, options)


def given(n: int) -> list[Any]:
    return [np.random.default_rng(n).integers(0, max(n, 1), n).astype(np.int32)]


def text(source: str, *off: str) -> str:
    return plain(compilation(source, *off).result("cuda").text)


def moved(seen: Observation) -> int:
    """The sectors that kernels fetched and wrote."""
    return sum(
        round(s.sectors * s.visits / s.lanes) for s in seen.sites if s.lanes and not s.shared
    )


@needs_cxx
@pytest.mark.parametrize("name", KEPT | NOT_KEPT)
def test_the_same_comes_out_whatever_is_kept(name: str) -> None:
    source = (KEPT | NOT_KEPT)[name]
    meaning = compilation(source).result("soa").prog
    lowered = compilation(source).result("kernels").prog
    verify(lowered, target_named("cuda"))
    code = text(source)
    for n in SIZES:
        expected = interp.run(meaning, "main", given(n))
        for order in ORDERS if n < 2000 else ORDERS[2:]:
            same(results(observe(code, "main", given(n), order, records=False)), expected)
        if n < 300:
            same(kernel_interp.run(lowered, "main", given(n), 64, "random"), expected)


@needs_cxx
@pytest.mark.parametrize("name", KEPT)
def test_what_is_kept_moves_fewer_bytes_than_reading_again(name: str) -> None:
    made = observe(text(KEPT[name]), "main", given(7000))
    again = observe(text(KEPT[name], RULE), "main", given(7000))
    same(results(made), results(again))
    assert moved(made) < moved(again)


@pytest.mark.parametrize("name", KEPT | NOT_KEPT)
def test_what_is_kept_is_told(name: str) -> None:
    work = compilation((KEPT | NOT_KEPT)[name])
    work.result("cuda")
    told = [remark.kind for remark in work.remarks() if remark.rule == RULE]
    assert told == ["applied"] * (name in KEPT)


def test_what_points_store_in_any_case_needs_no_more_room() -> None:
    code = text(KEPT["a result of its own"])
    assert re.search(r"void scan_\d+_third\(.*ys_mem", code)
    assert "_kept_1 = device.part" not in code
    assert "_kept_1 = device.part" in text(KEPT["a flag of what it points to"])


@needs_cxx
def test_a_check_that_fails_in_the_first_stage_is_told() -> None:
    source = "entry main [n] (xs: [n]i32) = scan (+) 0 (map (\\x -> i64.bool (xs[x] % 7 > 3)) xs)"
    args = [np.zeros(3000, np.int32)]
    args[0][2000] = 3000
    for order in ORDERS:
        seen = observe(text(source), "main", args, order)
        assert not seen.problems
        assert seen.error is not None
        assert "Index [3000] out of bounds" in seen.error.message
