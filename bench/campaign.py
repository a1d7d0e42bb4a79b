"""Random programs at every stage and in C, by the thousand.

    python -m bench.campaign --programs 20000 --seed 0 --save
    python -m bench.campaign --shrink 1234          one seed, made small if its stages differ
    python -m bench.campaign --generator mixed      programs of several generators in a batch
    python -m bench.campaign --generator short      programs of few statements
    python -m bench.campaign --generator extremes   programs at the ends of 64 bits, sanitised
    python -m bench.campaign --generator guards     programs that guard what may fail
    python -m bench.campaign --generator payloads   programs with sums that hold arrays
    python -m bench.campaign --generator payloads --futhark PATH    beside Futhark's compiler

How they are compared: `testing/campaign.py`; every fourth batch also as kernels under the observer,
which is a row of its own. With `--sanitize` C runs under sanitisers, with `--sanitize by-turns`
every other four batches do: what they report, and a crash, counts as a difference of the program
that was run. With `--save`
what was run is put to `bench/results/campaign.json`, with `--log FILE` to another file; what is
there was run at the same commit, and is not run again. `--merge FILE` puts what another file has
to it.
"""

from __future__ import annotations

import argparse
from collections import Counter
from functools import partial
from pathlib import Path

from bench import recorded
from bench.machine import describe
from compiler.ir.values import show
from testing import beside_futhark, record
from testing.campaign import GENERATORS, TEXT, Manner, check_batch, failure
from testing.generators.mixed import BATCH
from testing.record import Row
from testing.shrinking import shrunk

SANITIZED = {"always": True, "by-turns": None}
"""Batches that run C under sanitisers."""


def show_shrunk(seed: int, sanitized: bool | None, generator: str) -> None:
    """Print the program of that seed, and if its stages differ, a small one that does as well."""
    manner = Manner.of(seed // BATCH, sanitized, generator)
    made = manner.program(seed)
    what = failure(made, manner)
    print(made.source, f"\n{manner}\n", what or "no difference")
    if what:
        where = what.partition(":")[0]
        small = shrunk(made, lambda g: failure(g, manner).partition(":")[0] == where)
        print("\n" + small.source, failure(small, manner))
        for args in small.inputs:
            print(" ".join(show(a) for a in args))


def at_all_stages(
    seeds: range, sanitized: bool | None, generator: str
) -> dict[tuple[str, str], Row]:
    """A batch at every stage and in C."""
    batch = seeds.start // BATCH
    report = check_batch(batch, sanitized, generator)
    there = [one for one in report.differences if one[1] == TEXT]
    rest = [one for one in report.differences if one[1] != TEXT]
    watched = report.counts.pop("kernels", 0)
    at = compared(Manner.of(batch, sanitized, generator).sanitized)
    found = {(generator, at): Row([(seeds.start, seeds.stop)], report.counts, rest)}
    if watched or there:
        counts = Counter({"programs": watched + len(there)})
        found[generator, TEXT] = Row([(seeds.start, seeds.stop)], counts, there)
    return found


def beside(seeds: range, futhark: str, generator: str) -> dict[tuple[str, str], Row]:
    """A batch by Futhark's compiler, and what it means here."""
    report = beside_futhark.check_batch(seeds, futhark, generator)
    row = Row([(seeds.start, seeds.stop)], report.counts, report.differences)
    return {(generator, compared(False, futhark)): row}


def compared(sanitized: bool, futhark: str = "") -> str:
    """Return the name, in the record, of what the reference is compared with."""
    return "Futhark" if futhark else "stages, sanitised C" if sanitized else "stages, C"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--log", type=Path, metavar="FILE", help="where to keep what was run")
    parser.add_argument("--save", action="store_true", help="keep it in bench/results")
    parser.add_argument("--merge", type=Path, metavar="FILE", help="what else was run")
    parser.add_argument("--shrink", type=int, metavar="SEED")
    parser.add_argument(
        "--sanitize",
        nargs="?",
        const="always",
        choices=SANITIZED,
        help="C under sanitisers, always or in every other four batches",
    )
    parser.add_argument("--futhark", default="", metavar="PATH", help="Futhark's compiler")
    parser.add_argument("--generator", default="storage", choices=GENERATORS)
    given = parser.parse_args()
    log = recorded.FILE if given.save else given.log
    sanitized = SANITIZED.get(given.sanitize, False)
    if given.shrink is not None:
        recorded.prepare()
        show_shrunk(given.shrink, sanitized, given.generator)
        return
    if given.merge:
        record.add(log or recorded.FILE, record.load(given.merge), {"machine": describe()})
        return
    at = recorded.commit()
    first, last = given.seed // BATCH, -(-(given.seed + given.programs) // BATCH)
    batches = [range(b * BATCH, (b + 1) * BATCH) for b in range(first, last)]
    work: recorded.Work = partial(at_all_stages, sanitized=sanitized, generator=given.generator)
    if given.futhark:
        work = partial(beside, futhark=given.futhark, generator=given.generator)
    todo = []
    for how in (True, False):
        subject = given.generator, compared(how, given.futhark)
        manners = (
            (one, Manner.of(one.start // BATCH, sanitized, given.generator)) for one in batches
        )
        mine = [one for one, manner in manners if manner.sanitized == how]
        todo += recorded.left(log, at, [subject], mine)
    todo.sort(key=lambda one: one.start)
    recorded.tell(recorded.run(work, todo, at, log, given.jobs))


if __name__ == "__main__":
    main()
