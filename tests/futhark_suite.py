"""Runs a folder of Futhark programs with `-- ==` blocks through all stages and back ends.

    python -m tests.futhark_suite FOLDER [--only TEXT] [--stages soa,fused,flat,imp] [--c]

For each program: it compiles (or is refused, where its block says so), every stage named gives the
expected output, and so does C. Prints what differs, and a summary by reason. What is no program of
the language is skipped, with the reason: inputs made by a script, parameters of the test's file,
numbers that do not fit their type. `#[unsafe]` is honoured, as there.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from compiler import api
from compiler.base.errors import CompileError
from compiler.disk import read_program
from compiler.pipeline import Compilation
from compiler.protocol.kinds import OfProgram
from testing.blocks import Case, read
from testing.results import same

SECONDS = 20
OPTIONS: dict[str, Any] = {"verify": True, "unsafe": True}
_SCRIPT = re.compile(r"\s*(\$|\(|(?!true\b|false\b|empty\b|f16\.|f32\.|f64\.)[a-z])")
"""How an input begins that is no value."""


class TooSlow(Exception):
    """A program took longer than `SECONDS`."""


@contextmanager
def limit(seconds: int) -> Iterator[None]:
    """Raise TooSlow in the main thread after that many seconds."""

    def ring(_signal: int, _frame: object) -> None:
        raise TooSlow

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def run_case(program: OfProgram, case: Case, backend: str, stage: str) -> str:
    """What is different from what the case expects; empty for nothing."""
    try:
        fun = api.entry_function(api.compilation(program), case.entry)
        args, output = case.arguments(fun), case.expected(fun)
        found = api.run_values(program, case.entry, args, backend, stage, SECONDS)
    except CompileError as error:
        if error.kind == "limitation":
            return f"limitation: {error.message}"
        if case.error is not None and error.kind in ("runtime", "usage"):
            return ""
        return f"{error.kind}: {error.render(program.source)}"
    if case.error is not None:
        return f"expected the error {case.error}"
    if output is not None and not same(found["values"], output):
        return f"expected {str(output)[:200]} found {str(found['values'])[:200]}"
    return ""


def skipped(source: str, cases: list[Case]) -> str:
    """Why a program is left out; empty if it is not."""
    if "#[param" in source:
        return "parameters of the test's file"
    if any(isinstance(case.input, str) and _SCRIPT.match(case.input) for case in cases):
        return "inputs made by a script"
    return ""


def run_program(path: Path, stages: list[str], backends: list[str], tally: Counter[str]) -> None:
    """Check one program, print what is wrong with it, and count the outcome."""
    try:
        spec = read(path)
        source, files, main = read_program(path)
        program = OfProgram(source, OPTIONS, files, main)
    except Exception as error:
        tally["unreadable test"] += 1
        print(f"{path}: unreadable: {error}")
        return
    try:
        compilation_of(program).result("typed")
    except CompileError as error:
        if error.kind == "limitation":
            tally["limitation"] += 1
            print(f"{path}: limitation: {error.render(source)}")
        elif spec.error is None or error.kind == "internal":
            tally[f"wrongly refused ({error.kind})"] += 1
            print(f"{path}: REFUSED {error.kind}: {error.render(source)}")
        else:
            tally["refused as expected"] += 1
        return
    if spec.error is not None:
        tally["wrongly accepted"] += 1
        print(f"{path}: ACCEPTED, but should be refused: {spec.error}")
        return
    if reason := skipped(source, spec.cases):
        tally[f"skipped: {reason}"] += 1
        return
    problems: list[str] = []
    for case in spec.cases:
        runs = [("ref", stage) for stage in stages] + [(backend, "") for backend in backends]
        for backend, stage in runs:
            what = run_case(program, case, backend, stage)
            problems.append(what and f"{stage or backend}: {what}")
    if not spec.cases:
        problems.append(compile_all(program))
    wrong = [p for p in problems if p]
    if wrong and all("is out of the range of" in p for p in wrong):
        tally["skipped: numbers that do not fit their type"] += 1
        return
    if not wrong:
        tally["passed"] += 1
    elif all("limitation:" in p for p in wrong):
        tally["limitation"] += 1
        print(f"{path}: {wrong[0]}")
    else:
        tally["wrong"] += 1
        for problem in [p for p in wrong if "limitation:" not in p][:3]:
            print(f"{path}: WRONG {problem}")


def compilation_of(program: OfProgram) -> Compilation:
    """One that is not kept."""
    options = api.options_from(program.options, program.files, program.main)
    return Compilation(program.source, options)


def compile_all(program: OfProgram) -> str:
    """Why a program without data does not compile to the end; empty if it does."""
    work = compilation_of(program)
    try:
        if work.result("typed").prog.entries:
            work.result("c")
            work.result("cuda")
    except CompileError as error:
        return f"{error.kind}: {error.message}"
    return ""


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="")
    parser.add_argument("--stages", default="soa,fused,flat,imp")
    parser.add_argument("--c", action="store_true")
    args = parser.parse_args()
    tally: Counter[str] = Counter()
    files = [args.folder] if args.folder.is_file() else sorted(args.folder.rglob("*.fut"))
    sys.setrecursionlimit(20_000)
    start = time.monotonic()
    for path in files:
        if args.only in str(path):
            try:
                with limit(SECONDS * 3):
                    stages = [s for s in args.stages.split(",") if s]
                    run_program(path, stages, ["c"] if args.c else [], tally)
            except TooSlow:
                tally["too slow"] += 1
                print(f"{path}: TOO SLOW")
            except Exception as error:
                tally["crashed"] += 1
                print(f"{path}: CRASHED {type(error).__name__}: {str(error)[:200]}")
    print(f"{time.monotonic() - start:.0f} s")
    for reason, count in tally.most_common():
        print(f"{count:5} {reason}")


if __name__ == "__main__":
    main()
