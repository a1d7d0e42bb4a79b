"""Compare random programs by Futhark's compiler with our reference interpreter.

A batch becomes one program of many entry points, and so one C compilation, without optimisation,
unless that breaks the compiler.
Programs that Futhark refuses are counted; what is refused here and not there is a difference. Where
a program fails, it has to fail in both, but for LIMITS: for which reason is not compared.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from compiler.base.context import Options
from compiler.base.errors import CompileError, RuntimeError_
from compiler.driver.pipeline import Compilation
from compiler.ir.nodes import Prog
from compiler.ir.values import Value, from_bytes, to_binary
from compiler.semantics import interp
from testing import kernels
from testing.campaign import GENERATORS, Report, shown
from testing.generators.storage import Generated
from testing.outcomes import Outcome, is_limit, outcome

SECONDS = 20
"""Time limit of one run."""
COMPILE_SECONDS = 300
LIMITS = {
    "Negative allocation": "Futhark makes less than nothing",
    "Failed to allocate": "Futhark makes too much",
    "signal": "Futhark's program crashes",
    "function arguments of wrong shape": "Futhark asks for sizes of variants that are not there",
    "shape of loop result does not match": "Futhark asks for sizes of variants that are not there",
}
"""Failures of programs by Futhark 0.25.32, by a part of their message.

Its variants that are not chosen hold arrays of a size that only the chosen one has.
"""


def check_batch(seeds: Sequence[int], futhark: str, generator: str) -> Report:
    """Compare the programs of some seeds with those of Futhark's compiler `futhark`, a path."""
    report = Report()
    made = [GENERATORS[generator](seed, f"p{seed}") for seed in seeds]
    with tempfile.TemporaryDirectory(prefix="futhark-") as folder:
        both = _accepted(made, futhark, Path(folder), report)
        for part, binary in _compiled(both, futhark, Path(folder), report):
            for one, prog in part:
                report.counts["programs"] += 1
                try:
                    report.counts += _compared(one, prog, binary)
                except kernels.Difference as found:
                    report.differences.append((one.seed, "Futhark", str(found)))
    return report


Accepted = list[tuple[Generated, Prog]]
"""Programs that both accept, with what they are at `soa`."""


def _compiled(
    both: Accepted, futhark: str, folder: Path, report: Report
) -> Iterator[tuple[Accepted, Path]]:
    """Programs with a binary of theirs: all in one, or in halves where that breaks the compiler."""
    if not both:
        return
    binary = folder / f"p{both[0][0].seed}_{len(both)}"
    if not _called([futhark, "c"], "\n".join(one.source for one, _ in both), binary):
        yield both, binary
    elif len(both) == 1:
        report.counts["refused"] += 1
        report.counts[f"refused: breaks Futhark, {both[0][0].seed}"] += 1
    else:
        half = len(both) // 2
        yield from _compiled(both[:half], futhark, folder, report)
        yield from _compiled(both[half:], futhark, folder, report)


def _accepted(made: Sequence[Generated], futhark: str, folder: Path, report: Report) -> Accepted:
    """The programs that both accept; what is refused here alone is a difference."""
    found: Accepted = []
    for one in made:
        refused = _called([futhark, "check"], one.source, folder / "one")
        try:
            prog = Compilation(one.source, Options()).result("soa").prog
        except CompileError as error:
            if not refused:
                said = f"refused here: {error.message}"
                report.differences.append((one.seed, "check", said))
            report.counts["refused"] += 1
            continue
        if refused:
            report.counts["refused"] += 1
            report.counts["refused: by Futhark alone"] += 1
            continue
        found.append((one, prog))
    return found


def _called(command: list[str], source: str, binary: Path) -> str:
    """Compile a program by Futhark; return its error message, or "" if it accepts the program."""
    path = binary.with_suffix(".fut")
    path.write_text(source, "utf-8")
    out = ["-o", str(binary)] if command[1] == "c" else ["-w"]
    done = subprocess.run(
        [*command, str(path), *out],
        env={**os.environ, "CFLAGS": "-O0"}, capture_output=True, text=True, check=False,
        timeout=COMPILE_SECONDS,
    )  # fmt: skip
    return done.stderr.rpartition("Error at ")[2][:300] or "refused" if done.returncode else ""


def _compared(one: Generated, prog: Prog, binary: Path) -> Counter[str]:
    """Count the runs that agree, and those that fail in Futhark alone, by `LIMITS`.

    Raises Difference if a run fails on one side only, and for other results.
    """
    counts: Counter[str] = Counter()
    for args in one.inputs:
        wanted = outcome(partial(interp.run, prog, one.name, list(args)))
        found = outcome(partial(_run, binary, one.name, args))
        limit = _limit(found)
        if is_limit(wanted) or (limit and not isinstance(wanted, RuntimeError_)):
            counts[f"runs: {limit or 'too large here'}"] += 1
            continue
        for side, other in ((wanted, found), (found, wanted)):
            if isinstance(side, RuntimeError_) and not isinstance(other, RuntimeError_):
                here = "it fails here alone" if side is wanted else "it fails there alone"
                raise kernels.Difference(f"{here}: {side.message}, not {shown(other)}")
        if not isinstance(wanted, RuntimeError_) and not isinstance(found, RuntimeError_):
            kernels.same(wanted, found, "here and there")
        failing = isinstance(wanted, RuntimeError_)
        counts["runs: both fail" if failing else "runs: agree"] += 1
    counts["failing"] += counts["runs: both fail"] > 0
    return counts


def _limit(found: Outcome) -> str:
    """Return the reason why a run by Futhark cannot be compared, or "" if it can."""
    if not isinstance(found, RuntimeError_):
        return ""
    return next((why for text, why in LIMITS.items() if text in found.message), "")


def _run(binary: Path, entry: str, args: Sequence[Value]) -> list[Value]:
    """Run an entry point of the compiled program. Raises RuntimeError_ if it fails."""
    done = subprocess.run(
        [str(binary), "-e", entry, "-b"], input=to_binary(args), capture_output=True,
        check=False, timeout=SECONDS,
    )  # fmt: skip
    if done.returncode:
        said = done.stderr.decode(errors="replace")[:300]
        raise RuntimeError_(said if done.returncode > 0 else f"signal {-done.returncode}")
    return from_bytes(done.stdout)
