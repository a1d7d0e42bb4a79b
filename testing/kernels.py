"""Run random programs in the kernel IR and as CUDA text, in every code version, observed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np

from compiler.base.context import Options
from compiler.base.errors import RuntimeError_
from compiler.base.prim import Prim
from compiler.base.text import plain
from compiler.codegen.cuda.runtime import INDEX, WIDE_INDEX
from compiler.codegen.kernels.look_back import LOOK_BACK
from compiler.driver.pipeline import MEMORY_STAGES, Compilation
from compiler.ir.nodes import Prog
from compiler.ir.values import Value, show
from compiler.parallel.tuning import names
from compiler.runtime import cuda_device
from compiler.runtime.imp_interp import RUNTIME
from compiler.runtime.observer import records
from compiler.runtime.runner import Settings, run_c
from compiler.semantics import heap, interp
from testing import compiling, kernel_interp
from testing.generators.programs import Generated
from testing.outcomes import Outcome, kind, outcome

VERSIONS = ("default", "outer", "block", "grid")
"""Code versions: the usual one, a thread for each outer point, a block for each, all flattened.
"""
NEVER = 1 << 40
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


def check(made: Generated, version: str) -> RuntimeError_ | None:
    """Run the kernels of a program; how it fails, where it has to.

    Raises Difference for other results or failures, and `kernel_interp.Fault` for what no device
    may be asked to do.
    """
    rng = random.Random(f"kernels {made.seed} {version}")
    work = compiled(made.source, version, rng.random() < 0.5)
    prog = work.result("kernels").prog
    threads, order = rng.choice((32, 64, 256)), rng.choice(ORDERS)
    args, more = list(made.inputs), EACH_ROUNDS
    run = partial(kernel_interp.run, prog, "main", args, threads, order, more=more)
    wanted = meaning(work, "main", made.inputs)
    return alike(outcome(run), wanted, f"{version}, {threads} threads, {order}")


def meaning(work: Compilation, entry: str, args: Sequence[Value]) -> Outcome:
    """Run an entry point by the reference interpreter; return its results or failure."""
    return outcome(partial(interp.run, work.result("soa").prog, entry, list(args)))


def alike(
    found: Outcome, wanted: Outcome, what: str, exactly: bool = False
) -> RuntimeError_ | None:
    """Return the failure if both fail; raise Difference if only one does, or for other results.

    `exactly`: for a reason of the same kind, where a program has but one.
    """
    if isinstance(found, RuntimeError_) and isinstance(wanted, RuntimeError_):
        if exactly and kind(found) != kind(wanted):
            raise Difference(f"{what}: {found.message}, not {wanted.message}")
        return found
    if isinstance(found, RuntimeError_):
        raise Difference(f"{what}: it fails: {found.message}")
    if isinstance(wanted, RuntimeError_):
        raise Difference(f"{what}: it does not fail: {wanted.message}")
    same(found, wanted, what)
    return None


def _fun(fun: str, at: Prim, *args: Any) -> Any:
    """Apply a function; of a fused product and sum each rounds."""
    return RUNTIME["fun"]("mad" if fun == "fma" else fun, at, *args)


EACH_ROUNDS = {"fun": _fun}
"""Names of the interpreter of kernels, by which each operation rounds, as in the reference.

What `kernels/fma` makes then has to give what the program means, bit for bit.
"""
TWICE = "#define fmaf(x, y, z) ((x) * (y) + (z))\n#define fma(x, y, z) ((x) * (y) + (z))\n"
KERNEL = 'extern "C" __global__'


def each_rounds(text: str) -> str:
    """Return a CUDA text in whose kernels each operation rounds; functions of ours stay."""
    return text.replace(KERNEL, TWICE + KERNEL, 1)


TINY_INDEX = INDEX.replace("int32_t", "int16_t")


@contextmanager
def tiny_indices() -> Iterator[None]:
    """Launches take indices of 16 bits for narrow: small programs are at the border then."""

    def widened(kernels: str) -> str:
        return kernels.replace(TINY_INDEX, WIDE_INDEX, 1)

    with patch.object(cuda_device, "LIMIT", 1 << 15), patch.object(records, "widened", widened):
        yield


def check_text(made: Generated, version: str) -> RuntimeError_ | None:
    """Run the CUDA text of a program on a processor, its narrow indices with 16 bits.

    Gives how it fails, where it has to. Raises Difference for other results or failures, and for
    what the observer reports.
    """
    rng = random.Random(f"text {made.seed} {version}")
    work = compiled(made.source, version, rng.random() < 0.5)
    order = rng.choice(ORDERS)
    run = partial(observed, work, "main", made.inputs, order)
    return alike(outcome(run), meaning(work, "main", made.inputs), f"{version}, {order}")


def compare_text(
    work: Compilation, entry: str, args: Sequence[Value], order: records.Order, what: str = ""
) -> RuntimeError_ | None:
    """As `check_text`, of a program that may fail at one check only."""
    found = outcome(partial(observed, work, entry, args, order))
    return alike(found, meaning(work, entry, args), f"{what}, {order}", exactly=True)


def in_memory(prog: Prog, args: Sequence[Value]) -> list[Value]:
    """Run `main` in the heap semantics."""
    return heap.run(prog, "main", args)[0]


def check_c(made: Generated, version: str) -> RuntimeError_ | None:
    """Run C, and all stages with memory before it in the heap semantics, and those for CUDA.

    Gives how it fails, where it has to. Raises Difference for other results or failures.
    """
    work, args = compiled(made.source, version), list(made.inputs)
    wanted = meaning(work, "main", args)
    for target in ("c", "cuda"):
        for stage in MEMORY_STAGES:
            prog = work.result(stage, target).prog
            found = outcome(partial(in_memory, prog, args))
            alike(found, wanted, f"{version}, {target}, {stage}")
    code, settings = plain(work.result("c").text), Settings(flags=("-O0",))
    run = partial(run_c, code, "main", args, settings=settings)
    return alike(outcome(lambda: run().values), wanted, f"{version}, c")


def observed(
    work: Compilation,
    entry: str,
    args: Sequence[Value],
    order: records.Order,
    seconds: float = 60.0,
) -> list[Value]:
    """Run an entry point as CUDA text on a processor, with narrow indices of 16 bits.

    Raises Difference for what the observer reports, and what a run of the program raises.
    """
    return watched(with_tiny_indices(work), entry, args, order, seconds)


def with_tiny_indices(work: Compilation) -> str:
    """The CUDA text, whose narrow indices have 16 bits, and where each operation rounds."""
    return each_rounds(plain(work.result("cuda").text).replace(INDEX, TINY_INDEX))


def watched(
    code: str, entry: str, args: Sequence[Value], order: records.Order, seconds: float
) -> list[Value]:
    """As `observed`, of such a text."""
    with tiny_indices():
        seen = records.observe(code, entry, list(args), order, records=False, seconds=seconds)
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
