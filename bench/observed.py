"""Run the tests of programs as CUDA text under the observer, with 16-bit indices.

    python -m bench.observed FOLDER --versions default grid --save

Each test with an input runs in each version, with threads in an order by chance; what it should
give is what `stridescope test` compares with. `late` is what takes longer than SECONDS anywhere.
"""

from __future__ import annotations

import argparse
import json
import random
import shlex
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from bench.machine import save
from compiler.base.deadline import within
from compiler.base.errors import CompileError, CompilerBug, RuntimeError_, TimeoutError_
from compiler.base.stack import with_deep_stack
from compiler.driver import api
from compiler.driver.disk import read_program
from compiler.protocol.kinds import OfProgram
from compiler.testing import cases, suite
from compiler.testing.blocks import Trial
from compiler.testing.compare import difference
from testing import kernels

SECONDS = 30.0
"""For one test in one version, with its compilation."""
KNOWN = ("agrees", "fails as it should", "late", "refused", "not compared")


def outcome(asked: OfProgram, case: Trial, manner: cases.Manner, version: str) -> str:
    """Check a test in one version: one of KNOWN, or the defect."""
    try:
        args = cases.prepared(asked, case, manner)
        expected = None if case.error else cases.expectation(asked, case, args, manner)
        if isinstance(expected, str):
            return "not compared"
        thresholds = kernels.thresholds(api.compilation(api.for_entry(asked, case.entry)), version)
        options = replace(asked, options={**asked.options, "thresholds": dict(thresholds)})
        work = api.compilation(api.for_entry(options, case.entry, "cuda"))
        order = random.Random(f"{asked.main} {version}").choice(kernels.ORDERS)
        found = kernels.observed(work, case.entry, args, order)
    except TimeoutError_:
        return "late"
    except RuntimeError_ as error:
        return "fails as it should" if case.error else f"{error.kind}: {error.message}"
    except (kernels.Difference, CompilerBug) as problem:
        return f"{type(problem).__name__}: {problem}"
    except CompileError:
        return "refused"
    except Exception as defect:
        return f"{type(defect).__name__}: {defect}"
    if case.error:
        return "It should fail and does not."
    kinds = api.outside(asked, case.entry).results
    wrong = None if expected is None else difference(found, expected, kinds)
    return wrong["says"] if wrong else "agrees"


def program(path: Path, versions: list[str]) -> list[tuple[str, str]]:
    """Check the tests of a program; return the outcome of each."""
    try:
        read = read_program(path)
        spec = cases.spec(read.source)
        if cases.skipped(spec.tags, "cuda"):
            return []
        asked = OfProgram(read.source, {"target": "cuda"}, read.files, read.main)
        manner = cases.Manner("c", seconds=SECONDS, load=suite.beside(path))
        chosen = [case for case in spec.cases if case.kind == "run"]
        return list(_each(path, asked, chosen, manner, versions))
    except CompileError:
        return [(str(path), "refused")]


def _each(
    path: Path, asked: OfProgram, chosen: list[Trial], manner: cases.Manner, versions: list[str]
) -> Iterator[tuple[str, str]]:
    for number, case in enumerate(chosen):
        if cases.skipped(case.tags, "cuda"):
            continue
        for version in versions:
            one = partial(outcome, asked, case, manner, version)
            try:
                yield f"{path} {case.entry} {number} {version}", within(SECONDS, one)
            except TimeoutError_:
                yield f"{path} {case.entry} {number} {version}", "late"


def deep(path: Path, versions: list[str]) -> list[tuple[str, str]]:
    """As `program`, with a deep stack."""
    found: list[list[tuple[str, str]]] = []
    with_deep_stack(lambda: found.append(program(path, versions)))
    return found[0]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("paths", nargs="+", metavar="FILE|FOLDER")
    parser.add_argument("--versions", nargs="+", default=["default"], choices=kernels.VERSIONS)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="write bench/results/observed.json")
    given = parser.parse_args()
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    with ProcessPoolExecutor(given.jobs, get_context("spawn")) as pool:
        work = partial(deep, versions=given.versions)
        for found in pool.map(work, suite.programs(given.paths)):
            for what, said in found:
                counts[said if said in KNOWN else "wrong"] += 1
                if said not in KNOWN:
                    wrong.append(f"{what}: {said}")
                print(f"{what}: {said}", flush=True)
    figures = {"runs": counts.total(), **counts, "first_wrong": wrong[:20]}
    print(json.dumps(figures, indent=1))
    if given.save:
        # Where the programs lie is the machine's matter.
        names = [Path(path).resolve().name for path in given.paths]
        command = ["python", "-m", "bench.observed", *names, "--versions", *given.versions]
        save("observed", shlex.join([*command, "--jobs", str(given.jobs)]), figures)


if __name__ == "__main__":
    main()
