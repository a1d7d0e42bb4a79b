"""Functions that call themselves, at every stage, in C and in CUDA; and what of them is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_
from compiler.base.text import plain
from compiler.driver import api
from compiler.driver.pipeline import Compilation
from compiler.driver.worker import answer
from compiler.ir import nodes as ir
from compiler.ir.recursion import DEEPEST
from compiler.ir.walk import all_stms
from compiler.parallel.recursion import STACK, TAIL
from compiler.protocol.kinds import OfProgram
from compiler.testing.compare import same
from testing import blocks
from tests.codegen.helpers import compiled, needs_cc
from tests.runtime import cuda_on_cpu

PATH = Path(__file__).parent / "recursion.fut"
CASES = blocks.read(PATH)
COUNT = "def count (n: i64): i64 = if n == 0 then 0 else 1 + count (n - 1)\nentry main = count\n"
GCD = (
    "def gcd (a: i32) (b: i32): i32 = if b == 0 then a else gcd b (a % b)\n"
    "entry main (xs: []i32) (ys: []i32) = map2 gcd xs ys\n"
)
FIB = (
    "def fib (n: i32): i32 = if n < 2 then n else fib (n - 1) + fib (n - 2)\n"
    "entry main (xs: []i32) = map fib xs\n"
)


@pytest.mark.parametrize(
    ("backend", "stage"),
    [("ref", "soa"), ("ref", "simplified"), ("ref", "merged"), ("ref", "imp"),
     pytest.param("c", "", marks=needs_cc)],
)  # fmt: skip
@pytest.mark.parametrize("case", CASES, ids=[f"{c.entry}-{k}" for k, c in enumerate(CASES)])
def test_they_give_what_they_say(case: blocks.Trial, backend: str, stage: str) -> None:
    if case.entry == "downs" and backend == "ref" and stage != "soa":
        pytest.skip("takes the interpreters of later stages half a minute")
    program = OfProgram(PATH.read_text("utf-8"), {"verify": True})
    fun = api.entry_function(api.compilation(program), case.entry)
    given, expected = blocks.arguments(case, fun), blocks.expected(case, fun)
    try:
        found = api.run_values(program, case.entry, given, backend, stage, 20)
    except RuntimeError_ as failed:
        assert case.error, failed
        assert re.search(case.regex, failed.message)
    else:
        assert expected is not None
        assert same(found["values"], expected)


@pytest.mark.parametrize("backend", ["ref", pytest.param("c", marks=needs_cc)])
def test_how_deep_they_go(backend: str) -> None:
    for times, found in ((DEEPEST - 1, f"{DEEPEST - 1}i64"), (DEEPEST, "")):
        told = answer({"op": "run", "source": COUNT, "input": f"{times}i64", "backend": backend})
        assert told.get("output", "") == found, told
    assert told["error"]["message"] == "Calls of `count` nest deeper than 100,000."
    assert told["error"]["span"][:2] == [1, 5]


def rules(source: str) -> set[str]:
    work = Compilation(source)
    work.result("simplified")
    return {remark.rule for remark in work.remarks()} & {TAIL.id, STACK.id}


def test_calls_at_the_end_are_a_loop_that_threads_run() -> None:
    assert rules(GCD) == {TAIL.id} == {"recursion/tail"}
    flat = Compilation(GCD).result("flat").prog
    (kernel,) = [s.exp for s in all_stms(flat.funs[0].body.stms) if isinstance(s.exp, ir.SegMap)]
    assert any(isinstance(stm.exp, ir.Loop) for stm in kernel.body.stms)


def test_other_calls_need_a_stack_which_threads_have_not() -> None:
    assert rules(FIB) == {STACK.id} == {"recursion/stack"}
    flat = Compilation(FIB).result("flat").prog
    assert not any(isinstance(s.exp, ir.SegMap) for s in all_stms(flat.funs[0].body.stms))


@cuda_on_cpu.needs_cxx
@pytest.mark.parametrize(
    ("source", "given", "output"),
    [
        (GCD, [np.array([12, 18], "i4"), np.array([8, 27], "i4")], [4, 9]),
        (FIB, [np.array([7, 1, 9], "i4")], [13, 1, 34]),
    ],
)
def test_cuda_runs_them(source: str, given: list[np.ndarray], output: list[int]) -> None:
    code = plain(compiled(source, "cuda").result("cuda").text)
    (found,) = cuda_on_cpu.run(code, given)
    assert list(found) == output


@pytest.mark.parametrize(
    ("source", "at", "message"),
    [
        (
            "def f (n: i64) (g: i64 -> i64): i64 = if n == 0 then 0 else f (n - 1) (\\x -> g x)",
            [1, 72],
            "`f` calls itself, so it must pass its functional parameter on unchanged.",
        ),
        (
            "def f (g: i64 -> i64) (n: i64): i64 = let h = f g in if n == 0 then 0 else h (n - 1)",
            [1, 47],
            "`f` calls itself and has a functional parameter, so inside",
        ),
        (
            "def f (n: i64): i64 -> i64 = \\x -> if n == 0 then x else f (n - 1) x",
            [1, 5],
            "`f` calls itself, so its result cannot be or contain a function.",
        ),
        (
            "def f [n] (xs: [n]i32) = if n == 0 then xs else f (tail xs)",
            [1, 5],
            "`f` calls itself and its result has a size, so you must",
        ),
        (
            "def g (n: i64) = let f (x: i64): i64 = if x == 0 then 0 else f (x - 1) in f n",
            [1, 62],
            "`f` calls itself. Only a top-level definition of a file or module can do that.",
        ),
        (
            "def h (n: i64) (g: i64 -> i64): i64 = if n == 0 then 0 else g (h (n - 1) g)\n"
            "def f (n: i64): i64 = if n == 0 then 1 else h n (\\x -> x + f (n - 1))",
            [2, 60],
            "`f` calls itself through another recursive function.",
        ),
    ],
)
def test_what_is_refused_is_told_at_its_place(source: str, at: list[int], message: str) -> None:
    name = "g" if "def g" in source else "f"
    arguments = (
        "0 (\\x -> x)" if "(g: i64 -> i64): i64 = if n == 0 then 0 else f" in source else "0"
    )
    whole = f"{source}\nentry main (_: i64) = {name} {arguments}"
    told = answer({"op": "show", "source": whole, "stages": ["mono"]})
    assert message in told["error"]["message"], told
    assert told["error"]["span"][:2] == at


def test_a_function_that_is_known_already_is_the_one_that_is_called() -> None:
    source = "def replicate (n: i64) (x: i64) = replicate n (x + 1)\nentry main n = replicate n 1"
    assert answer({"op": "run", "source": source, "input": "2i64"})["output"] == "[2i64, 2i64]"
