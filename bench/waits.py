"""`python -m bench.waits`: how often the host waits for a GPU and launches kernels, without one.

The host's program of each example, with its own inputs, asks a device that is the observer's, and
the calls are counted: the same on every machine. A wait ends when all kernels have; a copy is one
to the device or back while the program runs, inputs and results that are arrays aside. A second
table has loops of so many `steps`, whose rounds ask for the same, a third one loops whose kernels
are given the number of the round, or that make blocks in each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.machine import words
from compiler.base.context import Options
from compiler.base.text import plain
from compiler.codegen.kernels.repeats import GRAPHS
from compiler.codegen.kernels.resident import RESIDENT
from compiler.driver.pipeline import Compilation
from testing import blocks
from testing.gpu_calls import calls

EXAMPLES = Path(__file__).parents[1] / "app" / "examples"
STEPS = (100, 1_000, 10_000)
LAST = "(steps: i32)"
"""The parameter of those that take steps."""
NUMBERED: dict[str, dict[str, tuple[Any, ...]]] = {
    "edit_distance": {
        f"texts of {n}": (np.arange(n, dtype=np.uint8), np.arange(n, dtype=np.uint8)[::-1].copy())
        for n in (50, 200)
    },
    "nearest_neighbours": {
        f"{k} of 1,000": (np.int64(k), np.ones((1000, 2), np.float32), np.ones(2, np.float32))
        for k in (20, 200)
    },
    "radix_sort": {"1,000 numbers": (np.arange(1000, dtype=np.uint32)[::-1].copy(),)},
}
"""Inputs of examples, by what they are."""
Row = Callable[[Path], Iterator[str]]


def pair(source: str, rule: str) -> tuple[str, str]:
    """The text without a rule, and with it."""
    off = Options(target="cuda", disabled=frozenset({rule}))
    both = (Compilation(source, one).result("cuda").text for one in (off, Options(target="cuda")))
    without, as_is = map(plain, both)
    return without, as_is


def counted(texts: Sequence[str], entry: str, args: Sequence[Any], names: Sequence[str]) -> str:
    """The calls of both texts; empty where they are the same."""
    found = [calls(text, entry, args) for text in texts]
    if found[0] == found[1]:
        return ""
    return " | ".join(", then ".join(f"{one[name]:,}" for one in found) for name in names)


def waits(path: Path) -> Iterator[str]:
    """Yield a row about an example, with and without numbers that stay on the device."""
    source = path.read_text("utf-8")
    texts = pair(source, RESIDENT.id)
    for case, args in blocks.given(path, Compilation(source).result("soa").prog):
        names = ("wait", "launch")
        if case.output is not None and (told := counted(texts, case.entry, args, names)):
            yield f"| `{path.stem}`, `{case.entry}` | {told} |"


def graphs(path: Path) -> Iterator[str]:
    """Yield a row about an example that takes steps, with and without captured rounds."""
    source = path.read_text("utf-8")
    if LAST not in source:
        return
    texts = pair(source, GRAPHS.id)
    case, args = next(blocks.given(path, Compilation(source).result("soa").prog))
    for steps in STEPS:
        given = [*args[:-1], type(args[-1])(steps)]
        if told := counted(texts, case.entry, given, ("launch", "repeat")):
            yield f"| `{path.stem}` | {steps:,} | {told} |"


def numbered(path: Path) -> Iterator[str]:
    """Yield rows about an example with numbered rounds, with and without capturing them."""
    for said, args in NUMBERED.get(path.stem, {}).items():
        names = ("launch", "repeat", "allocate")
        told = counted(pair(path.read_text("utf-8"), GRAPHS.id), "main", args, names)
        yield f"| `{path.stem}`, {said} | {told} |"


def main() -> None:
    """Print the tables."""
    words(__doc__)
    tables: dict[str, Row] = {
        "| example | waits | launches |\n|---|---|---|": waits,
        "| example | steps | launches | of graphs |\n|---|---|---|---|": graphs,
        "| example | launches | of graphs | blocks made |\n|---|---|---|---|": numbered,
    }
    for head, rows in tables.items():
        print(f"\n{head}")
        for path in sorted(EXAMPLES.glob("*.fut")):
            for told in rows(path):
                print(told, flush=True)


if __name__ == "__main__":
    main()
