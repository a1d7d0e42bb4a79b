"""The guards of slices by LMADs against enumeration, here and as compiled C."""

from __future__ import annotations

import ctypes
import random
import subprocess
from pathlib import Path

import pytest

from compiler.algebra.lmad import Dim, Lmad
from compiler.codegen.c.guards import guard
from compiler.ir.guards import distinct, inside
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


@pytest.mark.parametrize("rank", [2, 3, 4])
def test_both_guards_agree_with_enumeration(rank: int) -> None:
    for case in cases(rank, 3000):
        cells = lmad(case).points()
        assert inside(100, case[0], *case[1]) == all(0 <= cell < 100 for cell in cells), case
        assert distinct(*case[1]) == (len(set(cells)) == len(cells)), case


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
    for start, dims in [*cases(rank, 3000), *more]:
        own = [ctypes.c_int64(x) for x in (100, start, *dims)]
        assert c_inside(*own) == inside(100, start, *dims), (start, dims)
        assert c_distinct(*own[2:]) == distinct(*dims), dims
