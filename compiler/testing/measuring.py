"""How long a test of a program takes, with the spread of what was measured.

Each test first has to give what it should. Then a run that does not count warms up, and runs are
measured until the interval of the median is narrow. What is measured is the time inside of the
program: neither compilation nor the way of values in and out.
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
"""Runs are measured for so long at least."""
LEAST_RUNS = 10
"""So many runs are measured at least, where no number is given."""
NARROW = 0.02
"""How wide the interval may be, as a part of the median."""
_BATCH = 0.6
"""Seconds of runs in one process, while they are not enough."""
_MOST = 20_000
"""Runs in one process: the times of more would be too long an answer."""


@dataclass(frozen=True, slots=True)
class Measuring:
    """How tests are measured: by so many runs, or as many as tell enough, and how long at most.

    `deadline`: of each process that runs some of them. `converge`: until the interval is narrow,
    where no number of runs is given.
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
    tuning: str | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """Times in microseconds, and the bytes that the program used at the worst moment.

    `rounded`: to what times were rounded where they were kept.
    """

    times: tuple[float, ...]
    peak_bytes: int = 0
    rounded: float = 0.0

    @property
    def median(self) -> float:
        """Half of the runs took longer."""
        return quantile(sorted(self.times), 0.5)

    @property
    def spread(self) -> float:
        """The distance of the quartiles, as a part of the median."""
        ordered = sorted(self.times)
        apart = quantile(ordered, 0.75) - quantile(ordered, 0.25)
        return apart / self.median if self.median else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        """In which the median lies with a probability of 95 %, whatever the distribution is."""
        ordered, count = sorted(self.times), len(self.times)
        reach = 1.96 * math.sqrt(count) / 2
        low = max(0, math.floor(count / 2 - reach))
        high = min(count - 1, math.ceil(count / 2 + reach))
        return ordered[low] - self.rounded / 2, ordered[high] + self.rounded / 2

    @property
    def is_narrow(self) -> bool:
        """Whether there is nothing to be learned from more runs."""
        low, high = self.interval
        return high - low <= max(NARROW * self.median, 0.1)


def quantile(ordered: Sequence[float], part: float) -> float:
    """The number below which that part of sorted numbers lies."""
    at = part * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def measure(
    asked: OfProgram, entry: str, args: list[Value], backend: str, how: Measuring
) -> Measured:
    """The times of an entry point. Raises what a run raises."""
    back_end = BACK_ENDS[backend]
    if missing := back_end.missing():
        raise UsageError(missing)
    asked = api.for_entry(asked, entry, backend)
    text = api.compilation(asked).result(backend).text
    return repeated(lambda runs: back_end.run(text, entry, args, how.deadline, runs), how)


def repeated(run: Callable[[int], RunResult], how: Measuring) -> Measured:
    """The times of what `run` runs so many times in a row; the first of them warms up."""
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
    """Whether there are so many runs as are wanted, or as tell enough."""
    if how.runs is not None:
        return len(found.times) >= how.runs
    long = len(found.times) >= LEAST_RUNS and sum(found.times) >= LEAST_SECONDS * 1e6
    return long and (found.is_narrow or not how.converge)


@answers(measurements.BENCH)
def one(asked: measurements.BenchRequest) -> measurements.BenchAnswer:
    """What one test takes; files of values are those among the program's. Errors: of the test."""
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
    """Whether a test is not to be measured; `tags` are those of the program."""
    return trial.kind != "run" or trial.error or "nobench" in tags | trial.tags


def checked(asked: OfProgram, number: int, backend: str, load: Load, how: Measuring) -> Measured:
    """What one test takes, which must give what it should. Raises what is wrong with it."""
    manner = cases.Manner(backend, seconds=how.deadline, load=load)
    trial = cases.spec(asked.source).cases[number]
    args = cases.prepared(asked, trial, manner)
    tested = cases.run(asked, number, manner)
    if tested["outcome"] == "failed":
        raise RuntimeError_(tested["because"])
    return measure(asked, trial.entry, args, backend, how)
