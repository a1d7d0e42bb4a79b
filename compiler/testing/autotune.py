"""`stridescope autotune`: find the thresholds with which a program's tests run fastest.

`tune.py` chooses the runs. The program is compiled once, as C that reads its thresholds when it
runs and reports the amounts compared with them (`codegen/c/tuned.py`), or its times on a GPU are
predicted (`foretold.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, UsageError
from compiler.base.text import Text
from compiler.codegen.c import tuned as c_tuned
from compiler.codegen.c.runtime import SECTIONS
from compiler.driver import api
from compiler.driver.disk import read_program
from compiler.driver.tuning_file import ENDING, values_in
from compiler.explain.device_sheets import DataSheet
from compiler.ir import nodes as ir
from compiler.ir.walk import all_stms
from compiler.parallel import tuning
from compiler.protocol.kinds import OfProgram, Options
from compiler.runtime import runner
from compiler.testing import cases
from compiler.testing.gpu_predictions import PredictedProgram
from compiler.testing.measuring import Measured, Measuring, is_unfit, repeated
from compiler.testing.suite import beside
from compiler.testing.tune import (
    Outcome,
    ThresholdPlace,
    Tuned,
    TuningInput,
    branches,
    shown,
    tune,
)

CLOSE = 0.02
"""Relative difference below which times count as equal."""
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TuningReport:
    """The result of tuning, with times under the default and the chosen thresholds."""

    found: Tuned
    data_sets: tuple[TuningInput, ...]
    before: tuple[float, ...]
    after: tuple[float, ...]
    doubts: Mapping[str, str]
    """by data set, why its times may be far off"""

    @property
    def warnings(self) -> list[str]:
        """Warn of data sets that became slower, and of violations of the assumption."""
        pairs = zip(self.data_sets, self.before, self.after, strict=True)
        slower = [
            f"{one.name} takes {after / before:.2f} times as long as with the usual thresholds"
            for one, before, after in pairs
            if after > before * (1 + 2 * CLOSE)
        ]
        doubts = (f"{name}: its times may be far off: {why}" for name, why in self.doubts.items())
        return [*self.found.problems, *slower, *doubts]


class _Program:
    """A program compiled to C once for all thresholds."""

    def __init__(self, asked: OfProgram, how: Measuring) -> None:
        if missing := runner.why_not():
            raise UsageError(missing, hint="The program is tuned in C.")
        work = api.compilation(asked)
        self.order = branches(tuning.forest(work.result("flat", "c").prog))
        self.usual: dict[str, int] = {}
        self.numbers: dict[str, int] = {}
        names: dict[str, int] = {}
        merged = work.result("merged", "c").prog
        for stm in (stm for fun in merged.funs for stm in all_stms(fun.body.stms)):
            if isinstance(stm.exp, ir.Threshold) and len(self.numbers) < SECTIONS:
                number = self.numbers.setdefault(stm.exp.name, len(self.numbers))
                names[stm.pat[0].name] = number
                self.usual[stm.exp.name] = stm.exp.default
        self.text: Text = c_tuned.emit_tuned(work.result("imp", "c").prog, names)
        self.how = how
        self.doubts: dict[str, str] = {}
        self._times: dict[tuple[str, tuple[int, ...]], tuple[float, ...]] = {}

    def outcome(self, on: TuningInput, thresholds: Mapping[str, int]) -> Outcome:
        """Return the time under thresholds, over all runs so far.

        Infinite for a version that fails.
        """
        try:
            return self._measured(on, thresholds)
        except CompileError as error:
            return Outcome(math.inf, {}, error.message)

    def _measured(self, on: TuningInput, thresholds: Mapping[str, int]) -> Outcome:
        given = c_tuned.initial_profile(
            [thresholds.get(name, self.usual[name]) for name in self.numbers]
        )
        words: tuple[int, ...] = ()

        def run(runs: int) -> Any:
            nonlocal words
            settings = runner.Settings(runs=runs, measured=len(given), given=given)
            done = runner.run_c(self.text, on.entry, on.args, self.how.deadline, settings)
            words = done.profile
            return done

        key = on.name, given
        earlier = self._times.get(key, ())
        found = self._times[key] = (*earlier, *repeated(run, self.how).times)
        low, high = Measured(found).interval
        compared = {name: c_tuned.compared(words, k) for name, k in self.numbers.items()}
        return Outcome(Measured(found).median, compared, doubt=(high - low) / 2)


def autotune(
    path: Path, options: Options, how: Measuring, say: Say, device: DataSheet | None = None
) -> TuningReport | None:
    """Tune a program on its data sets; return None if it has no thresholds.

    It uses measured times of C, or predicted ones of a device.

    Errors: `UsageError` where no test has an input, and those of the program.
    """
    program = read_program(path)
    asked = OfProgram(program.source, options, program.files, program.main)
    one = _Program(asked, how) if device is None else PredictedProgram(asked, device)
    if not one.order:
        return None
    sets = tuning_inputs(asked, path, how)
    if not sets:
        raise UsageError(
            "No test of the program has an input to tune it on.",
            hint="A comment that begins with `-- ==` gives some, such as `-- input { 1 [2, 3] }`.",
        )
    say(f"{path}: {_many(len(one.order), 'threshold')}, {_many(len(sets), 'data set')}")

    def run(number: int, thresholds: Mapping[str, int]) -> Outcome:
        found = one.outcome(sets[number], thresholds)
        say(f"  {sets[number].name}: {_settings(one.order, thresholds)}: {_time(found)}")
        return found

    found = tune(run, one.order, [data_set.name for data_set in sets], CLOSE)
    before, after = [], []
    for data_set in sets:
        before.append(one.outcome(data_set, {}).time)
        after.append(one.outcome(data_set, found.values).time)
    return TuningReport(found, tuple(sets), tuple(before), tuple(after), one.doubts)


def tuning_inputs(asked: OfProgram, path: Path, how: Measuring) -> list[TuningInput]:
    """Return the inputs of the tests, in order."""
    spec = cases.spec(asked.source)
    found: list[TuningInput] = []
    for trial in spec.cases:
        tags = spec.tags | trial.tags
        if is_unfit(trial, tags) or how.exclude & tags or (how.entry and trial.entry != how.entry):
            continue
        manner = cases.Manner("c", seconds=how.deadline, load=beside(path))
        name = trial.name if trial.entry == "main" else f"{trial.entry}: {trial.name}"
        found.append(TuningInput(name, trial.entry, cases.prepared(asked, trial, manner)))
    return found


def write(path: Path, found: Tuned) -> None:
    """Write the chosen values as `name=value`; keep other lines of the file.

    Errors: `UsageError` where it cannot be written, and those of a malformed file.
    """
    values = {**(values_in(path) if path.is_file() else {}), **found.values}
    try:
        path.write_text("".join(f"{name}={value}\n" for name, value in values.items()), "utf-8")
    except OSError as error:
        raise UsageError(f"Cannot write `{path}`: {error.strerror}.") from None


def tuning_of(path: Path) -> Path:
    """Return the path of a program's tuning file."""
    return Path(f"{path}{ENDING}")


def told(report: TuningReport) -> list[str]:
    """Format the result as lines of text."""
    lines: list[str] = []
    found = report.found
    for name, value in found.values.items():
        per_set = ", ".join(
            f"{report.data_sets[k].name} {choice.best}" for k, choice in found.choices[name].items()
        )
        lines.append(f"{name}={value}: all in {found.intervals[name]} ({per_set})")
    for k, one in enumerate(report.data_sets):
        times = f"{_milliseconds(report.before[k])} before, {_milliseconds(report.after[k])} after"
        lines.append(f"{one.name}: {times}, tuned in {_many(found.runs[k], 'measurement')}")
    return [*lines, *(f"warning: {one}" for one in report.warnings)]


def _settings(order: Sequence[ThresholdPlace], thresholds: Mapping[str, int]) -> str:
    return ", ".join(f"{one.name} {shown(thresholds[one.name])}" for one in order)


def _time(found: Outcome) -> str:
    return f"fails: {found.failure}" if found.failure else _milliseconds(found.time)


def _milliseconds(us: float) -> str:
    return "fails" if us == math.inf else f"{us / 1000:.3f} ms"


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"


def measuring(entry: str, seconds: float, runs: int | None, deadline: float) -> Measuring:
    """Return the settings by which each choice of thresholds is measured."""
    return replace(Measuring(), entry=entry, seconds=seconds, runs=runs, deadline=deadline)
