"""`python -m bench.accesses`: what of the memory that kernels fetch they use, without a GPU.

Each program runs under the observer in two code versions, with as little and with as much
parallelism as there is; printed is the table of `docs/performance.md`. All figures are counts, the
same on every machine.
"""

from __future__ import annotations

import re
from typing import Any

from bench.machine import words
from compiler.driver import api, explanations
from compiler.protocol.accesses import AccessesAnswer, ObserveRequest
from compiler.protocol.programs import ShowRequest

HEAD = "entry main [n][m] (a: [n][m]f32): "
PROGRAMS: dict[str, tuple[str, dict[str, int]]] = {
    "row sums": (HEAD + "[n]f32 = map f32.sum a", {"n": 512, "m": 64}),
    "row scans": (HEAD + "[n][m]f32 = map (scan (+) 0) a", {"n": 512, "m": 64}),
    "softmax of rows": (
        HEAD + "[n][m]f32 = map (\\r -> let e = map (\\x -> f32.exp (x - f32.maximum r)) r"
        " in map (/ f32.sum e) e) a",
        {"n": 512, "m": 64},
    ),
    "column sums": (HEAD + "[m]f32 = map f32.sum (transpose a)", {"n": 512, "m": 64}),
    "transposition": (HEAD + "[m][n]f32 = map (map (+ 1)) (transpose a)", {"n": 256, "m": 128}),
    "matrix multiplication": (
        "entry main [n][m][p] (a: [n][m]f32) (b: [m][p]f32): [n][p]f32 ="
        " map (\\r -> map (\\c -> f32.sum (map2 (*) r c)) (transpose b)) a",
        {"n": 64, "m": 64, "p": 64},
    ),
    "histogram of 256": (
        "entry main [n] (is: [n]i32): [256]i32 = reduce_by_index (replicate 256 0) (+) 0"
        " (map (\\i -> i64.i32 i & 255) is) (replicate n 1)",
        {"n": 20_000},
    ),
    "scan": ("entry main [n] (xs: [n]i32): [n]i32 = scan (+) 0 xs", {"n": 20_000}),
    "sum": ("entry main [n] (xs: [n]f32): f32 = f32.sum xs", {"n": 20_000}),
}
VERSIONS = {"outer only": 0, "all": 1 << 40}
"""Thresholds: the least amount of outer parallelism that suffices alone."""


def observed(source: str, sizes: dict[str, int], threshold: int) -> AccessesAnswer:
    """A run of one code version."""
    target: Any = {"target": "cuda"}
    flat = api.show(ShowRequest(source, target, stages=["flat"]))["stages"]["flat"]["text"] or ""
    names = re.findall(r'threshold\("(\w+)"', flat)
    target["thresholds"] = dict.fromkeys(names, threshold)
    return explanations.observe(ObserveRequest(source, target, sizes=sizes, seconds=60.0))


def row(name: str, version: str, answer: AccessesAnswer) -> str:
    """A line of the table."""
    assert not answer["faults"], answer["faults"]
    assert not answer["because"], answer["because"]
    accesses = [one for one in answer["accesses"] if not one["shared"]]
    total = {k: sum(one["seen"][k] for one in accesses) for k in ("bytes", "sectors", "fewest")}
    used = round(100 * total["bytes"] / (32 * total["sectors"]))
    would = round(100 * total["fewest"] / total["sectors"])
    barriers = sum(run["barriers"] for run in answer["kernels"])
    worst = accesses[0]
    counts = f"{total['sectors']:,} | {total['fewest']:,} | {would} % | {used} % | {barriers:,}"
    return f"| {name} | {version} | {counts} | {worst['says']} |"


def main() -> None:
    """Print the table."""
    words(__doc__)
    print("| program | parallelism | sectors | fewest | needed | bytes used | barriers | worst |")
    print("|---|---|---|---|---|---|---|---|")
    for name, (source, sizes) in PROGRAMS.items():
        seen: list[str] = []
        for version, threshold in VERSIONS.items():
            told = row(name, version, observed(source, sizes, threshold))
            if told.replace(version, "") not in seen:
                print(told, flush=True)
                seen.append(told.replace(version, ""))


if __name__ == "__main__":
    main()
