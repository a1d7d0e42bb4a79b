"""Points that meet facts are found once for questions that differ in their names only."""

from __future__ import annotations

from compiler.algebra.facts import Facts
from compiler.algebra.poly import Poly


def facts(size: str, index: str) -> Facts:
    """`0 <= index < size - 1`, for names in this order."""
    n, i = Poly.var(size), Poly.var(index)
    return Facts.of((i, n - 2 - i, n * i - 3))


def test_other_names_in_the_same_order_have_the_same_points() -> None:
    found, other = facts("b_1", "a_1"), facts("z_77", "y_8")
    assert found.points
    renamed = [{"z_77": point["b_1"], "y_8": point["a_1"]} for point in found.points]
    assert list(other.points) == renamed


def test_all_points_meet_the_facts_by_their_own_names() -> None:
    for names in (("a_1", "b_1"), ("b_1", "a_1")):
        known = facts(*names)
        assert known.points
        for point in known.points:
            assert all(bound.evaluate(point) >= 0 for bound in known.bounds)
