"""Measure compile time and the panes' time as a program grows, by families of programs.

    python -m bench.growth [FAMILY ..]

Each family makes a program of one size; sizes go up until one takes `MOST` seconds of processor
time. Times are those of the process: of every stage, of the check of where its arrays lie, and of
every question that the page asks of a program, with no proof kept from before.
"""

from __future__ import annotations

import math
import time
from typing import Any

from bench.machine import save, words
from compiler.base.stack import with_deep_stack
from compiler.driver import api
from compiler.driver.pipeline import MEMORY_STAGES, STAGES
from compiler.driver.worker import answer
from compiler.ir import memory
from compiler.protocol.kinds import OfProgram
from compiler.storage.short_circuit.assumptions import forget
from testing.generators.families import FAMILIES

SIZES = (10, 40, 80, 120, 200, 1000, 2000)
MOST = 30.0
"""Seconds: after a size that takes longer, a family ends."""
QUESTIONS = (
    "check",
    "show",
    "rules",
    "memory",
    "lifetimes",
    "interference",
    "index_functions",
    "attempts",
    "bounds",
    "certificate",
    "tuning",
)
"""Requests of the page about a compiled program."""
VERIFIED = "cells"
"""The memory check after each stage with memory, as under `--verify`."""
TIMES = (*(stage.id for stage in STAGES), *QUESTIONS, VERIFIED)


def measure(source: str) -> dict[str, Any]:
    """Seconds of every stage and question, all together, and what became of the attempts."""
    forget()
    work = api.compilation(OfProgram(source))
    figures: dict[str, Any] = {}
    begun = time.process_time()
    for stage in STAGES:
        start = time.process_time()
        work.result(stage.id)
        figures[stage.id] = round(time.process_time() - start, 3)
    for question in QUESTIONS:
        start = time.process_time()
        asked = {"stage": "merged"} if question in ("memory", "lifetimes", "interference") else {}
        answered = answer({"op": question, "source": source, "options": {}, **asked})
        if not answered["ok"]:
            raise RuntimeError(f"{question}: {answered['error']['message']}")
        figures[question] = round(time.process_time() - start, 3)
    start = time.process_time()
    for stage_id in MEMORY_STAGES:
        memory.check(work.result(stage_id).prog, stage_id)
    figures[VERIFIED] = round(time.process_time() - start, 3)
    figures["total"] = round(time.process_time() - begun, 3)
    found = [r for r in work.remarks() if r.rule.startswith("shortcircuit/")]
    figures["tried"] = len(found)
    figures["done"] = sum(r.kind == "applied" for r in found)
    return figures


def growth(sizes: dict[int, dict[str, Any]], part: str) -> float | None:
    """The power that a part's time grew with between the last two sizes; None if it is short."""
    if len(sizes) < 2:
        return None
    before, after = list(sizes)[-2:]
    if sizes[after][part] < 0.05 or sizes[before][part] <= 0:
        return None
    ratio = sizes[after][part] / sizes[before][part]
    return round(math.log(ratio) / math.log(after / before), 2)


def main() -> None:
    """The command line."""
    named = words(__doc__, "FAMILY")
    chosen = [f for f in FAMILIES if not named or f.__name__ in named]
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
                slow = sorted(TIMES, key=lambda part: -found[part])[:4]
                stages = ", ".join(f"{s} {found[s]:.2f} ({growth(sizes, s)})" for s in slow)
                done = f"{found['done']} of {found['tried']}"
                print(
                    f"{family.__name__:22} {size:5} {found['total']:8.2f} s {done:>12}  {stages}",
                    flush=True,
                )
                if found["total"] > MOST:
                    break

    with_deep_stack(work)
    if not named:
        save("growth", "python -m bench.growth", table)


if __name__ == "__main__":
    main()
