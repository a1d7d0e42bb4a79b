"""External values bound to an entry point's parameters."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.algebra.limits import LARGEST_INPUT
from compiler.base.errors import UsageError
from compiler.ir import entry, values
from compiler.ir.nodes import Function
from compiler.ir.parser import parse


def function(params: str) -> Function:
    (fun,) = parse(f"entry main {params} : (r_9: i32) = (1i32)").funs
    return fun


def test_sizes_follow_from_shapes() -> None:
    fun = function("[n_1, m_2, k_3] (xs_4: [n_1][m_2]i32, ys_5: [m_2 + 1]i32, zs_6: [2*k_3]f32)")
    env = entry.bind(fun, values.parse("[[1,2],[3,4],[5,6]] [1,2,3] [1f32,2f32,3f32,4f32]"))
    assert entry.sizes_of(env) == {"n_1": 3, "m_2": 2, "k_3": 2}
    assert set(env) == {"n_1", "m_2", "k_3", "xs_4", "ys_5", "zs_6"}


def test_a_size_may_be_an_argument() -> None:
    fun = function("(n_1: i64, xs_2: [n_1]i32)")
    assert entry.sizes_of(entry.bind(fun, values.parse("2i64 [1,2]"))) == {"n_1": 2}
    with pytest.raises(UsageError, match=r"`xs` has size 2 in dimension 0 and should have 3"):
        entry.bind(fun, values.parse("3i64 [1,2]"))


@pytest.mark.parametrize(
    ("params", "data", "says"),
    [
        ("[n_1] (xs_2: [n_1]i32)", "", "takes 1 value and was given 0"),
        ("(x_2: i32, y_3: i32)", "1 2 3", "takes 2 values and was given 3"),
        ("[n_1] (xs_2: [n_1]i32)", "[1i64]", r"`xs` should be \[n\]i32 and was given \[1\]i64"),
        ("[n_1] (xs_2: [n_1]i32)", "1", r"`xs` should be \[n\]i32 and was given i32"),
        ("[n_1] (xs_2: [n_1]i32, ys_3: [n_1]i32)", "[1,2] [1]", "`xs` gives `n` = 2"),
        ("(xs_2: [3]i32)", "[1,2]", "should have 3"),
        ("[n_1] (xs_2: [2*n_1]i32)", "[1,2,3]", "does not follow"),
    ],
)
def test_what_does_not_fit_is_refused(params: str, data: str, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        entry.bind(function(params), values.parse(data))


def test_visible_results_leave_out_blocks_and_sizes() -> None:
    text = """
entry main [n_1] (m_2: mem(i32), xs_3: [n_1]i32 @ m_2 -> 0 + {(n_1: 1)})
  : (k_4: i64, c_5: i64, m_6: mem(i32), r_7: [k_4]i32 @ m_6 -> 0 + {(k_4: 1)}) =
  (n_1, n_1, m_2, xs_3)
"""
    (fun,) = parse(text).funs
    assert entry.visible_results(fun) == [1, 3]
    assert [p.type.prim for p in entry.external(fun)] == ["i32"]


@pytest.mark.parametrize(
    "shape", [(0, LARGEST_INPUT + 1), (LARGEST_INPUT + 1,), (1 << 23, 1 << 22)]
)
def test_an_array_that_no_machine_has_is_refused(shape: tuple[int, ...]) -> None:
    sizes = "".join(f"[n_{k}]" for k in range(len(shape)))
    names = ", ".join(f"n_{k}" for k in range(len(shape)))
    fun = function(f"[{names}] (xs_9: {sizes}i32)")
    with pytest.raises(UsageError, match="rows or elements"):
        entry.bind(fun, [np.broadcast_to(np.int32(1), shape)])
    fitting = tuple(min(size, LARGEST_INPUT) // 4 for size in shape)
    entry.bind(fun, [np.broadcast_to(np.int32(1), fitting)])
