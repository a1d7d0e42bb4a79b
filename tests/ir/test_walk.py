# ruff: noqa: E501
"""Names, substitution and renaming, and what expressions consume and alias."""

from __future__ import annotations

import pytest

from compiler.algebra.poly import Poly
from compiler.base.errors import CompilerBug
from compiler.base.names import NameSource
from compiler.driver.pipeline import verify
from compiler.ir import walk
from compiler.ir.aliases import aliases, consumed
from compiler.ir.counts import counts
from compiler.ir.nodes import Lit, Prog, Stm, Var
from compiler.ir.parser import parse
from compiler.ir.printer import show_text
from tests.ir.programs import ALL, KERNELS, MEMORY, SOACS


def stm_of(text: str, name: str) -> Stm:
    return next(
        stm
        for fun in parse(text).funs
        for stm in walk.all_stms(fun.body.stms)
        if any(p.name == name for p in stm.pat)
    )


def test_free_names_include_those_in_types() -> None:
    assert walk.free(stm_of(SOACS, "d_21")) == {"n_10", "xs_12"}
    assert walk.free(stm_of(SOACS, "big_61")) == {"n_10", "m_11", "c_57", "d_21", "p_28"}
    assert walk.free(stm_of(MEMORY, "rev_8")) == {"n_1", "xs_mem_2", "xs_3"}
    assert walk.free(stm_of(KERNELS, "d_22")) == {"n_1", "s_15", "d_4"}
    assert walk.free(parse(SOACS).funs) == set()


def test_uses_and_bindings() -> None:
    stm = stm_of(SOACS, "s_24")
    assert walk.bound(stm) == ["s_24", "a_25", "b_26", "x_27"]
    assert walk.count_uses(stm) == {"n_10": 1, "d_21": 1, "a_25": 1, "b_26": 1, "x_27": 1}


@pytest.mark.parametrize("text", ALL.values(), ids=ALL)
def test_renaming_gives_the_same_program_under_other_names(text: str) -> None:
    prog = parse(text)
    names = NameSource(1000)
    other = Prog(tuple(walk.rename(fun, names.fresh) for fun in prog.funs))
    old, new = walk.bound(prog.funs), walk.bound(other.funs)
    assert len(old) == len(new)
    assert not set(old) & set(new)
    back = Prog(
        tuple(walk.rename(fun, names.fresh, dict(zip(new, old, strict=True))) for fun in other.funs)
    )
    assert back == prog
    assert show_text(back) == show_text(prog)


def test_nothing_changes_nothing() -> None:
    prog = parse(SOACS)
    assert walk.subst(prog, {"nowhere_1": Lit(1, "i64")}) is prog
    assert walk.subst(prog, {}) is prog
    for stm in walk.all_stms(prog.funs[1].body.stms):
        assert walk.map_stms(stm.exp, lambda stms: stms) is stm.exp


@pytest.mark.parametrize("text", ALL.values(), ids=ALL)
def test_what_goes_only_where_names_are_mentioned_substitutes_the_same(text: str) -> None:
    prog = parse(text)
    for name in [*walk.bound(prog.funs), *(p.name for fun in prog.funs for p in fun.params)]:
        for fun in prog.funs:
            new = walk.subst_mentioned(fun.body, {name: "other_1"})
            assert new == walk.subst(fun.body, {name: "other_1"})
            kept = [stm for stm in fun.body.stms if name not in walk.mentioned(stm)]
            assert all(any(stm is one for one in new.stms) for stm in kept)


def test_substitution_reaches_sizes_operands_and_lmads() -> None:
    stm = stm_of(SOACS, "big_61")
    new = walk.subst(stm, {"n_10": Lit(8, "i64"), "d_21": "e_1", "c_57": Lit(True, "bool")})
    assert walk.free(new) == {"m_11", "e_1", "p_28"}
    new = walk.subst(stm_of(MEMORY, "rev_8"), {"n_1": Poly.var("a_1") * 2, "xs_mem_2": "b_1"})
    assert "[2*a_1]f32 @ b_1 -> 2*a_1 - 1 + {(2*a_1: -1)}" in show_stm(new)
    half = parse("entry main (n_1: i64) : (r_2: i64) = (n_1 / 2i64)").funs[0].body.results[0]
    with pytest.raises(CompilerBug, match="cannot become"):
        walk.subst(stm, {"n_10": half})
    with pytest.raises(CompilerBug, match="cannot become"):
        walk.subst(stm, {"p_28": Lit(8, "i64")})
    assert walk.subst(Var("x_1", "i32"), {"x_1": "y_2"}) == Var("y_2", "i32")


def show_stm(stm: Stm) -> str:
    from compiler.ir.printer import show_stm as show

    return show(stm)


def test_consumption() -> None:
    assert consumed(stm_of(SOACS, "sc_35").exp) == ("z_33",)
    assert consumed(stm_of(SOACS, "h_39").exp) == ("hz_38",)
    assert consumed(stm_of(SOACS, "up_45").exp) == ("yss_13",)
    assert consumed(stm_of(SOACS, "row_43").exp) == ()
    assert consumed(stm_of(KERNELS, "d_22").exp) == ("d_4",)
    assert consumed(stm_of(KERNELS, "h_32").exp) == ("z_31",)


INNER = r"""
entry main [n_1] (xss_2: *[n_1][n_1]i32, ys_3: *[n_1]i32, c_4: bool) : (r_5: [n_1][n_1]i32, s_6: [n_1]i32) =
  let (a_7: [n_1][n_1]i32) =
    map [n_1] (xss_2)
      \(xs_8: [n_1]i32) : ([n_1]i32) ->
        let (v_9: [n_1]i32) = xs_8[0:+n_1]
        let (b_10: [n_1]i32) = v_9 with [0] = 1i32
        in (b_10)
  let (d_11: [n_1]i32) =
    if c_4
    then
      let (w_12: [n_1]i32) = reshape([n_1], ys_3)
      let (e_13: [n_1]i32) = w_12 with [0] = 1i32
      in (e_13)
    else (ys_3)
  in (a_7, d_11)
"""


def test_consumption_inside_bodies_reaches_what_is_outside() -> None:
    assert consumed(stm_of(INNER, "a_7").exp) == ("xss_2",)
    assert consumed(stm_of(INNER, "d_11").exp) == ("ys_3",)
    # What one branch consumes belongs to the result, also where the other returns it as it is.
    assert aliases(stm_of(INNER, "d_11")) == (frozenset(),)
    assert aliases(stm_of(INNER, "a_7")) == (frozenset(),)
    verify(parse(INNER), "soa")


def test_aliases() -> None:
    assert aliases(stm_of(SOACS, "row_43")) == (frozenset({"yss_13"}),)
    assert aliases(stm_of(SOACS, "row_44")) == (frozenset(),)
    assert aliases(stm_of(SOACS, "big_61")) == (frozenset({"p_28"}),)


def test_counts() -> None:
    found = counts(parse(SOACS))
    wanted = {"map": 1, "reduce": 1, "scan": 1, "scatter": 1, "hist": 1, "loop": 3, "if": 1}
    wanted |= {"stream": 1}
    assert wanted.items() <= found.items()
    # Two copies, an update with a row and a concatenation.
    assert found["copy"] == 4
    found = counts(parse(KERNELS))
    assert {
        "segmap": 4,
        "segred": 1,
        "segscan": 1,
        "seghist": 1,
        "copy": 0,
    }.items() <= found.items()
    assert counts(parse(MEMORY))["alloc"] == 2


PLACES = """
entry main (n_1: i64, m_2: mem(i32), xs_3: [n_1]i32 @ m_2 -> 0 + {(n_1: 1)})
  : (m_4: mem(i32), r_5: [2*n_1]i32 @ m_4 -> 0 + {(2*n_1: 1)}) =
  let (k_6: i64) = 2i64 * n_1
  let (m_7: mem(i32)) = alloc(2*n_1, i32)
  let (a_8: [n_1]i32 @ m_7 -> 0 + {(n_1: 1)}) =
    segmap @grid (i_9 < n_1) : (i32) -> (1i32)
  let (b_10: [n_1]i32 @ m_7 -> n_1 + {(n_1: 1)}) = copy(xs_3)
  let (c_11: [k_6]i32 @ m_7 -> 0 + {(k_6: 1)}) = concat(a_8, b_10)
  in (m_7, c_11)
"""


def test_with_memory_a_copy_is_what_changes_places() -> None:
    verify(parse(PLACES), "funmem")
    assert counts(parse(PLACES))["copy"] == 1
    moved = PLACES.replace("b_10: [n_1]i32 @ m_7 -> n_1 +", "b_10: [n_1]i32 @ m_7 -> 0 +")
    assert counts(parse(moved))["copy"] == 2
    rows = """
entry main (n_1: i64) : (m_2: mem(i32), r_3: [n_1][4]i32 @ m_2 -> 0 + {(n_1: 4), (4: 1)}) =
  let (m_4: mem(i32)) = alloc(4*n_1, i32)
  let (r_5: [n_1][4]i32 @ m_4 -> 0 + {(n_1: 4), (4: 1)}) =
    segmap @grid (i_6 < n_1) : ([4]i32) ->
      let (row_7: [4]i32 @ m_4 -> 4*i_6 + {(4: 1)}) = iota(4, 0i32, 1i32)
      in (row_7)
  in (m_4, r_5)
"""
    verify(parse(rows), "funmem")
    assert counts(parse(rows))["copy"] == 0
    assert counts(parse(rows.replace("-> 4*i_6", "-> 2*i_6")))["copy"] == 1


@pytest.mark.parametrize("text", ALL.values(), ids=ALL)
def test_what_is_mentioned_is_every_use(text: str) -> None:
    """Whatever is asked first: what is inside of a statement keeps what was found."""
    for fun in parse(text).funs:
        for stm in (*fun.body.stms, *walk.all_stms(fun.body.stms)):
            used: set[str] = set()
            walk.visit(stm, used.add, lambda name: None)
            assert walk.mentioned(stm) == walk.mentioned(stm) == used
