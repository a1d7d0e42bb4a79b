"""What is loaded in the branch that needs it: which bytes that spares, and that nothing differs."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Ctx
from compiler.base.names import NameSource
from compiler.base.text import plain
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import statements
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.sink_loads import sink_loads
from compiler.codegen.kernels.verify import verify
from compiler.codegen.kernels.walk import params
from compiler.driver.pipeline import Compilation, Options
from compiler.driver.targets import target_named
from compiler.ir.nodes import ONE, ZERO, Bin, Lit, Mem, Scalar, Select, Var
from compiler.runtime.observer.records import ORDERS, Observation, observe
from compiler.semantics import interp
from testing import kernel_interp
from testing.kernels import same
from tests.runtime.cuda_on_cpu import needs_cxx, results

RULE = "kernels/sunk"
SUNK = {
    "an if": "entry main [n] (xs: [n]i32) (ys: [n]i32) = map3 (\\i x y ->"
    " if i % 64 < 32 then loop z = y for _i < x do z * y else x) (iota n) xs ys",
    "a choice": "entry main [n] (xs: [n]i32) (ys: [n]i32) = map3 (\\i x y ->"
    " if i % 64 < 32 then x else y) (iota n) xs ys",
    "a choice that is stored with something": "entry main [n] (xs: [n]i32) (ys: [n]i32) ="
    " map3 (\\i x y -> 1 + x * (if i % 64 < 32 then y else 0)) (iota n) xs ys",
    "what stands behind &&": "entry main [n] (xs: [n]i32) (ys: [n]i32) ="
    " map3 (\\i x y -> i % 64 < 32 && x < y) (iota n) xs ys",
    "what stands behind ||": "entry main [n] (xs: [n]i32) (ys: [n]i32) ="
    " map3 (\\i x y -> i % 64 < 32 || x < y) (iota n) xs ys",
    "choices that go together": "entry main [n] (xs: [n]i32) (ys: [n]i32) = map3 (\\i x y ->"
    " if i % 64 < 32 then (x, i64.i32 y) else (0, i)) (iota n) xs ys |> unzip",
    "what is computed from it": "entry main [n] (xs: [n]i32) (ys: [n]i32) ="
    " map3 (\\i x y -> let z = y / 3 in if i % 64 < 32 then z * z + x else x) (iota n) xs ys",
    "steps of a loop": "entry main [n] (xs: [n]i32) (ys: [n]i32) = map (\\i ->"
    " loop s = 0 for j < 8 do let y = ys[(i * j) % n] in if j % 2 == 1 then s + y else s)"
    " (iota n)",
    "in place": "entry main [n] (xs: *[n]i32) (ys: [n]i32) = map3 (\\i x y ->"
    " if i % 64 < 32 then y else x) (iota n) xs ys",
    "a scan": "entry main [n] (xs: [n]i32) (ys: [n]i32) = scan (+) 0 (map3 (\\i x y ->"
    " if i % 64 < 32 then y else x) (iota n) xs ys)",
}
NOT_SUNK = {
    "both branches": "entry main [n] (xs: [n]i32) (ys: [n]i32) ="
    " map3 (\\i x y -> if i % 64 < 32 then x + y else x - y) (iota n) xs ys",
    "the condition": "entry main [n] (xs: [n]i32) (_ys: [n]i32) ="
    " map (\\x -> if x % 64 < 32 then x else 1) xs",
    "no branch": "entry main [n] (xs: [n]i32) (ys: [n]i32) = map2 (+) xs ys",
}


def compilation(source: str, *off: str) -> Compilation:
    return Compilation(source, Options(target="cuda", disabled=frozenset(off)))


def text(source: str, *off: str) -> str:
    return plain(compilation(source, *off).result("cuda").text)


def given(n: int) -> list[Any]:
    numbers = np.random.default_rng(n)
    return [numbers.integers(0, 99, n).astype(np.int32) for _ in range(2)]


def fetched(seen: Observation) -> int:
    """The sectors that kernels fetched."""
    return sum(
        round(s.sectors * s.visits / s.lanes)
        for s in seen.sites
        if s.lanes and not s.shared and s.kind == "reads"
    )


@needs_cxx
@pytest.mark.parametrize("name", SUNK | NOT_SUNK)
def test_the_same_comes_out_wherever_it_is_loaded(name: str) -> None:
    source = (SUNK | NOT_SUNK)[name]
    meaning = compilation(source).result("soa").prog
    lowered = compilation(source).result("kernels").prog
    verify(lowered, target_named("cuda"))
    code = text(source)
    for n in (0, 1, 33, 1025):
        expected = interp.run(meaning, "main", given(n))
        for order in ORDERS:
            same(results(observe(code, "main", given(n), order, records=False)), expected)
        if n < 300:
            same(kernel_interp.run(lowered, "main", given(n), 64, "random"), expected)


@needs_cxx
@pytest.mark.parametrize("name", SUNK)
def test_what_a_branch_loads_the_others_do_not_fetch(name: str) -> None:
    made = observe(text(SUNK[name]), "main", given(4096))
    before = observe(text(SUNK[name], RULE), "main", given(4096))
    same(results(made), results(before))
    assert fetched(made) < fetched(before)


@pytest.mark.parametrize("name", SUNK | NOT_SUNK)
def test_what_is_loaded_in_a_branch_is_told(name: str) -> None:
    work = compilation((SUNK | NOT_SUNK)[name])
    work.result("cuda")
    told = {remark.kind for remark in work.remarks() if remark.rule == RULE}
    assert told == ({"applied"} if name in SUNK else set())
    assert (name in SUNK) == (
        text((SUNK | NOT_SUNK)[name], RULE) != plain(work.result("cuda").text)
    )


def test_choices_without_loads_stay_choices() -> None:
    code = text(
        "entry main [n] (xs: [n]i32) (ys: [n]i32) = map3 (\\i x y ->"
        " let z = if i % 64 < 32 then y else x in z + (if x < 3 then x else 4)) (iota n) xs ys",
        "kernels/wide",
    )
    assert len(re.findall(r"^ +if \(.*32", code, re.MULTILINE)) == 1
    assert re.search(r"< 3 \? ", code)


# --- what must not move ----------------------------------------------------------------------

X, N = Var("x_1", "i32"), Var("n_1", "i64")
PLACE = Var(k.PLACE, "i64")
LOAD = imp.Load("x_1", "i32", "xs_1", N)
USE = imp.If(Bin("==", "i64", PLACE, ZERO), (imp.Store("out_1", "i32", PLACE, X),), ())
WRITE = imp.Store("ys_1", "i32", PLACE, Lit(2, "i32"))
OWN = imp.Declare("n_1", Scalar("i64"), PLACE)
OTHER = imp.Assign("n_1", ZERO)


def moves(*body: imp.Stm, same_block: bool = False) -> bool:
    """Whether `LOAD` moves into the branch; `xs_1` and `ys_1` may be the same block."""
    kernel = k.Kernel("work_1", params(body), body)
    before = (imp.Declare("xs_1", Mem("i32"), "ys_1"),) if same_block else ()
    ctx = Ctx(names=NameSource(10000), target=target_named("cuda"))
    *_, launch = sink_loads((*before, k.Launch(kernel, "points", ONE)), ctx)
    assert isinstance(launch, k.Launch)
    made = launch.kernel.body
    assert LOAD in statements(made)
    return LOAD not in made


def test_a_load_moves_over_what_does_not_matter_to_it() -> None:
    assert moves(LOAD, USE)
    assert moves(LOAD, WRITE, USE)
    assert moves(LOAD, k.Barrier(), USE)
    assert moves(OWN, LOAD, imp.Define("m_1", "i64", PLACE), USE, OTHER)


def test_a_load_does_not_move_over_a_write_of_its_cell() -> None:
    assert not moves(LOAD, WRITE, USE, same_block=True)
    assert not moves(LOAD, imp.Store("xs_1", "i32", PLACE, Lit(2, "i32")), USE)
    assert not moves(LOAD, k.Atomic("+", "i32", "xs_1", ZERO, Lit(2, "i32")), USE)
    again = imp.For("j_1", "i64", ONE, (imp.Store("xs_1", "i32", PLACE, Lit(2, "i32")),))
    assert not moves(LOAD, again, USE)
    last = imp.Store("xs_1", "i32", PLACE, Lit(2, "i32"))
    assert moves(LOAD, USE, last)
    assert not moves(LOAD, k.Barrier(), USE, last)


def test_a_load_does_not_move_over_another_value_of_its_index() -> None:
    assert not moves(OWN, LOAD, OTHER, USE)
    assert not moves(OWN, LOAD, imp.If(USE.cond, (OTHER,), ()), USE)
    assert not moves(OWN, LOAD, k.Fetch("n_1", "i64", "zs_1", ZERO), USE)
    assert not moves(OWN, LOAD, k.Shuffle("n_1", "i64", PLACE, Lit(1, "i32")), USE)


def test_a_load_does_not_move_into_a_loop_or_where_more_than_one_branch_needs_it() -> None:
    assert not moves(LOAD, imp.For("j_1", "i64", ONE, (USE,)))
    assert not moves(LOAD, imp.If(Bin("==", "i32", X, X), USE.then, ()))
    assert not moves(LOAD, imp.If(USE.cond, USE.then, USE.then))
    assert not moves(LOAD, USE, USE)
    assert not moves(LOAD, USE, imp.Store("out_1", "i32", ZERO, X))


def test_choices_become_one_branch_only_while_their_condition_stays() -> None:
    flag = Var("c_1", "bool")
    first = imp.Declare("c_1", Scalar("bool"), Bin("==", "i64", PLACE, ZERO))
    once = imp.Assign("c_1", Select(flag, Bin("<", "i32", X, X), flag))
    more = imp.Declare("r_1", Scalar("i32"), Lit(0, "i32"))
    again = imp.Assign("r_1", Select(flag, Lit(1, "i32"), Lit(2, "i32")))
    store = imp.Store("out_1", "i32", PLACE, Var("r_1", "i32"))
    body = (LOAD, first, more, once, again, store)
    kernel = k.Kernel("work_1", (*params(body),), body)
    ctx = Ctx(names=NameSource(10000), target=target_named("cuda"))
    (launch,) = sink_loads((k.Launch(kernel, "points", ONE),), ctx)
    assert isinstance(launch, k.Launch)
    ifs = [stm for stm in statements(launch.kernel.body) if isinstance(stm, imp.If)]
    assert [stm.then for stm in ifs] == [(LOAD, imp.Assign("c_1", Bin("<", "i32", X, X)))]
    assert again in launch.kernel.body


@pytest.mark.parametrize("count", [50, 500])
def test_what_is_done_grows_with_the_statements(count: int) -> None:
    """Each choice is looked at a few times, however many there are."""
    body: list[imp.Stm] = []
    for at in range(count):
        x = Var(f"x_{at}", "i32")
        body.append(imp.Load(x.name, "i32", "xs_1", Lit(at, "i64")))
        value = Select(Bin("==", "i64", PLACE, Lit(at, "i64")), x, Lit(0, "i32"))
        body.append(imp.Store("out_1", "i32", PLACE, value))
    kernel = k.Kernel("work_1", params(tuple(body)), tuple(body))
    ctx = Ctx(names=NameSource(10000), target=target_named("cuda"))
    (launch,) = sink_loads((k.Launch(kernel, "points", ONE),), ctx)
    assert isinstance(launch, k.Launch)
    made = launch.kernel.body
    assert len([stm for stm in made if isinstance(stm, imp.If)]) == count
    assert len(statements(made)) == 6 * count
