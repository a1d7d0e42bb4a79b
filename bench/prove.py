"""How many pairs of LMADs are decided, how fast, and that no verdict is wrong.

python -m bench.prove
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.machine import ROOT, save
from compiler.ir.lmad import Dim, Lmad
from compiler.ir.poly import Poly
from compiler.prove import constant
from compiler.prove.disjoint import Disjoint, Overlap, disjoint
from compiler.prove.facts import Facts
from compiler.prove.notation import Reader, facts_of

CONSTANT_PAIRS = 100_000
FAMILY_PAIRS = 1_000
GRID = [(n, m, i) for n in range(1, 6) for m in range(1, 6) for i in range(n)]
WIDE_GRID = [(n, m, i) for n in range(1, 14) for m in range(1, 14) for i in range(n)]
"""Some overlaps first show at larger values: a pair that was not proved is looked at again."""
FAMILIES = ("matrix", "blocked", "skewed", "one-dimensional", "random strides")


def known_pairs() -> dict[str, Any]:
    """The pairs of wavefront and LU programs: how many are proved, and the time of each."""
    path: Path = ROOT / "tests" / "prove" / "pairs.json"
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
    start = time.perf_counter()
    disjoint(first, second, facts)
    return time.perf_counter() - start


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
        start = time.perf_counter()
        first, second = ((s.offset, [(d.size, d.stride) for d in s.dims]) for s in sets)
        found = constant.meet(first, second) is not None
        spent += time.perf_counter() - start
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


def family(name: str) -> dict[str, Any]:
    """Random symbolic pairs against brute force on a grid of values."""
    rng = random.Random(name)
    n, m, i = Poly.var("n"), Poly.var("m"), Poly.var("i")
    facts = Facts.of([n - 1, m - 1, i, n - 1 - i])
    count: Counter[str] = Counter()
    slowest = 0.0
    while count["disjoint"] + count["meeting"] < FAMILY_PAIRS:
        first, second = random_lmad(rng, name), random_lmad(rng, name)
        meeting = _meet(first, second, GRID)
        start = time.perf_counter()
        verdict = disjoint(first, second, facts)
        slowest = max(slowest, time.perf_counter() - start)
        if not meeting and not isinstance(verdict, Disjoint):
            meeting = _meet(first, second, WIDE_GRID)
        count["meeting" if meeting else "disjoint"] += 1
        count["proved"] += isinstance(verdict, Disjoint)
        count["found overlaps"] += isinstance(verdict, Overlap)
        count["unsound"] += isinstance(verdict, Disjoint) and meeting
        count["missed"] += not meeting and not isinstance(verdict, Disjoint)
    share = count["proved"] / max(1, count["disjoint"])
    return {**count, "proved_share": round(share, 4), "slowest_ms": round(slowest * 1000, 1)}


def _meet(first: Lmad[Poly], second: Lmad[Poly], grid: list[tuple[int, int, int]]) -> bool:
    points = [dict(zip("nmi", values, strict=True)) for values in grid]
    return any(_cells(first, p) & _cells(second, p) for p in points)


def _cells(lmad: Lmad[Poly], point: dict[str, int]) -> set[int]:
    return set(lmad.evaluate(point).points())


def main() -> None:
    """The command line."""
    figures: dict[str, Any] = {"known": known_pairs(), "constant": constants()}
    for name in FAMILIES:
        figures[name] = family(name)
    for name, row in figures.items():
        print(name, row)
    save("prove", "python -m bench.prove", figures)


if __name__ == "__main__":
    main()
