"""How compiling grows with one body: updates, parts, functions, loops and branches by the hundred.

    python -m bench.growth [FAMILY ..]

Each family makes a program of one size; sizes go up until one takes `MOST` seconds of processor
time. Times are those of the process, of every stage, with no proof kept from before.
"""

from __future__ import annotations

import math
import sys
import time
from typing import Any

from bench.machine import save
from compiler.base.context import Options
from compiler.pipeline import STAGES, Compilation
from compiler.storage.short_circuit.assumptions import forget
from compiler.worker import with_deep_stack
from testing.generators.families import FAMILIES

SIZES = (10, 40, 80, 120, 200, 1000, 2000)
MOST = 30.0
"""Seconds: after a size that takes longer, a family ends."""


def measure(source: str) -> dict[str, Any]:
    """Seconds of every stage, all together, and what became of the attempts."""
    forget()
    work = Compilation(source, Options())
    figures: dict[str, Any] = {}
    begun = time.process_time()
    for stage in STAGES:
        start = time.process_time()
        work.result(stage.id)
        figures[stage.id] = round(time.process_time() - start, 3)
    figures["total"] = round(time.process_time() - begun, 3)
    found = [r for r in work.remarks() if r.rule.startswith("shortcircuit/")]
    figures["attempts"] = len(found)
    figures["done"] = sum(r.kind == "applied" for r in found)
    return figures


def growth(sizes: dict[int, dict[str, Any]], stage: str) -> float | None:
    """The power that a stage grew with between the last two sizes; None if it takes no time."""
    if len(sizes) < 2:
        return None
    before, after = list(sizes)[-2:]
    if sizes[after][stage] < 0.05 or sizes[before][stage] <= 0:
        return None
    ratio = sizes[after][stage] / sizes[before][stage]
    return round(math.log(ratio) / math.log(after / before), 2)


def main() -> None:
    """The command line."""
    chosen = [f for f in FAMILIES if not sys.argv[1:] or f.__name__ in sys.argv[1:]]
    table: dict[str, Any] = {}

    def work() -> None:
        for family in chosen:
            sizes: dict[int, dict[str, Any]] = table.setdefault(family.__name__, {})
            for size in SIZES:
                try:
                    sizes[size] = found = measure(family(size))
                except Exception as error:  # what fails is told beside the rest
                    print(f"{family.__name__:22} {size:5} {type(error).__name__}: {error}"[:300])
                    break
                slow = sorted((s.id for s in STAGES), key=lambda s: -found[s])[:4]
                stages = ", ".join(f"{s} {found[s]:.2f} ({growth(sizes, s)})" for s in slow)
                done = f"{found['done']} of {found['attempts']}"
                print(
                    f"{family.__name__:22} {size:5} {found['total']:8.2f} s {done:>12}  {stages}",
                    flush=True,
                )
                if found["total"] > MOST:
                    break

    with_deep_stack(work)
    if not sys.argv[1:]:
        save("growth", "python -m bench.growth", table)


if __name__ == "__main__":
    main()
