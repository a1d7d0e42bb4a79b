"""Write `docs/figures.md` from the files of the other benchmarks in `bench/results`.

python -m bench.table
"""

from __future__ import annotations

import json
from typing import Any

from bench.machine import RESULTS, ROOT, words
from bench.peer.figures import peers_part
from bench.report.compiling import (
    codes_part,
    compile_part,
    edits_part,
    flatpack_part,
    large_part,
    prove_part,
    short_circuit_part,
    whole_part,
)
from bench.report.published import computed_part, public_part, thesis_part, tuners_part
from bench.report.random_programs import campaign_part, fuzz_part, mutated_part
from bench.report.serving import (
    classroom_part,
    follow_part,
    page_part,
    readers_part,
    soak_part,
    streaming_part,
    walls_part,
)
from testing.fuzz import KINDS

HEAD = """# Figures

Look up measured times and sizes. Each table names its machine and its command, and `bench/results/`
has the raw numbers. `python -m bench.table` writes this page. Under a table it names each entry
that is slower than its rival by more than 3 %, or misses its goal.
"""


def load(name: str) -> dict[str, Any] | None:
    """A benchmark's file, or None if it has not been run."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
    return found


def page() -> str:
    """The whole page."""
    parts = [HEAD]
    makers = (
        ("compile", compile_part),
        ("whole", whole_part),
        ("large", large_part),
        ("peers", peers_part),
        ("short_circuit", short_circuit_part),
        ("thesis", thesis_part),
        ("tuners", tuners_part),
        ("public", public_part),
        ("computed", computed_part),
        ("edits", edits_part),
        ("page", page_part),
        ("walls", walls_part),
        ("prove", prove_part),
        ("codes", codes_part),
        ("campaign", campaign_part),
        ("mutated", mutated_part),
        ("classroom", classroom_part),
        ("readers", readers_part),
        ("soak", soak_part),
        ("streaming", streaming_part),
        ("flatpack", flatpack_part),
        ("follow", follow_part),
    )
    for name, make in makers:
        data = load(name)
        if data is not None:
            parts.append(make(data))
    fuzzed = [data for kind in KINDS if (data := load(f"fuzz-{kind}")) is not None]
    if fuzzed:
        parts.append(fuzz_part(fuzzed))
    return "\n".join(line.rstrip() for line in "".join(parts).split("\n"))


def main() -> None:
    """The command line."""
    words(__doc__)
    (ROOT / "docs" / "figures.md").write_text(page())


if __name__ == "__main__":
    main()
