"""Numbers that stay on the device: what programs mean, and how often the host waits."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.runtime.observer.records import ORDERS, observe
from compiler.semantics import interp
from testing import kernel_interp
from testing.gpu_calls import calls
from testing.kernels import same
from tests.codegen.helpers import compiled
from tests.runtime.cuda_on_cpu import needs_cxx, results

pytestmark = needs_cxx
RULE = "kernels/resident"


def text_of(source: str, *disabled: str) -> str:
    return plain(compiled(source, "cuda", disabled=disabled).result("cuda").text)


def words(args: list[Any]) -> list[Any]:
    return [np.asarray(a)[()] for a in args]


def waits(source: str, args: list[Any], *disabled: str) -> int:
    """How often the host waits before it copies results that are arrays."""
    return calls(text_of(source, *disabled), "main", words(args))["wait"] - 1


def agree(source: str, args: list[Any]) -> None:
    """All orders of threads, with and without the rule, give what the program means."""
    work, args = compiled(source, "cuda"), words(args)
    expected = interp.run(work.result("soa").prog, "main", list(args))
    same(kernel_interp.run(work.result("kernels").prog, "main", list(args)), expected)
    for order in ORDERS:
        same(results(observe(text_of(source), "main", args, order, records=False)), expected)
    same(results(observe(text_of(source, RULE), "main", args, records=False)), expected)


def work_of(source: str) -> Compilation:
    work = compiled(source, "cuda")
    work.result("kernels")
    return work


def told(source: str, kind: str) -> list[str]:
    return [r.because for r in work_of(source).remarks() if r.rule == RULE and r.kind == kind]


MEAN = """
entry main [n] (xs: [n]f32) (k: i64) =
  let xs = loop xs for _i < k do
    let m = f32.sum xs / f32.i64 n
    in map (\\x -> x - m + 1) xs
  in (xs, f32.sum xs)
"""
CARRIED = """
entry main [n] (xs: [n]i32) (k: i64): (i32, i32) =
  loop (a, b) = (0, k |> i32.i64) for i < k do
    let s = i32.sum (map (* (a + i32.i64 i)) xs)
    let t = i32.maximum (map (^ b) xs)
    in (a + s, if s > t then b else s / (i32.i64 i + 2))
"""
ONE_BY_ONE = """
entry main [n] (xs: *[n]i64) (k: i64) =
  let (ys, last) = loop (xs, last) = (copy xs, 7) for i < k do
    let x = xs[i % n]
    in if x > 3 then (xs with [(i + x) % n] = x - last, x) else (xs, last + 1)
  in (map (+ last) ys, last, replicate (last % 3 + 3) last)
"""
CHOSEN = """
entry main [n] (xs: [n]i64) (b: bool) =
  let best = i64.maximum xs
  let other = if b then (if best > 4 then best / 3 else i64.minimum xs) else best + 1
  in (map (\\x -> x - other) xs, map (\\x -> x + best) xs)
"""
KINDS = """
entry main [n] (xs: [n]f16) (ys: [n]u8) (zs: [n]bool) (ws: [n]f64) =
  let (x, y, z, w) = (f16.maximum xs, u8.sum ys, or zs, f64.minimum ws)
  in map4 (\\a b c d -> (a - x, b + y, c == z, d / w)) xs ys zs ws
"""
FILTER = "entry main (xs: []i32) = let ys = filter (> 3) xs in (ys, length ys, i32.sum ys)"
ROUNDS = """
entry main [n] (xs: [n]i32) =
  loop xs while i32.sum xs < 1000 do map (\\x -> x * 2 + 1) xs
"""
FOLLOWS = """
entry main [n] (xs: *[n]i64) (k: i64) =
  let a = xs[0]
  let b = a * 2 + k
  let c = b + xs[n - 1]
  let xs = xs with [1] = c - a
  let d = c ^ xs[1]
  let ys = map (+ d) xs
  let xs = xs with [n - 2] = ys[0] + b
  in (map (* c) xs, map (\\y -> if d > y then b else d) ys)
"""
LONG = """
entry main [n] (xs: [n]i64) (k: i64) =
  let (a, b) = loop (a, b) = (k, 1) for i < 20 do
    loop (a, b) = (a + i, b) for j < 20 do (if a % 3 == j % 3 then a / 2 else a * 3 + 1, b ^ a)
  in (map (+ b) xs, replicate (a % 5 + 5) b)
"""
NUMBERS = np.arange(-3, 40, dtype=np.int64)
CASES: dict[str, tuple[str, list[list[Any]]]] = {
    "mean": (MEAN, [[np.arange(n, dtype=np.float32), k] for n in (1, 300) for k in (0, 1, 3)]),
    "carried": (CARRIED, [[np.arange(n, dtype=np.int32), k] for n in (0, 40) for k in (0, 1, 5)]),
    "one by one": (ONE_BY_ONE, [[NUMBERS[:n].copy(), k] for n in (1, 43) for k in (0, 1, 50)]),
    "chosen": (CHOSEN, [[NUMBERS[:n], b] for n in (1, 7, 43) for b in (False, True)]),
    "kinds": (
        KINDS,
        [
            [
                np.linspace(-2, 3, n, dtype=np.float16),
                np.arange(n, dtype=np.uint8) * 7,
                np.arange(n) % 3 == 5,
                np.linspace(1, 9, n),
            ]
            for n in (0, 1, 300)
        ],
    ),
    "follows": (FOLLOWS, [[NUMBERS[:n].copy(), k] for n in (2, 43) for k in (-1, 3)]),
    "filter": (FILTER, [[np.arange(n, dtype=np.int32)] for n in (0, 3, 300)]),
    "many rounds": (LONG, [[NUMBERS[:n], k] for n in (0, 43) for k in (-7, 27)]),
    "rounds": (ROUNDS, [[np.arange(n, dtype=np.int32)] for n in (1, 300)]),
}


@pytest.mark.parametrize(
    ("source", "args"),
    [
        pytest.param(s, a, id=f"{name}-{at}")
        for name, (s, g) in CASES.items()
        for at, a in enumerate(g)
    ],
)
def test_programs_mean_the_same(source: str, args: list[Any]) -> None:
    agree(source, args)


@pytest.mark.parametrize(
    ("name", "rounds", "most", "before"),
    [
        ("mean", 10, 1, 11),
        ("carried", 10, 1, 10),
        ("one by one", 100, 2, 101),
        ("kinds", 0, 1, 2),
        ("follows", 0, 1, 4),
        ("filter", 0, 2, 2),
    ],
)
def test_the_host_waits_where_it_needs_a_number(
    name: str, rounds: int, most: int, before: int
) -> None:
    source, given = CASES[name]
    args = [*given[-1][:-1], np.int64(rounds)] if rounds else given[-1]
    found = waits(source, args), waits(source, args, RULE)
    assert found[0] <= most, found
    assert found[1] >= before, found


def test_a_wait_for_each_round_stays_where_a_loop_of_launches_depends_on_it() -> None:
    source, given = CASES["rounds"]
    assert waits(source, given[0]) > 5
    assert any("how often something is launched" in one for one in told(source, "missed"))
    grows = "entry main (xs: []i64) = replicate (i64.sum xs) 1i64"
    assert any("how much memory" in one for one in told(grows, "missed"))


def test_more_results_than_are_read_at_once() -> None:
    parts = ", ".join(f"i32.sum (map (+ {at}) xs)" for at in range(20))
    source = f"entry main (xs: []i32) = [{parts}]"
    agree(
        source.replace("[", "(").replace("]", ")").replace("()", "[]"),
        [np.arange(9, dtype=np.int32)],
    )
    agree(source, [np.arange(9, dtype=np.int32)])


def test_a_thread_runs_a_loop_of_many_rounds() -> None:
    """That may make the host wait, if it needs what comes of it; of few rounds it runs them."""
    host = "for i_"
    few = LONG.replace("20", "10")
    assert [host in text_of(source) for source in (LONG, few)] == [False, True]
    assert any("has many iterations" in one for one in told(LONG, "applied"))
    args = [NUMBERS, np.int64(3)]
    assert [waits(source, args) for source in (LONG, few)] == [2, 1]
    one = LONG.replace("replicate (a % 5 + 5) b", "map (* a) xs")
    assert waits(one, args) == waits(one, args, RULE)


OWN = """
entry main (n: i64) (k: i32) =
  let (a, b) = loop (a, b) = (1i64, 0i64) for _i < 1000 do (a * 3 % 1009, b + a)
  let xs = [b] ++ iota n
  in (xs with [0] = b % 7, a % 2 == i64.i32 k)
"""
FIRST_ROW = """
entry main (n: i64) = [loop x = 1i64 for i < 900 do (x * 5 + i) % 1013] ++ map (* 2) (iota n)
"""


def test_a_variable_that_one_launch_is_about_has_no_cell() -> None:
    """What a loop of a thread sets before it reads it, and nobody reads behind, is in no memory."""
    text = text_of(FIRST_ROW)
    assert "_there" not in text
    assert text.count("void numbers_") == 1, "with what it is for, behind a check of the host"
    for n in (0, 1, 300):
        agree(FIRST_ROW, words([n]))
    with_result = text_of(OWN)
    assert len(set(re.findall(r"\w+_there", with_result))) >= 1, "the host gives one of them"
    for k in (0, 1):
        agree(OWN, [np.int64(9), np.int32(k)])


PICKED = """
entry main [n] (xs: [n]i64) (ys: [n]i64) (k: i64) =
  let at = i64.maximum xs
  let a = ys[at]
  let b = xs[k]
  in (map (+ a) xs, b)
"""


@pytest.mark.parametrize(
    ("top", "k", "line"), [(3, 0, 0), (4, 0, 4), (-1, 0, 4), (3, 9, 5), (9, 9, 4)]
)
def test_a_check_of_such_a_number_fails_on_the_device(top: int, k: int, line: int) -> None:
    """The first one that fails is told, also where a later one is the host's own."""
    args = words([np.full(4, top, np.int64), np.arange(4), k])
    if not line:
        agree(PICKED, args)
        return
    for disabled in ((), (RULE,)):
        seen = observe(text_of(PICKED, *disabled), "main", args, records=False)
        assert seen.error is not None
        assert (seen.error.span.line, seen.problems) == (line, ())
    with pytest.raises(RuntimeError_) as caught:
        interp.run(compiled(PICKED).result("soa").prog, "main", list(args))
    assert caught.value.span.line == line
