"""`python -m bench.foretold`: times that are foretold beside those that a device took.

    python -m bench.foretold [FOLDER] [--only NAME] [--save]

FOLDER is a clone of the futhark-benchmarks, with the packages of each. The times that were measured
are those of `bench/results/device_suite.json`, the default version; nothing is run.
Programs whose launches depend on data are not foretold as a whole: they are named, not compared.
Of those that are compared, in the order of the list, each second one was not used for fitting.

The tasks of `bench.libraries`, whose times are in `bench/results/libraries.json`, are the blind
test: none of them was looked at when the factors were fitted and the counts chosen. Without FOLDER
only these are foretold.

Rules that were not there when times were measured are off (`without` in both files).
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np

from bench import libraries, peer_bytes
from bench.device_suite import LARGE
from bench.machine import RESULTS, save
from compiler.base.errors import CompileError
from compiler.base.stack import with_deep_stack
from compiler.driver import api
from compiler.explain import kernel_times, predictions
from compiler.explain.device_sheets import BY_ID
from compiler.ir.values import Value
from compiler.protocol.kinds import OfProgram, Options

SHEET = BY_ID["h200"]


def foretold(asked: OfProgram, entry: str, inputs: Sequence[Value]) -> tuple[float, str, str]:
    """Milliseconds, what the kernel that takes longest is bound by, why there may be more."""
    made = api.compilation(asked)
    shapes = [np.shape(one) if np.ndim(one) else None for one in inputs]
    numbers = [None if np.ndim(one) else one for one in inputs]
    found = predictions.predict(
        made.result("kernels").prog, made.result("cuda").text, entry, shapes, numbers
    )
    seconds, times = kernel_times.of_run(found, SHEET)
    longest = max(times.values(), key=lambda one: one.seconds, default=None)
    return seconds * 1e3, longest.bound if longest else "copies", found.because


def _saved(name: str) -> tuple[dict[str, Any], list[str]]:
    """Figures, and the rules that were not there when they were measured."""
    read = json.loads((RESULTS / f"{name}.json").read_text())
    return read["figures"], list(read.get("without", ()))


def blind(only: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each task of `bench.libraries` that was measured, with both times in milliseconds."""
    measured, without = _saved("libraries")
    for name, task in libraries.TASKS.items():
        took = measured.get(name, {}).get("ours") if only in name else None
        if took is not None:
            ms, bound, because = foretold(libraries.asked(task, without), "main", task.stand_ins())
            yield name, {"measured": took, "foretold": ms, "bound": bound, "because": because}


def rows(suite: Path, only: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each program that was measured, with both times in milliseconds."""
    measured, without = _saved("device_suite")
    for line in LARGE.read_text().splitlines():
        took = measured.get(line, {}).get("ms", {}).get("default") if only in line else None
        if took is None:
            continue
        (work,) = peer_bytes.suite(suite, "", [line])
        try:
            assert not isinstance(work, tuple), work[1]
            options: Options = {"target": "cuda", "entry": work.entry, "unsafe": True}
            options["disable"] = without
            asked = replace(work.asked, options=options)
            ms, bound, because = foretold(asked, work.entry, work.inputs)
        except CompileError as error:
            yield line, {"measured": took, "because": error.message}
            continue
        yield line, {"measured": took, "foretold": ms, "bound": bound, "because": because}


def summary(ratios: list[float]) -> dict[str, float]:
    """Summarise errors of times: shares of programs within factors, the mean and largest factor."""
    off = [max(one, 1 / one) for one in ratios]
    within = {f"within {most}": sum(one <= most for one in off) / len(off) for most in (1.3, 2)}
    return {"programs": len(off), **within, "mean": geometric_mean(off), "largest": max(off)}


def main() -> None:
    """Print the table, and save it if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite", type=Path, nargs="?", help="a clone of the futhark-benchmarks")
    parser.add_argument("--only", default="", help="only lines with this in them")
    parser.add_argument("--save", action="store_true", help="as bench/results/foretold.json")
    asked = parser.parse_args()
    with_deep_stack(lambda: _tell(asked))


def _tell(asked: argparse.Namespace) -> None:
    print(f"| program | {SHEET.name}, ms | foretold | ratio | bound by |\n|---|---|---|---|---|")
    figures: dict[str, Any] = {}
    ratios = list(_compared(rows(asked.suite, asked.only), figures)) if asked.suite else []
    tasks = list(_compared(blind(asked.only), figures))
    for title, part in (("fitted", ratios[::2]), ("not fitted", ratios[1::2]), ("blind", tasks)):
        if part:
            figures[title] = summary(part)
            print(title, figures[title])
    if asked.save:
        words = [asked.suite.resolve().name, *sys.argv[2:]] if asked.suite else sys.argv[1:]
        earlier = {} if asked.suite else _saved("foretold")[0]
        save("foretold", shlex.join(["python", "-m", "bench.foretold", *words]), earlier | figures)


def _compared(
    found: Iterator[tuple[str, dict[str, Any]]], figures: dict[str, Any]
) -> Iterator[float]:
    """Print the rows, keep them as figures; the ratios of those that are foretold as a whole."""
    for name, one in found:
        figures[name] = one
        if one["because"]:
            print(f"| {name} | {one['measured']:.3f} | | | {one['because']} |", flush=True)
            continue
        ratio = one["ratio"] = one["foretold"] / one["measured"]
        cells = f"{one['measured']:.3f} | {one['foretold']:.3f} | {ratio:.2f}"
        print(f"| {name} | {cells} | {one['bound']} |", flush=True)
        yield ratio


if __name__ == "__main__":
    main()
