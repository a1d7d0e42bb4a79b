"""Measure gradients: time, memory and compile time, beside Futhark's own, and their growth.

    python -m bench.derivatives --benchmarks FOLDER     ADBench of futhark-benchmarks, and two more
    python -m bench.derivatives --growth                compile time and tapes
    python -m bench.derivatives --random 10000 --log F  random gradients (`testing/gradients.py`)

C on one core; runs of both compilers alternate, and the least counts. The ratio is a gradient's
time over that of the function itself. Memory is what a program holds at the worst moment, as it
tells. Compile time goes up to the text of C: ours CPU time of a warm process, Futhark's its
process.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import futhark, recorded
from bench.machine import save
from compiler.base.context import Options
from compiler.base.stack import with_deep_stack
from compiler.base.text import plain
from compiler.driver.disk import read_program
from compiler.driver.pipeline import Compilation
from compiler.ir.values import from_bytes, to_binary
from compiler.runtime.runner import Settings, run_c
from testing.gradients import BATCH, check_batch
from testing.record import Row

ROUNDS = 5
RANDOM = "derivatives", "forward, differences, C"
MEANS = """
entry calculate_objective [n] [k] [d] (points: [n][d]f64) (centres: [k][d]f64) =
  let cost p = f64.minimum (map (\\c -> f64.sum (map2 (\\a b -> (a - b) ** 2) p c)) centres)
  in f64.sum (map cost points)

entry calculate_jacobian [n] [k] [d] (points: [n][d]f64) (centres: [k][d]f64) =
  vjp (calculate_objective points) centres 1
"""
OPTIONS = """
def price (spot: f64) (strike: f64) (rate: f64) (spread: f64) (years: f64) (shocks: []f64) =
  let steps = length shocks
  let h = years / f64.i64 steps
  let last =
    loop s = spot for z in shocks do
      s * f64.exp ((rate - spread * spread / 2) * h + spread * f64.sqrt h * z)
  in f64.exp (-rate * years) * f64.max 0 (last - strike)

entry calculate_objective (market: [5]f64) (paths: [][]f64) =
  f64.sum (map (price market[0] market[1] market[2] market[3] market[4]) paths)
  / f64.i64 (length paths)

entry calculate_jacobian (market: [5]f64) (paths: [][]f64) =
  vjp (\\market -> calculate_objective market paths) market 1
"""


@dataclass(frozen=True, slots=True)
class Subject:
    """A program with the entry points `calculate_objective` and `calculate_jacobian`."""

    name: str
    inputs: Callable[[np.random.Generator], list[Any]]
    path: str = ""
    source: str = ""


def _mixture(rng: np.random.Generator) -> list[Any]:
    d, k, n = 20, 10, 1000
    factors = rng.normal(size=(k, d + d * (d - 1) // 2)) / 4
    sizes = [rng.normal(size=k), rng.normal(size=(k, d)), factors, rng.normal(size=(n, d))]
    return [*sizes, np.float64(1), np.int64(0)]


def _letters(rng: np.random.Generator) -> list[Any]:
    d, layers, length = 14, 2, 1024
    shapes = [(2 * layers, 4 * d), (3, d), (2 * layers, d), (length, d)]
    return [rng.normal(size=shape) for shape in shapes]


def _cameras(rng: np.random.Generator) -> list[Any]:
    cameras, points, seen = 49, 7776, 31843
    pairs = np.stack([rng.integers(0, n, seen) for n in (cameras, points)], 1).astype(np.int32)
    floats = [rng.normal(size=shape) for shape in ((cameras, 11), (points, 3), (seen,))]
    return [*floats, pairs, rng.normal(size=(seen, 2))]


def _hand(rng: np.random.Generator) -> list[Any]:
    bones, vertices, found = 22, 544, 200
    parents = np.arange(bones, dtype=np.int32) - 1
    frames = [rng.normal(size=(bones, 4, 4)) for _ in range(2)]
    weights = rng.random((bones, vertices))
    positions = rng.normal(size=(4, vertices))
    triangles = rng.integers(0, vertices, (1000, 3)).astype(np.int32)
    where = rng.integers(0, vertices, found).astype(np.int32)
    pose = rng.normal(size=26) / 4
    rest = [np.bool_(False), where, rng.normal(size=(3, found)), pose, np.zeros(0)]
    return [parents, *frames, weights, positions, triangles, *rest]


SUBJECTS = (
    Subject("gmm", _mixture, "adbench/gmm.fut"),
    Subject("lstm", _letters, "adbench/lstm.fut"),
    Subject("ba", _cameras, "adbench/ba.fut"),
    Subject("hand", _hand, "adbench/hand.fut"),
    Subject("k-means", lambda r: [r.random((20_000, 8)), r.random((16, 8))], source=MEANS),
    Subject(
        "options",
        lambda r: [np.array([100, 95, 0.03, 0.2, 1]), r.normal(size=(4096, 128))],
        source=OPTIONS,
    ),
)
ENTRIES = ("calculate_objective", "calculate_jacobian")


def measured(subject: Subject, folder: Path, scratch: Path) -> dict[str, Any]:
    """Measure a program's gradient, here and by Futhark."""
    path = folder / subject.path
    if subject.source:
        path = scratch / f"{subject.name}.fut"
        path.write_text(subject.source)
    inputs = subject.inputs(np.random.default_rng(1))
    code, ours_ms = _compiled(path)
    binary = scratch / f"{subject.name}_futhark"
    subprocess.run(["futhark", "c", str(path), "-o", str(binary)], check=True, capture_output=True)
    row: dict[str, Any] = {"program": subject.name, "compile_ms": ours_ms}
    row["futhark_compile_ms"] = futhark.library_ms("c", path)
    one = Settings(cores=1, runs=3)
    for entry in ENTRIES:
        theirs = futhark.Compiled(binary, entry=entry)
        mine = run_c(code, entry, inputs, 600.0, one)
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            times[0].extend(run_c(code, entry, inputs, 600.0, one).times)
            times[1].extend(theirs.times(inputs, 3))
        peak, found = _peak(binary, entry, inputs)
        row[entry] = {
            "ms": round(min(times[0]), 3),
            "futhark_ms": round(min(times[1]), 3),
            "bytes": mine.peak_bytes,
            "futhark_bytes": peak,
            "error": _error(mine.values, found),
        }
    for who in ("", "futhark_"):
        plain_ms, gradient_ms = (row[entry][f"{who}ms"] for entry in ENTRIES)
        row[f"{who}ratio"] = round(gradient_ms / plain_ms, 2)
    return row


def _compiled(path: Path) -> tuple[str, float]:
    """The text of C, and the CPU time up to it."""
    program = read_program(path)
    options = Options(files=tuple(program.files.items()), main=program.main)
    times: list[float] = []
    for _ in range(3):
        start = time.process_time()
        code = plain(Compilation(program.source, options).result("c").text)
        times.append((time.process_time() - start) * 1000)
    return code, round(min(times), 1)


def _peak(binary: Path, entry: str, inputs: list[Any]) -> tuple[int, list[Any]]:
    """The most bytes that a program of Futhark's holds, as it tells, and its results."""
    done = subprocess.run(
        [str(binary), "-e", entry, "-b", "-D"], input=to_binary(inputs), capture_output=True
    )
    done.check_returncode()
    told = re.findall(rb"now allocated: (\d+) bytes \(new peak\)", done.stderr)
    return int(told[-1]) if told else 0, list(from_bytes(done.stdout))


def _error(found: list[Any], expected: list[Any]) -> float:
    """The largest difference, relative to the largest number of its array."""
    worst = 0.0
    for a, b in zip(map(np.asarray, found), map(np.asarray, expected), strict=True):
        if a.size:
            scale = float(np.max(np.abs(b))) or 1.0
            worst = max(worst, float(np.max(np.abs(a - b))) / scale)
    return worst


# --- growth --------------------------------------------------------------------------------------


def _statements(count: int) -> str:
    lines = "\n".join(f"  let x{k + 1} = f64.sin (x{k} * x{k // 2})" for k in range(count))
    return f"def f (x0: f64) =\n{lines}\n  in x{count}\nentry main (x: f64) = vjp f x 1"


def _nested(depth: int) -> str:
    derived = "f"
    for _ in range(depth):
        derived = f"(\\x -> vjp {derived} x 1)"
    return (
        "def f (x: f64) = loop a = x for i < 10i64 do f64.sin (a * x)\n"
        f"entry main (x: f64) = {derived} x"
    )


def _loops(depth: int) -> str:
    body = "f64.sin (a * x)"
    for k in range(depth):
        body = f"loop a = a for i{k} < n do {body}"
    return f"entry main (x: f64) (n: i64) = vjp (\\x -> let a = x in {body}) x 1"


LONG = "entry main (x: f64) (n: i64) = vjp (\\x -> loop a = x for i < n do f64.sin (a * x)) x 1"


def growth() -> None:
    """Print CPU milliseconds up to C by size, and bytes of loops by rounds."""

    def compile_ms(source: str) -> float:
        start = time.process_time()
        plain(Compilation(source).result("c").text)
        return round((time.process_time() - start) * 1000, 1)

    compile_ms(LONG)
    code = plain(Compilation(LONG).result("c").text)
    point = [np.float64(1.1)]
    rounds = [10**k for k in range(1, 8)]
    print("statements", {n: compile_ms(_statements(n)) for n in (10, 100, 1000)}, flush=True)
    print("nested vjp", {n: compile_ms(_nested(n)) for n in (1, 2, 3)}, flush=True)
    print("nested loops", {n: compile_ms(_loops(n)) for n in (1, 2, 3, 4)}, flush=True)
    held = {n: run_c(code, "main", [*point, np.int64(n)]).peak_bytes for n in rounds}
    print("bytes by rounds", held)


def _gradients(seeds: range) -> dict[tuple[str, str], Row]:
    return {RANDOM: check_batch(seeds)}


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--benchmarks", type=Path, metavar="FOLDER")
    parser.add_argument("--only", default="", help="a program's name")
    parser.add_argument("--growth", action="store_true")
    parser.add_argument("--random", type=int, default=0, metavar="COUNT")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--log", type=Path, metavar="FILE", help="where random ones are kept")
    given = parser.parse_args()
    if given.random:
        at = recorded.commit()
        batches = [range(b, b + BATCH) for b in range(given.seed, given.seed + given.random, BATCH)]
        todo = recorded.left(given.log, at, [RANDOM], batches)
        recorded.tell(recorded.run(_gradients, todo, at, given.log, given.jobs))
    if given.growth:
        with_deep_stack(growth)
    if given.benchmarks:
        rows: list[dict[str, Any]] = []
        with tempfile.TemporaryDirectory() as scratch:
            for subject in SUBJECTS:
                if given.only in subject.name:
                    rows.append(measured(subject, given.benchmarks, Path(scratch)))
                    print(rows[-1], flush=True)
        if not given.only:
            save("derivatives", "python -m bench.derivatives --benchmarks FOLDER", rows)


if __name__ == "__main__":
    main()
