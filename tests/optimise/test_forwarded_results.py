"""Results that a function is given, or gives twice: callers take what they have already."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.names import base_of
from compiler.driver.pipeline import Compilation
from compiler.ir import forms
from compiler.ir.nodes import Call, Function, Prog
from compiler.ir.values import Value
from compiler.ir.verify import verify
from compiler.ir.walk import all_stms, without_prov
from compiler.optimise.forwarded_results import remove_forwarded_results
from compiler.optimise.shared_functions import SHARED
from compiler.semantics import heap, interp
from compiler.testing.compare import same

LIMITS = tuple((limit.id, 0) for limit in SHARED.limits)
STATE = """
type state [n] [m] = {xs: [n]i32, ys: [m]i32, turn: i32, on: bool}
def step [n] [m] (s: state [n] [m]): state [n] [m] =
  s with xs = map2 (+) s.xs (scan (+) s.turn s.xs)
def later [n] [m] (s: state [n] [m]): state [n] [m] = step (s with turn = s.turn + 1)
"""


def function(prog: Prog, name: str) -> Function:
    (fun,) = (fun for fun in prog.funs if base_of(fun.name) == name)
    return fun


def agree(source: str, *args: Value) -> Prog:
    """The program means the same without; so do all later stages. Answers it."""
    work = Compilation(source, Options(verify=True, limits=LIMITS))
    prog = work.result("soa").prog
    slim = remove_forwarded_results(prog)
    verify(slim, forms.NESTED, "soa")
    wanted = interp.run(prog, "main", args)
    assert same(interp.run(slim, "main", args), wanted)
    assert same(interp.run(work.result("flat").prog, "main", args), wanted)
    assert same(heap.run(work.result("merged").prog, "main", args)[0], wanted)
    return slim


XS, YS = np.arange(5, dtype=np.int32), np.arange(3, dtype=np.int32)


def test_a_record_with_one_field_changed() -> None:
    source = STATE + (
        "entry main [n] [m] (xs: [n]i32) (ys: [m]i32) =\n"
        "  let s = later (step {xs, ys, turn = 3, on = true})\n"
        "  in (s.xs, s.ys, s.turn, s.on)"
    )
    slim = agree(source, XS, YS)
    assert len(function(slim, "step").results) == 1
    # `turn` is new: it is another number than the one given.
    assert len(function(slim, "later").results) == 2
    calls = [s.exp.fun for f in slim.funs for s in all_stms(f.body.stms) if isinstance(s.exp, Call)]
    assert len(calls) == 3


def test_such_functions_stay() -> None:
    source = STATE + (
        "entry main [n] [m] (xs: [n]i32) (ys: [m]i32) =\n"
        "  let s = loop s = {xs, ys, turn = 3, on = true} for _i < 3 do later (later s)\n"
        "  in (s.xs, s.ys, s.turn)"
    )
    agree(source, XS, YS)
    work = Compilation(source, Options(limits=LIMITS))
    for stage in ("simplified", "flat", "merged"):
        prog = work.result(stage).prog
        assert {base_of(fun.name) for fun in prog.funs} >= {"later"}, stage


@pytest.mark.parametrize(
    ("definition", "use", "left"),
    [
        # An expression that is given goes on being one.
        ("def f (k: i64) (xs: []i32) = (k, map (+ i32.i64 k) xs)", "f (length xs + 1) xs", 1),
        # A size that is given back, or is known, is that of later results.
        ("def f (k: i64) (x: i32) = (k, replicate k x, x)", "f (i64.i32 xs[1] + 2) xs[2]", 1),
        ("def f (x: i32) = (3i64, replicate 3 x, true)", "f xs[2]", 1),
        # One array twice, two equal ones that are not one.
        ("def f (xs: []i32) = let a = map (+ 1) xs in (a, a, xs)", "f xs", 1),
        ("def f (xs: []i32) = (map (+ 1) xs, copy xs, xs)", "f xs", 2),
        ("def f (xs: []i32) = (xs[0] + 1, xs[0] + 1, xs)", "f xs", 2),
        # Nothing is new: one stays.
        ("def f (xs: []i32) (k: i32) = (k, xs, 7i32, k)", "f xs 3", 1),
        ("def f (k: i64) = ()", "(f 3, xs)", 0),
        # Chosen between what is given.
        ("def f (xs: []i32) (b: bool) = (if b then xs else copy xs, b)", "f xs (xs[0] > 0)", 1),
        # Consumed and given back.
        ("def f [n] (xs: *[n]i32): *[n]i32 = xs", "f (copy xs) with [0] = 7", 1),
        (
            "def f (xs: *[]i32): (*[]i32, i64) =\n let n = length xs in (xs with [0] = 9, n)",
            "f (copy xs)",
            1,
        ),
    ],
)
def test_what_is_new_is_given_back(definition: str, use: str, left: int) -> None:
    slim = agree(f"{definition}\nentry main (xs: []i32) = {use}", XS)
    used = [fun for fun in slim.funs if base_of(fun.name) == "f"]
    assert [len(fun.results) for fun in used] == [left] * len(used)


def test_in_branches_loops_and_parallel_operators() -> None:
    source = """
def f (k: i32) (xs: []i32) = (k + 1, xs, k)
entry main (xs: []i32) =
  let (a, ys, b) = if xs[0] > 3 then f 1 xs else f 2 (reverse xs)
  let (c, zs) = loop (c, zs) = (0, ys) for i < 3 do
    let (d, zs, e) = f (c + i32.i64 i) zs in (d + e, zs)
  let rows = map (\\x -> let (g, vs, h) = f x zs in g * h + vs[0]) xs
  in (a, b, c, rows, zs)
"""
    slim = agree(source, XS)
    assert len(function(slim, "f").results) == 1


def test_a_function_that_calls_itself_and_an_entry_keep_their_results() -> None:
    source = """
def down [n] (k: i32) (xs: [n]i32): (i32, [n]i32) =
  if k < 1 then (k, xs) else let (_, ys) = down (k - 1) xs in (k, ys)
entry other (k: i64) (xs: []i32) = (k, map (+ 1) xs, xs)
entry main (xs: []i32) = (down 3 xs, other 3 xs)
"""
    slim = agree(source, XS)
    results = {(base_of(fun.name), fun.entry): len(fun.results) for fun in slim.funs}
    assert results["down", False] == 2
    assert results["other", True] == 3


def test_functions_without_such_results_are_the_same() -> None:
    source = "def f (xs: []i32) = map (+ 1) xs\nentry main (xs: []i32) = f (f xs)"
    prog = Compilation(source).result("soa").prog
    slim = remove_forwarded_results(prog)
    assert all(a is b for a, b in zip(prog.funs, slim.funs, strict=True))
    assert without_prov(slim) == without_prov(prog)
