"""IMP and kernels as graphs: what goes between statements, and into bodies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from compiler.base.errors import UsageError
from compiler.driver import explanations
from compiler.explain import imperative, reaching_definitions
from compiler.protocol.graphs import DataflowRequest, FlowBody, FlowEdge, FlowNode
from compiler.protocol.polynomials import shown
from tests.explain.test_dataflow import CHAIN, EXAMPLES


def edges(body: FlowBody) -> set[tuple[str, str, str]]:
    """Source, what goes along the edge, and target."""
    nodes = [one["label"] for one in body["nodes"]]
    return {(nodes[e["source"]], _carried(e), nodes[e["target"]]) for e in body["edges"]}


def _carried(edge: FlowEdge) -> str:
    size = f": {shown(edge['bytes'])}" if "bytes" in edge else ""
    words = [word for word in ("carried", "written") if edge.get(word)]
    return " ".join((edge["base"] + size, *words))


def asked(source: str, stage: str) -> list[FlowBody]:
    (fun,) = explanations.dataflow(DataflowRequest(source, stage=stage))["functions"]
    return fun["bodies"]


def test_blocks_go_from_their_last_writers() -> None:
    outer, *inner = asked(CHAIN, "imp")
    n = "4*n_16"
    assert edges(outer) == {
        ("xs_mem", f"xs_mem: {n}", "scan scan_53"),
        ("zs_mem = alloc(n)", f"zs_mem: {n} written", "scan scan_53"),
        ("scan scan_53", f"zs_mem: {n}", "reduce reduce_54"),
        ("scan scan_53", f"a_mem: {n}", "for i: i32 < 3i32"),
        # The loop writes in turn into a block of its own, and over what it was given.
        ("scan scan_53", f"scan_mem: {n} written", "for i: i32 < 3i32"),
        ("scan_mem = alloc(n)", f"scan_mem: {n} written", "for i: i32 < 3i32"),
        ("reduce reduce_54", "red", "results"),
        ("for i: i32 < 3i32", f"a_mem: {n}", "results"),
    }
    assert ("scan scan_55", f"a_mem: {n} carried", "scan scan_55") in edges(inner[2])
    opened = {node["label"]: node.get("bodies") for node in outer["nodes"]}
    assert opened["for i: i32 < 3i32"] == [3]
    assert inner[2]["where"] == "`for i: i32 < 3i32`"


BRANCH = """entry main [n] (c: bool) (xs: *[n]i32) (k: i64): (i32, i32) =
  let ys = if c then xs with [k] = 1 else xs
  in (ys[0], loop s = 0 for i < n do s + ys[i])
"""


def test_of_a_branch_all_possible_writers_are_told() -> None:
    outer, *_ = asked(BRANCH, "imp")
    (branch,) = (
        n for n, node in enumerate(outer["nodes"]) if node["kind"] == "if" and node.get("bodies")
    )
    (given,) = (n for n, node in enumerate(outer["nodes"]) if node["kind"] == "given")
    readers = {e["target"] for e in outer["edges"] if e["source"] == branch and "bytes" in e}
    assert readers
    assert readers <= {e["target"] for e in outer["edges"] if e["source"] == given}


@pytest.mark.parametrize("writers", [7, 8, 30])
def test_of_many_possible_writers_the_latest_stands_for_the_others(writers: int) -> None:
    """Each of the branches may have written last; what was there before is one more."""
    lines = [
        f"  let x{k + 1} = if c > {k} then x{k} with [k] = {k} else x{k}\n" for k in range(writers)
    ]
    outer, *_ = asked(
        f"entry main [n] (c: i64) (x0: *[n]i32) (k: i64): i32 =\n{''.join(lines)}"
        f"  in x{writers}[0]\n",
        "imp",
    )
    kinds = [node["kind"] for node in outer["nodes"]]
    branches = [n for n, kind in enumerate(kinds) if kind == "if"]
    (given,) = (n for n, node in enumerate(outer["nodes"]) if node["label"] == "x0_mem")
    assert len(branches) == writers
    reader = len(kinds) - 2
    before: dict[int, set[int]] = {}
    for edge in outer["edges"]:
        if "bytes" in edge:
            before.setdefault(edge["target"], set()).add(edge["source"])
    assert len(before[reader]) <= reaching_definitions.MOST
    assert (before[reader] == {given, *branches}) == (writers < reaching_definitions.MOST)
    # By the latest, nobody is lost, and the edges are not as many as pairs.
    seen, todo = set[int](), [reader]
    while todo:
        seen.update(todo)
        todo = [one for at in todo for one in before.get(at, ()) if one not in seen]
    assert seen >= {given, *branches}
    assert sum(map(len, before.values())) <= reaching_definitions.MOST * (writers + 1)


def test_threads_see_in_bins_what_others_have_put_there() -> None:
    source = "entry main [n] (is: [n]i64) = hist (+) 0i32 10 is (map (\\_ -> 1) is)\n"
    bodies = asked(source, "cuda")
    around = [e for body in bodies for e in body["edges"] if e.get("carried")]
    assert any(
        body["nodes"][e["target"]]["kind"] in ("atomic", "if", "stride")
        for body in bodies
        for e in body["edges"]
        if e.get("carried") and e["source"] == e["target"]
    )
    assert around


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_bodies_and_edges_are_numbers_of_what_there_is(path: Path) -> None:
    source, main = path.read_text("utf-8"), path.name if path.suffix == ".fp" else ""
    for stage in ("imp", "kernels"):
        for fun in explanations.dataflow(DataflowRequest(source, main=main, stage=stage))[
            "functions"
        ]:
            opened = [
                k
                for body in fun["bodies"]
                for node in body["nodes"]
                for k in node.get("bodies", ())
            ]
            assert sorted(opened) == [*range(1, len(fun["bodies"]))]
            for body in fun["bodies"]:
                count = len(body["nodes"])
                assert all(
                    0 <= e["source"] < count and 0 <= e["target"] < count for e in body["edges"]
                )
                ends = {end for e in body["edges"] for end in (e["source"], e["target"])}
                assert all(n in ends or node.get("bodies") for n, node in enumerate(body["nodes"]))
                forward = [e for e in body["edges"] if not e.get("carried")]
                assert all(e["source"] < e["target"] for e in forward)


def test_kernels_of_a_large_program_are_told_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    every = asked(CHAIN, "kernels")
    monkeypatch.setattr(imperative, "MOST", 100)
    outer, loop = asked(CHAIN, "kernels")
    assert [bare(node) for node in outer["nodes"]] == [bare(node) for node in every[0]["nodes"]]
    assert outer["edges"] == every[0]["edges"]
    names = [node["kernel"] for body in (outer, loop) for node in body["nodes"] if "kernel" in node]
    assert len(names) == 8
    for name in names:
        request = DataflowRequest(CHAIN, stage="kernels", kernel=name)
        (fun,) = explanations.dataflow(request)["functions"]
        first = next(n for n, one in enumerate(every) if one["where"] == fun["bodies"][0]["where"])
        same = every[first : first + len(fun["bodies"])]
        assert [one["edges"] for one in fun["bodies"]] == [one["edges"] for one in same]
    with pytest.raises(UsageError, match="There is no kernel `other`"):
        explanations.dataflow(DataflowRequest(CHAIN, stage="kernels", kernel="other"))


def bare(node: FlowNode) -> tuple[str, str]:
    return node["label"], node["kind"]


def chained(count: int) -> str:
    """Loops whose results may be in any of the blocks made so far, with conditional updates."""
    lines = (
        f"  let y{k} = loop a = x{k} for i < m do scan (+) (i32.i64 i) a\n"
        f"  let x{k + 1} = if c > {k} then y{k} with [{k}] = y{k}[{k + 1}] else y{k}\n"
        for k in range(count)
    )
    return f"entry main [m] (c: i32) (x0: *[m]i32) =\n{''.join(lines)}  in x{count}\n"


def nested(depth: int) -> str:
    """Loops in loops."""
    inner = "scan (+) 1 a"
    for k in range(depth):
        inner = f"loop a = a for i{k} < m do {inner}"
    return f"entry main [m] (a: [m]i32) = {inner}\n"


@pytest.mark.parametrize(("make", "few"), [(chained, 10), (nested, 5)])
def test_graphs_grow_no_faster_than_programs(make: Callable[[int], str], few: int) -> None:
    """By the statements that are gone through, each of which costs about the same."""

    def counts(size: int) -> tuple[int, int]:
        steps = 0
        begin = reaching_definitions._Body.begin

        def counting(self: reaching_definitions._Body, stm: object) -> object:
            nonlocal steps
            steps += 1
            return begin(self, stm)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reaching_definitions._Body, "begin", counting)
            found = asked(make(size), "imp")
        return steps, sum(len(body["edges"]) for body in found)

    (steps, drawn), (more_steps, more_drawn) = counts(few), counts(4 * few)
    assert more_steps < 8 * steps
    assert more_drawn < 6 * drawn
