"""The interference graph of a program as plain data (thesis 5.4): what `merge` colours."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from compiler.base.names import base_of
from compiler.base.prim import BYTES
from compiler.base.spans import Prov, user_spans
from compiler.explain.lifetimes import label
from compiler.ir.nodes import Body, Function, If, Loop, Prog
from compiler.storage.interference import Life, Sizes, lives
from compiler.storage.merge import Colour, Colouring

Data = dict[str, Any]


def interference(prog: Prog) -> Data:
    """Under `functions`, for each its name and `bodies`: one graph per body with several blocks.

    A graph has `where` (the function, branch or loop, in words) with `src`; `points` (the body's
    statements: label, src); `nodes` (name, base, bytes as text, prim, space, from and until as
    indices of points, escapes, colour, src); `edges`: `a` and `b`, indices of nodes that are both
    needed `at` a point and until another; `colours`: blocks that can share memory as `members`,
    indices of nodes, the `bytes` that they need together, and those `saved`.
    """
    return {"functions": [{"name": fun.name, "bodies": _graphs(fun)} for fun in prog.funs]}


def _graphs(fun: Function) -> list[Data]:
    sizes = Sizes(fun)
    return [
        _graph(where, prov, found, body, sizes)
        for where, prov, body in _bodies(f"`{fun.name}`", fun.prov, fun.body)
        if (found := lives(body))
    ]


def _bodies(where: str, prov: Prov, body: Body) -> Iterator[tuple[str, Prov, Body]]:
    """A body, and those of all branches and loops in it that the host runs; outer ones first."""
    yield where, prov, body
    for stm in body.stms:
        match stm.exp:
            case If(_, then, orelse):
                yield from _bodies("a first branch", stm.prov, then)
                yield from _bodies("a second branch", stm.prov, orelse)
            case Loop():
                yield from _bodies(label(stm), stm.prov, stm.exp.body)


def _graph(where: str, prov: Prov, found: list[Life], body: Body, sizes: Sizes) -> Data:
    colours = Colouring(body, sizes, None).of(found)
    colour = {life.name: k for k, one in enumerate(colours) for life in one.members}
    number = {life.name: k for k, life in enumerate(found)}
    points = [{"label": label(stm), "src": user_spans(stm.prov)} for stm in body.stms]
    return {
        "where": where,
        "src": user_spans(prov),
        "points": [*points, {"label": "results", "src": []}],
        "nodes": [_node(life, colour[life.name]) for life in found],
        "edges": [
            {"a": i, "b": j, "at": max(a.start, b.start), "until": min(a.until, b.until)}
            for i, a in enumerate(found)
            for j, b in enumerate(found[i + 1 :], i + 1)
            if a.meets(b)
        ],
        "colours": [_colour(one, number) for one in colours],
    }


def _node(life: Life, colour: int) -> Data:
    return {
        "name": life.name,
        "base": base_of(life.name),
        "bytes": str(life.bytes),
        "prim": life.alloc.prim,
        "space": life.alloc.space,
        "from": life.start,
        "until": life.until,
        "escapes": life.escapes,
        "colour": colour,
        "src": user_spans(life.prov),
    }


def _colour(colour: Colour, number: dict[str, int]) -> Data:
    size = BYTES[colour.keeper.alloc.prim]
    total = sum((life.alloc.count for life in colour.members[1:]), colour.keeper.alloc.count)
    return {
        "members": [number[life.name] for life in colour.members],
        "bytes": str(colour.count * size),
        "saved": str((total - colour.count) * size),
    }
