"""`stridescope test`: the tests of programs and of all in a folder, several programs at a time."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import TextIO

from compiler import cases, worker
from compiler.answers import error_json
from compiler.base.errors import CompileError, UsageError
from compiler.disk import read_program, read_source
from compiler.frontend.files import ENDING
from compiler.protocol.kinds import OfProgram, Options
from compiler.protocol.programs import Problem
from compiler.protocol.tests import CaseTested, ProgramTested, TestReport
from compiler.runtime.runner import available_cores
from compiler.testing.blocks import Load, Trial
from compiler.tuning_file import with_tuning

_LONGEST_DATA = 1 << 32


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which tests run, and how. `structure`: those of structure alone, else all but those."""

    backend: str = "c"
    stage: str = ""
    seconds: float = 60.0
    entry: str = ""
    exclude: frozenset[str] = frozenset()
    structure: bool = False
    any_words: bool = False
    unsafe: bool = False
    enabled: tuple[str, ...] = ()
    verify: bool = False
    tuning: str | None = None
    """the file of tuning parameters, as `with_tuning` takes it"""


def programs(paths: Sequence[str]) -> list[Path]:
    """The programs among files and folders. Raises UsageError for what is neither."""
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
    """Reads files of values, whose paths are relative to the program's folder.

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
    """What became of the tests of one program; errors are part of it."""
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
        "unsafe": wanted.unsafe, "enable": list(wanted.enabled), "verify": wanted.verify,
    }  # fmt: skip
    asked = OfProgram(program.source, options, program.files, program.main)
    try:
        asked = with_tuning(asked, path, wanted.tuning)
    except CompileError as error:
        return {**made, "error": error_json(error)}
    manner = cases.Manner(
        wanted.backend, wanted.stage, wanted.seconds, beside(path), wanted.any_words
    )
    for number in chosen:
        try:
            outcome = cases.run(asked, number, manner)
        except Exception as problem:
            outcome = cases.ended(number, worker.as_error(problem), asked)
        case = cases.described(number, cases.spec(source).cases[number])
        made["cases"].append(CaseTested(**{**case, **outcome}))
    return made


def _chosen(source: str, wanted: Wanted) -> Iterator[tuple[int, Trial]]:
    """The tests that are wanted, with their numbers."""
    spec = cases.spec(source)
    if wanted.exclude & spec.tags:
        return
    for number, case in enumerate(spec.cases):
        if (case.kind == "structure") != wanted.structure or wanted.exclude & case.tags:
            continue
        if not wanted.entry or case.entry == wanted.entry:
            yield number, case


def _begin() -> None:
    """What a process does first: it ends with the others, and see `worker.serve`."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    worker.end_with_parent()
    parent = parent_process()
    if parent is not None and not parent.is_alive():  # it ended before this one could be told
        os._exit(0)
    worker.seldom_look_for_garbage()


def _deep(task: tuple[Path, Wanted]) -> ProgramTested:
    """As `tested`, in a process of its own, whose stack is not deep enough."""
    found: list[ProgramTested] = []
    worker.with_deep_stack(lambda: found.append(tested(*task)))
    return found[0]


def all_tested(paths: Sequence[Path], wanted: Wanted, jobs: int) -> Iterator[ProgramTested]:
    """What became of all programs' tests, in order, `jobs` programs at a time."""
    jobs = min(jobs or available_cores(), len(paths))
    if jobs <= 1:
        yield from (tested(path, wanted) for path in paths)
        return
    with ProcessPoolExecutor(jobs, get_context("spawn"), _begin) as pool:
        yield from pool.map(_deep, [(path, wanted) for path in paths])


def report(found: Iterable[ProgramTested]) -> TestReport:
    """All outcomes; a program whose tests cannot be read counts as one that failed."""
    every = list(found)
    counts = Counter(case["outcome"] for program in every for case in program["cases"])
    counts["failed"] += sum("error" in program for program in every)
    return {"ok": not counts["failed"], "counts": dict(counts), "programs": every}


def told(found: Iterator[ProgramTested], total: int, out: TextIO, err: TextIO) -> TestReport:
    """Print each program as its tests end, and how far it is where `err` is a terminal."""
    every: list[ProgramTested] = []
    live = err.isatty()
    for program in found:
        every.append(program)
        if live:
            print("\r\033[K", end="", file=err, flush=True)
        for line in lines(program):
            print(line, file=out, flush=True)
        if live:
            failed = report(every)["counts"].get("failed", 0)
            print(f"{len(every)} of {total}, {failed} failed", end="", file=err, flush=True)
    if live:
        print("\r\033[K", end="", file=err, flush=True)
    whole = report(every)
    print(summary(whole), file=out)
    return whole


def lines(program: ProgramTested) -> Iterator[str]:
    """What is said of a program: its numbers, and each test that did not pass."""
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
        name = ", ".join(part for part in (case["entry"], case["name"]) if part)
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


def _whole(error: Problem) -> str:
    """An error with its place and a way out."""
    place = "".join(f"{number}:" for number in (error["span"] or [])[:2])
    return error.get("rendered", f"{place} {error['message']}\n{error['hint']}".strip())


_SAYS = {"failed": "FAILED", "unchecked": "not compared", "skipped": "skipped"}


def _indented(text: str) -> Iterator[str]:
    yield from (f"  {line}" for line in text.splitlines())


def _numbers(counts: Counter[str]) -> str:
    words = {"passed": "passed", **_SAYS, "failed": "failed"}
    return ", ".join(f"{counts[one]} {words[one]}" for one in words if counts[one]) or "no tests"


def summary(whole: TestReport) -> str:
    """The last line."""
    with_tests = [p for p in whole["programs"] if p["cases"] or "error" in p]
    without = len(whole["programs"]) - len(with_tests)
    count = f"{len(with_tests)} program{'s' * (len(with_tests) != 1)}"
    rest = f"; {without} without tests" if without else ""
    return f"{_numbers(Counter(whole['counts']))} in {count}{rest}"


def main(paths: Sequence[str], wanted: Wanted, jobs: int, as_json: bool) -> bool:
    """Test programs and folders, and print what became of that; whether nothing failed."""
    found = programs(paths)
    made = all_tested(found, wanted, jobs)
    if not as_json:
        return told(made, len(found), sys.stdout, sys.stderr)["ok"]
    whole = report(made)
    sys.stdout.write(json.dumps(whole, ensure_ascii=False) + "\n")
    return whole["ok"]
