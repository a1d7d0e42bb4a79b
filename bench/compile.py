"""Measure compile time in a warm process, by stage and by size of the program.

python -m bench.compile
"""

from __future__ import annotations

import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from bench.machine import EXAMPLES, save, words
from compiler.base.context import Options
from compiler.base.stack import seldom_look_for_garbage, with_deep_stack
from compiler.driver.pipeline import STAGES, Compilation
from compiler.storage.short_circuit.assumptions import forget

REPEATS = 15
GROWTH = (10, 30, 100, 300, 1000, 3000)


def once(source: str, options: Options | None = None) -> dict[str, float]:
    """Milliseconds for each stage, and for making all texts; no proof is kept from before."""
    forget()
    work = Compilation(source, options or Options())
    start = time.perf_counter()
    times: dict[str, float] = {}
    for stage in STAGES:
        result = work.result(stage.id)
        times[stage.id] = result.ms
    shown = time.perf_counter()
    for stage in STAGES:
        work.result(stage.id).text  # noqa: B018
    end = time.perf_counter()
    return {**times, "texts": (end - shown) * 1000, "total": (end - start) * 1000}


def median_of(source: str, repeats: int = REPEATS) -> dict[str, float]:
    """The medians of several compilations, after one that is not counted."""
    once(source)
    runs = [once(source) for _ in range(repeats)]
    return {key: round(statistics.median(r[key] for r in runs), 3) for key in runs[0]}


def program_of(lines: int) -> str:
    """A program of about that many lines: many small functions, all of them used."""
    body = [
        "def g{i} [n] (xs: [n]f32) (k: f32): [n]f32 =",
        "  let ys = map (\\x -> x * k + {i}) xs",
        "  let s = reduce (+) 0 ys",
        "  let zs = map2 (\\x y -> x * s - y) xs ys",
        "  let ws = if s < k then scan (+) 0 zs else zs",
        "  in loop ws for i < 3 do map (\\w -> f32.sqrt (w * w + f32.i32 i)) ws",
        "",
    ]
    count = max(1, (lines - 3) // len(body))
    text = [line.replace("{i}", str(i)) for i in range(count) for line in body]
    chain = "xs"
    text.append("entry main [n] (xs: [n]f32): f32 =")
    for i in range(count):
        text.append(f"  let xs{i} = g{i} {chain} {i}")
        chain = f"xs{i}"
    text.append(f"  in reduce (+) 0 {chain}")
    return "\n".join(text) + "\n"


def first_answer() -> float:
    """Milliseconds from starting a worker to its first answer."""
    request = '{"id": 1, "op": "show", "source": "def main (x: i32) = x + 1"}\n'
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "compiler", "worker"],
        input=request,
        text=True,
        capture_output=True,
        check=True,
    )
    return round((time.perf_counter() - start) * 1000, 1)


def measure() -> dict[str, Any]:
    """All figures."""
    examples = {p.stem: median_of(p.read_text("utf-8")) for p in sorted(EXAMPLES.glob("*.fut"))}
    totals = [times["total"] for times in examples.values()]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    growth = {}
    for lines in GROWTH:
        source = program_of(lines)
        growth[len(source.splitlines())] = median_of(source, 3)
    return {
        "examples_ms": examples,
        "median_ms": statistics.median(totals),
        "largest_ms": max(totals),
        "peak_mb_after_examples": round(peak, 1),
        "growth_ms_by_lines": growth,
        "cold_worker_first_answer_ms": first_answer(),
    }


def main() -> None:
    """The command line."""
    words(__doc__)
    seldom_look_for_garbage()
    figures: dict[str, Any] = {}
    with_deep_stack(lambda: figures.update(measure()))
    path: Path = save("compile", "python -m bench.compile", figures)
    print(f"median {figures['median_ms']:.1f} ms, largest {figures['largest_ms']:.1f} ms")
    for lines, times in figures["growth_ms_by_lines"].items():
        print(f"{lines:6} lines {times['total']:9.1f} ms")
    print(f"peak memory {figures['peak_mb_after_examples']} MB; written to {path.name}")


if __name__ == "__main__":
    main()
