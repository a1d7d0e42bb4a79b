"""Prefixes that go straight from a scan to a map: where, and that what is meant stays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.base.text import plain
from compiler.codegen.kernels import fuse_scan_map
from compiler.codegen.kernels.verify import verify
from compiler.driver.targets import target_named
from compiler.runtime.observer.records import ORDERS, observe
from compiler.semantics import interp
from testing import kernel_interp
from testing.kernels import same
from tests.codegen.helpers import compiled
from tests.runtime.cuda_on_cpu import needs_cxx, results

RULE = "kernels/handed"
TAKEN = {
    "filter": "entry main (xs: []i32) = filter (> 0) xs",
    "filter of pairs": (
        "entry main [n] (xs: [n]i32) = unzip (filter (\\(x, i) -> x > i32.i64 i % 3)"
        " (zip xs (iota n)))"
    ),
    "what is filtered is computed": "entry main (xs: []i32) = filter (> 3) (map (* 3) xs)",
    "what is parted is computed": "entry main (xs: []i32) = partition (> 3) (map (* 3) xs)",
    "partition": "entry main (xs: []i32) = partition (> 0) xs",
    "parts of three": "entry main (xs: []i32) = partition2 (> 2) (< -2) xs",
    "differences": "entry main (xs: []i32) = map2 (-) (scan (+) 0 xs) xs",
    "checks": (
        "entry main [n] (xs: [n]i32) (ys: [n]i32) ="
        " map (\\i -> ys[i64.i32 i % n]) (scan (i32.max) 0 xs)"
    ),
    "last one": (
        "entry main [n] (xs: [n]i32) = let ss = scan (+) 0 xs"
        " let k = if n == 0 then 0 else ss[n - 1]"
        " in map (\\s -> s * 2 - k) ss"
    ),
}
NOT_TAKEN = {
    "what the scan stores is used": (
        "entry main [n] (xs: [n]i32) = let ys = map (* 3) xs let ss = scan (+) 0 ys"
        " let k = if n == 0 then 0 else ys[n - 1]"
        " in map2 (\\s y -> s * y - k) ss ys"
    ),
    "too much to keep": (
        "entry main (xs: []i32) = map (\\(a, b) -> a.0 ^ a.1 ^ a.2 ^ a.3 ^ b.0 ^ b.1 ^ b.2 ^ b.3)"
        " (scan (\\(a, b) (c, d) -> ((a.0 + c.0, a.1 + c.1, a.2 * c.2, a.3 ^ c.3),"
        " (i64.max b.0 d.0, i64.min b.1 d.1, b.2 | d.2, b.3 & d.3)))"
        " ((0, 0, 1, 0), (i64.lowest, i64.highest, 0, -1))"
        " (map (\\y -> let x = i64.i32 y in ((x, x + 1, x, -x), (x, 2 * x, -x, x + 7))) xs))"
    ),
    "the prefixes are a result": (
        "entry main (xs: []i32) = let ss = scan (+) 0 xs in (ss, map2 (^) ss xs)"
    ),
    "prefixes of other points": (
        "entry main [n] (xs: [n]i32) = let ss = scan (+) 0 xs"
        " in map (\\i -> if i == 0 then 0 else ss[i - 1]) (iota n)"
    ),
    "backwards": "entry main (xs: []i32) = map (* 2) (reverse (scan (+) 0 xs))",
    "another cell": (
        "entry main [n] (xs: [n]i32) = let ss = scan (+) 0 xs"
        " let k = if n < 3 then 0 else ss[n - 3]"
        " in map (\\s -> s * 2 - k) ss"
    ),
    "what was read is written": (
        "entry main [n] (xs: *[n]i32) = let ss = scan (+) 0 (map (* 2) xs)"
        " in scatter xs (map (\\s -> i64.i32 s % n) ss) (map i32.i64 (iota n))"
    ),
    "checks in the scan": (
        "entry main [n] (xs: [n]i32) (ys: [n]i32) ="
        " map (* 2) (scan (+) 0 (map (\\x -> ys[i64.i32 x]) xs))"
    ),
}


def told(source: str) -> list[str]:
    work = compiled(source, "cuda")
    work.result("kernels")
    return [one.kind for one in work.remarks() if one.rule == RULE]


def inputs(source: str, n: int) -> list[Any]:
    made = np.random.default_rng(n).integers(-9, 9, n).astype("i4")
    if "scatter xs" in source:
        made = (np.arange(n) == 0).astype("i4")  # all prefixes are 2: one cell gets the last
    if "(ys: [n]i32)" in source:
        return [np.abs(made) % max(n, 1), np.arange(n, dtype="i4")]
    return [made]


@needs_cxx
@pytest.mark.parametrize("name", [*TAKEN, *NOT_TAKEN])
def test_what_is_meant_stays(name: str) -> None:
    """At the borders of tiles and ranges, as threads and as text, whether it is taken or not."""
    source = TAKEN.get(name) or NOT_TAKEN[name]
    assert ("applied" in told(source)) == (name in TAKEN)
    work = compiled(source, "cuda")
    prog, meaning = work.result("kernels").prog, work.result("soa").prog
    verify(prog, target_named("cuda"))
    if "scatter xs" in source:
        return  # cells are written twice: no result is the only one
    code = plain(work.result("cuda").text)
    for n in (0, 1, 2, 33, 257, 1025, 1793, 5000):
        args = inputs(source, n)
        expected = interp.run(meaning, "main", list(args))
        for order in ORDERS if n < 2000 else ORDERS[2:]:
            same(results(observe(code, "main", args, order, records=False)), expected)
        if n < 300:
            same(kernel_interp.run(prog, "main", args, 64, "random"), expected)


@needs_cxx
def test_a_filter_moves_its_elements_and_little_else() -> None:
    """Nothing is copied: the result is the first part of what has room for all elements."""
    bytes_of = []
    for off in (frozenset[str](), frozenset({RULE})):
        work = compiled(TAKEN["filter"], "cuda", disabled=off)
        n = 8192
        seen = observe(plain(work.result("cuda").text), "main", [np.arange(n, dtype="i4") - n // 2])
        assert seen.copied == 0
        sites = [site for site in seen.sites if not site.shared]
        bytes_of.append(32 * sum(site.sectors for site in sites) / n)
    assert bytes_of[0] < 4 + 4 + 4 / 2 + 1  # a warp's elements begin and end inside of sectors
    assert bytes_of[1] > 23


def test_one_scan_more_looks_through_no_list_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statements that are looked at, for filters one after the other."""
    seen: list[int] = []
    find = fuse_scan_map.free_names
    monkeypatch.setattr(
        fuse_scan_map, "free_names", lambda stms: seen.append(len(stms)) or find(stms)
    )
    counts = []
    for n in (10, 20, 40):
        steps = [f"let xs{at + 1} = filter (> {at}) xs{at}" for at in range(n)]
        source = "\n  ".join(("entry main (xs0: []i32) =", *steps, f"in xs{n}"))
        seen.clear()
        assert told(source) == ["applied"] * n
        counts.append(sum(seen))
    assert counts[2] - counts[1] == 2 * (counts[1] - counts[0])
