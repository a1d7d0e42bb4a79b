"""Programs with kernels, run and watched without a device: what a GPU runs, means what C means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from compiler.base.errors import RuntimeError_
from compiler.codegen.cuda.runtime import THREADS
from compiler.codegen.imp.nodes import For, If, ImpProg, Stm, Stms, While
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.verify import verify
from compiler.driver.targets import target_named
from compiler.semantics import interp
from testing import blocks, kernel_interp, kernels
from testing.kernel_interp import Fault, Order
from testing.kernels import same
from tests.codegen.helpers import compiled
from tests.runtime.test_programs import CASES

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.fut"))


def with_kernels(source: str, version: str = "default") -> ImpProg:
    """A program with the kernels of one code version, as far as there are several."""
    prog: ImpProg = kernels.compiled(source, version).result("kernels").prog
    verify(prog, target_named("cuda"))
    return prog


def short(args: list[Any]) -> list[Any]:
    """Long dimensions cut to a few tiles."""
    return [
        a[tuple(slice(40 if size > 40 else size) for size in a.shape)] if np.ndim(a) else a
        for a in args
    ]


@pytest.mark.parametrize("version", kernels.VERSIONS)
@pytest.mark.parametrize("name", CASES)
def test_programs_mean_the_same_and_have_no_faults(name: str, version: str) -> None:
    source, args = CASES[name]
    meaning = compiled(source).result("soa").prog
    try:
        args = short(args)
        expected = interp.run(meaning, "main", list(args))
    except RuntimeError_:  # indices of what has been cut off
        args = CASES[name][1]
        if sum(np.size(a) for a in args) > 3000:
            pytest.skip("the input is too long for this interpreter")
        expected = interp.run(meaning, "main", list(args))
    same(kernel_interp.run(with_kernels(source, version), "main", args), expected)


@pytest.mark.parametrize("version", kernels.VERSIONS)
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_mean_the_same_and_have_no_faults(path: Path, version: str) -> None:
    source = path.read_text("utf-8")
    prog = with_kernels(source, version)
    meaning = compiled(source).result("soa").prog
    known = [given for given in blocks.given(path, meaning) if given[0].output is not None]
    assert known, "an example needs an input"
    for case, args in known:
        expected = interp.run(meaning, case.entry, list(args))
        same(kernel_interp.run(prog, case.entry, args, threads=4), expected)


AFTER = """
def after (a: i64, b: i64) (c: i64, d: i64) = (a * c, b * c + d)
"""
"""Associative, and the order counts."""
REDUCE = AFTER + "entry main (xs: []i64) = reduce after (1, 0) (zip xs (reverse xs))"
SCAN = AFTER + "entry main (xs: []i64) = unzip (scan after (1, 0) (zip xs (reverse xs)))"
ROWS = (
    AFTER
    + """
entry main (xss: [][]i64) =
  map (\\xs -> let (ys, zs) = unzip (scan after (1, 0) (zip xs (reverse xs)))
               in map2 (-) (reverse ys) zs) xss
"""
)
ROW, MATRIX = [np.arange(70)], [np.arange(2 * 70).reshape(2, 70)]


@pytest.mark.parametrize(
    ("threads", "order"), [(1, "ascending"), (3, "random"), (40, "descending"), (96, "random")]
)
def test_blocks_of_any_size_in_any_order(threads: int, order: Order) -> None:
    for source, args in ((REDUCE, ROW), (SCAN, ROW), (ROWS, MATRIX)):
        expected = interp.run(compiled(source).result("soa").prog, "main", list(args))
        prog = with_kernels(source, "block")
        same(kernel_interp.run(prog, "main", args, threads, order), expected)


def test_a_failed_check_says_what_it_says_elsewhere() -> None:
    source = "def main (xs: []i32) (is: []i64) =\n  map (\\i -> xs[i] + 1) is"
    args = [np.arange(10, dtype=np.int32), np.array([1, 2, 777, 3])]
    with pytest.raises(RuntimeError_) as meant:
        interp.run(compiled(source).result("soa").prog, "main", args)
    with pytest.raises(RuntimeError_) as caught:
        kernel_interp.run(with_kernels(source), "main", args)
    assert caught.value.message == meant.value.message
    assert caught.value.span == meant.value.span


# --- programs with something wrong -----------------------------------------------------------


OPERATORS_THAT_CHECK = {
    "a reduction": "def main [n] (t: [n]i64) (xs: []i64) = reduce (\\x y -> t[x] * 0 + y) 0 xs",
    "a scan": "def main [n] (t: [n]i64) (xs: []i64) = scan (\\x y -> t[x] * 0 + y) 0 xs",
    "an inner reduction": "def main [n] (t: [n]i64) (xss: [][]i64) =\n"
    "  map (\\xs -> reduce (\\x y -> t[x] * 0 + y) 0 xs) xss",
    "an inner scan": "def main [n] (t: [n]i64) (xss: [][]i64) =\n"
    "  map (\\xs -> scan (\\x y -> t[x] * 0 + y) 0 xs) xss",
}


@pytest.mark.parametrize("version", kernels.VERSIONS)
@pytest.mark.parametrize("name", OPERATORS_THAT_CHECK)
def test_an_operator_that_fails_leaves_no_thread_behind_a_barrier(name: str, version: str) -> None:
    """Some threads' checks fail while they combine; the others wait for them all the same."""
    prog = with_kernels(OPERATORS_THAT_CHECK[name], version)
    table = np.zeros(3, np.int64)
    rows = np.arange(70) % 3
    rows[40] = 7
    with pytest.raises(RuntimeError_, match=r"Index \[7\] out of bounds"):
        kernel_interp.run(prog, "main", [table, np.stack([rows] * 2) if "inner" in name else rows])


def without(stms: Stms, number: int, counted: Iterator[int]) -> Stms:
    """Statements without the barrier of that number."""
    out: list[Stm] = []
    for stm in stms:
        if isinstance(stm, k.Barrier) and next(counted) == number:
            continue
        match stm:
            case If():
                then = without(stm.then, number, counted)
                stm = replace(stm, then=then, orelse=without(stm.orelse, number, counted))
            case For() | While() | k.Stride() | k.Scope():
                stm = replace(stm, body=without(stm.body, number, counted))
            case k.Launch(kernel):
                body = without(kernel.body, number, counted)
                stm = replace(stm, kernel=replace(kernel, body=body))
        out.append(stm)
    return tuple(out)


def mutants(prog: ImpProg) -> Iterator[ImpProg]:
    """The program without one of its barriers, each in turn."""
    (fun,) = prog.funs
    for number in range(1000):
        counted = iter(range(1000))
        body = without(fun.body, number, counted)
        if next(counted) <= number:
            return
        yield ImpProg((replace(fun, body=body),))


def is_noticed(prog: ImpProg, args: list[Any], expected: list[Any]) -> bool:
    try:
        same(kernel_interp.run(prog, "main", args, threads=96), expected)
    except (Fault, AssertionError):
        return True
    return False


LONG = np.arange(400)


@pytest.mark.parametrize(
    ("source", "args", "barriers", "idle"),
    [(REDUCE, [LONG], 4, 1), (SCAN, [LONG], 7, 1), (ROWS, [LONG.reshape(2, 200)], 5, 3)],
    ids=["reduce", "scan", "rows"],
)
def test_a_barrier_that_is_missing_is_noticed(
    source: str, args: list[Any], barriers: int, idle: int
) -> None:
    """Of those of the kernels that run, which come first: `idle` ones have nothing to wait for.

    They are the first and the last one of a block's code, and one that another one follows.
    Each block has three warps.
    """
    prog = with_kernels(source, "block")
    expected = interp.run(compiled(source).result("soa").prog, "main", list(args))
    assert not is_noticed(prog, args, expected)
    found = [is_noticed(one, args, expected) for one in islice(mutants(prog), barriers)]
    assert (len(found), found.count(False)) == (barriers, idle)


def test_a_device_has_blocks_of_whole_warps() -> None:
    """Short segments are not divided between blocks because of that."""
    assert THREADS % k.WARP == 0
