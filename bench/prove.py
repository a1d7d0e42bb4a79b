"""How many pairs of LMADs are decided, how fast, and that no verdict is wrong.

    python -m bench.prove --pairs 20000

Every proof's certificate is changed in many ways and offered for other pairs as well.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections import Counter, deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench import grids
from bench.certificates import Pair, accepted_changes, serves, shifted
from bench.machine import ROOT, save
from compiler.algebra import constant
from compiler.algebra.disjoint import Disjoint, Overlap, disjoint
from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.notation import Reader, facts_of
from compiler.algebra.poly import Poly

CONSTANT_PAIRS = 100_000
FAMILY_PAIRS = 20_000
GRID = 6
WIDE_GRID = 13
"""Largest n and m. Some overlaps first show at larger values: a pair that was not proved is looked
at again, and so is every tenth that was."""
CHANGED = 40
"""Changed certificates that are offered for each proof, at most."""
MISAPPLIED = 5
"""Pairs that do meet for which each proof is offered; and three more, moved to meet."""
FAMILIES = ("matrix", "blocked", "skewed", "one-dimensional", "random strides")

FORGED = ("changed", "changed, still proofs", "misapplied", "misapplied, accepted")


def known_pairs() -> dict[str, Any]:
    """The pairs of wavefront and LU programs: how many are proved, and the time of each."""
    path: Path = ROOT / "tests" / "algebra" / "pairs.json"
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


def random_lmad(rng: random.Random, family: str) -> Lmad[Poly]:
    """An LMAD over n, m >= 1 and 0 <= i < n of one of the shapes that programs have."""
    n, m, i, one = Poly.var("n"), Poly.var("m"), Poly.var("i"), Poly.const(1)
    names = [n, m, i, n - 1, m - 1, i + 1, n - i - 1, one, Poly.const(2)]
    start = rng.choice([Poly.const(0), one, i, i + 1, n - i, n])
    match family:
        case "matrix":
            offset = start * m + rng.choice([0, 1])
            dims = [Dim(rng.choice(names), m), Dim(rng.choice([one, m, m - 1]), one)]
        case "blocked":
            offset = start * (n * m) + rng.choice([Poly.const(0), n, one])
            dims = [Dim(rng.choice([one, m]), n), Dim(rng.choice([one, n]), one)]
        case "skewed":
            offset = start * (n + 1) + rng.choice([0, 1, 2])
            dims = [Dim(rng.choice(names), n + 1), Dim(rng.choice([one, n]), one)]
        case "one-dimensional":
            offset = start
            dims = [Dim(rng.choice(names), Poly.const(rng.choice([1, 2, 3, -1])))]
        case _:
            offset = start * rng.choice([one, n, m, n * m])
            strides = [one, n, m, n + 1, n * m, Poly.const(2), -n]
            dims = [Dim(rng.choice(names), rng.choice(strides)) for _ in range(rng.randint(1, 3))]
    return Lmad(offset, tuple(dims))


def family(name: str, pairs: int) -> dict[str, Any]:
    """Random symbolic pairs against brute force on a grid of values."""
    rng = random.Random(name)
    n, m, i = Poly.var("n"), Poly.var("m"), Poly.var("i")
    facts = Facts.of([n - 1, m - 1, i, n - 1 - i])
    count: Counter[str] = Counter()
    forged: Counter[str] = Counter()
    meeting_pairs: deque[tuple[Pair, Facts]] = deque(maxlen=MISAPPLIED)
    times: list[float] = []
    for number in range(pairs):
        first, second = random_lmad(rng, name), random_lmad(rng, name)
        meeting = grids.meet(first, second, GRID)
        start = time.process_time()
        verdict = disjoint(first, second, facts)
        times.append(time.process_time() - start)
        proved = isinstance(verdict, Disjoint)
        if not meeting and (not proved or number % 10 == 0):
            meeting = grids.meet(first, second, WIDE_GRID)
        if meeting:
            meeting_pairs.append(((first, second), facts))
        count["meeting" if meeting else "disjoint"] += 1
        count["proved"] += proved
        count["found overlaps"] += isinstance(verdict, Overlap)
        count["unsound"] += proved and meeting
        count["wrong witnesses"] += isinstance(verdict, Overlap) and not shown(
            verdict, first, second
        )
        count["missed"] += not meeting and not proved
        if isinstance(verdict, Disjoint):
            forged += forgeries(verdict, meeting_pairs, rng)
    share = count["proved"] / max(1, count["disjoint"])
    times.sort()
    return {
        "pairs": pairs,
        **count,
        "proved_share": round(share, 4),
        "median_ms": round(times[len(times) // 2] * 1000, 2),
        "slowest_ms": round(times[-1] * 1000, 1),
        "forged": {kind: forged[kind] for kind in FORGED},
    }


def shown(overlap: Overlap, first: Lmad[Poly], second: Lmad[Poly]) -> bool:
    """Whether the witness is one."""
    here, there = first.evaluate(overlap.point), second.evaluate(overlap.point)
    return here.index(*overlap.first) == there.index(*overlap.second) == overlap.cell


def forgeries(
    found: Disjoint, meeting: Iterable[tuple[Pair, Facts]], rng: random.Random
) -> Counter[str]:
    """Changed certificates and the certificate in wrong places: how many, how many accepted.

    What is changed may still be a proof, if it lends fewer facts to a case than it could, say.
    """
    count: Counter[str] = Counter()
    count["changed"], accepted = accepted_changes(found, CHANGED, rng)
    count["changed, still proofs"] = len(accepted)
    for pair in shifted(found):
        count["misapplied"] += 1
        count["misapplied, accepted"] += serves(found.proof, pair, found.assumed)
    for pair, facts in meeting:
        count["misapplied"] += 1
        count["misapplied, accepted"] += any(
            serves(proof, pair, facts) for proof in (found.proof, *accepted)
        )
    return count


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
