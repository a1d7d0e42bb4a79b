"""Measure the prover: share of LMAD pairs decided, speed, and soundness of the verdicts.

    python -m bench.prove --pairs 20000

Every proof's certificate is changed in many ways and offered for other pairs as well.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from pathlib import Path
from typing import Any

from bench.machine import ROOT, save
from compiler.algebra import constant
from compiler.algebra.disjoint import Disjoint, disjoint
from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.notation import Reader, facts_of
from compiler.algebra.poly import Poly
from testing.forgeries import FAMILIES, family

CONSTANT_PAIRS = 100_000
FAMILY_PAIRS = 20_000


def known_pairs() -> dict[str, Any]:
    """The pairs of wavefront and LU programs: how many are proved, and the time of each."""
    path: Path = ROOT / "testing" / "pairs.json"
    times, proved = [], 0
    pairs = [(g["assumptions"], p) for g in json.loads(path.read_text()) for p in g["pairs"]]
    for assumptions, pair in [(a, p) for a, p in pairs if p["verdict"] == "disjoint"]:
        reader = Reader()
        first, second = reader.lmad(pair["a"]), reader.lmad(pair["b"])
        facts = facts_of(reader, assumptions)
        best = min(_seconds(first, second, facts) for _ in range(5))
        times.append(best * 1000)
        proved += isinstance(disjoint(first, second, facts), Disjoint)
    return {
        "pairs": len(times),
        "proved": proved,
        "median_ms": round(statistics.median(times), 2),
        "largest_ms": round(max(times), 2),
    }


def _seconds(first: Lmad[Poly], second: Lmad[Poly], facts: Facts) -> float:
    start = time.process_time()
    disjoint(first, second, facts)
    return time.process_time() - start


def constants() -> dict[str, Any]:
    """Random LMADs of numbers, up to three dimensions, against enumeration."""
    rng = random.Random(1)
    wrong = shared = 0
    spent = 0.0
    for _ in range(CONSTANT_PAIRS):
        sets = [
            Lmad(
                rng.randint(0, 60),
                tuple(
                    Dim(rng.randint(1, 5), rng.choice([-9, -4, -1, 1, 2, 3, 5, 8, 12]))
                    for _ in range(rng.randint(0, 3))
                ),
            )
            for _ in range(2)
        ]
        truth = bool(set(sets[0].points()) & set(sets[1].points()))
        start = time.process_time()
        first, second = ((s.offset, [(d.size, d.stride) for d in s.dims]) for s in sets)
        found = constant.meet(first, second) is not None
        spent += time.process_time() - start
        wrong += found != truth
        shared += truth
    return {
        "pairs": CONSTANT_PAIRS,
        "overlapping": shared,
        "wrong": wrong,
        "mean_us": round(spent / CONSTANT_PAIRS * 1e6, 1),
    }


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=FAMILY_PAIRS, help="of each family")
    given = parser.parse_args()
    figures: dict[str, Any] = {"known": known_pairs(), "constant": constants()}
    figures |= {name: family(name, given.pairs) for name in FAMILIES}
    for name, row in figures.items():
        print(name, row)
    save("prove", f"python -m bench.prove --pairs {given.pairs}", figures)


if __name__ == "__main__":
    main()
