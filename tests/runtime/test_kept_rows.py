"""Elements of a row that a thread keeps in registers between traversals of the row."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from compiler.base.dtypes import DTYPE
from compiler.base.text import plain
from compiler.codegen.kernels.parser import parse
from compiler.codegen.kernels.printer import show
from compiler.codegen.kernels.verify import verify
from compiler.driver.pipeline import Compilation
from compiler.driver.targets import target_named
from compiler.explain.accesses import report
from compiler.explain.predictions import predict
from compiler.runtime import listings
from compiler.runtime.observer.records import ORDERS, Observation, observe
from compiler.semantics import interp
from testing import kernel_interp
from testing.kernels import observed, thresholds
from tests.codegen.helpers import compiled, needs_nvrtc, told
from tests.runtime.cuda_on_cpu import needs_cxx, results

RULE = "kernels/kept-rows"
ROWS = "entry main [n][m] (a: [n][m]f32) = map (\\r -> "
PROGRAMS = {
    "softmax": ROWS + "let most = f32.maximum r let e = map (\\x -> f32.exp (x - most)) r"
    " let s = f32.sum e in map (/ s) e) a",
    "layer norm": ROWS + "let k = f32.i64 m let mean = f32.sum r / k"
    " let v = f32.sum (map (\\x -> (x - mean) * (x - mean)) r) / k"
    " in map (\\x -> (x - mean) / f32.sqrt (v + 1e-5)) r) a",
    "two rows": "entry main [n][m] (a: [n][m]i32) (b: [n][m]i32) = map2 (\\r q ->"
    " let s = i32.sum (map2 (*) r q) in map2 (\\x y -> x * s - y) r q) a b",
    "wide ones": "entry main [n][m] (a: [n][m]f64) ="
    " map (\\r -> let s = f64.maximum r in map (/ s) r) a",
    "bytes": "entry main [n][m] (a: [n][m]u8) = map (\\r -> let s = u8.maximum r in map (s -) r) a",
}
SHAPES = ((0, 3), (2, 0), (3, 1), (2, 31), (2, 257), (1, 2047), (1, 2048), (1, 2049), (2, 5000))


def work(source: str, *off: str) -> Compilation:
    """The version with a block of threads for each row."""
    chosen = thresholds(compiled(source, "cuda"), "block")
    return compiled(source, "cuda", disabled=frozenset(off), thresholds=chosen)


def text(source: str, *off: str) -> str:
    return plain(work(source, *off).result("cuda").text)


def given(source: str, shape: tuple[int, ...]) -> list[Any]:
    made = np.random.default_rng(sum(shape))
    prims = re.findall(r": \[n\]\[m\](\w+)\)", source)
    return [made.integers(1, 100, shape).astype(DTYPE[prim]) for prim in prims]


def bits(found: Any) -> list[bytes]:
    return [np.asarray(one).tobytes() for one in found]


def loaded(seen: Observation) -> int:
    """Elements that lanes read from global memory."""
    return sum(s.visits for s in seen.sites if s.kind == "reads" and not s.shared)


@needs_cxx
@pytest.mark.parametrize("name", PROGRAMS)
def test_rows_of_any_length_give_the_same_bits(name: str) -> None:
    source = PROGRAMS[name]
    made = work(source)
    lowered, code = made.result("kernels"), plain(made.result("cuda").text)
    verify(lowered.prog, target_named("cuda"))
    assert plain(show(parse(plain(lowered.text)))) == plain(lowered.text)
    assert [kind for kind, _ in told(made, RULE)].count("applied") == 1
    other = text(source, RULE)
    assert "_row[" in code
    assert "_row[" not in other
    for number, shape in enumerate(SHAPES):
        args = given(source, shape)
        seen = observe(code, "main", args, ORDERS[number % 3])
        found = bits(results(seen))
        before = observe(other, "main", args)
        assert found == bits(results(before))
        if all(shape) and shape[1] <= 1024:
            assert len(seen.launches) == 1
            assert loaded(seen) < loaded(before)
        if 0 < shape[1] < 300:
            progs = lowered.prog, work(source, RULE).result("kernels").prog
            one, two = (bits(kernel_interp.run(p, "main", args, 32, "random")) for p in progs)
            assert one == two


@needs_cxx
@pytest.mark.parametrize("name", ["softmax", "layer norm"])
def test_each_element_is_loaded_once(name: str) -> None:
    source = PROGRAMS[name]
    times = {"softmax": 2, "layer norm": 3}[name]
    args = given(source, (3, 1000))
    once = loaded(observe(text(source), "main", args))
    assert once == 3000
    assert loaded(observe(text(source, RULE), "main", args)) == times * 3000


@needs_cxx
def test_what_is_behind_a_threads_first_elements_is_loaded_again() -> None:
    args = given(PROGRAMS["bytes"], (128, 2051))
    seen = observe(text(PROGRAMS["bytes"]), "main", args)
    assert len(seen.launches) == 1
    assert bits(results(seen)) == [(args[0].max(1)[:, None] - args[0]).tobytes()]
    assert loaded(seen) == 128 * (2051 + 3)


@needs_cxx
@pytest.mark.parametrize("name", ["softmax", "two rows"])
def test_what_it_costs_is_predicted(name: str) -> None:
    made = work(PROGRAMS[name])
    code, prog = made.result("cuda").text, made.result("kernels").prog
    for shape in ((3, 100), (2, 5000)):
        args = given(PROGRAMS[name], shape)
        seen = observe(plain(code), "main", args)
        results(seen)
        predicted = predict(prog, code, "main", [shape] * len(args), [None] * len(args))
        told_ = report(prog, code, predicted, seen)["accesses"]
        assert [one for one in told_ if not one.get("agrees")] == []


@needs_cxx
def test_indices_may_be_at_the_border_of_those_that_are_narrow() -> None:
    """Of 16 bits: the last of a thread's places is behind the row."""
    made = work(PROGRAMS["two rows"])
    for n, m in ((40, 800), (31, 1024), (1, 32767), (1, 1)):
        args = given(PROGRAMS["two rows"], (n, m))
        meant = interp.run(made.result("soa").prog, "main", args)
        assert bits(observed(made, "main", args, "random")) == bits(meant)


@needs_nvrtc
@pytest.mark.parametrize("name", ["softmax", "layer norm", "wide ones"])
def test_they_are_registers(name: str) -> None:
    told_ = plain(listings.sass(work(PROGRAMS[name]).result("cuda").text).text)
    assert not re.search(r"\b(STL|LDL)\b", told_)


def test_what_is_written_or_read_once_is_not_kept() -> None:
    for body in (
        "entry main [n][m] (a: [n][m]f32) = map (\\r -> f32.sum r) a",
        "entry main [n][m] (a: [n][m]f32) = map (\\r -> scan (+) 0 r) a",
        "entry main [n][m] (a: [n][m]i64) (b: [m]i64) ="
        " map (\\r -> let s = i64.sum r in map (+ s) b) a",
    ):
        assert "applied" not in [kind for kind, _ in told(work(body), RULE)]
