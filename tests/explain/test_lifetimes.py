"""Which arrays and blocks are needed at which statements, and how many bytes that is."""

from __future__ import annotations

from typing import Any

import pytest

from compiler.driver import worker
from compiler.explain.lifetimes import lifetimes
from compiler.protocol.polynomials import names_in
from tests.storage.helpers import ALL, with_memory


def data(name: str, **values: int) -> dict[str, Any]:
    (fun,) = lifetimes(with_memory(ALL[name]), values or None)["functions"]
    found: dict[str, Any] = fun
    return found


def labels(fun: dict[str, Any]) -> list[str]:
    return [point["label"].replace("_", " ").split()[-1] for point in fun["points"]]


def span(fun: dict[str, Any], base: str) -> tuple[str, str]:
    """Where the array of that name is first and last needed, as labels."""
    array = next(a for a in fun["arrays"] if a["base"] == base)
    return fun["points"][array["first"]]["label"], fun["points"][array["last"]]["label"]


def test_a_map_needs_its_input_until_it_has_run() -> None:
    fun = data("MAP", n_1=10)
    assert labels(fun) == ["parameters", "alloc", "segmap", "results"]
    assert span(fun, "xs") == ("parameters", "ys_4 = segmap")
    assert span(fun, "ys") == ("ys_4 = segmap", "results")
    size = {block["kind"]: block["size"] for block in fun["blocks"]}
    assert fun["live"] == [size["parameter"], sum(size.values()), sum(size.values()), size["alloc"]]
    assert fun["peak"] == {"bytes": sum(size.values()), "point": 1}


def test_a_loop_has_the_old_and_the_new_array_at_once_and_one_after_it() -> None:
    fun = data("STENCIL", n_1=10)
    (parameter, alloc) = fun["blocks"]
    carried = next(a for a in fun["arrays"] if len(a["blocks"]) == 2)
    assert carried["blocks"] == [parameter["name"], alloc["name"]]
    assert fun["peak"]["bytes"] == parameter["size"] + alloc["size"]
    assert fun["live"][-1] == alloc["size"]


def test_of_two_branches_only_one_counts_afterwards() -> None:
    fun = data("IF_TRANSPOSED", n_1=4, b_stride_1002=1, b_stride_1003=4)
    assert max(fun["live"]) == fun["peak"]["bytes"]
    assert fun["live"][-1] < fun["peak"]["bytes"]


def test_what_a_kernel_allocates_counts_for_each_of_its_points() -> None:
    fun = data("ROWS", n_1=3, m_2=5)
    inner = [block for block in fun["blocks"] if block["per_point"]]
    assert inner
    assert all({"n_1", "m_2"} <= set(names_in(block["bytes"])) for block in inner)


def test_without_values_there_are_no_numbers() -> None:
    fun = data("MAP")
    assert fun["symbols"] == ["n_1"]
    assert "live" not in fun
    assert "size" not in fun["blocks"][0]


@pytest.mark.parametrize("name", sorted(ALL))
def test_arrays_lie_in_known_blocks_and_end_after_they_begin(name: str) -> None:
    for fun in lifetimes(with_memory(ALL[name]))["functions"]:
        blocks = {block["name"]: block for block in fun["blocks"]}
        for array in fun["arrays"]:
            assert array["blocks"], array["name"]
            assert 0 <= array["first"] <= array["last"] < len(fun["points"])
            for block in array["blocks"]:
                assert blocks[block]["at"] <= array["first"]
                assert array["last"] <= blocks[block]["until"]


def test_names_without_a_value_get_one_that_is_proposed() -> None:
    """A size of an argument is 100, and any other name 10; what is given stays."""
    prog = with_memory(ALL["ROWS"])
    (fun,) = lifetimes(prog)["functions"]
    full = lifetimes(prog, {})
    assert set(full["values"]) == set(fun["symbols"])
    assert set(full["values"].values()) <= {100, 10}
    assert full["values"]["n_1"] == 100
    some = lifetimes(prog, {"n_1": 3, "nobody": 7})
    assert some["values"] == {**full["values"], "n_1": 3}
    assert some == lifetimes(prog, some["values"])


def test_what_follows_from_sizes_is_proposed_so() -> None:
    """A quotient of sizes, and a counter, have no values that they never have."""
    source = """\
entry main [n] (xs: [n]i64) (b: i64): i64 =
  let q = n / b
  in loop acc = 0 for i < q do
       let rows = scan (+) 0 (replicate (b * (q - i)) acc)
       in rows[0] + i64.sum rows
"""
    asked = {"op": "lifetimes", "source": source, "stage": "funmem"}
    found = worker.answer({**asked, "values": {}})
    named = {name.partition("_")[0]: value for name, value in found["values"].items()}
    assert named == {"n": 100, "b": 10, "q": 10, "i": 0}
    (n,) = (name for name in found["values"] if name.startswith("n_"))
    smaller = worker.answer({**asked, "values": {n: 30}})
    assert sorted(smaller["values"].values()) == [0, 3, 10, 30]
