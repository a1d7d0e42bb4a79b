"""Copies that a run tells apart by the numbers of their LMADs."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from compiler.algebra.lmad import Dim, Lmad
from compiler.base.context import Options
from compiler.base.text import plain
from compiler.codegen.c import copies
from compiler.codegen.c import runtime as c_runtime
from compiler.driver import api
from compiler.driver.pipeline import Compilation
from compiler.protocol.kinds import OfProgram
from compiler.runtime import runner
from compiler.runtime.cc import compile_c

BLOCK, TRANSPOSED, OTHER = range(3)
Dims = Sequence[tuple[int, int, int]]
"""Size, stride of the destination, stride of the source."""
Tell = Callable[[Dims], int]
OWN = """
int tell(int rank, void *dims) {
    int64_t to = 0, from = 0;
    rank = ss_simplest(rank, dims, &to, &from);
    return ss_kind(rank, dims);
}
bool run(void *to, int64_t to_at, void *from, int64_t from_at, int64_t cell, int rank, void *dims) {
    return ss_copy_lmads(to, to_at, from, from_at, cell, rank, dims);
}
"""

pytestmark = pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")


@pytest.fixture(scope="module")
def library() -> ctypes.CDLL:
    parts = (
        "#define SS_SQUARES 0",
        c_runtime.HEAD,
        c_runtime.MEMORY,
        copies.BLOCK,
        copies.LMADS,
        OWN,
    )
    return ctypes.CDLL(str(Path(compile_c("\n".join(parts)))))


def numbers(dims: Dims) -> ctypes.Array[ctypes.c_int64]:
    flat = [number for dim in dims for number in dim]
    return (ctypes.c_int64 * max(1, len(flat)))(*flat)


def pairs(dims: Dims) -> list[tuple[int, int]]:
    """Where each element goes, and where it comes from."""
    to = Lmad(0, tuple(Dim(size, stride) for size, stride, _ in dims)).points()
    come = Lmad(0, tuple(Dim(size, stride) for size, _, stride in dims)).points()
    return list(zip(to, come, strict=True))


def naive(dims: Dims) -> int:
    """What a copy is, by all of its elements.

    A step leads from the first cell to another one, and does not consist of others.
    """
    found = sorted(pairs(dims))
    first = found[0]
    moves = {(to - first[0], come - first[1]) for to, come in found[1:]}
    if all(to == come for to, come in moves) and len(found) == found[-1][0] - first[0] + 1:
        return BLOCK
    sums = {(a + c, b + d) for (a, b), (c, d) in itertools.product(moves, moves)}
    steps = moves - sums
    beside = [come for to, come in steps if to == 1]
    along = [to for to, come in steps if come == 1]
    return TRANSPOSED if beside and beside[0] != 1 and along else OTHER


def small(rank: int, sizes: Sequence[int], strides: Sequence[int]) -> Iterator[Dims]:
    """All copies with so many dimensions that write no cell twice."""
    one = list(itertools.product(sizes, strides, strides))
    for dims in itertools.product(one, repeat=rank):
        to = [at for at, _ in pairs(dims)]
        if len(set(to)) == len(to):
            yield dims


@pytest.mark.parametrize(
    ("rank", "sizes", "strides"),
    [
        (0, (), ()),
        (1, (1, 2, 3), range(-4, 5)),
        (2, (1, 2, 3), (-3, -2, -1, 0, 1, 2, 3, 6)),
        (3, (1, 2), (-2, 0, 1, 2, 4)),
        (3, (2, 3), (1, 2, 3, 6)),
    ],
)
def test_kinds_are_those_of_a_model_that_looks_at_all_elements(
    library: ctypes.CDLL, rank: int, sizes: Sequence[int], strides: Sequence[int]
) -> None:
    seen = set()
    for dims in small(rank, sizes, strides):
        kind = library.tell(rank, numbers(dims))
        assert kind == naive(dims), dims
        seen.add(kind)
    assert seen == {0: {BLOCK}, 1: {BLOCK, OTHER}}.get(rank, {BLOCK, TRANSPOSED, OTHER})


CASES = {
    "block": [(7, 1, 1)],
    "block of permuted dimensions": [(40, 1, 1), (30, 40, 40)],
    "block backwards on both sides": [(50, -1, -1)],
    "transposition": [(33, 70, 1), (70, 1, 33)],
    "transposition of groups": [(6, 350, 5), (5, 70, 1), (70, 1, 30)],
    "transpositions, one after another": [(3, 2310, 2310), (33, 70, 1), (70, 1, 33)],
    "transposition with other dimensions between": [(9, 1, 330), (11, 9, 30), (30, 99, 1)],
    "transposition of one row to itself": [(12, 20, 1), (20, 1, 0)],
    "transposition, read backwards": [(40, 32, 1), (32, 1, -40)],
    "squares that do not fit": [(31, 65, 1), (65, 1, 40)],
    "thin transposition": [(3, 50, 1), (50, 1, 3)],
    "rows": [(20, 2100, 2200), (2090, 1, 1)],
    "short rows": [(20, 30, 40), (28, 1, 1)],
    "rows of permuted dimensions": [(2090, 1, 1), (20, 2100, 2200)],
    "long rows": [(2, 70_000, 80_000), (70_000, 1, 1)],
    "the same row often": [(5, 300, 0), (300, 1, 1)],
    "every other cell": [(100, 1, 2)],
    "backwards": [(100, 1, -1)],
    "one cell": [],
    "nothing": [(3, 5, 7), (0, 9, 9), (2, 1, 1)],
}


@pytest.mark.parametrize("what", CASES)
@pytest.mark.parametrize("kind", ["i1", "i2", "f4", "f8"])
def test_copies_write_what_plain_loops_write(library: ctypes.CDLL, what: str, kind: str) -> None:
    dims = CASES[what]
    cells = pairs(dims)
    ends = [[cell[side] for cell in cells] for side in (0, 1)]
    to_at, from_at = (5 - min(end, default=0) for end in ends)
    long = [at + max(end, default=0) + 9 for at, end in zip((to_at, from_at), ends, strict=True)]
    dest = np.full(long[0], -1).astype(kind)
    source = (np.arange(long[1]) % 120).astype(kind)
    wanted = dest.copy()
    for to, come in cells:
        wanted[to_at + to] = source[from_at + come]
    kept = source.copy()
    done = library.run(
        ctypes.c_void_p(dest.ctypes.data),
        ctypes.c_int64(to_at),
        ctypes.c_void_p(source.ctypes.data),
        ctypes.c_int64(from_at),
        ctypes.c_int64(source.itemsize),
        len(dims),
        numbers(dims),
    )
    np.testing.assert_array_equal(dest, wanted if done & 1 else np.full_like(dest, -1))
    np.testing.assert_array_equal(source, kept)


PROGRAM = """
entry main [n] [m] (c: bool) (a: [n][m]i32): [m][n]i32 =
  if c then transpose a else copy (transpose (map (map (+ 1)) a))
entry either [n] (c: bool) (a: [n][n]i32): [n][n]i32 = if c then a else transpose a
entry turned [a] [b] [c] (x: [a][b][c]i16): [c][b][a]i16 =
  map transpose (transpose (map transpose x))
entry flat [n] [m] (a: [n][m]i32): [n * m]i32 = flatten (transpose a)
entry back [n] (a: [n]i32): []i32 = copy (a[::-1])
entry part [n] [m] (a: [n][m]i32): [][]i32 = copy (a[1:n - 1, 2:m - 1])
"""


def table(n: int, m: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int32]]:
    return np.arange(n * m, dtype=np.int32).reshape(n, m)


LARGE = table(513, 700)
CUBE = np.arange(20 * 3 * 30, dtype=np.int16).reshape(20, 3, 30)
RUNS = {
    "transposition": ("main", [np.True_, table(40, 50)], "transposition", table(40, 50).T),
    "one row": ("main", [np.True_, table(1, 50)], "block", table(1, 50).T),
    "one column": ("main", [np.True_, table(50, 1)], "block", table(50, 1).T),
    "one cell": ("main", [np.True_, table(1, 1)], "block", table(1, 1)),
    "no rows": ("main", [np.True_, table(0, 5)], "", table(0, 5).T),
    "no columns": ("main", [np.True_, table(5, 0)], "", table(5, 0).T),
    "the first branch": ("either", [np.True_, table(40, 40)], "block", table(40, 40)),
    "the other branch": ("either", [np.False_, table(40, 40)], "transposition", table(40, 40).T),
    "inside of a kernel": ("turned", [CUBE], "", CUBE.transpose(2, 1, 0)),
    "flattened": ("flat", [table(40, 50)], "transposition", table(40, 50).T.flatten()),
    "backwards": ("back", [table(1, 9)[0]], "general", table(1, 9)[0][::-1]),
    "a part": ("part", [table(6, 90)], "general", table(6, 90)[1:5, 2:89]),
    "a part of short rows": ("part", [table(6, 9)], "general", table(6, 9)[1:5, 2:8]),
    "a large transposition": ("main", [np.True_, LARGE], "transposition", LARGE.T),
    "nothing of a part": ("part", [table(2, 3)], "", table(2, 3)[1:1, 2:2]),
}


@pytest.mark.parametrize("what", RUNS)
def test_a_run_tells_what_its_copies_were(what: str) -> None:
    entry, args, kind, wanted = RUNS[what]
    asked = OfProgram(PROGRAM, {}, {}, "")
    done = api.run_values(asked, entry, list(args), "c", "", 60.0)
    np.testing.assert_array_equal(done["values"][0], wanted)
    told = [{"kind": kind, "count": 1, "bytes": wanted.nbytes}] if kind else []
    assert done["copies"] == told
    by_model = api.run_values(asked, entry, list(args), "ref", "imp", 60.0)
    np.testing.assert_array_equal(by_model["values"][0], wanted)
    assert "copies" not in by_model


def test_programs_without_such_copies_have_no_function_for_them() -> None:
    work = Compilation("def main [n] (a: [n]i32) = map (+ 1) a", Options())
    assert "ss_copy" not in plain(work.result("c").text)
    work = Compilation("def main [n] (a: [n]i32) = copy a", Options())
    assert "ss_copy_lmads" not in plain(work.result("c").text)
