"""Check random symbolic pairs of LMADs by brute force, and forge certificates for them.

Every proof's certificate is changed in many ways and offered for other pairs as well.
"""

from __future__ import annotations

import random
import time
from collections import Counter, deque
from collections.abc import Iterable
from typing import Any

from compiler.algebra.disjoint import Disjoint, Overlap, disjoint
from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.poly import Poly
from testing import grids
from testing.certificates import Pair, accepted_changes, serves, shifted

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
    """Return True if the witness is valid: both LMADs have its cell at its indices."""
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
