"""All that a device is asked, in one command of at most ten minutes, each part under a deadline.

    python -m bench.device_plan [--seconds N] [--suite FOLDER] [--only NAME,..] [--out FOLDER]

Runs the benches of devices as processes, those first whose answers matter most. A part that has
not ended by its deadline is ended with all that it started, and the others go on; what it has
printed and saved by then stays. A part gets no more than what is left of N seconds. With `--out`
what each has printed goes there, and what it has saved. The exit status is 69 without a GPU, and 1
if a part failed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench.machine import RESULTS, ROOT, UNAVAILABLE
from compiler.runtime import device_process

SECONDS = 580
FEWEST = 5
"""Seconds below which no further part begins."""


@dataclass(frozen=True, slots=True)
class Part:
    """A command, and its deadline in seconds."""

    name: str
    command: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class Ended:
    """A part's end: `how` is its exit status in words."""

    part: Part
    how: str
    seconds: float
    said: str

    @property
    def is_right(self) -> bool:
        """True if it ended with status 0."""
        return self.how == "done"


def plan(suite: Path | None) -> list[Part]:
    """Return the parts in order; with `suite`, those beside Futhark as well."""

    def bench(name: str, seconds: float, module: str, *args: str) -> Part:
        return Part(name, (sys.executable, "-m", f"bench.{module}", *args), seconds)

    ours = "results subnormals arrays times graphs drills sanitizers".split()
    beside = bench("suite", 150, "device_suite", str(suite), "--ways", "default", "--runs", "6")
    return [
        bench("device", 230, "device", *ours),
        bench("libraries", 130, "libraries", "--runs", "8"),
        *([beside] if suite else ()),
        bench("sectors", 100, "sectors"),
        bench("numbers", 60, "numbers", "device"),
    ]


def carried_out(parts: Sequence[Part], seconds: float) -> Iterator[Ended]:
    """Run parts one after the other, within so many seconds in all."""
    until = time.monotonic() + seconds
    for part in parts:
        left = until - time.monotonic()
        if left < FEWEST:
            yield Ended(part, "no time was left", 0, "")
            continue
        yield _run(part, min(part.seconds, left))


def _run(part: Part, seconds: float) -> Ended:
    began = time.monotonic()
    process = subprocess.Popen(
        part.command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=seconds)
        how = "done" if process.returncode == 0 else f"exit status {process.returncode}"
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
        how = f"ended after {seconds:.0f} s"
    return Ended(part, how, time.monotonic() - began, said.decode(errors="replace"))


def keep(ended: Ended, out: Path) -> None:
    """Write what a part has printed, and copy all that has been saved so far."""
    out.mkdir(parents=True, exist_ok=True)
    (out / f"{ended.part.name}.txt").write_text(ended.said, "utf-8")
    for path in RESULTS.glob("*.json"):
        shutil.copy(path, out / path.name)


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=SECONDS, help="in all")
    parser.add_argument("--suite", type=Path, help="a clone of the futhark-benchmarks")
    parser.add_argument("--only", default="", metavar="NAME,..", help="parts by their names")
    parser.add_argument("--out", type=Path, help="a folder that gets all that was found")
    asked = parser.parse_args()
    if why := device_process.why_not():
        print(f"Nothing is measured: {why}", file=sys.stderr)
        return UNAVAILABLE
    chosen = set(filter(None, asked.only.split(",")))
    parts = [one for one in plan(asked.suite) if not chosen or one.name in chosen]
    status = 0
    for ended in carried_out(parts, asked.seconds):
        print(f"{ended.part.name}: {ended.how}, {ended.seconds:.1f} s", flush=True)
        if not ended.is_right:
            status = 1
            print(*(f"  {line}" for line in ended.said.splitlines()[-5:]), sep="\n", flush=True)
        if asked.out:
            keep(ended, asked.out)
    return status


if __name__ == "__main__":
    sys.exit(main())
