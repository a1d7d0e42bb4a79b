"""How far apart neighbouring lanes' cells are, as a formula, and what was done about it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from compiler.driver import worker
from tests.test_examples import EXAMPLES

ROWS = "entry main [n][m] (a: [n][m]f32): [n]f32 = map (\\r -> loop s = 0 for x in r do s + x) a"
HALF = ROWS.replace("for x in r do s + x", "for i < (m + 1) / 2 do s + r[i * 2]")
THIRDS = "entry main [n] (a: [n]f32) = map (\\i -> a[i * 3 + 1]) (iota (n / 3))"
TURNED = "entry main [n][m] (a: [n][m]f32) = transpose a"
COLUMNS = "entry main [n][m] (a: [n][m]f32) = map (\\c -> f32.sum c) (transpose a)"
NARROW = "entry main [n] (a: [n][4]f32) = transpose a"
OFF = {"disable": ["coalesce", "kernels/squares"]}


def costs(source: str, **more: Any) -> list[dict[str, Any]]:
    answer = worker.answer({"op": "accesses", "source": source, **more})
    assert answer["ok"], answer
    found: list[dict[str, Any]] = answer["accesses"]
    return found


def parts(one: dict[str, Any]) -> tuple[str, list[str]]:
    stride = one["stride"]
    return stride["elements"], [one["cell"][start:end] for start, end in stride["factors"]]


@pytest.mark.parametrize(
    ("source", "elements", "factors"),
    [
        (ROWS, "m", ["m_"]),
        (HALF, "m", ["m_"]),
        (THIRDS, "3", ["3"]),
        (TURNED, "m", ["m_"]),
        (COLUMNS, "m", ["m_"]),
        (TURNED.replace("transpose a", "map (map (+ 1)) a"), "1", []),
        (ROWS.replace("[m]f32", "[m][2]f32").replace("s + x", "s + x[1]"), "2*m", ["m_", "2"]),
    ],
)
def test_the_stride_is_told_in_the_author_s_names(
    source: str, elements: str, factors: list[str]
) -> None:
    worst = next(a for a in costs(source, options=OFF) if a["array"].startswith("a_mem"))
    told, marked = parts(worst)
    assert told == elements
    assert all(want in "".join(marked) for want in factors)
    assert bool(marked) == bool(factors)


@pytest.mark.parametrize("source", [TURNED, COLUMNS])
def test_an_access_has_the_names_of_the_cuda_text(source: str) -> None:
    """Squares have numbers that the compiler made: the kernel IR marks them, and CUDA does not."""
    for one in costs(source):
        assert f"{one['array']}[{one['cell']}]" in one["text"].replace("_part_0[", "_part[")


@pytest.mark.parametrize("path", EXAMPLES[::3], ids=lambda path: path.stem)
def test_the_formula_is_what_the_lanes_do(path: Path) -> None:
    """In each request most neighbours are as far apart as it says: others begin another row."""
    answer = worker.answer({"op": "accesses", "source": path.read_text()})
    if not answer["ok"]:
        pytest.skip(answer["error"]["message"])
    for one in answer["accesses"]:
        if "stride" not in one:
            continue
        try:
            elements = eval(one["stride"]["elements"], {}, answer["sizes"])
        except (NameError, SyntaxError):
            continue  # in terms of a loop's counter
        for sample in one["samples"]:
            lanes = sample["lanes"]
            steps = Counter(b - a for a, b in pairwise(lanes) if a >= 0 and b >= 0)
            if steps:
                assert elements * one["size"] in steps, (one["cell"], one["stride"], lanes)


def test_it_is_underlined_in_the_texts_of_stages_only_where_it_is_at_fault() -> None:
    worst, *others = costs(ROWS, options=OFF)
    places = {at["stage"]: at for at in worst["stride"]["places"]}
    assert {"cuda", "funmem", "merged"} <= places.keys()
    shown = worker.answer({"op": "show", "source": ROWS, "options": {**OFF, "target": "cuda"}})[
        "stages"
    ]
    for stage, at in places.items():
        text = shown[stage]["lines"][at["line"] - 1]["text"]
        assert text == at["text"]
        assert {text[start:end].rstrip("0123456789") for start, end in at["at"]} == {"m_"}
    assert not any(one["stride"]["places"] for one in others)


def test_an_access_has_the_remark_that_mended_it() -> None:
    rules = {tuple(r["rule"] for r in one["remarks"]) for one in costs(TURNED) if not one["shared"]}
    assert rules == {("kernels/squares",)}
    read = next(
        one for one in costs(ROWS) if one["kernel"].startswith("map") and one["kind"] == "reads"
    )
    assert read["remarks"][0]["rule"] == "coalesce/reads"
    assert read["remarks"][0]["kind"] == "applied"


@pytest.mark.parametrize(
    ("source", "rule", "because"),
    [
        (HALF, "coalesce/reads", "They read only a part of it"),
        (NARROW, "kernels/squares", "Rows of fewer than 8 elements"),
        (
            "entry main [n] (a: [n][3]u8) = map (\\r -> loop s = 0u8 for x in r do s + x) a",
            "coalesce/reads",
            "at least as many sectors",
        ),
    ],
)
def test_or_one_that_says_why_not(source: str, rule: str, because: str) -> None:
    remarks = [r for one in costs(source) for r in one["remarks"] if r["rule"] == rule]
    assert remarks
    assert all(r["kind"] == "missed" and because in r["because"] for r in remarks)


def test_without_squares_a_transposition_is_slow() -> None:
    slow = costs(TURNED, options={"disable": ["kernels/squares"]})[0]
    assert slow["says"] == "32 lanes fetch 32 sectors, 12 % used; 4 would do"
    assert all("100 %" in one["says"] for one in costs(TURNED) if not one["shared"])
