"""Functions with arrays that stay functions: same results on every machine."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.names import base_of
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.ir import forms
from compiler.ir.nodes import Call
from compiler.ir.parser import parse
from compiler.ir.printer import show_text
from compiler.ir.values import Value
from compiler.ir.verify import verify
from compiler.ir.walk import all_stms, without_prov
from compiler.optimise import inline, shared_functions
from compiler.runtime import imp_interp, runner
from compiler.semantics import heap, interp, value
from compiler.testing.compare import same
from testing import blocks, kernel_interp, kernels
from testing.compiling import different
from testing.generators.programs import program

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))
BEFORE = ("simplified", "fused", "flat")
IN_MEMORY = ("funmem", "shortcircuit", "expanded", "merged")
QUICK = runner.Settings(flags=("-O1",))
"""C whose compiler makes use of what it is told about aliases, and takes a third of the time."""

EVERYWHERE = """
def smooth [n] (k: i64) (xs: [n]f32): *[n]f32 =
  map (\\i -> (xs[i64.max 0 (i - k)] + xs[i64.min (n - 1) (i + k)]) / 2) (iota n)
def twice [n] (xs: [n]f32): *[n]f32 = smooth 2 (smooth 1 xs)
def high (xs: []f32): ([]f32, f32) =
  let ys = filter (> 0.25) (twice xs)
  in (ys, reduce f32.max 0 ys)
def both [n] [m] (xs: [n][m]f32): (*[m][n]f32, *[n]f32) =
  (map (map (* 2)) (transpose xs), map f32.sum xs)
entry main [n] (xs: [n]f32) (k: i64): ([]f32, []f32, [n]f32, [][]f32, []f32) =
  let (a, top) = high xs
  let (b, _) = high (map (* 3) a)
  let ys = if k > 3 then twice xs else map (+ top) (twice (reverse xs))
  let ys = loop ys = twice ys for i < k do (twice ys) with [i % n] = f32.i64 i
  let rows = map (\\i -> map (* f32.i64 i) xs) (iota (k + 1))
  let (c, _) = both (transpose rows)
  let (d, e) = both (rows[1:, :])
  let d = d with [n / 2, 0] = 7
  in (a, b, ys, c, e ++ map (\\row -> f32.sum row) d)
"""

APART = """
def same_one [n] (xs: [n]i32): [n]i32 = if xs[0] > 0 then xs else map (+ 1) xs
def pair [n] (xs: [n]i32): ([n]i32, [n]i32) = let ys = map (* 2) xs in (ys, ys)
def write [n] (xs: *[n]i32): *[n]i32 = xs with [0] = i32.sum xs
def n32 [n] (xs: [n]i32) (x: i32): i32 = x + i32.i64 n + i32.sum (map (* x) xs)
def inside [n] (xs: [n]i32): i32 = i32.sum (map (\\x -> x * x + n32 xs x) xs)
def buffers [n] (xs: [n]i32): ([n]i32, [n]i32) =
  loop (as: [n]i32, bs: [n]i32) = (map (+ 1) xs, map (+ 2) xs) for _i < 3 do
    (map2 (+) as bs, map (* 2) bs)
def swapped [n] (xs: [n]i32): ([n]i32, [n]i32) =
  loop (as: [n]i32, bs: [n]i32) = (map (+ 1) xs, map (+ 2) xs) for _i < 3 do (bs, as)
entry main [n] (xs: [n]i32) =
  let a = same_one xs
  let b = same_one (map (+ 3) xs)
  let (c, d) = pair a
  let (e, f) = pair b
  let g = write (copy c)
  let h = write (map2 (+) d e)
  let rows = map (\\x -> inside (map (+ x) xs)) xs
  let (i, j) = buffers f
  let (k, l) = buffers g
  let (m, o) = swapped h
  let (p, q) = swapped k
  in (a, rows, map2 (+) i j, map2 (+) l m, map2 (+) o p, q with [0] = n32 xs 1 + inside l)
"""


@pytest.fixture
def all_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function stays that can, and has two calls."""
    lowest = {shared_functions.PROGRAM: 0, shared_functions.LEAST: 0, shared_functions.COPIES: 0}
    monkeypatch.setattr(Options, "limit", lambda _, of: lowest.get(of, of.usual))


@pytest.fixture(params=[inline._LARGE, 0], ids=["copied", "simplified before"])
def all_ways(
    all_stay: None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same in both ways to inline what does not stay."""
    monkeypatch.setattr(inline, "_LARGE", request.param)


def agree(work: Compilation, *inputs: list[Value], entry: str = "main") -> None:
    """All stages and machines say the same as the first, of each input."""
    code = plain(work.result("c").text)
    on_device = {
        version: kernels.compiled(work.source, version).result("kernels").prog
        for version in kernels.VERSIONS
    }
    for args in inputs:
        wanted = interp.run(work.result("soa").prog, entry, args)
        for stage, prog in different(work, (*BEFORE, *IN_MEMORY)):
            assert same(interp.run(prog, entry, args), wanted), stage
        assert same(value.run(work.result("fused").prog, entry, args), wanted)
        for stage, prog in different(work, IN_MEMORY):
            assert same(heap.run(prog, entry, args)[0], wanted), stage
        assert same(imp_interp.run(work.result("imp").prog, entry, args), wanted)
        assert same(runner.run_c(code, entry, args, settings=QUICK).values, wanted)
        for version, kernel in on_device.items():
            kernels.same(kernel_interp.run(kernel, entry, args), wanted, version)


def calls(work: Compilation, stage: str) -> list[str]:
    """The functions that are called, by the names that the author gave them."""
    funs = work.result(stage).prog.funs
    exps = [stm.exp for fun in funs for stm in all_stms(fun.body.stms)]
    return [base_of(exp.fun) for exp in exps if isinstance(exp, Call)]


@pytest.mark.usefixtures("all_ways")
def test_calls_in_loops_and_branches_of_views_and_with_sizes_of_their_own() -> None:
    work = Compilation(EVERYWHERE, Options(verify=True))
    for stage in BEFORE:
        found = calls(work, stage)
        assert [found.count(name) for name in ("high", "twice", "both")] == [2, 5, 2], stage
    for stage in IN_MEMORY:
        # Views go into `both`, and twice into `twice`.
        found = calls(work, stage)
        assert [found.count(name) for name in ("high", "twice", "both")] == [2, 4, 0], stage
    rng = np.random.default_rng(1)
    sizes = [(n, k) for n in (1, 2, 33) for k in (1, 5)]
    agree(work, *([rng.random(n, dtype=np.float32), np.int64(k)] for n, k in sizes))


@pytest.mark.usefixtures("all_ways")
def test_a_call_in_a_loop_that_overwrites_its_parameter() -> None:
    source = """
def twice [n] (xs: [n]i32): [n]i32 = map (\\i -> xs[i] + xs[n - 1 - i]) (iota n)
entry main [n] (xs: *[n]i32) (k: i64): *[n]i32 =
  loop (ys: *[n]i32) = xs for i < k do
    let zs = map (+ 1) (twice (twice ys))
    in ys with [i % n] = i32.sum zs
"""
    work = Compilation(source, Options(verify=True))
    assert calls(work, "fused") == ["twice"] * 2
    agree(work, [np.arange(5, dtype=np.int32), np.int64(7)])


@pytest.mark.usefixtures("all_stay")
def test_the_text_with_calls_reads_back() -> None:
    work = Compilation(EVERYWHERE)
    kinds = (*(forms.NESTED,) * 2, forms.FLAT, *(forms.MEMORY,) * 2, *(forms.EXPANDED,) * 2)
    for stage, form in zip((*BEFORE, *IN_MEMORY), kinds, strict=True):
        prog = work.result(stage).prog
        again = parse(show_text(prog))
        assert without_prov(again) == without_prov(prog)
        verify(again, form, stage)


@pytest.mark.usefixtures("all_ways")
def test_results_that_share_memory_and_overwritten_parameters_are_copied() -> None:
    work = Compilation(APART, Options(verify=True))
    assert set(calls(work, "simplified")) == {"buffers", "pair"}
    agree(work, *([np.array(xs, np.int32)] for xs in ([3], [-4, 5, 0], range(11))))


@pytest.mark.usefixtures("all_stay")
def test_literals_are_known_inside() -> None:
    source = """
def f [n] (k: i64) (up: bool) (xs: [n]i64): [n]i64 =
  let ys = if up then scan (+) 0 xs else map (* k) xs
  in map (\\y -> y + k * i64.sum ys) ys
entry main [n] (xs: [n]i64) (k: i64): [n]i64 =
  f 3 true (f 3 true (f k false (f 4 false (f k false (f 1 true xs)))))
entry other [n] (xs: [n]i64): [n]i64 = f 1 true (f 3 true (main xs 2))
entry third [n] (xs: [n]i64): [n]i64 = main (main xs 5) 2
"""
    work = Compilation(source, Options(verify=True))
    kept = [
        type(fun.body.stms[0].exp).__name__
        for fun in work.result("simplified").prog.funs
        if base_of(fun.name) == "f"
    ]
    # 3 true, 1 true; of k, and of `main`'s own version for 2: 4 false, 2 false, k false.
    assert sorted(kept) == ["Map", "Map", "Map", "Scan", "Scan"]
    for entry, args in {"main": [np.int64(7)], "other": [], "third": []}.items():
        agree(work, [np.arange(9) - 2, *args], entry=entry)


@pytest.mark.usefixtures("all_ways")
def test_a_call_that_is_computed_may_call_one_that_stays() -> None:
    source = """
def sums [n] (xs: [n]i64): [n]i64 = scan (+) 0 (map (* 2) xs)
def at (k: i64): i64 = (sums (iota 5))[k] + i64.sum (sums (sums [k, 2, k]))
entry main (k: i64) = k + at 2 + at k + at 3
"""
    agree(Compilation(source, Options(verify=True)), [np.int64(1)], [np.int64(4)])


@pytest.mark.usefixtures("all_stay")
def test_zeros_of_both_signs_have_versions_of_their_own() -> None:
    source = """
def f [n] (z: f32) (xs: [n]f32): [n]f32 = map (\\x -> x + 1 / z) (scan (+) 0 xs)
entry main [n] (xs: [n]f32) = (f 0 xs, f 0 (f 0 xs), f (-0.0) xs, f (-0.0) (f (-0.0) xs))
"""
    work = Compilation(source, Options(verify=True))
    assert len(set(calls(work, "flat"))) == 1
    agree(work, [np.float32([1, 2])])


@pytest.mark.usefixtures("all_stay")
def test_a_check_fails_inside_as_it_does_without() -> None:
    source = """
def f [n] (xs: [n]i32) (k: i64): [n]i32 = map (\\x -> x / xs[k]) (scan (+) 0 xs)
entry main [n] (xs: [n]i32) (k: i64): [n]i32 = f (f xs k) k
"""
    work = Compilation(source, Options(verify=True))
    assert calls(work, "flat") == ["f", "f"]
    code = plain(work.result("c").text)
    plainly = Compilation(source, Options(disabled=frozenset(("simplify/share-function",))))
    assert not calls(plainly, "flat")
    for xs, k in (([1, 2], 2), ([0, 1], 0), ([1, 2], -1)):
        args: list[Value] = [np.array(xs, np.int32), np.int64(k)]
        said = []
        for text in (code, plain(plainly.result("c").text)):
            with pytest.raises(Exception, match=r"out of bounds|zero") as found:
                runner.run_c(text, "main", args)
            said.append(str(found.value))
        assert said[0] == said[1]


@pytest.mark.usefixtures("all_stay")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    work = Compilation(path.read_text("utf-8"), Options(verify=True))
    for case, args in blocks.given(path, work.result("soa").prog, 500):
        wanted = interp.run(work.result("soa").prog, case.entry, args)
        assert same(imp_interp.run(work.result("imp").prog, case.entry, args), wanted)


@pytest.mark.usefixtures("all_ways")
@pytest.mark.parametrize("seed", range(6200, 6203))
def test_generated_programs(seed: int) -> None:
    made = program(seed, 8)
    agree(Compilation(made.source, Options(verify=True)), made.inputs)


def test_a_large_function_stays_where_its_copies_would_be_many() -> None:
    steps = "\n".join(
        f"  let xs = map2 (\\x y -> x * {k} + y) xs (scan (+) 0 ys)\n"
        f"  let ys = map (+ {k}) (rotate {k} ys)"
        for k in range(1, 41)
    )
    source = f"""
def large [n] (xs: [n]i64) (ys: [n]i64): [n]i64 =
{steps}
  in map2 (^) xs ys
entry main [n] (xs: [n]i64): [n]i64 =
  large (large xs (large xs xs)) (large (large xs xs) (large (reverse xs) xs))
"""
    work = Compilation(source, Options(verify=True))
    assert calls(work, "flat") == ["large"] * 6
    (said,) = [r.because for r in work.remarks() if r.rule == "simplify/share-function"]
    assert said.startswith("`large` is not inlined: that would make 6 ")
    copied = Compilation(source, Options(disabled=frozenset(("simplify/share-function",))))
    assert not calls(copied, "flat")
    assert len(copied.result("flat").text) > 3 * len(work.result("flat").text)
    wanted = interp.run(work.result("soa").prog, "main", [np.arange(5)])
    assert same(heap.run(work.result("merged").prog, "main", [np.arange(5)])[0], wanted)
