"""How many elements a block has: exact, or more than there is memory for, in kernels and in C."""

from __future__ import annotations

import ctypes
import random
import subprocess
from itertools import count as numbered
from itertools import product
from pathlib import Path

import numpy as np

from compiler.algebra.poly import Poly
from compiler.base.spans import NOWHERE
from compiler.codegen.c import runtime
from compiler.codegen.c.kernels import MapKernels
from compiler.codegen.c.scalar import Scalars
from compiler.codegen.index import poly_exp
from compiler.ir import nodes as ir
from compiler.semantics import interp
from compiler.storage.saturate import LARGEST, saturated
from tests.codegen.helpers import needs_cc

A, B, C = NAMES = tuple(map(Poly.var, "abc"))
BORDERS = [
    *(sign * (1 << power) + more for power in (15, 31, 32, 46, 47, 62) for sign in (1, -1)
      for more in (-1, 0, 1)),
    *((1 << 63) - 1, -(1 << 63), 0, 1, -1, 2, 3),
]  # fmt: skip
COUNTS = [
    A * B,
    A * B * C,
    A * B - A * C,
    A * B * 3 + C + 7,
    A * A + B * B * 5 - C,
    A + B + C,
    A * (1 << 62) - B * (1 << 61),
]
MANY = 1 << 126
_TEXT = runtime.MEMORY
WIDE = _TEXT[_TEXT.index("typedef __int128 ss_wide;") : _TEXT.index("SS_OWN static void *ss_alloc")]


def points() -> list[dict[str, int]]:
    rng = random.Random(1)
    some = [{name: rng.choice(BORDERS) for name in "abc"} for _ in range(150)]
    return some + [dict(zip("abc", values, strict=True)) for values in product((0, 1, 5), repeat=3)]


def parts(count: Poly, point: dict[str, int]) -> list[int]:
    """All sums and products on the way to a count."""
    found, total = [], 0
    for mono, coeff in count.terms.items():
        term = coeff
        for name, power in mono:
            for _ in range(power):
                term *= point[name]
                found.append(term)
        total += term
        found.append(total)
    return found


def test_a_kernel_counts_exactly_what_fits_in_64_bits_on_the_way() -> None:
    params = tuple(ir.Param(name, ir.I64) for name in "abc")
    names = (f"size_{k}" for k in numbered())
    exact = 0
    for count in COUNTS:
        stms, value = saturated(count, lambda _: next(names), (NOWHERE,))
        result = (ir.Param("res", ir.I64),)
        prog = ir.Prog((ir.Function("f", params, result, ir.Body(tuple(stms), (value,)), True),))
        for point in points():
            (found,) = interp.run(prog, "f", [np.int64(x) for x in point.values()])
            whole = parts(count, point)
            fits = all(-LARGEST - 1 <= part <= LARGEST for part in whole)
            assert int(found) == (whole[-1] if fits else LARGEST), (count, point)
            exact += fits
    assert exact > 200


@needs_cc
def test_c_counts_exactly_what_fits_in_126_bits_on_the_way(tmp_path: Path) -> None:
    scalars = Scalars()
    scalars.names = {name: name for name in "abc"}
    shown = MapKernels(scalars, {}, numbered())
    text = "#include <stdint.h>\n" + WIDE
    for k, count in enumerate(COUNTS):
        text += f"void f{k}(int64_t a, int64_t b, int64_t c, uint64_t *low, int64_t *high) {{\n"
        text += f"  ss_wide r = {shown.exact(poly_exp(count))}; *low = r; *high = r >> 64;\n}}\n"
    (tmp_path / "c.c").write_text(text)
    library = tmp_path / "c.so"
    command = ["cc", "-O1", "-shared", "-fPIC", "-o", str(library), str(tmp_path / "c.c")]
    subprocess.run(command, check=True)
    for k, count in enumerate(COUNTS):
        function = getattr(ctypes.CDLL(str(library)), f"f{k}")
        for point in points():
            low, high = ctypes.c_uint64(), ctypes.c_int64()
            given = map(ctypes.c_int64, point.values())
            function(*given, ctypes.byref(low), ctypes.byref(high))
            whole = parts(count, point)
            fits = all(abs(part) <= MANY for part in whole)
            found = (high.value << 64) + low.value
            assert found == (whole[-1] if fits else MANY), (count, point)
