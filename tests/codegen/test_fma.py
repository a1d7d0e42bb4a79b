"""Products and sums that are rounded once: kernels say where, and all that run them do the same."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.base.dtypes import DTYPE
from compiler.base.text import plain
from compiler.codegen.kernels.fma import FMA
from compiler.codegen.kernels.wide import WIDE
from compiler.driver.pipeline import Compilation
from compiler.runtime.observer.records import ORDERS, observe
from compiler.semantics import interp
from testing import compiling, kernel_interp
from testing.kernels import CUDA, EACH_ROUNDS, each_rounds
from tests.codegen.helpers import compiled, told
from tests.runtime.cuda_on_cpu import needs_cxx, results

PROGRAMS = {
    "a sum": ("map2 (\\x y -> x * y + x) xs ys", 1),
    "a product on the right": ("map2 (\\x y -> y + x * x) xs ys", 1),
    "a difference": ("map2 (\\x y -> x * y - y) xs ys", 1),
    "from something": ("map2 (\\x y -> x - y * y) xs ys", 1),
    "of two products": ("map2 (\\x y -> x * x - y * y) xs ys", 1),
    "a name for it": ("map2 (\\x y -> let t = x * y in if x > y then t + 1 else x) xs ys", 1),
    "a polynomial": ("map2 (\\x y -> ((x * y + 3) * y - x) * y + 0.5) xs ys", 3),
    "a sum of products": ("[$.sum (map2 (*) xs ys)]", 1),
    "in a loop": ("map2 (\\x y -> loop s = x for i < 9i32 do s * y + $.i32 i) xs ys", 1),
    "used twice": ("map2 (\\x y -> let t = $.sqrt x * y in (t + x) / t) xs ys", 0),
    "no sum": ("map2 (\\x y -> x * y * y) xs ys", 0),
    "lerp and mad": ("map2 (\\x y -> $.lerp x y 0.3 + $.mad x y y) xs ys", 0),
}


def work_of(name: str, at: str, *off: str) -> Compilation:
    body = PROGRAMS[name][0].replace("$", at)
    source = f"entry main [n] (xs: [n]{at}) (ys: [n]{at}): []{at} = {body}"
    return compiling.compiled(source, replace(CUDA, disabled=frozenset(off)))


def inputs(at: str, n: int) -> list[Any]:
    made = np.random.default_rng(n)
    found = [made.uniform(0.1, 3, n).astype(DTYPE[at]) for _ in range(2)]
    if n > 5:
        found[0][:4] = [0.0, np.inf, np.nan, 1 + 2.0**-9]
    return found


def bits(values: Sequence[Any]) -> list[Any]:
    return [np.where(np.isnan(v), np.nan, v).tobytes() for v in values]


@needs_cxx
@pytest.mark.parametrize("at", ["f32", "f64", "f16"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_all_that_run_kernels_round_alike(name: str, at: str) -> None:
    """Bit for bit; and near what each operation rounded by itself comes to."""
    work = work_of(name, at, WIDE.id)
    code, kernels = plain(work.result("cuda").text), work.result("kernels").prog
    text = plain(work.result("kernels").text)
    most = PROGRAMS[name][1] if at != "f16" else 0
    assert ("fma(" in text) == bool(most)
    assert set(re.findall(r"\bfmaf?\(", code)) == (
        {"fmaf(" if at == "f32" else "fma("} if most else set()
    )
    for n in (0, 1, 7, 300):
        args = inputs(at, n)
        found = results(observe(code, "main", args, ORDERS[n % 3], records=False))
        assert bits(found) == bits(kernel_interp.run(kernels, "main", args, 256, "random"))
        with np.errstate(all="ignore"):
            expected = interp.run(compiled(work.source).result("soa").prog, "main", args)
        apart = kernel_interp.run(kernels, "main", args, 256, more=EACH_ROUNDS)
        observed = results(observe(each_rounds(code), "main", args, records=False))
        if "sum of products" in name:  # in another order
            tolerance = {"f16": 2e-2, "f32": 2e-5, "f64": 1e-12}[at]
            np.testing.assert_allclose(apart[0], expected[0], rtol=tolerance, atol=tolerance)
            assert bits(observed) == bits(apart)
        else:
            assert bits(observed) == bits(apart) == bits(expected)


def random_float(rng: random.Random, at: str, depth: int) -> str:
    """Return a random expression of `x` and `y`, mostly of sums and products."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(("x", "y", "x", "y", f"{rng.choice(LITERALS)}{at}"))
    one, other = (random_float(rng, at, depth - 1) for _ in range(2))
    match rng.randrange(10):
        case 0:
            return f"({at}.neg ({one}))"
        case 1:
            return f"(let t = {one} * {other} in {random_float(rng, at, depth - 1)} + t - y)"
        case 2:
            return f"(if {one} < {other} then {one} * x else {other} - y * x)"
        case 3:
            return f"({at}.{rng.choice(OPERATORS)} ({one}) ({other}))"
        case 4:
            return f"(loop a = {one} for _i < 3i32 do a * y - {other})"
    return f"({one} {rng.choice('++--***')} {other})"


OPERATORS = ("min", "max")
LITERALS = ("0", "1", "0.1", "3e-30", "1e30", "0.3333333")
BORDERS = (0.0, -0.0, np.inf, -np.inf, np.nan, 1 + 2.0**-12, 1e-40, -1e-320, 1.5e38, 1e-38)


@needs_cxx
@pytest.mark.parametrize("at", ["f32", "f64"])
@pytest.mark.parametrize("seed", range(6))
def test_random_expressions_of_borders_are_the_reference_s_but_for_what_is_fused(
    seed: int, at: str
) -> None:
    """Fused, all that run them agree; rounded apart, they are what the program means."""
    rng = random.Random(f"{seed} {at}")
    bodies = ", ".join(random_float(rng, at, 5) for _ in range(4))
    source = (
        f"entry main [n] (xs: [n]{at}) (ys: [n]{at}) = unzip4 (map2 (\\x y -> ({bodies})) xs ys)"
    )
    work = compiling.compiled(source, CUDA)
    code, kernels = plain(work.result("cuda").text), work.result("kernels").prog
    assert "fma" in code
    pairs = [(a, b) for a in BORDERS for b in (*BORDERS, *(rng.uniform(-2, 2) for _ in range(4)))]
    with np.errstate(all="ignore"):
        args: list[Any] = [np.array(one, DTYPE[at]) for one in zip(*pairs, strict=True)]
        expected = interp.run(compiled(source).result("soa").prog, "main", args)
    fused = results(observe(code, "main", args, "random", records=False))
    assert bits(fused) == bits(kernel_interp.run(kernels, "main", args, 64, "random"))
    apart = results(observe(each_rounds(code), "main", args, records=False))
    assert bits(apart) == bits(kernel_interp.run(kernels, "main", args, 64, more=EACH_ROUNDS))
    assert bits(apart) == bits(expected)


def test_it_is_told_where_and_can_be_switched_off() -> None:
    work = work_of("a polynomial", "f32", WIDE.id)
    assert [kind for kind, _ in told(work, FMA.id)] == ["applied"]
    (because,) = [remark.because for remark in work.remarks() if remark.rule == FMA.id]
    assert "rounded once" in because
    assert told(work_of("no sum", "f32"), FMA.id) == []
    assert "fma" not in plain(work_of("a sum", "f32", FMA.id).result("cuda").text)


def test_a_line_of_a_product_that_moves_is_linked_with_the_sum() -> None:
    source = "entry main (xs: []f32) =\n  map (\\x ->\n let t = x * 0.3\n in t + 1) xs"
    text = compiled(source, "cuda").result("cuda").text
    (line, *_) = (one for one in text if "fmaf(" in one.text)
    assert {span.line for span in line.src} >= {3, 4}


def test_of_wide_points_each_is_fused() -> None:
    text = plain(work_of("a sum", "f32").result("kernels").text)
    assert text.count("fma(") == 4 + 1 + 1  # of a thread with four points, of its rest, of one each
