"""Accesses of real codes, a part of those that `python -m bench.codes` counts."""

from __future__ import annotations

import random

from compiler.algebra import checker
from compiler.algebra.disjoint import Disjoint
from testing.codes import codes, decided, shared, twins

OPEN = 3
"""How many of the whole list are not proved; it may only fall."""


def test_there_are_many_of_them() -> None:
    found = codes()
    assert len(found) >= 300
    assert len({code.name for code in found}) == len(found)
    assert len({(code.known, code.a, code.b) for code in found}) == len(found)
    assert len(found) >= 100 * OPEN


def test_a_part_is_proved_and_shares_no_cell() -> None:
    rng = random.Random(2)
    some = codes()[::6]
    unproved = 0
    for code in some:
        assert shared(code, rng, 60) is None, code.name
        verdict = decided(code)
        if not isinstance(verdict, Disjoint):
            unproved += 1
            continue
        checker.Theorem(verdict.theorem()).check()
    assert unproved <= OPEN


def test_what_shares_a_cell_after_a_change_is_never_proved() -> None:
    rng, meeting = random.Random(6), 0
    for code in codes()[::5]:
        for twin in twins(code, rng, 2):
            if shared(twin, rng, 40) is not None:
                meeting += 1
                assert not isinstance(decided(twin), Disjoint), twin
    assert meeting > 40
