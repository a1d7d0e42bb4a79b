"""LMADs as sets of cells for chosen values: the numbers behind the pictures of proofs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from compiler.algebra.cells import cells
from compiler.algebra.notation import Reader
from compiler.base.errors import UsageError
from compiler.driver import worker
from compiler.protocol.polynomials import shown

PAIRS = json.loads((Path(__file__).parents[2] / "testing" / "pairs.json").read_text())
EXAMPLES = Path(__file__).parents[2] / "app" / "examples"
ROWS = {"other": ["n >= 1", "i >= 0", "i < n"]}


@pytest.mark.parametrize("group", PAIRS, ids=lambda group: group["name"])
def test_proposed_values_meet_the_assumptions_and_proved_pairs_share_nothing(group: dict) -> None:  # type: ignore[type-arg]
    for pair in group["pairs"]:
        found = cells(group["assumptions"], [pair["a"], pair["b"]], {})
        assert found["broken"] == []
        assert found["values"].keys() == set(found["symbols"])
        if pair["verdict"] == "disjoint":
            assert found["shared"] == []


def test_a_row_and_a_column_share_one_cell() -> None:
    found = cells(ROWS, ["i*n + {(n : 1)}", "i + {(n : n)}"], {"n": 4, "i": 2})
    row, column = found["lmads"]
    assert [point["cell"] for point in row["points"]] == [8, 9, 10, 11]
    assert [point["cell"] for point in column["points"]] == [2, 6, 10, 14]
    assert column["points"][1] == {"index": [1], "cell": 6}
    assert found["shared"] == [10]
    assert (row["complete"], row["count"]) == (True, 4)


def test_values_that_break_an_assumption_are_drawn_and_named() -> None:
    found = cells(ROWS, ["i*n + {(n : 1)}"], {"n": 2, "i": 3})
    assert [shown(claim) for claim in found["broken"]] == ["-i + n - 1"]
    assert found["lmads"][0]["offset"] == 6


def test_quotients_and_equalities_are_computed() -> None:
    given = {"other": ["q == n // 3", "n >= 7"]}
    found = cells(given, ["q + {(n // 2 : 1)}"], {"n": 9})
    assert found["symbols"] == ["n"]
    assert [point["cell"] for point in found["lmads"][0]["points"]] == [3, 4, 5, 6]


def test_empty_huge_and_negative_sizes() -> None:
    found = cells({}, ["{(0 : 1)}", "{(n : 1), (n : n)}", "5 + {(n - 20 : 1)}"], {"n": 10})
    assert [lmad["count"] for lmad in found["lmads"]] == [0, 100, 0]
    cut = cells({}, ["{(n : n), (n : 1)}"], {"n": 10**9})["lmads"][0]
    assert (len(cut["points"]), cut["complete"], cut["count"]) == (4096, False, 10**18)
    assert cut["points"][-1] == {"index": [0, 4095], "cell": 4095}


@pytest.mark.parametrize(
    "text", ["1 + {(2 : 3)", "1 + {2 : 3}", "1 + {(2)}", "x + {(2 : y z)}", "{(n // 0 : 1)}"]
)
def test_text_that_is_no_lmad_is_refused_in_words(text: str) -> None:
    with pytest.raises(UsageError) as caught:
        cells({}, [text], {"n": 3})
    assert caught.value.message


def test_an_lmad_reads_the_same_as_text_and_as_an_object() -> None:
    data = {"offset": "b*i", "dims": [["i + 1", "n*b - b"], ["(b + 1)*2", "1"]]}
    text = "b*i + {(i + 1 : n*b - b), ((b + 1)*2 : 1)}"
    assert Reader().lmad(text) == Reader().lmad(data)
    assert str(Reader().lmad(str(Reader().lmad(text)))) == str(Reader().lmad(text))


def test_what_the_compiler_prints_may_hold_other_operations() -> None:
    given = {
        "other": ["(n_1)/(b_2) - 1 >= 0", "max(n_1, 4) >= 0", "n_1 % 3 >= 0", "if c then 1 >= 0"]
    }
    found = cells(given, ["(n_1)/(b_2) + {(max(n_1, 4) : 1)}"], {"n_1": 9, "b_2": 2})
    assert found["symbols"] == ["b_2", "n_1"]
    assert found["lmads"][0]["offset"] == 4


def test_minima_and_maxima_follow_from_what_they_are_of() -> None:
    answer = cells({}, ["max(0, n - 2) + {(min(n, m) : 1)}"], {"n": 5, "m": 3})
    assert answer["symbols"] == ["m", "n"]
    assert [at["cell"] for at in answer["lmads"][0]["points"]] == [3, 4, 5]


def test_operations_of_answers_are_read_back() -> None:
    quotient = {"op": "/", "of": [[[1, "n"], [-1]], [[1, "b"]]]}
    poly = [[2, quotient], [1, {"op": "max", "of": [[[1, "b"]], [[1, "n"]]]}], [3]]
    assert shown(poly) == "2*((n - 1)/(b)) + max(b, n) + 3"
    answer = cells({"nonnegative": [poly]}, [{"offset": poly, "dims": []}], {"n": 6, "b": 2})
    assert answer["symbols"] == ["b", "n"]
    assert answer["lmads"][0]["offset"] == 4 + 6 + 3
    broken = cells({"nonnegative": [[[-1, quotient]]]}, ["{}"], {"n": 6, "b": 2})["broken"]
    assert [shown(claim) for claim in broken] == ["-((n - 1)//b)"]


@pytest.mark.parametrize("poly", [[[]], [["n"]], [[1.5]], [[True, "n"]], [[1, ""]], [[1, {}]]])
def test_what_is_no_polynomial_is_refused(poly: object) -> None:
    with pytest.raises(UsageError):
        cells({}, [{"offset": poly, "dims": []}], {})


@pytest.mark.parametrize(
    ("other", "values"),
    [
        (["i >= 0", "i < n"], {"i": 40}),
        (["i >= 0", "i < n"], {"n": 90}),
        (["n >= 2", "i >= n", "2*i <= j"], {"i": 7}),
        (["q == n // 3", "i < q", "i >= 0"], {"i": 9}),
    ],
)
def test_the_other_values_go_with_the_chosen_ones(other: list[str], values: dict[str, int]) -> None:
    found = cells({"other": other}, ["i + {(n : 1)}"], values)
    assert found["broken"] == []
    assert values.items() <= found["values"].items()


@pytest.mark.parametrize(
    ("bounds", "expected"),
    [
        (["-sgn(s) - 1"], range(-99, 0)),
        (["sgn(s) - 1", "s - 3"], range(3, 99)),
        (["abs(s) - 4", "-s"], range(-99, -3)),
        (["3 - max(s, n)", "min(s, n) - 2"], range(2, 4)),
    ],
)
def test_operations_are_of_what_their_operands_are(bounds: list[str], expected: range) -> None:
    found = cells({"nonnegative": bounds}, ["s + {(n : 1)}"], {})
    assert set(found["symbols"]) == {"n", "s"}
    assert found["broken"] == []
    assert found["values"]["s"] in expected


def test_what_a_name_equals_is_shown_by_the_name_and_has_values_that_a_run_has() -> None:
    source = (EXAMPLES / "anti_diagonal.fut").read_text()
    answer = worker.answer({"op": "attempts", "source": source})
    one = next(one for told in answer["attempts"] for one in told["obligations"])
    assert not any("//" in shown(fact) or "/" in shown(fact) for fact in one["facts"])
    found = cells({"nonnegative": one["facts"]}, [one["write"], one["use"]], {})
    assert {name.rpartition("_")[0] for name in found["symbols"]} == {"i", "n"}
    assert found["broken"] == []
