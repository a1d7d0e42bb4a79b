"""Run Futhark, if it is on the PATH, for compile times, run times and results.

Slices by LMADs are our prelude's; Futhark gets the prelude's definitions of them, which go by
intrinsics that both have.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.machine import ROOT
from compiler.ir.values import from_bytes, to_binary
from compiler.testing.compare import same

LMADS = ROOT / "compiler" / "frontend" / "prelude" / "lmads.fut"
SECONDS = 300


@dataclass(frozen=True, slots=True)
class Program:
    """A program by name, its text, and the entry point that is measured."""

    name: str
    source: str
    entry: str = "main"

    def for_futhark(self) -> str:
        """The text with what only our prelude has."""
        if "lmad_" not in self.source or not LMADS.exists():
            return self.source
        paragraphs = LMADS.read_text("utf-8").split("\n\n")
        return "\n\n".join([p for p in paragraphs if p.startswith("def lmad_")] + [self.source])


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled program, or why there is none ("" where there is no Futhark)."""

    binary: Path | None
    problem: str = ""
    entry: str = "main"

    def times(self, inputs: list[Any], runs: int) -> list[float]:
        """Milliseconds of each run but the first."""
        assert self.binary
        times = self.binary.with_suffix(".times")
        command = [str(self.binary), "-e", self.entry, "-t", str(times), "-r", str(runs), "-n"]
        given = to_binary(inputs)
        done = subprocess.run(command, input=given, capture_output=True, timeout=SECONDS)
        done.check_returncode()
        return [int(t) / 1000 for t in times.read_text().split()][1:]

    def checked(self, inputs: list[Any], expected: list[Any]) -> Compiled:
        """The same, or why it does not compute what is expected."""
        if self.binary is None:
            return self
        done = subprocess.run(
            [str(self.binary), "-e", self.entry, "-b"],
            input=to_binary(inputs),
            capture_output=True,
            timeout=SECONDS,
        )
        if done.returncode:
            _, _, said = done.stderr.decode(errors="replace").partition(": ")
            return Compiled(None, f"fails: {said.splitlines()[0] if said else done.returncode}")
        if not same(list(from_bytes(done.stdout)), expected):
            return Compiled(None, "gives other results")
        return self


def compiled(backend: str, program: Program, folder: Path) -> Compiled:
    """Compile a program with one of Futhark's back ends."""
    futhark = shutil.which("futhark")
    if futhark is None:
        return Compiled(None, "there is no Futhark")
    path = folder / f"{program.name.replace(':', '_')}.fut"
    path.write_text(program.for_futhark())
    binary = path.with_name(f"{path.stem}_{backend}")
    done = subprocess.run(
        [futhark, backend, str(path), "-o", str(binary)], capture_output=True, text=True
    )
    if done.returncode:
        _, _, error = done.stderr.rpartition("Error at ")
        return Compiled(None, " ".join(error.partition("If you find")[0].split())[:200])
    return Compiled(binary, entry=program.entry)


def compile_ms(backend: str, program: Program, folder: Path, repeats: int) -> float | None:
    """The median time of Futhark's compiler up to the text that it generates (`--library`)."""
    path = folder / f"{program.name}.fut"
    path.write_text(program.for_futhark())
    times = [library_ms(backend, path) for _ in range(repeats)]
    took = [time for time in times if time is not None]
    return round(statistics.median(took), 1) if len(took) == repeats else None


def library_ms(backend: str, path: Path) -> float | None:
    """Milliseconds of Futhark's compiler for a file, up to the text; None: none in SECONDS."""
    futhark = shutil.which("futhark")
    if futhark is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        command = [futhark, backend, "--library", str(path), "-o", f"{folder}/library"]
        start = time.perf_counter()
        try:
            done = subprocess.run(command, capture_output=True, timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return None
        took = (time.perf_counter() - start) * 1000
    return None if done.returncode else took
