"""Products and sums that are rounded once: kernels say where, and all that run them do the same."""

from __future__ import annotations

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
from testing.kernels import CUDA
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
    asked = frozenset([FMA.id])
    return compiling.compiled(source, replace(CUDA, enabled=asked, disabled=frozenset(off)))


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
        tolerance = {"f16": 2e-2, "f32": 2e-5, "f64": 1e-12}[at]
        np.testing.assert_allclose(found[0], expected[0], rtol=tolerance, atol=tolerance)


def test_it_is_told_where_and_only_done_where_it_is_asked_for() -> None:
    work = work_of("a polynomial", "f32", WIDE.id)
    assert [kind for kind, _ in told(work, FMA.id)] == ["applied"]
    (because,) = [remark.because for remark in work.remarks() if remark.rule == FMA.id]
    assert "rounded once" in because
    assert told(work_of("no sum", "f32"), FMA.id) == []
    source = work_of("a sum", "f32").source
    assert "fma" not in plain(compiled(source, "cuda").result("cuda").text)


def test_of_wide_points_each_is_fused() -> None:
    text = plain(work_of("a sum", "f32").result("kernels").text)
    assert text.count("fma(") == 4 + 1 + 1  # of a thread with four points, of its rest, of one each
