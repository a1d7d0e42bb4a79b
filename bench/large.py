"""Which programs of folders take longest to compile, next to Futhark's own compiler.

    python -m bench.large FOLDER..

Ours is a warm process, all stages to C and CUDA text with all proofs. Each program has a process
of its own, which compiles it three times if the first takes more than half the goal; the least
counts. Futhark's is its process from start to end, up to the text that it generates (`--library`),
for programs above the goal. Packages, in folders `lib`, are left out, and so are files without an
entry point.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.compile import once
from bench.futhark import library_ms
from bench.machine import save, words
from compiler.base.context import Options
from compiler.base.errors import CompileError
from compiler.disk import read_program
from compiler.pipeline import Compilation
from compiler.worker import seldom_look_for_garbage, with_deep_stack

GOAL = 1000
"""Milliseconds."""
SECONDS = 150
WARM = "def main (xs: []i32) = i32.sum (map (+ 1) xs)"


def told(path: Path) -> dict[str, Any]:
    """Lines and the least milliseconds of a program, or why there are none; {}: no entry point."""
    once(WARM)
    try:
        program = read_program(path)
        options = Options(files=tuple(program.files.items()), main=program.main)
        if not Compilation(program.source, options).result("typed").prog.entries:
            return {}
        runs = [once(program.source, options)]
        while len(runs) < 3 and runs[0]["total"] > GOAL / 2:
            runs.append(once(program.source, options))
    except CompileError as error:
        return {"refused": f"{error.kind}: {error.message}"}
    lines = sum(len(text.splitlines()) for text in (program.source, *program.files.values()))
    return {"lines": lines, "total_ms": round(min(run["total"] for run in runs), 1)}


def measured(path: Path) -> dict[str, Any]:
    """What a process of its own tells of a program."""
    command = [sys.executable, "-m", "bench.large", "--one", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return {"refused": f"takes more than {SECONDS} s"}
    if done.returncode:
        return {"refused": (done.stderr.strip().splitlines() or ["no answer"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout)
    if found.get("total_ms", 0) > GOAL:
        for backend in ("c", "cuda"):
            took = library_ms(backend, path)
            if took is not None:
                found[f"futhark_{backend}_ms"] = round(took, 1)
    return found


def main() -> None:
    """The command line."""
    if sys.argv[1:2] == ["--one"]:
        seldom_look_for_garbage()
        with_deep_stack(lambda: print(json.dumps(told(Path(sys.argv[2])))))
        return
    figures: dict[str, Any] = {}
    folders = [Path(word) for word in words(__doc__, "FOLDER")]
    for folder in folders:
        for path in sorted(folder.rglob("*.fut")):
            inside = path.relative_to(folder).parts
            found = {} if "lib" in inside else measured(path)
            if found:
                figures[str(path.relative_to(folder).with_suffix(""))] = found
                print(path, found, flush=True)
    given = " ".join(folder.name for folder in folders)
    save("large", f"python -m bench.large {given}", figures, load=round(os.getloadavg()[2], 1))


if __name__ == "__main__":
    main()
