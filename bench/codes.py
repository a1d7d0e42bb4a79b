"""Count the pairs of accesses of real codes that are proved disjoint; all pairs are.

    python -m bench.codes

No pair of the list shares a cell for small values, which are counted out, and none of what becomes
of it by a change, where that does share one, is ever called disjoint.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Sequence
from typing import Any

from bench.machine import save
from compiler.algebra.disjoint import Disjoint
from compiler.base.errors import UsageError
from testing.codes import Code, by_the_thesis, codes, decided, shared, twins


def measured(some: Sequence[Code]) -> dict[str, Any]:
    """Counts, times in milliseconds, and the names of what is not proved or wrong."""
    rng = random.Random(1)
    unproved: list[str] = []
    wrong: list[str] = []
    times: list[float] = []
    meeting = by_thesis = 0
    for code in some:
        start = time.process_time()
        verdict = decided(code)
        times.append((time.process_time() - start) * 1000)
        if not isinstance(verdict, Disjoint):
            unproved.append(code.name)
        by_thesis += _by_the_thesis(code)
        if shared(code, rng) is not None:
            wrong.append(code.name)
        for twin in twins(code, rng):
            if shared(twin, rng) is not None:
                meeting += 1
                if isinstance(decided(twin), Disjoint) or _by_the_thesis(twin):
                    wrong.append(f"{twin.name}, changed: {twin.problem}")
    return {
        "pairs": len(some),
        "proved": len(some) - len(unproved),
        "proved by the thesis' procedure": by_thesis,
        "median_ms": round(statistics.median(times), 2),
        "largest_ms": round(max(times), 1),
        "changed and meeting": meeting,
        "wrong": wrong,
        "not proved": unproved,
    }


def _by_the_thesis(code: Code) -> bool:
    try:
        return by_the_thesis(code.problem)
    except UsageError:
        return False


def main() -> None:
    """The command line."""
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args()
    figures = measured(codes())
    for name, value in figures.items():
        print(f"{name}: {value}")
    save("codes", "python -m bench.codes", figures)


if __name__ == "__main__":
    main()
