"""`python -m bench.peer_bytes`: bytes that kernels fetch and write, ours and Futhark's, on a CPU.

    python -m bench.peer_bytes [--suite FOLDER] [--only NAME] [--look-back] [--checked] [--kernels]
                               [--save NAME] [--table NAME]

Futhark is on the PATH. Its CUDA programs run under the observer as ours do (`bench/peer`), on the
same inputs, and must give the same. Bytes are sectors of 32, for each request of a warp; a copy
that the host has made of a block of memory is read and written once. Ours is the version that the
default thresholds choose, and the one with the least bytes of that and those with as little and as
much parallelism as there is.

FOLDER is a clone of the futhark-benchmarks, with the packages of each; `bench/peer/inputs.txt` says
which of them run, on which inputs. With `--look-back` our scans are one pass. Both compilers heed
`#[unsafe]` and `#[scratch]`; with `--checked` ours does not.

With `--save` each program is saved as soon as it is counted. With `--only` what was saved of others
stays, so that programs can be counted in parts: `counted` tells when each was, and of which commit.
`--table` counts nothing: it prints the table of what is saved under that name.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench import accesses, machine
from bench.peer import build
from compiler.base.errors import CompileError
from compiler.base.stack import with_deep_stack
from compiler.base.text import plain
from compiler.codegen.cuda.program import split
from compiler.driver import api
from compiler.driver.disk import read_program
from compiler.ir.values import Value, from_bytes, to_binary
from compiler.protocol.kinds import OfProgram
from compiler.runtime.device_process import observe
from compiler.runtime.observer.records import Observation
from compiler.testing import inputs
from compiler.testing.compare import same

SECTOR = 32
INPUTS = Path(__file__).parent / "peer" / "inputs.txt"
SECONDS = 60.0
MOST_SHOWN = 27
"""Characters of a program's inputs that its name has less of; longer ones are left out."""
SIZES = {
    "row sums": {"n": 4096, "m": 256},
    "row scans": {"n": 4096, "m": 256},
    "softmax of rows": {"n": 2048, "m": 256},
    "column sums": {"n": 4096, "m": 256},
    "transposition": {"n": 1024, "m": 1024},
    "matrix multiplication": {"n": 256, "m": 256, "p": 256},
    "histogram of 256": {"n": 1 << 20},
    "scan": {"n": 1 << 20},
    "sum": {"n": 1 << 20},
    "filter": {"n": 1 << 20},
}
MORE = {"filter": "entry main [n] (xs: [n]i32): []i32 = filter (> 0) xs"}


@dataclass(frozen=True, slots=True)
class Bytes:
    """Bytes that kernels, or one of them, fetched and wrote, and the number of launches."""

    launches: int
    fetched: int
    written: int

    def __add__(self, other: Bytes) -> Bytes:
        """Both together."""
        return Bytes(
            self.launches + other.launches,
            self.fetched + other.fetched,
            self.written + other.written,
        )

    @property
    def all(self) -> int:
        """Fetched and written."""
        return self.fetched + self.written


HEAD = """\
| program | default: fetched + written | best | Futhark | launches | default | best |
|---|---|---|---|---|---|---|"""
Kernels = dict[str, Bytes]
NOTHING = Bytes(0, 0, 0)


@dataclass(frozen=True, slots=True)
class How:
    """Options of our compiler: scans in one pass; checks that a program drops are made.

    `apart`: a product and the sum that it goes into round, each.
    """

    look_back: bool = False
    checked: bool = False
    apart: bool = False


USUAL = How()


@dataclass(frozen=True, slots=True)
class Work:
    """An entry point of a program with inputs."""

    name: str
    asked: OfProgram
    path: Path
    entry: str
    inputs: list[Value]


def total(kernels: Kernels) -> Bytes:
    """All kernels together."""
    return sum(kernels.values(), NOTHING)


def text_of(work: Work, threshold: int | None, how: How) -> str:
    """The text of a code version of ours. Errors: of the program."""
    options: Any = {"target": "cuda", "entry": work.entry, "unsafe": not how.checked}
    options["enable"] = ["kernels/look-back"] * how.look_back
    options["disable"] = ["kernels/fma"] * how.apart
    if threshold is not None:
        flat = plain(api.compilation(replace(work.asked, options=options)).result("flat").text)
        names = re.findall(r'threshold\("(\w+)"', flat)
        options["thresholds"] = dict.fromkeys(names, threshold)
    return plain(api.compilation(replace(work.asked, options=options)).result("cuda").text)


def ours(text: str, work: Work) -> tuple[Kernels, list[Value]]:
    """The bytes and results of a text of ours. Errors: of its run."""
    seen = observe(text, work.entry, work.inputs, SECONDS)
    if seen.error:
        raise seen.error
    if seen.results is None:
        raise RuntimeError(f"ours: {seen.problems[0].says}")
    return _by_kernel(text, seen), seen.results


def _by_kernel(text: str, seen: Observation) -> Kernels:
    launches = [name for name, _ in seen.launches]
    found = {name: Bytes(launches.count(name), 0, 0) for name in launches}
    starts = [
        (number, head[1])
        for number, line in enumerate(split(text)[0].split("\n"), 1)
        if (head := re.search(r"__global__ void (\w+)\(", line))
    ]
    for site in seen.sites:
        if not site.shared and site.lanes:
            name = next((n for at, n in reversed(starts) if at <= site.line), "")
            much = round(site.sectors * site.visits / site.lanes) * SECTOR
            one = Bytes(0, 0, much) if site.kind == "writes" else Bytes(0, much, 0)
            found[name] = found.get(name, NOTHING) + one
    return found | {"copies": Bytes(0, seen.copied, seen.copied)}


def theirs(work: Work, folder: Path) -> tuple[Kernels, list[Value]]:
    """The bytes and results of Futhark's program. Raises RuntimeError where it does not run."""
    program, report = folder / "program", folder / "report"
    made = subprocess.run(
        ["futhark", "cuda", str(work.path), "-o", str(program)], capture_output=True, text=True
    )
    if made.returncode:
        raise RuntimeError(f"Futhark: {made.stderr[:300]}")
    done = subprocess.run(
        [str(program), "-e", work.entry, "-b"],
        input=to_binary(work.inputs),
        capture_output=True,
        timeout=2 * SECONDS,
        env={**os.environ, "PEER_REPORT": str(report)},
    )
    if done.returncode:
        raise RuntimeError(f"Futhark: {done.stderr.decode(errors='replace')[:300]}")
    rows = [line.split(" ") for line in report.read_text().splitlines()]
    found = {n: Bytes(int(k), int(r) * SECTOR, int(w) * SECTOR) for n, k, r, w in rows}
    return found, list(from_bytes(done.stdout))


def measure(work: Work, folder: Path, how: How = USUAL) -> dict[str, Kernels]:
    """The kernels of each version. Raises RuntimeError where they do not give the same."""
    peer, expected = theirs(work, folder)
    found = {"Futhark": peer}
    seen: dict[str, tuple[Kernels, list[Value]]] = {}
    for version, threshold in {"default": None, **accesses.VERSIONS}.items():
        text = text_of(work, threshold, how)
        if text not in seen:
            seen[text] = ours(text, work)
        found[version], results = seen[text]
        if not same(results, expected):
            raise RuntimeError(f"{version}: gives other results than Futhark")
    return found


def programs(folder: Path, only: str) -> Iterator[Work]:
    """Those of `bench.accesses`, and some more, with `only` in their names."""
    texts = {name: text for name, (text, _) in accesses.PROGRAMS.items()} | MORE
    for name, text in texts.items():
        if only not in name:
            continue
        values = api.random_inputs(OfProgram(text), "main", SIZES[name], seed=1).values
        path = folder / "one.fut"
        path.write_text(text)
        yield Work(name, OfProgram(text), path, "main", values)


def suite(folder: Path, only: str, listed: Sequence[str] = ()) -> Iterator[Work | tuple[str, str]]:
    """The programs of a folder of the futhark-benchmarks on the inputs of `inputs.txt`, or others.

    Those with `only` in their names; where one does not compile or its data are missing, its name,
    and why.
    """
    for line in listed or INPUTS.read_text().splitlines():
        program, entry, given = line.split(" ", 2)
        path = folder / f"{program}.fut"
        if only not in f"{program}:{entry}":
            continue
        shown = given if len(given) < MOST_SHOWN else ""
        name = f"{program}:{entry} {shown}".replace(":main", "").strip()
        try:
            read = read_program(path)
            asked = OfProgram(read.source, {"entry": entry}, files=read.files, main=read.main)
            yield Work(name, asked, path, entry, inputs_of(asked, path.parent, entry, given))
        except (CompileError, OSError, RecursionError) as error:
            yield name, str(error)


def inputs_of(asked: OfProgram, folder: Path, entry: str, given: str) -> list[Value]:
    """Those in a file, or random ones; `[9]i32<5` is 9 numbers from 0 to 4."""
    if given.startswith("@"):
        return api.inputs(asked, entry, inputs.unpacked((folder / given[1:]).read_bytes()))
    words = [word.partition("<") for word in given.split(" ")]
    values = inputs.random(" ".join(word for word, _, _ in words))
    return [
        np.mod(value, int(most)).astype(np.asarray(value).dtype) if most else value
        for value, (_, _, most) in zip(values, words, strict=True)
    ]


def row(name: str, found: dict[str, Kernels]) -> str:
    """A line of the table, in KiB; the last figures are ours as parts of Futhark's."""
    sums = {version: total(kernels) for version, kernels in found.items()}
    peer = sums.pop("Futhark")
    best = min(sums.values(), key=lambda one: one.all)
    cells = map(shown, (sums["default"], best, peer))
    launches = f"{best.launches}, {peer.launches}"
    parts = (f"{one.all / max(1, peer.all):.2f}" for one in (sums["default"], best))
    return f"| {name} | {' | '.join((*cells, launches, *parts))} |"


def shown(much: Bytes) -> str:
    """Fetched and written, in KiB."""
    return f"{much.fetched / 1024:,.0f} + {much.written / 1024:,.0f}"


def kernels_of(counted: dict[str, Any]) -> dict[str, Kernels]:
    """The versions of a program as they are saved."""
    return {
        version: {name: Bytes(**much) for name, much in kernels.items()}
        for version, kernels in counted.items()
    }


def table(name: str) -> list[str]:
    """The table's rows of what is saved under that name; of what failed, lines that say why."""
    saved = json.loads((machine.RESULTS / f"{name}.json").read_text())["figures"]
    return [
        f"| {program} | {counted.splitlines()[0]} |"
        if isinstance(counted, str)
        else row(program, kernels_of(counted))
        for program, counted in saved.items()
    ]


class Saved:
    """Figures saved program by program; `keeps` those of other programs, saved before."""

    def __init__(self, name: str, command: str, keeps: bool) -> None:
        self.name, self.command = name, command
        path = machine.RESULTS / f"{name}.json"
        old = json.loads(path.read_text()) if keeps and path.exists() else {}
        self.figures: dict[str, Any] = old.get("figures", {})
        self.counted: dict[str, str] = old.get("counted", {})

    def add(self, program: str, found: Any) -> None:
        """Add the figures of a program, or the reason why it has none."""
        told = machine.describe()
        self.figures[program] = found
        self.counted[program] = f"{told['date']} {told['commit']}"
        machine.save(self.name, self.command, self.figures, counted=self.counted)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", type=Path, help="a clone of the futhark-benchmarks")
    parser.add_argument("--only", default="", help="only programs with this in their name")
    parser.add_argument("--look-back", action="store_true", help="scans in one pass")
    parser.add_argument("--checked", action="store_true", help="ours drop no checks")
    parser.add_argument("--kernels", action="store_true", help="print each kernel's bytes")
    parser.add_argument("--save", metavar="NAME", help="save as bench/results/NAME.json")
    parser.add_argument(
        "--table", metavar="NAME", help="print the table of bench/results/NAME.json"
    )
    asked = parser.parse_args()
    if asked.table:
        print("\n".join([HEAD, *table(asked.table)]))
        return
    with tempfile.TemporaryDirectory(prefix="peer-") as name:
        folder = Path(name)
        os.environ.update(build.libraries(folder))
        with_deep_stack(lambda: _tell(asked, folder))


def _tell(asked: argparse.Namespace, folder: Path) -> None:
    print(HEAD)
    command = shlex.join(_command(asked))
    saved = Saved(asked.save, command, bool(asked.only)) if asked.save else None
    works = suite(asked.suite, asked.only) if asked.suite else programs(folder, asked.only)
    for one in works:
        if isinstance(one, tuple):
            if saved:
                saved.add(*one)
            print(f"| {one[0]} | {one[1].splitlines()[0]} |", flush=True)
            continue
        try:
            found = measure(one, folder, How(asked.look_back, asked.checked))
        except (CompileError, RuntimeError, subprocess.TimeoutExpired) as error:
            if saved:
                saved.add(one.name, str(error))
            print(f"| {one.name} | {(str(error).splitlines() or [''])[0]} |", flush=True)
            continue
        if saved:
            figures = {
                version: {name: asdict(k) for name, k in kernels.items()}
                for version, kernels in found.items()
            }
            saved.add(one.name, figures)
        print(row(one.name, found), flush=True)
        if asked.kernels:
            for version, kernels in found.items():
                for name, k in kernels.items():
                    print(f"    {version:10} {name}: {k.launches}, {k.fetched:,} + {k.written:,}")


def _command(asked: argparse.Namespace) -> list[str]:
    """Return the command that makes all figures again, wherever the programs lie."""
    suite = ["--suite", asked.suite.resolve().name] if asked.suite else []
    how = ["--look-back"] * asked.look_back + ["--checked"] * asked.checked
    return ["python", "-m", "bench.peer_bytes", *suite, *how, "--save", asked.save]


if __name__ == "__main__":
    main()
