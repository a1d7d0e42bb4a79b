"""Run random programs in several processes, and keep their seeds in a file.

What a file has is not run again at the same commit. The file of the project is
`bench/results/campaign.json`, which `docs/figures.md` shows.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench.machine import RESULTS, ROOT, describe
from compiler.base.stack import seldom_look_for_garbage
from testing.record import Row, Rows, Subject, add, load

FILE = RESULTS / "campaign.json"
CACHE_BYTES = 50_000_000
Work = Callable[[Any], dict[tuple[str, str], Row]]
"""A function from an item to rows, by generator and by what it was compared with."""


def prepare() -> None:
    """Deep recursion, little looking for garbage, and libraries in a folder that goes away."""
    sys.setrecursionlimit(100_000)
    seldom_look_for_garbage()
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="campaign-")


def commit() -> str:
    """The commit that programs are run at; with `+` if what it has was changed since."""
    changed = subprocess.run(
        ["git", "status", "--porcelain", "--", "compiler", "testing"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return str(describe()["commit"]) + "+" * bool(changed.stdout)


def left(
    path: Path | None, at: str, subjects: Iterable[tuple[str, str]], seeds: Iterable[range]
) -> list[range]:
    """The batches of seeds of which some subject has not been run at a commit."""
    found = load(path) if path is not None else {}
    known = [found.get(Subject(*one, at), Row()) for one in subjects]
    return [batch for batch in seeds if not all(row.has(batch.start) for row in known)]


def run(work: Work, items: list[Any], at: str, path: Path | None, jobs: int = 1) -> Rows:
    """Do the work of all items; what each finds is told, and put to the file."""
    total: Rows = {}
    start = time.perf_counter()
    about = {"machine": describe(), "command": f"python -m {_command()}"}
    with get_context("fork").Pool(jobs, prepare) as pool:
        for number, found in enumerate(pool.imap_unordered(_Timed(work), items), 1):
            new = {Subject(*subject, at): row for subject, row in found.items()}
            for subject, row in new.items():
                for seed, where, what in row.differences:
                    print(f"{subject.generator} {seed}, {where}: {what[:300]}", flush=True)
            if path is not None:
                add(path, new, about)
            for subject, row in new.items():
                total.setdefault(subject, Row()).add(row)
            if number % 10 == 0:
                pace = (time.perf_counter() - start) / number
                print(f"{summary(total)}; {pace:.1f} s a batch", flush=True)
    return total


def _command() -> str:
    """Return the command line of this process, as a user types it."""
    return " ".join([f"bench.{Path(sys.argv[0]).stem}", *sys.argv[1:]])


class _Timed:
    """Work in a process of the pool; the libraries that it made are removed when they are many."""

    def __init__(self, work: Work) -> None:
        self.work = work

    def __call__(self, item: Any) -> dict[tuple[str, str], Row]:
        """Do the work and count its CPU milliseconds, shared by the rows.

        Includes the CPU time of compilers, but not of runs of C.
        """
        start = _processor_ms()
        found = self.work(item)
        took = _processor_ms() - start
        for row in found.values():
            row.counts["milliseconds"] += round(took / len(found))
        cache = Path(os.environ["XDG_CACHE_HOME"])
        if sum(file.stat().st_size for file in cache.rglob("*") if file.is_file()) > CACHE_BYTES:
            shutil.rmtree(cache, ignore_errors=True)
        return found


def _processor_ms() -> float:
    """The time that this process and its children that ended have had, in milliseconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) * 1000


def summary(found: Rows) -> str:
    """Summarise rows in one line."""
    counts = [row.counts for row in found.values()]
    said = [
        f"{sum(c[name] for c in counts)} {name}"
        for name in ("programs", "refused", "failing", "late")
        if name == "programs" or any(c[name] for c in counts)
    ]
    differences = sum(len(row.differences) for row in found.values())
    return f"{', '.join(said)}, {differences} differences"


def tell(found: Rows) -> None:
    """Print what a run found."""
    for subject, row in sorted(found.items()):
        counts = {name: n for name, n in sorted(row.counts.items()) if ":" not in name}
        print(" ".join(subject), json.dumps({**counts, "differences": len(row.differences)}))
    print(summary(found))
