# ruff: noqa: E501
"""The verifier accepts correct programs and names what is wrong with each mutated one."""

from __future__ import annotations

import pytest

from compiler.base.errors import CompilerBug
from compiler.driver.pipeline import verify
from compiler.ir.parser import parse
from tests.ir.programs import KERNELS, MEMORY, SCALARS, SOACS


@pytest.mark.parametrize(
    ("text", "stage"),
    [(SOACS, "soa"), (KERNELS, "flat"), (MEMORY, "funmem"), (SCALARS, "fused")],
)
def test_correct_programs_pass(text: str, stage: str) -> None:
    verify(parse(text), stage)


MUTATIONS = [
    # what is replaced, by what, stage and program, part of the message
    ("x_27: i32) : (i32) -> (x_27)", "x_27: i32) : (i32) -> (7i64)", SOACS, "soa", "a result of"),
    ("let (d_21: [n_10]i32)", "let (d_21: [m_11]i32)", SOACS, "soa", "should be [n_10]i32"),
    ("let (s_24: i32)", "let (s_24: i64)", SOACS, "soa", "`s_24`"),
    ("let (t_10: i64)", "let (t_9: i64)", SCALARS, "soa", "bound twice"),
    ("in (e_62)", "in (tr_46)", SOACS, "soa", "the then branch"),
    ("in (big_61, s_24", "in (xs_12, is_34, s_24", SOACS, "soa", "7 for 6"),
    ("in (big_61, s_24, sc_35", "in (big_61, s_24, z_33", SOACS, "soa", "used after `z_33`"),
    ("let (tr_46: [m_11][n_10]f32) = rearrange((1, 0), up_45)",
     "let (tr_46: [m_11][n_10]f32) = rearrange((1, 0), yss_13)", SOACS, "soa", "used after `yss_13`"),
    ("let (row_44: [m_11]f32) = copy(row_43)",
     "let (row_44: [m_11]f32) = row_43[0:+m_11]", SOACS, "soa", "memory that it shares"),
    ("rearrange((1, 0), up_45)", "rearrange((1, 1), up_45)", SOACS, "soa", "no permutation"),
    ("let (fl_47: [m_11*n_10]f32) = reshape([m_11*n_10], up_45)",
     "let (fl_47: [m_11*m_11]f32) = reshape([m_11*m_11], up_45)", SOACS, "soa", "differ in size"),
    ("row_44[i_55]", "row_44[i_55, i_55]", SOACS, "soa", "2 indices for 1"),
    ("op (0i32) comm \\(a_25: i32", "op (0i64) comm \\(a_25: i32", SOACS, "soa", "operator"),
    ("into z_33[_]", "into xs_12[_]", SOACS, "soa", "must not be consumed"),
    ("while go_59 do", "while c_57 do", SOACS, "soa", "condition"),
    ("call twice_1(x_22)", "call thrice_1(x_22)", SOACS, "soa", "no function"),
    ("cc_49: [2*m_11]f32", "cc_49: [3*m_11]f32", SOACS, "soa", "should be [2*m_11]f32"),
    ("map [n_10] (xs_12)", "map [m_11] (xs_12)", SOACS, "soa", "has outer size"),
    ("t_9: i64", "t_9: i32", SCALARS, "soa", "should be i64"),
    ("(j_41 < m_2)", "(j_41 < q_99)", KERNELS, "flat", "q_99"),
    ("in (d_4 with {[n_1 - 1 - i_23] = s_24})", "in (xs_3 with {[i_23, 0] = s_24})", KERNELS, "flat",
     "should be"),
    ("segmap @block", "segmap @grid", KERNELS, "flat", "a kernel inside a kernel"),
    ("let (x_14: f32) = xs_3[i_12, j_13]", "let (x_14: f32) = call main(n_1)", KERNELS, "flat",
     "a thread calls `main`"),
    (" per_block", "", KERNELS, "flat", "block level"),
    ("@ xs_mem_2 -> n_1 - 1 + {(n_1: -1)}", "@ xs_mem_2 -> n_1 + {(n_1: -1)}", MEMORY, "funmem",
     "rev_8"),
    ("rev_8: [n_1]f32 @ xs_mem_2 ->", "rev_8: [n_1]f32 @ m_6 ->", MEMORY, "funmem", "rev_8"),
    ("r_5: [n_1]f32 @ r_mem_4 -> 0 +", "r_5: [n_1]f32 @ r_mem_4 -> 1 +", MEMORY, "funmem", "result"),
    ("let (ys_9: [n_1]f32 @ m_6 -> 0 + {(n_1: 1)})", "let (ys_9: [n_1]f32)", MEMORY, "funmem",
     "no memory"),
    ("xs_3: [n_1]f32 @ xs_mem_2 -> 0 + {(n_1: 1)}", "xs_3: [n_1]f32", MEMORY, "funmem", "no memory"),
    ("ys_9: [n_1]f32 @ m_6 -> 0 + {(n_1: 1)}", "ys_9: [n_1]f32 @ m_6 -> 0 + {(2: 1)}", MEMORY, "funmem",
     "another shape"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("old", "new", "text", "stage", "says"), MUTATIONS, ids=[m[1][:40] for m in MUTATIONS]
)
def test_mutations_are_caught(old: str, new: str, text: str, stage: str, says: str) -> None:
    assert old in text
    mutated = text.replace(old, new, 1)
    with pytest.raises(CompilerBug) as error:
        verify(parse(mutated), stage)
    assert says in error.value.message
    assert stage in error.value.message


@pytest.mark.parametrize(
    ("text", "stage"),
    [(SOACS, "flat"), (KERNELS, "fused"), (MEMORY, "flat")],
)
def test_forms_of_other_stages_are_refused(text: str, stage: str) -> None:
    with pytest.raises(CompilerBug, match=r"may not occur|before memory"):
        verify(parse(text), stage)


def test_sizes_are_equal_by_definition_or_assertion() -> None:
    text = """
entry main [n_1, m_2, k_3] (xs_4: [k_3]i32, ys_5: [n_1]i32) : (r_6: [n_1*m_2]i32) =
  let (p_7: i64) = n_1 * m_2
  assert(k_3 == p_7, "sizes differ")
  let (h_8: i64) = n_1 / 2i64
  let (g_9: i64) = n_1 / 2i64
  let (a_10: [h_8]i64) = iota(h_8, 0i64, 1i64)
  let (b_11: [h_8]i64) =
    map [g_9] (a_10)
      \\(x_12: i64) : (i64) -> (x_12)
  in (xs_4)
"""
    verify(parse(text), "soa")
    with pytest.raises(CompilerBug, match="should be"):
        verify(parse(text.replace("k_3 == p_7", "k_3 <= p_7")), "soa")
    with pytest.raises(CompilerBug, match="outer size"):
        verify(parse(text.replace("(g_9: i64) = n_1 / 2i64", "(g_9: i64) = n_1 / 3i64")), "soa")


def test_results_of_unknown_size_bring_their_size() -> None:
    text = """
entry main [n_1] (xs_2: [n_1]i32, c_3: bool) : (k_4: i64, r_5: [k_4]i32) =
  let (k_6: i64, ys_7: [k_6]i32) =
    if c_3
    then (n_1, xs_2)
    else
      let (e_8: [2]i32) = [1i32, 2i32]
      in (2i64, e_8)
  in (k_6, ys_7)
"""
    verify(parse(text), "soa")
    with pytest.raises(CompilerBug, match="else branch"):
        verify(parse(text.replace("in (2i64, e_8)", "in (3i64, e_8)")), "soa")


LOOP = """
entry main [n_1] (xs_2: *[n_1]i32, ys_3: [n_1]i32) : (r_4: [n_1]i32) =
  let (zs_5: [n_1]i32) =
    loop (acc_6: *[n_1]i32) = (xs_2)
    for i_7: i64 < n_1 do
      let (new_8: [n_1]i32) = acc_6 with [i_7] = 1i32
      in (new_8)
  in (zs_5)
"""


def test_loops_may_consume_unique_parameters_only() -> None:
    verify(parse(LOOP), "soa")
    for old, new, says in (
        ("(acc_6: *[n_1]i32)", "(acc_6: [n_1]i32)", "must not be consumed"),
        ("in (new_8)", "in (ys_3)", "not fresh"),
        ("= (xs_2)\n", "= (ys_3)\n", "must not be consumed"),
        ("acc_6 with", "ys_3 with", "must not be consumed"),
        ("in (zs_5)", "in (xs_2)", "used after"),
    ):
        assert old in LOOP
        with pytest.raises(CompilerBug, match=says):
            verify(parse(LOOP.replace(old, new)), "soa")


def test_a_kernel_may_not_allocate_once_memory_is_expanded() -> None:
    text = """
entry main (n_1: i64) : (m_2: mem(f32), r_3: [n_1]f32 @ m_2 -> 0 + {(n_1: 1)}) =
  let (m_4: mem(f32)) = alloc(n_1, f32)
  let (ys_5: [n_1]f32 @ m_4 -> 0 + {(n_1: 1)}) =
    segmap @grid (i_6 < n_1) : (f32) ->
      let (t_7: mem(f32)) = alloc(n_1, f32)
      in (1.0f32)
  in (m_4, ys_5)
"""
    verify(parse(text), "funmem")
    with pytest.raises(CompilerBug, match="allocates"):
        verify(parse(text), "expanded")
    verify(parse(text.replace("alloc(n_1, f32)\n      in", "alloc(4, f32, private)\n      in")
                 .replace("t_7: mem(f32)", "t_7: mem(f32, private)")), "expanded")  # fmt: skip


def test_what_one_branch_consumes_may_be_returned_by_the_other() -> None:
    text = """
entry main [n_1] (xs_2: *[n_1]i32, c_3: bool) : (r_4: *[n_1]i32) =
  let (v_5: [n_1]i32) = reshape([n_1], xs_2)
  let (r_6: [n_1]i32) =
    if c_3
    then
      let (u_7: [n_1]i32) = xs_2 with [0] = 1i32
      in (u_7)
    else (v_5)
  let (w_8: [n_1]i32) = r_6 with [0] = 2i32
  in (w_8)
"""
    verify(parse(text), "soa")
    with pytest.raises(CompilerBug, match="used after"):
        verify(parse(text.replace("r_6 with [0]", "v_5 with [0]")), "soa")
