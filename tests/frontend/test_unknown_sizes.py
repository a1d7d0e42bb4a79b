"""Sizes that only a run knows: how errors name them, and results in which nobody uses them."""

from __future__ import annotations

import re

import numpy as np
import pytest

from compiler.driver.pipeline import Compilation
from compiler.driver.worker import answer
from compiler.semantics import interp

HEAD = "entry main [n] [m] (xs: [n]i64) (ys: [n]i64) (g: [m][n]i64) = "
USES = {
    "an argument": ("map2 (+) (filter (> 0) xs) ys", "filter"),
    "a pipe": ("xs |> filter (> 0) |> map2 (+) ys", "filter"),
    "a value bound": ("let zs: [n]i64 = filter (> 0) xs in zs", "filter"),
    "a part": ("let (a, b) = partition (> 0) xs in map2 (+) a b", "partition"),
    "an update": ("copy xs with [0:] = filter (> 0) xs", "filter"),
    "an element": ("[filter (> 0) xs, xs]", "filter"),
    "a row": ("map2 (map2 (+)) [filter (> 0) xs] [xs]", "filter"),
    "of a map": ("zip (map (+ 1) (filter (> 0) xs)) xs", "filter"),
    "of a scan": ("zip (scan (+) 0 (filter (> 0) xs)) xs", "filter"),
    "of a prelude's function": ("zip (indices (filter (> 0) xs)) xs", "filter"),
    "of a sort": ("zip (radix_sort 64 i64.get_bit (filter (> 0) xs)) xs", "filter"),
    "a histogram": ("reduce_by_index (replicate 3 0) (+) 0 (filter (> 0) xs) xs", "filter"),
}
OWN = {
    "a function": ("def keep [n] 'a (p: a -> bool) (xs: [n]a) = filter p xs\n", "keep (> 0)"),
    "another name": ("def keep = filter\n", "keep (> 0)"),
    "of a module": ("module keep = { def keep = filter (> 0i64) }\n", "keep.keep"),
}


def said(source: str) -> str:
    """The whole error: its message, what stands beside other places, and its hint."""
    told = answer({"op": "check", "source": source})
    assert not told["ok"]
    assert told["error"]["code"] == "Z001"
    return str(told["error"])


@pytest.mark.parametrize("use", USES)
def test_a_size_is_that_of_what_the_user_calls(use: str) -> None:
    text, called = USES[use]
    error = said(HEAD + text + "\n")
    assert f"is made by `{called}` here." in error
    quoted = {word for part in re.findall(r"`([^`]*)`", error) for word in re.findall(r"\w+", part)}
    assert "count" not in quoted


@pytest.mark.parametrize("use", OWN)
def test_a_size_of_an_own_function_is_that_of_its_call(use: str) -> None:
    before, call = OWN[use]
    error = said(f"{before}{HEAD}zip ({call} xs) ys\n")
    assert f"is made by `{call.split()[0]}` here." in error
    assert "by `filter`" not in error


UNUSED = """\
def pick (x: i64): (([]i64, []i32), i64) =
  ((iota x, map i32.i64 (iota (x * x))), x + 1)
def through (x: i64) = let (_, y) = pick x in y
def kept (x: i64): ?[k].([k]i64, i64) = (iota x, 2 * x)
module counter: {
  type~ t
  val start: i64 -> t
  val read: t -> i64
} = {
  type~ t = ?[k].([k]i64, i64)
  def start (x: i64): t = (iota x, x)
  def read (t: t) = t.1
}
"""
BODIES = {
    "a projection": ("(pick x).1", 6),
    "a pattern": ("let (((_: []i64), _), s) = pick x in s", 6),
    "a function": ("through x + (kept x).1", 16),
    "a function as a value": ("let f = pick in (f x).1", 6),
    "points": ("i64.sum (map (\\i -> (kept i).1) (iota x))", 20),
    "a loop": ("loop s = 0 for i < x do s + (pick i).1", 15),
    "a branch": ("(if x > 3 then pick x else pick 0).1", 6),
    "an abstract type": ("counter.read (counter.start x)", 5),
}


@pytest.mark.parametrize("use", BODIES)
def test_an_unknown_size_that_nobody_uses_is_accepted(use: str) -> None:
    body, wanted = BODIES[use]
    work = Compilation(f"{UNUSED}entry main (x: i64): i64 = {body}\n")
    for stage in ("soa", "simplified", "merged"):
        (found,) = interp.run(work.result(stage).prog, "main", [np.int64(5)])
        assert found == wanted
    work.result("c")


def test_a_size_that_no_value_determines_is_refused() -> None:
    source = "def f (x: i64): ?[k].i64 = x\nentry main (x: i64): i64 = f x\n"
    told = answer({"op": "check", "source": source})
    assert told["error"]["code"] == "Z002"
