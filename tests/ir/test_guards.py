"""The guards of slices by LMADs against enumeration, here and as compiled C."""

from __future__ import annotations

import ctypes
import random
import subprocess
from pathlib import Path

import pytest

from compiler.algebra.lmad import Dim, Lmad
from compiler.codegen.c.guards import guard
from compiler.ir.guards import LARGEST_EXTENT, distinct, inside
from compiler.runtime.runner import compiler_available

Case = tuple[int, list[int]]


def cases(rank: int, count: int) -> list[Case]:
    """Starts, and sizes and strides by turns."""
    rng = random.Random(rank)
    strides = [-12, -7, -4, -3, -1, 0, 1, 2, 3, 5, 6, 12, 20, 40]
    return [
        (
            rng.randint(-3, 60),
            [x for _ in range(rank) for x in (rng.randint(0, 6), rng.choice(strides))],
        )
        for _ in range(count)
    ]


def lmad(case: Case) -> Lmad[int]:
    start, dims = case
    return Lmad(start, tuple(map(Dim, dims[::2], dims[1::2])))


EXTREMES = [
    (0, [5, 1 << 62, 1, 1]),
    (0, [5, -(1 << 63), 1, 1]),
    (0, [1 << 62, 1 << 62, 1 << 62, 4]),
    (-(1 << 63), [2, 1, 2, 1]),
    ((1 << 63) - 1, [2, (1 << 63) - 1, 2, 1]),
    (0, [1 << 40, 0, 3, 1]),
    (0, [-1, 1, 3, 1]),
]


BORDERS = [
    *(sign * (1 << power) + more for power in (31, 45, 46, 47, 61, 62) for sign in (1, -1)
      for more in (-1, 0, 1)),
    *((1 << 63) - 1, -(1 << 63), 0, 1, -1, 2, 3),
]  # fmt: skip


def extremes(rank: int, count: int) -> list[tuple[int, int, list[int]]]:
    """Lengths, starts, sizes and strides at the borders of 64 bits; a few sizes are small."""
    rng = random.Random(f"extremes {rank}")

    def dim() -> list[int]:
        small = rng.random() < 0.6
        size = rng.randint(0, 5) if small else rng.choice(BORDERS)
        return [size, rng.choice(BORDERS) // rng.choice((1, 1, 2, 3, 5))]

    def one() -> tuple[int, int, list[int]]:
        start = rng.choice(BORDERS) if rng.random() < 0.7 else rng.randint(-3, 3)
        return rng.choice(BORDERS), start, [x for _ in range(rank) for x in dim()]

    most, rest = (1 << 63) - 1, [1, 1] * (rank - 2)
    sums = [
        (most, 1 << 62, [3, 1 << 61, 3, 1 << 61, *rest]),
        (most, 1 << 62, [3, -(1 << 61), 3, -(1 << 61), *rest]),
        (most, most - 1, [2, most - 1, 2, most - 1, *rest]),
    ]
    return [*sums, *(one() for _ in range(count))]


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_both_guards_agree_with_enumeration(rank: int) -> None:
    for case in cases(rank, 3000):
        cells = lmad(case).points()
        assert inside(100, case[0], *case[1]) == all(0 <= cell < 100 for cell in cells), case
        assert distinct(*case[1]) == (len(set(cells)) == len(cells)), case


@pytest.mark.parametrize("rank", [2, 3])
def test_what_lies_in_an_array_in_memory_is_decided_exactly_at_the_borders_of_64_bits(
    rank: int,
) -> None:
    decided = 0
    for length, start, dims in extremes(rank, 4000):
        if max(dims[::2]) > 6:
            continue
        cells = lmad((start, dims)).points()
        fits = all(0 <= cell < length for cell in cells)
        assert inside(length, start, *dims) == fits, (length, start, dims)
        if fits and length <= LARGEST_EXTENT:
            decided += 1
            assert distinct(*dims) == (len(set(cells)) == len(cells)), dims
    assert decided > 100


def test_strides_that_are_not_ordered_may_be_distinct() -> None:
    assert distinct(3, 2, 2, 3)  # 0 2 4 and 3 5 7
    assert not distinct(4, 2, 3, 3)  # 0 2 4 6 and 6 8 10 12


@pytest.mark.skipif(not compiler_available(), reason="no C compiler here")
@pytest.mark.parametrize("rank", [2, 3, 4])
def test_the_c_functions_agree(rank: int, tmp_path: Path) -> None:
    names = (f"inside_{rank}d", f"distinct_{rank}d")
    head = "#include <stdbool.h>\n#include <stdint.h>\n"
    (tmp_path / "g.c").write_text(head + "\n".join(map(guard, names)))
    library = tmp_path / "g.so"
    command = ["cc", "-O1", "-fwrapv", "-shared", "-fPIC", "-o", str(library)]
    subprocess.run([*command, str(tmp_path / "g.c")], check=True)
    c_inside, c_distinct = (getattr(ctypes.CDLL(str(library)), name) for name in names)
    c_inside.restype = c_distinct.restype = ctypes.c_bool
    more = EXTREMES if rank == 2 else []
    usual = [(100, *case) for case in [*cases(rank, 3000), *more]]
    for length, start, dims in [*usual, *extremes(rank, 3000)]:
        own = [ctypes.c_int64(x) for x in (length, start, *dims)]
        assert c_inside(*own) == inside(length, start, *dims), (length, start, dims)
        assert c_distinct(*own[2:]) == distinct(*dims), dims
