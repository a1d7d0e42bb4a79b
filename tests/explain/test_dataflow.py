"""Programs as graphs: who takes which array of whom, and what fusion tried between them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from compiler.driver import api, explanations
from compiler.driver.worker import answer
from compiler.protocol.graphs import DataflowRequest, FlowBody, FusionRequest
from compiler.protocol.polynomials import shown

EXAMPLES = sorted((Path(__file__).parents[2] / "app" / "examples").glob("*.f*"))
CHAIN = """entry main [n] (xs: [n]i32) =
  let ys = map (* 2) xs
  let zs = scan (+) 0 ys
  in (reduce (+) 0 (map (+ 1) zs), loop a = zs for i < 3 do scan (+) i a)
"""


def edges(body: FlowBody) -> set[tuple[str, str, str]]:
    """Source, array with its size, and target."""
    nodes = [one["label"] for one in body["nodes"]]
    return {
        (nodes[e["source"]], f"{e['base']}: {shown(e['bytes'])}", nodes[e["target"]])
        for e in body["edges"]
    }


def test_arrays_go_from_what_makes_them_to_what_takes_them() -> None:
    (fun,) = explanations.dataflow(DataflowRequest(CHAIN, stage="simplified"))["functions"]
    outer, loop = fun["bodies"]
    n = next(name for name, said in fun["names"].items() if said == "n")
    assert edges(outer) == {
        ("xs", f"xs: 4*{n}", "ys = map"),
        ("ys = map", f"ys: 4*{n}", "zs = scan"),
        ("zs = scan", f"zs: 4*{n}", "map = map"),
        ("map = map", f"map: 4*{n}", "red = reduce"),
        ("zs = scan", f"zs: 4*{n}", "a = loop"),
        ("a = loop", f"a: 4*{n}", "results"),
    }
    assert edges(loop) == {
        ("a", f"a: 4*{n}", "scan = scan"),
        ("scan = scan", f"scan: 4*{n}", "results"),
    }
    assert outer["nodes"][1]["src"] == [[2, 12, 2, 24]]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_stage_has_a_graph_and_each_array_comes_before_it_is_taken(path: Path) -> None:
    source, main = path.read_text("utf-8"), path.name if path.suffix == ".fp" else ""
    for stage in api.VALUE_STAGES:
        asked = DataflowRequest(source, main=main, stage=stage)
        for fun in explanations.dataflow(asked)["functions"]:
            for body in fun["bodies"]:
                assert all(e["source"] < e["target"] < len(body["nodes"]) for e in body["edges"])
                assert all(e["array"] in _made(body, e["source"]) for e in body["edges"])


def _made(body: FlowBody, node: int) -> list[str]:
    return body["nodes"][node]["names"]


def test_fusion_is_told_by_what_was_tried() -> None:
    told = explanations.fusion(FusionRequest(CHAIN))
    before, after = (
        [node["kind"] for node in told[when][0]["bodies"][0]["nodes"]]
        for when in ("before", "after")
    )
    assert [before.count("map"), after.count("map")] == [2, 0]
    made = {node["names"][0]: node["label"] for body in told["before"][0]["bodies"]
            for node in body["nodes"] if node["names"]}  # fmt: skip
    tried = [
        (one["rule"], one["kind"], made[one["producer"][0]], made[one["reader"][0]])
        for one in told["attempts"]
    ]
    assert tried == [
        ("fuse/map-scan", "applied", "ys = map", "zs = scan"),
        ("fuse/map-reduce", "applied", "map = map", "red = reduce"),
        ("fuse/into-producer", "missed", "zs = scan", "red = reduce"),
    ]


@pytest.mark.parametrize("off", ["fuse", "fuse/map-scan"])
def test_what_is_switched_off_is_not_told_as_done(off: str) -> None:
    told = explanations.fusion(FusionRequest(CHAIN, options={"disable": [off]}))
    done = {one["rule"] for one in told["attempts"] if one["kind"] == "applied"}
    assert done == ({"fuse/map-reduce"} if off != "fuse" else set())


def test_other_stages_have_none() -> None:
    told: dict[str, Any] = answer({"op": "dataflow", "source": CHAIN, "stage": "ast"})
    assert "has no graph" in told["error"]["message"]
