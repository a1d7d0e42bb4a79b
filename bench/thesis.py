"""Tables 6.1 to 6.7 of the thesis: its seven programs without and with short-circuiting.

    python -m bench.thesis FOLDER [NAME ..] [--counts]

FOLDER is a clone of https://github.com/diku-dk/futhark-mem-sc22, whose programs are of 2022: names
and forms that Futhark has no more are put in their place. Each program is compiled to C with and
without the pass, and run in turns, on inputs that are smaller than those of the thesis where these
take a GPU; with a device, CUDA is run as well. Times are medians. Copies, allocations and the peak
are counted by the program. Beside that stand how many arrays are built in their places, for C and
for CUDA, how many allocations the program text has at the end, and Futhark's where it is found.
Each program is saved when it has been measured: with NAMEs, figures of others stay. With `--counts`
nothing is run: what is counted in the texts is counted anew, and all times stay.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench.machine import RESULTS, describe, save
from bench.short_circuit import counted
from compiler.base.context import Options
from compiler.base.stack import with_deep_stack
from compiler.base.text import plain
from compiler.driver.disk import read_program
from compiler.driver.pipeline import Compilation
from compiler.driver.targets import BY_ID as BACK_ENDS
from compiler.ir import nodes as ir
from compiler.ir.values import Value
from compiler.ir.walk import all_stms
from compiler.protocol.kinds import OfProgram
from compiler.testing import cases
from compiler.testing.compare import same
from compiler.testing.suite import beside

WITHOUT = frozenset(("shortcircuit",))
ROUNDS = 5
BATCH_MS = 400.0
MOST_RUNS = 20
OLD_NAMES = {
    "concat_to": "[n] [m] 't (k: i64) (xs: [n]t) (ys: [m]t): *[k]t = concat xs ys :> [k]t",
    "flatten_to": "[n] [m] 't (k: i64) (rows: [n][m]t): *[k]t = copy (flatten rows :> [k]t)",
    "map_stream": "[n] 'a 'b (f: (k: i64) -> [k]a -> [k]b) (xs: [n]a): *[n]b = copy (f n xs)",
    "unflatten": "[k] 't (n: i64) (m: i64) (xs: [k]t): [n][m]t = unflatten (xs :> [n * m]t)",
}
"""Definitions of the library as it was."""
Inputs = Callable[[Path, np.random.Generator], list[Value]]


@dataclass(frozen=True, slots=True)
class Original:
    """A program of the thesis: its table, file, what it is run on here, and what was printed."""

    table: str
    path: str
    words: str
    inputs: Inputs
    printed: str
    """Impact of the pass, by data set, on an A100 and an MI100."""


def _table(rng: np.random.Generator, blocks: int) -> list[Value]:
    side = 64 * blocks + 1
    parts = [rng.integers(-9, 10, side * side).astype(np.int32) for _ in range(2)]
    return [np.int32(10), *parts]


def _matrix(rng: np.random.Generator, blocks: int) -> list[Value]:
    cells = rng.random((blocks, blocks, 32, 32), np.float32)
    for k in range(blocks):
        cells[k, k] += 32 * blocks * np.eye(32, dtype=np.float32)
    return [cells]


def _plate(rng: np.random.Generator, side: int) -> list[Value]:
    return [np.int32(10), *(rng.random((side, side), np.float32) for _ in range(2))]


def _records(rng: np.random.Generator, count: int) -> list[Value]:
    places = (rng.random(count, np.float32) for _ in range(2))
    return [np.int64(100), np.float32(30), np.float32(90), *places]


def _test(number: int, path: str) -> Inputs:
    """The input of one of the program's tests."""

    def read(folder: Path, _: np.random.Generator) -> list[Value]:
        file = folder / path
        source, files = updated(file)
        asked = OfProgram(source, {}, dict(files), str(file))
        manner = cases.Manner("c", load=beside(file))
        return cases.prepared(asked, cases.spec(source).cases[number], manner)

    return read


def _steps(number: int, path: str, steps: int) -> Inputs:
    """The same with another number of steps, which comes first."""

    def read(folder: Path, rng: np.random.Generator) -> list[Value]:
        return [np.int64(steps), *_test(number, path)(folder, rng)[1:]]

    return read


NW, LUD, HOTSPOT, LBM, OPTIONS, VOLATILITY, NN = (
    f"benchmarks/{name}/futhark/{name}.fut"
    for name in ("nw", "lud", "hotspot", "lbm", "OptionPricing", "LocVolCalib", "nn")
)
ORIGINALS = {
    "NW": Original(
        "6.1",
        NW,
        "a table of 2049^2 cells",
        lambda _, rng: _table(rng, 32),
        "1.17, 1.24, 1.31 and 1.24, 1.21, 1.13",
    ),
    "LUD": Original(
        "6.2",
        LUD,
        "a matrix of 1024^2",
        lambda _, rng: _matrix(rng, 32),
        "1.25, 1.29, 1.32 and 1.19, 1.32, 1.39",
    ),
    "Hotspot": Original(
        "6.3",
        HOTSPOT,
        "10 steps on 2048^2 cells",
        lambda _, rng: _plate(rng, 2048),
        "1.78, 2.04, 2.05 and 1.96, 1.97, 1.98",
    ),
    "LBM": Original(
        "6.4", LBM, "its short data, 3 steps", _steps(0, LBM, 3), "1.09, 1.10 and 1.59, 1.60"
    ),
    "OptionPricing": Original(
        "6.5", OPTIONS, "its medium data", _test(0, OPTIONS), "1.03, 1.21 and 1.12, 1.14"
    ),
    "LocVolCalib": Original(
        "6.6",
        VOLATILITY,
        "its small data",
        _test(0, VOLATILITY),
        "1.08, 1.07, 1.08 and 1.12, 1.06, 1.04",
    ),
    "NN": Original(
        "6.7",
        NN,
        "855,280 records, the 100 nearest",
        lambda _, rng: _records(rng, 855_280),
        "1.55, 1.22, 1.05 and 1.34, 1.18, 1.09",
    ),
}


# --- programs of 2022 ---


def updated(path: Path) -> tuple[str, tuple[tuple[str, str], ...]]:
    """A program as Futhark is today, and what it imports."""
    read = read_program(path)
    files = tuple((name, curried(text)) for name, text in sorted(read.files.items()))
    source = curried(read.source)
    old = [f"def {name} {rest}" for name, rest in OLD_NAMES.items() if f"{name} " in source]
    return "\n".join([*old, "", source]), files


_HEAD = re.compile(r"(?:let|def) (\w+)((?: ?\[\w+\])*)\s*(?=\()")


def curried(source: str) -> str:
    """Intrinsics, and functions that consume a part of a tuple, take one argument after another."""
    names = {r"intrinsics\.\w+"}
    for found in _HEAD.finditer(source):
        inside = _inside(source, found.end())
        if "*" in inside and len(_parts(inside)) > 1:
            names.add(re.escape(found[1]))
    return _with_arguments(source, names)


def _with_arguments(source: str, names: set[str]) -> str:
    calls = re.compile(rf"\b(?:{'|'.join(sorted(names))})(?: ?\[\w+\])*\s*(?=\()")
    made, at = "", 0
    while found := calls.search(source, at):
        inside = _inside(source, found.end())
        parts = _parts(inside)
        made += source[at : found.end()].rstrip()
        if len(parts) > 1:
            made += "".join(f" ({part})" for part in parts)
        else:
            made += f" ({inside})"
        at = found.end() + len(inside) + 2
    return made + source[at:]


def _inside(source: str, at: int) -> str:
    """Return the text between the parenthesis at a place and its partner."""
    depth = 0
    for end in range(at, len(source)):
        depth += {"(": 1, ")": -1}.get(source[end], 0)
        if not depth:
            return source[at + 1 : end]
    return source[at + 1 :]


def _parts(text: str) -> list[str]:
    """Split a text at commas outside of all brackets."""
    depth, parts = 0, [""]
    for char in text:
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(char, 0)
        if char == "," and not depth:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


# --- figures ---


def compilation(folder: Path, one: Original, target: str, disabled: frozenset[str]) -> Compilation:
    """The program on its way, with all its checks."""
    source, files = updated(folder / one.path)
    main = str(folder / one.path)
    options = Options(entry="main", target=target, disabled=disabled, files=files, main=main)
    return Compilation(source, options)


def attempts(work: Compilation) -> tuple[int, int]:
    """Return the number of arrays built in place, and of those that are not."""
    work.result("shortcircuit")
    rules = tuple(f"shortcircuit/{rule}" for rule in ("concat", "copy", "kernel-result", "update"))
    found = [remark.kind == "applied" for remark in work.remarks() if remark.rule in rules]
    return sum(found), len(found) - sum(found)


def allocations(work: Compilation) -> int:
    """Return the number of allocations in the final program."""
    stms = (stm for fun in work.result("merged").prog.funs for stm in all_stms(fun.body.stms))
    return sum(isinstance(stm.exp, ir.Alloc) for stm in stms)


def theirs(folder: Path, one: Original) -> int | None:
    """Return the number of Futhark's allocations; None without Futhark."""
    if shutil.which("futhark") is None:
        return None
    source, files = updated(folder / one.path)
    with tempfile.TemporaryDirectory() as made:
        main = Path(made, Path(one.path).name)
        # Only `main` counts, as on our side.
        main.write_text(re.sub(r"^entry ", "def ", source, flags=re.M), "utf-8")
        for name, text in files:
            Path(made, Path(name).name).write_text(text, "utf-8")
        command = ["futhark", "dev", "--gpu-mem", str(main)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.count("alloc(") if done.returncode == 0 else None


def recounted(folder: Path, one: Original, known: dict[str, Any]) -> dict[str, Any]:
    """Known figures of a program, with what is counted in its texts anew."""
    figures = {**known, "futhark_allocations": theirs(folder, one)}
    for target in ("c", "cuda"):
        figures[target] = {**known[target], **counts(folder, one, target)}
    return figures


def counts(folder: Path, one: Original, target: str) -> dict[str, Any]:
    """Return the counts for one program."""
    work = compilation(folder, one, target, frozenset())
    done, left = attempts(work)
    return {"built": done, "left": left, "allocations": allocations(work)}


def measure(folder: Path, one: Original) -> dict[str, Any]:
    """The figures of one program."""
    inputs = one.inputs(folder, np.random.default_rng(6))
    figures: dict[str, Any] = {
        "table": one.table,
        "input": one.words,
        "printed": one.printed,
        "futhark_allocations": theirs(folder, one),
    }
    for target in ("c", "cuda"):
        figures[target] = counts(folder, one, target)
        if not BACK_ENDS[target].missing():
            figures[target] |= timed(folder, one, target, inputs)
    return figures


def timed(folder: Path, one: Original, target: str, inputs: list[Value]) -> dict[str, Any]:
    """Medians without and with the pass, taken in turns, and what the programs count."""
    back_end = BACK_ENDS[target]
    texts = {
        key: compilation(folder, one, target, disabled).result(target).text
        for key, disabled in (("without", WITHOUT), ("with", frozenset[str]()))
    }
    first = {key: back_end.run(text, "main", inputs, 600.0, 2) for key, text in texts.items()}
    if not same(first["with"].values, first["without"].values):
        raise SystemExit(f"{one.path}: the results differ")
    times: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(ROUNDS):
        for key, text in texts.items():
            runs = min(MOST_RUNS, max(1, int(BATCH_MS / first[key].ms))) + 1
            times[key] += back_end.run(text, "main", inputs, 600.0, runs).times[1:]
    found: dict[str, Any] = {f"{k}_ms": round(statistics.median(t), 3) for k, t in times.items()}
    found["impact"] = round(
        statistics.median(times["without"]) / statistics.median(times["with"]), 2
    )
    if target == "c":
        for key, text in texts.items():
            found[key] = counted(plain(text), "main", inputs)
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="FOLDER", type=Path)
    parser.add_argument("names", metavar="NAME", nargs="*", help=", ".join(ORIGINALS))
    parser.add_argument("--counts", action="store_true", help="count anew, run nothing")
    given = parser.parse_args()
    if unknown := set(given.names) - ORIGINALS.keys():
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    with_deep_stack(lambda: _all(given.folder, given.names or list(ORIGINALS), given.counts))


def _all(folder: Path, names: Sequence[str], only_counts: bool) -> None:
    """Measure programs, and save each; figures of others stay."""
    path = RESULTS / "thesis.json"
    known = json.loads(path.read_text())["figures"] if path.exists() else {}
    if only_counts:
        data = json.loads(path.read_text())
        for name in known.keys() & set(names):
            known[name] = recounted(folder, ORIGINALS[name], known[name])
            print(name, known[name], flush=True)
        counted_at = describe()["commit"]
        data |= {"counted": counted_at, "figures": {k: known[k] for k in ORIGINALS if k in known}}
        path.write_text(json.dumps(data, indent=2) + "\n")
        return
    for name in names:
        known[name] = measure(folder, ORIGINALS[name])
        print(name, known[name], flush=True)
        figures = {one: known[one] for one in ORIGINALS if one in known}
        busy = os.getloadavg()[0] > 2 * len(os.sched_getaffinity(0))
        save("thesis", "python -m bench.thesis FOLDER", figures, busy=busy)


if __name__ == "__main__":
    main()
