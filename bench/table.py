"""Writes `docs/figures.md` from what the other benchmarks left in `bench/results`.

python -m bench.table
"""

from __future__ import annotations

import json
from typing import Any

from bench.machine import RESULTS, ROOT

HEAD = """# Figures

Measured, not estimated: each table names its machine and its command, and `bench/results/` has the
raw numbers. `python -m bench.table` writes this page.
"""


def load(name: str) -> dict[str, Any] | None:
    """A benchmark's file, or None if it has not been run."""
    path = RESULTS / f"{name}.json"
    found: dict[str, Any] | None = json.loads(path.read_text()) if path.exists() else None
    return found


def where(data: dict[str, Any]) -> str:
    """The line under a title."""
    m = data["machine"]
    return (
        f"`{data['command']}` on {m['cores']} cores of {m['processor']}, Python {m['python']}, "
        f"commit {m['commit']}, {m['date']}."
    )


def rows(head: list[str], body: list[list[Any]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *body]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def compile_part(data: dict[str, Any]) -> str:
    """Compile times."""
    f = data["figures"]
    examples = f["examples_ms"]
    stages = [s for s in next(iter(examples.values())) if s not in ("total", "texts")]
    medians = [[s, _median([e[s] for e in examples.values()])] for s in [*stages, "texts", "total"]]
    growth = [
        [lines, round(t["total"], 1), round(t["total"] / int(lines), 3)]
        for lines, t in f["growth_ms_by_lines"].items()
    ]
    return f"""
## Compiling, warm: all stages to C and CUDA text

{where(data)}

Median over the {len(examples)} examples {f["median_ms"]:.1f} ms, the largest
{f["largest_ms"]:.1f} ms. Memory of the process after them: {f["peak_mb_after_examples"]} MB.
A worker started cold answers its first request after {f["cold_worker_first_answer_ms"]:.0f} ms.

{rows(["stage", "median over the examples, ms"], medians)}

How it grows (many functions, each with maps, a reduction, a scan, a loop and a branch):

{rows(["lines", "ms", "ms a line"], growth)}
"""


def _median(values: list[float]) -> float:
    ordered = sorted(values)
    return round(ordered[len(ordered) // 2], 2)


def run_part(data: dict[str, Any]) -> str:
    """Run times."""
    body = [
        [
            name,
            r["c_ms"],
            r["numpy_ms"],
            r.get("futhark_ms", "-"),
            r["peak_mb"],
            r["inputs_mb"],
        ]
        for name, r in data["figures"].items()
    ]
    head = ["program", "C, ms", "NumPy, ms", "Futhark multicore, ms", "peak MB", "inputs MB"]
    return f"""
## Running: C on all cores, next to NumPy and Futhark 0.25.32 in the same run

{where(data)}

{rows(head, body)}

Medians. The peak holds inputs, results and everything that the program allocates.
"""


def prove_part(data: dict[str, Any]) -> str:
    """What the prover decides."""
    f = data["figures"]
    body = [
        [name, r["disjoint"], r["proved"], f"{100 * r['proved_share']:.1f} %", r["unsound"]]
        for name, r in f.items()
        if name not in ("known", "constant")
    ]
    k, c = f["known"], f["constant"]
    return f"""
## Proving that accesses never meet

{where(data)}

Pairs of wavefront and LU programs: {k["proved"]} of {k["pairs"]} proved, certificates accepted;
median {k["median_ms"]} ms a pair, largest {k["largest_ms"]} ms. LMADs of numbers, up to three
dimensions: {c["pairs"]} pairs against enumeration, {c["wrong"]} wrong, {c["mean_us"]} µs a pair.
Random symbolic pairs against brute force on a grid:

{rows(["family", "disjoint pairs", "proved", "share", "unsound"], body)}
"""


def main() -> None:
    """The command line."""
    parts = [HEAD]
    makers = (("compile", compile_part), ("run", run_part), ("prove", prove_part))
    for name, make in makers:
        data = load(name)
        if data is not None:
            parts.append(make(data))
    (ROOT / "docs" / "figures.md").write_text("".join(parts))


if __name__ == "__main__":
    main()
