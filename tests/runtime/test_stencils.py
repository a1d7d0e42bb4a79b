"""Maps whose points read cells around them: which have windows, what they mean, what they cost."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from compiler.base.text import plain
from compiler.explain.accesses import report
from compiler.explain.predictions import predict
from compiler.runtime.observer.records import ORDERS, observe
from compiler.semantics import interp
from testing import kernel_interp
from testing.kernels import same
from tests.codegen.helpers import compiled, told
from tests.runtime.cuda_on_cpu import needs_cxx, results

RULE = "kernels/stencils"
LINE = """entry main [n] (xs: [n]i32): [n]i32 =
  tabulate n (\\i -> xs[i64.max 0 (i - 1)] + 2 * xs[i] + xs[i64.min (n - 1) (i + 1)])
"""
GRID = """entry main [n][m] (xs: [n][m]f32): [n][m]f32 =
  tabulate_2d n m (\\i j -> xs[i, j] + xs[i64.max 0 (i - 1), j] + xs[i64.min (n - 1) (i + 1), j]
    + xs[i, i64.max 0 (j - 1)] + xs[i, i64.min (m - 1) (j + 1)])
"""
AROUND = """entry main [n][m] (xs: [n][m]bool): [n][m]i32 =
  tabulate_2d n m (\\i j -> i32.bool xs[(i - 1) % n, (j - 1) % m] + i32.bool xs[i, j]
    + i32.bool xs[(i + 1) % n, (j + 1) % m] + i32.bool xs[(i - 1) % n, j])
"""
ASKED = """entry main [n][m] (xs: [n][m]f64): [n][m]f64 =
  tabulate_2d n m (\\i j -> if i > 0 && j < m - 1 then xs[i - 1, j] + xs[i, j + 1] - xs[i, j]
    else xs[i, j])
"""
TURNS = """entry main [n] (xs: [n]i64) (t: i32): [n]i64 =
  loop xs for _i < t do tabulate n (\\i -> xs[i] + xs[i64.min (n - 1) (i + 2)])
"""
NARROW = """entry main [n][m] (xs: [n][m]i16): [n][m]i16 =
  tabulate_2d n m (\\i j -> let k = i32.i64 i let up = if k == 0 then k else k - 1
    in xs[i64.i32 up, j] + xs[i64.i32 k, j] + xs[i64.i32 (i32.min (i32.i64 n - 1) (k + 1)), j])
"""
PLANES = """entry main [l][n][m] (xs: [l][n][m]f32): [l][n][m]f32 =
  tabulate_3d l n m (\\k i j -> xs[k, i, j] + xs[k, i, i64.max 0 (j - 1)]
    + xs[k, i64.max 0 (i - 1), j] + xs[i64.max 0 (k - 1), i, j])
"""
APPLIED: dict[str, tuple[str, tuple[int, ...], str]] = {
    LINE: ("i4", (2500,), "14.0 -> 4.1"),
    GRID: ("f4", (40, 70), "22.0 -> 5.6"),
    AROUND: ("?", (40, 130), "6.0 -> 1.9"),
    ASKED: ("f8", (33, 65), "25.0 -> 9.0"),
    TURNS: ("i8", (1030,), "17.0 -> 8.0"),
    NARROW: ("i2", (33, 64), "6.0 -> 2.1"),
    PLANES: ("f4", (2, 17, 65), "13.0 -> 4.8"),
}
"""Programs, the types and shapes that they are given, and sectors for 32 points."""


def given(source: str, shape: tuple[int, ...]) -> list[Any]:
    """Small numbers of an array of a shape, and three rounds."""
    kind, _, _ = APPLIED[source]
    xs = np.random.default_rng(3).integers(0, 2 if kind == "?" else 9, shape).astype(kind)
    return [xs, np.int32(3)] if source == TURNS else [xs]


def expected(source: str, args: list[Any]) -> list[Any]:
    """By the reference interpreter."""
    return list(interp.run(compiled(source).result("soa").prog, "main", list(args)))


@pytest.mark.parametrize("source", APPLIED)
def test_what_has_windows(source: str) -> None:
    _, _, sectors = APPLIED[source]
    assert told(compiled(source, "cuda"), RULE) == [("applied", sectors)]
    assert told(compiled(source, "cuda", disabled=frozenset((RULE,))), RULE) == []


@needs_cxx
@pytest.mark.parametrize("source", APPLIED)
def test_windows_mean_the_same_without_faults_and_cost_what_was_predicted(source: str) -> None:
    """And fetch fewer sectors than without them."""
    _, shape, _ = APPLIED[source]
    args = given(source, shape)
    work = compiled(source, "cuda")
    text, prog = work.result("cuda").text, work.result("kernels").prog
    for order in ORDERS[1:]:
        seen = observe(plain(text), "main", args, order, records=False)
        assert not seen.problems
        same(results(seen), expected(source, args))
    seen = observe(plain(text), "main", args)
    assert any("stencil" in name for name, _ in seen.launches)
    same(results(seen), expected(source, args))
    shapes = [np.shape(a) if np.ndim(a) else None for a in args]
    predicted = predict(prog, text, "main", shapes, [None if np.ndim(a) else a for a in args])
    found = report(prog, text, predicted, seen)["accesses"]
    assert [one for one in found if not one.get("agrees", bool(one["because"]))] == []
    without = compiled(source, "cuda", disabled=frozenset((RULE,))).result("cuda").text
    assert _fetched(seen) < 0.7 * _fetched(observe(plain(without), "main", args))


def _fetched(seen: Any) -> float:
    sites = [one for one in seen.sites if not one.shared and one.lanes and one.kind == "reads"]
    return float(sum(one.sectors * one.visits / one.lanes for one in sites))


@needs_cxx
@pytest.mark.parametrize("source", APPLIED)
def test_sizes_at_the_borders_of_tiles(source: str) -> None:
    code = plain(compiled(source, "cuda").result("cuda").text)
    _, shape, _ = APPLIED[source]
    sizes = {1: (0, 1, 1023, 1024, 1025), 2: (0, 1, 31, 32, 33), 3: (15, 16, 17)}[len(shape)]
    seen_with = set()
    for size in sizes:
        of = (size,) if len(shape) == 1 else (*shape[:-2], size, 4 * size + 1)
        args = given(source, of)
        seen = observe(code, "main", args, "random", records=False)
        assert not seen.problems
        same(results(seen), expected(source, args))
        seen_with.add(any("stencil" in name for name, _ in seen.launches))
    assert seen_with == {False, True}


@pytest.mark.parametrize("order", ORDERS)
def test_each_schedule_of_threads_means_the_same(order: kernel_interp.Order) -> None:
    for source, shape in ((ASKED, (8, 128)), (TURNS, (1025,))):
        args = given(source, shape)
        prog = compiled(source, "cuda").result("kernels").prog
        same(kernel_interp.run(prog, "main", args, 256, order), expected(source, args))


@needs_cxx
@pytest.mark.parametrize("source", [LINE, GRID])
def test_a_barrier_that_is_missing_is_noticed(source: str) -> None:
    code = plain(compiled(source, "cuda").result("cuda").text)
    args = given(source, APPLIED[source][1])
    (line,) = observe(code, "main", args, records=False).barriers
    assert observe(code, "main", args, records=False, without=line).problems


# --- what is not -----------------------------------------------------------------------------

MISSED = {
    "under conditions": """entry main [n] (xs: [n]i32): [n]i32 =
      tabulate n (\\i -> if i > 0 && i < n - 1 then xs[i - 1] + xs[i + 1] else 0)""",
    "as many sectors": """entry main (xs: [100]i32): [100]i32 =
      tabulate 100 (\\i -> xs[i] + xs[i64.max 0 (i - 1)])""",
    "may write to that array": """entry main [n] (xs: *[2][n]i32): [2][n]i32 =
      let ys = tabulate n (\\i -> xs[0, i] + xs[0, i64.max 0 (i - 1)]) in xs with [1] = ys""",
}


@pytest.mark.parametrize("because", MISSED)
def test_why_there_is_none(because: str) -> None:
    ((kind, says),) = told(compiled(MISSED[because], "cuda"), RULE)
    assert kind == "missed"
    assert because in says


@pytest.mark.parametrize(
    "source",
    [
        "entry main [n] (xs: [n]i32): [n]i32 = map (+ 1) xs",
        "entry main [n] (xs: [n]i32) (is: [n]i64): [n]i32 = map (\\i -> xs[i] + xs[i + 1]) is",
        "entry main [n] (xs: [n]i32): []i32 = map (\\i -> xs[i / 2] + xs[n - 1 - i]) (iota n)",
        "entry main [n] (xs: [n]i32): []i32 = map (\\i -> xs[i] + xs[(i + 100) % n]) (iota n)",
    ],
)
def test_what_is_no_stencil(source: str) -> None:
    assert told(compiled(source, "cuda"), RULE) == []


@pytest.mark.parametrize("source", APPLIED)
def test_threads_fill_a_window_in_equally_many_rounds(source: str) -> None:
    """Else those of a warp that have one round less may be a round ahead of the others."""
    code = plain(compiled(source, "cuda").result("cuda").text)
    ends = re.findall(r"at < (\d+); at \+= THREADS", code)
    assert ends
    assert all(int(end) % 256 == 0 for end in ends)
