"""Random programs in the kernel IR and as CUDA text: in every code version, each access watched."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.codegen.cuda.runtime import INDEX, WIDE_INDEX
from compiler.ir.values import Value, show
from compiler.pipeline import Compilation
from compiler.runtime import cuda_device
from compiler.runtime.observer import records
from compiler.semantics import interp
from testing import kernel_interp
from testing.generators.programs import Generated

VERSIONS = ("default", "outer", "block", "grid")
"""What thresholds ask for: nothing, a thread for each point outside, a block, everything."""
NEVER = 1 << 40
ORDERS: tuple[kernel_interp.Order, ...] = ("ascending", "descending", "random")
TOLERANCE = {2: 5e-3, 4: 2e-5, 8: 1e-12}
"""By the bytes of a float: the order of a sum may differ."""


class Difference(Exception):
    """The kernels of a version give something else than the program means."""


def compiled(source: str, version: str) -> Compilation:
    """A program for CUDA in one of its code versions."""
    work = Compilation(source, Options(target="cuda"))
    if version == "default":
        return work
    text = plain(work.result("flat").text)
    names = [part.split('"')[1] for part in text.split("threshold(")[1:]]
    chosen = [
        (one, 0 if version == "outer" or (version == "block" and "intra" in one) else NEVER)
        for one in names
    ]
    return Compilation(source, Options(target="cuda", thresholds=tuple(chosen)))


def check(made: Generated, version: str) -> None:
    """Run the kernels of a program.

    Raises Difference for other results, `kernel_interp.Fault` for what no device may be asked to
    do, and what a run of the program raises.
    """
    rng = random.Random(f"kernels {made.seed} {version}")
    work = compiled(made.source, version)
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
    work = compiled(made.source, version)
    wanted = interp.run(work.result("soa").prog, "main", list(made.inputs))
    code, order = plain(work.result("cuda").text).replace(INDEX, TINY_INDEX), rng.choice(ORDERS)
    with tiny_indices():
        seen = records.observe(code, "main", list(made.inputs), order, records=False)
    if seen.problems:
        raise Difference(f"{version}, {order}: {seen.problems[0]}")
    if seen.error is not None:
        raise seen.error
    same(seen.results or (), wanted, f"{version}, {order}")


def same(found: Sequence[object], wanted: Sequence[Value], what: str) -> None:
    """Raise Difference unless integers are equal, and floats close."""
    for k, (got, want) in enumerate(zip(found, wanted, strict=True)):
        value = np.asarray(got)
        equal = value.dtype == want.dtype and value.shape == np.shape(want)
        if equal and value.dtype.kind == "f":
            close = TOLERANCE[value.dtype.itemsize]
            equal = bool(np.allclose(value, want, rtol=close, atol=0, equal_nan=True))
        elif equal:
            equal = bool(np.array_equal(value, want))
        if not equal:
            raise Difference(f"{what}: result {k} is {show(value[()])}, not {show(want)}")
