"""`stridescope bench`: time the tests of programs, and compare the times.

measuring.py` says how one is measured./measuring.py` says how one is measured.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, UsageError
from compiler.driver.disk import read_program
from compiler.driver.targets import is_gpu
from compiler.driver.tuning_file import with_tuning
from compiler.explain import predicted_times
from compiler.protocol.kinds import OfProgram
from compiler.protocol.source_costs import EntryTime
from compiler.testing import cases
from compiler.testing.blocks import Trial
from compiler.testing.gpu_predictions import of_test
from compiler.testing.measuring import Measured, Measuring, checked, is_unfit
from compiler.testing.suite import beside, programs


@dataclass(frozen=True, slots=True)
class DataSet:
    """A test of a program as `futhark bench` names it, with its measurement or error."""

    program: str
    """with its entry point, where that is not `main`"""
    name: str
    measured: Measured | str
    other: Measured | str | None = None
    """the measurement on the back end to compare with"""
    foretold: EntryTime | None = None
    """the predicted time on a GPU, where asked for"""


def measured(path: Path, how: Measuring) -> Iterator[DataSet]:
    """Measure a program's tests, but those of other entry points and those tagged otherwise."""
    program = read_program(path)
    spec = cases.spec(program.source)
    switched: Any = {"enable": list(how.enabled), "disable": list(how.disabled)}
    options: Any = {"unsafe": how.unsafe, **switched}
    asked = OfProgram(program.source, options, program.files, program.main)
    asked = with_tuning(asked, path, how.tuning)
    entries = list(dict.fromkeys(trial.entry for trial in spec.cases))
    in_order = sorted(enumerate(spec.cases), key=lambda pair: entries.index(pair[1].entry))
    for number, trial in in_order:
        tags = spec.tags | trial.tags
        if is_unfit(trial, tags) or how.exclude & tags or (how.entry and trial.entry != how.entry):
            continue
        key = str(path) if trial.entry == "main" else f"{path}:{trial.entry}"
        backends = [one for one in (how.backend, how.against) if one]
        if any(cases.skipped(tags - {"notest"}, one) for one in backends):
            continue
        found = [_measured(asked, number, one, path, how) for one in backends]
        other = found[1] if how.against else None
        yield DataSet(key, trial.name, found[0], other, _foretold(asked, trial, path, how))


def _measured(
    asked: OfProgram, number: int, backend: str, path: Path, how: Measuring
) -> Measured | str:
    """Measure one test, or return the message of its error."""
    try:
        return checked(asked, number, backend, beside(path), how)
    except CompileError as error:
        return error.message


def _foretold(asked: OfProgram, trial: Trial, path: Path, how: Measuring) -> EntryTime | None:
    """Predict a test's time on a GPU, if one of the back ends is a GPU."""
    if not any(map(is_gpu, (how.backend, how.against))):
        return None
    try:
        manner = cases.Manner("c", seconds=how.deadline, load=beside(path))
        return of_test(asked, trial.entry, cases.prepared(asked, trial, manner))
    except CompileError:
        return None  # which is told where it is measured


def as_json(found: Sequence[DataSet]) -> dict[str, Any]:
    """Format results as `futhark bench --json`: whole microseconds, or the text of an error."""
    made: dict[str, Any] = {}
    for one in found:
        sets = made.setdefault(one.program, {"datasets": {}})["datasets"]
        if isinstance(one.measured, str):
            sets[one.name] = one.measured
            continue
        times = [round(us) for us in one.measured.times]
        sets[one.name] = {"runtimes": times, "bytes": {"default space": one.measured.peak_bytes}}
    return made


def earlier(path: str) -> dict[tuple[str, str], Measured]:
    """Read measurements from a file in the shape of `futhark bench --json`. Raises UsageError."""
    try:
        given = json.loads(Path(path).read_text("utf-8"))
        return {
            (program, name): Measured(
                tuple(max(float(us), 0.5) for us in one["runtimes"]), rounded=1.0
            )
            for program, sets in given.items()
            for name, one in sets["datasets"].items()
            if isinstance(one, dict)
        }
    except OSError as error:
        raise UsageError(f"Cannot read `{path}`: {error.strerror}.") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        raise UsageError(
            f"`{path}` holds no measurements.", hint="It is a file that `bench --json` has written."
        ) from None


def shown(us: float) -> str:
    """Format a time in microseconds with a fitting unit."""
    for limit, unit, scale in ((1e3, "µs", 1.0), (1e6, "ms", 1e-3)):
        if us < limit:
            return f"{us * scale:.3g} {unit}"
    return f"{us * 1e-6:.3g} s"


def line(one: DataSet, before: Measured | None, how: Measuring) -> str:
    """Format the line about a data set."""
    if isinstance(one.measured, str):
        return f"  {one.name}: FAILED: {one.measured}{_on_gpu(one)}"
    now = one.measured
    low, high = (shown(us) for us in now.interval)
    parts = [
        f"  {one.name}: {shown(now.median)}",
        f"95 %: {low} to {high}",
        f"spread {now.spread:.1%}",
        f"{len(now.times)} runs",
    ]
    if before is not None:
        parts.append(f"{ratio(now, before)} before")
    if isinstance(one.other, Measured):
        parts.append(f"{how.against} {shown(one.other.median)}, {ratio(now, one.other)} that")
    elif one.other is not None:
        parts.append(f"{how.against} FAILED: {one.other}")
    return ", ".join(parts) + _on_gpu(one)


def _on_gpu(one: DataSet) -> str:
    """Format the predicted GPU time as further lines."""
    if one.foretold is None:
        return ""
    lines = predicted_times.told({"foretold": [one.foretold], **one.foretold})  # type: ignore
    return "".join(f"\n    {line}" for line in lines)


def ratio(now: Measured, other: Measured) -> str:
    """Compare two measurements in words; overlapping intervals count as nearly equal."""
    times = other.median / max(now.median, 1e-3)
    word = f"{times:.2f}x as fast as" if times >= 1 else f"{1 / times:.2f}x as slow as"
    (low, high), (other_low, other_high) = now.interval, other.interval
    return (
        f"as fast as (or nearly: {times:.2f}x)" if low <= other_high and other_low <= high else word
    )


def main(paths: Sequence[str], how: Measuring, out: TextIO, json_file: str, compare: str) -> bool:
    """Measure the tests of programs and folders and print them; return True if all ran.

    Errors: `UsageError` where the JSON cannot be written.
    """
    before: Mapping[tuple[str, str], Measured] = earlier(compare) if compare else {}
    found: list[DataSet] = []
    failed = False
    for path in programs(paths):
        shown_program = ""
        try:
            for one in measured(path, how):
                if one.program != shown_program:
                    print(f"{one.program}:", file=out, flush=True)
                    shown_program = one.program
                print(line(one, before.get((one.program, one.name)), how), file=out, flush=True)
                found.append(one)
        except CompileError as error:
            if error.kind == "internal":
                raise
            failed = True
            print(f"{path}: FAILED\n{error.render(main=str(path))}", file=out, flush=True)
    if json_file:
        try:
            Path(json_file).write_text(json.dumps(as_json(found)) + "\n", "utf-8")
        except OSError as error:
            raise UsageError(f"Cannot write `{json_file}`: {error.strerror}.") from None
    if not found and not failed:
        print("There is nothing to measure: no test gives an input.", file=out)
    told = [one for pair in found for one in (pair.measured, pair.other)]
    return not failed and not any(isinstance(one, str) for one in told)
