"""Sorting by bits: `radix_sort` and its like of the prelude."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.base.dtypes import DTYPE
from compiler.base.errors import CompileError
from compiler.base.prim import BYTES, FLOATS, INTS
from compiler.base.text import plain
from compiler.runtime import runner
from compiler.runtime.observer.records import observe
from compiler.semantics import interp
from tests.codegen.helpers import all_thresholds, compiled, needs_cc
from tests.runtime.cuda_on_cpu import needs_cxx, results

CHUNK = 512
SIZES = (0, 1, 2, 3, 15, 16, 17, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK - 1, 2 * CHUNK + 1)
SORTED = {"i": "radix_sort_int", "u": "radix_sort", "f": "radix_sort_float"}


def source(at: str, sort: str = "") -> str:
    bit = f"{at}.get_bit"
    body = f"{sort or SORTED[at[0]]} {at}.num_bits {bit} xs"
    return f"entry main [n] (xs: [n]{at}): [n]{at} = {body}"


def numbers(at: str, n: int) -> np.ndarray:
    """All bit patterns, few ones often, with both ends; of floats all NaN, zeros, infinities."""
    made, dtype = np.random.default_rng(n), np.dtype(DTYPE[at])
    bits: np.ndarray = made.integers(0, 256, (n, BYTES[at]), np.uint8)
    bits[made.random(n) < 0.3] //= 85
    found = bits.reshape(-1).view(dtype)[:n].copy()
    if at[0] == "f":
        ends = [0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan, 1e-7, -1.0]
    else:
        ends = [np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1]
    for k, end in enumerate(ends[: n // 2]):
        found[k * 2] = end
    return found


def keys(xs: np.ndarray) -> np.ndarray:
    """Numbers without sign in the order that is wanted of others."""
    bits = xs.view(f"u{xs.itemsize}")
    top = bits.dtype.type(1 << (8 * xs.itemsize - 1))
    if xs.dtype.kind == "i":
        return bits ^ top
    return np.where(bits & top, ~bits, bits ^ top) if xs.dtype.kind == "f" else bits


def expected(xs: np.ndarray) -> bytes:
    return bytes(xs[np.argsort(keys(xs), kind="stable")].tobytes())


def bits(found: Any) -> bytes:
    return bytes(np.asarray(found).tobytes())


@needs_cc
@pytest.mark.parametrize("at", [*INTS, *FLOATS])
def test_every_type_at_the_borders_of_chunks(at: str) -> None:
    """NaN by their signs before and behind all others, -0 before 0, to the last bit."""
    work = compiled(source(at))
    code, soa = plain(work.result("c").text), work.result("soa").prog
    for n in SIZES:
        xs = numbers(at, n)
        assert bits(runner.run_c(code, "main", [xs]).values[0]) == expected(xs)
        if n in (0, 1, 17, CHUNK + 1):
            assert bits(interp.run(soa, "main", [xs])[0]) == expected(xs)


@needs_cxx
@pytest.mark.parametrize("at", ["u8", "i32", "f32", "f64"])
def test_chunks_are_sorted_by_a_block_of_threads(at: str) -> None:
    code = plain(compiled(source(at), "cuda").result("cuda").text)
    for n in (0, 1, CHUNK, CHUNK + 1, 5 * CHUNK + 3):
        xs = numbers(at, n)
        seen = observe(code, "main", [xs], "random", records=False)
        assert bits(results(seen)[0]) == expected(xs)


@needs_cxx
@pytest.mark.parametrize("most", [0, 1 << 40])
def test_other_code_versions_sort_as_well(most: int) -> None:
    text = source("u16")
    thresholds = all_thresholds(compiled(text, "cuda"), most)
    code = plain(compiled(text, "cuda", thresholds=thresholds).result("cuda").text)
    xs = numbers("u16", 2 * CHUNK + 7)
    assert bits(results(observe(code, "main", [xs], records=False))[0]) == expected(xs)


@needs_cc
def test_equal_ones_stay_in_their_order_and_bits_may_be_any_number() -> None:
    """What stands behind the last of them in its chunk never comes before it."""
    pairs = "radix_sort BITS (\\b (k, _) -> u8.get_bit b k) (zip ks (iota n))"
    for number in (1, 2, 3, 5, 8):
        body = pairs.replace("BITS", str(number))
        text = f"entry main [n] (ks: [n]u8): ([n]u8, [n]i64) = unzip ({body})"
        code = plain(compiled(text).result("c").text)
        for n in (1, 30, CHUNK + 1, 3 * CHUNK):
            ks = np.random.default_rng(n).integers(0, 256, n).astype(np.uint8)
            ks[-1] = 255
            order = np.argsort(ks & ((1 << number) - 1), kind="stable")
            found = runner.run_c(code, "main", [ks]).values
            np.testing.assert_array_equal(found[0], ks[order])
            np.testing.assert_array_equal(found[1], order)


def test_what_sorting_is_made_of_is_not_seen() -> None:
    with pytest.raises(CompileError, match="Unknown name `sort_chunk`"):
        compiled("entry main = sort_chunk").result("soa")
