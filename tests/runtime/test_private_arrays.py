"""Arrays of constant sizes stay with their thread, whose registers and stack they are."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.target import PRIVATE_BYTES
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.semantics import interp
from compiler.storage.expand import SMALL_BYTES
from testing.kernels import observed, same
from tests.codegen.helpers import check_source, compiled
from tests.codegen.test_cuda import compiled_for
from tests.runtime.cuda_on_cpu import needs_cxx

LARGEST = PRIVATE_BYTES // 4
KEEPS = "private"


def filled(count: int, name: str = "ys") -> str:
    """An array of as many i32, each of which depends on what stands before it."""
    return (
        f"let {name} = loop {name} = replicate {count} x for i < {count - 1} do"
        f" {name} with [i + 1] = {name}[i] * 3 + {name}[i / 2]\n"
    )


def of_each(*counts: int) -> str:
    """A map whose threads make such arrays, and read an element of each that they choose."""
    made = "".join(filled(count, f"y{at}") for at, count in enumerate(counts))
    read = " + ".join(f"y{at}[i64.i32 x % {count}]" for at, count in enumerate(counts))
    return f"entry main [n] (xs: [n]i32): [n]i32 = map (\\x ->\n{made} in {read}) xs"


def told(work: Compilation) -> list[tuple[str, str]]:
    """What threads keep, and what lies in memory for all of them, in order; sizes of one."""
    work.result("expanded")
    notes = (one for one in work.remarks() if one.rule == "memory/expand")
    return [
        ("kept" if KEEPS in n.because else "apart", dict(n.numbers)["per thread"]) for n in notes
    ]


@pytest.mark.parametrize("target", ["c", "cuda"])
@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((1183,), ["kept"]),
        ((LARGEST,), ["kept"]),
        ((LARGEST + 1,), ["apart"]),
        ((LARGEST // 2, LARGEST // 2, LARGEST // 2), ["kept", "kept", "apart"]),
        ((LARGEST, SMALL_BYTES // 4, 3), ["kept"] * 3),
    ],
)
def test_what_fits_stays_with_its_thread(
    target: str, counts: tuple[int, ...], expected: list[str]
) -> None:
    work = compiled(of_each(*counts), target)
    assert told(work) == [(where, f"{4 * n} B") for where, n in zip(expected, counts, strict=True)]


@needs_cxx
@pytest.mark.parametrize("counts", [(1183,), (LARGEST, 3), (LARGEST + 1, 1200)])
def test_all_interpreters_and_texts_give_the_same(counts: tuple[int, ...]) -> None:
    check_source(of_each(*counts), [np.arange(40, dtype=np.int32)], 0)


@needs_cxx
def test_what_threads_keep_is_no_device_memory() -> None:
    work = compiled_for(of_each(1183), 0)
    kernels = plain(work.result("kernels").text)
    assert kernels.count("mem(i32) = alloc(") == kernels.count("mem(i32, private) = alloc(") == 1
    xs = np.arange(64, dtype=np.int32)
    same(observed(work, "main", [xs], "random"), interp.run(work.result("soa").prog, "main", [xs]))


def operator(count: int) -> str:
    """A reduction whose operator makes an array, as large as that."""
    return (
        "entry main [n] (xs: [n]i32): i32 = reduce_comm (\\a b ->"
        f" let x = a + b\n{filled(count)} in x + (ys[{count - 1}] * 2 & 1)) 0 xs"
    )


@needs_cxx
@pytest.mark.parametrize(
    ("count", "kernels"), [(300, "SegRed"), (PRIVATE_BYTES // 8 + 1, "SegMap")]
)
def test_operators_make_arrays_that_their_threads_keep(count: int, kernels: str) -> None:
    """What is too large for that is done by one thread, row by row."""
    work = compiled_for(operator(count), None)
    assert f"{kernels.lower()} @grid" in plain(work.result("funmem").text)
    xs = np.arange(600, dtype=np.int32)
    assert observed(work, "main", [xs], "random") == [np.int32(xs.sum())]
