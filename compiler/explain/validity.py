"""Check that a program with memory keeps its meaning (thesis, definition 4.4.1).

The value semantics ignores blocks and index functions; the heap semantics uses nothing else. A
program is valid if both give the same results. This is tested on given inputs; results of
floating point may differ by rounding, since the order of additions may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from compiler.base.dataclass import dataclass
from compiler.base.deadline import within
from compiler.base.errors import CompilerBug, RuntimeError_, TimeoutError_
from compiler.ir.nodes import Prog
from compiler.ir.values import Value, show
from compiler.protocol.runs import Outcome, Verdict
from compiler.semantics import heap, interp

TOLERANCE = {"float16": 2e-2, "float32": 1e-4, "float64": 1e-9}
"""Tolerance of differences, relative or (near zero) absolute, by type."""
SECONDS = 10.0
"""Seconds for a verdict: the heap semantics is slow."""


@dataclass(frozen=True, slots=True)
class Validity:
    """The outcome of one run; `because` explains it in a sentence.

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
        """Return the outcome as plain data; `valid` is None if unknown."""
        return {
            "valid": None if self.verdict == "unknown" else self.verdict == "valid",
            "because": self.because,
            "verdict": self.verdict,
            "allocated": self.allocated,
            "reads": self.reads,
            "writes": self.writes,
            "kernels": self.kernels,
        }


Meaning = list[Value] | RuntimeError_
"""The results of a run, or its error."""


def meaning(run: Callable[[], list[Value]]) -> Meaning:
    """Run; return results or the program's error. Raises TimeoutError_."""
    try:
        return run()
    except TimeoutError_:
        raise
    except RuntimeError_ as error:
        return error


def check(
    prog: Prog,
    entry: str,
    args: Sequence[Value],
    thresholds: Mapping[str, int] | None = None,
) -> Validity:
    """Run both semantics on `args`, the external values of the entry point, and compare."""
    expected = meaning(lambda: interp.run(prog, entry, args, thresholds=thresholds))
    return against(prog, entry, args, expected, thresholds=thresholds)


def against(
    prog: Prog,
    entry: str,
    args: Sequence[Value],
    expected: Meaning,
    thresholds: Mapping[str, int] | None = None,
) -> Validity:
    """Run the heap semantics and compare with the expected results or error."""
    try:
        found, trace = heap.run(prog, entry, args, thresholds=thresholds)
    except CompilerBug as error:
        return Validity("invalid", error.message)
    except TimeoutError_:
        raise
    except RuntimeError_ as error:
        told = agreement(error, expected)
        kind: Outcome = "valid" if told["valid"] else "race" if error.cause == "race" else "invalid"
        return Validity(kind, told["because"])
    same = agreement(found, expected)
    return Validity(
        "valid" if same["valid"] else "invalid",
        same["because"],
        trace.allocated,
        sum(map(len, trace.reads.values())),
        sum(map(len, trace.writes.values())),
        len(trace.kernels),
    )


def verdict(prog: Prog, entry: str, args: Sequence[Value], expected: Meaning) -> Verdict:
    """Return the outcome of `against` as plain data; `valid` is None if the run takes too long."""
    try:
        return within(SECONDS, lambda: against(prog, entry, args, expected)).data()
    except RuntimeError_ as error:
        because = f"{error.message} This simulation works cell by cell: try a smaller input."
        return Validity("unknown", because).data()


def by_value(run: Callable[[], list[Value]], expected: Meaning) -> Verdict:
    """Compare a run of the value semantics; `valid` is None if it takes too long."""
    try:
        return agreement(within(SECONDS, lambda: meaning(run)), expected)
    except TimeoutError_ as error:
        return {"valid": None, "because": error.message}


def agreement(found: Meaning, expected: Meaning) -> Verdict:
    """Compare results, or errors by their cause."""
    if isinstance(found, RuntimeError_) and isinstance(expected, RuntimeError_):
        if found.cause == expected.cause:
            return {"valid": True, "because": f"Both stop: {found.message}"}
        return {"valid": False, "because": found.message}
    if isinstance(found, RuntimeError_):
        return {"valid": False, "because": found.message}
    if isinstance(expected, RuntimeError_):
        because = (
            f"The program fails by its meaning ({expected.message}), but this stage does not fail."
        )
        return {"valid": False, "because": because}
    return compare(found, expected)


def compare(found: Sequence[Value], expected: Sequence[Value]) -> Verdict:
    """Compare results: `valid`, and `because` in a sentence."""
    if len(found) != len(expected):
        because = f"There are {len(found)} results instead of {len(expected)}."
        return {"valid": False, "because": because}
    for k, (want, got) in enumerate(zip(expected, found, strict=True)):
        if not agree(want, got):
            because = f"Result {k} is {_short(got)}, but should be {_short(want)}."
            return {"valid": False, "because": because}
    return {"valid": True, "because": "The results equal those of the program's meaning."}


def agree(want: Value, got: Value) -> bool:
    """Return True if two values are equal, floating-point numbers up to rounding."""
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
