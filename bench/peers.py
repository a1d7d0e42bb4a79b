"""Compare C programs with their rivals on a processor, in milliseconds.

    python -m bench.peers [--suite FOLDER] [--rivals PYTHON] [--threads N] [--only NAME] [--again]
                          [--minutes N]

FOLDER is a clone of the futhark-benchmarks, with the packages of each, whose programs run on the
inputs of `bench/peer/inputs.txt` beside `futhark c` (and `futhark multicore`, with more threads
than one); Futhark is on the PATH. PYTHON is that of an environment with the rivals of the forty
tasks of `bench/peer/tasks.py`: `pip install numpy scipy numexpr numba jax`. Either may be left out.

Ours makes all checks, where Futhark's leave out those that a program calls `#[unsafe]`. All run in
turns, in rounds, and the least of each counts: with one thread the time of the processor, on one
core, with more the time of the clock. Results have to be the same. What is measured is saved after
each row in `bench/results/peers.json`, with its commit and day; rows that are there already are
left out, but for those that `--only` names, and with `--again`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench import machine, peer_bytes
from bench.peer.tasks import TASKS, Task
from bench.peer_bytes import Work
from compiler.base.errors import CompileError
from compiler.base.stack import with_deep_stack
from compiler.base.text import plain
from compiler.driver import api
from compiler.ir.values import Value, from_bytes, to_binary
from compiler.protocol.kinds import OfProgram
from compiler.runtime.runner import Settings, run_c
from compiler.testing.compare import same

HERE = Path(__file__).parent / "peer"
ROUNDS = 3
SECONDS = 0.05
"""Time for the runs of one contestant in one round."""
LIMIT = 120.0
"""Seconds for the first run of one."""
KEY = "{name} ({threads})"


@dataclass(frozen=True, slots=True)
class Row:
    """The subject of a measurement: a program with its inputs, and its task, if it has one."""

    work: Work
    task: Task | None = None


@dataclass(slots=True)
class Found:
    """Least milliseconds by contestant, problems likewise, and the bytes that ours held."""

    ms: dict[str, float] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)
    peak: int = 0

    def take(self, name: str, ms: float) -> None:
        """A round of one."""
        self.ms[name] = min(ms, self.ms.get(name, ms))


class Ours:
    """The C program of ours."""

    def __init__(self, work: Work, threads: int) -> None:
        options: Any = {"target": "c", "entry": work.entry}
        asked = replace(work.asked, options=options)
        self.text = plain(api.compilation(asked).result("c").text)
        self.work, self.threads = work, threads
        first = self._run(1)
        self.results, self.peak = first.values, first.peak_bytes
        self.runs = _runs(min(first.times))

    def _run(self, runs: int) -> Any:
        settings = Settings(cores=self.threads, runs=runs, processor=self.threads == 1)
        return run_c(self.text, self.work.entry, self.work.inputs, LIMIT, settings)

    def least(self) -> float:
        """The least milliseconds of a round."""
        return float(min(self._run(self.runs).times))


class Futhark:
    """A program of one of Futhark's back ends."""

    def __init__(self, backend: str, work: Work, threads: int, folder: Path) -> None:
        self.binary, self.work, self.threads = folder / backend, work, threads
        self.command = [str(self.binary), "-e", work.entry]
        self.clock = threads == 1
        if backend == "multicore":
            self.command += ["--num-threads", str(threads)]
        made = subprocess.run(
            ["futhark", backend, str(work.path), "-o", str(self.binary)],
            capture_output=True,
            text=True,
        )
        if made.returncode:
            raise RuntimeError(f"Futhark: {made.stderr[:300]}")
        self.given = to_binary(work.inputs)
        done = self._done(["-b"])
        self.results = list(from_bytes(done.stdout))
        self.runs = 1
        self.runs = _runs(self.least())

    def _done(self, more: list[str]) -> subprocess.CompletedProcess[bytes]:
        environment = {**os.environ, "OMP_NUM_THREADS": str(self.threads)}
        if self.clock:
            environment["LD_PRELOAD"] = str(_clock())
        done = subprocess.run(
            [*self.command, *more],
            input=self.given,
            capture_output=True,
            timeout=2 * LIMIT,
            env=environment,
        )
        if done.returncode:
            raise RuntimeError(f"Futhark: {done.stderr.decode(errors='replace')[:300]}")
        return done

    def least(self) -> float:
        """The least milliseconds of a round; Futhark's program adds one run, which is its first."""
        times = self.binary.with_suffix(".times")
        self._done(["-n", "-t", str(times), "-r", str(self.runs)])
        unit = 1e6 if self.clock else 1e3
        return min(int(word) for word in times.read_text().split()) / unit


class Rivals:
    """The process that runs the rivals of a task."""

    def __init__(self, python: str, row: Row, threads: int, folder: Path) -> None:
        assert row.task
        self.task, self.folder = row.task, folder
        np.savez(folder / "inputs.npz", *row.work.inputs)
        names = ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR", "NUMEXPR_MAX")
        counts = {f"{name}_NUM_THREADS": str(threads) for name in names}
        counts["NUMEXPR_MAX_THREADS"] = str(threads)
        many = str(threads > 1).lower()
        flags = f"--xla_cpu_multi_thread_eigen={many}"
        self.process = subprocess.Popen(
            [python, str(HERE / "rivals.py"), str(folder), str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **counts, "XLA_FLAGS": flags, "JAX_ENABLE_X64": "1"},
        )

    def __enter__(self) -> Rivals:
        """Itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()

    def least(self, name: str, seconds: float = SECONDS) -> float:
        """The least milliseconds of a round of one. Raises RuntimeError where it fails."""
        assert self.process.stdin
        assert self.process.stdout
        asked = {"name": name, "takes": self.task.takes, "body": self.task.rivals[name]}
        self.process.stdin.write(json.dumps({**asked, "seconds": seconds}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline() or '{"error": "no answer"}')
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return float(answer["ms"])

    def results(self, name: str) -> list[Value]:
        """Return the results of a rival's first run."""
        file = np.load(self.folder / f"{name}.npz")
        return [file[f"arr_{k}"] for k in range(len(file.files))]


def _runs(ms: float) -> int:
    return max(2, min(1_000, round(SECONDS * 1000 / max(ms, 1e-3))))


def _clock() -> Path:
    """The library that makes Futhark's programs tell time of the processor."""
    made = Path(tempfile.gettempdir()) / f"peers-clock-{os.getuid()}.so"
    if not made.exists():
        part = made.with_suffix(f".{os.getpid()}")
        command = ["cc", "-O2", "-shared", "-fPIC", str(HERE / "clock.c"), "-o", str(part)]
        subprocess.run(command, check=True)
        part.rename(made)
    return made


def close(found: list[Value], wanted: list[Value], tolerance: float) -> bool:
    """Are these values the same, but for the order of sums and the type of numbers."""
    if len(found) != len(wanted):
        return False
    for one, other in zip(found, wanted, strict=True):
        a, b = np.asarray(one), np.asarray(other)
        if a.shape != b.shape or a.dtype.kind != b.dtype.kind:
            return False
        if a.dtype.kind == "f" and a.dtype != b.dtype:
            return False
        if a.dtype.kind != "f":
            differ = int((a.astype(np.int64) != b.astype(np.int64)).sum())
            if differ > tolerance * a.size * (tolerance > 0.05):
                return False
        elif not np.allclose(a, b, tolerance, tolerance * float(np.abs(b).max(initial=1e-30))):
            return False
    return True


def measured(row: Row, threads: int, python: str | None, rounds: int = ROUNDS) -> Found:
    """All that there is of a row, in turns."""
    found = Found()
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory(prefix="peers-")))
        ours = Ours(row.work, threads)
        found.peak = ours.peak
        turns: dict[str, Any] = {"ours": ours.least}
        for backend in ("c", "multicore")[: 2 if threads > 1 else 1]:
            try:
                one = Futhark(backend, row.work, threads, folder)
            except (RuntimeError, FileNotFoundError, subprocess.TimeoutExpired) as error:
                found.problems[f"futhark {backend}"] = str(error)[:200]
                continue
            turns[f"futhark {backend}"] = one.least
            tolerance = row.task.tolerance if row.task else 0
            alike = same(ours.results, one.results) or (
                row.task is not None and close(ours.results, one.results, tolerance)
            )
            if not alike:
                found.problems[f"futhark {backend}"] = "gives other results"
        if row.task and python:
            rivals = opened.enter_context(Rivals(python, row, threads, folder))
            for name in row.task.rivals:
                try:
                    rivals.least(name, 0)
                except RuntimeError as error:
                    found.problems[name] = str(error)[:200]
                    continue
                if not close(ours.results, rivals.results(name), row.task.tolerance):
                    found.problems[name] = "gives other results"
                turns[name] = lambda name=name: rivals.least(name)
        for _ in range(rounds):
            for name, least in turns.items():
                found.take(name, least())
    return found


def all_rows(suite: Path | None, only: str, folder: Path) -> Iterator[Row | tuple[str, str]]:
    """The programs of the suite, then the tasks; a name and a reason where there is none."""
    if suite:
        for one in peer_bytes.suite(suite, only):
            yield one if isinstance(one, tuple) else Row(one)
    for number, task in enumerate(TASKS):
        if only in task.name:
            path = folder / f"task{number}.fut"
            path.write_text(task.futhark)
            asked = OfProgram(task.futhark, {"entry": "main"})
            values = peer_bytes.inputs_of(asked, folder, "main", task.inputs)
            yield Row(Work(task.name, asked, path, "main", values), task)


def save(figures: dict[str, Any]) -> None:
    """Write what there is."""
    machine.save("peers", "python -m bench.peers --suite futhark-benchmarks", figures)


def told(name: str, found: dict[str, Any]) -> str:
    """A line for a row: ours, and the others over ours."""
    if "ms" not in found:
        return f"{name}: {found['problem']}"
    ours = found["ms"]["ours"]
    parts = [f"{k} {v / ours:.2f}" for k, v in found["ms"].items() if k != "ours" and ours]
    parts += [f"{k}: {v}" for k, v in found["problems"].items()]
    return f"{name}: {ours:.4f} ms; " + ", ".join(parts)


def work(asked: argparse.Namespace, folder: Path) -> None:
    """Measure what is asked for and not there yet."""
    path = machine.RESULTS / "peers.json"
    figures: dict[str, Any] = json.loads(path.read_text())["figures"] if path.exists() else {}
    end = time.monotonic() + asked.minutes * 60
    python = asked.rivals
    for row in all_rows(asked.suite, asked.only, folder):
        name = row[0] if isinstance(row, tuple) else row.work.name
        key = KEY.format(name=name, threads=asked.threads)
        if (key in figures and not asked.again and not asked.only) or time.monotonic() > end:
            continue
        if isinstance(row, Row) and row.task and not python:
            continue
        here = machine.describe()
        stamp = {"commit": here["commit"], "date": here["date"], "threads": asked.threads}
        stamp["kind"] = "suite" if isinstance(row, tuple) or row.task is None else "task"
        try:
            if isinstance(row, tuple):
                raise RuntimeError(row[1])
            found = measured(row, asked.threads, python)
            figures[key] = {
                "ms": {k: round(v, 5) for k, v in found.ms.items()},
                "problems": found.problems,
                "peak": found.peak,
                **stamp,
            }
        except (CompileError, RuntimeError, subprocess.TimeoutExpired) as error:
            figures[key] = {"problem": (str(error).splitlines() or [""])[0][:200], **stamp}
        print(told(key, figures[key]), flush=True)
        save(figures)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", type=Path, help="a clone of the futhark-benchmarks")
    parser.add_argument("--rivals", help="the Python of an environment with the rivals")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--only", default="", help="only rows with this in their name")
    parser.add_argument("--again", action="store_true", help="rows that are there as well")
    parser.add_argument("--minutes", type=float, default=1e6, help="begin no row after this time")
    asked = parser.parse_args()
    if asked.suite and not shutil.which("futhark"):
        parser.error("There is no `futhark` on the PATH, beside which the suite's programs run.")
    with tempfile.TemporaryDirectory(prefix="peers-") as name:
        with_deep_stack(lambda: work(asked, Path(name)))


if __name__ == "__main__":
    main()
