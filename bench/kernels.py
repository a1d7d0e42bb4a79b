"""Random programs in the kernel IR or as CUDA text, each access watched, by the thousand.

    python -m bench.kernels --programs 2000 --seed 0
    python -m bench.kernels --programs 500 --text
    python -m bench.kernels --programs 500 --c --only results
    python -m bench.kernels --show 17 nests       one program, and what is wrong with it

What is run: `testing/kernels.py`. Each seed makes a program of each generator: statements of all
kinds, in all versions, and maps whose points share what they read, in a loop or around them, in
those that differ for them, checks with what relies on them, guards, some of them too weak, and
kernels with several results in one destination. Programs that have to fail and do are counted as
`fails`. With `--c` what C gives is compared, and the heap semantics of the stages before it.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from multiprocessing import get_context

from bench.machine import save
from compiler.base.deadline import within
from compiler.base.errors import CompileError, CompilerBug, RuntimeError_, TimeoutError_
from testing import kernels
from testing.generators import guards, nests, parted, payloads, programs, results, stencils
from testing.generators.programs import Generated

SECONDS = 60.0
"""For one program in one version; what takes longer is counted apart."""
GENERATORS: dict[str, Callable[[int], Generated]] = {
    "programs": partial(programs.program, statements=8),
    "nests": nests.program,
    "stencils": stencils.program,
    "parted": parted.program,
    "guards": lambda seed: guards.program(seed).with_one_input(),
    "payloads": lambda seed: payloads.program(seed).with_one_input(),
    "results": results.program,
}
VERSIONS = {
    "programs": kernels.VERSIONS,
    "nests": ("default", "outer"),
    "stencils": ("default",),
    "parted": kernels.VERSIONS,
    "guards": ("default", "outer", "grid"),
    "payloads": ("default", "outer", "grid"),
    "results": kernels.VERSIONS,
}


CHECKS = {"kernels": kernels.check, "text": kernels.check_text, "c": kernels.check_c}


def outcome(made: Generated, version: str, how: str) -> str:
    """Of one program: `agrees`, `fails`, `refused`, `late`, or what is wrong."""
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


def one(number: int, how: str, names: Sequence[str]) -> list[tuple[str, str]]:
    """What becomes of the programs of a number, in the versions of VERSIONS."""
    found: list[tuple[str, str]] = []
    for name in names:
        made = GENERATORS[name](number)
        for version in VERSIONS[name]:
            found.append((f"{name} {number} {version}", outcome(made, version, how)))
    return found


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--programs", type=int, default=1000, help="of each generator")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--text", action="store_true", help="the text of CUDA, with 16-bit indices")
    parser.add_argument("--c", action="store_true", help="C, and the heap semantics before it")
    parser.add_argument("--only", choices=GENERATORS, help="one generator")
    parser.add_argument("--save", action="store_true", help="write bench/results")
    parser.add_argument("--show", nargs=2, metavar=("SEED", "GENERATOR"))
    given = parser.parse_args()
    how = "c" if given.c else "text" if given.text else "kernels"
    names = (given.only,) if given.only else tuple(GENERATORS)
    if given.show:
        made = GENERATORS[given.show[1]](int(given.show[0]))
        print(made.source)
        for version in VERSIONS[given.show[1]]:
            print(version, outcome(made, version, how))
        return
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    with get_context("fork").Pool(given.jobs) as pool:
        seeds = range(given.seed, given.seed + given.programs)
        for found in pool.imap_unordered(partial(one, how=how, names=names), seeds):
            for what, said in found:
                known = said in ("agrees", "fails", "refused", "late")
                counts[said if known else "wrong"] += 1
                if not known:
                    wrong.append(f"{what}: {said}")
                    print(wrong[-1], flush=True)
    made_of = {"runs": counts.total(), **counts, "first_wrong": wrong[:20]}
    print(json.dumps(made_of, indent=1))
    if given.save:
        command = f"python -m bench.kernels --programs {given.programs} --seed {given.seed}"
        command += f" --jobs {given.jobs}" + f" --{how}" * (how != "kernels")
        command += f" --only {given.only}" * bool(given.only)
        save("kernels" + f"-{how}" * (how != "kernels"), command, made_of)


if __name__ == "__main__":
    main()
