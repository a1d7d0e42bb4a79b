"""Maps whose points share what they read: what is tiled, that it means the same, what it costs."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import numpy as np
import pytest

from compiler.base.remarks import Applied
from compiler.base.text import plain
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import statements
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.tiles import tiling
from compiler.driver.pipeline import Compilation
from compiler.driver.targets import target_named
from compiler.explain.accesses import report
from compiler.explain.predictions import predict
from compiler.ir.nodes import Var
from compiler.runtime import nvrtc
from compiler.runtime.observer.records import ORDERS, observe
from compiler.semantics import interp
from testing import kernel_interp
from testing.kernels import same
from tests.codegen.helpers import all_thresholds, compiled, needs_nvrtc, told
from tests.runtime.cuda_on_cpu import needs_cxx, results

RULE = "kernels/tiled"
PRODUCT = (
    "entry main [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 ="
    " map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) (transpose b)) a"
)


def tiled(source: str, *disabled: str) -> Compilation:
    """A program with a thread for each point of the outer dimensions, whatever their sizes."""
    thresholds = all_thresholds(compiled(source, "cuda"), 0)
    return compiled(source, "cuda", thresholds=thresholds, disabled=frozenset(disabled))


def watched(source: str, args: list[Any]) -> Any:
    """A run in three orders of threads, without a fault, that costs what was predicted."""
    expected = interp.run(compiled(source).result("soa").prog, "main", list(args))
    work = tiled(source)
    text, prog = work.result("cuda").text, work.result("kernels").prog
    for order in ORDERS[1:]:
        same(results(observe(plain(text), "main", args, order, records=False)), expected)
    seen = observe(plain(text), "main", args)
    same(results(seen), expected)
    shapes = [np.shape(a) if np.ndim(a) else None for a in args]
    predicted = predict(prog, text, "main", shapes, [None if np.ndim(a) else a for a in args])
    found = report(prog, text, predicted, seen)["accesses"]
    assert [one for one in found if not one.get("agrees", bool(one["because"]))] == []
    return seen, found


def numbers(kind: str, *shape: int, seed: int = 5) -> Any:
    """Small whole numbers of a type, so that sums of floats are exact."""
    return np.random.default_rng(seed).integers(0, 7, shape).astype(kind)


# --- what is tiled ---------------------------------------------------------------------------

HEAD = "entry main [n][m][p] (a: [n][m]f32) (b: [p][m]f32) = "
DIFFERENCE = "(\\r -> map (\\c -> f32.sum (map2 (\\x y -> (x - y) * (x - y)) r c)) b) a"
TILED = {
    "product": (PRODUCT, [(65, 35), (35, 34)], "f4", "2 -> 1/32"),
    "both transposed": (
        "entry main [n][m][p] (a: [m][n]i64) (b: [p][m]i64) ="
        " map (\\r -> map (\\c -> i64.sum (map2 (*) r c)) b) (transpose a)",
        [(20, 65), (34, 20)], "i8", "2 -> 1/32",
    ),
    "halves": (PRODUCT.replace("f32", "f16"), [(33, 9), (9, 40)], "f2", "2 -> 1/32"),
    "bytes": (PRODUCT.replace("f32", "u8"), [(33, 70), (70, 40)], "u1", "2 -> 1/32"),
    "distances": (HEAD + "map " + DIFFERENCE, [(40, 33), (66, 33)], "f4", "2 -> 1/32"),
    "the nearest coordinate, and which": (
        HEAD + "map (\\r -> map (\\c -> reduce (\\(v, i) (w, j) ->"
        " if v < w || v == w && i < j then (v, i) else (w, j)) (f32.inf, m)"
        " (zip (map2 (\\x y -> f32.abs (x - y)) r c) (iota m))) b) a",
        [(35, 33), (66, 33)], "f4", "2 -> 1/32",
    ),
    "in place, behind the loop": (
        "entry main [n][m][p] (c: *[n][p]f32) (a: [n][m]f32) (b: [m][p]f32) ="
        " map2 (\\cs r -> map2 (\\x c -> 2 * x + f32.sum (map2 (*) r c)) cs (transpose b)) c a",
        [(65, 34), (65, 0), (0, 34)], "f4", "2 -> 1/32",
    ),
    "many products": (
        "entry main [k][n][m][p] (a: [k][n][m]i32) (b: [k][m][p]i32) = map2 (\\a b ->"
        " map (\\r -> map (\\c -> i32.sum (map2 (*) r c)) (transpose b)) a) a b",
        [(3, 33, 9), (3, 9, 40)], "i4", "2 -> 1/32",
    ),
    "as many steps as a number says": (
        "entry main [k][n][m][p] (ks: [k]i64) (a: [k][n][m]i64) (b: [k][m][p]i64) ="
        " map3 (\\l a b -> tabulate_2d n p (\\i j -> loop s = 0 for q < i64.min m (i64.max 0 l) do"
        " s + a[i, q] * b[q, j])) ks a b",
        [(4,), (4, 33, 9), (4, 9, 40)], "i8", "2 -> 1/32",
    ),
    "less what was computed before": (
        "entry main [n][m] (a: [n][m]f64) = let s = map f64.sum a in map2 (\\r u -> map2 (\\c v ->"
        " f64.sum (map2 (\\x y -> (x - u) * (y - v)) r c)) a s) a s",
        [(40, 33)], "f8", "1/16",
    ),
    "with weights": (
        "entry main [n][m][p] (w: [m]f32) (a: [n][m]f32) (b: [m][p]f32) = map (\\r ->"
        " map (\\c -> f32.sum (map3 (\\x y z -> x * y * z) w r c)) (transpose b)) a",
        [(21,), (34, 21), (21, 65)], "f4", "3 -> 129/4096",
    ),
    "by a narrow index": (
        "entry main [n][m][p] (a: [n][m]u16) (b: [m][p]u16) = tabulate_2d n p (\\i j ->"
        " loop s = 1 for q < i32.i64 m do"
        " if a[i, i64.i32 q] > b[i64.i32 q, j] then s * 3 + u16.i32 q else s + 1)",
        [(34, 21), (21, 65)], "u2", "2 -> 1/32",
    ),
    "bodies": (
        "entry main [n] (xs: [n]f32) (ms: [n]f32) ="
        " map (\\x -> f32.sum (map2 (\\y m -> m * (y - x) * (y - x)) xs ms)) xs",
        [(300,), (300,)], "f4", "2 -> 1/128",
    ),
}  # fmt: skip
"""Programs, shapes and type of what they are given, and the loads of a point for each step."""


@needs_cxx
@pytest.mark.parametrize("name", TILED)
def test_tiles_mean_the_same_without_faults_and_cost_what_was_predicted(name: str) -> None:
    source, shapes, kind, loads = TILED[name]
    assert [how for how, _ in told(tiled(source), RULE)] == ["applied"]
    assert loads in told(tiled(source), RULE)[0][1]
    seen, _ = watched(source, [numbers(kind, *shape) for shape in shapes])
    assert any("tiled" in kernel for kernel, _ in seen.launches)


@pytest.mark.parametrize("order", ORDERS)
def test_each_schedule_of_threads_means_the_same(order: kernel_interp.Order) -> None:
    for name, shapes in (("product", [(33, 2), (2, 65)]), ("bodies", [(130,), (130,)])):
        source, _, kind, _ = TILED[name]
        args = [numbers(kind, *shape) for shape in shapes]
        expected = interp.run(compiled(source).result("soa").prog, "main", list(args))
        same(
            kernel_interp.run(tiled(source).result("kernels").prog, "main", args, 4, order),
            expected,
        )


@needs_cxx
@pytest.mark.parametrize("m", [0, 1, 32, 33])
def test_sizes_at_the_borders_of_tiles(m: int) -> None:
    work = tiled(PRODUCT)
    code = plain(work.result("cuda").text)
    assert [r.because[:40] for r in work.remarks() if r.rule == RULE] == [
        "Where there are at least 32 points along"
    ]
    for n, p in ((0, 40), (32, 0), (31, 64), (32, 32), (64, 65), (129, 33)):
        args = [numbers("f4", n, m), numbers("f4", m, p, seed=6)]
        seen = observe(code, "main", args, "random", records=False)
        np.testing.assert_array_equal(results(seen)[0], args[0] @ args[1])
        large = n >= 32 and p >= 32
        assert large == any("tiled" in kernel for kernel, _ in seen.launches)


# --- what is not -----------------------------------------------------------------------------

SQUARE = "entry main [n][m] (a: [n][m]i64) (b: [n][m]i64) = "
MISSED = {
    "Each point reads its own numbers": SQUARE + "map (\\r -> i64.sum (map2 (*) r b[0])) a",
    "depend on both indices": (
        "entry main [n][m] (c: [n][n][m]i64) (a: [n][m]i64) = map2 (\\d r -> map2 (\\e s ->"
        " i64.sum (map3 (\\x y z -> x * y * z) e r s)) d a) c a"
    ),
    "depend on values that it read": (
        SQUARE + "map (\\r -> map (\\s -> i64.sum (map2 (\\x y ->"
        " x * b[0, i64.max 0 (i64.min y (m - 1))]) r s)) b) a"
    ),
    "under a condition": (
        SQUARE + "tabulate_2d n n (\\i j -> loop s = 0 for q < m do"
        " s + a[i, q] * (if q % 2 == 0 then b[j, q] else 1))"
    ),
    "different numbers of iterations": (
        SQUARE + "tabulate_2d n n (\\i j -> loop s = 0 for q < i64.min m i do s + a[i,q] * b[j,q])"
    ),
    "more in the loop than read and compute": (
        SQUARE + "tabulate_2d n n (\\i j -> loop s = 0 for q < m do s + a[i, q] / b[j, q])"
    ),
    "checks something": (
        SQUARE + "tabulate_2d n n (\\i j -> let w = a[0, i * j] in"
        " loop s = w for q < m do s + a[i, q] * b[j, q])"
    ),
    "A side has only 3 points": (
        "entry main [n][m] (a: [n][m]i64) (b: [3][m]i64) ="
        " map (\\r -> map (\\c -> i64.sum (map2 (*) r c)) b) a"
    ),
}  # fmt: skip


@pytest.mark.parametrize("because", MISSED)
def test_why_nothing_is_tiled(because: str) -> None:
    (kind, says), *_ = told(tiled(MISSED[because]), RULE)
    assert kind == "missed"
    assert because in says


def test_what_stands_before_the_loop_is_not_moved_behind_what_it_reads() -> None:
    """A variable is changed by the loop, or by something that stays in front of it."""
    (fun,) = tiled(PRODUCT).result("imp").prog.funs
    kernel = next(s for s in fun.body[2].then if isinstance(s, imp.Kernel))
    start, *rest = kernel.body
    early = imp.Define("early_0", "f32", Var(start.name, "f32"))
    change = imp.Assign(start.name, Var("other_0", "f32"))
    for before in ((start, early), (start, early, change), (start, change, early)):
        outcome = tiling(replace(kernel, body=(*before, *rest)), target_named("cuda"))
        assert isinstance(outcome, Applied)
        assert outcome.new.before == before
        assert early not in outcome.new.after
    late = replace(early, value=Var("other_0", "f32"))
    outcome = tiling(replace(kernel, body=(start, late, *rest)), target_named("cuda"))
    assert isinstance(outcome, Applied)
    assert outcome.new.before == (start,)
    assert late in outcome.new.after


def test_maps_whose_points_share_nothing_are_not_spoken_of() -> None:
    assert told(tiled("entry main (a: [][]i64) = map i64.sum a"), RULE) == []


def test_without_the_rule_each_point_is_a_thread() -> None:
    prog = tiled(PRODUCT, RULE).result("kernels").prog
    launches = [s for s in statements(prog.funs[0].body) if isinstance(s, k.Launch)]
    assert not [one for one in launches if "tiled" in one.kernel.name]


def test_both_code_versions_stay() -> None:
    """Which one runs is a question of sizes; in the one with tiles these are asked once more."""
    source = TILED["product"][0]
    (fun,) = compiled(source, "cuda").result("kernels").prog.funs
    branches = [s for s in statements(fun.body) if isinstance(s, imp.If)]
    names = [
        [s.kernel.name for s in statements(arm) if isinstance(s, k.Launch)]
        for branch in branches[:1]
        for arm in (branch.then, branch.orelse)
    ]
    *_, alone = names[0]
    assert names[0] == [f"{alone}_large", f"{alone}_tiled", alone]
    assert len(names[1]) > 2


# --- barriers, programs by chance, costs -----------------------------------------------------

STARTED = """
entry main [n][m] (c: *[n][n]i64) (a: [n][m]i64) =
  map2 (\\cs r -> map2 (\\x s -> loop t = x for (y, z) in zip r s do t * 3 + y * z) cs a) c a
"""
"""The loop starts with what is overwritten behind it."""


@needs_cxx
@pytest.mark.parametrize(("source", "m"), [(PRODUCT, 70), (STARTED, 0), (TILED["bodies"][0], 300)])
def test_each_barrier_that_is_missing_is_noticed(source: str, m: int) -> None:
    """But for that of the flag of failed checks, where none has failed, and one of `bodies`.

    That one matters where there are no steps, and results lie where the body has read.
    """
    code = plain(tiled(source).result("cuda").text)
    kind = "i8" if source is STARTED else "f4"
    shapes = {PRODUCT: [(40, m), (m, 40)], STARTED: [(40, 40), (40, m)]}.get(source, [(m,), (m,)])
    args = [numbers(kind, *shape) for shape in shapes]
    whole = observe(code, "main", args, records=False)
    expected, missed = results(whole), []
    for line in whole.barriers:
        for order in ORDERS:
            seen = observe(code, "main", args, order, records=False, without=line)
            if seen.problems or not all(map(np.array_equal, results(seen), expected)):
                break
        else:
            missed.append(code.split("\n")[line - 1].strip())
    assert whole.barriers
    equivalent = [line for line in missed if "failure" not in line]
    assert len(equivalent) == (source == TILED["bodies"][0])


def by_chance(seed: int) -> tuple[str, list[Any]]:
    """A contraction of two arrays: types, layouts, operators, what stands around it."""
    rng = Random(seed)
    prim, kind = rng.choice([("i8", "i1"), ("u16", "u2"), ("i32", "i4"), ("f64", "f8")])
    n, m, p, q = rng.randrange(32, 99), rng.randrange(40), rng.randrange(32, 70), rng.randrange(3)
    a, b = rng.random() < 0.5, rng.random() < 0.5
    join = rng.choice(["x * y", "x + y", f"{prim}.max x y - y", "x * x - y"])
    op, start = rng.choice([("s + v", "1"), (f"{prim}.min s v", "100"), ("s * 3 + v", "0")])
    end = rng.choice(["t", "t * 2 + w[j]", "if t > w[i % p] then w[j] else t"])
    read = ["b[k, i]" if a else "a[i, k]", "d[j, k]" if b else "c[k, j]"]
    loop = (
        f"loop s = {start} for k < m do let x = {read[0]} let y = {read[1]} let v = {join} in {op}"
    )
    body = f"tabulate_2d n p (\\i j -> let t = {loop} in {end})"
    names = ("b: [m][n]" if a else "a: [n][m]") + prim, ("d: [p][m]" if b else "c: [m][p]") + prim
    many = rng.random() < 0.3
    lead = "[q]" if many else ""
    params = " ".join(f"({name.replace(': ', f': {lead}')})" for name in names)
    if many:
        body = f"map2 (\\{names[0][0]} {names[1][0]} -> {body}) {names[0][0]} {names[1][0]}"
    shapes = [(m, n) if a else (n, m), (p, m) if b else (m, p)]
    shapes = [((q, *shape) if many else shape) for shape in shapes]
    source = f"entry main [q][n][m][p] (z: [q]i32) {params} (w: [p]{prim}) = {body}"
    given = [numbers("i4", q), *(numbers(kind, *s) for s in shapes), numbers(kind, p, seed=9)]
    return source, given


@needs_cxx
@pytest.mark.parametrize("seed", range(4))
def test_contractions_by_chance(seed: int) -> None:
    source, args = by_chance(seed)
    assert [how for how, _ in told(tiled(source), RULE)] == ["applied"], source
    watched(source, args)


@needs_cxx
def test_a_product_of_matrices_loads_little_and_all_that_it_fetches_is_used() -> None:
    size = 64
    args = [numbers("f4", size, size), numbers("f4", size, size)]
    _, found = watched(PRODUCT, args)
    own = [one["seen"] for one in found if not one["shared"] and "fetch" in one["says"]]
    assert sum(one["lanes"] for one in own) <= size**3 / 16
    everything = [one["seen"] for one in found if not one["shared"]]
    used = sum(one["bytes"] for one in everything)
    assert used >= 0.85 * 32 * sum(one["sectors"] for one in everything)
    assert all(one["seen"]["passes"] == one["seen"]["least"] for one in found if one["shared"])


@needs_nvrtc
def test_variables_of_points_lie_in_registers() -> None:
    for name in ("product", "less what was computed before", "the nearest coordinate, and which"):
        code, _, _ = plain(tiled(TILED[name][0]).result("cuda").text).partition("// ---- host")
        assert "local_depot" not in nvrtc.ptx(code), name
