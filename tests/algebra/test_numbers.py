"""LMADs of numbers are all decided, and what is disjoint has a proof."""

from __future__ import annotations

import random
from itertools import product

import pytest

from compiler.algebra import checker, constant
from compiler.algebra.checker import _solvable
from compiler.driver import explanations
from compiler.protocol.proofs import ProveRequest

Pair = tuple[int, list[list[int]]]


def lmad(rng: random.Random, most: int) -> Pair:
    strides = [-15, -9, -4, -1, 0, 1, 2, 3, 5, 6, 8, 10, 12, 15]
    dims = [[rng.randint(0, 6), rng.choice(strides)] for _ in range(rng.randint(0, most))]
    return rng.randint(-20, 60), dims


def cells(pair: Pair) -> set[int]:
    offset, dims = pair
    steps = product(*(range(size) for size, _ in dims))
    return {offset + sum(z * s for z, (_, s) in zip(at, dims, strict=True)) for at in steps}


def asked(pair: Pair) -> dict[str, object]:
    return {"offset": pair[0], "dims": pair[1]}


@pytest.mark.parametrize("most", [1, 2, 3, 4])
def test_every_pair_is_decided_and_the_proof_accepted(most: int) -> None:
    rng = random.Random(most)
    disjoint = 0
    for _ in range(1000):
        first, second = lmad(rng, most), lmad(rng, most)
        answer = explanations.prove(ProveRequest(a=asked(first), b=asked(second), certificate=True))
        meet = cells(first) & cells(second)
        assert answer["verdict"] == ("overlap" if meet else "disjoint"), (first, second)
        if meet:
            assert answer["witness"]["cell"] in meet
        else:
            disjoint += 1
            assert len(list(checker.verify(answer["certificate"]))) == 1
    assert disjoint > 200


def test_large_numbers_are_decided_at_once() -> None:
    prime = 1_000_003
    first = {"offset": 0, "dims": [[10**9, prime * 6], [10**9, prime * 10], [10**9, prime * 15]]}
    answer = explanations.prove(
        ProveRequest(a=first, b={"offset": prime * 29 + 1, "dims": [[10**12, prime]]})
    )
    assert answer["verdict"] == "disjoint"
    # 29 is the largest number that no sum of sixes, tens and fifteens is.
    answer = explanations.prove(ProveRequest(a=first, b={"offset": prime * 29, "dims": []}))
    assert answer["verdict"] == "disjoint"
    answer = explanations.prove(ProveRequest(a=first, b={"offset": prime * 30, "dims": []}))
    assert answer["verdict"] == "overlap"


def test_the_checker_counts_as_the_search_does() -> None:
    rng = random.Random(9)
    solvable = 0
    for _ in range(5000):
        dims = []
        for _ in range(rng.randint(0, 4)):
            low = rng.randint(-4, 4)
            dims.append((rng.randint(-20, 20), low, low + rng.randint(-1, 6)))
        offset = rng.randint(-15, 15)
        sums = {offset}
        for stride, low, high in dims:
            sums = {total + stride * z for total in sums for z in range(low, high + 1)}
        assert constant.solvable(offset, dims) == _solvable(offset, dims) == (0 in sums)
        solvable += 0 in sums
    assert 400 < solvable < 4000


def test_a_question_of_numbers_beside_names_is_decided() -> None:
    """What is left of this pair at a block is 6x + 10y = 15z + 1, without 29 and its like."""
    answer = explanations.prove(
        ProveRequest(
            assumptions={"nonnegative": ["i"], "other": ["1000 < n"]},
            a={"offset": "n*i", "dims": [[3, 6], [3, 10]]},
            b={"offset": "n*i + 29", "dims": [[2, 15]]},
        )
    )
    assert answer["verdict"] == "disjoint"


def test_equal_strides_are_counted_once() -> None:
    """At a point of huge sizes there are as few states as at one of small ones."""
    far, many = 10**14, 10**14 - 3
    above = (far, [(many, far), (many, 1)])
    left = (3, [(many, far), (3, 1)])
    found = constant.meet(above, left, nodes=20)
    assert found is not None
    cell, here, there = found
    assert cell == far + here[0] * far + here[1] == 3 + there[0] * far + there[1]
    beside = (10, [(5, 50), (10, 1), (2, -50)]), (20, [(7, 50), (10, 1), (3, 50), (2, 100)])
    assert constant.meet(*beside, nodes=20) is None
