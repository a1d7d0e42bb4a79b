"""Predict times on a GPU: of tests, and of a program under other thresholds.

Nothing is run, so no device is needed. For tuning a program is compiled once, as CUDA whose host
program reads its thresholds at prediction time, and reports the amounts compared with them
(`explain/predictions.py`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from compiler.base.context import Ctx
from compiler.base.errors import UsageError
from compiler.codegen.cuda.program import emit
from compiler.driver import api
from compiler.explain import kernel_times, predicted_times, predictions
from compiler.explain.device_sheets import DataSheet
from compiler.ir import nodes as ir
from compiler.ir.values import Value
from compiler.ir.walk import all_stms
from compiler.parallel import tuning
from compiler.protocol import measurements
from compiler.protocol.answering import answers
from compiler.protocol.kinds import OfProgram
from compiler.protocol.source_costs import EntryTime
from compiler.testing import cases
from compiler.testing.tune import Outcome, TuningInput, branches


@answers(measurements.FORETELL)
def foretell(asked: measurements.ForetellRequest) -> measurements.ForetellAnswer:
    """Predict the time of one test on the device with measurements.

    Errors: of the program, and `UsageError` for an unknown test.
    """
    trials = cases.spec(asked.source).cases
    if asked.case >= len(trials):
        raise UsageError(f"There is no test {asked.case}: the program has {len(trials)}.")
    trial = trials[asked.case]
    args = cases.prepared(asked, trial, cases.Manner("c", load=cases.among(asked)))
    return {
        "ok": True,
        "case": cases.described(asked.case, trial),
        "foretold": of_test(asked, trial.entry, args),
    }


def of_test(asked: OfProgram, entry: str, args: Sequence[Value]) -> EntryTime:
    """Predict the time of an entry point on that device. Errors: of the program."""
    work = api.compilation(api.for_entry(asked, entry, "cuda"))
    prog, text = work.result("kernels", "cuda").prog, work.result("cuda").text
    shapes, numbers = _extents(args)
    found = predictions.predict(prog, text, entry, shapes, numbers)
    (time,) = (time for time in predicted_times.of_run(found) if time["measured"])
    words = {"how_far": predicted_times.HOW_FAR, "unsure": predicted_times.unsure(found)}
    return {**time, "entry": entry, **words}  # type: ignore[typeddict-item]


def _extents(
    args: Sequence[Value],
) -> tuple[list[tuple[int, ...] | None], list[Value | None]]:
    """Return the shapes of array arguments, and the numbers in between."""
    shapes = [np.shape(one) if np.ndim(one) else None for one in args]
    return shapes, [None if np.ndim(one) else one for one in args]


class PredictedProgram:
    """A program whose times under thresholds are predicted for a device."""

    def __init__(self, asked: OfProgram, sheet: DataSheet) -> None:
        work = api.compilation(asked)
        self.order = branches(tuning.forest(work.result("flat", "cuda").prog))
        self.sheet = sheet
        self.usual: dict[str, int] = {}
        names: dict[str, str] = {}
        merged = work.result("merged", "cuda").prog
        for stm in (stm for fun in merged.funs for stm in all_stms(fun.body.stms)):
            if isinstance(stm.exp, ir.Threshold):
                names[stm.pat[0].name] = stm.exp.name
                self.usual[stm.exp.name] = stm.exp.default
        self._prog = work.result("kernels", "cuda").prog
        self._text = emit(self._prog, Ctx(options=work.options), names)
        self._known: dict[tuple[str, tuple[int, ...]], Outcome] = {}
        self.doubts: dict[str, str] = {}
        """By data set, why its times may be far off."""

    def outcome(self, on: TuningInput, thresholds: Mapping[str, int]) -> Outcome:
        """Predict the time in microseconds; a run with data-dependent control flow fails."""
        chosen = {**self.usual, **thresholds}
        key = on.name, tuple(chosen.values())
        if key not in self._known:
            self._known[key] = self._foretold(on, chosen)
        return self._known[key]

    def _foretold(self, on: TuningInput, chosen: Mapping[str, int]) -> Outcome:
        shapes, numbers = _extents(on.args)
        found = predictions.predict(self._prog, self._text, on.entry, shapes, numbers, chosen)
        if found.because:
            return Outcome(math.inf, found.compared, found.because)
        if doubt := predicted_times.unsure(found):
            self.doubts[on.name] = doubt
        seconds, _ = kernel_times.of_run(found, self.sheet)
        return Outcome(seconds * 1e6, found.compared)
