"""Warnings about what is slower than it looks, and none where it is not."""

from __future__ import annotations

import pytest

from compiler.base.context import Ctx, Options
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.frontend.check import check
from compiler.frontend.lint.slow import slow
from compiler.frontend.parser import parse


def told(source: str) -> list[str]:
    """The codes of the warnings, and where they are."""
    defs = check(parse(source), Ctx()).defs
    found = [w for d in defs if d.span.is_own for w in slow(d)]
    return [f"{w.code.id} {w.span.line}:{w.span.col}" for w in found]


SLOW = [
    ("entry f (x: i32) (y: i32) = reduce (+) 0 [x, y]", "W017 1:29"),
    ("entry f (x: f32) (y: f32) = x + f32.maximum [x, y]", "W017 1:33"),
    ("def f [n] (xs: [n][2]i32) = scan (\\a b -> [a[0] * b[1], b[0]]) [1, 1] xs", "W018 1:29"),
    ("def f (is: []i64) (xs: []u8) = hist (+) 0 9 is xs", "W019 1:32"),
    ("def f (h: *[]i16) (is: []i64) =\n  reduce_by_index h (+) 0 is (map i16.i64 is)", "W019 2:3"),
    ("def f [n] (s: [n](#a [2]i32 | #b [2]f32)) = length s", "W020 1:12"),
    ("def f [n] (k: i64) (xs: [n]i32) =\n let s = replicate k (#a xs : #a [n]i32 | #b [n]i8) in s",
     "W020 2:6"),
    ("entry f (xs: []i32) = loop s = 0 for x in xs do s + x", "W021 1:23"),
    ("entry f (xs: []f32) = loop s = 0 for x in xs do f32.max (x * 2) s", "W021 1:23"),
    ("entry f [n] (xs: [n]i32) =\n  loop (s, ys) = (0, replicate n 0) for i < n do\n"
     "    let s = s + xs[i] in (s, ys with [i] = s)", "W021 2:3"),
    ("entry f [n] (xs: [n]i32) =\n  loop (s, ys) = (0, replicate n 0) for i < n do\n"
     "    (s + xs[i], ys with [i] = s)", "W021 2:3"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), SLOW, ids=lambda x: str(x)[:60])
def test_what_is_slow_is_told(source: str, expected: str) -> None:
    assert told(source) == [expected]


QUICK = [
    "def f (x: i32) (y: i32) = reduce (+) 0 [x, y]",
    "entry f (xs: [](i32, i32)) = map (\\(x, y) -> reduce (+) 0 [x, y]) xs",
    "entry f (xs: []i32) = let g (x: i32) = i32.sum [x, 1] in map g xs",
    "entry f (x: i32) (y: i32) = scan (+) 0 [x, y]",
    "entry f (xs: []i32) (ys: []i32) = map i32.sum [xs[:2], ys[:2]]",
    "def f [n] (xs: [n][2]i32) = scan (map2 (+)) (replicate 2 0) xs",
    "def f [n] (xs: [n][2]i32) = scan (\\a b -> map2 (+) a b) [0, 0] xs",
    "def f [n][m] (xs: [n][m]i32) = reduce (\\a b -> [a[0]] ++ b[1:] :> [m]i32) (replicate m 0) xs",
    "def f (is: []i64) (xs: []u32) = hist (+) 0 9 is xs",
    "def f [n] (s: [n](#a [2]i32 | #b i32)) = length s",
    "def f [n] (s: #a [n]i32 | #b [n]f32) = match s case #a _ -> 1i32 case #b _ -> 2",
    "entry f (xs: []i32) = loop s = 0 for x in xs do s - x",
    "entry f (xs: []i32) = loop s = 0 for x in xs do s * 2 + x",
    "entry f (xs: [4]i32) = loop s = 0 for x in xs do s + x",
    "entry f (n: i64) = loop s = 0i64 for i < n do s + s",
    "entry f (n: i64) = loop s = 1i64 while s < n do s * 2",
    "def f (xs: []i32) = loop s = 0 for x in xs do s + x",
    "entry f (xss: [][]i32) = map (\\xs -> loop s = 0 for x in xs do s + x) xss",
    "entry f (xss: [][]i32) = loop s = 0 for xs in xss do s + i32.sum (map (+ 1) xs)",
    "entry f [n] (xs: [n]i32) = loop (s, ys) = (0, replicate n 0) for i < n do\n"
    "    let s = s + ys[i] in (s, ys with [i] = s)",
    "entry f [n] (xs: [n]i32) = loop (s, ys) = (0, replicate n 0) for i < n do\n"
    "    let s = s + xs[i] in (s, ys with [n - 1 - i] = s)",
    "entry f [n] (xs: [n]i32) = loop (s, ys) = (0, replicate n 0) for i < n do\n"
    "    let s = s + xs[i] in (s, ys with [i] = xs[i])",
]


@pytest.mark.parametrize("source", QUICK, ids=lambda x: str(x)[:60])
def test_nothing_is_told_of_the_others(source: str) -> None:
    assert told(source) == []


_LOCKED = "atomicCAS(lock"


def cuda(source: str) -> str:
    work = Compilation(source, Options(target="cuda"))
    return plain(work.result("cuda").prog)


@pytest.mark.parametrize("narrow", ["i8", "u8", "i16", "u16", "f16"])
def test_narrow_bins_take_locks_and_wide_ones_do_not(narrow: str) -> None:
    source = "entry f [n] (is: [n]i64) (xs: [n]T) = hist (+) 0 9 is xs"
    wide = "f32" if narrow == "f16" else f"{narrow[0]}32"
    assert _LOCKED in cuda(source.replace("T", narrow))
    assert _LOCKED not in cuda(source.replace("T", wide))


def test_a_few_numbers_start_kernels() -> None:
    assert "__global__" in cuda("entry f (x: i32) (y: i32) = reduce (+) 0 [x, y]")
    assert "__global__" not in cuda("entry f (x: i32) (y: i32) = x + y")
