"""Compare the results of public programs with their own tests and with Futhark's results.

    python -m bench.computed FOLDER [--kind tests|beside] [--every N] [--seconds N]

FOLDER is that of `bench.public`. Of a program with test blocks these are run, as `stridescope test`
does. Of another one each entry point is given random inputs, three times, and what our C gives is
compared with what Futhark's gives, if both are there within `--seconds` (its compilers have four
times that): Futhark has to be on the PATH. Entry points that take or give other values than arrays
and scalars are left out, since Futhark neither reads nor writes them. `--every` takes each n-th
program of a kind; of a kind that is not asked for, what an earlier run found is kept.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bench.machine import RESULTS, ROOT, describe, save
from bench.public import LIST
from compiler.base.errors import CompileError, Limitation
from compiler.base.stack import with_deep_stack
from compiler.driver import api
from compiler.driver.disk import read_program
from compiler.frontend.types import Array, PrimT, Type
from compiler.ir import random_values
from compiler.ir.values import Value, from_bytes, to_binary
from compiler.protocol.kinds import OfProgram
from compiler.testing.compare import difference

TRIES: tuple[tuple[int, int | None], ...] = ((1, None), (2, 4), (3, 1))
"""A seed, and what all sizes and whole numbers are; None: as they are drawn."""
KINDS = ("tests", "beside")
EQUAL, FAIL = "equal", "both fail"
RIGHT = ("passed", "skipped", "unchecked", EQUAL, FAIL)
TESTS = re.compile(r"^[ \t]*-- ==[ \t]*$", re.MULTILINE)
ENTRIES = re.compile(r"^[ \t]*(entry\b|(def|let)[ \t]+main\b)", re.MULTILINE)


def kind(source: str) -> str:
    """`tests` for a program with test blocks, `beside` for another one with entry points."""
    if TESTS.search(source):
        return "tests"
    return "beside" if ENTRIES.search(source) else ""


def beside(path: Path, seconds: float) -> dict[str, str]:
    """By entry point, what comparing with Futhark came to; in one word where that is `EQUAL`."""
    os.chdir(path.parent)
    program = read_program(path.name)
    asked = OfProgram(program.source, {}, program.files, program.main)
    try:
        entries = [e.name for e in api.compilation(asked).result("typed").prog.entries]
    except CompileError as error:
        return {"": f"not compared: refused: {error.message}"}
    with tempfile.TemporaryDirectory() as folder:
        binary = Path(folder) / "futhark"
        if said := _compiled(path, binary, seconds):
            return dict.fromkeys(entries, said)
        return {name: _entry(asked, name, binary, seconds) for name in entries}


def _compiled(path: Path, binary: Path, seconds: float) -> str:
    """Compile with Futhark; why that is not there, if it is not."""
    command = [shutil.which("futhark") or "futhark", "c", path.name, "-o", str(binary)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=4 * seconds)
    except subprocess.TimeoutExpired:
        return f"not compared: Futhark's compilers take more than {4 * seconds:g} s"
    if done.returncode:
        return f"not compared: Futhark does not compile it: {done.stderr[:200].decode()!r}"
    return ""


def _entry(asked: OfProgram, name: str, binary: Path, seconds: float) -> str:
    """Compare an entry point on random inputs; return the outcome."""
    try:
        outside = api.outside(asked, name)
        if not all(map(_plain, (*outside.params, *outside.results))):
            return "not compared: it takes or gives values that Futhark does not write"
        names = {*random_values.whole_numbers(outside.fun)}
        names |= api.random_inputs(asked, name, {}, 1).sizes.keys()
        found = set()
        for seed, size in TRIES:
            given = {} if size is None else dict.fromkeys(names, size)
            inputs = api.random_inputs(asked, name, given, seed).values
            outcome = _once(asked, name, inputs, binary, seconds)
            if outcome not in (EQUAL, FAIL):
                return f"{outcome} (seed {seed}, sizes {size})"
            found.add(outcome)
        return EQUAL if EQUAL in found else FAIL
    except Limitation as error:
        return f"not compared: {error.message}"
    except CompileError as error:
        return f"not compared: {type(error).__name__}: {error.message}"


def _plain(of: Type) -> bool:
    return isinstance(of, PrimT) or (isinstance(of, Array) and isinstance(of.elem, PrimT))


def _once(asked: OfProgram, name: str, inputs: list[Value], binary: Path, seconds: float) -> str:
    """Compare one run with Futhark's; return the outcome."""
    command = [str(binary), "-e", name, "-b"]
    try:
        done = subprocess.run(
            command, input=to_binary(inputs), capture_output=True, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return f"not compared: Futhark takes more than {seconds:g} s"
    said = "" if not done.returncode else done.stderr.decode(errors="replace").strip()[:200]
    try:
        ours: list[Value] = api.run_values(asked, name, inputs, "c", "", seconds)["values"]
    except CompileError as error:
        if error.kind == "timeout":
            return f"not compared: we take more than {seconds:g} s"
        return FAIL if done.returncode else f"differs: ours fails: {error.message}"
    if done.returncode:
        return f"differs: Futhark's fails: {said}"
    wrong = difference(ours, list(from_bytes(done.stdout)))
    return f"differs: {wrong['says']}" if wrong else EQUAL


def tests(path: Path, seconds: float) -> dict[str, str]:
    """By test what became of it: `passed`, `skipped`, `unchecked`, or that it failed, and why."""
    command = [sys.executable, "-m", "compiler", "test", "--json", "--any-error", "--jobs", "1"]
    done = subprocess.run(
        [*command, "--deadline", f"{seconds:g}", str(path)], capture_output=True, text=True
    )
    if not done.stdout:
        return {"": f"failed: {done.stderr[-300:]}"}
    (program,) = json.loads(done.stdout)["programs"]
    if "error" in program:
        return {"": f"failed: {program['error']['message']}"}
    return {
        f"{case['src'][0]} {case['entry']} {case['name']}".strip()[:80]: _told(case)
        for case in program["cases"]
    }


def _told(case: Mapping[str, Any]) -> str:
    """Return the outcome of a test.

    Without its file of values, or refused, it is `not compared`.
    """
    if case["outcome"] != "failed":
        return str(case["outcome"])
    left = case.get("error", {}).get("kind") in ("usage", "limitation")
    return f"{'not compared' if left else 'failed'}: {case['because'][:300]}"


def chosen(
    folder: Path, listed: Mapping[str, Any], kinds: Sequence[str], every: int
) -> Iterator[tuple[str, str, str]]:
    """The repository, path and kind of programs that are there, each n-th of a kind."""
    seen: Counter[str] = Counter()
    for repository, entry in listed.items():
        for path in entry["programs"]:
            file = folder / repository / path
            if not file.is_file():
                continue
            of = kind(file.read_text("utf-8", errors="replace"))
            seen[of] += 1
            if of in kinds and seen[of] % every == 0:
                yield repository, path, of


def measure(
    folder: Path, programs: Iterable[tuple[str, str, str]], seconds: float
) -> dict[str, Any]:
    """By kind, what the tests or comparisons of programs came to, and all that was not right."""
    return [{}, *measuring(folder, programs, seconds)][-1]


def measuring(
    folder: Path, programs: Iterable[tuple[str, str, str]], seconds: float
) -> Iterator[dict[str, Any]]:
    """As `measure`, after each program: it has a process of its own, and ten times `seconds`."""
    found: dict[str, Any] = {}
    for repository, path, of in programs:
        kept = found.setdefault(of, {"version": describe()["commit"], "counts": {}, "others": {}})
        counts: Counter[str] = Counter({"programs": 1})
        for what, outcome in _outcomes(folder / repository / path, seconds).items():
            right = outcome in RIGHT
            counts[outcome if right else outcome.partition(":")[0]] += 1
            if not right:
                name = f"{repository}/{path} {what}".strip()
                kept["others"][name] = outcome
                print(f"{name}: {outcome}", flush=True)
        kept["counts"] = dict(Counter(kept["counts"]) + counts)
        yield found


def _outcomes(path: Path, seconds: float) -> dict[str, str]:
    """Run the tests or comparisons of a program in a process of its own; return their outcomes."""
    command = [sys.executable, "-m", "bench.computed", str(path), "--seconds", f"{seconds:g}"]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=10 * seconds
        )
    except subprocess.TimeoutExpired:
        return {"": f"not compared: all of it takes more than {10 * seconds:g} s"}
    if done.returncode:
        return {"": f"failed: {done.stderr.strip()[-300:]}"}
    outcomes: dict[str, str] = json.loads(done.stdout)
    return outcomes


def main() -> None:
    """The command line; for a program alone its outcomes as JSON."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kind", choices=KINDS, action="append", help="default: both")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=30.0)
    args = parser.parse_args()
    folder: Path = args.folder.resolve()
    if folder.is_file():
        one = tests if kind(folder.read_text("utf-8", errors="replace")) == "tests" else beside
        with_deep_stack(lambda: print(json.dumps(one(folder, args.seconds))))
        return
    some = chosen(folder, json.loads(LIST.read_text()), args.kind or KINDS, args.every)
    kept = RESULTS / "computed.json"
    figures = json.loads(kept.read_text())["figures"] if kept.exists() else {}
    for found in measuring(folder, some, args.seconds):  # it takes hours: what there is is kept
        figures |= found
        save("computed", "python -m bench.computed FOLDER", figures)


if __name__ == "__main__":
    main()
