"""Blocks that kernels only read are told so, and no block that the kernel may write."""

from __future__ import annotations

import re

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.pipeline import Compilation
from compiler.runtime.observer.records import observe
from testing.kernels import same
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
    "two buffers in turn": (SHARED, [{"xs"}, set(), {"zs", "xs"}]),
}


ONCE = frozenset({"kernels/stencils"})
"""What makes a second kernel of a stencil is switched off."""


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
    assert [kind for kind, _ in told] == ["applied", "missed", "applied"]
    assert "`ys_mem` is read, and may be what it writes" in told[1][1]
    assert constant(SHARED, disabled=frozenset({"cuda/read-only"})) == [set()] * 3


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
