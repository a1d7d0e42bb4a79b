"""The operation that measures tests (`docs/testing.md`)."""

from __future__ import annotations

from typing import Annotated, TypedDict

from compiler.base.dataclass import dataclass
from compiler.protocol.kinds import Answer, AtLeast, OfProgram, Operation, Own, Says, Target
from compiler.protocol.source_costs import EntryTime
from compiler.protocol.tests import TestCase


class Measurement(TypedDict):
    """Run time of a test, in milliseconds."""

    median: float
    low: float
    """the lower end of the 95 % confidence interval of the median, up to `high`"""
    high: float
    spread: float
    """the interquartile range, as a part of the median"""
    runs: int
    peak_bytes: int


class BenchAnswer(Answer):
    """The measurement of a test."""

    case: TestCase
    measured: Measurement


class ForetellAnswer(Answer):
    """The predicted time of a test on a GPU."""

    case: TestCase
    foretold: EntryTime


@dataclass(frozen=True, slots=True, kw_only=True)
class ForetellRequest(OfProgram):
    """Predict the time of one of a program's tests on a GPU. Nothing is run."""

    case: Annotated[int, AtLeast(0), Says("is the number of a test")]


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest(OfProgram):
    """Measure one of a program's tests, after checking its result."""

    case: Annotated[int, AtLeast(0), Says("is the number of a test")]
    backend: Target = "c"
    seconds: Annotated[float, Own(), Says("is a number of seconds")] = 5.0
    """for all runs, at most"""
    deadline: Annotated[float, Own(), Says("is a number of seconds")] = 60.0
    """of each process"""


FORETELL = Operation(
    "foretell",
    ForetellRequest,
    ForetellAnswer,
    {"source": "-- ==\n-- input { [1, 2] }\nentry main (xs: []i32) = xs\n", "case": 0},
    answered_in="compiler.testing.gpu_predictions",
)
BENCH = Operation(
    "bench",
    BenchRequest,
    BenchAnswer,
    {"source": "-- ==\n-- input { [1, 2] }\nentry main (xs: []i32) = xs\n", "case": 0},
    limit="run",
    runs=True,
    cached=False,
    batched=False,
    answered_in="compiler.testing.measuring",
)
