"""Measure the effect of short-circuiting and merging: time, copies, allocations, memory.

    python -m bench.short_circuit [NAME ..]

Every example is compiled to C with both passes switched off and with both, and run in turns; times
are medians. Copies and allocations are counted by the program itself, in a run of its own. Beside
it stands Futhark's multicore back end, where it is found.
"""

from __future__ import annotations

import statistics
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench import examples
from bench.futhark import Program, compiled
from bench.machine import save, words
from compiler.base.context import Options
from compiler.base.stack import with_deep_stack
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.runtime.cc import COUNTING
from compiler.runtime.runner import Settings, run_c
from compiler.testing.compare import same

WITHOUT = frozenset(("shortcircuit", "merge"))
ROUNDS = 5
MOST_RUNS = 20
BATCH_MS = 300.0
"""Approximate duration of one batch of runs of one program."""
MB = 1e6


@dataclass(frozen=True, slots=True)
class Build:
    """One way of compiling an example."""

    code: str
    attempts: int
    done: int


def build(name: str, disabled: frozenset[str]) -> Build:
    """The C text, and how many arrays were built in their places."""
    work = Compilation(examples.source_of(name), Options(disabled=disabled))
    code = plain(work.result("c").text)
    found = [r for r in work.remarks() if r.rule.startswith("shortcircuit/")]
    return Build(code, len(found), sum(r.kind == "applied" for r in found))


def counted(code: str, entry: str, inputs: list[Any]) -> dict[str, Any]:
    """Copies, allocations and memory of one run."""
    done = run_c(code, entry, inputs, settings=Settings(flags=(COUNTING,)))
    return {
        "copied_mb": round(done.copied_bytes / MB, 3),
        "allocations": done.allocations,
        "allocated_mb": round(done.allocated_bytes / MB, 3),
        "peak_mb": round(done.peak_bytes / MB, 3),
    }


def measure(name: str, folder: Path) -> dict[str, Any]:
    """The figures of one example."""
    words, inputs = examples.inputs_of(name)
    entry = examples.entry_of(name)
    builds = {"without": build(name, WITHOUT), "with": build(name, frozenset())}
    first = {
        key: run_c(b.code, entry, inputs, settings=Settings(runs=2)) for key, b in builds.items()
    }
    if not same(first["with"].values, first["without"].values):
        raise SystemExit(f"{name}: the results differ")
    runs = {k: min(MOST_RUNS, max(2, int(BATCH_MS / r.ms))) + 1 for k, r in first.items()}
    theirs = compiled("multicore", Program(name, examples.source_of(name), entry), folder)
    theirs = theirs.checked(inputs, first["with"].values)
    times: dict[str, list[float]] = {"without": [], "with": [], "futhark": []}
    for _ in range(ROUNDS):
        for key, b in builds.items():
            times[key] += run_c(b.code, entry, inputs, settings=Settings(runs=runs[key])).times[1:]
        if theirs.binary:
            times["futhark"] += theirs.times(inputs, runs["with"])
    figures: dict[str, Any] = {
        "input": words,
        "built_in_place": builds["with"].done,
        "without_ms": round(statistics.median(times["without"]), 3),
        "with_ms": round(statistics.median(times["with"]), 3),
        "without": counted(builds["without"].code, entry, inputs),
        "with": counted(builds["with"].code, entry, inputs),
    }
    figures["speedup"] = round(figures["without_ms"] / figures["with_ms"], 2)
    if times["futhark"]:
        figures["futhark_ms"] = round(statistics.median(times["futhark"]), 3)
    else:
        figures["futhark_problem"] = theirs.problem
    return figures


def main() -> None:
    """The command line."""
    named = words(__doc__, "EXAMPLE")
    table: dict[str, Any] = {}
    chosen = named or examples.names()

    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in chosen:
                table[name] = measure(name, Path(folder))
                print(name, table[name], flush=True)

    with_deep_stack(work)
    if not named:
        save("short_circuit", "python -m bench.short_circuit", table)


if __name__ == "__main__":
    main()
