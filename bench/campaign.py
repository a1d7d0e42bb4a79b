"""Random programs about memory, at every stage and in C, by the thousand.

    python -m bench.campaign --programs 20000 --seed 0
    python -m bench.campaign --shrink 1234          one seed, made small if its stages differ
    python -m bench.campaign --extremes             programs at the ends of 64 bits, sanitised

Programs are compiled in batches, each with an entry point of its own. Batches differ in what is
switched off, in which code versions are taken and in how hard the C compiler tries, all by their
number: a seed range means the same every time. With `--log FILE` finished batches are kept there
and not done again. With `--sanitize` C runs under sanitisers: what they report, and a crash, counts
as a difference of the program that was run.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from bench.machine import save
from compiler.base.context import Options
from compiler.base.deadline import within
from compiler.base.errors import CompileError, CompilerBug, RuntimeError_
from compiler.base.text import plain
from compiler.ir.values import Value, show
from compiler.pipeline import STAGES, Compilation
from compiler.runtime import imp_interp, runner, sanitize
from compiler.runtime.cc import compile_c
from compiler.semantics import heap, interp, value
from compiler.switches import PASSES
from tests import generate_extremes, generate_storage
from tests.generate_storage import Generated
from tests.storage.helpers import Always, attempts

BATCH = 20
"""Programs in a batch."""
SECONDS = 60.0
"""For one run in C."""
SMALL = 2000
"""Elements of input, up to which a program is also evaluated one point after the other."""
EXTREME_SECONDS = 3.0
EXTREME_BYTES = 1 << 28
"""What a run may use that is likely to be refused."""
LITTLE = ("memory", "bytes", "did not finish", "processor time")
"""Words of errors that depend on what a run may use."""
IR = [stage.id for stage in STAGES if stage.kind == "ir"]
MEMORY = ("funmem", "shortcircuit", "expanded", "merged")
SWITCHES = [name for p in PASSES for name in (p.id, *(rule.id for rule in p.switches))]


@dataclass(frozen=True)
class Manner:
    """How a batch is compiled and run: without `disabled`, by the C compiler with `effort`.

    `verified`: with checks after every pass. `versions`: always the most parallel version of the
    code. `gpu`: the code for CUDA as well, up to its text. `counted`: attempts are counted.
    """

    disabled: frozenset[str] = frozenset()
    effort: str = "-O0"
    verified: bool = False
    versions: bool = False
    gpu: bool = False
    counted: bool = False
    sanitized: bool = False
    extreme: bool = False

    @staticmethod
    def of(batch: int, sanitized: bool = False, extreme: bool = False) -> Manner:
        """The manner of that batch."""
        rng = random.Random(f"manner {batch}")
        off: list[str] = []
        if batch % 4 == 3:
            names = [s for s in SWITCHES if s.startswith(("shortcircuit", "merge"))]
            off = rng.sample(names if rng.random() < 0.6 else SWITCHES, rng.randint(1, 4))
        return Manner(
            frozenset(off),
            ("-O1" if sanitized else "-O3") if batch % 12 == 0 else "-O0",
            verified=batch % 5 == 0,
            versions=batch % 4 == 1,
            gpu=batch % 4 == 2,
            counted=batch % 8 == 0 and not extreme,
            sanitized=sanitized or extreme,
            extreme=extreme,
        )

    def program(self, seed: int, name: str = "main") -> Generated:
        """The program of that seed."""
        return (generate_extremes if self.extreme else generate_storage).program(seed, name)

    @property
    def flags(self) -> tuple[str, ...]:
        """For the C compiler."""
        return (*sanitize.FLAGS, self.effort) if self.sanitized else (self.effort,)


@dataclass
class Report:
    """What was found: `differences` has (seed, where, what), `counts` everything countable."""

    differences: list[tuple[int, str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, other: Report) -> None:
        """Both together."""
        self.differences += other.differences
        self.counts += other.counts


class Difference(Exception):
    """A stage says something else than the value semantics."""

    def __init__(self, where: str, what: str) -> None:
        super().__init__(f"{where}: {what}")
        self.where, self.what = where, what


# --- one program -----------------------------------------------------------------------------


def same(found: Sequence[Any], expected: Sequence[Value], where: str) -> None:
    """Raise Difference unless the results are equal."""
    if len(found) != len(expected):
        raise Difference(where, f"{len(found)} results instead of {len(expected)}")
    for k, (got, want) in enumerate(zip(found, expected, strict=True)):
        got = np.asarray(got)[()]
        if got.dtype != want.dtype or not np.array_equal(got, want):
            raise Difference(where, f"result {k} is {show(got)} and should be {show(want)}")


def runs(work: Compilation, made: Generated, manner: Manner) -> Iterator[tuple[str, int, Any]]:
    """Where, number of the input, a function that gives the results: all but C."""
    args = made.inputs[0]
    thresholds = Always() if manner.versions else {}
    for stage in IR:
        prog = work.result(stage).prog
        chosen = thresholds if IR.index(stage) >= IR.index("flat") else {}
        yield stage, 0, lambda p=prog, t=chosen: interp.run(p, made.name, args, thresholds=t)
        if stage in MEMORY:
            yield (
                f"heap {stage}",
                0,
                lambda p=prog, t=chosen: heap.run(p, made.name, args, thresholds=t)[0],
            )
    imp = work.result("imp").prog
    yield "imp", 0, lambda: imp_interp.run(imp, made.name, args)
    merged = work.result("merged").prog
    for at, more in enumerate(made.inputs[1:], 1):
        yield "heap merged", at, lambda a=more: heap.run(merged, made.name, a)[0]
    if manner.gpu:
        prog = work.result("merged", "cuda").prog
        yield "heap merged, cuda", 0, lambda: heap.run(prog, made.name, args)[0]


def check(work: Compilation, made: Generated, manner: Manner) -> None:
    """Raise Difference if a stage or C differs from the value semantics at `soa`.

    That of small inputs is found twice: fast, and by the letter.
    """
    if manner.extreme:
        check_extremes(work, made, manner)
        return
    soa = work.result("soa").prog
    expected = []
    for args in made.inputs:
        try:
            expected.append(interp.run(soa, made.name, args))
        except CompilerBug as error:
            raise Difference("soa", error.message) from error
        if sum(np.size(arg) for arg in args) <= SMALL:
            plain = _tried(partial(value.run, soa, made.name, args), "by the letter")
            same(plain, expected[-1], "by the letter")
    for where, at, run in runs(work, made, manner):
        same(_tried(run, where), expected[at], where)
    code = work.result("c").text

    def in_c(args: list[Value]) -> list[Any]:
        flags, sanitized = (manner.effort,), manner.sanitized
        return runner.run_c(code, made.name, args, SECONDS, flags=flags, sanitized=sanitized).values

    for args, want in zip(made.inputs, expected, strict=True):
        same(_tried(partial(in_c, args), "c"), want, "c")


def check_extremes(work: Compilation, made: Generated, manner: Manner) -> None:
    """Raise Difference if something else than a failure happens where the program fails.

    How much memory there is, and how long a run may take, may differ.
    """
    soa, imp, code = work.result("soa").prog, work.result("imp").prog, work.result("c").text
    few = EXTREME_BYTES >> 8

    def in_c(args: list[Value]) -> list[Any]:
        return runner.run_c(
            code,
            made.name,
            args,
            EXTREME_SECONDS,
            memory_bytes=EXTREME_BYTES,
            cores=1,
            flags=(manner.effort,),
            sanitized=True,
        ).values

    for args in made.inputs:
        expected = outcome(
            lambda a=args: timed(lambda: interp.run(soa, made.name, a, EXTREME_BYTES))
        )
        for where, run in (
            ("by the letter", partial(timed, partial(value.run, soa, made.name, args, few))),
            ("imp", partial(timed, partial(imp_interp.run, imp, made.name, args))),
            ("c", partial(in_c, args)),
        ):
            found = outcome(run)
            if isinstance(expected, str) or isinstance(found, str):
                little = any(word in str(x) for x in (expected, found) for word in LITTLE)
                if not little and isinstance(expected, str) != isinstance(found, str):
                    raise Difference(where, f"{shown(found)} and not {shown(expected)}")
            else:
                same(found, expected, where)


def outcome(run: Callable[[], list[Any]]) -> list[Any] | str:
    """The results, or the message of an ordinary error. Raises Difference for any other."""
    try:
        return run()
    except runner.Crash as error:
        raise Difference("run", f"crash: {error.message}") from error
    except RuntimeError_ as error:
        return error.message
    except Exception as error:
        text = getattr(error, "message", "") or str(error)
        raise Difference("run", f"{type(error).__name__}: {text}") from error


def timed(run: Callable[[], list[Any]]) -> list[Any]:
    """A run of an interpreter."""
    return within(EXTREME_SECONDS, run)


def shown(found: list[Any] | str) -> str:
    """An outcome in few words."""
    if isinstance(found, str):
        return f"the error `{found}`"
    return f"({', '.join(show(np.asarray(v)[()])[:80] for v in found)})"


def _tried(run: Callable[[], list[Any]], where: str) -> list[Any]:
    try:
        return run()
    except Exception as error:
        text = getattr(error, "message", "") or str(error)
        raise Difference(where, f"{type(error).__name__}: {text}") from error


# --- a batch ---------------------------------------------------------------------------------


def compiled(source: str, manner: Manner) -> Compilation:
    """All stages up to C. Raises Difference for a defect, CompileError for a refusal."""
    work = Compilation(source, Options(disabled=manner.disabled, verify=manner.verified))
    try:
        for stage in (*IR, "imp", "c"):
            work.result(stage)
        if manner.gpu:
            work.result("merged", "cuda")
            work.result("cuda")
    except CompilerBug as error:
        raise Difference("compile", error.message) from error
    return work


def check_batch(batch: int, sanitized: bool = False, extreme: bool = False) -> Report:
    """The programs of one batch."""
    manner = Manner.of(batch, sanitized, extreme)
    report = Report()
    made = [manner.program(seed, f"p{seed}") for seed in range(batch * BATCH, (batch + 1) * BATCH)]
    made, whole = accepted(made, manner, report)
    for one in made:
        report.counts["programs"] += 1
        try:
            check(whole or compiled(one.source, manner), one, manner)
        except Difference as found:
            report.differences.append((one.seed, found.where, found.what))
        except RuntimeError_ as error:
            report.counts["programs"] -= 1
            report.counts["failing"] += 1
            report.counts[f"failing: {error.message[:60]}"] += 1
        except CompileError as error:
            report.differences.append((one.seed, "compile", f"alone: {error.message}"))
    if manner.counted and whole is not None:
        count_attempts(whole, report)
    return report


def accepted(
    made: list[Generated], manner: Manner, report: Report
) -> tuple[list[Generated], Compilation | None]:
    """The programs that are not refused, and all of them compiled, if that works out."""
    while made:
        try:
            work = compiled("\n".join(g.source for g in made), manner)
            compile_c(plain(work.result("c").text), manner.flags)
            return made, work
        except (CompilerBug, Difference):
            break
        except CompileError as error:
            refused = at_line(made, error.span.line)
            if refused is None:
                break
            report.counts["refused"] += 1
            report.counts[f"refused: {type(error).__name__}"] += 1
            made = [one for one in made if one is not refused]
    return [one for one in made if not is_refused(one, manner, report)], None


def at_line(made: list[Generated], line: int) -> Generated | None:
    """The program that has that line when all are put together."""
    for one in made:
        count = one.source.count("\n") + 1
        if 0 < line <= count:
            return one
        line -= count
    return None


def is_refused(made: Generated, manner: Manner, report: Report) -> bool:
    """Whether a program is refused, or already reported as one that cannot be compiled."""
    try:
        compiled(made.source, manner)
    except CompileError as error:
        report.counts["refused"] += 1
        report.counts[f"refused: {type(error).__name__}"] += 1
        return True
    except Difference as found:
        report.counts["programs"] += 1
        report.differences.append((made.seed, found.where, found.what))
        return True
    return False


def count_attempts(work: Compilation, report: Report) -> None:
    """How often each kind of attempt ended how."""
    funmem = work.result("funmem").prog
    report.counts["counted programs"] += len(funmem.funs)
    for one in attempts(funmem, work.options):
        outcome = "done" if one["done"] else f"condition {one['condition']}"
        report.counts[f"{one['rule'].partition('/')[2]}: {outcome}"] += 1
        report.counts["obligations"] += len(one["obligations"])


# --- shrinking -------------------------------------------------------------------------------


def shrunk(made: Generated, fails: Callable[[Generated], bool]) -> Generated:
    """The program with one result, without the lines that it needs not to fail."""

    def still(lines: list[str]) -> bool:
        return fails(replace(made, source="\n".join(lines) + "\n"))

    lines = made.source.splitlines()
    for name in re.findall(r"\w+", lines[-1])[1:]:
        fewer = [*lines[:-1], f"  in {name}"]
        if still(fewer):
            lines = fewer
            break
    for size in (16, 8, 5, 4, 3, 2, 1):
        at = 1
        while at + size < len(lines):
            fewer = lines[:at] + lines[at + size :]
            if still(fewer):
                lines = fewer
            else:
                at += 1
    return replace(made, source="\n".join(lines) + "\n")


def failure(made: Generated, manner: Manner) -> str:
    """Where it differs and how, or "" if nothing differs or the program is refused."""
    try:
        check(compiled(made.source, manner), made, manner)
    except Difference as found:
        return str(found)
    except CompileError:
        pass
    return ""


def show_shrunk(seed: int, sanitized: bool, extreme: bool) -> None:
    """Print the program of that seed, and if its stages differ, a small one that does as well."""
    manner = Manner.of(seed // BATCH, sanitized, extreme)
    made = manner.program(seed)
    what = failure(made, manner)
    print(made.source, f"\n{manner}\n", what or "no difference")
    if what:
        where = what.partition(":")[0]
        small = shrunk(made, lambda g: failure(g, manner).partition(":")[0] == where)
        print("\n" + small.source, failure(small, manner))
        for args in small.inputs:
            print(" ".join(show(a) for a in args))


# --- the campaign ----------------------------------------------------------------------------


def prepare() -> None:
    """Deep recursion, and libraries in a folder that goes away."""
    sys.setrecursionlimit(100_000)
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="campaign-")


def one_batch(batch: int, sanitized: bool, extreme: bool) -> tuple[int, Report]:
    """A batch in a process of the pool; the libraries that it made are removed."""
    start = time.perf_counter()
    report = check_batch(batch, sanitized, extreme)
    report.counts["milliseconds"] = round((time.perf_counter() - start) * 1000)
    shutil.rmtree(os.environ["XDG_CACHE_HOME"], ignore_errors=True)
    return batch, report


def run(
    first: int,
    count: int,
    jobs: int,
    log: Path | None,
    sanitized: bool = False,
    extreme: bool = False,
) -> Report:
    """All batches of a seed range, in `jobs` processes."""
    total = Report()
    batches = range(first // BATCH, -(-(first + count) // BATCH))
    done: set[int] = set()
    if log is not None and log.exists():
        for line in log.read_text().splitlines():
            kept = json.loads(line)
            if kept["batch"] in batches and kept["batch"] not in done:
                done.add(kept["batch"])
                found = [tuple(d) for d in kept["differences"]]
                total.add(Report(found, Counter(kept["counts"])))
    left = [b for b in batches if b not in done]
    start = time.perf_counter()
    work = partial(one_batch, sanitized=sanitized, extreme=extreme)
    with get_context("fork").Pool(jobs, prepare) as pool:
        for number, (batch, report) in enumerate(pool.imap_unordered(work, left), 1):
            total.add(report)
            if log is not None:
                entry = {
                    "batch": batch,
                    "differences": report.differences,
                    "counts": report.counts,
                }
                with log.open("a") as out:
                    out.write(json.dumps(entry) + "\n")
            for seed, where, what in report.differences:
                print(f"seed {seed}, {where}: {what[:300]}", flush=True)
            if number % 10 == 0:
                pace = (time.perf_counter() - start) / number / BATCH * 1000
                print(f"{summary(total)}; {pace:.0f} ms a program", flush=True)
    return total


def summary(report: Report) -> str:
    """One line."""
    c = report.counts
    return (
        f"{c['programs']} programs, {len(report.differences)} differences, "
        f"{c['refused']} refused, {c['failing']} failing"
    )


def figures(first: int, report: Report) -> dict[str, Any]:
    """The report as plain data."""
    c = report.counts
    kinds = ("update", "concat", "copy", "kernel-result", "in-place-map")
    return {
        "seeds": first,
        "programs": c["programs"],
        "differences": len(report.differences),
        "first_differences": report.differences[:20],
        "refused": c["refused"],
        "failing": c["failing"],
        "minutes_of_all_processes": round(c["milliseconds"] / 60_000, 1),
        "attempts_counted_in": c["counted programs"],
        "obligations": c["obligations"],
        "attempts": {
            kind: {
                k.partition(": ")[2]: n for k, n in sorted(c.items()) if k.startswith(f"{kind}:")
            }
            for kind in kinds
        },
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--save", action="store_true", help="write bench/results/campaign.json")
    parser.add_argument("--shrink", type=int, metavar="SEED")
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--extremes", action="store_true")
    given = parser.parse_args()
    prepare()
    if given.shrink is not None:
        show_shrunk(given.shrink, given.sanitize, given.extremes)
        return
    report = run(given.seed, given.programs, given.jobs, given.log, given.sanitize, given.extremes)
    made = figures(given.seed, report)
    print(json.dumps(made, indent=1))
    print(json.dumps({k: v for k, v in report.counts.items() if ":" in k}))
    if given.save:
        command = f"python -m bench.campaign --programs {given.programs} --seed {given.seed}"
        options = " --sanitize" * given.sanitize + " --extremes" * given.extremes
        name = "extremes" if given.extremes else "sanitized" if given.sanitize else "campaign"
        save(name, f"{command} --jobs {given.jobs}{options}", made)


if __name__ == "__main__":
    main()
