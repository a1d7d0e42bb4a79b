"""Gradients of random programs: reverse mode against forward mode and central differences, in C.

Programs are compiled in batches of `BATCH`, each with an entry point of its own. Some are run by
the numbers that know their derivatives as well, and some as CUDA text under the observer.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from compiler.base.context import Options
from compiler.base.errors import CompileError, Limitation, TimeoutError_
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.ir.values import Value
from compiler.runtime import runner
from compiler.semantics import interp, value
from testing import kernels
from testing.generators.derivatives import Derived, program
from testing.outcomes import outcome
from testing.record import Row

BATCH = 10
STEPS = np.array([1e-5, 1e-6, 1e-7, 1e-8])
"""Step sizes of central differences, at least one of which has to give the slope."""


def check_batch(seeds: range) -> Row:
    """The functions of a batch of seeds."""
    batch = seeds.start // BATCH
    made = {seed: program(seed, str(seed)) for seed in seeds}
    off = {1: ("ad/sum-inside",), 3: ("ad/checkpoints",)}.get(batch % 5, ())
    always = (("ad/checkpoints/whole", 0),) if batch % 2 else ()
    options = Options(verify=batch % 5 == 0, disabled=frozenset(off), limits=always)
    row = Row([(seeds.start, seeds.stop)])
    try:
        work = Compilation("\n".join(one.source for one in made.values()), options)
        code = plain(work.result("c").prog)
    except CompileError as error:
        row.differences.append((seeds.start, "compile", error.message))
        return row
    for seed, one in made.items():
        try:
            found = check(work, code, one, seed)
        except (Limitation, TimeoutError_):
            row.counts["late"] += 1
            continue
        row.counts["programs"] += 1
        row.differences += [(seed, where, what) for where, what in found]
    return row


def check(work: Compilation, code: str, made: Derived, seed: int) -> list[tuple[str, str]]:
    """Where a function's slopes differ."""
    args: list[Value] = [*made.point, *made.direction, STEPS]
    entry = f"all{seed}"
    found = runner.run_c(code, entry, args, settings=runner.Settings(flags=("-O0",))).values
    differences = _slopes(found, made.direction)
    if seed % 5 == 0:
        soa = work.result("soa").prog
        for where, run in (
            ("by the letter", partial(value.run, soa, entry, args)),
            ("merged", partial(interp.run, work.result("merged").prog, entry, args)),
        ):
            said = _alike(run(), found)
            differences += [(where, said)] if said else []
    if seed % 100 == 0:
        for order in ("ascending", "random"):
            seen = outcome(partial(kernels.observed, work, entry, args, order))
            said = _alike(seen, found) if isinstance(seen, list) else str(seen)
            differences += [(f"observed, {order}", said)] if said else []
    return differences


def _slopes(found: Sequence[Value], direction: Sequence[Value]) -> list[tuple[str, str]]:
    """Return the defects of slopes by reverse mode, forward mode and central differences."""
    *backward, forward, numbers = (np.asarray(one, np.float64) for one in found)
    terms = [a * np.asarray(b, np.float64) for a, b in zip(backward, direction, strict=True)]
    product = sum(float(np.sum(one)) for one in terms)
    size = 1 + sum(float(np.sum(np.abs(one))) for one in terms)
    if not abs(product - forward) <= 1e-9 * size:
        return [("forward", f"{product} and not {forward}")]
    if not np.isclose(numbers, forward, rtol=1e-4, atol=1e-5 * size).any():
        return [("differences", f"{forward} and not {numbers}")]
    return []


def _alike(found: Sequence[object], expected: Sequence[Value]) -> str:
    """Describe how results differ, apart from central differences; "" if they do not."""
    for got, want in zip(found[:-1], expected[:-1], strict=True):
        if not np.allclose(np.asarray(got), want, rtol=1e-9, atol=1e-9, equal_nan=True):
            return f"{got} and not {want}"
    return ""
