"""Many filters of one array, or of each other, as text for a GPU: a user may generate them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from compiler.base.target import TILE_BYTES, TILE_THREADS
from compiler.base.text import plain
from compiler.codegen.imp.parts import statements
from compiler.codegen.kernels.nodes import Launch
from compiler.codegen.kernels.walk import shared_bytes
from compiler.driver.pipeline import Compilation
from compiler.driver.targets import BACK_ENDS, target_named
from compiler.runtime.observer.records import observe
from compiler.semantics import heap, interp
from testing import kernel_interp
from testing.kernels import same
from tests.codegen.helpers import compiled
from tests.runtime.cuda_on_cpu import needs_cxx, results

CUDA = target_named("cuda")


def beside(count: int, kind: str = "i32") -> str:
    """So many filters of one array."""
    lines = [f"  let a{k} = filter (\\x -> x % {k + 2} == 0) xs" for k in range(count)]
    results = ", ".join(f"a{k}" for k in range(count))
    return "\n".join([f"entry main (xs: []{kind}) =", *lines, f"  in ({results})\n"])


def reductions(count: int) -> str:
    """So many sums over one array."""
    lines = [f"  let a{k} = reduce (+) 0 (map (\\x -> x ^ {k}) xs)" for k in range(count)]
    results = ", ".join(f"a{k}" for k in range(count))
    return "\n".join(["entry main (xs: []i64) =", *lines, f"  in ({results})\n"])


def most_shared(work: Compilation) -> int:
    """What a block of threads shares at most."""
    (fun,) = work.result("kernels").prog.funs
    return max(shared_bytes(s.kernel) for s in statements(fun.body) if isinstance(s, Launch))


def why_apart(work: Compilation) -> list[str]:
    """What is said of those that do not become one pass."""
    return [
        r.because
        for r in work.remarks()
        if r.rule.startswith("fuse/")
        and r.kind == "missed"
        and "a block of threads has room" in r.because
    ]


@pytest.mark.parametrize("count", [10, 50, 200])
def test_hundreds_of_filters_fit_into_blocks_of_threads(count: int) -> None:
    work = compiled(beside(count), "cuda")
    assert most_shared(work) <= CUDA.shared_bytes
    told = [r for r in work.remarks() if r.rule == "kernels/handed"]
    assert {r.kind for r in told} == {"applied"}, "each group of filters is the end of its scan"
    assert -(-count // 4) == len(told)
    assert any("would need 40 bytes" in because for because in why_apart(work))


@pytest.mark.parametrize("count", [96, 97, 300])
def test_hundreds_of_sums_fit_into_blocks_of_threads(count: int) -> None:
    work = compiled(reductions(count), "cuda")
    assert most_shared(work) <= CUDA.shared_bytes
    assert bool(why_apart(work)) == (count > 96)


def test_what_fusion_asks_holds_on_every_target_with_blocks() -> None:
    for one in BACK_ENDS:
        if one.target.has_blocks:
            assert one.target.threads <= TILE_THREADS
            assert one.target.shared_bytes >= 2 * TILE_BYTES


@needs_cxx
@pytest.mark.parametrize("count", [2, 4, 5, 9])
def test_what_filters_of_one_array_mean_stays(count: int) -> None:
    work = compiled(beside(count), "cuda")
    code = plain(work.result("cuda").text)
    for n in (0, 1, 255, 769, 3000):
        xs = np.random.default_rng(n).integers(-999, 999, n).astype("i4")
        expected = interp.run(work.result("soa").prog, "main", [xs])
        seen = observe(code, "main", [xs], "random", records=False)
        assert not seen.problems
        same(results(seen), expected)
        if n < 300:
            same(kernel_interp.run(work.result("kernels").prog, "main", [xs], 64), expected)


@needs_cxx
@pytest.mark.parametrize(("kind", "most"), [("i32", 4.5), ("i64", 9.5)])
def test_of_many_filters_each_moves_little(kind: str, most: float) -> None:
    """Bytes of an element for each of eight filters; nothing is copied."""
    source, n = beside(8, kind), 8192
    seen = observe(
        plain(compiled(source, "cuda").result("cuda").text),
        "main",
        [np.arange(n, dtype=kind.replace("i32", "i4").replace("i64", "i8"))],
    )
    moved = 32 * sum(site.sectors for site in seen.sites if not site.shared) / n
    assert moved / 8 < most
    assert seen.copied == 0


STEPS = (
    "filter (\\x -> x % {c} != 0) {a}",
    "(partition (\\x -> x % {c} == 0) {a}).{k}",
    "map (+ {c}) (filter (> {c}) {a})",
    "filter (> {c}) (map (* {k}) {a})",
    "filter (\\x -> x % {c} == 0) xs",
    "let ys = scan (+) 0 {a} in filter (\\y -> y % {c} > 0) ys",
    "concat (filter (< {c}) {a}) (filter (> -{c}) {a})",
)


def by_chance(seed: int) -> str:
    """Filters of the input and of what others keep, and some of these as results."""
    draw = random.Random(seed)
    lines, names = list[str](), ["xs"]
    for at in range(draw.randint(2, 7)):
        step = draw.choice(STEPS).format(a=draw.choice(names), c=draw.randint(2, 5), k=at % 2)
        lines.append(f"  let a{at} = {step}")
        names.append(f"a{at}")
    results = ", ".join(draw.sample(names[1:], min(3, len(lines))))
    return "\n".join(["entry main (xs: []i32) =", *lines, f"  in ({results})\n"])


@needs_cxx
@pytest.mark.parametrize("seed", range(6))
def test_filters_by_chance_agree_in_all_stages_and_as_text(seed: int) -> None:
    work = compiled(by_chance(seed), "cuda")
    for n in (0, 1, 40, 800):
        xs = np.random.default_rng(seed).integers(-30, 30, n).astype("i4")
        expected = interp.run(work.result("soa").prog, "main", [xs.copy()])
        for stage in ("fused", "flat"):
            same(interp.run(work.result(stage).prog, "main", [xs.copy()]), expected, stage)
        for stage in ("funmem", "shortcircuit", "merged"):
            same(heap.run(work.result(stage).prog, "main", [xs.copy()])[0], expected, stage)
        seen = observe(
            plain(work.result("cuda").text), "main", [xs.copy()], "random", records=False
        )
        assert not seen.problems
        same(results(seen), expected)
