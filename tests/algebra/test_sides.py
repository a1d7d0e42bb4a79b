"""A verdict does not depend on which of the two sides comes first."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from compiler.algebra.decide import decide
from compiler.algebra.disjoint import disjoint
from compiler.algebra.facts import Facts
from compiler.algebra.poly import Poly
from compiler.base.errors import UsageError
from testing.codes import codes
from testing.forgeries import FAMILIES, random_lmad
from testing.generators.quotients import problem

PAIRS = json.loads((Path(__file__).parents[2] / "testing" / "pairs.json").read_text("utf-8"))


def kinds(a: Any, b: Any, assumptions: Any) -> tuple[type, type]:
    return type(decide(a, b, assumptions).verdict), type(decide(b, a, assumptions).verdict)


@pytest.mark.parametrize("group", PAIRS, ids=[group["name"] for group in PAIRS])
def test_of_known_pairs(group: dict[str, Any]) -> None:
    for pair in group["pairs"]:
        one, other = kinds(pair["a"], pair["b"], group["assumptions"])
        assert one is other
        assert one.__name__.lower() == pair["verdict"]


@pytest.mark.parametrize("name", FAMILIES)
def test_of_random_pairs(name: str) -> None:
    rng = random.Random(name)
    n, m, i = map(Poly.var, "nmi")
    facts = Facts.of([n - 1, m - 1, i, n - 1 - i])
    for _ in range(60):
        first, second = random_lmad(rng, name), random_lmad(rng, name)
        one, other = disjoint(first, second, facts), disjoint(second, first, facts)
        assert type(one) is type(other), (str(first), str(second))


def test_of_random_quotients() -> None:
    rng, seen = random.Random(8), 0
    for _ in range(20):
        given = problem(rng)
        try:
            one, other = kinds(given["a"], given["b"], given["assumptions"])
        except UsageError:
            continue
        seen += 1
        assert one is other, given
    assert seen > 10


def test_of_codes() -> None:
    for code in random.Random(3).sample(codes(), 30):
        one, other = kinds(code.a, code.b, code.problem["assumptions"])
        assert one is other, code.name
