"""Names as the author of a program knows them."""

from __future__ import annotations

from compiler.base.names import base_of, untagged


def test_tags_go_and_equal_names_stay_apart() -> None:
    assert base_of("xs_12") == "xs"
    assert base_of("row_0") == "row"
    text = "i_12 + i_13*n_2 >= (n_2)/(b_3) + i64.f64(x_1) + i_12'"
    assert untagged(text) == "i + i₂*n >= (n)/(b) + i64.f64(x) + i'"
