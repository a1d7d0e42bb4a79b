"""Names as the author of a program knows them."""

from __future__ import annotations

from compiler.base.names import base_of
from compiler.protocol.polynomials import Applied, Polynomial, in_turn, shown


def test_tags_go_and_equal_names_stay_apart() -> None:
    assert base_of("xs_12") == "xs"
    assert base_of("row_0") == "row"
    names = {name: base_of(name) for name in ("i_12", "i_13", "n_2", "b_3")}
    quotient: Applied = {"op": "/", "of": [[[1, "n_2"]], [[1, "b_3"]]]}
    poly: Polynomial = [[1, "i_12"], [1, "i_13", "n_2"], [-1, quotient], [1, "i_12", "i_12"]]
    assert shown(poly, in_turn(names)) == "i + i₂*n - ((n)/(b)) + i**2"
