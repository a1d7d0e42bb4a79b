"""Sizes that are products of sums of each other: they are not multiplied out without end."""

from __future__ import annotations

import pytest

from compiler.algebra import poly
from compiler.base.context import Options
from compiler.driver.pipeline import Compilation
from testing.generators.families import squared_sizes

MOST_PRODUCTS = 200_000


@pytest.mark.parametrize("deep", [7, 8])
def test_the_terms_of_nested_products_stay_few(deep: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Multiplied out the size of the result has more than 2^`deep` terms."""
    made, times = 0, poly._times

    def counted(one: poly.Monomial, other: poly.Monomial) -> poly.Monomial:
        nonlocal made
        made += 1
        assert made < MOST_PRODUCTS
        return times(one, other)

    monkeypatch.setattr(poly, "_times", counted)
    Compilation(squared_sizes(deep), Options()).result("merged")
