"""The prover against brute force, and the checker against proofs that are not."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import fields, replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from compiler.algebra import constant, encode
from compiler.algebra.certificate import Proof, Sum
from compiler.algebra.disjoint import GLANCE, SOON, Disjoint, Overlap, Verdict, disjoint
from compiler.algebra.facts import Facts
from compiler.algebra.lmad import Dim, Lmad
from compiler.algebra.notation import Reader, facts_of
from compiler.algebra.poly import Poly
from compiler.algebra.show import verdict_json

DATA = json.loads((Path(__file__).parents[2] / "testing" / "pairs.json").read_text("utf-8"))
PAIRS = [
    pytest.param(group["assumptions"], pair, id=f"{group['name']}-{pair['name']}")
    for group in DATA
    for pair in group["pairs"]
]


def decide(assumptions: dict[str, Any], a: Any, b: Any) -> tuple[Verdict, Facts]:
    reader = Reader()
    first, second = reader.lmad(a), reader.lmad(b)
    facts = facts_of(reader, assumptions)
    return disjoint(first, second, facts), facts


@pytest.mark.parametrize(("assumptions", "pair"), PAIRS)
def test_known_pairs(assumptions: dict[str, Any], pair: dict[str, Any]) -> None:
    verdict, _ = decide(assumptions, pair["a"], pair["b"])
    assert type(verdict).__name__.lower() == pair["verdict"]


def cells(lmad: Lmad[Poly], point: dict[str, int]) -> set[int]:
    return set(lmad.evaluate(point).points())


def v(name: str) -> Poly:
    return Poly.var(name)


def random_pair(rng: random.Random, family: str) -> tuple[Lmad[Poly], Lmad[Poly], Facts]:
    """Two LMADs over n, m >= 1 and 0 <= i < n of one of the shapes that programs have."""
    n, m, i = v("n"), v("m"), v("i")
    names = [n, m, i, n - 1, m - 1, i + 1, n - i - 1, Poly.const(1), Poly.const(2)]

    def part() -> Lmad[Poly]:
        size = lambda: rng.choice(names)  # noqa: E731
        start = rng.choice([0, 1, i, i + 1, n - i])
        match family:
            case "matrix":
                return Lmad(
                    start * m + rng.choice([0, 1]), (Dim(size(), m), Dim(Poly.of(1), Poly.of(1)))
                )
            case "blocked":
                return Lmad(
                    start * (n * m), (Dim(Poly.of(rng.choice([1, m])), n), Dim(n, Poly.of(1)))
                )
            case "skewed":
                return Lmad(start * (n + 1), (Dim(size(), n + 1), Dim(Poly.of(1), Poly.of(1))))
            case _:
                return Lmad(Poly.of(start), (Dim(size(), Poly.of(rng.choice([1, 2, -1]))),))

    return part(), part(), Facts.of([n - 1, m - 1, i, n - 1 - i])


def grid() -> Iterator[dict[str, int]]:
    for n, m in product(range(1, 6), range(1, 6)):
        for i in range(n):
            yield {"n": n, "m": m, "i": i}


@pytest.mark.parametrize("family", ["matrix", "blocked", "skewed", "one-dimensional"])
def test_verdicts_agree_with_brute_force(family: str) -> None:
    rng = random.Random(family)
    proved = disjoint_pairs = 0
    for _ in range(150):
        first, second, facts = random_pair(rng, family)
        verdict = disjoint(first, second, facts)
        meeting = [p for p in grid() if cells(first, p) & cells(second, p)]
        if isinstance(verdict, Disjoint):
            assert not meeting, (str(first), str(second), meeting[0])
            proved += 1
        if isinstance(verdict, Overlap):
            here, there = first.evaluate(verdict.point), second.evaluate(verdict.point)
            assert here.index(*verdict.first) == there.index(*verdict.second) == verdict.cell
        disjoint_pairs += not meeting
    assert proved >= 0.9 * disjoint_pairs


def test_numbers_are_decided_exactly() -> None:
    rng = random.Random(3)
    for _ in range(2000):
        sets = [
            (
                rng.randint(0, 40),
                [(rng.randint(1, 5), rng.choice([-7, -3, -1, 1, 2, 3, 4, 6, 9])) for _ in range(k)],
            )
            for k in (rng.randint(0, 3), rng.randint(0, 3))
        ]
        points = [
            {
                o + sum(z * s for z, (_, s) in zip(index, dims, strict=True))
                for index in _indices(dims)
            }
            for o, dims in sets
        ]
        found = constant.meet(sets[0], sets[1])
        assert (found is not None) == bool(points[0] & points[1])
        if found is not None:
            assert found[0] in points[0] & points[1]


def _indices(dims: list[tuple[int, int]]) -> Iterator[tuple[int, ...]]:
    return product(*(range(size) for size, _ in dims))


def sums(value: object) -> Iterator[Sum]:
    """All inequality certificates inside a proof."""
    if isinstance(value, Sum):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from sums(item)
    elif hasattr(value, "__dataclass_fields__") and not isinstance(value, Poly):
        for f in fields(value):  # type: ignore[arg-type]
            yield from sums(getattr(value, f.name))


def replaced(value: Any, old: Sum, new: Sum) -> Any:
    """The proof with one certificate exchanged."""
    if value is old:
        return new
    if isinstance(value, tuple):
        return tuple(replaced(item, old, new) for item in value)
    if isinstance(value, Proof) or hasattr(value, "__dataclass_fields__"):
        changes = {f.name: replaced(getattr(value, f.name), old, new) for f in fields(value)}
        return replace(value, **changes)
    return value


def still_shows(leaf: Sum) -> bool:
    """Whether a changed sum is one: of the facts that it names, rounded by less than its scale."""
    total = Poly.const(0).plus(Poly.product(factors) * c for c, factors in leaf.terms)
    more = (total - leaf.claim * leaf.scale).constant
    return more is not None and 0 <= more < leaf.scale and all(c > 0 for c, _ in leaf.terms)


@pytest.mark.parametrize(
    ("assumptions", "pair"), [p for p in PAIRS if p.values[1]["verdict"] == "disjoint"]
)
def test_changed_certificates_are_refused(
    assumptions: dict[str, Any], pair: dict[str, Any]
) -> None:
    verdict, _ = decide(assumptions, pair["a"], pair["b"])
    assert isinstance(verdict, Disjoint)
    leaves = list(sums(verdict.proof))
    assert leaves
    for leaf in leaves:
        changed = [
            Sum(leaf.claim, leaf.scale + 1, leaf.terms),
            Sum(leaf.claim + 1, leaf.scale, leaf.terms),
        ]
        if leaf.terms:
            (c, factors), *rest = leaf.terms
            changed.append(Sum(leaf.claim, leaf.scale, ((c + 1, factors), *rest)))
            changed.append(Sum(leaf.claim, leaf.scale, ((-c, factors), *rest)))
        for new in changed:
            if still_shows(new):
                continue
            mutant = replaced(verdict.proof, leaf, new)
            assert encode.refusal(verdict.first, verdict.second, verdict.assumed, mutant)


def test_a_proof_does_not_serve_another_problem() -> None:
    (first, *_), pairs = PAIRS[0].values, [p for p in PAIRS if p.values[1]["verdict"] == "disjoint"]
    assert first is not None
    for param in pairs:
        verdict, _ = decide(param.values[0], param.values[1]["a"], param.values[1]["b"])
        assert isinstance(verdict, Disjoint)
        reader = Reader()
        a = reader.lmad(param.values[1]["a"])
        for point in Facts.of(verdict.facts.bounds).points[:3]:
            # Shift one set onto the other at a point: an overlap there, so that no proof may hold.
            full = verdict.facts.complete(point)
            if not a.names() <= full.keys() or any(d.size.evaluate(full) < 1 for d in a.dims):
                continue
            shift = verdict.problem.offset.evaluate(point)
            moved = replace(a, offset=a.offset - shift)
            assert encode.refusal(moved, verdict.second, verdict.assumed, verdict.proof)


def test_what_is_missing_is_also_said_without_indices() -> None:
    given = {"other": ["0 <= i", "i < n", "m*m*m >= n*n", "m >= 1"]}
    reader = Reader()
    first, second = reader.lmad("i + {}"), reader.lmad("m*m + {(i : 1)}")
    answer = verdict_json(disjoint(first, second, facts_of(reader, given)))
    assert answer["verdict"] == "unknown"
    assert [[1, "m", "m"], [-1, "n"]] in answer["enough"]


def test_no_long_search_is_made_where_two_meet_at_a_few_points() -> None:
    given = {"other": ["i >= 1", "i < c", "j >= 0", "j < n", "k >= 0", "k < m", "m >= 3", "n >= 3"]}
    verdict, facts = decide(given, "n*m*i + m*j + k + {}", "1 + {(i : n*m), (n : m), (m : 1)}")
    assert isinstance(verdict, Overlap)
    assert verdict.point not in facts.points[:GLANCE]
    assert verdict.steps < 2 * SOON


CONTRARY = ["m >= 1", "d >= 8193", "d*m <= 127", "0 <= i", "i < m", "0 <= j", "j < d"]


def test_of_facts_that_contradict_each_other_no_long_search_is_made() -> None:
    """Wherever the contradiction stands among them, and although the two sets would meet."""
    for k in range(len(CONTRARY)):
        given = {"other": CONTRARY[k:] + CONTRARY[:k]}
        verdict, facts = decide(given, "d*i + j + {}", "{(m : d), (d : 1)}")
        assert not facts.points
        assert isinstance(verdict, Disjoint)
        assert verdict.steps < SOON // 2
