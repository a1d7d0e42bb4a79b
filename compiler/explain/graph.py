"""The interference graph of a program as plain data (thesis 5.4), which `merge` colours."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.algebra.as_data import applied, plain
from compiler.base.names import Called, Name, base_of
from compiler.base.prim import BYTES
from compiler.base.spans import Prov, user_spans
from compiler.base.target import Target
from compiler.explain.lifetimes import label
from compiler.ir.nodes import Body, Function, If, Loop, Prog
from compiler.protocol.polynomials import Factor, names_in
from compiler.protocol.storage import Colour as Shared
from compiler.protocol.storage import FunctionGraphs, Interference, Node, Place
from compiler.storage.interference import Life, Sizes, fused_scan_blocks, live_ranges
from compiler.storage.merge import Colour, Colouring


def interference(
    prog: Prog, called: Called = base_of, target: Target | None = None
) -> list[FunctionGraphs]:
    """Return for each function one graph per body with several blocks; `called` names them.

    `target`: the target of the blocks; prefixes that it may keep out of memory stay apart.
    """
    return [_function(fun, called, target) for fun in prog.funs]


def _function(fun: Function, called: Called, target: Target | None) -> FunctionGraphs:
    bodies = _graphs(fun, called, target)
    names = {name: called(name) for name in names_in(bodies)}
    return {"name": fun.name, "names": names, "bodies": bodies}


def _graphs(fun: Function, called: Called, target: Target | None) -> list[Interference]:
    sizes = Sizes(fun)
    return [
        _graph(where, prov, found, Colouring(body, sizes, None, apart=_apart(body, target)), called)
        for where, prov, body in _bodies(f"`{fun.name}`", fun.prov, fun.body)
        if (found := live_ranges(body))
    ]


def _apart(body: Body, target: Target | None) -> frozenset[Name]:
    return fused_scan_blocks(body, target) if target else frozenset()


def _bodies(where: str, prov: Prov, body: Body) -> Iterator[tuple[str, Prov, Body]]:
    """Yield a body, and those of its branches and loops that the host runs, outer ones first."""
    yield where, prov, body
    for stm in body.stms:
        match stm.exp:
            case If(_, then, orelse):
                yield from _bodies("a first branch", stm.prov, then)
                yield from _bodies("a second branch", stm.prov, orelse)
            case Loop():
                yield from _bodies(label(stm), stm.prov, stm.exp.body)


def _graph(
    where: str, prov: Prov, found: list[Life], colouring: Colouring, called: Called
) -> Interference:
    colours, body = colouring.of(found), colouring.body
    colour = {life.name: k for k, one in enumerate(colours) for life in one.members}
    number = {life.name: k for k, life in enumerate(found)}
    points: list[Place] = [{"label": label(stm), "src": user_spans(stm.prov)} for stm in body.stms]
    return {
        "where": where,
        "src": user_spans(prov),
        "points": [*points, {"label": "results", "src": []}],
        "nodes": [_node(life, colour[life.name], called) for life in found],
        "edges": [
            {"a": i, "b": j, "at": max(a.start, b.start), "until": min(a.until, b.until)}
            for i, a in enumerate(found)
            for j, b in enumerate(found[i + 1 :], i + 1)
            if a.meets(b)
        ],
        "colours": [_colour(one, number) for one in colours],
    }


def _node(life: Life, colour: int, called: Called) -> Node:
    return {
        "name": life.name,
        "base": called(life.name),
        "bytes": plain(life.bytes),
        "prim": life.alloc.prim,
        "space": life.alloc.space,
        "from": life.start,
        "until": life.until,
        "escapes": life.escapes,
        "colour": colour,
        "src": user_spans(life.prov),
    }


def _colour(colour: Colour, number: dict[str, int]) -> Shared:
    def factor(name: Name) -> Factor:
        sides = colour.larger.get(name)
        return name if sides is None else applied("max", *sides, factor=factor)

    size = BYTES[colour.keeper.alloc.prim]
    total = sum((life.alloc.count for life in colour.members[1:]), colour.keeper.alloc.count)
    return {
        "members": [number[life.name] for life in colour.members],
        "bytes": plain(colour.count * size, factor),
        "saved": plain((total - colour.count) * size, factor),
    }
