"""Several neighbouring points for each thread: at all sizes, from any cell on, by 16 bytes."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.base.dtypes import DTYPE
from compiler.base.text import plain
from compiler.codegen.imp.parts import statements
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.wide import MANY
from compiler.driver.pipeline import Compilation
from compiler.explain.accesses import report
from compiler.explain.predictions import predict
from compiler.runtime import listings
from compiler.runtime.cuda_arrays import DeviceArray, DeviceProgram
from compiler.runtime.device_process import Toolkit
from compiler.runtime.interface import INTERFACE
from compiler.runtime.observer import build
from compiler.runtime.observer.records import ORDERS, Observation, observe
from compiler.semantics import interp
from testing import compiling, kernel_interp
from testing.kernels import CUDA, same
from tests.codegen.helpers import compiled, needs_nvrtc, told
from tests.runtime.cuda_on_cpu import needs_cxx, results

RULE = "kernels/wide"
SIZES = (0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 255, 1023, 1024, 1025, 4099)
MAPS = {
    "saxpy": ("(xs: [n]f32) (ys: [n]f32)", "map2 (\\x y -> 2 * x + y) xs ys", 4),
    "doubles": ("(xs: [n]f64) (ys: [n]f64)", "map2 (\\x y -> x - 3 * y) xs ys", 2),
    "halves": ("(xs: [n]f16)", "map (* 2) xs", 8),
    "bytes": ("(xs: [n]u8)", "map (+ 1) xs", 16),
    "truths": ("(xs: [n]i32)", "map (> 4) xs", 4),
    "of two widths": ("(xs: [n]i8) (ys: [n]f64)", "map2 (\\x y -> f64.i8 x + y) xs ys", 2),
    "two results": ("(xs: [n]i32)", "unzip (map (\\x -> (x + 1, x * 2)) xs)", 4),
    "a number for all": ("(xs: [n]i32) (y: i32)", "map (\\x -> x * y + y) xs", 4),
    "one cell for all": ("(xs: [n]i32) (ys: [n]i32)", "map (+ (if n > 0 then ys[0] else 0)) xs", 4),
    "the index": ("(xs: [n]i64)", "map2 (+) xs (iota n)", 2),
    "no array": ("(y: i64)", "tabulate 999 (\\i -> i * y)", 2),
    "in place": ("(xs: *[n]i32)", "map (* 3) xs", 4),
    "from the second on": ("(xs: [n]i32)", "if n == 0 then [] else map (+ 1) (drop 1 xs)", 4),
    "from the second on, of two": (
        "(xs: [n]f32) (ys: [n]f32)",
        "if n == 0 then [] else map2 (+) (drop 1 xs) (take (n - 1) ys)",
        4,
    ),
    "of rows": ("(xss: [n][70]i32)", "map (map (+ 1)) xss", 4),
    "of rows with a row before": (
        "(xss: [n][70]i32)",
        "map (map (+ 1)) (drop (i64.min n 1) xss)",
        4,
    ),
}
FOLDS = {
    "sum": ("(xs: [n]i32)", "i32.sum xs", 4),
    "dot": ("(xs: [n]i64) (ys: [n]i64)", "i64.sum (map2 (*) xs ys)", 2),
    "most": ("(xs: [n]i16)", "i16.maximum xs", 8),
    "two at once": ("(xs: [n]i32)", "(i32.sum xs, i32.minimum (map (* 2) xs))", 4),
    "from the second on": ("(xs: [n]i32)", "i32.sum (drop (i64.min n 1) xs)", 4),
    "with indices": ("(xs: [n]i64)", "i64.sum (map2 (*) xs (iota n))", 2),
    "and what it is of": (
        "(xs: [n]i32)",
        "let ys = map (* 2) xs in (i32.sum ys, ys)",
        4,
    ),
}
PROGRAMS = {f"map: {name}": one for name, one in MAPS.items()} | {
    f"reduce: {name}": one for name, one in FOLDS.items()
}


def source_of(name: str) -> str:
    head, body, _ = PROGRAMS[name]
    return f"entry main [n] {head} = {body}".replace(" [n] (y: i64)", " (y: i64)")


def wide(source: str, least: int = 1) -> Compilation:
    return compiling.compiled(source, replace(CUDA, limits=((MANY.id, least),)))


def arguments(source: str, n: int) -> list[Any]:
    made = np.random.default_rng(n)
    out: list[Any] = []
    for shape, prim in re.findall(r": \*?((?:\[\w+\])*)(\w+)\)", source):
        sizes = [n if size == "n" else int(size) for size in re.findall(r"\w+", shape)]
        out.append(made.integers(0, 9, sizes).astype(DTYPE[prim]) if shape else DTYPE[prim].type(3))
    return out


def cells_at_once(work: Compilation) -> set[int]:
    """How many cells the kernels touch by one access."""
    found: set[int] = set()
    for fun in work.result("kernels").prog.funs:
        for stm in statements(fun.body):
            found |= {len(stm.names)} if isinstance(stm, k.Loads) else set()
            found |= {len(stm.values)} if isinstance(stm, k.Stores) else set()
    return found


def differs(work: Compilation, args: list[Any], seen: Observation) -> list[Any]:
    """The accesses whose costs are not those that were predicted."""
    text, prog = work.result("cuda").text, work.result("kernels").prog
    shapes, numbers = [np.shape(a) for a in args], [None if np.ndim(a) else a for a in args]
    predicted = predict(prog, text, "main", shapes, numbers)
    found = report(prog, text, predicted, seen)["accesses"]
    return [one for one in found if not one.get("agrees", bool(one["because"]))]


@needs_cxx
@pytest.mark.parametrize("name", PROGRAMS)
def test_any_number_of_points(name: str) -> None:
    """In all orders of threads without a fault, at the costs that were predicted."""
    source = source_of(name)
    work, meaning = wide(source), compiled(source).result("soa").prog
    assert max(cells_at_once(work)) == PROGRAMS[name][2]
    code = plain(work.result("cuda").text)
    for n in SIZES:
        args = arguments(source, n % 43 if "rows" in name else n)
        expected = interp.run(meaning, "main", [np.copy(a) for a in args])
        order = ORDERS[n % len(ORDERS)]
        same(results(observe(code, "main", args, order, records=False)), expected)
    args = arguments(source, 9 if "rows" in name else 515)
    expected = interp.run(meaning, "main", [np.copy(a) for a in args])
    seen = observe(code, "main", args)
    same(results(seen), expected)
    assert differs(work, args, seen) == []
    same(kernel_interp.run(work.result("kernels").prog, "main", args, 64, "random"), expected)


@needs_cxx
def test_cells_that_lie_together_take_one_request() -> None:
    code = plain(wide(source_of("map: saxpy")).result("cuda").text)
    seen = observe(code, "main", [np.ones(2048, np.float32)] * 2)
    assert [(site.size, site.requests, site.sectors) for site in seen.sites] == [(16, 16, 256)] * 3


def test_a_program_of_few_points_has_a_thread_for_each() -> None:
    source = source_of("map: saxpy")
    assert "if 100i64 <= n_" in plain(wide(source, 100).result("kernels").text)
    known = source.replace("[n] ", "").replace("[n]", "[99]")
    assert cells_at_once(wide(known, 100)) == set()
    assert cells_at_once(wide(known, 99)) == {4}


APART = {
    "a column": ("(xss: [n][n]i32)", "map (\\i -> xss[i, 0]) (iota n)"),
    "backwards": ("(xs: [n]i32)", "map (+ 1) (reverse xs)"),
    "every second": ("(xs: [n]i32)", "if n < 2 then [] else map (+ 1) xs[0:n:2]"),
    "a place that data tell": ("(xs: [n]i32) (is: [n]i64)", "map (\\i -> #[unsafe] xs[i]) is"),
    "a row for all": ("(xss: [n][n]i32) (ys: [n]i32)", "map (map2 (+) ys) xss"),
}


@pytest.mark.parametrize("name", APART)
def test_what_does_not_lie_together_has_a_thread_for_each_point(name: str) -> None:
    head, body = APART[name]
    work = wide(f"entry main [n] {head} = {body}")
    assert cells_at_once(work) == set()
    assert [how for how, _ in told(work, RULE)] in (["missed"], [])


def test_it_can_be_switched_off() -> None:
    for name in ("map: saxpy", "reduce: dot"):
        options = replace(wide(source_of(name)).options, disabled=frozenset([RULE]))
        assert cells_at_once(compiling.compiled(source_of(name), options)) == set()


class View:
    """An array of somebody else that begins at another cell of the device's."""

    def __init__(self, of: DeviceArray, cells: int) -> None:
        told = getattr(of, INTERFACE)
        address = told["data"][0] + cells * of.dtype.itemsize
        shape = (told["shape"][0] - cells,)
        self.of = of
        setattr(self, INTERFACE, told | {"data": (address, False), "shape": shape, "stream": None})


def laid(program: DeviceProgram, array: Any) -> DeviceArray:
    return DeviceArray(program.device.given(array), array.shape, array.dtype)


@needs_cxx
@pytest.mark.parametrize("name", ["map: saxpy", "map: halves", "reduce: dot"])
@pytest.mark.parametrize("first", range(5))
def test_arrays_of_others_may_begin_anywhere(name: str, first: int) -> None:
    toolkit = Toolkit(build.driver(), lambda text, *_: build.library(text))
    code = plain(wide(source_of(name)).result("cuda").text)
    program = DeviceProgram(code, toolkit=toolkit)
    source = source_of(name)
    meaning = compiled(source).result("soa").prog
    for n in (5, 6, 40, 1300):
        whole = arguments(source, n)
        starts = [first, 1][: len(whole)]
        shortest = n - max(starts)
        args = [one[at : at + shortest] for one, at in zip(whole, starts, strict=True)]
        given = [
            View(laid(program, one[: at + shortest]), at)
            for one, at in zip(whole, starts, strict=True)
        ]
        found = program.run("main", given)
        same(
            [v.get() if isinstance(v, DeviceArray) else v for v in found],
            interp.run(meaning, "main", args),
        )


@needs_nvrtc
@pytest.mark.parametrize("name", ["map: saxpy", "map: halves", "map: bytes", "reduce: sum"])
def test_an_instruction_takes_16_bytes(name: str) -> None:
    made = plain(listings.sass(wide(source_of(name)).result("cuda").text).text)
    assert "LDG.E.128" in made
    assert ("STG.E.128" in made) == name.startswith("map")
