"""The shape of the core program: what vanishes, what is checked, where statements come from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from compiler.algebra.poly import MOST_OF_PRODUCT, Poly
from compiler.base.context import Ctx, Options
from compiler.base.names import base_of
from compiler.driver.pipeline import Compilation, verify
from compiler.frontend.check import check
from compiler.frontend.parser import parse
from compiler.ir import nodes
from compiler.ir.nodes import Function, Prog, Stm
from compiler.ir.values import parse as values
from compiler.ir.values import show
from compiler.ir.walk import all_stms
from compiler.lower.monomorphise import monomorphise
from compiler.lower.soa import soa
from compiler.semantics import interp
from testing.generators.families import multiplied_sizes, multiplied_sizes_in_place


def lowered(source: str, options: Options | None = None) -> Prog:
    ctx = Ctx(options or Options())
    prog = soa(monomorphise(check(parse(source), ctx), ctx), ctx)
    verify(prog, "soa")
    return prog


def main(prog: Prog) -> Function:
    return next(fun for fun in prog.funs if fun.entry)


def stms(prog: Prog) -> list[Stm]:
    return [stm for fun in prog.funs for stm in all_stms(fun.body.stms)]


def count(prog: Prog, form: type) -> int:
    return sum(isinstance(stm.exp, form) for stm in stms(prog))


def run(prog: Prog, text: str) -> list[str]:
    return [show(v) for v in interp.run(prog, "main", values(text))]


def test_zip_and_unzip_vanish() -> None:
    source = "entry main [n] (xs: [n]i32) (ys: [n]bool) = unzip (zip xs ys)"
    assert stms(lowered(source)) == []


def test_arrays_of_records_are_arrays_of_each_field() -> None:
    source = """
      type p = {a: i32, b: (bool, f32)}
      entry main [n] (ps: [n]p) = map (\\p -> p with b.0 = false) ps"""
    fun = main(lowered(source))
    assert [p.type for p in fun.params[1:]] == [
        nodes.Array(prim, (Poly.var(fun.params[0].name),)) for prim in ("i32", "bool", "f32")
    ]
    assert len(fun.results) == 3
    assert fun.implicit == 1


def test_map3_is_one_map() -> None:
    source = "entry main [n] (xs: [n]i32) = map3 (\\x y z -> x + y * z) xs xs xs"
    prog = lowered(source)
    assert [type(stm.exp) for stm in stms(prog)] == [nodes.Map]


@pytest.mark.parametrize(
    ("source", "checks"),
    [
        ("entry main [n] (xs: [n]i32) = loop s = 0 for i < n do s + xs[i]", 0),
        ("entry main [n] (xs: [n]i32) = loop s = 0 for i < n - 1 do s + xs[i + 1] - xs[i]", 0),
        ("entry main [n] (xs: [n]i32) = loop s = 0 for i < n do s + xs[i + 1]", 1),
        ("entry main [n] (xs: [n]i32) = tabulate n (\\i -> if i > 0 then xs[i - 1] else 0)", 0),
        ("entry main [n] (xs: [n]i32) = tabulate n (\\i -> if i > 1 then xs[i - 1] else 0)", 0),
        ("entry main [n] (xs: [n]i32) = tabulate n (\\i -> if i > 0 then xs[i - 2] else 0)", 1),
        ("entry main [n] (xs: [n]i32) (i: i64) = xs[i] + xs[i]", 1),
        ("entry main [n] (xs: [n]i32) (i: i64) = if 0 <= i && i < n then xs[i] else 0", 0),
        ("entry main [n] (xs: [n]i32) (i: i64) = if i + 1 < n && i >= 0 then xs[i + 1] else 0", 1),
        ("entry main [n] (xs: [n]i32) = loop s = 0 for i < i32.i64 n do s + xs[i]", 0),
        ("entry main [n] (xs: [n]i32) = tabulate n (\\i -> xs[i64.max 0 (i - 1)])", 0),
        ("entry main [n] (xs: [n]i32) (k: i64) = tabulate n (\\i -> xs[(i + k) % n])", 1),
        ("entry main [n] (xs: [n]i32) = tabulate n (\\i -> xs[i64.i8 (i8.i64 i)])", 1),
        ("entry main (x: i32) (y: i32) = x / y + x % y", 1),
        ("entry main (x: i32) = x / 2 + x % 3", 0),
        ("entry main (n: i64) = length (iota n) + reduce (+) 0 (iota n)", 1),
    ],
)
def test_checks_that_cannot_fail_are_left_out(source: str, checks: int) -> None:
    """What may wrap around is not believed: `i + 1 < n` does not say that `i + 1` is an index."""
    assert count(lowered(source), nodes.Assert) == checks


def test_unsafe_needs_the_option() -> None:
    source = "entry main [n] (xs: [n]i32) (i: i64) = #[unsafe] xs[i]"
    assert count(lowered(source), nodes.Assert) == 1
    assert count(lowered(source, Options(unsafe=True)), nodes.Assert) == 0


def test_nested_updates_are_one() -> None:
    prog = lowered("entry main [n] [m] (xs: *[n][m]i32) = xs with [0][1] = 5")
    updates = [stm.exp for stm in stms(prog) if isinstance(stm.exp, nodes.Update)]
    assert len(updates) == 1
    assert len(updates[0].dims) == 2
    assert count(prog, nodes.Slice) == 0


def test_updating_a_field_leaves_the_other_arrays_alone() -> None:
    prog = lowered("entry main [n] (xs: *[n](i32, bool)) = xs with [0] = (7, xs[0].1)")
    assert count(prog, nodes.Update) == 1


def test_an_update_in_a_loop_copies_nothing() -> None:
    source = """
      entry main [n] (xs: *[n]i32) (ys: [n]i32) =
        loop xs for i < n do
          let s = reduce (+) 0 (map2 (*) xs ys)
          let xs[i] = s
          in xs"""
    assert count(lowered(source), nodes.Copy) == 0


def test_a_map_that_moves_fields_is_copied_if_it_outlives_its_parts() -> None:
    source = """
      entry main [n] (xs: *[n]i32) (ys: [n]i32): ([n]i32, [n](i32, i32)) =
        let ps = map2 (\\x y -> (x, y)) xs ys
        let xs[0] = 9
        in (xs, ps)"""
    prog = lowered(source)
    assert run(prog, "[1, 2] [3, 4]") == ["[9i32, 2i32]", "[1i32, 2i32]", "[3i32, 4i32]"]


def test_a_map_that_moves_fields_may_be_consumed_though_its_parts_may_not() -> None:
    source = """
      entry main [n] (xs: [n]i32): ([n](i32, i32), [n]i32) =
        let ps = map (\\x -> (x, x)) xs
        in (ps with [0] = (8, 9), xs)"""
    prog = lowered(source)
    assert run(prog, "[1, 2]") == ["[8i32, 2i32]", "[9i32, 2i32]", "[1i32, 2i32]"]


def test_constants_are_evaluated_once_per_entry_point() -> None:
    source = """
      def table = map (\\i -> i * i) (iota 10)
      def at (i: i64): i64 = table[i % 10]
      entry main [n] (xs: [n]i64) = map (\\x -> at x + table[0]) xs"""
    prog = lowered(source)
    calls = [stm.exp.fun for stm in stms(prog) if isinstance(stm.exp, nodes.Call)]
    assert sum(name.startswith("table") for name in calls) == 1
    assert isinstance(main(prog).body.stms[0].exp, nodes.Call)
    assert run(prog, "[3i64, 12i64]") == ["[9i64, 4i64]"]


def test_results_of_unknown_size_come_with_it() -> None:
    source = "def f (xs: []i32) = filter (> 0) xs\nentry main (xs: []i32) = f xs"
    prog = lowered(source)
    for fun in prog.funs:
        assert [type(p.type) for p in fun.results] == [nodes.Scalar, nodes.Array]
    assert run(prog, "[1, -1, 2]") == ["[1i32, 2i32]"]


def test_branches_of_equal_size_need_no_size_result() -> None:
    prog = lowered(
        "entry main [n] (c: bool) (xs: [n]i32) = if c then map (+ 1) xs else map (+ 2) xs"
    )
    branches = [stm for stm in stms(prog) if isinstance(stm.exp, nodes.If)]
    assert [len(stm.pat) for stm in branches] == [1]


def test_cheap_scalar_branches_are_selected() -> None:
    prog = lowered("entry main (x: i32) = if x > 0 && x < 10 then x else -x")
    assert stms(prog) == []


def test_statements_know_the_users_text() -> None:
    source = "entry main [n] (xs: [n]f32) =\n  let s = f32.sum (map2 (*) xs xs)\n  in s / 2"
    prog = lowered(source)
    (product,) = [stm for stm in stms(prog) if isinstance(stm.exp, nodes.Map)]
    assert [span.line for span in product.prov] == [2]
    assert all(span.line and not span.file for stm in stms(prog) for span in stm.prov)


@pytest.mark.parametrize("call", ["replicate n 1i32", "iota n"])
def test_a_negative_size_is_told_at_the_call(call: str) -> None:
    (check,) = [
        stm
        for stm in stms(lowered(f"entry main (n: i64) = {call}"))
        if isinstance(stm.exp, nodes.Assert)
    ]
    assert [tuple(span[:4]) for span in check.prov] == [(1, 23, 1, 23 + len(call))]


def test_messages_show_values() -> None:
    from compiler.base.errors import RuntimeError_

    prog = lowered("entry main [n] (xs: [n][3]i32) (i: i64) = xs[i + 1, 1]")
    with pytest.raises(RuntimeError_) as caught:
        run(prog, "[[1, 2, 3]] 4i64")
    assert caught.value.message == "Index [5, 1] out of bounds for array of shape [1][3]."
    assert caught.value.span.col == 43


@pytest.mark.parametrize(
    ("body", "names"),
    [
        ("i32.sum (map (+ 1) points)", ["map", "red"]),
        ("map (+ 1) (transpose grid)[0]", ["grid", "grid_part", "map"]),
        ("i32.sum (reverse points)", ["points_part", "red"]),
        ("map (+ 1) (copy points)", ["points", "map"]),
        ("map (+ 1) (points with [0] = 2)", ["points", "map"]),
        ("map (+ 1) (windows 2 points)[0]", ["points_part", "points_part", "map"]),
        ("scatter (copy points) (indices points) points", ["points", "iota", "points"]),
    ],
)
def test_what_prelude_functions_are_given_is_called_after_the_programs_names(
    body: str, names: list[str]
) -> None:
    source = f"entry main (points: *[9]i32) (grid: [3][9]i32) = {body}"
    assert [base_of(p.name) for stm in main(lowered(source)).body.stms for p in stm.pat] == names


@pytest.mark.parametrize("family", [multiplied_sizes, multiplied_sizes_in_place])
def test_sizes_that_are_multiplied_and_added_again_and_again_stay_short(
    family: Callable[[int], str],
) -> None:
    prog = lowered(family(12))
    dims = {
        d
        for s in stms(prog)
        for p in s.pat
        if isinstance(p.type, nodes.Array)
        for d in p.type.shape
    }
    assert max(len(size.terms) for size in dims) <= MOST_OF_PRODUCT
    work = Compilation(family(6), Options(verify=True))
    n, m = 2, 1
    for _ in range(6):
        n, m = n + m, n * m
    for stage in ("soa", "fused", "flat"):
        found = interp.run(work.result(stage).prog, "main", values("[1u8, 2u8] [3u8]"))
        assert [len(np.asarray(x)) for x in found] == [n, m], stage
    work.result("cuda")
