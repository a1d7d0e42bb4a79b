"""Blocks that kernels only read are told so, and no block that the kernel may write."""

from __future__ import annotations

import re

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.codegen.cuda.program import emit
from compiler.codegen.kernels.nodes import Launch
from compiler.codegen.kernels.parser import parse
from compiler.codegen.kernels.read_only import read_only
from compiler.driver.pipeline import Compilation
from compiler.runtime.observer.records import observe
from testing.kernels import same
from tests.codegen.helpers import context
from tests.runtime.cuda_on_cpu import needs_cxx, results

SHARED = """
entry main [n] (xs: [n]f32) (k: i32) (b: bool): [n]f32 =
  let ys = if b then map (* 2) xs else xs
  let zs = loop ys for _i < k do map2 (+) ys (rotate 1 ys)
  in map2 (+) zs xs
"""
PROGRAMS = {
    "map": ("entry main [n] (xs: [n]f32) = map (* 2) xs", [{"xs"}]),
    "in place": ("entry main [n] (xs: *[n]f32) = map (* 2) xs with [0] = 1", [set()]),
    "update": ("entry main (xs: *[]f32) (ys: []f32) = xs with [0:2] = map (* 2) ys[0:2]", [{"ys"}]),
    "two buffers in turn": (SHARED, [{"xs"}, {"ys"}, {"zs", "xs"}]),
}


ONCE = frozenset({"kernels/stencils", "kernels/wide"})
"""What makes a second kernel is switched off."""


def constant(source: str, disabled: frozenset[str] = ONCE) -> list[set[str]]:
    work = Compilation(source, Options(target="cuda", disabled=ONCE | disabled))
    text = plain(work.result("cuda").text)
    heads = re.findall(r"__global__ void \w+\((.*)\) {", text)
    return [set(re.findall(r"const \w+ \*__restrict__ (\w+)_mem", head)) for head in heads]


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_only_read_is_constant(name: str) -> None:
    source, expected = PROGRAMS[name]
    assert [{name.split("_")[0] for name in one} for one in constant(source)] == expected


def test_it_is_told_and_can_be_switched_off() -> None:
    work = Compilation(SHARED, Options(target="cuda", disabled=ONCE))
    work.result("cuda")
    told = [(one.kind, one.because) for one in work.remarks() if one.rule == "cuda/read-only"]
    assert [kind for kind, _ in told] == ["applied"] * 3
    assert "`ys_mem` is only read, so loads may be reordered" in told[1][1]
    assert constant(SHARED, disabled=frozenset({"cuda/read-only"})) == [set()] * 3


HELD = """
entry main (n_1: i64, a_2: mem(i32), b_3: mem(i32)) -> (c_4: mem(i32)) {
  var x_5: mem(i32) = a_2
  if n_1 > 5i64 {
    x_5 <- %s
  }
  launch k_6 (n_1: i64, x_5: mem(i32), b_3: mem(i32)) in n_1 points {
    let %%point: i64 = %%place
    let v_7: i32 = b_3[%%point]
    x_5[%%point] <- v_7
  }
  return (x_5)
}
"""


@pytest.mark.parametrize(
    ("given", "kind", "says"),
    [
        ("a_2", "applied", "`b` is only read, so loads may be reordered"),
        ("b_3", "missed", "`b` is read, and may be what it writes"),
    ],
)
def test_what_may_be_the_same_block_is_not_constant(given: str, kind: str, says: str) -> None:
    ctx = context("cuda")
    text = plain(emit(parse(HELD % given), ctx))
    told = [(one.kind, one.because) for one in ctx.remarks if one.rule == "cuda/read-only"]
    assert [one for one, _ in told] == [kind]
    assert says in told[0][1]
    assert ("const int32_t *__restrict__ b_3" in text) is (kind == "applied")


def test_where_nobody_knows_nothing_is_constant_beside_what_is_written() -> None:
    (fun,) = parse(HELD % "a_2").funs
    (launch,) = (stm for stm in fun.body if isinstance(stm, Launch))
    assert read_only(launch.kernel, None) == (frozenset(), frozenset({"b_3"}))


ARGS = [np.arange(4, dtype=np.float32), np.int32(3), np.bool_(False)]


@needs_cxx
def test_the_observer_notices_a_constant_block_that_is_written() -> None:
    code = plain(Compilation(SHARED, Options(target="cuda")).result("cuda").text)
    doubled = ARGS[0]
    for _ in range(3):
        doubled = doubled + np.roll(doubled, -1)
    same(results(observe(code, "main", ARGS)), [doubled + ARGS[0]])
    wrong = re.sub(
        r"device\.launch\(\"(\w+)\"(.*), xs_mem(\w*), (\w+)\)$",
        r'device.launch("\1"\2, xs_mem\3, xs_mem\3)',
        code,
        flags=re.MULTILINE,
    )
    assert wrong != code
    said = {problem.says for problem in observe(wrong, "main", ARGS).problems}
    assert "a block that is taken to be constant may be written" in said
