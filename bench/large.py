"""List the programs of folders that take longest to compile, next to Futhark's own compiler.

    python -m bench.large FOLDER        what was saved of other folders is kept
    python -m bench.large FOLDER ours   Futhark's compiler is left out

Ours is CPU time of a warm process, all stages to C and CUDA text with all proofs, printed. Each
program has a process of its own, which compiles it three times if the first takes more than half
the goal; the least counts. Futhark's is its process from start to end, up to the text that it
generates (`--library`), for programs above the goal. Packages, in folders `lib`, are left out, and
so are files without an entry point.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections import Counter
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from bench.compile import once
from bench.futhark import library_ms
from bench.machine import RESULTS, describe, save, words
from compiler.base.context import Options
from compiler.base.errors import CompileError
from compiler.base.stack import seldom_look_for_garbage, with_deep_stack
from compiler.driver.disk import read_program
from compiler.driver.pipeline import Compilation

GOAL = 1000
"""Milliseconds."""
SECONDS = 150
WARM = "def main (xs: []i32) = i32.sum (map (+ 1) xs)"


def told(path: Path) -> dict[str, Any]:
    """Lines and the least milliseconds of a program, or why there are none; {}: no entry point."""
    try:
        program = read_program(path)
        options = Options(files=tuple(program.files.items()), main=program.main)
        if not Compilation(program.source, options).result("typed").prog.entries:
            return {}
        runs = [_cpu_ms(program.source, options)]
        while len(runs) < 3 and runs[0] > GOAL / 2:
            runs.append(_cpu_ms(program.source, options))
    except CompileError as error:
        return {"refused": error.kind, "message": error.message}
    lines = sum(len(text.splitlines()) for text in (program.source, *program.files.values()))
    return {"lines": lines, "total_ms": round(min(runs), 1)}


def _cpu_ms(source: str, options: Options) -> float:
    start = time.process_time()
    once(source, options)
    return (time.process_time() - start) * 1000


def measured(path: Path, futhark: bool = True) -> dict[str, Any]:
    """Measure a program in a process of its own, and the slow ones by Futhark as well."""
    context = get_context("fork")
    answers, answer = context.Pipe(duplex=False)
    process = context.Process(target=_tell, args=(path, answer))
    process.start()
    answer.close()
    try:
        found: dict[str, Any] = (
            answers.recv() if answers.poll(SECONDS) else {"refused": f"more than {SECONDS} s"}
        )
    except EOFError:
        found = {"refused": "no answer"}
    process.kill()
    process.join()
    if futhark and found.get("total_ms", 0) > GOAL:
        for backend in ("c", "cuda"):
            took = library_ms(backend, path)
            if took is not None:
                found[f"futhark_{backend}_ms"] = round(took, 1)
    return found


def _tell(path: Path, answer: Connection) -> None:
    with_deep_stack(lambda: answer.send(told(path)))


def summary(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Summarise the programs of a folder, and list those that take more than the goal."""
    times = {name: one["total_ms"] for name, one in found.items() if "total_ms" in one}
    above = sorted((name for name, ms in times.items() if ms > GOAL), key=lambda n: -times[n])
    return {
        "compiled": len(times),
        "refused": dict(Counter(one["refused"] for one in found.values() if "refused" in one)),
        "median_ms": round(statistics.median(times.values()), 1) if times else None,
        "above": {name: found[name] for name in above},
    }


def main() -> None:
    """The command line."""
    seldom_look_for_garbage()
    once(WARM)
    given = words(__doc__, "FOLDER")
    if not given:
        raise SystemExit("Say which folder.")
    root = Path(given[0])
    found: dict[str, dict[str, Any]] = {}
    for path in sorted(root.rglob("*.fut")):
        inside = path.relative_to(root)
        one = {} if "lib" in inside.parts else measured(path, "ours" not in given[1:])
        if one:
            found[str(inside.with_suffix(""))] = one
            print(path, one, flush=True)
    saved = RESULTS / "large.json"
    figures = json.loads(saved.read_text())["figures"] if saved.exists() else {}
    machine = {**describe(), "load": round(os.getloadavg()[2], 1)}
    figures[root.name] = {"machine": machine, **summary(found)}
    save("large", "python -m bench.large FOLDER", figures)


if __name__ == "__main__":
    main()
