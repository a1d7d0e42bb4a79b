"""What may fail, and what it costs: an answer for every node and operator, and it is respected."""

from __future__ import annotations

from types import UnionType
from typing import get_args

import numpy as np
import pytest

from compiler.algebra.poly import Poly
from compiler.analysis.cost import COST, cost, size
from compiler.analysis.effects import (
    WHEN,
    may_fail,
    must_stay,
    operands_cannot_fail,
    results_cannot_fail,
)
from compiler.base.context import Options
from compiler.base.errors import RuntimeError_
from compiler.base.prim import BIN_OPS, FUNS, UN_OPS
from compiler.driver.pipeline import Compilation
from compiler.ir import nodes as ir
from compiler.ir.fails import Fails
from compiler.ir.nodes import ONE, SE_NODES, TRUE, ZERO, Bin, Body, Fun, Lambda, Lit, Un, Var
from compiler.semantics import interp

X, Y = Var("x_1", "i64"), Var("y_2", "i64")
QUOTIENT = Bin("/", "i64", X, Y)
STAGES = ("soa", "simplified", "fused", "flat", "funmem", "shortcircuit")


def classes(union: object) -> set[type]:
    """The classes of a union of classes and unions."""
    if isinstance(union, UnionType):
        return set().union(*map(classes, get_args(union)))
    assert isinstance(union, type)
    return {union}


def test_every_class_of_expressions_is_in_the_table() -> None:
    assert set(WHEN) == classes(ir.Exp)


def test_every_operator_has_a_cost() -> None:
    assert set(COST) == {*BIN_OPS, *UN_OPS, *FUNS}
    for op in (*BIN_OPS, *UN_OPS, *FUNS):
        assert COST[op] > 0


@pytest.mark.parametrize("kind", SE_NODES)
def test_scalar_expressions_cost_what_their_parts_do(kind: type) -> None:
    made = {
        ir.Lit: (ONE, 0, 0),
        ir.Var: (X, 0, 0),
        ir.Bin: (Bin("+", "i64", X, QUOTIENT), 5, 2),
        ir.Un: (Un("neg", "i64", QUOTIENT), 5, 2),
        ir.Conv: (ir.Conv("i64", "f32", QUOTIENT), 5, 2),
        ir.Fun: (Fun("popc", "i64", (QUOTIENT,)), 10, 2),
        ir.Select: (ir.Select(TRUE, QUOTIENT, X), 5, 2),
    }
    se, work, count = made[kind]
    assert cost(se) == work
    assert size(se) == count
    assert (size(se, 0) > 0) == (count > 0)


class Nothing:
    """A place where everything is known to be right."""

    def is_size(self, size: Poly) -> bool:
        return True

    def is_inside(self, exp: object) -> bool:
        return True

    def keeps_count(self, exp: object) -> bool:
        return True


def applied(result: ir.SE) -> ir.Map:
    """A map over `xs` with that result for each `x`."""
    fn = Lambda((ir.Param("x_1", ir.I64),), Body((), (result,)), (ir.I64,))
    return ir.Map(Poly.var("n_3"), fn, ("xs_4",))


def test_results_and_bounds_of_bodies_count() -> None:
    """A lambda without statements may divide all the same."""
    assert may_fail(applied(QUOTIENT))
    assert may_fail(applied(QUOTIENT), Nothing())
    assert not may_fail(applied(Bin("/", "i64", X, Lit(2, "i64"))))
    body = Body((), (X,))
    loop = ir.Loop((), (), ir.ForLoop("i_5", "i64", QUOTIENT), Body((), ()))
    branch = ir.If(Bin("==", "i64", QUOTIENT, ZERO), body, body)
    assert may_fail(loop)
    assert may_fail(branch)
    assert not operands_cannot_fail(loop)
    assert not operands_cannot_fail(branch)
    assert operands_cannot_fail(applied(QUOTIENT)), "what bodies hold is left out"
    assert not results_cannot_fail(("xs_4", QUOTIENT))
    assert not results_cannot_fail((ir.Write("xs_4", (((QUOTIENT,), ONE),)),))
    assert results_cannot_fail((ir.Write("xs_4", (((X,), ONE),)), X))


def test_a_while_loop_may_never_end() -> None:
    params = (ir.Param("go_1", ir.BOOL),)
    loop = ir.Loop(params, (TRUE,), ir.WhileLoop("go_1"), Body((), (TRUE,)))
    assert may_fail(loop, Nothing())


def test_what_is_known_is_asked() -> None:
    n = Poly.var("n_3")
    for exp in (
        ir.Index("xs_4", (X,)),
        ir.Slice("xs_4", (ir.DimSlice(X, n, ONE),)),
        ir.Update("xs_4", (ir.DimFix(X),), ONE),
        ir.Iota(n, ZERO, ONE, "i64"),
        ir.Replicate((n,), ONE),
        ir.Scratch("i64", (n,)),
        ir.Alloc(n, "i64"),
        ir.Reshape((n,), "xs_4"),
    ):
        assert WHEN[type(exp)] not in (Fails.NEVER, Fails.STOPS)
        assert may_fail(exp)
        assert not may_fail(exp, Nothing())
    assert may_fail(ir.Index("xs_4", (QUOTIENT,)), Nothing())


def test_checks_and_calls_stay() -> None:
    check = ir.Stm((), ir.Assert(TRUE, ("no",)))
    assert must_stay(check.exp)
    assert must_stay(ir.Call("f", ()))
    assert must_stay(ir.If(TRUE, Body((check,), ()), Body((), ())))
    assert not must_stay(applied(QUOTIENT))
    assert not must_stay(ir.Index("xs_4", (X,)))


BEFORE_ITS_CHECK = """\
entry main [n] (xs: [n]i64) (y: i64) =
  let a = reduce (+) 0 xs
  let b = xs[a]
  let ws = map (\\x -> x / y) xs
  in (a, b, ws)
"""
FOR_NOTHING = """\
entry main [n] (xs: [n]i64) (y: i64) (k: i64) =
  loop a = xs for i < k do
    let ws = map (\\x -> x / y) xs
    let zs = scan (+) 0 ws
    in map2 (+) a zs
"""


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("target", ["c", "cuda"])
def test_a_division_is_not_fused_with_what_comes_before_its_check(stage: str, target: str) -> None:
    prog = Compilation(BEFORE_ITS_CHECK, Options(target=target)).result(stage).prog
    with pytest.raises(RuntimeError_, match=r"Index \[5\] out of bounds"):
        interp.run(prog, "main", [np.array([5, 0]), np.int64(0)])


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("target", ["c", "cuda"])
def test_a_division_does_not_leave_a_loop_that_never_runs(stage: str, target: str) -> None:
    prog = Compilation(FOR_NOTHING, Options(target=target)).result(stage).prog
    xs = np.array([5, 0])
    (found,) = interp.run(prog, "main", [xs, np.int64(0), np.int64(0)])
    assert np.array_equal(found, xs)
