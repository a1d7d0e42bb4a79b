"""Run Futhark's own compiler as a process: its verdict on a program, and the results of its C."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from compiler.base.errors import InputError, RuntimeError_, TimeoutError_
from compiler.ir.values import Value, from_bytes, parse, show, to_binary
from testing.outcomes import Outcome

COMPILE_SECONDS = 60.0
LATE = "It does not come to an end."
_WHERE = re.compile(r"Error at [^\n]*?:(\d+):\d+")
_KINDS = (
    ("index", r"Index \[|Slice \[|out of bounds"),
    ("division", r"division by zero"),
    ("size", r"dimension|shape|[Ss]ize"),
    ("assertion", r"[Aa]ssert"),
)


@dataclass(frozen=True)
class Refusal(Exception):
    """A refusal by the compiler: its message and the line, 0 for none."""

    says: str
    line: int

    @property
    def is_late(self) -> bool:
        """True if the compiler has exceeded its time."""
        return self.says == LATE

    @property
    def is_the_users(self) -> bool:
        """True if, by its message, the program is wrong and not the compiler."""
        return "Internal compiler error" not in self.says and bool(self.line)


@dataclass(frozen=True)
class Futhark:
    """The command, and a folder for the texts and programs that it compiles."""

    command: str
    folder: Path

    def write(self, files: dict[str, str], main: str, source: str) -> Path:
        """A program and what it imports, as they lie to each other."""
        for name, text in {**files, main: source}.items():
            path = self.folder / name.lstrip("/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return self.folder / main.lstrip("/")

    def check(self, path: Path) -> None:
        """Raises Refusal where it does not accept a program."""
        self._run("check", str(path))

    def compiled(self, path: Path) -> Path:
        """The executable of a program. Raises Refusal where there is none."""
        binary = path.with_suffix("")
        self._run("c", str(path), "-o", str(binary))
        return binary

    def interpreted(self, path: Path, entry: str, args: Sequence[Value], seconds: float) -> Outcome:
        """Run an entry point by Futhark's interpreter; return its results or its failure."""
        text = "\n".join(map(show, args))
        command = [self.command, "run", "-w", "-e", entry, str(path)]
        try:
            done = subprocess.run(
                command, input=text, capture_output=True, text=True, timeout=seconds
            )
        except subprocess.TimeoutExpired:
            return TimeoutError_("The program did not finish.")
        if done.returncode:
            return RuntimeError_(_kind(done.stderr))
        return parse(done.stdout)

    def _run(self, *words: str) -> None:
        environment = {**os.environ, "CFLAGS": "-O0"}
        try:
            done = subprocess.run(
                [self.command, *words],
                capture_output=True,
                text=True,
                timeout=COMPILE_SECONDS,
                env=environment,
            )
        except subprocess.TimeoutExpired:
            raise Refusal(LATE, 0) from None
        if done.returncode:
            found = _WHERE.search(done.stderr)
            said = done.stderr[found.start() :] if found else done.stderr
            said = said.partition("For more information")[0].partition("If you find")[0]
            said = said.replace(str(self.folder), "")
            raise Refusal(" ".join(said.split())[:600], int(found[1]) if found else 0)


def run(binary: Path, entry: str, args: Sequence[Value], seconds: float, most: int) -> Outcome:
    """Run an entry point of a binary within `seconds` and `most` bytes.

    Return results or failure.
    """

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    try:
        done = subprocess.run(
            [str(binary), "-e", entry, "-b"],
            input=to_binary(args),
            capture_output=True,
            timeout=seconds,
            preexec_fn=limited,
        )
    except subprocess.TimeoutExpired:
        return TimeoutError_("The program did not finish.")
    said = done.stderr.decode(errors="replace")
    if done.returncode < 0:
        name = signal.Signals(-done.returncode).name
        return RuntimeError_(f"crashed ({name}) {said[:200]}")
    if done.returncode:
        return RuntimeError_(_kind(said.rpartition(": Error: ")[2]))
    try:
        return list(from_bytes(done.stdout))
    except InputError as error:  # an array without elements, of sizes that nobody takes
        return RuntimeError_(f"memory: {error.message}")


def _kind(said: str) -> str:
    """Classify a failure: our kind of it, then Futhark's message."""
    if re.search(r"[Ff]ailed to allocate|[Oo]ut of memory", said):
        return "memory: it was not given enough"
    kind = next((kind for kind, words in _KINDS if re.search(words, said)), "error")
    return f"{kind}: {' '.join(said.split())[:200]}"
