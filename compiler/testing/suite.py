"""`stridescope test`: run the tests of programs and folders, several programs at a time."""

from __future__ import annotations

import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TextIO

from compiler.base.dataclass import dataclass
from compiler.base.errors import CompileError, UsageError
from compiler.driver.answers import as_error, error_json
from compiler.driver.disk import read_program, read_source
from compiler.driver.tuning_file import with_tuning
from compiler.frontend.files import ENDING
from compiler.protocol.kinds import OfProgram, Options
from compiler.protocol.programs import Problem
from compiler.protocol.tests import CaseTested, ProgramTested, TestCase, TestReport
from compiler.runtime.runner import available_cores
from compiler.testing import cases, testers
from compiler.testing.blocks import Load, Trial
from compiler.testing.testers import Began, Tell

_LONGEST_DATA = 1 << 32
_SILENT = 20.0
"""Seconds between progress messages, except on a terminal."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Selection of tests and settings. `structure`: only tests of structure, else all others."""

    backend: str = "c"
    stage: str = ""
    seconds: float = 60.0
    entry: str = ""
    exclude: frozenset[str] = frozenset()
    structure: bool = False
    any_words: bool = False
    unsafe: bool = False
    enabled: tuple[str, ...] = ()
    disabled: tuple[str, ...] = ()
    verify: bool = False
    tuning: str | None = None
    """the tuning file, as `with_tuning` takes it"""
    limit: float = 0.0
    """Seconds per test, compiling included, enforced by a process of its own; 0: unlimited."""


def programs(paths: Sequence[str]) -> list[Path]:
    """List the programs among files and folders. Raises UsageError for other paths."""
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        if path.is_dir():
            found |= dict.fromkeys(sorted(path.rglob(f"*{ENDING}")))
        elif path.is_file():
            found[path] = None
        else:
            raise UsageError(f"There is no file or folder `{path}`.")
    return list(found)


def beside(program: Path) -> Load:
    """Return a reader of files of values, relative to the program's folder.

    Errors: `UsageError` where one cannot be read.
    """

    def load(path: str) -> bytes:
        try:
            with (program.parent / path).open("rb") as file:
                return file.read(_LONGEST_DATA)
        except (OSError, ValueError) as error:
            said = error.strerror if isinstance(error, OSError) else str(error)
            raise UsageError(
                f"Cannot read `{path}`: {said}.", hint="Paths begin at the program's folder."
            ) from None

    return load


def tested(path: Path, wanted: Wanted) -> ProgramTested:
    """Run the tests of one program; errors become outcomes."""
    return _tested(wanted, path, 0, lambda _: None)


def _tested(wanted: Wanted, path: Path, first: int, tell: Tell) -> ProgramTested:
    """Run the tests of one program from number `first` on; report each by `tell`."""
    source, made = "", ProgramTested(file=str(path), cases=[])
    try:
        source = read_source(path)
        chosen = [number for number, _ in _chosen(source, wanted)]
        if not chosen:
            return made
        program = read_program(path)
    except CompileError as error:
        error.others = ()
        return {**made, "error": error_json(error, source)}
    options: Options = {
        "unsafe": wanted.unsafe, "verify": wanted.verify,
        "enable": list(wanted.enabled), "disable": list(wanted.disabled),
    }  # fmt: skip
    asked = OfProgram(program.source, options, program.files, program.main)
    try:
        asked = with_tuning(asked, path, wanted.tuning)
    except CompileError as error:
        return {**made, "error": error_json(error)}
    manner = cases.Manner(
        wanted.backend, wanted.stage, wanted.seconds, beside(path), wanted.any_words
    )
    for ended, number in list(enumerate(chosen))[first:]:
        case = cases.described(number, cases.spec(source).cases[number])
        tell(Began(path, ended, len(chosen), case))
        try:
            outcome = cases.run(asked, number, manner)
        except Exception as problem:
            outcome = cases.ended(number, as_error(problem), asked)
        made["cases"].append(CaseTested(**{**case, **outcome}))
        tell(made["cases"][-1])
    return made


def _chosen(source: str, wanted: Wanted) -> Iterator[tuple[int, Trial]]:
    """Yield the selected tests with their numbers."""
    spec = cases.spec(source)
    if wanted.exclude & spec.tags:
        return
    for number, case in enumerate(spec.cases):
        if (case.kind == "structure") != wanted.structure or wanted.exclude & case.tags:
            continue
        if not wanted.entry or case.entry == wanted.entry:
            yield number, case


def all_tested(
    paths: Sequence[Path], wanted: Wanted, jobs: int, progress: Callable[[Began], None]
) -> Iterator[ProgramTested]:
    """Run the tests of all programs, `jobs` programs at a time; yield results in order.

    `progress` is called as tests begin.
    """
    jobs = min(jobs or available_cores(), len(paths))
    if jobs <= 1 and not wanted.limit:

        def tell(told: Began | CaseTested) -> None:
            if isinstance(told, Began):
                progress(told)

        yield from (_tested(wanted, path, 0, tell) for path in paths)
        return
    limit = wanted.limit or math.inf
    yield from testers.all_tested(paths, partial(_tested, wanted), jobs, limit, progress)


def report(found: Iterable[ProgramTested]) -> TestReport:
    """Collect all outcomes; a program whose tests cannot be read counts as failed."""
    every = list(found)
    counts = Counter(case["outcome"] for program in every for case in program["cases"])
    counts["failed"] += sum("error" in program for program in every)
    return {"ok": not counts["failed"], "counts": dict(counts), "programs": every}


class _Progress:
    """Shows progress: continuously on a terminal, else after long silence."""

    def __init__(self, total: int, err: TextIO) -> None:
        self._total, self._err, self._live = total, err, err.isatty()
        self._every: list[ProgramTested] = []
        self._said = time.monotonic()

    def __call__(self, began: Began) -> None:
        where = f"{began.path}: {began.ended} of {began.total} tests"
        if self._live:
            self._line(where)
        elif time.monotonic() > self._said + _SILENT:
            self._said = time.monotonic()
            print(f"{where}, now {_name(began.case)}", file=self._err, flush=True)

    def ended(self, program: ProgramTested) -> None:
        """Record the end of a program's tests, and clear the line."""
        self._every.append(program)
        self.clear()

    def count(self) -> None:
        """Show the number of finished programs."""
        self._said = time.monotonic()
        if self._live:
            self._line("")

    def clear(self) -> None:
        """Clear the progress line."""
        if self._live:
            print("\r\033[K", end="", file=self._err, flush=True)

    def _line(self, where: str) -> None:
        failed = report(self._every)["counts"].get("failed", 0)
        text = f"{len(self._every)} of {self._total}, {failed} failed" + f"; {where}" * bool(where)
        print(f"\r\033[K{text}", end="", file=self._err, flush=True)


def told(paths: Sequence[Path], wanted: Wanted, jobs: int, out: TextIO, err: TextIO) -> TestReport:
    """Test programs and print each as its tests end; show progress on `err`."""
    every: list[ProgramTested] = []
    progress = _Progress(len(paths), err)
    for program in all_tested(paths, wanted, jobs, progress):
        every.append(program)
        progress.ended(program)
        for line in lines(program):
            print(line, file=out, flush=True)
        progress.count()
    progress.clear()
    whole = report(every)
    print(summary(whole), file=out)
    return whole


def lines(program: ProgramTested) -> Iterator[str]:
    """Format the results of a program: counts, and each test that did not pass."""
    file = program["file"]
    if "error" in program:
        yield f"{file}: FAILED"
        yield from _indented(_whole(program["error"]))
    if program["cases"]:
        yield f"{file}: {_numbers(Counter(case['outcome'] for case in program['cases']))}"
    shown = ""
    for case in program["cases"]:
        if case["outcome"] == "passed":
            continue
        place = ":".join(map(str, (file, *case["src"][:2])))
        name = _name(case)
        text = _whole(case["error"]) if "error" in case else ""
        if text and text != shown:
            yield f"{place}: {name}: FAILED"
            yield from _indented(text)
            shown = text
            continue
        yield f"{place}: {name}: {_SAYS[case['outcome']]}: {case['because']}"
        differs = case.get("difference")
        if differs and differs.get("at") is None:
            yield from _indented(f"expected: {differs['expected']}")
            yield from _indented(f"found: {differs['found']}")


def _name(case: TestCase) -> str:
    return ", ".join(part for part in (case["entry"], case["name"]) if part)


def _whole(error: Problem) -> str:
    """Format an error with its place and hint."""
    place = "".join(f"{number}:" for number in (error["span"] or [])[:2])
    return error.get("rendered", f"{place} {error['message']}\n{error['hint']}".strip())


_SAYS = {"failed": "FAILED", "unchecked": "not compared", "skipped": "skipped"}


def _indented(text: str) -> Iterator[str]:
    yield from (f"  {line}" for line in text.splitlines())


def _numbers(counts: Counter[str]) -> str:
    words = {"passed": "passed", **_SAYS, "failed": "failed"}
    return ", ".join(f"{counts[one]} {words[one]}" for one in words if counts[one]) or "no tests"


def summary(whole: TestReport) -> str:
    """Format the last line."""
    with_tests = [p for p in whole["programs"] if p["cases"] or "error" in p]
    without = len(whole["programs"]) - len(with_tests)
    count = f"{len(with_tests)} program{'s' * (len(with_tests) != 1)}"
    rest = f"; {without} without tests" if without else ""
    return f"{_numbers(Counter(whole['counts']))} in {count}{rest}"


def main(paths: Sequence[str], wanted: Wanted, jobs: int, as_json: bool) -> bool:
    """Test programs and folders and print the results; return True if nothing failed.

    A named file without a selected test counts as failed.
    """
    found = programs(paths)
    if as_json:
        whole = report(all_tested(found, wanted, jobs, _Progress(len(found), sys.stderr)))
    else:
        whole = told(found, wanted, jobs, sys.stdout, sys.stderr)
    named = {str(path) for path in map(Path, paths) if path.is_file()}
    for program in whole["programs"]:
        if program["file"] in named and not program["cases"] and "error" not in program:
            whole["ok"] = False
            why = _nothing(program, wanted)
            sys.stderr.write(f"{program['file']}: NOTHING TESTED. {why}\n")
    if as_json:
        sys.stdout.write(json.dumps(whole, ensure_ascii=False) + "\n")
    return whole["ok"]


def _nothing(program: ProgramTested, wanted: Wanted) -> str:
    """Explain why no test of a program was run."""
    if cases.spec(read_source(Path(program["file"]))).cases:
        left_out = "of that entry point" if wanted.entry else "that is wanted"
        return f"It has tests, but none {left_out}."
    return "No test begins in it: a block of tests is a comment that begins with `-- ==`."
