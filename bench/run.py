"""How fast the compiled C programs run on all cores, next to NumPy and, where it is, to Futhark.

    python -m bench.run

All three are measured in one run, alternately; times are medians. Memory is what a program holds
at the worst moment: inputs, results and all that it allocates.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.machine import EXAMPLES, save, words
from compiler.base.context import Options
from compiler.base.text import plain
from compiler.driver.pipeline import Compilation
from compiler.ir.values import to_binary
from compiler.runtime.runner import Settings, run_c

RUNS = 11
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Program:
    """A measured program, its inputs, and the same thing in NumPy."""

    name: str
    path: Path
    inputs: list[Any]
    numpy: Callable[[], Any]


def programs() -> list[Program]:
    """The programs and their inputs."""
    rng = np.random.default_rng(1)
    xs, ys = (rng.random(10_000_000, dtype=np.float32) for _ in range(2))
    a, b = (rng.random((1000, 1000), dtype=np.float32) for _ in range(2))
    grid = rng.random((1024, 1024), dtype=np.float32)
    spots, strikes, years = (rng.random(1_000_000) + 0.5 for _ in range(3))
    ints = rng.integers(-1000, 1000, 10_000_000, dtype=np.int32)
    here = Path(__file__).parent
    return [
        Program("dot product, 10^7 f32", EXAMPLES / "dot_product.fut", [xs, ys], lambda: xs @ ys),
        Program(
            "matrix multiplication, 1000^3 f32",
            EXAMPLES / "matrix_multiplication.fut",
            [a, b],
            lambda: a @ b,
        ),
        Program(
            "stencil, 1024^2 f32, 10 steps",
            EXAMPLES / "stencil.fut",
            [grid, np.int32(10)],
            lambda: stencil(grid, 10),
        ),
        Program(
            "Black-Scholes, 10^6 f64",
            EXAMPLES / "black_scholes.fut",
            [spots, strikes, years],
            lambda: black_scholes(spots, strikes, years),
        ),
        Program(
            "scan, 10^7 i32", here / "scan.fut", [ints], lambda: np.cumsum(ints, dtype=np.int32)
        ),
    ]


def stencil(grid: Any, steps: int) -> Any:
    """The five-point stencil, by shifted views of a padded copy."""
    for _ in range(steps):
        p = np.pad(grid, 1, mode="edge")
        grid = (p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) / np.float32(4)
    return grid


def black_scholes(spot: Any, strike: Any, years: Any) -> Any:
    """The same formulas as the example, on whole arrays."""
    rate, volatility = 0.08, 0.3

    def normal(x: Any) -> Any:
        k = 1 / (1 + 0.2316419 * np.abs(x))
        poly = -1.821255978 + k * 1.330274429
        poly = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * poly)))
        tail = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) * poly
        return np.where(x < 0, tail, 1 - tail)

    spread = volatility * np.sqrt(years)
    d1 = (np.log(spot / strike) + (rate + 0.5 * volatility * volatility) * years) / spread
    d2 = d1 - spread
    discounted = strike * np.exp(-rate * years)
    call = spot * normal(d1) - discounted * normal(d2)
    return call, discounted * normal(-d2) - spot * normal(-d1)


def futhark_times(program: Program, folder: Path) -> list[float]:
    """Milliseconds per run of Futhark's multicore back end, or nothing where it is not found."""
    futhark = shutil.which("futhark")
    if futhark is None:
        return []
    binary = folder / program.path.stem
    if not binary.exists():
        command = [futhark, "multicore", str(program.path), "-o", str(binary)]
        subprocess.run(command, check=True, capture_output=True)
    times = folder / "times"
    command = [str(binary), "-t", str(times), "-r", str(RUNS), "-b"]
    subprocess.run(command, input=to_binary(program.inputs), check=True, capture_output=True)
    return [int(t) / 1000 for t in times.read_text().split()][1:]


def numpy_times(program: Program) -> list[float]:
    """Milliseconds per run of the NumPy version."""
    program.numpy()
    found = []
    for _ in range(RUNS):
        start = time.perf_counter()
        program.numpy()
        found.append((time.perf_counter() - start) * 1000)
    return found


def measure(program: Program, folder: Path) -> dict[str, Any]:
    """Medians of the three, taken in turns."""
    work = Compilation(program.path.read_text("utf-8"), Options())
    code = plain(work.result("c").text)
    ours: list[float] = []
    theirs: list[float] = []
    plain_numpy: list[float] = []
    peak = 0
    for _ in range(ROUNDS):
        result = run_c(code, "main", program.inputs, settings=Settings(runs=RUNS))
        ours += result.times[1:]
        peak = result.peak_bytes
        plain_numpy += numpy_times(program)
        theirs += futhark_times(program, folder)
    figures: dict[str, Any] = {
        "c_ms": round(statistics.median(ours), 3),
        "numpy_ms": round(statistics.median(plain_numpy), 3),
        "peak_mb": round(peak / 1e6, 1),
        "inputs_mb": round(sum(np.asarray(v).nbytes for v in program.inputs) / 1e6, 1),
    }
    if theirs:
        figures["futhark_ms"] = round(statistics.median(theirs), 3)
        figures["c_over_futhark"] = round(figures["c_ms"] / figures["futhark_ms"], 3)
    figures["c_over_numpy"] = round(figures["c_ms"] / figures["numpy_ms"], 3)
    return figures


def main() -> None:
    """The command line."""
    words(__doc__)
    table = {}
    with tempfile.TemporaryDirectory() as folder:
        for program in programs():
            table[program.name] = measure(program, Path(folder))
            print(program.name, table[program.name])
    save("run", "python -m bench.run", table)


if __name__ == "__main__":
    main()
