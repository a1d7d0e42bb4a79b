"""Indices of 32 bits: where they are, that their bounds hold, and what a launch chooses."""

from __future__ import annotations

import re
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_
from compiler.base.text import plain
from compiler.codegen.cuda.program import split
from compiler.codegen.cuda.runtime import INDEX
from compiler.runtime import cuda_device, device_process, listings
from compiler.runtime.cuda_arrays import DeviceProgram
from compiler.runtime.device_process import Toolkit, run_cuda
from compiler.runtime.observer import build, records
from compiler.runtime.observer.records import observe
from compiler.semantics import interp
from testing import kernels
from testing.kernels import same
from tests.codegen.helpers import compiled, needs_nvrtc
from tests.runtime.cuda_on_cpu import needs_cxx, results

RULE = "cuda/narrow"
SHIFTED = """
entry main [n] (xs: [n]i64) (k: i64) (m: i64): ([n]i64, [n]i64) =
  (map (\\i -> xs[i - k] * (i - k) * i) (map (+ k) (iota n)),
   tabulate n (\\i -> (if i > 2 then -i else i + 1) * i * m + i64.i32 (i32.i64 i * 70000) / 3))
"""


def watched(code: str, args: list[Any]) -> tuple[list[Any], list[bool]]:
    """Results, and for each attempt whether its indices had 64 bits."""
    tried = []
    kept = records.run

    def run(*given: Any, **named: Any) -> Any:
        tried.append(named["wide"])
        return kept(*given, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "run", run)
        return results(observe(code, "main", args, records=False)), tried


# --- which names -----------------------------------------------------------------------------


def test_indices_are_narrow_and_data_is_not() -> None:
    code = plain(compiled(SHIFTED, "cuda").result("cuda").text)
    assert "const index_t n_" in code
    assert "const int64_t m_" in code
    assert "* ((int64_t)" in code
    assert "most=256 + abs(k_" in code
    source = "entry main [n] (xs: [n]i64) (is: [n]i64) = map (\\i -> xs[i * 2]) is"
    gathered = plain(compiled(source, "cuda").result("cuda").text)
    assert "const int64_t i_" in gathered  # it is loaded: nothing bounds it


def test_it_is_told_and_can_be_switched_off() -> None:
    work = compiled(SHIFTED, "cuda", disabled=frozenset({"kernels/wide"}))
    work.result("cuda")
    told = [one for one in work.remarks() if one.rule == RULE]
    assert [one.kind for one in told] == ["applied"] * 2
    assert "32 bits" in told[0].because
    off = plain(compiled(SHIFTED, "cuda", disabled=frozenset({RULE})).result("cuda").text)
    assert "index_t" not in off
    assert "most=" not in off


# --- the border ------------------------------------------------------------------------------


@needs_cxx
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("over", [-1, 0, 1])
def test_a_launch_whose_bound_reaches_2_to_the_31_takes_64_bits(over: int, sign: int) -> None:
    n = 40 + over % 2  # 256 + n + 2 k is the bound
    k = (2**31 - 256 - n + over) // 2
    assert 256 + n + 2 * k == 2**31 + over
    args = [np.arange(n), np.int64(k * sign), np.int64(3)]
    code = plain(compiled(SHIFTED, "cuda").result("cuda").text)
    found, tried = watched(code, args)
    assert tried == ([False] if over < 0 else [False, True])
    same(found, interp.run(compiled(SHIFTED).result("soa").prog, "main", args))


@needs_cxx
@pytest.mark.parametrize("k", [0, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63), -(2**31)])
@pytest.mark.parametrize("n", [0, 1, 33, 257])
def test_sums_and_bounds_that_do_not_fit_into_64_bits(k: int, n: int) -> None:
    """Also where `i + k` wraps, and where the bound would."""
    args = [np.arange(n), np.int64(k), np.int64(2**40 + 1)]
    code = plain(compiled(SHIFTED, "cuda").result("cuda").text)
    found, tried = watched(code, args)
    assert tried[-1] == (n > 0 and k != 0)
    same(found, interp.run(compiled(SHIFTED).result("soa").prog, "main", args))


@pytest.mark.parametrize(
    "source",
    [
        "entry main [n][m] (a: [n][m][3]u8): [3][n][m]u8 = copy (transpose (map transpose a))",
        "entry main [n][m] (a: [n][m][3]u8): [3][m][n]u8 ="
        " copy (map transpose (transpose (map transpose a)))",
        "entry main [n][m] (a: [n][m]i32): [m][n]i32 = copy (transpose a)",
        "entry main [n][m] (a: [n][m][3]u8) = map (map (map (+ 1))) a",
    ],
)
def test_the_first_of_several_indices_is_no_larger_than_its_size(source: str) -> None:
    """So that an array needs 64 bits where its cells do, and not for far fewer."""
    host = split(plain(compiled(source, "cuda").result("cuda").text))[1]
    launches = re.findall(r"most=(.*)\)\(", host)
    names = set(re.findall(r"\b[nm]_\d+", " ".join(launches)))
    assert launches
    assert len(names) == 2

    def most(size: int) -> int:
        env = dict.fromkeys(names, size) | {"i64": int, "quot": lambda a, b: a // b}
        return max(int(eval(text, env)) for text in launches)

    assert most(8_000) < 2**31
    assert most(50_000) >= 2**31, "cells that are 2^31 from the first"


def test_short_segments_are_numbered_with_32_bits() -> None:
    source = "entry main [n][m] (a: [n][m]i32): [n]i32 = map i32.sum a"
    text = plain(compiled(source, "cuda").result("cuda").text)
    (kernel,) = re.findall(r"__global__ void reduce_\d+_rows\((.*?)\n}\n", text, re.DOTALL)
    assert "const index_t segment = point / (index_t)lanes_0;" in kernel
    assert "quot_i64" not in kernel


DIVIDED = """
entry main [n] (xs: [n]i64) (k: i64): [n]i64 =
  tabulate n (\\i ->
    xs[(i % k) % n] + xs[i / k % n] * 3 + xs[(-i // k + -i %% k) % n] * 5)
"""


@needs_cxx
@pytest.mark.parametrize("k", [1, -1, 7, -7, 2**30, 2**31, -(2**31), 2**63 - 1, -(2**63)])
def test_indices_are_divided_with_32_bits(k: int) -> None:
    code = plain(compiled(DIVIDED, "cuda").result("cuda").text)
    kernel = code.partition("__global__")[2].partition("\n}\n")[0]
    for name in ("mod", "div", "quot", "rem"):
        assert f"{name}_index(" in kernel
        assert f"{name}_i64(" not in kernel
    for n in (0, 1, 2, 33, 300):
        args = [np.arange(n), np.int64(k)]
        found, tried = watched(code, args)
        same(found, interp.run(compiled(DIVIDED).result("soa").prog, "main", args))
        assert tried[-1] == (n > 0 and abs(k) >= 2**31)


def test_what_depends_on_data_is_divided_with_64_bits_and_the_rest_is_narrow() -> None:
    source = "entry main [n] (xs: [n]i64) = map (\\x -> xs[x * x % n]) xs"
    text = plain(compiled(source, "cuda").result("cuda").text)
    assert "mod_i64(x_" in text
    assert "mod_index" not in text


def test_a_tile_compares_places_with_32_bits() -> None:
    source = """
entry main [n][m] (a: [n][m]f32): [n][m]f32 =
  tabulate_2d n m (\\i j -> a[i, j] + a[(i + 1) % n, j] + a[i, (j + 1) % m])
"""
    text = plain(compiled(source, "cuda").result("cuda").text)
    tile = text.partition("_stencil(")[2].partition("\n}\n")[0]
    assert "_window[" in tile
    assert "int64_t" not in tile.replace("int64_t *failure", "")


def test_no_launch_with_a_bound_of_2_to_the_31_is_made_with_32_bits() -> None:
    device = object.__new__(cuda_device.Device)
    device.wide, device.kernels = False, {}
    device.about, device.module = {"kernels": {"map": []}}, 1
    device.launches = []
    device.failure = 0  # type: ignore[assignment]
    device.gpu = Mock(watches=False)
    for most in (2**31, 2**63, 2**64, 10**30):
        with pytest.raises(cuda_device.TooWide):
            device.launch("map", points=1, most=most)()
    assert not device.gpu.launch.called
    device.launch("map", points=1, most=2**31 - 1)()
    device.launch("map", points=0, most=2**40)()  # nothing runs
    device.wide = True
    device.launch("map", points=1, most=2**40)()
    assert device.gpu.launch.call_count == 2


@needs_cxx
def test_runs_that_need_64_bits_begin_anew() -> None:
    """In a process of their own, watched there, and on arrays that lie on the device."""
    code = plain(compiled(SHIFTED, "cuda").result("cuda").text)
    args = [np.arange(33), np.int64(2**40), np.int64(-3)]
    expected = interp.run(compiled(SHIFTED).result("soa").prog, "main", args)
    toolkit = Toolkit(build.driver(), lambda kernels, *_: build.library(kernels))
    same(run_cuda(code, "main", args, toolkit=toolkit).values, expected)
    same(results(device_process.observe(code, "main", args)), expected)
    program = DeviceProgram(code, toolkit=toolkit)
    near = [args[0], np.int64(2), args[2]]
    for given in (near, args, near):
        found = [v.get() for v in program.run("main", given)]  # type: ignore[union-attr]
        same(found, interp.run(compiled(SHIFTED).result("soa").prog, "main", given))


# --- bounds hold -----------------------------------------------------------------------------

PROGRAMS = {
    "scan and filter": "entry main (xs: []i32) = (scan (+) 0 xs, filter (> 3) xs)",
    "rows": "entry main [n][m] (a: [n][m]i32) = (map i32.sum a, map (scan (+) 0) a)",
    "columns": "entry main [n][m] (a: [n][m]i32) = map i32.sum (transpose a)",
    "products": (
        "entry main [n][m] (a: [n][m]i32) = map (\\r -> map (\\s -> i32.sum (map2 (*) r s)) a) a"
    ),
    "histogram": (
        "entry main [n] (xs: [n]i32) = reduce_by_index (replicate 40 0) (+) 0"
        " (map (\\x -> i64.i32 x % 40) xs) xs"
    ),
    "divided": (
        "entry main [n] (xs: [n]i32) = tabulate n (\\i -> xs[(i - 5) % n]"
        " + xs[(i * 2 + 9) % n] * 3 + xs[i / (n / 7 + 1)] + xs[i %% (n / 3 + 1)])"
    ),
    "around": (
        "entry main [n][m] (a: [n][m]i32) = tabulate_2d n m (\\i j -> a[i, j]"
        " + a[(i + 1) % n, j] * 3 + a[(i - 1) % n, j] * 5 + a[i, (j + 1) % m] * 7)"
    ),
    "flat": "entry main [n][m] (a: [n][m]i32) = flatten (map (map (* 2)) (reverse a))",
    "in place": (
        "entry main [n] (xs: *[n]i32) = loop xs for i < 5 do"
        " xs with [i * (n / 5):(i + 1) * (n / 5)] = map (+ 1) xs[i * (n / 5):(i + 1) * (n / 5)]"
    ),
}


@needs_cxx
@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("all_parallelism", [False, True])
def test_bounds_hold(name: str, all_parallelism: bool) -> None:
    """With indices of 16 bits, and launches that take them below 2^15, small sizes are borders."""
    source = PROGRAMS[name]
    version = "grid" if all_parallelism else "outer"
    code = plain(kernels.compiled(source, version).result("cuda").text)
    assert INDEX in code
    narrow = code.replace(INDEX, kernels.TINY_INDEX)
    chosen = set()
    is_flat = "[m]" not in source
    sizes = (0, 1, 33, 255, 256, 257, 1025, 3000, 8191, 33000)
    shapes: list[tuple[int, ...]] = [(n,) for n in sizes]
    if not is_flat:
        shapes = [(0, 3), (1, 1), (33, 7), (35, 33), (3, 1025), (300, 33), (170, 180), (2, 17000)]
        shapes = [one for one in shapes if name != "products" or one[0] < 180 > one[1]]
    for shape in shapes:
        args = [np.random.default_rng(1).integers(0, 9, shape).astype("i4")]
        with kernels.tiny_indices():
            found, tried = watched(narrow, [args[0].copy()])
        chosen.add(tried[-1])
        same(found, interp.run(compiled(source).result("soa").prog, "main", args))
    assert chosen == {False, True} or name == "products"


@needs_cxx
def test_a_failed_check_tells_narrow_numbers_whole() -> None:
    source = "entry main [n] (xs: [n]i64) (k: i64) = tabulate n (\\i -> xs[i * k])"
    code = plain(compiled(source, "cuda").result("cuda").text)
    for k in (7, 2**33, -1):
        with pytest.raises(RuntimeError_, match=rf"Index \[{k}\] out of bounds"):
            watched(code, [np.arange(2), np.int64(k)])


# --- what it is worth ------------------------------------------------------------------------


@needs_nvrtc
def test_fewer_instructions_and_no_more_registers() -> None:
    source = "entry main [n][m] (a: [n][m]f32) = map (map (* 2)) (reverse a)"
    uses = []
    for off in ({RULE}, set[str]()):
        work = compiled(source, "cuda", disabled=frozenset(off))
        (use,) = listings.sass(work.result("cuda").text).kernels
        uses.append(use)
    assert uses[1].instructions < uses[0].instructions
    assert uses[1].registers <= uses[0].registers
