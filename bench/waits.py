"""`python -m bench.waits`: how often the host waits for a GPU, without one.

The host's program of each example, with its own inputs, calls a driver that is the observer's, and
the calls are counted: the same on every machine. A wait ends when all kernels have; a copy is one
to the device or back while the program runs, inputs and results that are arrays aside.
"""

from __future__ import annotations

from pathlib import Path

from compiler.base.context import Options
from compiler.base.text import plain
from compiler.pipeline import Compilation
from testing import blocks
from testing.driver_calls import calls

EXAMPLES = Path(__file__).parents[1] / "app" / "examples"
RULE = "kernels/resident"


def row(path: Path) -> str:
    """What an example does with and without the rule; empty where that is the same."""
    source = path.read_text("utf-8")
    work = Compilation(source, Options(target="cuda"))
    off = Compilation(source, Options(target="cuda", disabled=frozenset({RULE})))
    meaning = work.result("soa").prog
    told = []
    for case, args in blocks.given(path, meaning):
        if case.output is None:
            continue
        found = [calls(plain(w.result("cuda").text), case.entry, args) for w in (off, work)]
        if found[0] != found[1]:
            waits, launches = (
                ", then ".join(str(one[name]) for one in found)
                for name in ("cuStreamSynchronize", "cuLaunchKernel")
            )
            told.append(f"| `{path.stem}`, `{case.entry}` | {waits} | {launches} |")
    return "\n".join(told)


def main() -> None:
    """Print the table."""
    print("| example | waits | launches |\n|---|---|---|")
    for path in sorted(EXAMPLES.glob("*.fut")):
        if told := row(path):
            print(told, flush=True)


if __name__ == "__main__":
    main()
