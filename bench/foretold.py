"""`python -m bench.foretold`: times that are foretold beside those that a device took.

    python -m bench.foretold FOLDER [--only NAME] [--save]

FOLDER is a clone of the futhark-benchmarks, with the packages of each. The times that were measured
are those of `bench/results/device_suite.json`, the default version with `--fma`; nothing is run.
Programs whose launches depend on data are not foretold as a whole: they are named, not compared.
Of those that are compared, in the order of the list, each second one was not used for fitting.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import numpy as np

from bench import peer_bytes
from bench.device_suite import LARGE
from bench.machine import RESULTS, save
from compiler.base.errors import CompileError
from compiler.base.stack import with_deep_stack
from compiler.driver import api
from compiler.explain import kernel_times, predictions
from compiler.explain.device_sheets import BY_ID

SHEET = BY_ID["h200"]


def foretold(work: peer_bytes.Work) -> tuple[float, str, str]:
    """Milliseconds, what the kernel that takes longest is bound by, why there may be more."""
    options: Any = {"target": "cuda", "entry": work.entry, "unsafe": True, "enable": ["cuda/fma"]}
    made = api.compilation(replace(work.asked, options=options))
    shapes = [np.shape(one) if np.ndim(one) else None for one in work.inputs]
    numbers = [None if np.ndim(one) else one for one in work.inputs]
    found = predictions.predict(
        made.result("kernels").prog, made.result("cuda").text, work.entry, shapes, numbers
    )
    seconds, times = kernel_times.of_run(found, SHEET)
    longest = max(times.values(), key=lambda one: one.seconds, default=None)
    return seconds * 1e3, longest.bound if longest else "copies", found.because


def rows(suite: Path, only: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each program that was measured, with both times in milliseconds."""
    measured = json.loads((RESULTS / "device_suite.json").read_text())["figures"]
    for line in LARGE.read_text().splitlines():
        took = measured.get(line, {}).get("ms", {}).get("default") if only in line else None
        if took is None:
            continue
        (work,) = peer_bytes.suite(suite, "", [line])
        try:
            assert not isinstance(work, tuple), work[1]
            ms, bound, because = foretold(work)
        except CompileError as error:
            yield line, {"measured": took, "because": error.message}
            continue
        yield line, {"measured": took, "foretold": ms, "bound": bound, "because": because}


def summary(ratios: list[float]) -> dict[str, float]:
    """How far off times are: parts of programs within factors, the mean factor, the largest."""
    off = [max(one, 1 / one) for one in ratios]
    within = {f"within {most}": sum(one <= most for one in off) / len(off) for most in (1.3, 2)}
    return {"programs": len(off), **within, "mean": geometric_mean(off), "largest": max(off)}


def main() -> None:
    """Print the table, and save it if asked to."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite", type=Path, help="a clone of the futhark-benchmarks")
    parser.add_argument("--only", default="", help="only lines with this in them")
    parser.add_argument("--save", action="store_true", help="as bench/results/foretold.json")
    asked = parser.parse_args()
    with_deep_stack(lambda: _tell(asked))


def _tell(asked: argparse.Namespace) -> None:
    print(f"| program | {SHEET.name}, ms | foretold | ratio | bound by |\n|---|---|---|---|---|")
    figures: dict[str, Any] = {}
    for line, found in rows(asked.suite, asked.only):
        figures[line] = found
        if found["because"]:
            print(f"| {line} | {found['measured']:.3f} | | | {found['because']} |", flush=True)
            continue
        ratio = found["ratio"] = found["foretold"] / found["measured"]
        cells = f"{found['measured']:.3f} | {found['foretold']:.3f} | {ratio:.2f}"
        print(f"| {line} | {cells} | {found['bound']} |", flush=True)
    ratios = [found["ratio"] for found in figures.values() if "ratio" in found]
    for title, part in (("fitted", ratios[::2]), ("not fitted", ratios[1::2])):
        if part:
            figures[title] = summary(part)
            print(title, figures[title])
    if asked.save:
        command = ["python", "-m", "bench.foretold", asked.suite.resolve().name, *sys.argv[2:]]
        save("foretold", shlex.join(command), figures)


if __name__ == "__main__":
    main()
