"""Loops of the host allocate nothing that is of the same size in every iteration."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from compiler.base.context import Ctx, Options
from compiler.base.errors import RuntimeError_
from compiler.base.fuel import Fuel
from compiler.driver import api
from compiler.driver.pipeline import Compilation, verify
from compiler.ir.nodes import Alloc, If, Loop, Prog, Stm
from compiler.ir.values import Value, show
from compiler.protocol.kinds import OfProgram
from compiler.runtime import runner
from compiler.semantics import heap, interp
from tests.storage.test_merge import before, fresh, merged

EXAMPLES = Path(__file__).parents[2] / "app" / "examples"

SMOOTH = """
def step [n] (xs: [n]i32): [n]i32 =
  tabulate n (\\i -> xs[i64.max (i - 1) 0] + xs[i64.min (i + 1) (n - 1)] - xs[i])
"""
CALLERS = (
    SMOOTH
    + """
entry main [n] (xs: [n]i32) (k: i64): [n]i32 = loop xs for _i < k do step xs
"""
)
OWN = (
    SMOOTH
    + """
entry main [n] (xs: [n]i32) (k: i64): [n]i32 =
  loop ys = scan (+) 0 xs for _i < k do step ys
"""
)
WAVE = """
entry main [n] (xs: [n]i32) (k: i64): ([n]i32, [n]i32) =
  loop (old: [n]i32, now: [n]i32) = (xs, map (+ 1) xs) for _i < k do
    let next = tabulate n (\\i ->
      now[i64.max (i - 1) 0] + now[i64.min (i + 1) (n - 1)] - old[n - 1 - i])
    in (now, next)
"""
THREE = """
entry main [n] (xs: [n]i32) (k: i64): ([n]i32, [n]i32, [n]i32) =
  loop (a: [n]i32, b: [n]i32, c: [n]i32) = (xs, scan (+) 0 xs, scan (+) 1 xs) for _i < k do
    (b, c, tabulate n (\\i -> a[n - 1 - i] + b[i] - c[n - 1 - i]))
"""
TWO = """
entry main [n] (xs: [n]i32) (k: i64): ([n]i32, [n]f32) =
  loop (a, b) = (xs, map f32.i32 xs) for _i < k do
    let c = tabulate n (\\i -> a[n - 1 - i] + i32.f32 b[i])
    let d = tabulate n (\\i -> b[n - 1 - i] - f32.i32 c[n - 1 - i])
    in (c, d)
"""
TEMPORARIES = """
entry main [n] (xs: [n]i32) (k: i64): [n]i32 =
  loop xs = copy xs for i < k do
    let a = scan (+) (i32.i64 i) xs
    let b = scan (+) 0 (map (\\j -> a[n - 1 - j]) (iota n))
    in tabulate n (\\j -> b[n - 1 - j] + a[j] - xs[n - 1 - j])
"""
WHILE = (
    SMOOTH
    + """
entry main [n] (xs: [n]i32) (k: i64): ([n]i32, i64) =
  loop (xs, k) while k > 0 do (step xs, k - 1)
"""
)
BRANCH = (
    SMOOTH
    + """
entry main [n] (xs: [n]i32) (k: i64): [n]i32 =
  loop xs for i < k do
    if i % 2 == 0 then step xs else scan (+) 0 xs
"""
)
NESTED = (
    SMOOTH
    + """
entry main [n] (xs: [n]i32) (k: i64): [n]i32 =
  loop xs for i < k do
    let s = reduce (+) 0 (loop ys = scan (+) 1 xs for _j < i do step ys)
    in tabulate n (\\j -> xs[n - 1 - j] + s)
"""
)
COMPUTED_SIZE = """
entry main [n] (xs: [n]i32) (k: i64): i32 =
  loop s = 0 for i < k do
    s + reduce (*) 1 (scan (+) 0 (map (\\j -> i32.i64 j + xs[0]) (iota (n * k - i * i))))
"""
GROWING = """
entry main [n] (xs: [n]i32) (k: i64): i32 =
  loop s = 0 for i < k do
    s + reduce (*) 1 (scan (+) 0 (map (\\j -> i32.i64 j + xs[0]) (iota (i + 1))))
"""
NEGATIVE = """
entry main [n] (xs: [n]i32) (k: i64): i32 =
  loop s = 0 for _i < k do
    s + reduce (*) 1 (scan (+) 0 (map (\\j -> i32.i64 j + xs[0]) (iota (k - 1))))
"""
KEEPS = {
    "callers": (CALLERS, 2),
    "own": (OWN, 2),
    "wave": (WAVE, 3),
    "three": (THREE, 4),
    "two": (TWO, 4),
    "temporaries": (TEMPORARIES, 3),
    "while": (WHILE, 2),
    "branch": (BRANCH, 2),
    "nested": (NESTED, 3),
    "negative": (NEGATIVE, 1),
}
"""Programs, and the blocks that are left, none of them in a loop."""
ALL = {
    **{name: source for name, (source, _) in KEEPS.items()},
    "growing": GROWING,
    "computed size": COMPUTED_SIZE,
}


def allocations(stms: tuple[Stm, ...], inside: bool = False) -> tuple[int, int]:
    """Allocations of the host: all of them, and those in loops."""
    total, repeated = 0, 0
    for stm in stms:
        bodies = []
        if isinstance(stm.exp, Alloc):
            total, repeated = total + 1, repeated + inside
        elif isinstance(stm.exp, Loop):
            bodies = [stm.exp.body]
        elif isinstance(stm.exp, If):
            bodies = [stm.exp.then, stm.exp.orelse]
        for body in bodies:
            more = allocations(body.stms, inside or isinstance(stm.exp, Loop))
            total, repeated = total + more[0], repeated + more[1]
    return total, repeated


def made(prog: Prog) -> tuple[int, int]:
    return allocations(prog.funs[0].body.stms)


@pytest.mark.parametrize("name", KEEPS)
def test_no_loop_allocates(name: str) -> None:
    source, left = KEEPS[name]
    prog = before(source)
    assert made(prog)[1] > 0
    assert made(merged(prog)) == (left, 0)


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("name", ALL)
def test_values_stay(name: str, target: str) -> None:
    prog = before(ALL[name], target)
    new = merged(prog)
    xs = np.array([3, 1, 4, 1, 5], dtype=np.int32)
    for k in range(7):
        args: list[Value] = [xs[: 5 - k % 2], np.int64(k)]
        want = [show(np.asarray(v)) for v in interp.run(prog, "main", args)]
        found, _ = heap.run(new, "main", args)
        assert [show(np.asarray(v)) for v in found] == want


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler here")
@pytest.mark.parametrize("name", ["wave", "three", "branch", "nested"])
def test_c_agrees(name: str) -> None:
    xs = np.array([3, 1, 4, 1, 5], dtype=np.int32)
    for k in (0, 1, 2, 5):
        args: list[Value] = [xs, np.int64(k)]
        one = api.run_values(OfProgram(ALL[name]), "main", args, "c", "", 60)["values"]
        other = api.run_values(OfProgram(ALL[name]), "main", args, "ref", "soa", 60)["values"]
        assert [show(np.asarray(v)) for v in one] == [show(np.asarray(v)) for v in other]


def test_the_stencil_allocates_twice_however_long_it_runs() -> None:
    source = (EXAMPLES / "stencil.fut").read_text("utf-8")
    work = Compilation(source)
    prog = work.result("merged").prog
    assert made(prog) == (2, 0)
    grid = np.ones((4, 5), dtype=np.float32)
    few = heap.run(prog, "main", [grid, np.int32(2)])[1].allocated
    many = heap.run(prog, "main", [grid, np.int32(20)])[1].allocated
    assert few == many == 2 * grid.nbytes
    assert any(r.rule == "merge/double-buffer" and "`grid`" in r.because for r in work.remarks())


def test_a_size_that_differs_is_told() -> None:
    ctx = fresh()
    prog = before(GROWING)
    assert made(merged(prog, ctx)) == made(prog)
    assert any(r.kind == "missed" and "depends on `i`" in r.because for r in ctx.remarks)


@pytest.mark.parametrize(
    ("off", "left"), [("merge", 2), ("merge/double-buffer", 1), ("merge/hoist", 1)]
)
def test_it_can_be_switched_off(off: str, left: int) -> None:
    """A temporary, and the array that is carried."""
    ctx = Ctx(Options(disabled=frozenset((off,))), fresh().names)
    assert made(merged(before(TEMPORARIES), ctx))[1] == left


def test_each_step_costs_fuel() -> None:
    ctx = Ctx(names=fresh().names, fuel=Fuel(1))
    prog = before(TEMPORARIES)
    new = merged(prog, ctx)
    verify(new, "merged")
    assert 0 < made(new)[1] < made(prog)[1]


INNER = """
entry main [n] (xs: *[n]i32) (k: i64): *[n]i32 =
  loop xs for i < n do
    loop xs for j < 5 do
      let ys = map (\\p -> xs[(p * 7 + j) % n]) (iota (8 * i + 8))
      in xs with [i] = i32.sum (map (\\p -> ys[8 * i + 7 - p] * ys[p]) (iota (4 * i + 4)))
"""


def test_what_depends_on_an_outer_loop_moves_out_of_the_inner_one() -> None:
    """The outer loop's index is a natural number, so that the size is one."""
    body = Compilation(INNER).result("merged").prog.funs[0].body
    (outer,) = [stm.exp for stm in body.stms if isinstance(stm.exp, Loop)]
    (inner,) = [stm.exp for stm in outer.body.stms if isinstance(stm.exp, Loop)]
    assert any(isinstance(stm.exp, Alloc) for stm in outer.body.stms)
    assert not any(isinstance(stm.exp, Alloc) for stm in inner.body.stms)


SIDES = """
entry main [n] (xs: [n]i32) (k: i64): i32 =
  loop s = 0 for i < k do
    if s % 2 == 0
    then s + reduce (*) 1 (scan (+) 1 (map (+ s) xs))
    else s - reduce i32.max 0 (scan (+) 0 (scan (*) 1 (map (* s) xs)))
"""


def test_what_both_sides_of_a_branch_make_is_made_before_the_loop() -> None:
    """One block for a scan of either side; the second scan of the one takes its block over."""
    ctx = fresh()
    prog = before(SIDES)
    assert made(prog) == (3, 3)
    new = merged(prog, ctx)
    verify(new, "merged")
    assert made(new)[0] < 3
    assert any("before the branches" in r.because for r in ctx.remarks)
    for size in (0, 1, 5):
        for k in range(4):
            args: list[Value] = [np.arange(size, dtype=np.int32) - 1, np.int64(k)]
            want = [show(np.asarray(v)) for v in interp.run(prog, "main", args)]
            found, _ = heap.run(new, "main", args)
            assert [show(np.asarray(v)) for v in found] == want


FAILS_FIRST = """
entry main [n] (xs: [n]i32) (k: i64): i32 =
  if n > 2
  then reduce (*) 1 (scan (+) 0 (map i32.i64 (iota (k * k))))
  else reduce (+) 1 (scan (+) 0 (map i32.i64 (iota (k * k))))
"""


def test_nothing_is_made_before_what_fails() -> None:
    """The sides check that the size is one: what it is otherwise is not allocated."""
    new = merged(before(FAILS_FIRST))
    for k in (0, 3):
        args: list[Value] = [np.zeros(3, np.int32), np.int64(k)]
        want = [show(np.asarray(v)) for v in interp.run(before(FAILS_FIRST), "main", args)]
        assert [show(np.asarray(v)) for v in heap.run(new, "main", args)[0]] == want
    with pytest.raises(RuntimeError_, match="Range"):
        heap.run(new, "main", [np.zeros(3, np.int32), np.int64(3037000500)])
