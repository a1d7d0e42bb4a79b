"""Whether a program with memory means what it meant without (thesis, definition 4.4.1).

The value semantics ignores blocks and index functions; the heap semantics goes by nothing else. A
program is valid if both give the same results. On given inputs that can be tried; results of
floating point may differ by rounding, because the two need not add up in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from compiler.base.deadline import within
from compiler.base.errors import CompileError, CompilerBug, RuntimeError_, TimeoutError_
from compiler.ir.nodes import Prog
from compiler.ir.values import Value, show
from compiler.protocol.runs import Outcome, Verdict
from compiler.semantics import heap, interp

TOLERANCE = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-9}
"""Difference that counts as equal, relative or (near zero) absolute, by type."""
SECONDS = 10.0
"""For a verdict: a run over the heap goes cell by cell."""


@dataclass(frozen=True, slots=True)
class Validity:
    """The outcome for one run; `because` says in a sentence what was found.

    `verdict`: `valid`; `invalid` (results differ, or an access outside of a block); `race`.
    `allocated` is in bytes, `reads` and `writes` count the cells that were touched.
    """

    verdict: Outcome
    because: str
    allocated: int = 0
    reads: int = 0
    writes: int = 0
    kernels: int = 0

    def data(self) -> Verdict:
        """The outcome as plain data; `valid` is None if it is not known."""
        return {
            "valid": None if self.verdict == "unknown" else self.verdict == "valid",
            "because": self.because,
            "verdict": self.verdict,
            "allocated": self.allocated,
            "reads": self.reads,
            "writes": self.writes,
            "kernels": self.kernels,
        }


def check(
    prog: Prog,
    entry: str,
    args: Sequence[Value],
    thresholds: Mapping[str, int] | None = None,
) -> Validity:
    """Run both semantics on `args`, the external values of the entry point, and compare."""
    try:
        expected = interp.run(prog, entry, args, thresholds=thresholds)
    except RuntimeError_ as error:
        return _both_fail(prog, entry, args, thresholds, error)
    return against(prog, entry, args, expected, thresholds=thresholds)


def against(
    prog: Prog,
    entry: str,
    args: Sequence[Value],
    expected: Sequence[Value],
    thresholds: Mapping[str, int] | None = None,
) -> Validity:
    """Run the heap semantics and compare with results that are known."""
    try:
        found, trace = heap.run(prog, entry, args, thresholds=thresholds)
    except CompilerBug as error:
        return Validity("invalid", error.message)
    except TimeoutError_:
        raise
    except RuntimeError_ as error:
        return Validity("race" if error.cause == "race" else "invalid", error.message)
    same = compare(found, expected)
    return Validity(
        "valid" if same["valid"] else "invalid",
        same["because"],
        trace.allocated,
        sum(map(len, trace.reads.values())),
        sum(map(len, trace.writes.values())),
        len(trace.kernels),
    )


def verdict(
    prog: Prog,
    entry: str,
    args: Sequence[Value],
    expected: Sequence[Value],
) -> Verdict:
    """What `against` finds, as plain data; `valid` is None if the run takes too long."""
    try:
        return within(SECONDS, lambda: against(prog, entry, args, expected)).data()
    except RuntimeError_ as error:
        because = f"{error.message} The heap goes cell by cell: try a smaller input."
        return Validity("unknown", because).data()


def compare(found: Sequence[Value], expected: Sequence[Value]) -> Verdict:
    """Whether results are as expected: `valid`, and `because` in a sentence."""
    if len(found) != len(expected):
        because = f"There are {len(found)} results instead of {len(expected)}."
        return {"valid": False, "because": because}
    for k, (want, got) in enumerate(zip(expected, found, strict=True)):
        if not agree(want, got):
            because = f"Result {k} is {_short(got)} and should be {_short(want)}."
            return {"valid": False, "because": because}
    return {"valid": True, "because": "The results are those of the program's meaning."}


def _both_fail(
    prog: Prog,
    entry: str,
    args: Sequence[Value],
    thresholds: Mapping[str, int] | None,
    error: CompileError,
) -> Validity:
    """A run that fails by value must fail in the heap as well."""
    try:
        heap.run(prog, entry, args, thresholds=thresholds)
    except CompileError:
        return Validity("valid", f"Both stop: {error.message}")
    return Validity(
        "invalid", f"By value the run stops ({error.message}), in the heap it does not."
    )


def agree(want: Value, got: Value) -> bool:
    """Whether two values are equal, floating-point numbers up to rounding."""
    if want.shape != got.shape or want.dtype != got.dtype:
        return False
    tolerance = TOLERANCE.get(want.dtype.name)
    if tolerance is None:
        return bool(np.array_equal(want, got))
    with np.errstate(all="ignore"):
        return bool(np.allclose(want, got, rtol=tolerance, atol=tolerance, equal_nan=True))


def _short(value: Value) -> str:
    text = show(value)
    return text if len(text) <= 60 else f"{text[:57]}.."
