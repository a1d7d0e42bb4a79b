"""Send bad input by the thousand (`testing/fuzz.py`).

python -m bench.fuzz check --cases 100000 --seed 0
python -m bench.fuzz protocol --show 1234        one case: what is sent, what comes back
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from bench.machine import save
from compiler.base.stack import with_deep_stack
from testing.fuzz import BATCH, KINDS, Json, Report, run_batch, seeded, try_case
from testing.generators import inputs as generate


def run(kind: str, first: int, count: int, jobs: int) -> Report:
    """Cases from a number on, in `jobs` processes."""
    multiprocessing.set_forkserver_preload(["compiler.driver.api"])
    total, start, done = Report(), time.perf_counter(), 0
    batches = [(at, min(BATCH, first + count - at)) for at in range(first, first + count, BATCH)]
    with ThreadPoolExecutor(jobs) as pool:
        for report in pool.map(lambda batch: run_batch(kind, *batch), batches):
            total.add(report)
            for case, what in report.found:
                print(f"{kind} {case}: {what}", flush=True)
            done += sum(report.outcomes.values())
            if done % (10 * BATCH) == 0:
                pace = (time.perf_counter() - start) / done * 1000
                print(f"{done} cases, {len(total.found)} reports; {pace:.2f} ms a case", flush=True)
    return total


def show(kind: str, case: int) -> None:
    """Print the input of a case and its outcome."""
    rng = seeded(kind, case)
    made = {
        "check": generate.source,
        "protocol": generate.line,
        "run-text": generate.run_text,
        "run-binary": generate.run_binary,
        "prove": generate.problem,
    }[kind](rng)
    print(ascii(made))
    report = Report()
    with_deep_stack(lambda: try_case(kind, case, report))
    print(report)


def figures(kind: str, first: int, report: Report) -> Json:
    """The report as plain data."""
    seconds, case = report.slowest
    return {
        "kind": kind,
        "from": first,
        "cases": sum(report.outcomes.values()),
        "reports": len(report.found),
        "first_reports": report.found[:20],
        "outcomes": dict(report.outcomes.most_common()),
        "slowest_cpu_s": round(seconds, 2),
        "slowest_case": case,
    }


def main() -> int:
    """The command line; exit status 1 if there is anything to report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("kind", choices=KINDS)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0, help="the number of the first case")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--save", action="store_true", help="write bench/results/fuzz-KIND.json")
    parser.add_argument("--show", type=int, metavar="CASE")
    given = parser.parse_args()
    if given.show is not None:
        show(given.kind, given.show)
        return 0
    with tempfile.TemporaryDirectory(prefix="fuzz-") as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        report = run(given.kind, given.seed, given.cases, given.jobs)
    made = figures(given.kind, given.seed, report)
    print(json.dumps(made, indent=1))
    if given.save:
        command = f"python -m bench.fuzz {given.kind} --cases {given.cases} --seed {given.seed}"
        save(f"fuzz-{given.kind}", f"{command} --jobs {given.jobs}", made)
    return 1 if report.found else 0


if __name__ == "__main__":
    sys.exit(main())
