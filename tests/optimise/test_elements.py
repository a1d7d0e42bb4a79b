"""Between which numbers elements of index arrays lie: what is not checked, and what still is."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Options
from compiler.base.errors import CompileError, RuntimeError_
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.ir import nodes as ir
from compiler.ir.values import show
from compiler.ir.walk import all_stms
from compiler.runtime import runner
from compiler.semantics import interp, value
from testing.compiling import compiled
from testing.generators.index_arrays import program

HEAD = "entry main [n] (xs: [n]i32) (ks: [n]i64) (m: i64) =\n  "
KNOWN = {
    "filter": "map (\\i -> xs[i] * 2) (filter (\\i -> xs[i] > 0) (iota n))",
    "partition": "let (a, b) = partition (\\i -> ks[i] > m) (iota n)\n"
    "  in (map (\\i -> xs[i]) a, map (\\i -> xs[i]) b)",
    "remainder": "map (\\i -> xs[i]) (map (\\k -> k % n) ks)",
    "largest so far": "map (\\i -> xs[i]) (scan i64.max 0 (map (\\k -> k % n) ks))",
    "least so far": "map (\\i -> xs[i]) (scan i64.min i64.highest (map (\\k -> k % n) ks))",
    "clamped": "map (\\i -> xs[i]) (map (\\k -> i64.min (n - 1) (i64.max 0 k)) ks)",
    "filtered twice": "map (\\i -> xs[i]) (filter (\\i -> i % 3 == 0) (filter (> m) (iota n)))",
    "rows of a table": "let t = [3i64, 0, 2] in map (\\k -> if n > 3 then xs[t[k % 3]] else 0) ks",
    "computed table": "let t = map (* 2) [0i64, 1, 2]\n"
    "  in map (\\k -> if n > 4 then xs[t[k % 3]] else 0) ks",
    "both ends": "let a = map (\\k -> k % n) ks let b = reverse (filter (\\i -> i > m) (iota n))\n"
    "  in map (\\i -> xs[i]) (a ++ b)",
    "counts": "let c = scan (+) 0 (map (\\x -> i64.bool (x > 0)) xs)\n"
    "  let ys = replicate (n + 1) 7i32 in map (\\i -> ys[i]) c",
    "written": "if n > 2 then (let a = map (\\k -> k % n) ks\n"
    "    in map (\\i -> xs[i]) (copy a with [0] = 2)) else xs",
    "in a loop": "loop a = copy xs for i in filter (\\i -> xs[i] > 0) (iota n) do\n"
    "    a with [i] = a[i] + 1",
}
NOT_KNOWN = {
    "as they come": "map (\\i -> xs[i]) ks",
    "quotient": "map (\\i -> xs[i]) (map (\\k -> k %% n) ks)",
    "one behind": "map (\\i -> xs[i]) (map (\\k -> k % n + 1) ks)",
    "largest from": "map (\\i -> xs[i]) (scan i64.max 5 (map (\\k -> k % n) ks))",
    "sums": "map (\\i -> xs[i]) (scan (+) 0 (map (\\k -> k % n) ks))",
    "counts": "map (\\i -> xs[i]) (scan (+) 0 (map (\\k -> i64.bool (k > m)) ks))",
    "all of what filter writes": "let fs = map (> m) ks\n"
    "  let c = scan (+) 0 (map (\\f -> i64.bool f) fs)\n"
    "  let w = map2 (\\f u -> if f then u - 1 else -1) fs c\n"
    "  in map (\\i -> xs[i]) (scatter (replicate n (-1)) w (iota n))",
}


def checks(source: str, disabled: frozenset[str] = frozenset()) -> int:
    work = compiled(source, Options(disabled=disabled))
    stms = (stm for fun in work.result("merged").prog.funs for stm in all_stms(fun.body.stms))
    return sum(isinstance(stm.exp, ir.Assert) and "Index" in str(stm.exp.message) for stm in stms)


@pytest.mark.parametrize("name", KNOWN)
def test_no_place_is_checked_that_is_one_by_how_it_is_made(name: str) -> None:
    assert checks(HEAD + KNOWN[name]) == 0
    assert checks(HEAD + KNOWN[name], frozenset(("simplify/elements",))) > 0


@pytest.mark.parametrize("name", NOT_KNOWN)
def test_others_are_checked(name: str) -> None:
    assert checks(HEAD + NOT_KNOWN[name]) > 0


def test_whoever_asks_is_told_what_was_known() -> None:
    work = compiled(HEAD + KNOWN["filter"], Options())
    work.result("flat")
    told = [one for one in work.remarks() if one.rule == "simplify/elements"]
    assert any("bounds its elements" in one.because for one in told)


def test_a_small_map_of_literals_is_computed() -> None:
    source = "entry main (i: i64) = (map (\\r -> r[0] * 10 + r[1]) [[1i64, 2], [3, 4]])[i]"
    prog = compiled(source, Options()).result("simplified").prog
    (literal,) = [s.exp for s in all_stms(prog.funs[0].body.stms) if isinstance(s.exp, ir.ArrayLit)]
    assert [one.value for one in literal.elems if isinstance(one, ir.Lit)] == [12, 34]
    off = Options(disabled=frozenset(("simplify/known-map",)))
    stms = list(all_stms(compiled(source, off).result("simplified").prog.funs[0].body.stms))
    assert any(isinstance(stm.exp, ir.Map) for stm in stms)


def arguments(seed: int, size: int) -> list[Any]:
    rng = np.random.default_rng(seed)
    xs = rng.integers(-3, 9, size).astype(np.int32)
    ks = rng.integers(-2, size + 2, size) if seed % 2 else rng.integers(0, max(size, 1), size)
    return [xs, ks.astype(np.int64), np.int64(rng.integers(-2, 4))]


def outcome(run: Callable[[], Sequence[Any]]) -> list[str]:
    """The values; of several failures it is open which is told."""
    try:
        return [show(np.asarray(one)) for one in run()]
    except RuntimeError_:
        return ["fails"]


@pytest.mark.parametrize("name", [*KNOWN, *(f"not {one}" for one in NOT_KNOWN)])
def test_values_and_failures_stay(name: str) -> None:
    source = HEAD + (NOT_KNOWN[name[4:]] if name.startswith("not ") else KNOWN[name])
    agree(source, range(6))


@pytest.mark.parametrize("seed", range(2400, 2440))
def test_random_programs_stay(seed: int) -> None:
    agree(program(seed), range(4), quiet=True)


def agree(source: str, seeds: range, *, quiet: bool = False) -> None:
    """At each stage of the core language the program means what it does at the first one."""
    try:
        work = compiled(source, Options())
        first = work.result("soa").prog
        last = work.result("merged").prog
    except CompileError:
        assert quiet
        return
    for seed in seeds:
        args = arguments(seed, (0, 1, 5, 8)[seed % 4])
        wanted = outcome(lambda: value.run(first, "main", args))  # noqa: B023
        for prog in (work.result("fused").prog, last):
            assert outcome(lambda: interp.run(prog, "main", args)) == wanted, source  # noqa: B023


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler here")
@pytest.mark.parametrize("seed", random.Random(5).sample(range(2400, 2440), 6))
def test_c_stays(seed: int) -> None:
    source = program(seed)
    try:
        work = compiled(source, Options())
        text = plain(work.result("c").text)
    except CompileError:
        return
    for number in range(4):
        args = arguments(number, (0, 1, 5, 8)[number])
        wanted = outcome(lambda: value.run(work.result("soa").prog, "main", args))  # noqa: B023
        found = outcome(lambda: runner.run_c(text, "main", args, 60.0).values)  # noqa: B023
        assert found == wanted, source


@pytest.mark.parametrize("name", list(KNOWN)[:3])
def test_a_check_that_may_not_go_names_what_there_is(name: str) -> None:
    """However few rewritings are paid for, the program is one."""
    for fuel in range(60):
        options = Options(fuel=fuel, verify=True)
        Compilation(HEAD + KNOWN[name], options).result("simplified")
