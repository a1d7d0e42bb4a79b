"""Run random programs in the kernel IR or as CUDA text, and watch each access, by the thousand.

    python -m bench.kernels --programs 2000 --seed 0
    python -m bench.kernels --programs 500 --all --save
    python -m bench.kernels --programs 500 --text
    python -m bench.kernels --programs 500 --c --only results
    python -m bench.kernels --show 17 nests       one program, and what is wrong with it

What is run: `testing/kernels.py`. Each seed makes a program of each generator: statements of all
kinds, in all versions, and maps whose points share what they read, in a loop or around them, in
those that differ for them, checks with what relies on them, guards, some of them too weak, and
kernels with several results in one destination. Programs that have to fail and do are counted as
`failing`. With `--c` what C gives is compared, and the heap semantics of the stages before it; with
`--all` a program is compiled once for all three. What was run is kept as by `bench.campaign`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from bench import recorded
from compiler.base.deadline import within
from compiler.base.errors import CompileError, CompilerBug, RuntimeError_, TimeoutError_
from testing import kernels
from testing.generators import (
    buffers,
    guards,
    nests,
    parted,
    payloads,
    programs,
    results,
    stencils,
)
from testing.generators.programs import Generated
from testing.record import Row

SECONDS = 60.0
"""For one program in one version; what takes longer is counted apart."""
GENERATORS: dict[str, Callable[[int], Generated]] = {
    "programs": partial(programs.program, statements=8),
    "nests": nests.program,
    "stencils": stencils.program,
    "parted": parted.program,
    "buffers": lambda seed: buffers.program(seed).with_one_input(),
    "guards": lambda seed: guards.program(seed).with_one_input(),
    "payloads": lambda seed: payloads.program(seed).with_one_input(),
    "results": results.program,
}
VERSIONS = {
    "programs": kernels.VERSIONS,
    "nests": ("default", "outer"),
    "stencils": ("default",),
    "parted": kernels.VERSIONS,
    "buffers": ("default", "grid"),
    "guards": ("default", "outer", "grid"),
    "payloads": ("default", "outer", "grid"),
    "results": kernels.VERSIONS,
}


CHECKS = {"kernels": kernels.check, "text": kernels.check_text, "c": kernels.check_c}
SHOWN = {"kernels": "kernel IR", "text": "CUDA's text", "c": "heap, C"}
"""Names, in the record, of what a program is compared with."""
KNOWN = ("agrees", "fails", "refused", "late")
BATCH = 5
"""Programs at once."""


def outcome(made: Generated, version: str, how: str) -> str:
    """Check one program: `agrees`, `fails`, `refused`, `late`, or the defect."""
    check = CHECKS[how]
    try:
        fails = within(SECONDS, partial(check, made, version))
    except TimeoutError_:
        return "late"
    except (kernels.Difference, CompilerBug, RuntimeError_) as found:
        return f"{type(found).__name__}: {found}"
    except CompileError:
        return "refused"
    return "fails" if fails else "agrees"


def batch(item: tuple[str, range], hows: Sequence[str]) -> dict[tuple[str, str], Row]:
    """Check some programs of a generator in the versions of VERSIONS."""
    name, seeds = item
    found = {(name, SHOWN[how]): Row([(seeds.start, seeds.stop)]) for how in hows}
    for seed in seeds:
        made = GENERATORS[name](seed)
        for how in hows:
            row = found[name, SHOWN[how]]
            row.counts["programs"] += 1
            said = {version: outcome(made, version, how) for version in VERSIONS[name]}
            row.counts.update(f"runs: {one}" for one in said.values() if one in KNOWN)
            for known, shown in (("refused", "refused"), ("late", "late"), ("fails", "failing")):
                row.counts[shown] += known in said.values()
            row.differences += [
                (seed, version, one) for version, one in said.items() if one not in KNOWN
            ]
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--programs", type=int, default=1000, help="of each generator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--text", action="store_true", help="the text of CUDA, with 16-bit indices")
    parser.add_argument("--c", action="store_true", help="C, and the heap semantics before it")
    parser.add_argument("--all", action="store_true", help="the kernel IR, the text and C")
    parser.add_argument("--only", choices=GENERATORS, help="one generator")
    parser.add_argument("--log", type=Path, metavar="FILE", help="where to keep what was run")
    parser.add_argument("--save", action="store_true", help="keep it in bench/results")
    parser.add_argument("--show", nargs=2, metavar=("SEED", "GENERATOR"))
    given = parser.parse_args()
    hows = ["c"] if given.c else ["text"] if given.text else ["kernels"]
    hows = list(CHECKS) if given.all else hows
    if given.show:
        made = GENERATORS[given.show[1]](int(given.show[0]))
        print(made.source)
        for version in VERSIONS[given.show[1]]:
            for how in hows:
                print(version, how, outcome(made, version, how))
        return
    log = recorded.FILE if given.save else given.log
    at = recorded.commit()
    ends = range(given.seed, given.seed + given.programs, BATCH)
    seeds = [range(k, min(k + BATCH, given.seed + given.programs)) for k in ends]
    names = (given.only,) if given.only else tuple(GENERATORS)
    todo = {
        name: recorded.left(log, at, [(name, SHOWN[how]) for how in hows], seeds) for name in names
    }
    items = [(name, one) for one in seeds for name in names if one in todo[name]]
    found = recorded.run(partial(batch, hows=hows), items, at, log, given.jobs)
    recorded.tell(found)


if __name__ == "__main__":
    main()
