"""Random programs in the kernel IR and as CUDA text: in every code version, each access watched."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from compiler.base.context import Options
from compiler.base.errors import RuntimeError_
from compiler.base.text import plain
from compiler.codegen.cuda.runtime import INDEX, WIDE_INDEX
from compiler.codegen.kernels.look_back import LOOK_BACK
from compiler.ir.values import Value, show
from compiler.parallel.tuning import names
from compiler.pipeline import Compilation
from compiler.runtime import cuda_device
from compiler.runtime.observer import records
from compiler.semantics import interp
from testing import compiling, kernel_interp
from testing.generators.programs import Generated

VERSIONS = ("default", "outer", "block", "grid")
"""What thresholds ask for: nothing, a thread for each point outside, a block, everything."""
NEVER = 1 << 40
NUMBER = re.compile(r"-?\d+")
"""What messages of one check differ in: any of the points for which it fails may be the first."""
CUDA = Options(target="cuda")
ORDERS: tuple[kernel_interp.Order, ...] = ("ascending", "descending", "random")
TOLERANCE = {2: 5e-3, 4: 2e-5, 8: 1e-12}
"""By the bytes of a float: the order of a sum may differ."""


class Difference(AssertionError):
    """Something else is given than a program means."""


def thresholds(work: Compilation, version: str) -> tuple[tuple[str, int], ...]:
    """The tuning parameters of a program's code for CUDA that pick one of its code versions."""
    if version == "default":
        return ()
    at_once = {"outer": "", "block": "intra", "grid": None}[version]
    return tuple(
        (name, 0 if at_once is not None and at_once in name else NEVER)
        for name in names(work.result("flat", "cuda").prog)
    )


def compiled(source: str, version: str, look_back: bool = False) -> Compilation:
    """A program for CUDA in one of its code versions, whose scans may have one pass."""
    chosen = thresholds(compiling.compiled(source, CUDA), version)
    enabled = frozenset((LOOK_BACK.id,) if look_back else ())
    return compiling.compiled(source, replace(CUDA, thresholds=chosen, enabled=enabled))


def check(made: Generated, version: str) -> None:
    """Run the kernels of a program.

    Raises Difference for other results, `kernel_interp.Fault` for what no device may be asked to
    do, and what a run of the program raises.
    """
    rng = random.Random(f"kernels {made.seed} {version}")
    work = compiled(made.source, version, rng.random() < 0.5)
    wanted = interp.run(work.result("soa").prog, "main", list(made.inputs))
    prog = work.result("kernels").prog
    threads, order = rng.choice((32, 64, 256)), rng.choice(ORDERS)
    found = kernel_interp.run(prog, "main", list(made.inputs), threads, order)
    same(found, wanted, f"{version}, {threads} threads, {order}")


TINY_INDEX = INDEX.replace("int32_t", "int16_t")


@contextmanager
def tiny_indices() -> Iterator[None]:
    """Launches take indices of 16 bits for narrow: small programs are at the border then."""

    def widened(kernels: str) -> str:
        return kernels.replace(TINY_INDEX, WIDE_INDEX, 1)

    with patch.object(cuda_device, "LIMIT", 1 << 15), patch.object(records, "widened", widened):
        yield


def check_text(made: Generated, version: str) -> None:
    """Run the CUDA text of a program on a processor, its narrow indices with 16 bits.

    Raises Difference for other results and for what the observer reports, and what a run of the
    program raises.
    """
    rng = random.Random(f"text {made.seed} {version}")
    work = compiled(made.source, version, rng.random() < 0.5)
    compare_text(work, "main", made.inputs, rng.choice(ORDERS), version)


def compare_text(
    work: Compilation, entry: str, args: Sequence[Value], order: records.Order, what: str = ""
) -> None:
    """Run an entry point by the reference and as CUDA text, which fails where that does, and so.

    Raises Difference, and the error of a run that fails as it should.
    """
    failed, wanted, found = "", None, None
    try:
        wanted = interp.run(work.result("soa").prog, entry, list(args))
    except RuntimeError_ as error:
        failed = error.message
    try:
        found = observed(work, entry, args, order)
    except RuntimeError_ as error:
        if NUMBER.sub("", error.message) == NUMBER.sub("", failed):
            raise
        raise Difference(f"{what}, {order}: {error.message}, not {failed}") from error
    if wanted is None:
        raise Difference(f"{what}, {order}: it does not fail: {failed}")
    same(found, wanted, f"{what}, {order}")


def observed(
    work: Compilation, entry: str, args: Sequence[Value], order: records.Order
) -> list[Value]:
    """What an entry point gives as CUDA text on a processor, its narrow indices with 16 bits.

    Raises Difference for what the observer reports, and what a run of the program raises.
    """
    code = plain(work.result("cuda").text).replace(INDEX, TINY_INDEX)
    with tiny_indices():
        seen = records.observe(code, entry, list(args), order, records=False)
    if seen.problems:
        raise Difference(f"{order}: {seen.problems[0]}")
    if seen.error is not None or seen.results is None:
        raise seen.error or Difference(f"{order}: there are no results")
    return seen.results


def same(found: Sequence[object], wanted: Sequence[object], what: str = "") -> None:
    """Raise Difference unless types and shapes are the same, integers equal, and floats close."""
    if len(found) != len(wanted):
        raise Difference(f"{what}: there are {len(found)} results, not {len(wanted)}")
    for k, (got, want) in enumerate(
        zip(map(np.asarray, found), map(np.asarray, wanted), strict=True)
    ):
        equal = got.dtype == want.dtype and got.shape == want.shape
        if equal and got.dtype.kind == "f":
            close = TOLERANCE[got.dtype.itemsize]
            equal = bool(np.allclose(got, want, rtol=close, atol=close, equal_nan=True))
        elif equal:
            equal = bool(np.array_equal(got, want))
        if not equal:
            raise Difference(f"{what}: result {k} is {show(got[()])}, not {show(want[()])}")
