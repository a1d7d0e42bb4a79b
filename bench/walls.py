"""Measure the cost of the sandbox: the same requests to workers without it and with it, in turns.

    python -m bench.walls --before CHECKOUT

CHECKOUT is one from before there were walls, with its own `.venv`; without it only workers of this
one are measured: as the command line starts them (each run is confined), and as the server does
(the worker and its C compiler are confined as well).
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.machine import ROOT, save
from compiler.sandbox import walls
from compiler.sandbox.policies import RUN

ROUNDS, REPEATS, PROCESSES = 5, 20, 3
PROGRAMS: dict[str, tuple[str, dict[str, int]]] = {
    "three numbers": ("def main [n] (xs: [n]i64) = i64.sum (map (* 3) xs)", {"n": 3}),
    "sum of 10^6 i64": ("def main [n] (xs: [n]i64) = i64.sum (map (* 3) xs)", {"n": 10**6}),
    "scan of 10^6 f64": ("def main [n] (xs: [n]f64) = scan (+) 0 xs", {"n": 10**6}),
}


class Worker:
    """A worker process, and how long it takes to answer."""

    def __init__(
        self, command: list[str], folder: Path, environment: dict[str, str] | None
    ) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, **request: Any) -> float:
        """Milliseconds to the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        start = time.perf_counter()
        self.process.stdin.write(json.dumps({"id": 1, **request}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        took = (time.perf_counter() - start) * 1000
        assert answer["ok"], answer
        return took

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def started(kind: str, before: Path | None, scratch: str) -> Worker:
    """A worker `before` there were walls, of the `command line`, or of the `server`."""
    worker = ["-m", "compiler", "worker"]
    if kind == "before":
        assert before is not None
        return Worker([str(before / ".venv" / "bin" / "python"), *worker], before, None)
    if kind == "command line":
        return Worker([sys.executable, *worker], ROOT, None)
    made = walls.confine(RUN, [sys.executable, *worker], scratch)
    return Worker(list(made.command), ROOT, made.environment)


def command_line(folder: Path, python: str) -> float:
    """Milliseconds of `stridescope run` as a process, its library compiled before."""
    source, sizes = PROGRAMS["three numbers"]
    with tempfile.NamedTemporaryFile("w", suffix=".fut") as file:
        file.write(source)
        file.flush()
        given = [f for name, size in sizes.items() for f in ("--generate", f"{name}={size}")]
        start = time.perf_counter()
        subprocess.run(
            [python, "-m", "compiler", "run", file.name, *given],
            cwd=folder,
            capture_output=True,
            check=True,
        )
        return (time.perf_counter() - start) * 1000


def measure(kinds: list[str], before: Path | None) -> dict[str, Any]:
    """Milliseconds of a warm run by program and kind of worker, and of a cold worker's first."""
    times: dict[str, dict[str, list[float]]] = {name: {k: [] for k in kinds} for name in PROGRAMS}
    first: dict[str, list[float]] = {kind: [] for kind in kinds}
    load = os.getloadavg()[0]
    pythons = {"command line": (ROOT, sys.executable)}
    if before is not None:
        pythons["before"] = (before, str(before / ".venv" / "bin" / "python"))
    process: dict[str, list[float]] = {kind: [] for kind in pythons}
    for _ in range(ROUNDS):
        with tempfile.TemporaryDirectory() as scratch:
            workers = {}
            for kind in kinds:
                start = time.perf_counter()
                workers[kind] = started(kind, before, scratch)
                source, sizes = PROGRAMS["three numbers"]
                workers[kind].ask(op="run", source=source, sizes=sizes)
                first[kind].append((time.perf_counter() - start) * 1000)
            for name, (source, sizes) in PROGRAMS.items():
                for worker in workers.values():
                    worker.ask(op="run", source=source, sizes=sizes, longest=1000)
                for _ in range(REPEATS):
                    for kind, worker in workers.items():
                        took = worker.ask(op="run", source=source, sizes=sizes, longest=1000)
                        times[name][kind].append(took)
            for worker in workers.values():
                worker.close()
        for _ in range(PROCESSES):
            for kind, (folder, python) in pythons.items():
                process[kind].append(command_line(folder, python))
    return {
        "warm_ms": {
            name: {kind: _median(found) for kind, found in by_kind.items()}
            for name, by_kind in times.items()
        },
        "first_ms": {kind: _median(found) for kind, found in first.items()},
        "process_ms": {kind: _median(found) for kind, found in process.items()},
        "load": round(load, 1),
        "layers": walls.state().layers,
    }


def _median(values: list[float]) -> float:
    return round(statistics.median(values), 2)


def main() -> None:
    """Measure and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT")
    before = parser.parse_args().before
    kinds = [*(["before"] if before else []), "command line", "server"]
    figures = measure(kinds, before)
    command = "python -m bench.walls" + (" --before CHECKOUT" if before else "")
    print(json.dumps(figures, indent=2), save("walls", command, figures))


if __name__ == "__main__":
    main()
