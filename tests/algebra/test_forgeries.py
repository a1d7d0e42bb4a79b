"""Certificates with something changed, or for another pair, are refused; nothing proved meets."""

from __future__ import annotations

import random

import pytest

from compiler.algebra.certificate import Absurd, Sum
from compiler.algebra.poly import Poly
from testing import grids
from testing.certificates import changed
from testing.forgeries import FAMILIES, family, random_lmad


@pytest.mark.parametrize("name", FAMILIES)
def test_a_part_of_each_family(name: str) -> None:
    found = family(name, 60)
    assert found["unsound"] == found["wrong witnesses"] == 0
    assert found["proved_share"] >= 0.9
    assert found["forged"]["changed"] > 50
    assert found["forged"]["changed, still proofs"] <= 1
    assert found["forged"]["misapplied"] > 10
    assert found["forged"]["misapplied, accepted"] == 0


@pytest.mark.parametrize("name", FAMILIES)
def test_grids_agree_with_sets_of_cells(name: str) -> None:
    rng = random.Random(name)
    columns = grids.grid(3)
    points = [
        dict(zip(columns, point, strict=True))
        for point in zip(*(c.tolist() for c in columns.values()), strict=True)
    ]
    for _ in range(40):
        first, second = random_lmad(rng, name), random_lmad(rng, name)
        naive = any(
            set(first.evaluate(p).points()) & set(second.evaluate(p).points()) for p in points
        )
        assert grids.meet(first, second, 3) == naive


def test_everything_in_a_certificate_is_changed() -> None:
    x, y = Poly.var("x"), Poly.var("y")
    proof = Absurd(Sum(x, 2, ((3, (x, y)),)))
    mutants = list(changed(proof, (x, y)))
    assert len(mutants) == len(set(mutants)) == 2 + 2 + 1 + 3 + 2 * 2
    assert proof not in mutants
