"""Count the questions of the memory check that it proves and those that it leaves open.

    python -m bench.cells [FOLDER ..]

Every example is compiled to C and to CUDA, then every program below the folders that has an entry
point, up to its last stage with memory. After each pass that has to do with memory the check of
`compiler/ir/memory` runs. Printed are the questions that it proved, those of them that are proved
whatever sums and products wrap around, and those that it left open, of all these stages, and its
share of what compiling takes. What it refutes is a defect.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bench.machine import EXAMPLES, words
from compiler.base.context import Options
from compiler.base.errors import CompileError, CompilerBug
from compiler.base.stack import with_deep_stack
from compiler.driver.disk import read_program
from compiler.driver.pipeline import MEMORY_STAGES, Compilation
from compiler.driver.targets import BACK_ENDS
from compiler.ir.memory import check


@dataclass(slots=True)
class Count:
    """Counts of one program or several."""

    programs: int = 0
    proved: int = 0
    whole: int = 0
    """Proved questions that hold with any wrap-around."""
    open: int = 0
    refuted: int = 0
    seconds: float = 0.0
    compiling: float = 0.0

    def add(self, other: Count) -> None:
        """Both together."""
        self.programs += other.programs
        self.proved += other.proved
        self.whole += other.whole
        self.open += other.open
        self.refuted += other.refuted
        self.seconds += other.seconds
        self.compiling += other.compiling


def of_program(source: str, options: Options) -> Count:
    """Count the questions of one program for one target.

    Raises CompileError for one that is refused.
    """
    work, count, start = Compilation(source, options), Count(1), time.process_time()
    for stage in MEMORY_STAGES:
        work.result(stage)
    count.compiling = time.process_time() - start
    for stage in MEMORY_STAGES:
        start = time.process_time()
        try:
            tally = check(work.result(stage).prog, stage)
        except CompilerBug as error:
            print(f"  {error.message}")
            count.refuted += 1
        else:
            count.proved += tally.proved
            count.open += len(tally.open)
        count.seconds += time.process_time() - start
        if not count.refuted:
            count.whole += check(work.result(stage).prog, stage, strict=True).proved
    return count


def programs(folder: Path) -> Iterator[tuple[str, str, Options]]:
    """Name, text and options of the programs below a folder that have entry points."""
    for path in sorted(folder.rglob("*.f*")):
        if path.suffix not in (".fut", ".fp") or "/lib/" in str(path):
            continue
        try:
            program = read_program(path)
            options = Options(files=tuple(program.files.items()), main=program.main)
            if (
                path.suffix == ".fp"
                or Compilation(program.source, options).result("typed").prog.entries
            ):
                yield str(path.relative_to(folder)), program.source, options
        except CompileError:
            continue


def measure(folder: Path) -> Count:
    """The same of all programs below a folder, line by line and in all."""
    total = Count()
    for name, source, options in programs(folder):
        both = Count()
        for back_end in BACK_ENDS:
            try:
                both.add(of_program(source, replace(options, target=back_end.target.id)))
            except CompileError:
                break
        if both.programs and (both.open or both.refuted):
            print(f"  {name}: {both.proved} proved, {both.open} open", flush=True)
        total.add(both)
    return total


def main() -> None:
    """Print the lines of all folders."""
    folders = words(__doc__, "FOLDER")
    with_deep_stack(lambda: measured(folders))


def measured(folders: Sequence[str]) -> None:
    """Print the lines of these folders, those of the examples first."""
    for folder in (EXAMPLES, *map(Path, folders)):
        print(folder.name)
        total = measure(folder)
        print(
            f"{folder.name}: {total.programs} compilations, {total.proved} proved "
            f"({total.whole} whatever wraps), {total.open} open, {total.refuted} "
            f"refuted; the check took {total.seconds:.1f} s beside "
            f"{total.compiling:.1f} s of compiling"
        )


if __name__ == "__main__":
    main()
