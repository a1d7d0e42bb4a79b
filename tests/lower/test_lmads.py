"""Slices and updates by LMADs: against NumPy, in all stages and on C; what they leave alone."""

from __future__ import annotations

from math import prod
from pathlib import Path

import numpy as np
import pytest

from compiler.base.context import Ctx, Options
from compiler.base.errors import CompileError
from compiler.base.names import base_of
from compiler.driver import api
from compiler.driver.pipeline import verify
from compiler.frontend.check import check
from compiler.frontend.parser import parse
from compiler.ir.nodes import Assert, Copy, DimLmad, Prog, Slice, Stm, Update
from compiler.ir.values import Value
from compiler.ir.walk import all_stms
from compiler.lower.monomorphise import monomorphise
from compiler.lower.soa import soa
from compiler.protocol.kinds import OfProgram
from tests.codegen.helpers import needs_cc

PROGRAM = (Path(__file__).parent / "programs" / "lmads.fut").read_text("utf-8")
STAGES = ("soa", "fused", "funmem", "imp")


def run(source: str, entry: str, args: list[Value], backend: str, stage: str = "") -> list[Value]:
    found: list[Value] = api.run_values(OfProgram(source), entry, args, backend, stage, 60)[
        "values"
    ]
    return found


def everywhere(source: str, entry: str, args: list[Value]) -> list[Value]:
    """The results, which all stages and C must agree on."""
    first, *others = [run(source, entry, args, "ref", stage) for stage in STAGES]
    others.append(run(source, entry, args, "c"))
    for other in others:
        for a, b in zip(first, other, strict=True):
            np.testing.assert_array_equal(a, b)
    return first


# --- against NumPy -------------------------------------------------------------------------------


Cells = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def cells(offset: int, counts: list[int], strides: list[int]) -> Cells:
    """The places of an LMAD, in its shape."""
    found: Cells = np.array(offset, "int64")
    for count, stride in zip(counts, strides, strict=True):
        found = found[..., None] + np.arange(count) * stride
    return found


def is_inside(n: int, offset: int, counts: list[int], strides: list[int]) -> bool:
    """In whole numbers of any size: whether the first and last places are in an array."""
    if 0 in counts:
        return True
    ends = [(c - 1) * s for c, s in zip(counts, strides, strict=True)]
    low, high = offset + sum(min(0, e) for e in ends), offset + sum(max(0, e) for e in ends)
    return low >= 0 and high < n


HUGE = [2**62, -(2**62), 2**63 - 1, -(2**63), 2**61 + 1]


def random_lmad(rng: np.random.Generator, rank: int) -> tuple[int, int, list[int], list[int]]:
    """An array's size and an LMAD, more often than not one that fits."""
    counts = [int(c) for c in rng.integers(0 if rng.random() < 0.15 else 1, 4, rank)]
    strides = [int(s) for s in rng.integers(-9, 10, rank)]
    if rng.random() < 0.1:
        strides[int(rng.integers(rank))] = int(rng.choice(HUGE))
    reach = [(c - 1) * s for c, s in zip(counts, strides, strict=True)]
    low, high = sum(min(0, r) for r in reach), sum(max(0, r) for r in reach)
    slack = int(rng.integers(-1, 4))
    offset = -low + int(rng.integers(0, max(1, slack + 1)))
    n = high - low + 1 + slack
    if not 0 <= n < 500 or abs(offset) >= 2**62:
        n, offset = int(rng.integers(0, 50)), int(rng.integers(-3, 50))
    return n, offset, counts, strides


READ = "".join(
    f"entry read_{r}d [n] (xs: [n]i64) (o: i64) "
    + "".join(f"(n{k}: i64) (s{k}: i64) " for k in range(r))
    + f"= intrinsics.flat_index_{r}d xs o "
    + " ".join(f"n{k} s{k}" for k in range(r))
    + "\n"
    for r in (2, 3, 4)
)
WRITE = "".join(
    f"entry write_{r}d [n] (xs: *[n]i64) (o: i64) "
    + " ".join(f"(s{k}: i64)" for k in range(r))
    + f" (values: {'[]' * r}i64) = intrinsics.flat_update_{r}d xs o "
    + " ".join(f"s{k}" for k in range(r))
    + " values\n"
    for r in (2, 3, 4)
)
BACKENDS = [pytest.param("ref", id="ref"), pytest.param("c", id="c", marks=needs_cc)]


@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize("backend", BACKENDS)
def test_random_slices_are_what_numpy_gathers(backend: str, rank: int) -> None:
    rng = np.random.default_rng(rank)
    refused = 0
    for _ in range(150):
        n, offset, counts, strides = random_lmad(rng, rank)
        xs = rng.integers(0, 1000, n)
        numbers = [offset, *(x for pair in zip(counts, strides, strict=True) for x in pair)]
        args: list[Value] = [xs, *(np.int64(x) for x in numbers)]
        if is_inside(n, offset, counts, strides):
            (found,) = run(READ, f"read_{rank}d", args, backend)
            expected = xs[cells(offset, counts, strides)] if prod(counts) else np.zeros(counts)
            np.testing.assert_array_equal(found, expected)
        else:
            refused += 1
            with pytest.raises(CompileError, match="out of bounds"):
                run(READ, f"read_{rank}d", args, backend)
    assert 20 < refused < 130


@pytest.mark.parametrize("rank", [2, 3, 4])
@pytest.mark.parametrize("backend", BACKENDS)
def test_random_updates_are_what_numpy_assigns(backend: str, rank: int) -> None:
    rng = np.random.default_rng(10 + rank)
    seen = {"fine": 0, "out of bounds": 0, "write a cell twice": 0}
    for _ in range(150):
        n, offset, counts, strides = random_lmad(rng, rank)
        xs, values = np.arange(n), rng.integers(1000, 2000, counts)
        args: list[Value] = [xs.copy(), *(np.int64(x) for x in (offset, *strides)), values]
        expected, outcome = xs.copy(), "out of bounds"
        if is_inside(n, offset, counts, strides):
            at = cells(offset, counts, strides) if prod(counts) else np.zeros(counts, "int64")
            outcome = "fine" if len(np.unique(at)) == at.size else "write a cell twice"
            expected[at] = values
        seen[outcome] += 1
        if outcome == "fine":
            (found,) = run(WRITE, f"write_{rank}d", args, backend)
            np.testing.assert_array_equal(found, expected)
        else:
            with pytest.raises(CompileError, match=outcome):
                run(WRITE, f"write_{rank}d", args, backend)
    assert min(seen.values()) >= 5, seen


# --- values that share cells ---------------------------------------------------------------------

SHARED = """
def pairs [n] (xs: [n]i64) : [][2]i64 = windows 2 xs
def own [n] (xs: *[n]i64) : *[][]i64 = intrinsics.flat_index_2d xs 0 2 1 2 1
def set (yss: *[][]i64) (i: i64) (j: i64) : *[][]i64 = yss with [i, j] = 77

entry slice (n: i64) =
  let xs = iota n
  let ys = intrinsics.flat_index_2d xs 0 2 1 2 1
  in ys with [0, 1] = 77

entry call (n: i64) = (pairs (iota n)) with [0, 1] = 77
entry fresh (n: i64) = (own (iota n)) with [0, 1] = 77
entry argument (n: i64) = set (pairs (iota n)) 0 1

entry part (n: i64) =
  let row = (pairs (iota n))[:, 1]
  let other = transpose (pairs (iota n))
  in (row with [0] = 5, other with [0] = replicate (n - 1) 9)

entry branch (n: i64) (k: i64) =
  let ys = if k > 0 then pairs (iota n) else [[k, k]]
  in ys with [0, 1] = 77

entry carried (n: i64) =
  loop ys = replicate (n - 1) [5, 6] for i < 3 do
    let ys[0, 1] = ys[0, 1] + i
    in sized (n - 1) (pairs (take n (flatten ys)))

entry started (n: i64) =
  loop ys = pairs (iota n) for i < 3 do ys with [i, 1] = i - 10

entry scattered (n: i64) = scatter_2d (pairs (iota n)) [(0, 1)] [77]

entry of_records (n: i64) =
  let ys = windows 2 (map (\\i -> (i, -i)) (iota n))
  in unzip (flatten (ys with [0, 1] = (77, 78)))

entry mapped (n: i64) = map (map (+ 2)) (pairs (iota n))
"""
SHARED_RESULTS: dict[str, list[list[object]]] = {
    "slice": [[[0, 77], [1, 2]]],
    "call": [[[0, 77], [1, 2], [2, 3]]],
    "fresh": [[[0, 77], [1, 2]]],
    "argument": [[[0, 77], [1, 2], [2, 3]]],
    "part": [[5, 2, 3], [[9, 9, 9], [1, 2, 3]]],
    "carried": [[[5, 9], [9, 7], [7, 6]]],
    "started": [[[0, -10], [1, -9], [2, -8]]],
    "scattered": [[[0, 77], [1, 2], [2, 3]]],
    "of_records": [[0, 77, 1, 2, 2, 3], [0, 78, -1, -2, -2, -3]],
    "mapped": [[[2, 3], [3, 4], [4, 5]]],
}


@needs_cc
@pytest.mark.parametrize("entry", SHARED_RESULTS)
def test_writing_to_one_element_leaves_those_in_the_same_cell(entry: str) -> None:
    found = everywhere(SHARED, entry, [np.int64(4)])
    assert [x.tolist() for x in found] == SHARED_RESULTS[entry]


@needs_cc
def test_either_branch_may_have_cells_twice() -> None:
    for k, expected in ((1, [[0, 77], [1, 2]]), (-1, [[-1, 77]])):
        (found,) = everywhere(SHARED, "branch", [np.int64(3), np.int64(k)])
        assert found.tolist() == expected


# --- the core program ----------------------------------------------------------------------------


def lowered(source: str, options: Options | None = None) -> Prog:
    ctx = Ctx(options or Options())
    prog = soa(monomorphise(check(parse(source), ctx), ctx), ctx)
    verify(prog, "soa")
    return prog


def stms(source: str) -> list[Stm]:
    return [stm for fun in lowered(source).funs for stm in all_stms(fun.body.stms)]


def count(source: str, form: type) -> int:
    return sum(isinstance(stm.exp, form) for stm in stms(source))


@pytest.mark.parametrize(
    ("source", "copies"),
    [
        ("entry main (n: i64) = map i64.sum (windows 3 (iota n))", 0),
        ("entry main (n: i64) = (windows 3 (iota n)) with [0, 0] = 5", 1),
        ("entry main (n: i64) = (lmad_slice_2d (iota n) 0 (4, 1) 3 4) with [0, 0] = 5", 0),
        ("entry main (n: i64) = (lmad_slice_2d (iota n) 0 (3, 1) 3 4) with [0, 0] = 5", 1),
        (
            "entry main (xs: *[]i64) =\n  let ys = copy (windows 3 xs)\n"
            "  let sums = map i64.sum (windows 2 xs)\n  in (ys with [0, 0] = 5, sums)",
            1,
        ),
        (
            "def f (xs: []i64) = intrinsics.flat_index_2d xs 0 2 1 2 1\n"
            "entry main (xs: *[]i64) =\n"
            "  let ys = f xs\n  in intrinsics.flat_update_2d xs 0 1 1 [[ys[0, 1]]]",
            0,
        ),
    ],
)
def test_only_what_is_overwritten_and_may_share_cells_is_copied(source: str, copies: int) -> None:
    assert count(source, Copy) == copies


def test_one_dimension_is_indexed_and_the_others_are_whole() -> None:
    source = "entry main (xs: [][3]i64) = intrinsics.flat_index_2d xs 1 2 3 4 5"
    (found,) = [stm for stm in stms(source) if isinstance(stm.exp, Slice)]
    assert isinstance(found.exp, Slice)
    lmad, rest = found.exp.dims
    assert isinstance(lmad, DimLmad)
    assert [str(x) for x in (*lmad.counts, *rest.counts)] == ["2", "4", "3"]
    assert base_of(found.pat[0].name) == "xs_part"


@pytest.mark.parametrize(
    ("source", "checks"),
    [
        ("entry main (n: i64) (xs: []i64) = intrinsics.flat_index_2d xs 0 n 1 n 1", 2),
        ("entry main [n] (xs: [n]i64) = intrinsics.flat_index_2d xs 0 n 1 2 1", 1),
        ("entry main (xs: [12]i64) = intrinsics.flat_index_2d xs 0 3 4 4 1", 0),
        ("entry main (xs: *[12]i64) = intrinsics.flat_update_2d xs 0 4 1 [[1, 2], [3, 4]]", 0),
        ("entry main (xs: *[12]i64) = intrinsics.flat_update_2d xs 0 1 1 [[1, 2], [3, 4]]", 1),
        ("entry main (xs: *[12]i64) (v: [2][2]i64) = intrinsics.flat_update_2d xs 0 4 1 v", 0),
        ("entry main (xs: *[]i64) (v: [][]i64) = intrinsics.flat_update_2d xs 0 4 1 v", 2),
    ],
)
def test_numbers_need_no_check(source: str, checks: int) -> None:
    assert count(source, Assert) == checks


def test_an_update_keeps_the_name_and_consumes_nothing_else() -> None:
    source = "entry main (xs: *[]i64) (v: [][]i64) = let ys = lmad_update_2d xs 0 (2, 1) v in ys"
    (found,) = [stm for stm in stms(source) if isinstance(stm.exp, Update)]
    assert base_of(found.pat[0].name) == "ys"
    assert count(source, Copy) == 0
