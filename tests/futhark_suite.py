"""Runs a folder of Futhark programs with `-- ==` blocks through all stages and back ends.

    python -m tests.futhark_suite FOLDER [--only TEXT] [--stages soa,fused,flat,imp] [--c]

For each program: it compiles (or is refused, where its block says so), every stage named gives the
expected output, and so does C. Prints what differs, and a summary by reason. The words of messages
are those of another compiler, and are not compared. `#[unsafe]` is honoured, as there.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from compiler.protocol.tests import CaseTested, ProgramTested
from compiler.testing import suite

SECONDS = 20


class TooSlow(BaseException):
    """A program took longer than `SECONDS`."""


@contextmanager
def limit(seconds: int) -> Iterator[None]:
    """Raise TooSlow in the main thread after that many seconds."""

    def ring(_signal: int, _frame: object) -> None:
        raise TooSlow

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def reason(case: CaseTested) -> str:
    """Why a test did not pass, in a few words; empty if it did."""
    if case["outcome"] in ("passed", "skipped", "unchecked"):
        return "" if case["outcome"] == "passed" else str(case["outcome"])
    kind = case["error"]["kind"] if "error" in case else ""
    if kind in ("limitation", "internal", "timeout"):
        return kind
    if case["kind"] == "refused":
        return "wrongly accepted"
    if kind in ("syntax", "type"):
        return f"wrongly refused ({kind})"
    return "no such warning" if case["kind"] == "warning" else "wrong"


def run_program(path: Path, manners: list[suite.Wanted]) -> tuple[Counter[str], str]:
    """Outcomes of all tests of a program, and what is said of the program as a whole."""
    counts: Counter[str] = Counter()
    if "#[param" in path.read_text("utf-8", errors="replace"):
        return counts, "skipped: parameters of the test's file"
    for manner in manners:
        found: ProgramTested = suite.tested(path, manner)
        if "error" in found:
            print(f"{path}: {found['error'].get('rendered', found['error']['message'])}")
            return counts, "unreadable test"
        for case in found["cases"]:
            why = reason(case)
            counts[why or "passed"] += 1
            if why not in ("", "skipped"):
                where = f"{path}:{case['src'][0]}: {manner.stage or manner.backend}"
                print(f"{where}: {case['name'][:80]}: {why.upper()} {case['because'][:300]}")
    worst = [why for why in counts if why not in ("passed", "skipped", "unchecked")]
    if worst:
        return counts, max(worst, key=lambda why: (why != "limitation", counts[why]))
    return counts, "passed" if counts["passed"] or not counts else max(counts)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--stages", default="soa,fused,flat,imp")
    parser.add_argument("--c", action="store_true")
    parser.add_argument("--every", type=int, default=1, help="only each n-th program")
    args = parser.parse_args()
    alike = suite.Wanted(seconds=SECONDS, any_words=True, unsafe=True, verify=True)
    stages = [stage for stage in args.stages.split(",") if stage]
    manners = [replace(alike, backend="ref", stage=stage) for stage in stages]
    manners += [alike] * args.c
    programs: Counter[str] = Counter()
    cases: Counter[str] = Counter()
    files = [args.folder] if args.folder.is_file() else sorted(args.folder.rglob("*.fut"))
    sys.setrecursionlimit(20_000)
    start = time.monotonic()
    for path in [path for path in files if args.only in str(path)][:: args.every]:
        try:
            with limit(SECONDS * 3):
                counts, outcome = run_program(path, manners)
            cases += counts
        except TooSlow:
            outcome = "too slow"
            print(f"{path}: TOO SLOW")
        programs[outcome] += 1
    print(f"{time.monotonic() - start:.0f} s")
    for what, tally in (("programs", programs), ("tests", cases)):
        for why, count in tally.most_common():
            print(f"{count:5} {what} {why}")


if __name__ == "__main__":
    main()
