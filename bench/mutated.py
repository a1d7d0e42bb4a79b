"""Compare mutants of other people's programs, on our C and as CUDA text, with Futhark's C.

    python -m bench.mutated FOLDER .. --programs 5000 --futhark PATH --log FILE
    python -m bench.mutated FOLDER .. --show 123       the mutant of that seed, and what is wrong

What is done with them: `testing/mutated.py`. FOLDER has programs, such as the tests of Futhark's
compiler and its benchmarks: a seed means the same as long as they do. With `--log FILE` each seed
is kept there, and not done again. Differences that are none of ours are explained in
`testing/explained.json`, by what is said of them. Without `--futhark` our C is what CUDA text is
compared with.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from bench.machine import ROOT, save
from compiler.base.stack import with_deep_stack
from testing import mutated
from testing.futhark import Futhark
from testing.mutated import BATCH, Result

EXPLAINED = ROOT / "testing" / "explained.json"
BATCH_SECONDS = 900
"""After which a batch is given up."""


def prepare() -> None:
    """Compiled libraries in a folder of their own, which is kept small."""
    os.environ["XDG_CACHE_HOME"] = tempfile.mkdtemp(prefix="mutated-")


def one_batch(number: int, found: Sequence[Path], command: str) -> list[Result]:
    """A batch, with a deep stack."""
    results: list[Result] = []

    def work() -> None:
        with tempfile.TemporaryDirectory(prefix="mutated-") as folder:
            oracle = Futhark(command, Path(folder)) if command else None
            results.extend(mutated.batch(number, found, oracle).results())

    with_deep_stack(work)
    return results


def batches(
    numbers: Sequence[int], found: Sequence[Path], command: str
) -> Iterator[tuple[int, list[Result]]]:
    """Yield the results of batches, each run in a process that may crash."""
    work = partial(one_batch, found=found, command=command)
    left = list(numbers)
    while left:
        pool = ProcessPoolExecutor(1, get_context("fork"), prepare)
        try:
            while left:
                done = pool.submit(work, left[0]).result(BATCH_SECONDS)
                yield left.pop(0), done
        except Exception as error:  # its process may have ended
            number = left.pop(0)
            seeds = range(number * BATCH, (number + 1) * BATCH)
            said = f"The process of a batch: {type(error).__name__} {error}"
            yield number, [Result(seed, "", outcome="difference", says=said) for seed in seeds]
            for process in list(pool._processes.values()):
                process.kill()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def explained(says: str, known: Sequence[dict[str, str]]) -> str:
    """Return the reason why a difference is no defect of ours; empty if none is recorded."""
    return next((one["why"] for one in known if re.search(one["says"], says)), "")


def read(log: Path | None) -> dict[int, dict[str, Any]]:
    """The seeds that a log has."""
    if log is None or not log.exists():
        return {}
    kept = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    return {one["seed"]: one for one in kept}


def _was_run(one: dict[str, Any]) -> bool:
    """Return True if a mutant with a difference was accepted by both compilers, and run."""
    says: str = one["says"]
    return one["outcome"] == "difference" and says.startswith(("c:", "cuda "))


def figures(kept: Sequence[dict[str, Any]], known: Sequence[dict[str, str]]) -> dict[str, Any]:
    """The counts of a log."""
    counts = Counter(one["outcome"] for one in kept)
    said = [one["says"] for one in kept if one["outcome"] == "difference"]
    said += [says for one in kept for says in one["differences"]]
    reasons = Counter(explained(says, known) for says in said)
    open_ = reasons.pop("", 0)
    return {
        "seeds": len(kept),
        "programs": len({one["program"] for one in kept}),
        "run": counts["agrees"] + counts["fails"] + sum(map(_was_run, kept)),
        **{outcome: counts[outcome] for outcome in mutated.OUTCOMES},
        "refused_by_both": sum(one["refused_by_both"] for one in kept),
        "accepted_elsewhere": sum(says.startswith("accepted by Futhark only") for says in said),
        "differences": len(said),
        "explained": dict(reasons),
        "not_explained": open_,
    }


def show(seed: int, found: Sequence[Path], command: str) -> None:
    """Print a mutant, its inputs and what becomes of it by itself."""
    with tempfile.TemporaryDirectory(prefix="mutated-") as folder:
        oracle = Futhark(command, Path(folder)) if command else None
        made = mutated.batch(seed // BATCH, found, oracle)
        result = Result(seed, made.path.name)
        trial = made.trial(result)
        if trial is not None:
            print(trial.declared)
            for args in trial.inputs:
                print("--", " ".join(map(str, args)))
            made.judge([trial])
        print(json.dumps({**asdict(result), "path": str(made.path)}, indent=1))


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", metavar="FOLDER")
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--futhark", default="", metavar="PATH", help="the command of 0.25.32")
    parser.add_argument("--show", type=int, metavar="SEED")
    parser.add_argument("--save", action="store_true", help="write bench/results/mutated.json")
    given = parser.parse_args()
    found = mutated.programs(given.folders)
    if given.show is not None:
        prepare()
        with_deep_stack(lambda: show(given.show, found, given.futhark))
        return
    known = json.loads(EXPLAINED.read_text("utf-8"))
    kept, start = read(given.log), time.perf_counter()
    wanted = range(given.seed // BATCH, -(-(given.seed + given.programs) // BATCH))
    left = [b for b in wanted if b * BATCH not in kept]
    for done, (number, results) in enumerate(batches(left, found, given.futhark), 1):
        lines = {one.seed: asdict(one) for one in results}
        kept |= lines
        if given.log is not None:
            with given.log.open("a", encoding="utf-8") as out:
                out.writelines(json.dumps(one) + "\n" for one in lines.values())
        for one in results:
            own = [one.says] if one.outcome == "difference" else []
            for says in own + one.differences:
                if not explained(says, known):
                    print(f"seed {one.seed}, {one.program}: {says[:400]}", flush=True)
        pace = (time.perf_counter() - start) / done / BATCH
        counts = Counter(one["outcome"] for one in kept.values())
        print(f"batch {number}: {dict(counts)}; {pace:.2f} s a program", flush=True)
    seeds = range(given.seed, given.seed + given.programs)
    made = figures([one for seed, one in sorted(kept.items()) if seed in seeds], known)
    print(json.dumps(made, indent=1))
    if given.save:
        names = " ".join(Path(folder).resolve().name for folder in given.folders)
        command = f"python -m bench.mutated {names} --programs {given.programs}"
        save("mutated", f"{command} --seed {given.seed} --futhark futhark", made)


if __name__ == "__main__":
    main()
