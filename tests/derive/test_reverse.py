"""Reverse mode gives what numbers give that know where they come from, at every stage and in C."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.errors import Limitation
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.ir.nodes import Array, Map
from compiler.ir.walk import all_stms
from compiler.runtime import runner
from compiler.semantics import interp, value
from testing.compiling import compiled
from tests.derive.helpers import close

SOURCE = Path(__file__).with_name("reverse.fut").read_text("utf-8")
F = np.float64
XS, YS = np.array([3, 1, 2], F), np.array([0.5, -2, 3], F)
IS = np.array([2, 0, 2], np.int64)
INPUTS: dict[str, tuple[Any, ...]] = {
    "arithmetic": (F(2.5), F(1.5)),
    "numbers": (F(2.5), np.int64(7)),
    "branches": (F(1.5), YS),
    "sums": (F(1.5),),
    "loops": (F(1.5), np.int64(3)),
    "in_place": (XS, F(0.5)),
    "nested_loops": (XS, F(0.5)),
    "maps": (XS, F(2)),
    "nests": (XS, np.arange(6, dtype=F).reshape(3, 2), F(0.5)),
    "loops_in_maps": (XS, IS),
    "rows": (np.arange(9, dtype=F).reshape(3, 3), np.array([1, 2])),
    "matrices": (np.arange(6, dtype=F).reshape(2, 3), np.arange(12, dtype=F).reshape(3, 4)),
    "folds": (XS, YS),
    "fold_around": (XS, F(0.5)),
    "scans": (XS, YS),
    "histograms": (IS, XS, np.array([0.5, 1], F)),
    "scatters": (np.array([2, -1, 2]), XS, np.array([1, 2, 3, 4], F)),
    "views": (XS, np.arange(6, dtype=F).reshape(2, 3)),
    "accumulators": (IS, XS, YS),
    "nested": (F(0.5), F(1.5)),
    "mixed": (XS,),
    "third": (F(0.5),),
    "many": (XS,),
    "empty": (np.int64(0),),
    "extremes": (F(0),),
    "ties": (np.array([2, 1, 2, 1], F),),
    "unused": (F(1), F(2)),
    "shared": (np.array([0, 0, 1]), XS, np.array([0, 2], F)),
    "half": (np.float16(1.5),),
    "one_row": (XS,),
    "one_row_of_two": (XS,),
    "one_row_and_all": (np.zeros(0),),
    "nearest": (np.arange(8, dtype=F).reshape(4, 2), np.array([[1, 0.5], [3, 4], [9, 9]], F)),
}


@pytest.fixture(scope="module")
def work() -> Compilation:
    return compiled(SOURCE, Options(verify=True))


@pytest.mark.parametrize("entry", INPUTS)
def test_it_means_what_numbers_mean_that_know_their_parents(work: Compilation, entry: str) -> None:
    args = INPUTS[entry]
    expected = value.run(work.result("soa").prog, entry, args)
    for stage in ("soa", "ad", "fused", "merged"):
        found = interp.run(work.result(stage).prog, entry, args)
        assert close(found, expected), f"{stage}: {found} and not {expected}"


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
def test_c_gives_the_same(work: Compilation) -> None:
    text = plain(work.result("c").prog)
    for entry, args in INPUTS.items():
        expected = value.run(work.result("soa").prog, entry, args)
        found = runner.run_c(text, entry, args).values
        assert close(found, expected), f"{entry}: {found} and not {expected}"


TAIL = (
    "def f (n: i64) (x: f64) (y: f64): f64 = if n == 0 then y else f (n - 1) x (x * y)\n"
    "entry main (x: f64) (n: i64): f64 = vjp (\\x -> f n x 1) x 1"
)
SCATTERED = (
    "entry main (xs: []f64) (d: [3]f64) =\n"
    "  vjp (\\d -> scatter_stream (copy d) (\\(acc: *acc ([3]f64)) x -> write acc 0 x) xs) d d"
)


@pytest.mark.parametrize(
    ("source", "because"),
    [
        ("entry main x = vjp f64.gamma x 1", "The derivative of `gamma`"),
        (SCATTERED, "Reverse mode supports only accumulators that add"),
    ],
)
def test_what_cannot_be_derived_is_refused_at_its_place(source: str, because: str) -> None:
    with pytest.raises(Limitation, match=because) as refused:
        Compilation(source).result("ad")
    assert refused.value.hint
    assert refused.value.span is not None


def test_a_function_that_calls_itself_is_a_loop_first() -> None:
    work = compiled(TAIL, Options(verify=True))
    for stage in ("ad", "merged"):
        (found,) = interp.run(work.result(stage).prog, "main", [F(3), np.int64(4)])
        assert found == 4 * 3**3


def test_adjoints_have_the_places_of_what_they_belong_to() -> None:
    work = compiled("entry main (xs: []f64) = vjp (\\ys -> f64.sum (map f64.sin ys)) xs 1")
    (fun,) = work.result("ad").prog.funs
    maps = [stm for stm in fun.body.stms if isinstance(stm.exp, Map)]
    assert maps
    assert all(44 <= span.col <= 57 for stm in maps for span in stm.prov[:1])


PRODUCT = (
    "entry main [n] [m] [k] (a: [n][m]f64) (b: [k][m]f64) s =\n"
    "  vjp (\\(a, b) -> map (\\r -> map (\\c -> f64.sum (map2 (*) r c)) b) a) (a, b) s"
)


def test_the_slopes_of_a_product_of_matrices_are_products() -> None:
    """Nothing of three dimensions is in memory: `ad/sum-inside`."""

    def ranks(options: Options) -> set[int]:
        work = compiled(PRODUCT, options)
        return {
            p.type.rank
            for fun in work.result("flat").prog.funs
            for stm in all_stms(fun.body.stms)
            for p in stm.pat
            if isinstance(p.type, Array)
        }

    assert max(ranks(Options())) == 2
    assert max(ranks(Options(disabled=frozenset(("ad/sum-inside",))))) == 3


SCALED = PRODUCT.replace("f64.sum (map2 (*) r c)", "FUN (3 * f64.sum (map2 (*) r c))")


@pytest.mark.parametrize(
    ("fun", "most"),
    [("2 *", 2), ("(\\x -> x * (x + 1)) <|", 3), ("f64.exp <| f64.sin <|", 3)],
    ids=["cheap", "of-the-whole", "costly"],
)
def test_few_scalars_of_a_row_are_computed_for_each_sum(fun: str, most: int) -> None:
    """Where they are all that the inner map needs: a product that is scaled is one still."""
    source = SCALED.replace("FUN", fun)
    work, other = (
        compiled(source, Options(disabled=frozenset(off))) for off in ((), ("ad/sum-inside",))
    )
    ranks = {
        p.type.rank
        for fun in work.result("flat").prog.funs
        for stm in all_stms(fun.body.stms)
        for p in stm.pat
        if isinstance(p.type, Array)
    }
    assert max(ranks) == most
    rng = np.random.default_rng(1)
    args = [rng.random((2, 3)), rng.random((4, 3)), rng.random((2, 4))]
    found, expected = (interp.run(one.result("fused").prog, "main", args) for one in (work, other))
    assert close(found, expected)


def test_what_is_derived_is_told_at_its_place() -> None:
    work = compiled("entry main (x: f64) = 1 + vjp (\\y -> y * y) x 1")
    work.result("ad")
    (told,) = [remark for remark in work.remarks() if remark.rule == "ad/reverse"]
    assert told.at[0].col == 27


def test_behind_a_minimum_the_function_is_derived_at_one_row() -> None:
    source = (
        "entry main (xs: []f64) ="
        " vjp (\\ys -> f64.minimum (map (\\y -> f64.sum (map (* y) ys)) ys)) xs 1"
    )
    for off in (frozenset[str](), frozenset(("ad/one-row",))):
        work = compiled(source, Options(disabled=off))
        (found,) = interp.run(work.result("fused").prog, "main", [np.array([1, 2, 3], F)])
        assert found.tolist() == [7, 1, 1]
        told = {(remark.rule, remark.kind) for remark in work.remarks()}
        assert (("ad/one-row", "applied") in told) == (not off)
