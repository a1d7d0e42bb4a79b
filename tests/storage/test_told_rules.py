"""Remarks about memory that a single statement asks for: each rule with a program of its own."""

from __future__ import annotations

import pytest

from compiler.driver.pipeline import Compilation, Options

PROGRAMS = {
    "memory/array-operator": (
        "entry main [n] (xs: [n][4]i32) =\n"
        " scan (\\a b -> let c = map2 (+) a b in map (+ c[0]) c) (replicate 4 0) xs",
        "combines whole arrays",
    ),
    "memory/concat": (
        "entry main (xs: [3]i32) (ys: [4]i32) = xs ++ ys",
        "gets its own block",
    ),
    "memory/row": (
        "entry main [n][m] (xss: [n][m]i32) =\n"
        " map (\\xs -> loop ys = copy xs for i < m do ys with [i] = ys[i] + 1) xss",
        "in its own memory",
    ),
    "memory/update": (
        "entry main (xs: *[9]i32) (ys: [3]i32) =\n"
        " let zs = scan (+) 0 ys in (xs with [0:3] = zs, zs)",
        "Copies `zs` from where it was built to its place in `xs`.",
    ),
    "memory/double-buffer": (
        "entry main [n][m] (xss: [n][m]i32) =\n"
        " map (\\xs -> loop ys = xs for i < 5 do scan (+) i (reverse ys)) xss",
        "is a loop parameter inside a kernel",
    ),
    "shortcircuit/in-place-map": (
        "entry main [n] (xs: *[n]f32) = map (\\x -> x * 2) xs",
        "overwrites `xs`",
    ),
}


@pytest.mark.parametrize("rule", PROGRAMS)
def test_a_program_that_is_told_of_it(rule: str) -> None:
    source, because = PROGRAMS[rule]
    work = Compilation(source, Options(verify=True))
    work.result("merged")
    assert any(because in r.because for r in work.remarks() if r.rule == rule)
