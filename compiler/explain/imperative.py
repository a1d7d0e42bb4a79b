"""Dataflow graphs of IMP and kernels, one for each body.

`reaching_definitions.py` computes the edges. Scalars from outside a body are
left out, as are statements without edges then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from compiler.algebra.as_data import plain
from compiler.base.errors import UsageError
from compiler.base.names import Called, Name, base_of
from compiler.base.spans import Prov, user_spans
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.printer import WORDS
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.printer import show_stm
from compiler.codegen.stm_uses import StmUses
from compiler.explain.reaching_definitions import RESULTS, Edge, Reaching, graph_of
from compiler.protocol.graphs import FlowBody, FlowEdge, FlowFunction, FlowNode
from compiler.protocol.polynomials import names_in

MOST = 5_000
"""Statements of a function up to which the bodies of its kernels are included."""
LONGEST = 80
"""The longest label, in characters."""
_WORD = re.compile(r"`[^`]*`|[%\w]+")
_BOUND = re.compile(r"^(?:let|var) ([^:=]+?)(?:: [^=]+?)? = ")


def dataflow(prog: imp.ImpProg, called: Called = base_of, kernel: str = "") -> list[FlowFunction]:
    """Return each function's bodies as graphs, outer ones first; `called` names them.

    In a function of more than MOST statements kernels are closed. With the name of a `kernel` only
    its bodies are returned. Raises UsageError if there is none.
    """
    graphs = [(fun, graph_of(fun)) for fun in prog.funs]
    if not kernel:
        return [
            _function(fun.name, _Bodies(called, _size(graph) > MOST), graph, fun.prov)
            for fun, graph in graphs
        ]
    for fun, graph in graphs:
        for stm, body in _kernels(graph):
            if _name(stm) == kernel:
                body.where = f"`{_label(stm, called)}`"
                return [_function(fun.name, _Bodies(called, False), body, stm.prov or fun.prov)]
    raise UsageError(
        f"There is no kernel `{kernel}`.", hint="The graph of the stage lists the kernels."
    )


def _function(name: str, into: _Bodies, graph: Reaching, prov: Prov) -> FlowFunction:
    into.add(graph, prov)
    names = {one: into.called(one) for one in names_in(into.bodies)}
    return {"name": name, "names": names, "bodies": into.bodies}


def _size(graph: Reaching) -> int:
    """Count the statements of a body and its nested ones."""
    inside = (body for bodies in graph.inside.values() for body in bodies)
    return len(graph.stms) + sum(map(_size, inside))


def _kernels(graph: Reaching) -> Iterator[tuple[imp.Kernel | k.Launch, Reaching]]:
    """Yield all kernels in a body, with their bodies."""
    for number, bodies in graph.inside.items():
        stm = graph.stms[number]
        for body in bodies:
            if isinstance(stm, imp.Kernel | k.Launch):
                yield stm, body
            yield from _kernels(body)


def _name(stm: imp.Kernel | k.Launch) -> str:
    return stm.name if isinstance(stm, imp.Kernel) else stm.kernel.name


class _Bodies:
    """Collects bodies as graphs; those of kernels are left out where they are `closed`."""

    def __init__(self, called: Called, closed: bool) -> None:
        self.called, self.closed = called, closed
        self.bodies: list[FlowBody] = []

    def add(self, graph: Reaching, prov: Prov) -> int | None:
        """Add a body and its nested ones; return its number, or None if it has no edges."""
        called, bodies, own = self.called, self.bodies, len(self.bodies)
        prov = graph.prov or prov
        body: FlowBody = {
            "where": graph.where,
            "src": user_spans(prov),
            "nodes": [],
            "edges": [],
            "scalars": 0,
        }
        bodies.append(body)
        edges = [e for e in graph.edges if isinstance(e.source, int) or e.source in graph.blocks]
        taken: dict[int, list[Edge]] = {}
        for edge in edges:
            taken.setdefault(edge.target, []).append(edge)
        ends = {max(e.source, ~e.source) for e in edges if isinstance(e.source, int)}
        place: dict[int | Name, int] = {}
        for number, stm in enumerate(graph.stms):
            for name in _given(taken.get(number, ())):
                _put(body, place, name, _node(called(name), "given", [name], ()))
            label = _label(stm, called)
            inside: list[int] = []
            closed = self.closed and isinstance(stm, imp.Kernel | k.Launch)
            for one in () if closed else graph.inside.get(number, ()):
                one.where = f"{one.where}`{label}`"
                found = self.add(one, stm.prov or prov)
                inside += [] if found is None else [found]
            if number not in taken and number not in ends and not inside:
                body["scalars"] += 1
                continue
            uses = StmUses(stm)
            node = _node(label, _kind(stm), [*uses.bound, *uses.written], stm.prov or prov)
            if inside:
                node["bodies"] = inside
            if closed:
                node["kernel"] = _name(stm)
            _put(body, place, number, node)
        if RESULTS in taken:
            for name in _given(taken[RESULTS]):
                _put(body, place, name, _node(called(name), "given", [name], ()))
            _put(body, place, RESULTS, _node("results", "results", [], ()))
        body["scalars"] += graph.moved
        read = {edge[:3] for edge in edges if edge.how == "read"}
        for edge in edges:
            if edge.how == "read" or edge[:3] not in read:
                body["edges"].append(_edge(edge, place, graph, called))
        if not body["nodes"]:
            del bodies[own]
            return None
        return own


def _given(edges: list[Edge] | tuple[()]) -> list[Name]:
    return sorted({edge.source for edge in edges if isinstance(edge.source, str)})


def _put(body: FlowBody, place: dict[int | Name, int], key: int | Name, node: FlowNode) -> None:
    if key not in place:
        place[key] = len(body["nodes"])
        body["nodes"].append(node)


def _edge(edge: Edge, place: dict[int | Name, int], graph: Reaching, called: Called) -> FlowEdge:
    source, target, name, how = edge
    carried = isinstance(source, int) and source < 0
    found: FlowEdge = {
        "source": place[~source if isinstance(source, int) and source < 0 else source],
        "target": place[target],
        "array": name,
        "base": called(name),
    }
    size = graph.bytes.get(name)
    if size is not None:
        found["bytes"] = plain(size)
    if carried:
        found["carried"] = True
    if how == "written":
        found["written"] = True
    return found


def _node(text: str, kind: str, names: list[Name], prov: Prov) -> FlowNode:
    return {"label": text, "kind": kind, "names": names, "src": user_spans(prov)}


def _kind(stm: Any) -> str:
    return WORDS[type(stm.work)] if isinstance(stm, imp.Kernel) else type(stm).__name__.lower()


def _label(stm: Any, called: Called) -> str:
    """Label a statement, with names for display."""
    match stm:
        case imp.Kernel():
            return f"{_kind(stm)} {stm.name}"
        case k.Launch():
            return f"launch {stm.kernel.name}"
        case imp.Fold(into=into):
            places = [one.block if isinstance(one, imp.Cell) else one for one in into]
            return f"fold into {', '.join(map(called, places))}"
        case imp.Histogram(dests=dests):
            return f"bins of {', '.join(called(block) for block, _ in dests)}"
    text = _BOUND.sub(r"\1 = ", show_stm(stm)).removesuffix(" {")
    text = _WORD.sub(lambda found: called(found[0].strip("`")), text)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
