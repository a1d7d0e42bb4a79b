"""Random programs about memory, at every stage and in C, by the thousand.

    python -m bench.campaign --programs 20000 --seed 0
    python -m bench.campaign --shrink 1234          one seed, made small if its stages differ
    python -m bench.campaign --generator extremes   programs at the ends of 64 bits, sanitised
    python -m bench.campaign --generator guards     programs that guard what may fail
    python -m bench.campaign --generator payloads   programs with sums that hold arrays

How they are compared: `testing/campaign.py`. With `--log FILE` finished batches are kept there and
not done again. With `--sanitize` C runs under sanitisers: what they report, and a crash, counts as
a difference of the program that was run.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench.machine import save
from compiler.ir.values import show
from testing.campaign import BATCH, GENERATORS, Manner, Report, check_batch, failure
from testing.shrinking import shrunk


def show_shrunk(seed: int, sanitized: bool, generator: str) -> None:
    """Print the program of that seed, and if its stages differ, a small one that does as well."""
    manner = Manner.of(seed // BATCH, sanitized, generator)
    made = manner.program(seed)
    what = failure(made, manner)
    print(made.source, f"\n{manner}\n", what or "no difference")
    if what:
        where = what.partition(":")[0]
        small = shrunk(made, lambda g: failure(g, manner).partition(":")[0] == where)
        print("\n" + small.source, failure(small, manner))
        for args in small.inputs:
            print(" ".join(show(a) for a in args))


def prepare() -> None:
    """Deep recursion, and libraries in a folder that goes away."""
    sys.setrecursionlimit(100_000)
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="campaign-")


def one_batch(batch: int, sanitized: bool, generator: str) -> tuple[int, Report]:
    """A batch in a process of the pool; the libraries that it made are removed."""
    start = time.perf_counter()
    report = check_batch(batch, sanitized, generator)
    report.counts["milliseconds"] = round((time.perf_counter() - start) * 1000)
    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    return batch, report


def run(
    first: int,
    count: int,
    jobs: int,
    log: Path | None,
    sanitized: bool = False,
    generator: str = "storage",
) -> Report:
    """All batches of a seed range, in `jobs` processes."""
    total = Report()
    batches = range(first // BATCH, -(-(first + count) // BATCH))
    done: set[int] = set()
    if log is not None and log.exists():
        for line in log.read_text().splitlines():
            kept = json.loads(line)
            if kept["batch"] in batches and kept["batch"] not in done:
                done.add(kept["batch"])
                found = [tuple(d) for d in kept["differences"]]
                total.add(Report(found, Counter(kept["counts"])))
    left = [b for b in batches if b not in done]
    start = time.perf_counter()
    work = partial(one_batch, sanitized=sanitized, generator=generator)
    with get_context("fork").Pool(jobs, prepare) as pool:
        for number, (batch, report) in enumerate(pool.imap_unordered(work, left), 1):
            total.add(report)
            if log is not None:
                entry = {
                    "batch": batch,
                    "differences": report.differences,
                    "counts": report.counts,
                }
                with log.open("a") as out:
                    out.write(json.dumps(entry) + "\n")
            for seed, where, what in report.differences:
                print(f"seed {seed}, {where}: {what[:300]}", flush=True)
            if number % 10 == 0:
                pace = (time.perf_counter() - start) / number / BATCH * 1000
                print(f"{summary(total)}; {pace:.0f} ms a program", flush=True)
    return total


def summary(report: Report) -> str:
    """One line."""
    c = report.counts
    return (
        f"{c['programs']} programs, {len(report.differences)} differences, "
        f"{c['refused']} refused, {c['failing']} failing"
    )


def figures(first: int, report: Report) -> dict[str, Any]:
    """The report as plain data."""
    c = report.counts
    kinds = ("update", "concat", "copy", "kernel-result", "in-place-map")
    return {
        "seeds": first,
        "programs": c["programs"],
        "differences": len(report.differences),
        "first_differences": report.differences[:20],
        "refused": c["refused"],
        "failing": c["failing"],
        "minutes_of_all_processes": round(c["milliseconds"] / 60_000, 1),
        "attempts_counted_in": c["counted programs"],
        "obligations": c["obligations"],
        "attempts": {
            kind: {
                k.partition(": ")[2]: n for k, n in sorted(c.items()) if k.startswith(f"{kind}:")
            }
            for kind in kinds
        },
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--save", action="store_true", help="write bench/results/campaign.json")
    parser.add_argument("--shrink", type=int, metavar="SEED")
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--generator", default="storage", choices=GENERATORS)
    given = parser.parse_args()
    prepare()
    if given.shrink is not None:
        show_shrunk(given.shrink, given.sanitize, given.generator)
        return
    report = run(given.seed, given.programs, given.jobs, given.log, given.sanitize, given.generator)
    made = figures(given.seed, report)
    print(json.dumps(made, indent=1))
    print(json.dumps({k: v for k, v in report.counts.items() if ":" in k}))
    if given.save:
        command = f"python -m bench.campaign --programs {given.programs} --seed {given.seed}"
        other = given.generator != "storage"
        options = " --sanitize" * given.sanitize + f" --generator {given.generator}" * other
        name = given.generator if other else "sanitized" if given.sanitize else "campaign"
        save(name, f"{command} --jobs {given.jobs}{options}", made)


if __name__ == "__main__":
    main()
