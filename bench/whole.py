"""Measure compile time where most has to be proved, next to Futhark's own compiler.

    python -m bench.whole

Ours is a warm process, all stages to C and CUDA text with all proofs; none is kept from one
compilation to the next, while CUDA takes those over that C has asked for in the same one.
Futhark's is its process from start to end, up to the text that it generates (`--library`): it has
no process that stays. The median of each; in turns.
"""

from __future__ import annotations

import statistics
import tempfile
from pathlib import Path
from typing import Any

from bench import examples
from bench.compile import once
from bench.futhark import Program, compile_ms
from bench.machine import save, words
from compiler.base.stack import with_deep_stack
from compiler.driver import explanations
from compiler.protocol.proofs import AttemptsRequest

GOALS = {"wavefront": 500, "blocked_wavefront": 500, "lu_step": 600, "blocked_lu": 600}
"""Milliseconds."""
REPEATS = 9
ROUNDS = 3
PROVING = ("shortcircuit",)


def measure(name: str, folder: Path) -> dict[str, Any]:
    """The figures of one example."""
    source = examples.source_of(name)
    program = Program(name, source)
    once(source)
    ours: list[dict[str, float]] = []
    theirs: dict[str, list[float]] = {"c": [], "cuda": []}
    for _ in range(ROUNDS):
        ours += [once(source) for _ in range(REPEATS)]
        for backend, times in theirs.items():
            took = compile_ms(backend, program, folder, 1)
            if took is not None:
                times.append(took)
    figures: dict[str, Any] = {
        "lines": len(source.splitlines()),
        "goal_ms": GOALS[name],
        "total_ms": _median([times["total"] for times in ours]),
        "proving_ms": _median([sum(times[s] for s in PROVING) for times in ours]),
        **proofs(source),
    }
    for backend, times in theirs.items():
        if times:
            figures[f"futhark_{backend}_ms"] = _median(times)
    return figures


def _median(values: list[float]) -> float:
    return round(statistics.median(values), 1)


def proofs(source: str) -> dict[str, Any]:
    """Count attempts, those that succeed, and the pairs of accesses that they prove."""
    found = explanations.attempts(AttemptsRequest(source))["attempts"]
    pairs = [o for attempt in found for o in attempt["obligations"]]
    return {
        "attempts": len(found),
        "built_in_place": sum(attempt["done"] for attempt in found),
        "pairs": len(pairs),
    }


def main() -> None:
    """The command line."""
    words(__doc__)
    table: dict[str, Any] = {}

    def work() -> None:
        with tempfile.TemporaryDirectory() as folder:
            for name in GOALS:
                if name in examples.names():
                    table[name] = measure(name, Path(folder))
                    print(name, table[name], flush=True)

    with_deep_stack(work)
    save("whole", "python -m bench.whole", table)


if __name__ == "__main__":
    main()
