"""Types made from others, and statements under construction, run by the interpreter."""

from __future__ import annotations

import numpy as np

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.context import Ctx
from compiler.base.names import NameSource
from compiler.driver.pipeline import verify
from compiler.ir.build import Builder, both, conjunction, count_loop, either, inside, row_at, var
from compiler.ir.nodes import (
    FALSE,
    I64,
    ONE,
    TRUE,
    ZERO,
    Array,
    Bin,
    Function,
    Mem,
    MemBind,
    Param,
    Prog,
    Scalar,
    Scratch,
    Type,
    Var,
)
from compiler.ir.types import array_type, as_operand, row_type, shape_of, with_dims
from compiler.semantics import interp

N, M = Poly.var("n_1"), Poly.var("m_2")
ROW, COL, AT = var("i_3"), var("j_4"), var("k_6")


def test_a_row_is_what_wrapping_it_again_undoes() -> None:
    kinds: tuple[Type, ...] = (I64, Array("f32", (N,)), Array("u8", (N, M)))
    for kind in kinds:
        for outer in ((), (M,), (M, N)):
            wrapped = with_dims(outer, kind)
            assert row_type(wrapped, len(outer)) == kind
            assert shape_of(wrapped) == (*outer, *shape_of(kind))
            assert wrapped == array_type(kind.prim, shape_of(wrapped))
    placed = Array("f32", (N, M), MemBind("b_9", Lmad.row_major((N, M))))
    assert row_type(placed) == Array("f32", (M,))


def test_only_scalars_are_operands_by_expression() -> None:
    assert as_operand(Param("x_1", Scalar("f32"))) == Var("x_1", "f32")
    assert as_operand(Param("a_1", Array("f32", (N,)))) == "a_1"
    assert as_operand(Param("b_1", Mem("f32"))) == "b_1"


def test_conditions_are_shorter_where_a_part_is_known() -> None:
    cond = Bin("<", "i64", ROW, COL)
    assert [both(TRUE, cond), both(cond, TRUE), either(FALSE, cond), either(cond, FALSE)] == (
        [cond] * 4
    )
    assert both(cond, FALSE) == both(FALSE, cond) == FALSE
    assert either(cond, TRUE) == either(TRUE, cond) == TRUE
    assert conjunction(()) == inside((), ()) == TRUE
    low, high = Bin("<=", "i64", ZERO, ROW), Bin("<", "i64", ROW, COL)
    assert inside((ROW,), (COL, ROW)) == Bin("&&", "bool", low, high)


def test_a_built_function_verifies_and_runs() -> None:
    """Rows of a matrix doubled in a loop, where a place is inside; else as they were."""
    ctx = Ctx(names=NameSource(100))
    kind = Array("i64", (N, M))
    given, at = Param("a_5", kind), Param("k_6", I64)
    out = Builder(ctx.fresh, ())
    start = out.copy(given)
    held = Param("h_7", kind, True)
    turn = out.nested()
    row = turn.read(held, (AT,))
    own = turn.copy(row)
    twice = turn.scalar("t", Bin("*", "i64", COL, ONE))
    changed = turn.update(own, (COL,), twice)
    then = turn.nested()
    put = then.update(held, (AT,), changed.name)
    (after,) = turn.update_inside([held], (AT,), then, [put])
    loop = count_loop([held], [start.name], "j_4", M, turn.body([after.name]))
    result = out.param(held)
    out.add([result], loop)
    sizes = (Param("n_1", I64), Param("m_2", I64))
    results = (Param("r_8", kind),)
    body = out.body([result.name])
    fun = Function("main", (*sizes, at, given), results, body, True, 2)
    prog = Prog((fun,))
    verify(prog, "soa")
    array = np.arange(6, dtype=np.int64).reshape(2, 3) + 10
    for place in (0, 1):
        expected = array.copy()
        expected[place] = [0, 1, 2]
        (found,) = interp.run(prog, "main", [np.int64(place), array])
        assert np.array_equal(found, expected)


def test_scratch_and_elements() -> None:
    out = Builder(Ctx(names=NameSource(100)).fresh, ())
    like = Param("a_5", Array("f32", (N,)))
    made = out.scratch(like)
    element = out.read(made, (ROW,))
    assert out.stms[0].exp == Scratch("f32", (N,))
    assert element.type == Scalar("f32")
    assert out.stms[1].exp == row_at(made.name, (ROW,), Scalar("f32"))
