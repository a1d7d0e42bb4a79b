"""Arrays inside of kernels whose sizes follow from loop indices, under bounds of every form.

A thread's array is a part of a block that is made before the kernel: its size may mention nothing
that only the kernel knows, whatever the loop's bound is.
"""

from __future__ import annotations

import numpy as np
import pytest

from compiler.base.errors import Limitation
from compiler.runtime import runner
from testing.campaign import Manner, compiled, failure
from testing.generators.storage import Generated

BOUNDS = {
    "a size": "n",
    "a quotient by a constant": "n / 2",
    "a quotient": "n / k",
    "a rest": "n % k",
    "the smaller": "i64.min n k",
    "the larger": "i64.max n k",
    "a square": "k * k",
    "a bit count": "i64.i32 (i64.popc k)",
    "from the element": "x % 4",
    "read": "xs[0] % 3",
}
SIZES = {"grows": "i + 1", "falls": "n + 4 - i", "scales": "i * 2 + 1", "both": "(i + 1) * (9 - i)"}


def program(bound: str, size: str) -> str:
    return (
        "entry main [n] (xs: [n]i64) (k: i64) =\n"
        f"  map (\\x -> loop acc = 0 for i < {bound} do\n"
        f"    let a = loop a = replicate ({size}) x for j < {size} do a with [j] = a[j] * j + acc\n"
        "    in acc + i64.sum a) xs"
    )


@pytest.mark.skipif(not runner.compiler_available(), reason="no C compiler")
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bound", BOUNDS)
def test_a_threads_array_has_room_for_every_iteration(bound: str, size: str) -> None:
    source = program(BOUNDS[bound], SIZES[size])
    inputs = [[np.arange(5), np.int64(2)], [np.arange(1), np.int64(3)], [np.arange(0), np.int64(1)]]
    assert failure(Generated(0, "main", source, inputs), Manner(verified=True)) == ""


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("bound", BOUNDS)
def test_the_gpu_has_room_too_or_says_why_not(bound: str, size: str) -> None:
    work = compiled(program(BOUNDS[bound], SIZES[size]), Manner(verified=True))
    try:
        work.result("cuda")
    except Limitation as refused:
        assert "known only inside the kernel" in refused.message
