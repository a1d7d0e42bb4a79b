"""Functions of scalars that stay functions: same results at every stage and on every machine."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.errors import CompilerBug
from compiler.base.names import base_of
from compiler.base.text import plain
from compiler.codegen.imp import parser as imp_parser
from compiler.codegen.imp import printer as imp_printer
from compiler.codegen.kernels import parser as kernel_parser
from compiler.codegen.kernels import printer as kernel_printer
from compiler.driver.pipeline import Compilation
from compiler.ir import forms
from compiler.ir.parser import parse
from compiler.ir.printer import show_text
from compiler.ir.values import Value
from compiler.ir.verify import verify
from compiler.ir.walk import without_prov
from compiler.optimise import inline
from compiler.runtime import imp_interp, runner
from compiler.semantics import heap, interp, value
from compiler.testing.compare import same
from testing import blocks, kernel_interp, kernels
from testing.generators.programs import program

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))

EVERYWHERE = """
def f (x: i32) (y: f32): (i32, f32) =
  let a = x * 3 + 1
  let b = if y > 1 then y * 2 else y / 3
  let (c, d) = loop (c, d) = (a, b) for i < 3 do (c ^ i, d + f32.i32 i)
  in (c + a, d - b)
def g (x: f64): f64 = f64.sqrt x + x ** 1.5
def after (a: i32, b: i32) (c: i32, d: i32): (i32, i32) = (a * c, b * c + d)
entry main [n] (xs: [n]i32) (ys: [n]f32) (k: i64): ([n]i32, [n]f32, i32, f64, []i32, i64) =
  let (a, b) = unzip (map2 f xs ys)
  let (c, d) = f (reduce (+) 0 a) (f32.sum b)
  let (e, _) = f c d
  let bins = reduce_by_index (replicate 4 0) i32.max 0 (map (\\x -> i64.i32 (f x 3).0 % 4) xs) a
  let (_, sums) = unzip (scan after (1, 0) (map (\\x -> (x, 1)) xs))
  let m = i64.i32 (f (i32.i64 k) 4).0 % 5
  let zs = map (\\i -> (f (i32.i64 i) 1).0 + i32.f64 (g (f64.i64 i))) (iota (i64.abs m))
  let rows = map (\\x -> i64.sum (map (\\i -> i64.i32 (f (x + i32.i64 i) 1).0) (iota 40))) xs
  let e = e + bins[0] + i32.sum sums
  in (a, map (\\y -> (f 7 y).1) b, e, g (f64.f32 d) + g 2.5, zs, i64.sum rows)
"""

LARGE = """
def q0 (l: f64) (m: f64): f64 = l * m + l + m
def step (x: f64) (y: f64): (f64, f64) =
  let a = f64.sin x + f64.cos y
  let b = a * a + x
  let c = if b > 1 then b / 2 else b + a
  let (d, e) = loop (d, e) = (c, a) for i < 3 do (d * e + f64.i32 i, f64.tan d - e)
  let g = d * d + e * e
  let h = f64.exp (- g) + g * a + c
  let k = h * h * h + e / (1 + h * h)
  let l = if k < h then f64.log (1 + k * k) else k * g
  let m = (l + a) * (l - a) + (k + b) * (k - b)
  let n = m / (1 + m * m) + f64.atan2 l m
  let p = if n > l then (n + l) * k else (n - l) * h
  let q = (p + m) * (p - n) + (l + k) * (p * q0 l m)
  let r = if q < p then q * p + n else q - p * m
  let s = f64.sqrt (r * r + q * q) + f64.abs p
  in (s * r + q, s - r * p)
def twice (x: f64) (y: f64): (f64, f64) = let (x, y) = step x y in step y x
def four (x: f64) (y: f64): (f64, f64) = let (x, y) = twice x y in twice y x
def many (x: f64) (y: f64): (f64, f64) =
  let (x, y) = four x y let (x, y) = four y x let (x, y) = four x y in four y x
entry main (xs: []f64) = map (\\x ->
  let (a, b) = many x x let (a, b) = many a b let (a, b) = many b a let (a, b) = many a b
  let (a, b) = many a b let (a, b) = many b a let (a, b) = many a b let (a, b) = many b a
  in a + b) xs
"""


@pytest.fixture
def all_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every function stays that can."""
    lowest = {inline.PROGRAM: 0, inline.LEAST: 1, inline.COPIES: 0}
    monkeypatch.setattr(Options, "limit", lambda _, of: lowest.get(of, of.usual))
    monkeypatch.setattr(inline, "_LARGE", 0)


def agree(work: Compilation, *inputs: list[Value], entry: str = "main") -> None:
    """All stages and machines say the same as the first, of each input."""
    code = plain(work.result("c").text)
    for args in inputs:
        wanted = interp.run(work.result("soa").prog, entry, args)
        for stage in ("simplified", "fused", "flat", "merged"):
            assert same(interp.run(work.result(stage).prog, entry, args), wanted), stage
        assert same(value.run(work.result("fused").prog, entry, args), wanted)
        assert same(heap.run(work.result("merged").prog, entry, args)[0], wanted)
        assert same(imp_interp.run(work.result("imp").prog, entry, args), wanted)
        for cores in (1, 2):
            settings = runner.Settings(cores=cores, flags=("-O1",))
            assert same(runner.run_c(code, entry, args, settings=settings).values, wanted)
        for version in kernels.VERSIONS:
            made = kernels.compiled(work.source, version)
            found = kernel_interp.run(made.result("kernels").prog, entry, args)
            kernels.same(found, wanted, version)
            kernels.same(kernels.observed(made, entry, args, "ascending"), wanted, version)


def applies(work: Compilation, stage: str) -> int:
    return sum(len(re.findall(r"\bapply\b", line.text)) for line in work.result(stage).text)


@pytest.mark.usefixtures("all_stay")
def test_functions_in_kernels_operators_loops_and_on_the_host() -> None:
    work = Compilation(EVERYWHERE, Options(verify=True))
    assert applies(work, "merged") > 8
    rng = np.random.default_rng(1)
    agree(
        work,
        *(
            [
                rng.integers(-9, 9, n, dtype=np.int32),
                rng.random(n, dtype=np.float32),
                np.int64(n + 3),
            ]
            for n in (0, 1, 5, 33)
        ),
    )


@pytest.mark.usefixtures("all_stay")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples(path: Path) -> None:
    work = Compilation(path.read_text("utf-8"), Options(verify=True))
    for case, args in blocks.given(path, work.result("soa").prog, 500):
        wanted = interp.run(work.result("soa").prog, case.entry, args)
        assert same(imp_interp.run(work.result("imp").prog, case.entry, args), wanted)
        kernels_prog = work.result("kernels").prog
        kernels.same(kernel_interp.run(kernels_prog, case.entry, args), wanted)


@pytest.mark.usefixtures("all_stay")
@pytest.mark.parametrize("seed", range(5100, 5106))
def test_generated_programs(seed: int) -> None:
    made = program(seed, 8)
    agree(Compilation(made.source, Options(verify=True)), made.inputs)


def test_a_large_function_stays_where_its_copies_would_be_many() -> None:
    work = Compilation(LARGE, Options(verify=True))
    assert [fun.entry for fun in work.result("simplified").prog.funs] == [False, True]
    remarks = [r for r in work.remarks() if r.rule == "simplify/keep-function"]
    because = "`twice` is not inlined: that would make 64 copies of its 34 statements."
    assert [r.because for r in remarks] == [because]
    assert plain(work.result("c").text).count("static inline void twice") == 1
    assert plain(work.result("cuda").text).count("__device__ inline void twice") == 1
    copied = Compilation(LARGE, Options(disabled=frozenset(("simplify/keep-function",))))
    assert applies(copied, "simplified") == 0
    assert len(copied.result("imp").text) > 10 * len(work.result("imp").text)
    xs = np.linspace(-1, 1, 5)
    found = runner.run_c(plain(work.result("c").text), "main", [xs]).values
    assert same(found, interp.run(work.result("soa").prog, "main", [xs]))


@pytest.mark.usefixtures("all_stay")
def test_a_function_that_nothing_applies_any_more_is_removed() -> None:
    source = """
def inner (x: i32) = let y = x + 1 in y * y
def outer (x: i32) = let y = inner x ^ inner (x * 3) in y * y
def used (x: i32) = let y = x * 3 in y * y
entry main (x: i32) = let (_, z) = (outer (x + 1) + outer x, used x + used (x + 1)) in z
entry other (x: i32) (y: i32) = let z = outer (x ^ y) + outer y in used x + z - z
"""
    work = Compilation(source, Options(verify=True))
    kept = [base_of(fun.name) for fun in work.result("simplified").prog.funs]
    assert kept == ["used", "main", "other"]
    agree(work, [np.int32(5)])
    agree(work, [np.int32(5), np.int32(7)], entry="other")


def test_small_programs_have_no_functions() -> None:
    assert applies(Compilation(EVERYWHERE), "simplified") == 0


@pytest.mark.usefixtures("all_stay")
@pytest.mark.parametrize("fuel", [0, 1, 5, 20])
def test_any_number_of_rewrites_is_right(fuel: int) -> None:
    work = Compilation(EVERYWHERE, Options(verify=True, fuel=fuel))
    args = [np.arange(3, dtype=np.int32), np.ones(3, np.float32), np.int64(2)]
    assert same(
        interp.run(work.result("merged").prog, "main", args),
        interp.run(work.result("soa").prog, "main", args),
    )


@pytest.mark.usefixtures("all_stay")
def test_the_text_of_each_stage_reads_back() -> None:
    work = Compilation(EVERYWHERE)
    for stage in ("simplified", "flat", "merged"):
        prog = without_prov(work.result(stage).prog)
        assert parse(show_text(prog)) == prog
    imp = plain(work.result("imp").text)
    assert plain(imp_printer.show(imp_parser.parse(imp))) == imp
    assert "apply (" in imp
    host = plain(work.result("kernels").text)
    assert plain(kernel_printer.show(kernel_parser.parse(host))) == host


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("x_1 / 2i32)", ""),
        ("2i32 / x_1)", "may fail"),
    ],
)
def test_what_may_fail_is_not_applied(body: str, told: str) -> None:
    text = (
        f"fun f_7 (x_1: i32) : (r_2: i32) =\n  in ({body}\n"
        "entry main (x_3: i32) : (r_4: i32) =\n  let (y_5: i32) = apply f_7(x_3)\n  in (y_5)\n"
    )
    if not told:
        verify(parse(text), forms.NESTED, "simplified")
        return
    with pytest.raises(CompilerBug, match=told):
        verify(parse(text), forms.NESTED, "simplified")


@pytest.mark.usefixtures("all_stay")
@pytest.mark.parametrize(
    "fails",
    [
        "assert (x > 3) x",
        "1 / x",
        "#[unsafe] (([1, 2, 3])[x])",
        "(loop x while x < 9 do x + 1)",
    ],
)
def test_functions_that_may_fail_or_run_for_ever_are_copied(fails: str) -> None:
    source = (
        f"def f (x: i64): i64 = let y = {fails} in y * y + x\nentry main (x: i64) = f x + f (x + 1)"
    )
    work = Compilation(source, Options(verify=True))
    assert applies(work, "simplified") == 0
