"""Measure the time of a program's test, with its spread.

Each test must pass first. After one warm-up run, runs are measured until the interval of the median
is narrow. This is the time inside the program, without compilation and the transfer of values.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from compiler.base.dataclass import dataclass
from compiler.base.errors import RuntimeError_, UsageError
from compiler.driver import api
from compiler.driver.targets import BY_ID as BACK_ENDS
from compiler.ir.values import Value
from compiler.protocol import measurements
from compiler.protocol.answering import answers
from compiler.protocol.kinds import OfProgram
from compiler.runtime.runs import RunResult
from compiler.testing import cases
from compiler.testing.blocks import Load, Trial

LEAST_SECONDS = 0.5
"""Least total time of measured runs, in seconds."""
LEAST_RUNS = 10
"""Least number of measured runs, unless a number is given."""
NARROW = 0.02
"""Width of the interval, relative to the median, at which measuring stops."""
_BATCH = 0.6
"""Seconds of runs per process, until they suffice."""
_MOST = 20_000
"""Runs per process: more times would make the answer too long."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """Settings of measurements: number of runs or a stopping rule, and limits.

    `deadline`: seconds per process. `converge`: run until the interval is narrow,
    unless a number of runs is given.
    """

    backend: str = "c"
    against: str = ""
    runs: int | None = None
    seconds: float = 60.0
    deadline: float = 60.0
    converge: bool = True
    entry: str = ""
    exclude: frozenset[str] = frozenset()
    unsafe: bool = False
    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    tuning: str | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """Times in microseconds, and the program's peak memory in bytes.

    `rounded`: the precision of stored times.
    """

    times: tuple[float, ...]
    peak_bytes: int = 0
    rounded: float = 0.0

    @property
    def median(self) -> float:
        """Return the median time."""
        return quantile(sorted(self.times), 0.5)

    @property
    def spread(self) -> float:
        """Return the interquartile range, as a part of the median."""
        ordered = sorted(self.times)
        apart = quantile(ordered, 0.75) - quantile(ordered, 0.25)
        return apart / self.median if self.median else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """Return the distribution-free 95 % confidence interval of the median."""
        ordered, count = sorted(self.times), len(self.times)
        reach = 1.96 * math.sqrt(count) / 2
        low = max(0, math.floor(count / 2 - reach))
        high = min(count - 1, math.ceil(count / 2 + reach))
        return ordered[low] - self.rounded / 2, ordered[high] + self.rounded / 2

    @property
    def is_narrow(self) -> bool:
        """Return True if more runs would not help."""
        low, high = self.interval
        return high - low <= max(NARROW * self.median, 0.1)


def quantile(ordered: Sequence[float], part: float) -> float:
    """Return a quantile of sorted numbers, by linear interpolation."""
    at = part * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def measure(
    asked: OfProgram, entry: str, args: list[Value], backend: str, how: Measuring
) -> Measured:
    """Measure an entry point. Raises errors of the run."""
    back_end = BACK_ENDS[backend]
    if missing := back_end.missing():
        raise UsageError(missing)
    asked = api.for_entry(asked, entry, backend)
    text = api.compilation(asked).result(backend).text
    return repeated(lambda runs: back_end.run(text, entry, args, how.deadline, runs), how)


def repeated(run: Callable[[int], RunResult], how: Measuring) -> Measured:
    """Measure batches of runs by `run`; the first run is a warm-up."""
    times: list[float] = []
    began, wanted, peak = time.monotonic(), 1, 0
    while True:
        done = run(wanted + 1)
        times += [ms * 1000 for ms in done.times[1:]]
        peak = max(peak, done.peak_bytes)
        found = Measured(tuple(times), peak)
        left = how.seconds - (time.monotonic() - began)
        if left <= 0 or _enough(found, how):
            return found
        each = max(sum(times) / len(times) / 1e6, 1e-6)
        wanted = (how.runs or LEAST_RUNS) - len(times)
        if how.runs is None:
            wanted = max(wanted, math.ceil(_BATCH / each))
        wanted = max(1, min(wanted, _MOST, int(min(left, how.deadline / 2) / each)))


def _enough(found: Measured, how: Measuring) -> bool:
    """Return True if the runs suffice."""
    if how.runs is not None:
        return len(found.times) >= how.runs
    long = len(found.times) >= LEAST_RUNS and sum(found.times) >= LEAST_SECONDS * 1e6
    return long and (found.is_narrow or not how.converge)


@answers(measurements.BENCH)
def one(asked: measurements.BenchRequest) -> measurements.BenchAnswer:
    """Measure one test; files of values are among the program's. Errors: of the test."""
    trials = cases.spec(asked.source).cases
    if asked.case >= len(trials):
        raise UsageError(f"There is no test {asked.case}: the program has {len(trials)}.")
    trial = trials[asked.case]
    if is_unfit(trial, frozenset()):
        raise UsageError("This test is not measured: it gives no input, or is to fail.")
    if asked.backend not in BACK_ENDS:
        raise UsageError(f"Measured are {', '.join(BACK_ENDS)}, not `{asked.backend}`.")
    how = Measuring(asked.backend, seconds=asked.seconds, deadline=asked.deadline)
    found = checked(asked, asked.case, asked.backend, cases.among(asked), how)
    low, high = found.interval
    return {
        "ok": True,
        "case": cases.described(asked.case, trial),
        "measured": {
            "median": found.median / 1000,
            "low": low / 1000,
            "high": high / 1000,
            "spread": found.spread,
            "runs": len(found.times),
            "peak_bytes": found.peak_bytes,
        },
    }


def is_unfit(trial: Trial, tags: frozenset[str]) -> bool:
    """Return True for tests that are not measured; `tags` are those of the program."""
    return trial.kind != "run" or trial.error or "nobench" in tags | trial.tags


def checked(asked: OfProgram, number: int, backend: str, load: Load, how: Measuring) -> Measured:
    """Measure a test after checking that it passes. Raises its errors."""
    manner = cases.Manner(backend, seconds=how.deadline, load=load)
    trial = cases.spec(asked.source).cases[number]
    args = cases.prepared(asked, trial, manner)
    tested = cases.run(asked, number, manner)
    if tested["outcome"] == "failed":
        raise RuntimeError_(tested["because"])
    return measure(asked, trial.entry, args, backend, how)
