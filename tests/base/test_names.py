"""Names as the author of a program knows them."""

from __future__ import annotations

import pytest

from compiler.base.names import NameSource, base_of
from compiler.driver import explanations
from compiler.protocol import storage
from compiler.protocol.polynomials import Applied, Polynomial, in_turn, shown


def test_tags_go_and_equal_names_stay_apart() -> None:
    assert base_of("xs_12") == "xs"
    assert base_of("row_0") == "row"
    names = {name: base_of(name) for name in ("i_12", "i_13", "n_2", "b_3")}
    quotient: Applied = {"op": "/", "of": [[[1, "n_2"]], [[1, "b_3"]]]}
    poly: Polynomial = [[1, "i_12"], [1, "i_13", "n_2"], [-1, quotient], [1, "i_12", "i_12"]]
    assert shown(poly, in_turn(names)) == "i + i₂*n - ((n)/(b)) + i**2"


HOSTILE = "x x_ x_1 x_07 x__2 x_1_3 x'_4 _ __ _1 _1_2 __3 x_y_9 main_0 e_1e5 \u0661_\u0662".split()


@pytest.mark.parametrize("base", HOSTILE)
def test_a_new_name_reads_like_what_it_was_made_from(base: str) -> None:
    names = NameSource(5, {})
    first = names.fresh(base)
    second = names.fresh(first)
    assert base_of(first) == base_of(second) == base_of(base) != ""
    assert len({base, first, second, names.fresh(base)}) == 4
    mine = names.authored(base, base)
    assert names.called(mine) == names.called(names.fresh(mine)) == base
    assert names.called(first) == base_of(base)
    assert names.called(names.authored("prices_call", "prices")) == "prices_call"


def test_no_two_names_of_a_source_are_the_same() -> None:
    names = NameSource(0)
    made = [names.fresh(base) for _ in range(3) for base in HOSTILE]
    made += [names.fresh(name) for name in made]
    assert len(set(made)) == len(made)


def test_the_page_has_authors_names_as_they_were_written() -> None:
    source = """
entry main [n_1] (_2: [n_1]i64) (x_1: i64) (xs_07: *[n_1]i64) =
  let x_1_3 = x_1 + n_1
  let ys_0 = scan (+) x_1_3 xs_07
  in (ys_0, filter (> x_1) ys_0)
"""
    asked = storage.LifetimesRequest(source, {}, stage="merged", values=None)
    (alive,) = explanations.lifetimes(asked)["functions"]
    (laid,) = explanations.memory(storage.MemoryRequest(source, {}, stage="merged"))["functions"]
    for told in (alive, laid):
        bases = {array["base"] for array in told["arrays"]}
        assert {"_2", "xs_07", "ys_0"} <= bases
        assert "" not in bases
        assert "n_1" in told["names"].values()
    answer = explanations.interference(storage.InterferenceRequest(source, {}, stage="funmem"))
    assert "n_1" in answer["functions"][0]["names"].values()
