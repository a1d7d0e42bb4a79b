"""Fuse maps that only widen integers into all of their readers.

Recomputing the conversion costs nothing compared to what it saves: the wide array is neither
written nor read, and the narrow one has fewer bytes. Applied to maps with several readers, which
could not be fused into one.
"""

from __future__ import annotations

from compiler.base.context import Ctx
from compiler.base.names import base_of
from compiler.base.prim import BYTES, INTS
from compiler.base.remarks import Applied, Outcome
from compiler.base.rules import NodeRule
from compiler.ir import nodes as ir
from compiler.optimise.fuse import conditions
from compiler.optimise.fuse.graph import Graph, Node
from compiler.optimise.fuse.merge import merge, merged_kind


def go_into_reader(graph: Graph, first: Node, reader: Node, ctx: Ctx) -> Outcome[ir.Stm]:
    """`let ys = map i64.i32 xs in (f ys, g ys) ==> (f' xs, g' xs)`, where `f'` makes them wider."""
    assert isinstance(first.stm.exp, ir.Map)
    narrow, wide = base_of(first.stm.exp.arrays[0]), base_of(first.stm.pat[0].name)
    because = (
        f"The reader reads `{narrow}`, which has fewer bytes, and converts its elements itself."
    )
    saved = conditions.format_bytes(graph, {first.stm.pat[0].name})
    told = ((f"bytes of `{wide}`", saved),)
    return Applied(merge(_anew(first.stm, ctx), reader.stm, set()), because, told)


RULE = NodeRule(
    "fuse/wider",
    "Reads narrow integers directly instead of an array that only widens them.",
    (ir.Map,),
    go_into_reader,
)


def readers_of_wider(graph: Graph, node: Node) -> list[Node]:
    """Return the readers of a map that only widens integers, if all can widen themselves.

    Empty if there is only one: ordinary fusion handles that.
    """
    if not _makes_wider(node.stm) or node.stm.pat[0].name in graph.results:
        return []
    made = node.stm.pat[0].name
    readers = graph.users(made, node)
    able = all(
        made in reader.arrays
        and merged_kind(node.stm, reader.stm) is not None
        and conditions.reads_by_element(node, reader, made) is None
        and conditions.no_overwrite(graph, node, reader, made) is None
        and not graph.overwritten_between(node, reader)
        for reader in readers
    )
    return readers if able and len(readers) > 1 else []


def _makes_wider(stm: ir.Stm) -> bool:
    exp = stm.exp
    if not isinstance(exp, ir.Map) or exp.fn.body.stms or len(exp.arrays) != 1:
        return False
    match exp.fn.body.results:
        case (ir.Conv(source, to, ir.Var(name)),):
            is_wider = source in INTS and to in INTS and BYTES[source] < BYTES[to]
            return is_wider and name == exp.fn.params[0].name
    return False


def _anew(stm: ir.Stm, ctx: Ctx) -> ir.Stm:
    """Copy the map with a fresh parameter name."""
    exp = stm.exp
    assert isinstance(exp, ir.Map)
    (param,), (value,) = exp.fn.params, exp.fn.body.results
    assert isinstance(value, ir.Conv)
    name = ctx.fresh(param.name)
    own = ir.Conv(value.src, value.dst, ir.Var(name, value.src))
    body = ir.Body((), (own,), exp.fn.body.prov)
    fn = ir.Lambda((ir.Param(name, param.type),), body, exp.fn.returns)
    return ir.Stm(stm.pat, ir.Map(exp.width, fn, exp.arrays), stm.prov)
