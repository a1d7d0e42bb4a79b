"""`python -m bench.waits`: how often the host waits for a GPU and launches kernels, without one.

The host's program of each example, with its own inputs, calls a driver that is the observer's, and
the calls are counted: the same on every machine. A wait ends when all kernels have; a copy is one
to the device or back while the program runs, inputs and results that are arrays aside. A second
table has loops of so many `steps`, whose rounds ask for the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.codegen.kernels.repeats import GRAPHS
from compiler.codegen.kernels.resident import RESIDENT
from compiler.pipeline import Compilation
from testing import blocks
from testing.driver_calls import calls

EXAMPLES = Path(__file__).parents[1] / "app" / "examples"
STEPS = (100, 1_000, 10_000)
LAST = "(steps: i32)"
"""The parameter of those that take steps."""
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
    """What an example does with and without numbers that stay on the device."""
    source = path.read_text("utf-8")
    texts = pair(source, RESIDENT.id)
    for case, args in blocks.given(path, Compilation(source).result("soa").prog):
        names = ("cuStreamSynchronize", "cuLaunchKernel")
        if case.output is not None and (told := counted(texts, case.entry, args, names)):
            yield f"| `{path.stem}`, `{case.entry}` | {told} |"


def graphs(path: Path) -> Iterator[str]:
    """What an example that takes steps does with and without rounds that are captured."""
    source = path.read_text("utf-8")
    if LAST not in source:
        return
    texts = pair(source, GRAPHS.id)
    case, args = next(blocks.given(path, Compilation(source).result("soa").prog))
    for steps in STEPS:
        given = [*args[:-1], type(args[-1])(steps)]
        if told := counted(texts, case.entry, given, ("cuLaunchKernel", "cuGraphLaunch")):
            yield f"| `{path.stem}` | {steps:,} | {told} |"


def main() -> None:
    """Print the tables."""
    tables: dict[str, Row] = {
        "| example | waits | launches |\n|---|---|---|": waits,
        "| example | steps | launches | of graphs |\n|---|---|---|---|": graphs,
    }
    for head, rows in tables.items():
        print(f"\n{head}")
        for path in sorted(EXAMPLES.glob("*.fut")):
            for told in rows(path):
                print(told, flush=True)


if __name__ == "__main__":
    main()
