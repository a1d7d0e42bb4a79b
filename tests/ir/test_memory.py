"""Where arrays lie (`compiler/ir/memory`): right programs pass, wrong ones are found out."""

from __future__ import annotations

import random
from contextlib import suppress
from itertools import permutations

import numpy as np
import pytest

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.context import Options
from compiler.base.errors import CompilerBug, RuntimeError_
from compiler.driver.pipeline import BY_ID
from compiler.ir.memory import check, decide
from compiler.ir.parser import parse
from compiler.semantics import heap, interp
from testing.campaign import Difference, same
from testing.compiling import compiled
from testing.generators import storage
from tests.ir.memory_mutants import mutants

HEAD = """entry main [n_1] (a_mem_2: mem(i64), a_3: [n_1]i64 @ a_mem_2 -> 0 + {(n_1: 1)})
  : (r_mem_4: mem(i64), r_5: *[n_1]i64 @ r_mem_4 -> 0 + {(n_1: 1)}) =
  let (m_6: mem(i64)) = alloc(2*n_1, i64)
  let (b_7: [n_1]i64 @ m_6 -> 0 + {(n_1: 1)}) = copy(a_3)
"""
BEHIND = "n_1 + {(n_1: 1)}"
TAIL = """  let (o_20: mem(i64)) = alloc(n_1, i64)
  let (r_21: [n_1]i64 @ o_20 -> 0 + {(n_1: 1)}) =
    segmap @grid (i_22 < n_1) : (i64) ->
      let (x_23: i64) = b_7[i_22]
      let (y_24: i64) = c_8[i_22]
      in (x_23 + y_24)
  in (o_20, r_21)
"""
COPIED = "  let (c_8: [n_1]i64 @ m_6 -> {}) = copy(a_3)\n"
THREADS = """  let (c_8: [n_1]i64 @ m_6 -> {}) =
    segmap @grid (i_9 < n_1) : (i64) ->
      let (x_10: i64) = b_7[{}]
      in (x_10)
"""
ROWS = """entry main [n_1, m_2]
    (a_mem_3: mem(i64), a_4: [n_1][m_2]i64 @ a_mem_3 -> 0 + {(n_1: m_2), (m_2: 1)})
  : (r_mem_5: mem(i64), r_6: *[n_1][m_2]i64 @ r_mem_5 -> 0 + {(n_1: m_2), (m_2: 1)}) =
  let (o_7: mem(i64)) = alloc(n_1*m_2, i64)
  let (r_8: [n_1][m_2]i64 @ o_7 -> WHOLE) =
    segmap @grid (i_9 < n_1) : ([m_2]i64) ->
      let (s_10: [m_2]i64 @ o_7 -> PLACE) = scratch([m_2]i64)
      let (s_11: [m_2]i64 @ o_7 -> PLACE) =
        loop (s_12: *[m_2]i64 @ o_7 -> PLACE) = (s_10)
        for k_13: i64 < m_2 do
          let (s_14: [m_2]i64 @ o_7 -> PLACE) = s_12 with [k_13] = k_13
          in (s_14)
      in (s_11)
  in (o_7, r_8)
"""


def says(text: str) -> str:
    """What is wrong with a program; "open" where that is not known, "" where nothing is."""
    try:
        tally = check(parse(text), "test")
    except CompilerBug as error:
        return error.message
    return "open" if tally.open else ""


@pytest.mark.parametrize(
    ("place", "found"),
    [
        (BEHIND, ""),
        ("2*n_1 - 1 + {(n_1: -1)}", ""),
        ("n_1 - 1 + {(n_1: 1)}", "while `b_7` is needed"),
        ("0 + {(n_1: 2)}", "while `b_7` is needed"),
        ("n_1 + 1 + {(n_1: 1)}", "`c_8` is outside of `m_6`"),
        ("n_1 - 1 + {(n_1: -1)}", "while `b_7` is needed"),
        ("-1 + {(n_1: 1)}", "`c_8` is outside of `m_6`"),
    ],
)
def test_an_array_stays_in_its_block_and_off_those_that_are_needed(place: str, found: str) -> None:
    said = says(HEAD + COPIED.format(place) + TAIL)
    assert found in said
    assert bool(said) == bool(found), said


@pytest.mark.parametrize(
    ("place", "at", "found"),
    [
        (BEHIND, "i_9", ""),
        (BEHIND, "n_1 - i_9 - 1", ""),
        ("0 + {(n_1: 1)}", "i_9", "while `b_7` is needed"),
        ("0 + {(n_1: 1)}", "n_1 - i_9 - 1", "two threads meet"),
    ],
)
def test_threads_stay_off_what_others_read(place: str, at: str, found: str) -> None:
    said = says(HEAD + THREADS.format(place, at) + TAIL)
    assert found in said
    assert bool(said) == bool(found), said


def test_in_place_each_thread_may_read_what_it_overwrites() -> None:
    text = HEAD + THREADS.format("0 + {(n_1: 1)}", "i_9")
    assert not says(text + TAIL.replace("b_7[i_22]", "c_8[i_22]"))
    text = HEAD + THREADS.format("0 + {(n_1: 1)}", "n_1 - i_9 - 1")
    assert "two threads meet" in says(text + TAIL.replace("b_7[i_22]", "c_8[i_22]"))


IN_ORDER = "0 + {(n_1: m_2), (m_2: 1)}"


@pytest.mark.parametrize(
    ("whole", "place", "found"),
    [
        (IN_ORDER, "i_9*m_2 + {(m_2: 1)}", ""),
        ("m_2 - 1 + {(n_1: m_2), (m_2: -1)}", "i_9*m_2 + m_2 - 1 + {(m_2: -1)}", ""),
        ("0 + {(n_1: 1), (m_2: n_1)}", "i_9 + {(m_2: n_1)}", ""),
        (IN_ORDER, "0 + {(m_2: 1)}", "two threads meet"),
        (IN_ORDER, "i_9 + {(m_2: n_1)}", "two threads meet"),
        (IN_ORDER, "i_9 + {(m_2: 1)}", "two threads meet"),
        (IN_ORDER, "i_9*m_2 + m_2 - 1 + {(m_2: -1)}", "while `s_11` is needed"),
        (IN_ORDER, "i_9*m_2 + m_2 + {(m_2: 1)}", "outside of `o_7`"),
    ],
)
def test_rows_of_threads(whole: str, place: str, found: str) -> None:
    said = says(ROWS.replace("PLACE", place).replace("WHOLE", whole))
    assert found in said
    assert bool(said) == bool(found), said


def test_blocks_that_change_places_in_a_loop_are_never_one() -> None:
    source = (
        "entry main [n] (t: i64) (xs: [n]i32) = loop ys = xs for _i < t do "
        "tabulate n (\\i -> ys[i] + ys[n - i - 1])"
    )
    for target in ("c", "cuda"):
        work = compiled(source, Options(target=target))
        assert not check(work.result("merged").prog, "merged").open


@pytest.mark.parametrize("seed", [2, 6, 8, 9])
def test_programs_that_go_wrong_are_never_taken_for_right(seed: int) -> None:
    """Two blocks become one, or one gets smaller: where a run shows it, so does the check."""
    made = storage.program(seed)
    work = compiled(made.source)
    wanted = [interp.run(work.result("soa").prog, made.name, args) for args in made.inputs]
    prog = work.result("merged").prog
    assert not check(prog, "merged").open
    wrong = 0
    for mutant in mutants(prog, BY_ID["merged"].form, random.Random(seed), 4):
        try:
            for args, want in zip(made.inputs, wanted, strict=True):
                same(heap.run(mutant, made.name, args)[0], want, "heap")
            continue
        except (CompilerBug, Difference, RuntimeError_):
            wrong += 1
        with suppress(CompilerBug):
            assert check(mutant, "merged").open, "all questions were proved"
    assert wrong


@pytest.mark.parametrize("pieces", [30, 60])
def test_questions_grow_with_the_program(pieces: int) -> None:
    parts = " ++ ".join(f"map (+ {k}) xs" for k in range(pieces))
    work = compiled(f"entry main [n] (xs: [n]i32) = {parts}", Options(target="cuda"))
    tally = check(work.result("merged").prog, "merged")
    assert tally.proved <= 60 * pieces


@pytest.mark.parametrize(
    ("condition", "found"),
    [
        ("false", ""),
        ("n_1 < n_1", ""),
        ("n_1 == 0i64", ""),
        ("true", "`r_9` is outside of `m_6`"),
        ("n_1 < 3i64", "`r_9` is outside of `m_6`"),
    ],
)
def test_where_no_run_comes_nothing_is_wrong(condition: str, found: str) -> None:
    text = (
        "entry main [n_1] (a_mem_2: mem(i64), a_3: [n_1]i64 @ a_mem_2 -> 0 + {(n_1: 1)})\n"
        "  : (s_4: i64) =\n"
        "  let (m_6: mem(i64)) = alloc(0, i64)\n"
        "  let (b_7: [0]i64 @ m_6 -> 0 + {(0: 1)}) = replicate([0], 0i64)\n"
        f'  assert({condition}, "no")\n'
        "  let (r_9: [n_1]i64 @ m_6 -> 0 + {(n_1: 1)}) = reshape([n_1], b_7)\n"
        "  let (x_10: i64) = r_9[0]\n"
        "  in (x_10)\n"
    )
    said = says(text)
    assert found in said
    assert bool(said) == bool(found), said


def test_a_write_behind_a_condition_is_not_taken_for_all_rounds_of_its_loop() -> None:
    """A scatter of a row: every other cell, as long as it is inside."""
    text = (
        ROWS.replace("WHOLE", "n_1*m_2 - m_2 + {(n_1: -m_2), (m_2: 1)}")
        .replace(
            "          let (s_14: [m_2]i64 @ o_7 -> PLACE) = s_12 with [k_13] = k_13\n",
            "          let (at_15: i64) = k_13 * 2i64 - 1i64\n"
            "          let (s_14: [m_2]i64 @ o_7 -> PLACE) =\n"
            "            if at_15 >= 0i64 && at_15 < m_2\n"
            "            then\n"
            "              let (s_16: [m_2]i64 @ o_7 -> PLACE) = s_12 with [at_15] = k_13\n"
            "              in (s_16)\n"
            "            else (s_12)\n",
        )
        .replace("PLACE", "-i_9*m_2 + n_1*m_2 - m_2 + {(m_2: 1)}")
    )
    assert says(text) in ("", "open")


def test_what_holds_in_one_branch_is_not_taken_to_hold_in_the_other() -> None:
    part = (
        "      let (r_{0}: [n_1]i64 @ m_6 -> 0 + {{(n_1: 1)}}) = copy(a_3)\n"
        "      let (x_{0}0: i64) = r_{0}[0]\n"
        "      in (x_{0}0)\n"
    )
    text = (
        "entry main [n_1] (a_mem_2: mem(i64), a_3: [n_1]i64 @ a_mem_2 -> 0 + {(n_1: 1)})\n"
        "  : (s_4: i64) =\n"
        "  let (m_6: mem(i64)) = alloc(3, i64)\n"
        "  let (s_5: i64) =\n"
        "    if n_1 <= 3i64\n"
        f"    then\n{part.format(8)}"
        f"    else\n{part.format(9)}"
        "  in (s_5)\n"
    )
    assert "`r_9` is outside of `m_6`" in says(text)
    assert not says(text.replace(part.format(9), "      in (0i64)\n"))


@pytest.mark.parametrize("order", list(permutations("ijkl")))
def test_blocks_of_a_matrix_are_told_apart_whatever_the_order_of_names(
    order: tuple[str, ...],
) -> None:
    """Rows of a block, and blocks of a row: neither stride is told to be the larger one."""
    b, n, q = map(Poly.var, "bnq")
    cells = Lmad(b * n * Poly.var("i") + b * Poly.var("j") + n * Poly.var("k") + Poly.var("l"), ())
    ranges = {name: b if name in "kl" else q for name in order}
    facts = (n - b * q, b * q - n, b - 1, q - 1)
    assert decide.one_each(cells, ranges, lambda: facts)
    assert not decide.one_each(cells, {**ranges, "j": q + 1}, lambda: facts)


WRAPPED = """entry main [n_1] (k_2: i64, l_3: i64, a_mem_4: mem(i64),
    a_5: [n_1]i64 @ a_mem_4 -> 0 + {(n_1: 1)})
  : (r_mem_6: mem(i64), r_7: *[n_1]i64 @ r_mem_6 -> 0 + {(n_1: 1)}) =
  assert(LARGE, "small")
  let (t_8: i64) = k_2 * l_3
  assert(t_8 >= 0i64 && t_8 < n_1, "no index")
  let (m_9: mem(i64)) = alloc(n_1 + 1, i64)
  let (b_10: [n_1]i64 @ m_9 -> 0 + {(n_1: 1)}) = copy(a_5)
  let (c_8: [n_1]i64 @ m_9 -> 1 + {(n_1: 1)}) = copy(a_5)
""" + TAIL.replace("b_7", "b_10")
LARGE = "k_2 >= 4294967296i64 && l_3 >= 4294967296i64 && n_1 < 1000i64"


def test_a_strict_check_believes_in_no_product_that_may_wrap() -> None:
    """A run comes there: with `k` = `l` = 2^32, of which the product is 0."""
    prog = parse(WRAPPED.replace("LARGE", LARGE))
    assert check(prog, "merged").open == []
    assert check(prog, "merged", strict=True).open == ["`c_8` apart from `b_10`"]
    args = [np.int64(1 << 32), np.int64(1 << 32), np.arange(3)]
    with pytest.raises(Difference):
        same(heap.run(prog, "main", args), interp.run(prog, "main", args), "heap")


def test_a_strict_check_knows_what_does_not_wrap() -> None:
    text = WRAPPED.replace("LARGE", "true").replace("n_1 + 1, i64", "2*n_1, i64")
    prog = parse(text.replace("m_9 -> 1", "m_9 -> n_1"))
    assert check(prog, "merged", strict=True).open == []
