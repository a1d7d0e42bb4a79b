"""Tiles of more points for each thread: where, that they mean the same, what they take."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from compiler.base.text import plain
from compiler.codegen.kernels.large_tiles import BUSY
from compiler.driver.pipeline import Compilation
from compiler.explain.accesses import report
from compiler.explain.predictions import predict
from compiler.runtime import listings
from compiler.runtime.observer.records import ORDERS, observe
from compiler.semantics import interp
from testing import compiling, kernel_interp
from testing.kernels import same
from tests.codegen.helpers import compiled, needs_nvrtc, told
from tests.runtime.cuda_on_cpu import needs_cxx, results
from tests.runtime.test_tiles import PRODUCT, TILED, numbers, tiled

RULE = "kernels/large-tiles"


def large(source: str, tiles: int = 1) -> Compilation:
    """A program whose tiles are large from so many on."""
    return compiling.compiled(source, replace(tiled(source).options, limits=((BUSY.id, tiles),)))


@needs_cxx
@pytest.mark.parametrize("name", [name for name in TILED if name != "bodies"])
def test_large_tiles_mean_the_same_without_faults_and_cost_what_was_predicted(name: str) -> None:
    source, shapes, kind, _ = TILED[name]
    work = large(source)
    applied = [how for how, _ in told(work, RULE)] == ["applied"]
    args: list[Any] = [numbers(kind, *shape) for shape in shapes]
    expected = interp.run(compiled(source).result("soa").prog, "main", list(args))
    text, prog = work.result("cuda").text, work.result("kernels").prog
    for order in ORDERS[1:]:
        same(results(observe(plain(text), "main", args, order, records=False)), expected)
    seen = observe(plain(text), "main", args)
    same(results(seen), expected)
    assert any("large" in kernel for kernel, _ in seen.launches) == applied
    predicted = predict(prog, text, "main", [np.shape(a) for a in args], [None] * len(args))
    found = report(prog, text, predicted, seen)["accesses"]
    assert [one for one in found if not one.get("agrees", bool(one["because"]))] == []


def test_as_many_points_as_registers_hold() -> None:
    said = {name: told(large(source), RULE) for name, (source, *_) in TILED.items()}
    assert "takes 8 by 8 points" in said["product"][0][1]
    assert "takes 8 by 4 points" in told(large(PRODUCT.replace("f32", "f64")), RULE)[0][1]
    how, says = said["the nearest coordinate, and which"][0]
    assert (how, "do not fit its registers" in says) in {("missed", True), ("applied", False)}
    assert said["bodies"] == []


@needs_cxx
@pytest.mark.parametrize("m", [0, 1, 16, 17])
def test_sizes_at_the_borders_of_large_tiles(m: int) -> None:
    code = plain(large(PRODUCT).result("cuda").text)
    for n, p in ((31, 128), (32, 32), (127, 129), (128, 128), (257, 33), (0, 40)):
        args = [numbers("f4", n, m), numbers("f4", m, p, seed=6)]
        seen = observe(code, "main", args, "random", records=False)
        np.testing.assert_array_equal(results(seen)[0], args[0] @ args[1])
        assert (min(n, p) >= 32) == any("large" in kernel for kernel, _ in seen.launches)


@needs_cxx
def test_fewer_tiles_than_keep_a_gpu_busy_stay_small() -> None:
    code = plain(large(PRODUCT, 3).result("cuda").text)
    for n, kernel in ((256, "tiled"), (257, "large")):
        args = [numbers("f4", n, 3), numbers("f4", 3, 128, seed=6)]
        seen = observe(code, "main", args, records=False)
        np.testing.assert_array_equal(results(seen)[0], args[0] @ args[1])
        assert any(kernel in name for name, _ in seen.launches)
    # and of sizes that the text tells, one is left
    known = PRODUCT.replace("[n][m][p]", "")
    for sizes in ("[n][m]", "[m][p]", "[n][p]"):
        known = known.replace(sizes, "[64][64]")
    assert "_large" not in plain(large(known, 3).result("cuda").text)
    assert "_tiled" not in plain(large(known, 1).result("cuda").text)


@pytest.mark.parametrize("order", ORDERS)
def test_each_schedule_of_threads_means_the_same(order: kernel_interp.Order) -> None:
    args = [numbers("f4", 33, 2), numbers("f4", 2, 65)]
    prog = large(PRODUCT).result("kernels").prog
    same(kernel_interp.run(prog, "main", args, 4, order), [args[0] @ args[1]])


def test_it_can_be_switched_off() -> None:
    options = replace(large(PRODUCT).options, disabled=frozenset([RULE]))
    text = plain(compiling.compiled(PRODUCT, options).result("cuda").text)
    assert "_tiled" in text
    assert "_large" not in text


@needs_nvrtc
@pytest.mark.parametrize("prim", ["f32", "f64"])
def test_points_lie_in_registers_and_those_down_are_read_at_once(prim: str) -> None:
    """As many numbers of a column as an instruction reads; and two blocks of threads fit."""
    made = listings.sass(large(PRODUCT.replace("f32", prim)).result("cuda").text)
    (use,) = (one for one in made.kernels if one.kernel.endswith("_large"))
    assert use.spilled == 0
    assert use.blocks == 2
    text = plain(made.text)
    assert "LDS.128" in text[text.index(use.kernel) :]
