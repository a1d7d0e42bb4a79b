"""Blocks of threads for one point each: as many threads as find something to do, in whole warps."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import Any

import numpy as np
import pytest

from compiler.base.context import Ctx
from compiler.base.remarks import Applied, Missed
from compiler.base.text import plain
from compiler.codegen.cuda.runtime import THREADS, threads_for
from compiler.codegen.imp.nodes import Define, For, ImpFun, ImpProg, Load, Stm
from compiler.codegen.imp.parts import statements
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.block_sizes import busy_threads
from compiler.codegen.kernels.repeats import block_rotation, given_numbers
from compiler.codegen.kernels.resident import resident
from compiler.codegen.kernels.walk import params
from compiler.explain.accesses import report
from compiler.explain.predictions import predict
from compiler.ir.nodes import ONE, SE, ZERO, Bin, Lit, Var
from compiler.ir.show_scalar import show_se
from compiler.runtime import cuda_device
from compiler.runtime.observer.records import ORDERS, observe
from compiler.semantics import interp
from testing import compiling, kernel_interp
from testing.kernels import CUDA, compiled, same
from tests.runtime.cuda_on_cpu import needs_cxx, results

RULE = "kernels/fitted"
SIZES = (0, 1, 31, 32, 33, 255, 256, 257, 1025)
ROWS = """
def after (a: i64, b: i64) (c: i64, d: i64) = (a * c, b * c + d)
entry main [n][m] (xss: [n][m]i64) =
  map (\\xs -> let (ys, zs) = unzip (scan after (1, 0) (zip xs (reverse xs)))
              let most = reduce i64.max 0 ys
              in map3 (\\x y z -> x + y - z + most) xs (reverse ys) zs) xss
"""
CHECKED = """
entry main [n][m] (t: []i64) (xss: [n][m]i64) =
  map (\\xs -> reverse (scan (+) 0 (map (\\x -> t[x]) xs))) xss
"""


def rows(m: int, n: int = 3) -> np.ndarray[Any, Any]:
    return np.arange(n * m, dtype=np.int64).reshape(n, m) % 7


def launched(prog: ImpProg) -> dict[str, str]:
    """How many threads of a block find something to do, by the kernels that tell."""
    stms = (stm for fun in prog.funs for stm in statements(fun.body))
    return {
        stm.kernel.name: show_se(stm.busy)
        for stm in stms
        if isinstance(stm, k.Launch) and stm.busy is not None
    }


def test_how_many_threads_a_block_has() -> None:
    assert [threads_for(m) for m in SIZES] == [32, 32, 32, 32, 64, 256, 256, 256, 256]
    assert threads_for(-5) == 32
    assert threads_for(1 << 62) == THREADS


@needs_cxx
@pytest.mark.parametrize("m", SIZES)
def test_rows_of_all_sizes_have_no_faults_and_cost_what_was_predicted(
    m: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, args = compiled(ROWS, "block"), [rows(m)]
    text, prog = work.result("cuda").text, work.result("kernels").prog
    assert launched(prog)
    assert all(busy.startswith("m_") for busy in launched(prog).values())
    expected = interp.run(work.result("soa").prog, "main", list(args))
    asked: list[int] = []

    def noted(busy: int) -> int:
        asked.append(threads_for(busy))
        return asked[-1]

    monkeypatch.setattr(cuda_device, "threads_for", noted)
    for order in ORDERS:
        seen = observe(plain(text), "main", args, order, records=False)
        assert not seen.problems
        same(results(seen), expected)
    assert set(asked) == {threads_for(m)}
    seen = observe(plain(text), "main", args)
    predicted = predict(prog, text, "main", [(3, m)], [None])
    assert predicted.launches == list(seen.launches)
    told = report(prog, text, predicted, seen)["accesses"]
    assert [one for one in told if not one.get("agrees", bool(one["because"]))] == []
    for threads in (1, 40, 256):
        same(kernel_interp.run(prog, "main", list(args), threads, "random"), expected)


@needs_cxx
def test_a_block_has_as_many_threads_only_where_the_rule_is_off() -> None:
    """What differs is who waits: results, barriers of a block and sectors are the same."""
    work = compiled(ROWS, "block")
    without = compiling.compiled(ROWS, replace(work.options, disabled=frozenset({RULE})))
    kept = without.result("kernels").prog
    assert launched(kept) == {}
    assert "blockDim" not in plain(without.result("cuda").text)
    args = [rows(40)]
    small, large = (
        observe(plain(one.result("cuda").text), "main", args) for one in (work, without)
    )
    same(results(small), results(large))
    assert sum(small.barriers.values()) == sum(large.barriers.values())
    sectors = [sum(site.sectors for site in seen.sites) for seen in (small, large)]
    assert sectors[0] <= sectors[1]


@needs_cxx
def test_a_check_that_fails_in_some_threads_is_told() -> None:
    work = compiled(CHECKED, "block")
    assert launched(work.result("kernels").prog)
    for m in (31, 33, 257):
        table, at = np.arange(7, dtype=np.int64), rows(m)
        at[1, m - 1] = 9
        seen = observe(plain(work.result("cuda").text), "main", [table, at])
        assert not seen.problems
        assert seen.error is not None
        assert "[9]" in seen.error.message


# --- how many that are -----------------------------------------------------------------------


def stride(end: SE) -> k.Stride:
    return k.Stride("i", "i64", ZERO, end, "+", Var(k.THREADS, "i64"), ())


def kernel(*body: Stm) -> k.Kernel:
    return k.Kernel("map", params(body), body)


N, M = Var("n_1", "i64"), Var("m_2", "i64")


@pytest.mark.parametrize(
    ("ends", "busy"),
    [
        ((N, N), "n_1"),
        ((N, M), "max(n_1, m_2)"),
        ((N, Bin("+", "i64", N, ONE)), "n_1 + 1i64"),
        ((Lit(32, "i64"), Lit(40, "i64")), "40i64"),
        ((N, Lit(256, "i64")), None),
    ],
)
def test_the_longest_loop_counts(ends: tuple[SE, ...], busy: str | None) -> None:
    made = busy_threads(kernel(*map(stride, ends)), THREADS)
    assert isinstance(made, Applied) or made is None
    assert (made and show_se(made.new)) == busy


def test_what_a_kernel_computes_is_told_by_what_it_is_given() -> None:
    twice = Define("k_3", "i64", Bin("*", "i64", N, Lit(2, "i64")))
    made = busy_threads(kernel(twice, stride(Var("k_3", "i64"))), THREADS)
    assert isinstance(made, Applied)
    assert show_se(made.new) == "n_1 * 2i64"
    read = Load("k_3", "i64", "xs_mem_4", ZERO)
    assert isinstance(busy_threads(kernel(read, stride(Var("k_3", "i64"))), THREADS), Missed)


def test_rounds_of_a_loop_that_are_captured_have_blocks_of_one_size() -> None:
    """How many threads find something to do depends on the round: all have as many as there are."""
    work = k.Launch(kernel(stride(Var("i_5", "i64"))), "blocks", N, busy=Var("i_5", "i64"))
    (loop,) = given_numbers((For("i_5", "i64", M, (work,)),), Ctx(CUDA))
    assert isinstance(loop, For)
    assert loop.body == (replace(work, busy=None),)
    assert isinstance(block_rotation(loop, str), Applied)
    assert isinstance(block_rotation(replace(loop, body=(work,)), str), Missed)


def test_a_number_that_stays_on_the_device_is_not_waited_for() -> None:
    read = Load("k_3", "i64", "xs_mem_4", ZERO)
    launch = k.Launch(kernel(stride(Var("k_3", "i64"))), "blocks", N, busy=Var("k_3", "i64"))
    fun = ImpFun("main", (), (), (read, launch), (), (), ())
    made = resident(fun, Ctx(CUDA), count(1))
    launches = [stm for stm in statements(made.body) if isinstance(stm, k.Launch)]
    assert [stm.busy for stm in launches if stm.kernel.name == "map"] == [None]
