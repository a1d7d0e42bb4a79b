"""What places of the source cost: the numbers are those that attempts and accesses have."""

from typing import Any

import pytest

from compiler.driver import worker
from compiler.explain.source_costs import in_bytes

READ_LATER = """\
entry main [n] [m] (xss: *[n][m]i32): (*[n][m]i32, i32) =
  let row = map (+ 1) xss[1]
  let old = i32.sum xss[0]
  in (xss with [0] = row, old)
"""
COLUMNS = """\
entry main [n] (xss: [n][n]f32): [n]f32 =
  map (\\i -> xss[i, 0] + 1) (iota n)
"""
CONCATENATED = """\
entry main [n] (xs: [n]i32): []i32 = map (+ 1) xs ++ map (* 2) xs
"""


def asked(source: str, **fields: Any) -> dict[str, Any]:
    """The answer."""
    found = worker.answer({"op": "costs", "source": source, **fields})
    assert found["ok"], found
    return found


def kinds(found: dict[str, Any]) -> list[str]:
    """The kinds of all costs, in order."""
    return [one["kind"] for one in found["costs"]]


def test_a_copy_that_stays_is_first_with_its_bytes_and_why() -> None:
    first = asked(READ_LATER)["costs"][0]
    assert (first["kind"], first["says"], first["bytes"]) == ("copied", "copied: 400 B", 400)
    assert "would overwrite" in first["because"]
    assert first["src"][0][0] == 4
    (attempt,) = [
        one
        for one in worker.answer({"op": "attempts", "source": READ_LATER})["attempts"]
        if one["number"] == first["attempt"]
    ]
    assert not attempt["done"]


def test_a_write_is_not_explained_by_what_is_read() -> None:
    source = """\
entry main [n] (xss: *[n][n]f32): [n][n]f32 =
  let col = map (+ 1) xss[:, 0]
  in xss with [:, 1] = col
"""
    costs = {one["kind"]: one for one in asked(source)["costs"]}
    assert costs["fetched"]["because"].startswith("Neighbouring threads read")
    assert costs["written"]["because"] == "Neighbouring threads are `n` elements apart in `xss`."
    assert costs["written"]["fix"] is None


def test_the_sizes_that_are_asked_for_are_those_of_the_numbers() -> None:
    found = asked(READ_LATER, sizes={"m": 1000, "other": 3})
    assert found["sizes"] == {"m": 1000, "n": 100}
    assert found["costs"][0]["says"] == "copied: 4 kB"
    assert asked(READ_LATER, sizes={"m": 0})["costs"][0]["says"] == "copied: 0 B"


def test_a_copy_in_a_loop_is_told_for_each_round() -> None:
    source = """\
entry main [n] [m] (xss: *[n][m]i32) (k: i64): *[n][m]i32 =
  loop xss for _i < k do
    let row = map (+ 1) xss[1]
    let old = i32.sum xss[0]
    let new = xss with [0] = row
    in new with [0, 0] = old
"""
    copies = [one["says"] for one in asked(source)["costs"] if one["kind"] == "copied"]
    assert copies == ["copied in each round: 400 B"]


def test_sectors_are_those_of_a_whole_warp() -> None:
    fetched = next(one for one in asked(COLUMNS)["costs"] if one["kind"] == "fetched")
    assert fetched["says"] == "on a GPU a warp fetches 32 sectors where 4 would do"
    assert fetched["short"] == "32 sectors for 4"
    accesses = worker.answer({"op": "accesses", "source": COLUMNS, "sizes": {"n": 100}})["accesses"]
    wasted = [
        32 * (one["predicted"]["sectors"] - one["predicted"]["fewest"])
        for one in accesses
        if one["kind"] == "reads"
    ]
    assert fetched["bytes"] == max(wasted)


def test_what_is_switched_off_can_be_switched_on() -> None:
    source = """\
entry main [n] [m] (xss: [n][m]f32): [m]f32 = map f32.sum (transpose xss)
"""
    disabled = {"disable": ["coalesce"]}
    fetched = next(
        one for one in asked(source, options=disabled)["costs"] if one["kind"] == "fetched"
    )
    assert fetched["fix"]["enable"] == ["coalesce"]
    assert all(one["kind"] != "fetched" for one in asked(source)["costs"])


def test_without_short_circuiting_no_copy_is_claimed_and_that_is_said() -> None:
    found = asked(CONCATENATED, options={"disable": ["shortcircuit"]})
    assert not {"copied", "built"} & set(kinds(found))
    assert found["unknown"] == [
        "Avoidable copies are unknown, because `shortcircuit` is switched off."
    ]


DEEP = """\
entry main [n] (xs: [n]f32) (rounds: i64): [n]f32 =
  loop xs for i < rounds do map (\\j -> xs[(j * 7 + i) % n] * 2) (iota n)
"""


def test_what_takes_long_to_count_is_not_counted_and_that_is_said() -> None:
    """The effort is bounded by what is counted, and is the same on every machine."""
    few, many = (asked(DEEP, sizes={"n": 1000, "rounds": rounds}) for rounds in (3, 5000))
    assert "fetched" in kinds(few), few
    assert few["unknown"] == []
    assert not {"fetched", "written"} & set(kinds(many))
    words = "Counting the cost of `main` on a GPU takes long: see *Warps*."
    assert many["unknown"] == [words]
    assert many == asked(DEEP, sizes={"n": 1000, "rounds": 5000})


def test_accesses_may_be_for_the_same_sizes() -> None:
    source = "entry main [n] (xs: [n]f32) (k: i64) = (map (* 2) xs, k)"
    request = {"op": "accesses", "source": source}
    assert worker.answer({**request, "as_costs": True})["sizes"] == asked(source)["sizes"]
    assert worker.answer(request)["sizes"] == {"n": 64, "k": 8}


def test_what_is_saved_comes_last() -> None:
    found = asked(CONCATENATED)
    assert kinds(found) == ["built"]
    assert found["costs"][0]["says"] == "built in place: 400 B never copied"
    assert found["costs"][0]["times"] == 2
    assert kinds(asked(READ_LATER))[-1] not in ("copied",)


@pytest.mark.parametrize("target", ["c", "cuda"])
def test_the_chosen_machine_comes_first(target: str) -> None:
    source = """\
entry main [n] (xss: *[n][n]f32): (*[n][n]f32, f32) =
  let row = map (\\i -> xss[i, 0] + 1) (iota n)
  let old = f32.sum xss[1]
  in (xss with [1] = row, old)
"""
    numbered = [one for one in asked(source, options={"target": target})["costs"] if one["bytes"]]
    panes = [one["pane"] for one in numbered if one["kind"] not in ("built", "fused")]
    assert set(panes) == {"proof", "warps"}
    if target == "c":
        assert panes.index("warps") > panes.index("proof")
    else:
        counted = [one["bytes"] for one in numbered if one["kind"] not in ("built", "fused")]
        assert counted == sorted(counted, reverse=True)


def test_amounts_are_in_decimal_units() -> None:
    shown = [in_bytes(count) for count in (0, 999, 1000, 12345, 10**6, 5 * 10**9)]
    assert shown == ["0 B", "999 B", "1 kB", "12.3 kB", "1 MB", "5 GB"]


def test_what_is_put_together_is_told_of_each_part() -> None:
    source = "entry main [n] (xs: [n]i32): []i32 = map (+ 1) xs ++ map (* 2) xs[:n - 1]\n"
    built = [one for one in asked(source)["costs"] if one["kind"] == "built"]
    assert [(one["says"], one["times"]) for one in built] == [
        ("built in place: 400 B never copied", 1),
        ("built in place: 396 B never copied", 1),
    ]
    assert [one["made"] for one in built] == [[[1, 38, 1, 50]], [[1, 54, 1, 74]]]
    assert [one["formula"] for one in built] == ["4·n bytes", "4·n - 4 bytes"]


def test_amounts_in_loops_are_numbers_for_the_sizes() -> None:
    source = """\
entry main [n] (xss: *[n][n]i64) (b: i64): *[n][n]i64 =
  let parts = n / b
  in loop xss for k < parts do
    let row = map (+ k) xss[k, :k * b]
    in xss with [k, :k * b] = row
"""
    said = [one for one in asked(source)["costs"] if one["pane"] == "proof"]
    (one,) = said
    assert one["says"].endswith("in each round: 0 B to 720 B never copied"), one["says"]
    assert (one["bytes"], one["formula"]) == (720, "8·b·k bytes")
    (none,) = [one for one in asked(source, sizes={"b": 0})["costs"] if one["pane"] == "proof"]
    assert none["says"].endswith("8·b·k bytes never copied")
    (never,) = [one for one in asked(source, sizes={"b": 1000})["costs"] if one["pane"] == "proof"]
    assert never["bytes"] == 0


def test_full_warps_and_the_rest_are_told_apart() -> None:
    source = "entry main [n] [m] (xss: [n][m]f32): [m]f32 = map (\\i -> xss[i % n, 0]) (iota m)\n"
    answer = worker.answer({"op": "accesses", "source": source, "sizes": {"n": 100, "m": 100}})
    read = next(one for one in answer["accesses"] if one["kind"] == "reads")
    assert (read["predicted"]["lanes"], read["predicted"]["requests"]) == (100, 4)
    said = "3 warps of 32 lanes and 1 of 4 fetch 100 sectors in all, 12 % used; 13 would do"
    assert read["says"] == said
    whole = worker.answer({"op": "accesses", "source": source, "sizes": {"n": 128, "m": 128}})
    read = next(one for one in whole["accesses"] if one["kind"] == "reads")
    assert read["says"].startswith("32 lanes fetch 32 sectors,")


def test_warps_of_several_lengths_are_told_on_average() -> None:
    source = (
        "entry main [n] (xss: [n][n]f32): [n]f32 =\n"
        "  map (\\i -> loop a = 0 for k < i do a + xss[i, k]) (iota n)\n"
    )
    answer = worker.answer({"op": "accesses", "source": source, "sizes": {"n": 64}})
    read = next(one for one in answer["accesses"] if one["kind"] == "reads")
    assert "on average" in read["says"]
