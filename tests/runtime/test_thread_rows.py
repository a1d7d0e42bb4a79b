"""Very short segments on a GPU: a thread for each, which finds its elements in shared memory."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.base.text import plain
from compiler.codegen.kernels.thread_rows import MANY
from compiler.driver.pipeline import Compilation
from compiler.explain.accesses import report
from compiler.explain.predictions import predict
from compiler.ir.nodes import Threshold
from compiler.ir.walk import all_stms
from compiler.runtime.observer.records import ORDERS, Observation, observe
from compiler.semantics import interp
from testing import compiling, kernel_interp
from testing.kernels import CUDA, compiled, same
from tests.runtime.cuda_on_cpu import needs_cxx, results
from tests.runtime.test_observer import AFTER

RULE = "kernels/thread-rows"
PROGRAMS = {
    "sums": "entry main [m][n] (xss: [m][n]i32) = map i32.sum xss",
    "scans": "entry main [m][n] (xss: [m][n]i32) = map (scan (+) 0) xss",
    "bytes": "entry main [m][n] (xss: [m][n]i32) = map (i8.sum <-< map i8.i32) xss",
    "from the end": "entry main [m][n] (xss: [m][n]i32) = map (scan (+) 0 <-< reverse) xss",
    "two at once": "entry main [m][n] (xss: [m][n]i32) ="
    " unzip (map (\\xs -> (i32.sum xs, i32.maximum (map (* 3) xs))) xss)",
    "blocks of rows": "entry main [m][n] (xss: [m][n]i32) ="
    " map (\\x -> map (\\xs -> reduce (+) x xs) xss) (map (\\xs -> i32.sum xs) xss)",
    "sums in order": AFTER + "entry main [m][n] (xss: [m][n]i64) ="
    " unzip (map (\\xs -> reduce after (1, 0) (zip xs (reverse xs))) xss)",
    "scans in order": AFTER + "entry main [m][n] (xss: [m][n]i64) ="
    " map (\\xs -> let (ys, zs) = unzip (scan after (1, 0) (zip xs (reverse xs)))"
    " in map2 (-) (reverse ys) zs) xss",
}
SHAPES = [
    (0, 3),
    (1, 1),
    (3, 0),
    (3, 2),
    (300, 5),
    (256, 8),
    (513, 3),
    (257, 11),
    (40, 23),
    (9, 24),
]


def short(source: str, many: int = 1, version: str = "grid") -> Compilation:
    work = compiled(source, version)
    return compiling.compiled(source, replace(work.options, limits=((MANY.id, many),)))


def taken(seen: Observation) -> bool:
    """Whether segments had a thread each."""
    return any(name.endswith("thread_rows") for name, _ in seen.launches)


@needs_cxx
@pytest.mark.parametrize("name", PROGRAMS)
def test_segments_of_any_size(name: str) -> None:
    """In all orders of threads without a fault, at the costs that were predicted."""
    work = short(PROGRAMS[name])
    text, prog = work.result("cuda").text, work.result("kernels").prog
    found = set()
    for shape in SHAPES:
        if name == "blocks of rows" and shape[0] > 40:
            continue
        kind = np.int64 if "order" in name else np.int32
        args: list[Any] = [np.random.default_rng(shape[0]).integers(0, 9, shape).astype(kind)]
        expected = interp.run(work.result("soa").prog, "main", list(args))
        for order in ORDERS:
            seen = observe(plain(text), "main", args, order, records=False)
            assert not seen.problems
            same(results(seen), expected)
        seen = observe(plain(text), "main", args)
        predicted = predict(prog, text, "main", [shape], [None])
        assert predicted.launches == list(seen.launches)
        told = report(prog, text, predicted, seen)["accesses"]
        assert [one for one in told if not one.get("agrees", bool(one["because"]))] == []
        found.add(taken(seen))
        if shape in ((3, 2), (40, 23)):
            same(kernel_interp.run(prog, "main", list(args), 256, "random"), expected)
    assert found == {True, False}


@needs_cxx
@pytest.mark.parametrize("name", ["sums", "scans"])
def test_neighbours_touch_neighbouring_cells_and_other_banks(name: str) -> None:
    """Where segments are odd no bank is asked twice, and elsewhere no more than twice."""
    work = short(PROGRAMS[name])
    for m in (4, 7, 8, 16, 23):
        seen = observe(plain(work.result("cuda").text), "main", [np.ones((512, m), np.int32)])
        assert taken(seen)
        for site in seen.sites:
            if site.shared:
                assert site.passes <= (1 if m % 2 else 2) * site.least
            else:
                assert site.sectors <= 1.25 * site.fewest


@needs_cxx
def test_few_segments_have_a_thread_for_each_element() -> None:
    work = short(PROGRAMS["sums"], many=300)
    text = plain(work.result("cuda").text)
    for n, whole in ((299, False), (300, True)):
        args = [np.ones((n, 8), np.int32)]
        seen = observe(text, "main", args)
        assert taken(seen) == whole
        same(results(seen), [np.full(n, 8, np.int32)])


@needs_cxx
def test_a_check_that_fails_in_one_segment_is_told() -> None:
    source = (
        "entry main [m][n] (t: []i32) (at: [m][n]i64) ="
        " map (\\is -> i32.sum (map (\\i -> t[i]) is)) at"
    )
    at = np.zeros((300, 5), np.int64)
    at[270, 3] = 9
    seen = observe(plain(short(source).result("cuda").text), "main", [np.ones(3, np.int32), at])
    assert taken(seen)
    assert not seen.problems
    assert seen.error is not None
    assert "Index [9] out of bounds" in seen.error.message


def test_without_the_rule_there_are_lanes() -> None:
    for off in ((), (RULE,)):
        work = compiling.compiled(PROGRAMS["sums"], replace(CUDA, disabled=frozenset(off)))
        assert ("thread_rows(" in plain(work.result("cuda").text)) == (not off)
        assert "_rows(" in plain(work.result("cuda").text)


VERSIONS = {
    "map f32.sum xss": 513,
    "map (scan (+) 0) xss": 513,
    "map (\\xs -> f32.sqrt (f32.sum (map (* 2) xs))) xss": 513,
    "map f32.sum (transpose xss)": 1 << 40,
    "map (\\xs -> f32.sum xs + f32.maximum xs) xss": 513,
    "map (\\xs -> reverse (scan (+) 0 xs)) xss": 32,
    "map (\\xs -> scan (+) 0 (scan f32.max 0 xs)) xss": 32,
    "map (\\xs -> f32.sum (map (\\x -> loop y = x for _i < 9i32 do f32.sin y) xs)) xss": 32,
}
"""What a segment needs, at least, for a block of its own by default."""


@pytest.mark.parametrize("body", VERSIONS)
def test_short_segments_have_warps_and_no_blocks(body: str) -> None:
    source = f"entry main [n][m] (xss: [n][m]f32) = {body}"
    flat = compiling.compiled(source, CUDA).result("flat").prog
    stms = (stm.exp for fun in flat.funs for stm in all_stms(fun.body.stms))
    found = {s.name: s.default for s in stms if isinstance(s, Threshold)}
    assert [number for name, number in found.items() if "intra" in name] == [VERSIONS[body]]
