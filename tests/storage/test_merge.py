"""Blocks share memory where their lives are apart, and only there; the values stay."""

from __future__ import annotations

import random
import re
from pathlib import Path

import numpy as np
import pytest

from compiler.base.context import Ctx, Options
from compiler.base.errors import RuntimeError_
from compiler.base.fuel import Fuel
from compiler.base.names import NameSource, base_of
from compiler.base.text import plain
from compiler.codegen.c import program as c
from compiler.codegen.to_imp import to_imp
from compiler.driver.pipeline import Compilation, verify
from compiler.explain.graph import interference
from compiler.ir import printer
from compiler.ir.nodes import Alloc, Prog
from compiler.ir.parser import parse
from compiler.ir.sharing import Classes
from compiler.ir.values import Value, show
from compiler.ir.walk import all_stms
from compiler.protocol.polynomials import shown
from compiler.runtime import runner
from compiler.semantics import heap, interp
from compiler.storage.merge import merge
from testing import blocks
from testing.compiling import compiled
from testing.generators.programs import program
from tests.storage.helpers import ALL, arguments, expanded

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))
TARGETS = ("c", "cuda")
CHAIN = """
entry main [n] (xs: [n]i32): [n]i32 =
  let a = scan (+) 0 xs
  let b = scan (+) 0 (map (* 2) a)
  let c = scan (+) 0 (map (+ 1) b)
  in scan (+) 0 (map (* 3) c)
"""
USED_LATER = """
entry main [n] (xs: [n]i32): [n]i32 =
  let a = scan (+) 0 xs
  let b = scan (+) 0 (map (* 2) a)
  let c = scan (+) 0 (map (+ 1) b)
  in scan (+) 0 (map3 (\\x y z -> x + y + z) a b c)
"""
OTHER_TYPE = """
entry main [n] (xs: [n]i32): [n]i32 =
  let a = scan (+) 0 xs
  let b = scan (+) 0 (map i64.i32 a)
  let c = scan (+) 0 (map f32.i64 b)
  in map i32.f32 (scan (+) 0 c)
"""
OTHER_SIZE = """
entry main [n] [m] (xs: [n]i32) (ys: [m]i32): i32 =
  let a = scan (+) 0 xs
  let s = reduce (+) 0 (scan (+) 0 (map (* a[0]) a))
  let t = scan (+) 0 (map (+ s) ys)
  in reduce (*) 1 (scan (+) 0 t)
"""
SMALLER = """
entry main [n] (xs: [n]i32): i32 =
  let t = reduce (*) 1 (scan (+) 0 (map (* 3) (concat xs xs)))
  let d = scan (+) 0 (map (+ t) xs)
  in reduce (+) 0 (map (* 3) (scan (+) 0 d))
"""
IN_LOOP = """
entry main [n] (xs: [n]i32) (k: i32): [n]i32 =
  loop ys = copy xs for i < k do
    let a = scan (+) 0 (map (+ i) ys)
    let b = scan (+) 0 (map (* 2) a)
    let c = scan (+) 0 (map (+ 1) b)
    in scan (+) 0 (map2 (+) c ys)
"""
PROGRAMS = {
    "chain": CHAIN,
    "used later": USED_LATER,
    "other type": OTHER_TYPE,
    "other size": OTHER_SIZE,
    "smaller": SMALLER,
    "in loop": IN_LOOP,
}


def before(source: str, target: str = "c") -> Prog:
    prog = compiled(source, Options(target=target)).result("expanded").prog
    assert isinstance(prog, Prog)
    return prog


def inputs(source: str, seed: int) -> list[Value]:
    """Small arguments; before memory is introduced, parameters are the external values."""
    return arguments(compiled(source).result("flat").prog, seed)


def allocations(prog: Prog) -> int:
    found = [s for fun in prog.funs for s in all_stms(fun.body.stms) if isinstance(s.exp, Alloc)]
    return len(found)


def fresh() -> Ctx:
    """A context whose names are in no program that the memory passes made."""
    return Ctx(names=NameSource(5000), stage="merged")


def merged(prog: Prog, ctx: Ctx | None = None) -> Prog:
    result = merge(prog, ctx or fresh())
    verify(result, "merged")
    return result


def outcome(prog: Prog, entry: str, args: list[Value]) -> list[str]:
    """Results in the heap semantics with the race check; or that the program stops."""
    try:
        return [show(np.asarray(v)) for v in heap.run(prog, entry, args)[0]]
    except RuntimeError_:
        return ["fails"]


def expected(prog: Prog, entry: str, args: list[Value]) -> list[str]:
    try:
        return [show(np.asarray(v)) for v in interp.run(prog, entry, args)]
    except RuntimeError_:
        return ["fails"]


@pytest.mark.parametrize(
    ("name", "made", "kept"),
    [("chain", 4, 2), ("used later", 4, 4), ("other type", 5, 4)],
)
def test_how_many_blocks_are_left(name: str, made: int, kept: int) -> None:
    prog = before(PROGRAMS[name])
    assert allocations(prog) == made
    assert allocations(merged(prog)) == kept


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_stay(name: str, target: str) -> None:
    prog = before(PROGRAMS[name], target)
    new = merged(prog)
    for seed in range(3):
        args = inputs(PROGRAMS[name], seed)
        assert outcome(new, "main", args) == expected(prog, "main", args)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ALL)
def test_values_of_programs_with_memory_stay(name: str, target: str) -> None:
    prog = expanded(ALL[name], target)
    new = merged(prog)
    for seed in range(2):
        args = arguments(parse(ALL[name]), seed)
        entry = prog.funs[0].name
        assert outcome(new, entry, args) == outcome(prog, entry, args)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_stay(path: Path, target: str) -> None:
    prog = before(path.read_text("utf-8"), target)
    new = merged(prog)
    for case, args in blocks.given(path, prog):
        if case.output is not None:
            assert outcome(new, case.entry, args) == expected(prog, case.entry, args)


@pytest.mark.parametrize("seed", range(7000, 7016))
def test_random_programs_stay(seed: int) -> None:
    made = program(seed, 8)
    prog = before(made.source, TARGETS[seed % 2])
    assert outcome(merged(prog), "main", made.inputs) == expected(prog, "main", made.inputs)


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler here")
@pytest.mark.parametrize("name", ["chain", "in loop"])
def test_c_stays(name: str) -> None:
    ctx = fresh()
    prog = before(PROGRAMS[name])
    imp = to_imp(merged(prog, ctx), ctx)
    args = inputs(PROGRAMS[name], 5)
    done = runner.run_c(plain(c.emit(imp, ctx)), "main", args, 60.0)
    assert [show(v) for v in done.values] == expected(prog, "main", args)


def test_every_merge_is_a_remark_with_its_bytes() -> None:
    ctx = fresh()
    prog = before(CHAIN)
    gone = allocations(prog) - allocations(merged(prog, ctx))
    assert [r.kind for r in ctx.remarks] == ["applied"] * gone
    size = base_of(prog.funs[0].params[0].name)
    assert {r.numbers for r in ctx.remarks} == {(("saved", f"4*{size} B"),)}


def test_a_block_is_as_large_as_the_larger_of_two() -> None:
    """Thesis 5.4: neither of n and m is known to be larger."""
    ctx = fresh()
    prog = before(OTHER_SIZE)
    new = merged(prog, ctx)
    assert (allocations(prog), allocations(new)) == (4, 2)
    assert any("the larger of the two" in r.because for r in ctx.remarks)
    text = plain(printer.show(new))
    assert re.search(r"= max\(n_\d+, m_\d+\)", text)


def test_a_size_that_is_not_known_yet_is_refused_with_a_reason() -> None:
    source = """
entry main [n] (xs: [n]i32): i32 =
  let s = reduce (*) 1 (scan (+) 0 (map (* 3) xs))
  in reduce (*) 1 (scan (+) 0 (map (\\i -> i32.i64 i + s) (iota (i64.i32 s))))
"""
    ctx = fresh()
    prog = before(source)
    assert allocations(merged(prog, ctx)) == allocations(prog)
    assert any(r.kind == "missed" and "is not known yet" in r.because for r in ctx.remarks)


def test_nothing_is_assumed_of_sizes_made_on_the_way() -> None:
    """The first block of i32 has k elements more than the second; k is no size of a parameter.

    Nor is it checked before anything is allocated; where it is, that is known.
    """
    first = "let t = reduce (*) 1 (scan (+) 0 (map i64.i32 xs))"
    source = """
entry main [n] (xs: [n]i32) (k: i64): i32 =
  {first}
  let s = reduce (*) 1 (scan (+) 0 (map (* 3) (concat xs (map i32.i64 (iota {k})))))
  in reduce (*) 1 (scan (+) 0 (map (+ s) xs))
"""
    ctx = fresh()
    merged(before(source.format(first="", k="k")), ctx)
    assert any("enough room" in r.because for r in ctx.remarks)
    ctx = fresh()
    prog = before(source.format(first=first, k="(k + t)"))
    new = merged(prog, ctx)
    assert not any("enough room" in r.because for r in ctx.remarks)
    xs, k = np.arange(4, dtype=np.int32), np.int64(3)
    assert outcome(new, "main", [xs, k]) == expected(prog, "main", [xs, k])


def test_a_larger_block_is_taken() -> None:
    ctx = fresh()
    merged(before(SMALLER), ctx)
    assert any("enough room" in r.because for r in ctx.remarks)


@pytest.mark.parametrize("off", ["merge", "merge/blocks"])
def test_it_can_be_switched_off(off: str) -> None:
    prog = before(CHAIN)
    ctx = Ctx(Options(disabled=frozenset((off,))), NameSource(5000))
    assert merge(prog, ctx) is prog


def test_each_merge_costs_fuel() -> None:
    prog = before(CHAIN)
    ctx = Ctx(names=NameSource(5000), fuel=Fuel(1))
    assert allocations(merged(prog, ctx)) == allocations(prog) - 1


def test_blocks_that_meet_have_an_edge_and_another_colour() -> None:
    for source in PROGRAMS.values():
        prog = before(source)
        for graph in interference(prog)[0]["bodies"]:
            nodes, points = graph["nodes"], graph["points"]
            edges = {(edge["a"], edge["b"]): edge for edge in graph["edges"]}
            for i, j in edges:
                assert nodes[i]["colour"] != nodes[j]["colour"]
                assert 0 <= edges[i, j]["at"] <= edges[i, j]["until"] < len(points)
            for i, one in enumerate(nodes):
                for j, other in enumerate(nodes[i + 1 :], i + 1):
                    apart = one["until"] < other["from"] or other["until"] < one["from"]
                    assert apart == ((i, j) not in edges)
            for k, colour in enumerate(graph["colours"]):
                assert [i for i, node in enumerate(nodes) if node["colour"] == k] == sorted(
                    colour["members"]
                )


def test_the_graph_says_what_a_colour_needs_and_saves() -> None:
    (graph,) = interference(before(OTHER_SIZE))[0]["bodies"]
    assert graph["where"] == "`main`"
    assert [len(colour["members"]) for colour in graph["colours"]] == [2, 2]
    assert "max(" in shown(graph["colours"][0]["bytes"])


# --- blocks of the points of kernels ---

ROWS = """
entry main [n][m] (xss: [n][m]i32) (k: i64): [n]i32 =
  map (\\xs ->
    let a = loop a = replicate m 0 for i < m do a with [i] = xs[m - 1 - i] + i32.i64 k
    let b = loop b = replicate m 0 for i < m do b with [i] = a[m - 1 - i] * a[i / 2]
    let c = loop c = replicate m 0 for i < m do c with [i] = b[m - 1 - i] + b[i / 2]
    in c[k]) xss
"""
ROWS_USED_LATER = ROWS.replace("in c[k])", "in c[k] + a[k])")
ROWS_IN_LOOP = """
entry main [n][m] (xss: [n][m]i32) (k: i64): [n]i32 =
  map (\\xs ->
    loop s = 0 for j < k do
      let a = loop a = replicate m s for i < m do a with [i] = xs[m - 1 - i] + i32.i64 j
      let b = loop b = replicate m s for i < m do b with [i] = a[m - 1 - i] * a[i / 2]
      let c = loop c = replicate m s for i < m do c with [i] = b[m - 1 - i] + b[i / 2]
      in c[0] % 97) xss
"""


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("source", "blocks"), [(ROWS, 2), (ROWS_USED_LATER, 3), (ROWS_IN_LOOP, 2)])
def test_the_points_of_a_kernel_need_less(source: str, blocks: int, target: str) -> None:
    """Thesis 5.2: before expansion, inside of kernels."""
    rows = frozenset(("coalesce",))  # The copies of that pass are not the kernel's own blocks.
    off = Options(target=target, disabled=rows | {"merge/in-kernels"})
    without = Compilation(source, off).result("expanded").prog
    new = Compilation(source, Options(target=target, disabled=rows)).result("expanded").prog
    verify(new, "expanded")
    assert allocations(without) == 4
    assert allocations(new) == 1 + blocks
    xss = np.array([[3, 1, 4], [1, 5, 9]], dtype=np.int32)
    for k in range(3):
        args: list[Value] = [xss, np.int64(k)]
        assert outcome(new, "main", args) == expected(without, "main", args)


def test_names_of_blocks_stay_in_their_class() -> None:
    """Looked up in any order, by long chains of branches: as a naive partition says."""
    rng = random.Random(3)
    for _ in range(200):
        names = [f"b_{k}" for k in range(12)]
        alike = {name: {name} for name in names}
        same = Classes()
        for _ in range(rng.randint(1, 14)):
            one, other = rng.sample(names, 2)
            same.join(one, other)
            both = alike[one] | alike[other]
            alike |= dict.fromkeys(both, both)
            for name in rng.sample(names, rng.randint(0, 12)):
                same.find(name)
        for name in rng.sample(names, 12):
            assert {n for n in names if same.find(n) == same.find(name)} == alike[name]
