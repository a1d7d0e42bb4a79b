"""Dataflow graphs of a program: statements on arrays, and arrays between them.

Each body that the host runs has a graph. Statements on scalars alone are left
out and counted; statements inside an operator or a kernel are part of it.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.algebra.as_data import plain
from compiler.algebra.poly import Poly
from compiler.base.names import Called, Name, base_of
from compiler.base.prim import BYTES
from compiler.base.spans import Prov, user_spans
from compiler.explain.lifetimes import label
from compiler.ir import walk
from compiler.ir.nodes import Array, Body, Function, If, Loop, Mem, Param, Prog, Stm
from compiler.protocol.graphs import FlowBody, FlowFunction, FlowNode
from compiler.protocol.polynomials import names_in

Arrays = dict[Name, Array]


def dataflow(prog: Prog, called: Called = base_of) -> list[FlowFunction]:
    """Return each function's bodies as graphs; `called` names them for display."""
    return [_function(fun, called) for fun in prog.funs]


def _function(fun: Function, called: Called) -> FlowFunction:
    params = _arrays(fun.params)
    bodies = [
        _graph(where, prov, body, known, called)
        for where, prov, body, known in _bodies(f"`{fun.name}`", fun.prov, fun.body, params)
    ]
    names = {name: called(name) for name in names_in(bodies)}
    return {"name": fun.name, "names": names, "bodies": [one for one in bodies if one["edges"]]}


def _arrays(params: tuple[Param, ...]) -> Arrays:
    return {p.name: p.type for p in params if isinstance(p.type, Array)}


def _bodies(
    where: str, prov: Prov, body: Body, outside: Arrays
) -> Iterator[tuple[str, Prov, Body, Arrays]]:
    """Yield a body and those of its branches and loops, with the arrays in scope."""
    yield where, prov, body, outside
    known = dict(outside)
    for stm in body.stms:
        match stm.exp:
            case If(_, then, orelse):
                yield from _bodies(f"the first branch of `{label(stm)}`", stm.prov, then, known)
                yield from _bodies(f"the second branch of `{label(stm)}`", stm.prov, orelse, known)
            case Loop(params=params, body=inner):
                within = known | _arrays(params)
                yield from _bodies(f"`{label(stm)}`", stm.prov, inner, within)
        known |= _arrays(stm.pat)


def _graph(where: str, prov: Prov, body: Body, outside: Arrays, called: Called) -> FlowBody:
    nodes: list[FlowNode] = []
    graph: FlowBody = {
        "where": where,
        "src": user_spans(prov),
        "nodes": nodes,
        "edges": [],
        "scalars": 0,
    }
    types = dict(outside)
    maker: dict[Name, int] = {}

    def takes(names: list[Name]) -> list[tuple[int, Name]]:
        """Return the producers of arrays; an array from outside gets a node of its own."""
        for name in names:
            if name not in maker:
                maker[name] = len(nodes)
                nodes.append(_node(called(name), "given", [name], ()))
        return [(maker[name], name) for name in names]

    def connect(sources: list[tuple[int, Name]]) -> None:
        for source, name in sources:
            graph["edges"].append(
                {
                    "source": source,
                    "target": len(nodes) - 1,
                    "array": name,
                    "base": called(name),
                    "bytes": plain(_bytes(types[name])),
                }
            )

    for stm in body.stms:
        read = sorted(name for name in walk.free(stm.exp) if name in types)
        made = _arrays(stm.pat)
        if not read and not made:
            graph["scalars"] += 1
            continue
        sources = takes(read)
        nodes.append(_statement(stm, called))
        connect(sources)
        types |= made
        maker |= dict.fromkeys(made, len(nodes) - 1)
    results = sorted(name for name in walk.free(body.results) if name in types)
    if results:
        sources = takes(results)
        nodes.append(_node("results", "results", [], ()))
        connect(sources)
    return graph


def _statement(stm: Stm, called: Called) -> FlowNode:
    names = [param.name for param in stm.pat]
    kind = type(stm.exp).__name__.lower()
    shown = ", ".join(
        called(name) for name, p in zip(names, stm.pat, strict=True) if not isinstance(p.type, Mem)
    )
    return _node(f"{shown} = {kind}" if shown else kind, kind, names, stm.prov)


def _node(text: str, kind: str, names: list[Name], prov: Prov) -> FlowNode:
    return {"label": text, "kind": kind, "names": names, "src": user_spans(prov)}


def _bytes(kind: Array) -> Poly:
    return Poly.product((Poly.const(BYTES[kind.prim]), *kind.shape))
