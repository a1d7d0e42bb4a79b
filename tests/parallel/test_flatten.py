"""Flattening: pairs of programs, and equal values whichever code version runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from compiler.base.context import Ctx, Options
from compiler.base.errors import Limitation, RuntimeError_
from compiler.base.fuel import Fuel
from compiler.base.names import NameSource
from compiler.base.spans import Span
from compiler.driver.pipeline import Compilation, verify
from compiler.driver.targets import target_named
from compiler.ir.nodes import Body, Loop, Prog, Soac, Stm
from compiler.ir.parser import parse
from compiler.ir.printer import show_text
from compiler.ir.random_values import inputs
from compiler.ir.walk import all_stms, map_stms
from compiler.parallel import versions as versions_of
from compiler.parallel.flatten import flatten
from compiler.semantics import interp
from tests.cases import Case, Pass, check, compare, load, run
from tests.parallel.versions import compare_all, flat, kernels, thresholds, versions

FILE = Path(__file__).parent / "flatten.cases"
CASES = load(FILE)


def run_for(case: Case) -> Pass:
    """The pass, for the target that the case names."""
    target = (case.setting("target") or ["c"])[0]

    def run(prog: Prog, ctx: Ctx) -> Prog:
        ctx.target = target_named(target)
        return flatten(prog, ctx)

    return run


@pytest.mark.parametrize("case", CASES, ids=[c.title for c in CASES])
def test_case(case: Case, update: bool) -> None:
    check(FILE, case, run_for(case), ("fused", "flat"), update)


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize("case", CASES, ids=[c.title for c in CASES])
def test_every_version_gives_the_same_values(case: Case, target: str) -> None:
    before = parse(case.before)
    after, _ = flat(before, target)
    sizes = {k: int(v) for k, _, v in (w.partition("=") for w in case.setting("sizes"))}
    for seed in range(2):
        args = inputs(before.funs[0], sizes, seed).values
        compare_all(before, after, args)


def test_nothing_parallel_is_left_and_the_text_reads_back() -> None:
    for case in CASES:
        after, _ = flat(parse(case.before), "cuda")
        for stm in all_stms(after.funs[0].body.stms):
            assert not isinstance(stm.exp, Soac)
        assert show_text(parse(show_text(after))) == show_text(after)


def test_provenance_is_kept() -> None:
    prog = parse(CASES[1].before)
    spans = [Span(at + 1, 1, at + 1, 9) for at in range(50)]
    marked = mark(prog, iter(spans))
    after, _ = flat(marked, "c")
    for stm in all_stms(after.funs[0].body.stms):
        assert stm.prov, stm


def mark(node: Prog, spans: Iterator[Span]) -> Prog:
    """The program with a span of its own on every statement."""

    def stms(items: tuple[Stm, ...]) -> tuple[Stm, ...]:
        return tuple(Stm(s.pat, map_stms(s.exp, stms), (next(spans),)) for s in items)

    (fun,) = node.funs
    return Prog((replace(fun, body=Body(stms(fun.body.stms), fun.body.results)),))


SUMS = CASES[1].before


def test_without_versions_only_the_outer_parallelism_is_used() -> None:
    after, _ = flat(parse(SUMS), disabled=frozenset({"flatten/versions"}))
    assert thresholds(after) == []
    assert kernels(after) == ["SegMap"]


def test_without_fuel_the_program_still_becomes_flat() -> None:
    for case in CASES:
        before = parse(case.before)
        ctx = Ctx(Options(), NameSource(10_000), Fuel(0))
        after = flatten(before, ctx)
        verify(after, "flat")
        args = inputs(before.funs[0], {"n": 5, "m": 4, "k": 3}, 1).values
        compare(run(before, "main", args), run(after, "main", args))


def test_thresholds_are_numbered_in_order_of_text() -> None:
    for case in CASES:
        names = thresholds(flat(parse(case.before), "cuda")[0])
        numbers = [int(name.rpartition("_")[2]) for name in names]
        assert numbers == sorted(numbers)
        assert len(names) == len(set(names))


@pytest.mark.parametrize("n", [0, 1])
def test_empty_and_single_rows(n: int) -> None:
    for case in CASES:
        before = parse(case.before)
        after, _ = flat(before, "cuda")
        for m in (0, 1):
            args = inputs(before.funs[0], {"n": n, "m": m, "k": 0}, 3).values
            compare_all(before, after, args)


def test_a_failing_check_fails_in_every_version() -> None:
    before = parse(next(c.before for c in CASES if "in-place" in c.title))
    after, _ = flat(before)
    args = [np.ones((3, 2), np.int64), np.array([0, 3, 1])]
    for setting in versions(after):
        with pytest.raises(RuntimeError_, match="bad 3"):
            interp.run(after, "main", args, thresholds=setting)


DIVIDED = r"""
entry main [n_1, m_2] (xss_3: [n_1][m_2]i64, k_4: i64) : (r_5: [n_1][m_2]i64) =
  let (r_6: [n_1][m_2]i64) =
    map [n_1] (xss_3)
      \(row_7: [m_2]i64) : ([m_2]i64) ->
        assert(k_4 != 0i64, "division by zero")
        let (e_8: [m_2]i64) =
          loop (l_9: [m_2]i64) = (row_7)
          for i_10: i64 < 6i64 / k_4 do
            let (s_11: [m_2]i64) = map [m_2] (l_9) \(x_12: i64) : (i64) -> (x_12 + i_10 / k_4)
            in (s_11)
        in (e_8)
  in (r_6)
"""


def test_what_can_fail_is_not_computed_for_no_elements() -> None:
    before = parse(DIVIDED)
    after, _ = flat(before)
    stms = after.funs[0].body.stms
    assert not any(isinstance(s.exp, Loop) for s in stms)
    for n, k in ((0, 0), (2, 0), (2, 3)):
        compare_all(before, after, [np.ones((n, 3), np.int64), np.int64(k)])


QUOTIENT = r"""
entry main [n_1, m_2] (xss_3: [n_1][m_2]i64, k_4: i64) : (r_5: [n_1]i64) =
  let (r_6: [n_1]i64) =
    map [n_1] (xss_3)
      \(row_7: [m_2]i64) : (i64) ->
        assert(k_4 != 0i64, "division by zero")
        assert(m_2 % k_4 == 0i64, "rest ", m_2 % k_4)
        let (q_8: i64) = m_2 / k_4
        assert(q_8 >= 0i64, "size ", q_8)
        let (is_9: [q_8]i64) = iota(q_8, 0i64, 1i64)
        let (s_10: i64) =
          reduce [q_8] (is_9)
            op (0i64) comm \(a_11: i64, b_12: i64) : (i64) -> (a_11 + b_12)
            map \(i_13: i64) : (i64) ->
              let (x_14: i64) = row_7[i_13 * k_4]
              in (x_14)
        in (s_10)
  in (r_6)
"""


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_a_size_that_is_a_quotient_is_the_same_in_all_threads(target: str) -> None:
    before = parse(QUOTIENT)
    after, _ = flat(before, target)
    assert "segred" in show_text(after)
    for n, k in ((0, 0), (0, 2), (2, 2), (2, 6)):
        compare_all(before, after, [np.arange(6 * n).reshape(n, 6), np.int64(k)])
    for k, message in ((0, "division by zero"), (4, "rest 2"), (-2, "size -3")):
        for setting in versions(after):
            with pytest.raises(RuntimeError_, match=message):
                interp.run(
                    after, "main", [np.ones((2, 6), np.int64), np.int64(k)], thresholds=setting
                )


def test_a_call_inside_of_a_map_is_a_limitation() -> None:
    text = r"""
fun f_1 (x_2: i64) : (r_3: i64) = (x_2)
entry main [n_4, m_5] (xss_6: [n_4][m_5]i64) : (r_7: [n_4]i64) =
  let (r_8: [n_4]i64) =
    map [n_4] (xss_6)
      \(xs_9: [m_5]i64) : (i64) ->
        let (s_10: i64) =
          reduce [m_5] (xs_9)
            op (0i64) comm \(a_11: i64, b_12: i64) : (i64) -> (a_11 + b_12)
            map \(x_13: i64) : (i64) -> (x_13)
        let (y_14: i64) = call f_1(s_10)
        in (y_14)
  in (r_8)
"""
    with pytest.raises(Limitation):
        flatten(parse(text), Ctx(names=NameSource(100)))


@pytest.mark.parametrize("depth", [40])
def test_versions_grow_with_depth_only(depth: int) -> None:
    """A map in a map in a map ..: as many versions as levels, not two to their power."""
    after, _ = flat(parse(tower(depth)), "c")
    assert len(thresholds(after)) <= depth
    assert len(kernels(after)) <= 3 * depth


def tower(depth: int) -> str:
    """Nested maps with a reduction beside each."""
    shape = "[n_1]" * depth
    lines = [f"entry main [n_1] (x_2: {shape}i64) : (r_3: {shape}i64) ="]
    for at in range(depth - 1):
        pad, row = "  " * (at + 1), "[n_1]" * (depth - at - 1)
        name = "x_2" if at == 0 else f"p_{10 * at}"
        lines.append(f"{pad}let (y_{10 * at + 11}: [n_1]{row}i64) = map [n_1] ({name})")
        lines.append(f"{pad}  \\(p_{10 * at + 10}: {row}i64) : ({row}i64) ->")
    pad = "  " * depth
    last = f"p_{10 * (depth - 1)}"
    lines.append(f"{pad}let (s_5: [n_1]i64) = scan [n_1] ({last}) op (0i64)")
    lines.append(f"{pad}  \\(a_6: i64, b_7: i64) : (i64) -> (a_6 + b_7)")
    lines.append(f"{pad}  map \\(x_8: i64) : (i64) -> (x_8)")
    lines.append(f"{pad}in (s_5)")
    for at in reversed(range(depth - 1)):
        lines.append("  " * (at + 1) + f"in (y_{10 * at + 11})")
    return "\n".join(lines)


def test_nested_branches_take_no_exponential_time() -> None:
    depth = 40
    lines = [
        "entry main [n_1, m_2] (xss_3: [n_1][m_2]i64, c_4: i64) : (r_5: [n_1][m_2]i64) =",
        "let (r_6: [n_1][m_2]i64) = map [n_1] (xss_3) \\(row_7: [m_2]i64) : ([m_2]i64) ->",
        *(f"let (v_{100 + k}: [m_2]i64) = if c_4 < {k}i64 then" for k in range(depth)),
        "let (s_8: [m_2]i64) = map [m_2] (row_7) \\(x_9: i64) : (i64) -> (x_9 + 1i64) in (s_8)",
        *(f"else (row_7) in (v_{100 + k})" for k in reversed(range(depth))),
        "in (r_6)",
    ]
    before = parse("\n".join(lines))
    after, _ = flat(before)
    assert kernels(after) == ["SegMap", "SegMap"]
    for c in (5, 50, -1):
        compare_all(before, after, [np.arange(6).reshape(2, 3), np.int64(c)])


@pytest.mark.parametrize(
    ("source", "target", "is_last"),
    [
        ("def main [n][m] (a: [n][m]i32) = map (scan (+) 0) a", "cuda", True),
        ("def main [n][m] (a: [n][m]i32) = map (\\r -> i32.sum (map (* 2) r) + 1) a", "cuda", True),
        ("def main [n][m] (a: [n][m]i32) = map (scan (+) 0 >-> i32.sum) a", "cuda", True),
        ("def main [n][m] (a: [n][m]i32) = map (scan (+) 0) a", "c", False),
        ("def main [n][m] (a: [n][m]i32) = map (scan (+) 0) (transpose a)", "cuda", False),
        (
            "def main [n][m] (a: [n][m]i32) (b: [m]i32) = map (\\r -> i32.sum (map2 (*) r b)) a",
            "cuda",
            False,
        ),
        (
            "def main [n][m][p] (a: [n][m]f32) (b: [m][p]f32) ="
            " map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) (transpose b)) a",
            "cuda",
            False,
        ),
        (
            "def main [n][m] (a: [n][m]i32) = map (\\r -> scan (+) (i32.sum r) r) a",
            "cuda",
            False,
        ),
    ],
)
def test_a_thread_for_each_row_is_the_last_choice_where_rows_lie_together(
    source: str, target: str, is_last: bool
) -> None:
    text = show_text(Compilation(source, Options(target=target)).result("flat").prog)
    found = re.findall(r'threshold\("suff_outer_0", [^,]*, (\d+)\)', text)
    assert [int(default) == versions_of.NEVER for default in found] == [is_last]
