"""Links whose polynomials are text are read as data, and shown as before."""

import json
from pathlib import Path
from typing import Any

import pytest

from app.older import upgraded
from app.proofs import attempt_view, memory_views
from compiler.protocol.polynomials import identity, shown, shown_cells, shown_sentence

STATE = json.loads((Path(__file__).parent / "older_state.json").read_text("utf-8"))
STATE |= {
    "manifest": [{"id": "fused", "kind": "ir"}, {"id": "funmem", "kind": "ir"}],
    "stages": {"fused": {"text": "let x = 1"}, "funmem": {"text": "xs : [n]i64 @ xs_mem_1"}},
}
OLD, NEW = STATE["attempts"], upgraded(STATE)["attempts"]


def same_step(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert shown(new["offset"]) == old["offset"]
    assert [[shown(part) for part in dim] for dim in new["dims"]] == old["dims"]
    assert [f"{shown(need['claim'])} >= 0" for need in new["needs"]] == [
        need["claim"] for need in old["needs"]
    ]
    assert [identity(need) for need in new["needs"]] == [need["text"] for need in old["needs"]]
    for before, after in zip(old["parts"], new["parts"], strict=True):
        same_step(before, after)


@pytest.mark.parametrize(("old", "new"), list(zip(OLD, NEW, strict=True)))
def test_data_is_shown_as_the_text_that_it_is_read_from(
    old: dict[str, Any], new: dict[str, Any]
) -> None:
    assert shown_cells(new["place"]["lmad"]) == old["place"]["lmad"]
    assert [shown_cells(one["lmad"]) for one in new["moved"]] == [
        one["lmad"] for one in old["moved"]
    ]
    amounts = " or ".join(f"{shown(size)} B" for size in new["copied"])
    assert amounts == old["copied"]
    for before, after in zip(old["obligations"], new["obligations"], strict=True):
        assert shown_cells(after["write"]) == before["write"]
        assert shown_cells(after["use"]) == before["use"]
        assert [f"{shown(fact)} >= 0" for fact in after["facts"]] == before["facts"]
        for step, same in zip(before["steps"], after["steps"], strict=True):
            same_step(step, same)


def test_names_are_those_of_the_author() -> None:
    guard, update = map(attempt_view, NEW)
    pair = guard.pairs[0]
    assert pair.use == "0 + {(b : n), (b : 1)}"
    assert pair.facts[0][0] == "((n - 1)/(b))*b + 1 >= 0"
    assert pair.steps[0]["parts"][0]["says"] == (
        "The smallest value of the sum is ((n - 1)/(b))*b - 2*b + 2, which is positive."
    )
    assert "_" not in update.source + update.destination
    assert shown_sentence(NEW[0]["obligations"][0]["steps"][0]["says"]).startswith("Dimensions")


def test_memory_has_its_names_too() -> None:
    new = upgraded(STATE)["lifetimes"]
    ((fun,),) = (one["functions"] for one in new)
    ((before,),) = (one["functions"] for one in STATE["lifetimes"])
    assert [shown(block["bytes"]) for block in fun["blocks"]] == [
        block["bytes"] for block in before["blocks"]
    ]
    assert [shown_cells(array["lmad"]) for array in fun["arrays"]] == [
        array["lmad"] for array in before["arrays"]
    ]
    (view,) = memory_views(new, {})
    assert view.sizes == "b = 10, i_53 = 10, i_99 = 10, n = 10, q = 10"  # of two `i`, neither is


def test_stages_say_whether_they_tell_where_arrays_lie() -> None:
    found = upgraded(STATE)
    assert [info["memory"] for info in found["manifest"]] == [False, True]
    assert upgraded(found) is found


def test_an_option_that_had_a_name_of_its_own_is_asked_for() -> None:
    found = upgraded(STATE)
    assert upgraded({**found, "options": {"fma": True, "fuel": 1}})["options"] == {
        "fuel": 1,
        "enable": ["cuda/fma"],
    }
    assert upgraded({**found, "options": {"fma": False}})["options"] == {}


def test_what_is_no_polynomial_stays_as_it_was() -> None:
    odd = "(n_6 * n_6 - 1i64) // step_15 - 1"
    old = {**OLD[0], "copied": f"{odd} B"}
    (size,) = upgraded({**STATE, "attempts": [old]})["attempts"][0]["copied"]
    assert shown(size) == odd
