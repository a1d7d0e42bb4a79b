"""The tuning forest, as the page and the autotuner read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from compiler.ir.parser import parse
from compiler.optimise.simplify import simplify
from compiler.parallel.tuning import forest
from tests.cases import load
from tests.parallel.versions import flat

CASES = {case.title: case.before for case in load(Path(__file__).parent / "flatten.cases")}
MAPSCAN = CASES["mapscan of the thesis on a GPU: three versions"]


def only(nodes: list[dict[str, Any]]) -> dict[str, Any]:
    (node,) = nodes
    return node


def test_mapscan_has_the_tree_of_figure_7_1() -> None:
    after, _ = flat(parse(MAPSCAN), "cuda")
    (function,) = forest(after)
    assert function["function"] == "main"
    outer = only(function["trees"])
    assert (outer["threshold"], outer["amount"], outer["default"]) == ("suff_outer_0", "m", 32768)
    first = only(outer["then"])
    assert (first["number"], first["operator"], first["space"]) == (1, "segmap", [["i", "m"]])
    intra = only(outer["orelse"])
    assert (intra["threshold"], intra["amount"], intra["also"]) == (
        "suff_intra_0",
        "n",
        "n <= 1024 || 128 <= m",
    )
    second = only(intra["then"])
    assert (second["number"], second["per_block"]) == (2, True)
    loop = only(intra["orelse"])
    assert (loop["kind"], loop["times"]) == ("loop", "64")
    third = only(loop["body"])
    assert (third["number"], third["operator"], third["points"]) == (3, "segscan", "m*n")


def test_the_tree_survives_simplification() -> None:
    after, ctx = flat(parse(MAPSCAN), "cuda")
    assert shape(forest(simplify(after, ctx))) == shape(forest(after))


def shape(node: Any) -> Any:
    """What identifies the versions, without texts that simplification may change."""
    if isinstance(node, list):
        return [shape(item) for item in node]
    kept = {key: node[key] for key in ("kind", "threshold", "operator") if key in node}
    inside = {key: shape(node[key]) for key in ("trees", "then", "orelse", "body") if key in node}
    return {**kept, **inside}


def test_a_program_without_versions_has_no_tree() -> None:
    assert forest(flat(parse(CASES["a nest of maps is one kernel"]))[0]) == []


def test_the_forest_is_plain_data() -> None:
    for text in CASES.values():
        found = forest(flat(parse(text), "cuda")[0])
        assert json.loads(json.dumps(found)) == found
