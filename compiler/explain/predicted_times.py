"""Predicted times on devices, as the page and the command line show them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from compiler.explain import kernel_times
from compiler.explain.device_sheets import SHEETS, DataSheet
from compiler.explain.predictions import Prediction, Work
from compiler.protocol.accesses import Costs, ForetoldTime

HOW_FAR = "within a factor of 2 for 9 of 10 measured programs"
"""The error of predictions; a test compares it with `bench/results/foretold.json`."""
DATA = "the number of executions depends on data, so each instruction is counted once"
MUCH = 0.1
"""The part of a run's instructions with data-dependent counts above which a warning is given."""


NEVER = "from the data sheet, never measured"


def how_far(sheet: DataSheet) -> str:
    """Describe the error of predicted times on a device."""
    return HOW_FAR if sheet.measured else NEVER


def _told(seconds: float, bound: str, sheet: DataSheet) -> ForetoldTime:
    return {
        "device": sheet.name,
        "ms": float(f"{seconds * 1e3:.2g}"),
        "bound": bound,
        "measured": sheet.measured,
    }


def of_kernel(work: Work) -> list[ForetoldTime]:
    """Predict the time of all launches of a kernel, on each device."""
    found = [(sheet, kernel_times.of_kernel(work, sheet)) for sheet in SHEETS]
    return [_told(time.seconds, time.bound, sheet) for sheet, time in found]


def of_run(predicted: Prediction) -> list[ForetoldTime]:
    """Predict the time of a run on each device; its bound is that of the slowest kernel."""
    found = []
    for sheet in SHEETS:
        seconds, times = kernel_times.of_run(predicted, sheet)
        found.append(_told(seconds, _bound(seconds, times), sheet))
    return found


def _bound(seconds: float, times: Mapping[str, kernel_times.Time]) -> str:
    longest = max(times.values(), key=lambda one: one.seconds, default=None)
    in_kernels = sum(one.seconds for one in times.values())
    return longest.bound if longest and in_kernels > seconds / 2 else "the host"


def unsure(predicted: Prediction) -> str:
    """Explain why the times of a run may be far off; "" if no reason is known."""
    spent = [work.spent for work in predicted.works.values()]
    total = sum(float(one.instructions.sum()) for one in spent)
    rare = sum(one.unsure for one in spent)
    return predicted.because or (DATA if rare > MUCH * total else "")


def told(answer: Costs) -> Iterator[str]:
    """Format the times as lines of text."""
    for one in answer.get("foretold", ()):
        sure = answer["how_far"] if one["measured"] else NEVER
        yield f"foretold: {one['ms']:g} ms on {one['device']}, bound by {one['bound']} ({sure})"
    if answer.get("unsure"):
        yield f"predicted times may be far off: {answer['unsure']}"
