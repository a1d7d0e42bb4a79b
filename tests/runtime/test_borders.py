"""Numbers at the borders of their types keep their bits, in arrays of any size, everywhere.

Zeros of both signs, subnormals, the largest number, infinities, and what is no number with what its
bits say: by the letter, in the fast interpreter, in memory, in IMP, in C, as kernels and as CUDA's
text. One that would signal may have become quiet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from compiler.base.dtypes import DTYPE
from compiler.base.prim import Prim
from compiler.base.text import plain
from compiler.ir.values import Value
from compiler.runtime import imp_interp, runner
from compiler.runtime.observer.build import why_not
from compiler.semantics import heap, interp, value
from testing import kernel_interp, kernels
from testing.compiling import compiled

INFINITE: dict[Prim, int] = {"f16": 0x7C00, "f32": 0x7F800000, "f64": 0x7FF0000000000000}
"""The bits of infinity."""
MOVED = """
entry main [n] (xs: [n]T) =
  let changed = (copy xs) with [0:n] = reverse xs
  let scattered = scatter (replicate n 0) (iota n) xs
  let chosen = map (\\x -> if x < 0 || x == 0 then x else x) xs
  in (copy xs, map T.to_bits xs, map T.from_bits (map T.to_bits xs), changed, scattered,
      xs ++ xs[0:0], chosen, transpose [xs, xs], xs)
"""
SIGNED = """
entry main [n] (xs: [n]T) =
  (map (\\x -> T.to_bits (-x)) xs, map (\\x -> T.to_bits (T.abs x)) xs, map (T.copysign 1) xs,
   map (== 0) xs, map T.isnan xs, map (< 0) xs)
"""
VARIANTS = """
type some = #none | #one T | #two [2]T
def made (x: T): some = if x < 0 then #none else if x == 0 then #two [x, -x] else #one x
def told (s: some): T = match s case #none -> -0.0 case #one x -> x case #two xs -> xs[1]
entry main [n] (xs: [n]T) = (map (made >-> told) xs, map told (reverse (map made xs)))
"""


def numbers(prim: Prim) -> np.ndarray[Any, Any]:
    """Return them, each with either sign; the last of each sign is no number."""
    infinite = INFINITE[prim]
    least = infinite & -infinite  # that is not subnormal
    quiet = infinite + least // 2
    some = [0, 1, least - 1, least, infinite // 2, infinite - 1, infinite]
    some += [quiet, quiet + 1, infinite + least - 1]
    signed = [*some, *(infinite + least + one for one in some)]
    return np.array(signed, f"u{DTYPE[prim].itemsize}").view(DTYPE[prim])


def places(source: str, args: Sequence[Value]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield where a program runs, and how."""
    work = compiled(source)
    soa = work.result("soa").prog
    yield "by the letter", partial(value.run, soa, "main", args)
    yield "in memory", lambda: heap.run(work.result("merged").prog, "main", args)[0]
    yield "imp", partial(imp_interp.run, work.result("imp").prog, "main", args)
    if runner.compiler_available():
        code = plain(work.result("c").text)
        yield "c", lambda: runner.run_c(code, "main", args).values
    for version in ("default", "grid"):
        made = kernels.compiled(source, version)
        prog = made.result("kernels").prog
        yield (
            f"kernels, {version}",
            partial(kernel_interp.run, prog, "main", list(args), 64, "random"),
        )
        if not why_not():
            yield f"text, {version}", partial(kernels.observed, made, "main", args, "ascending")


def shown(values: Sequence[Any]) -> list[Any]:
    """Return the bits of all floats."""
    return [
        one.view(f"u{one.dtype.itemsize}").tolist() if one.dtype.kind == "f" else one.tolist()
        for one in map(np.asarray, values)
    ]


@pytest.mark.parametrize("prim", INFINITE)
@pytest.mark.parametrize("form", [MOVED, SIGNED, VARIANTS], ids=["moved", "signed", "variants"])
def test_bits_are_kept(form: str, prim: Prim) -> None:
    source, whole = form.replace("T.", f"{prim}.").replace("]T", f"]{prim}"), numbers(prim)
    source = source.replace("one T", f"one {prim}").replace(": T)", f": {prim})")
    source = source.replace("): T =", f"): {prim} =")
    for xs in (whole, whole[-1:], whole[:0]):
        expected = interp.run(compiled(source).result("soa").prog, "main", [xs])
        if form == MOVED:
            assert shown(expected)[0] == shown(expected)[2] == shown(expected)[6] == shown([xs])[0]
            assert shown(expected)[3] == shown([xs])[0][::-1]
        for where, run in places(source, [xs]):
            assert shown(run()) == shown(expected), (where, len(xs))
