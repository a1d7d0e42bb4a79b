"""Kernels with wide indices: what is equal to what, and what is asked of sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compiler.algebra.poly import Poly
from compiler.base.context import Options
from compiler.base.dtypes import DTYPE
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.ir import nodes as ir
from compiler.ir.scalar import apply_bin, convert
from compiler.parallel.wide_indices import LARGE, MOST, _Numbers
from compiler.runtime.runner import Settings, run_c
from tests.codegen.helpers import needs_cc

STENCIL = (
    "entry main [n][m] (xs: [n][m]i32) =\n"
    "  tabulate_2d n m (\\i j -> let (i, j) = (i32.i64 i, i32.i64 j)\n"
    "    in if i == 0 || i == i32.i64 n - 1 || j == 0 || j == i32.i64 m - 1 then xs[i, j]\n"
    "       else xs[i - 1, j] + xs[i + 1, j] + xs[i, j - 1] + xs[i, j + 1])"
)


def stage(source: str, name: str, **options: Any) -> str:
    return plain(Compilation(source, Options(**options)).result(name).text)


def test_a_stencil_of_narrow_indices_has_no_checks_while_sizes_are_small() -> None:
    text = stage(STENCIL, "flat")
    assert text.count("<= 1073741824i64") == 2
    first = text[: text.index("    else\n")]
    assert "assert" not in first.split("segmap")[1].split("segmap")[0]
    assert "assert" in text
    assert "1073741824" not in stage(STENCIL, "flat", disabled=frozenset(("widen/indices",)))


def test_neighbouring_cells_are_neighbours_in_c() -> None:
    assert "#pragma omp simd" in stage(STENCIL, "c")
    assert "#pragma omp simd" not in stage(STENCIL, "c", disabled=frozenset(("widen",)))


NAMED = (
    "entry main [n][m] (xs: [n][m]i32) =\n"
    "  let (k, l) = (i32.i64 n, i32.i64 m)\n"
    "  in tabulate_2d n m (\\i j -> let (i, j) = (i32.i64 i, i32.i64 j)\n"
    "    in if i >= 1 && i <= k - 2 && j >= 1 && j <= l - 2\n"
    "       then xs[i - 1, j] + xs[i + 1, j] + xs[i, j - 1] + xs[i, j + 1] else xs[i, j])"
)


def test_sizes_made_narrow_before_the_kernel_are_known() -> None:
    first = stage(NAMED, "flat").split("segmap")[1].split("else\n")[0]
    assert "assert" not in first


def test_a_loop_and_a_size_together_are_an_i32() -> None:
    source = (
        "entry main [n] (xs: *[n]i32) =\n"
        "  loop xs for m < n do tabulate n (\\j ->\n"
        "    if j > m then 0 else let k = i32.i64 (m - j + 1) in xs[k - 1])"
    )
    first = stage(source, "flat").split("segmap")[1].split("segmap")[0]
    assert "assert" not in first


def test_it_says_so() -> None:
    work = Compilation(STENCIL, Options())
    work.result("flat")
    assert "widen/indices" in {remark.rule for remark in work.remarks()}


@pytest.mark.parametrize(
    "body",
    [
        "xs[i32.i64 i * 2147483647]",  # cut off
        "xs[i32.i64 i + 1]",  # the last index is below 2^30, and its neighbour fits
        "xs[i32.i64 (i * 3)]",  # three times an index below 2^30 may not fit
    ],
)
def test_what_could_be_cut_off_stays(body: str) -> None:
    text = stage(f"entry main [n] (xs: [n]i32) = tabulate n (\\i -> {body})", "flat")
    assert ("1073741824i64" in text) == ("+ 1" in body)


@needs_cc
def test_stencils_of_all_sizes() -> None:
    text = stage(STENCIL, "c")
    for n, m in ((0, 0), (0, 3), (1, 1), (1, 5), (2, 2), (3, 3), (5, 40)):
        xs = np.random.default_rng(1).integers(-9, 9, (n, m), dtype=np.int32)
        wanted = xs.copy()
        if n > 2 and m > 2:
            wanted[1:-1, 1:-1] = xs[:-2, 1:-1] + xs[2:, 1:-1] + xs[1:-1, :-2] + xs[1:-1, 2:]
        (found,) = run_c(text, "main", [xs], settings=Settings(flags=("-O1",))).values
        assert np.array_equal(found, wanted)


INDEX, SIZE = ir.Var("i_1", "i64"), ir.Var("n_2", "i64")
LEAVES = st.one_of(
    st.just(ir.Conv("i64", "i32", INDEX)),
    st.just(ir.Conv("i64", "i32", SIZE)),
    st.just(ir.Conv("i64", "i32", ir.Bin("-", "i64", SIZE, INDEX))),
    st.sampled_from((0, 1, -1, 2, MOST, -MOST - 1)).map(lambda k: ir.Lit(k, "i32")),
)
NARROW = st.recursive(
    LEAVES,
    lambda inner: st.tuples(st.sampled_from("+-*"), inner, inner).map(
        lambda t: ir.Bin(t[0], "i32", t[1], t[2])
    ),
    max_leaves=4,
)


def value(se: ir.SE, env: dict[str, int]) -> Any:
    match se:
        case ir.Var(name, _):
            return np.int64(env[name])
        case ir.Lit(number, prim):
            return DTYPE[prim].type(number)
        case ir.Conv(src, dst, arg):
            return convert(src, dst, value(arg, env))
        case ir.Bin(op, at, lhs, rhs):
            return apply_bin(op, at, value(lhs, env), value(rhs, env))
    raise AssertionError(se)


@given(
    NARROW, NARROW, st.sampled_from((1, 2, 3, LARGE - 1, LARGE)), st.sampled_from((0, 1, 2, LARGE))
)
def test_what_becomes_wide_is_the_same_number(a: ir.SE, b: ir.SE, size: int, at: int) -> None:
    """At the borders: sizes up to 2^31 - 1, indices up to one less."""
    body = ir.KernelBody((), (), ())
    kernel = ir.SegMap("grid", ir.SegSpace(((INDEX.name, Poly.var(SIZE.name)),)), body)
    numbers = _Numbers(kernel, {})
    env = {INDEX.name: min(at, size - 1), SIZE.name: size}
    for se in (ir.Conv("i32", "i64", a), ir.Bin("<", "i32", a, b)):
        assert value(numbers.wide(se), env) == value(se, env)
