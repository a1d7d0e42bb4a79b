"""Graphs of a frozen state as tables of nodes and the arrays that they use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.proofs import place
from compiler.protocol.kinds import Json
from compiler.protocol.polynomials import Spell, as_called, names_in, shown

MOST_ROWS = 400
"""Statements of a body that are shown; the link's JSON has all."""


@dataclass(frozen=True, slots=True)
class BodyView:
    """A body: its statements, their places, and the arrays that they use."""

    title: str
    rows: list[tuple[str, str, str]]
    more: int
    """number of statements left out"""


@dataclass(frozen=True, slots=True)
class GraphView:
    """A stage as a graph, or fusion: before, after, and the attempts."""

    id: str
    title: str
    bodies: list[BodyView]
    attempts: list[Json]
    """with `producer` and `reader` named as in the graph before"""


def graph_views(asked: Sequence[Json], titles: dict[str, str]) -> list[GraphView]:
    """Return the graphs among a link's questions; `titles` has those of stages."""
    return [view for one in asked if one["answer"].get("ok") for view in _views(one, titles)]


def _views(one: Json, titles: dict[str, str]) -> Iterator[GraphView]:
    answer = one["answer"]
    if one["op"] == "dataflow":
        stage = str(one["request"].get("stage", "flat"))
        title = f"Graph of {titles.get(stage, stage)}"
        yield GraphView(f"graph-{stage}", title, _bodies(answer["functions"], ""), [])
    if one["op"] == "fusion":
        bodies = _bodies(answer["before"], "Before, in ") + _bodies(answer["after"], "After, in ")
        attempts = [_attempt(attempt, answer) for attempt in answer["attempts"]]
        yield GraphView("graph-fusion", "Fusion, before and after", bodies, attempts)


def _attempt(attempt: Json, answer: Json) -> Json:
    """Name the statements of an attempt as in the graph before fusion."""
    before = [
        node for fun in answer["before"] for body in fun["bodies"] for node in body["nodes"]
    ]  # fmt: skip

    def called(names: list[str]) -> str:
        for node in before:
            if set(names) & set(node["names"]):
                return str(node["label"])
        return ", ".join(answer["names"].get(name, name) for name in names)

    return {
        **attempt,
        "producer": called(attempt["producer"]),
        "reader": called(attempt["reader"]),
    }


def _bodies(functions: Sequence[Json], title: str) -> list[BodyView]:
    return [
        _body(body, title, as_called(names_in(fun["bodies"]), fun["names"]))
        for fun in functions
        for body in fun["bodies"]
    ]


def _body(body: Json, title: str, spell: Spell) -> BodyView:
    nodes = body["nodes"]
    taken: dict[int, list[str]] = {}
    for edge in body["edges"]:
        about = [f"{shown(edge['bytes'], spell)} B"] if "bytes" in edge else []
        about += ["from the previous iteration, or another thread"] if edge.get("carried") else []
        about += ["to be written"] if edge.get("written") else []
        says = f"{edge['base']} of {nodes[edge['source']]['label']}"
        says += f" ({', '.join(about)})" if about else ""
        taken.setdefault(edge["target"], []).append(says)
    rows = [
        (str(node["label"]), place(node["src"]), "; ".join(taken.get(k, ())) or "nothing")
        for k, node in enumerate(nodes[:MOST_ROWS])
    ]
    where = str(body["where"]).replace("`", "")
    return BodyView(f"{title}{where}", rows, max(0, len(nodes) - MOST_ROWS))
