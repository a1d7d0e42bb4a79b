"""Compare programs on a GPU with Futhark's: milliseconds of ours, by code version, and of its CUDA.

    python -m bench.device_suite FOLDER [--inputs FILE] [--only NAME] [--runs N] [--seconds N]
                                  [--ways NAME,..]

FOLDER is a clone of the futhark-benchmarks, with the packages of each; FILE says which of them run,
on which inputs (`bench/peer/large.txt`). Futhark and what its back end `cuda` needs are on the
PATH. Everything is compiled first, by all cores; then each program runs by itself. Ours runs as the
default thresholds choose, with as little and as much parallelism as there is, and with scans in one
pass, where the texts differ; in all of them a product and its sum round once, as Futhark's do, and
in one more each of the two. Results have to be Futhark's.
Writes `bench/results/device_suite.json`.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

from bench import accesses, peer_bytes
from bench.machine import UNAVAILABLE, save
from bench.peer_bytes import How, Work
from compiler.base.errors import CompileError
from compiler.base.stack import with_deep_stack
from compiler.codegen.cuda.program import split
from compiler.ir.values import from_bytes, to_binary
from compiler.runtime import device_process, devices, nvrtc
from compiler.runtime.device_process import GPUS, Toolkit, run_cuda
from compiler.runtime.devices import Place
from compiler.testing.compare import same

LARGE = Path(__file__).parent / "peer" / "large.txt"
WAYS: dict[str, tuple[int | None, How]] = {
    "default": (None, How()),
    **{name: (threshold, How()) for name, threshold in accesses.VERSIONS.items()},
    "look-back": (None, How(look_back=True)),
    "each rounds": (None, How(apart=True)),
}
"""Thresholds and options of our versions."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A prepared program: our texts by version, Futhark's binary, problems."""

    texts: dict[str, str] = field(default_factory=dict)
    binary: Path | None = None
    problems: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Found:
    """Medians in milliseconds by version and of Futhark, and what went wrong."""

    ms: dict[str, float]
    problems: dict[str, str]


def prepared(suite: Path, line: str, folder: Path, place: Place, ways: Sequence[str]) -> Ready:
    """Compile the program of a line, both to machine code for a device, which is kept."""
    made: list[Ready] = []
    with_deep_stack(lambda: made.append(_prepared(suite, line, folder, place, ways)))
    return made[0]


def _prepared(suite: Path, line: str, folder: Path, place: Place, ways: Sequence[str]) -> Ready:
    (work,) = peer_bytes.suite(suite, "", [line])
    if isinstance(work, tuple):
        return Ready(problems={"default": work[1]})
    texts: dict[str, str] = {}
    problems: dict[str, str] = {}
    for name in ways:
        threshold, how = WAYS[name]
        try:
            text = peer_bytes.text_of(work, threshold, how)
            if text not in texts.values():
                nvrtc.kept(split(text)[0], place.capability, place.driver)
                texts[name] = text
        except CompileError as error:
            problems[name] = error.message
    binary = folder / "program"
    made = subprocess.run(
        ["futhark", "cuda", str(work.path), "-o", str(binary)], capture_output=True, text=True
    )
    if made.returncode:
        problems["Futhark"] = made.stderr[-300:]
    else:  # without inputs it ends as soon as its kernels are compiled
        subprocess.run(_command(binary, work), input=b"", capture_output=True)
    return Ready(texts, None if made.returncode else binary, problems)


def measured(ready: Ready, work: Work, runs: int, seconds: float, toolkit: Toolkit = GPUS) -> Found:
    """Run all that there is of a program, one after the other."""
    found = Found({}, dict(ready.problems))
    expected = None
    if ready.binary is not None:
        try:
            expected, found.ms["Futhark"] = _theirs(ready.binary, work, runs, seconds)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            found.problems["Futhark"] = str(error)[-300:]
    for name, text in ready.texts.items():
        try:
            done = run_cuda(text, work.entry, work.inputs, seconds, runs, toolkit)
        except CompileError as error:
            found.problems[name] = error.message
            continue
        if expected is not None and not same(done.values, expected):
            found.problems[name] = "gives other results than Futhark"
        found.ms[name] = median(done.times[1:])
    return found


def _theirs(binary: Path, work: Work, runs: int, seconds: float) -> tuple[list[Any], float]:
    """Results and the median of Futhark's program. Raises RuntimeError where it does not run."""
    times = binary.with_suffix(".times")
    command = [*_command(binary, work), "-b", "-t", str(times), "-r", str(runs)]
    done = subprocess.run(
        command, input=to_binary(work.inputs), capture_output=True, timeout=seconds, check=False
    )
    if done.returncode:
        raise RuntimeError(done.stderr.decode(errors="replace"))
    values = list(from_bytes(done.stdout))
    return values, median(int(t) / 1000 for t in times.read_text().split()[1:])


def _command(binary: Path, work: Work) -> list[str]:
    return [str(binary), "-e", work.entry, "--cache-file", str(binary.with_suffix(".cache"))]


def row(name: str, found: Found) -> str:
    """A line of the table: ours, the best of ours, Futhark's, and both as parts of Futhark's."""
    wrong = "; ".join(f"{version}: {says}" for version, says in found.problems.items())
    ours = {version: t for version, t in found.ms.items() if version != "Futhark"}
    if "default" not in ours:
        return f"| {name} | | | | | | {wrong} |"
    best = min(ours, key=lambda version: ours[version])
    peer = found.ms.get("Futhark", float("nan"))
    cells = [f"{ours['default']:.3f}", f"{ours[best]:.3f} ({best})", f"{peer:.3f}"]
    parts = [f"{ours['default'] / peer:.2f}", f"{ours[best] / peer:.2f}"]
    return f"| {' | '.join((name, *cells, *parts, wrong))} |"


def _all(asked: argparse.Namespace, folder: Path, place: Place) -> Iterator[tuple[str, Found]]:
    """All programs: compiled by all cores first, then run."""
    lines = [line for line in asked.inputs.read_text().splitlines() if asked.only in line]
    folders = [folder / str(number) for number in range(len(lines))]
    for own in folders:
        own.mkdir()
    with ProcessPoolExecutor(len(os.sched_getaffinity(0)), get_context("spawn")) as pool:
        todo = [
            pool.submit(prepared, asked.suite, line, own, place, asked.ways.split(","))
            for line, own in zip(lines, folders, strict=True)
        ]
        ready = [one.result() for one in todo]
    for line, one in zip(lines, ready, strict=True):
        (work,) = peer_bytes.suite(asked.suite, "", [line])
        if isinstance(work, tuple):
            yield line, Found({}, one.problems)
        else:
            yield line, measured(one, work, asked.runs, asked.seconds)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("suite", type=Path, help="a clone of the futhark-benchmarks")
    parser.add_argument("--inputs", type=Path, default=LARGE, help="programs and their inputs")
    parser.add_argument("--only", default="", help="only lines with this in them")
    parser.add_argument("--runs", type=int, default=11, help="of each; the first is not counted")
    parser.add_argument("--ways", default=",".join(WAYS), help="our versions")
    parser.add_argument("--seconds", type=float, default=20, help="for all runs of one version")
    asked = parser.parse_args()
    if why := device_process.why_not():
        print(f"Nothing is measured: {why}", file=sys.stderr)
        return UNAVAILABLE
    place = devices.places(device_process.found())[0]
    print("| program | default, ms | best | Futhark | default | best | problems |", flush=True)
    print("|---|---|---|---|---|---|---|")
    figures: dict[str, Any] = {"device": place.name}
    command = ["python", "-m", "bench.device_suite", asked.suite.resolve().name, *sys.argv[2:]]
    with tempfile.TemporaryDirectory(prefix="device-") as name:
        for program, found in _all(asked, Path(name), place):
            figures[program] = {"ms": found.ms, "problems": found.problems}
            print(row(program, found), flush=True)
            save("device_suite", shlex.join(command), figures)
    return 0


if __name__ == "__main__":
    sys.exit(main())
