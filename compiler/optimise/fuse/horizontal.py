"""Horizontal fusion: independent operators over the same array make one pass over it."""

from __future__ import annotations

from compiler.algebra.poly import Poly
from compiler.analysis.cost import size
from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import NodeRule
from compiler.ir.nodes import SE, SE_NODES, Array, Hist, Index, Iota, Scan, Soac, Stm, Var
from compiler.ir.types import with_dims
from compiler.ir.walk import all_stms, bound, free, map_se
from compiler.optimise.fuse import conditions
from compiler.optimise.fuse.graph import Graph, Node
from compiler.optimise.fuse.merge import merge, merged_kind

LONGEST = 16
"""Maximum number of operators in an index expression that is compared with others."""


def side_by_side(graph: Graph, first: Node, second: Node, explain: bool) -> Outcome[Stm]:
    """`(reduce f xs, reduce g xs) ==> reduce (f, g) xs`; `(map f xs, reduce g xs) ==> one pass`; ..

    Both go over the same elements, neither needs the other, and both or neither have parallel
    operators inside, so that they become parallel in the same way. Without `explain` a refusal
    is just None: of many operators over one array each pair is looked at.
    """
    shared = _shared(graph, first, second) or _shared_cells(graph, first, second)
    if not shared or merged_kind(first.stm, second.stm) is None:
        return None
    one, other = first.stm.exp, second.stm.exp
    if isinstance(other, Hist) and not isinstance(one, Hist):
        return None
    if not isinstance(one, Soac) or not isinstance(other, Soac) or one.width != other.width:
        return None
    obstacle = _obstacle(graph, first, second)
    too_much = None if obstacle else conditions.fits_a_block(first.stm, second.stm)
    if (obstacle or too_much) and not explain:
        return None
    if too_much is not None:
        return too_much
    names = [_called(graph, first), _called(graph, second)]
    if names[0] == names[1]:
        names[1] = names[1].replace("the ", "another ")
    what = ", ".join(f"`{base_of(name)}`" for name in shared)
    if obstacle:
        return Missed(obstacle.format(one=names[0], other=names[1], what=what))
    needed = {param.name for param in first.stm.pat}
    said = f"One pass over {what} computes {names[0]} and {names[1]}."
    return Applied(merge(first.stm, second.stm, needed), said, _numbers(shared, other))


def _obstacle(graph: Graph, first: Node, second: Node) -> str:
    """Return why two operators that share an input cannot be fused, or ""."""
    if first in second.before or graph.path(first, second) is not None:
        return "{other} needs {one}, so {what} must be read twice."
    if first in second.after or graph.path(second, first) is not None:
        return "{one} needs {other}, so {what} must be read twice."
    if _overwrites(graph, first, second) or _overwrites(graph, second, first):
        return "{one} or {other} overwrites an array that both read."
    if _are_hists(first, second) and (_combines_rows(first) or _combines_rows(second)):
        return (
            "Histograms of rows become histograms of elements, so {one} and {other} are not fused."
        )
    if _ends_of_scans(graph, first, second):
        return "{one} and {other} follow different scans, and each can be fused with its scan."
    if first.is_nested() != second.is_nested():
        return (
            "Only one of {one} and {other} has inner parallelism, so they become separate kernels."
        )
    return ""


def _ends_of_scans(graph: Graph, *nodes: Node) -> bool:
    """True if both belong to different scans: read the prefixes of one, or are one.

    Thread blocks read prefixes where they are produced (`codegen/kernels/fuse_scan_map.py`).
    """
    if all(isinstance(node.stm.exp, Scan) for node in nodes):
        return False
    one, other = (
        {made for name in node.arrays if (made := graph.definer.get(name)) is not None} | {node}
        for node in nodes
    )
    return not any(isinstance(made.stm.exp, Scan) for made in one & other) and all(
        any(isinstance(made.stm.exp, Scan) for made in found) for found in (one, other)
    )


def _are_hists(*nodes: Node) -> bool:
    return all(isinstance(node.stm.exp, Hist) for node in nodes)


def _combines_rows(node: Node) -> bool:
    """True if an operator of a histogram combines arrays."""
    exp = node.stm.exp
    return isinstance(exp, Hist) and any(
        isinstance(op.op.fn.params[0].type, Array) for op in exp.ops
    )


def _called(graph: Graph, node: Node) -> str:
    """Describe a statement by the names that it binds; cached."""
    found = graph.called.get(node)
    if found is None:
        found = graph.called[node] = conditions.names_of(node.stm)
    return found


def _overwrites(graph: Graph, one: Node, other: Node) -> bool:
    """True if one overwrites an array that the other reads."""
    taken = graph.overwrites.get(one)
    return taken is not None and any(graph.classes.find(name) in taken for name in other.reads)


def _shared(graph: Graph, first: Node, second: Node) -> list[Name]:
    """Return the arrays that both read, except computed ones."""
    return [
        name
        for name in dict.fromkeys(second.arrays)
        if name in first.arrays and not _is_computed(graph, name)
    ]


def _is_computed(graph: Graph, name: Name) -> bool:
    """True for an `iota`, whose elements are computed rather than read."""
    return name in graph.definer and isinstance(graph.definer[name].stm.exp, Iota)


def _shared_cells(graph: Graph, first: Node, second: Node) -> list[Name]:
    """Return the arrays that two histograms over computed indices read at the same places."""
    if not _are_hists(first, second):
        return []
    computed = [
        name for name in first.arrays if name in second.arrays and _is_computed(graph, name)
    ]
    if not computed:
        return []
    cells = _cells(first.stm, computed)
    both = (cell for cell in _cells(second.stm, computed) if cell in cells)
    return list(dict.fromkeys(cell.array for cell in both))


def _cells(stm: Stm, computed: list[Name]) -> dict[Index, None]:
    """Return the elements that an operator reads at indices computed from `computed` inputs alone.

    Those inputs stand for their elements.
    """
    exp = stm.exp
    assert isinstance(exp, Soac)
    known: dict[Name, SE] = {
        param.name: Var(array, "i64")
        for param, array in zip(exp.fn.params, exp.arrays, strict=True)
        if array in computed
    }
    found: dict[Index, None] = {}
    own = set(bound(exp.fn)) - known.keys()
    for inner in all_stms(exp.fn.body.stms):
        name = inner.pat[0].name if inner.pat else ""
        match inner.exp:
            case Index(array, at):
                places = tuple(map_se(se, lambda var: known.get(var.name, var)) for se in at)
                names = free(places)
                if array not in own and own.isdisjoint(names) and not names.isdisjoint(computed):
                    found[Index(array, places)] = None
            case value if isinstance(value, SE_NODES):
                whole = map_se(value, lambda var: known.get(var.name, var))
                if size(whole, LONGEST) <= LONGEST and own.isdisjoint(free(whole)):
                    known[name] = whole
    return found


def _numbers(shared: list[Name], exp: Soac) -> tuple[tuple[str, str], ...]:
    total = Poly.const(0)
    for param, array in zip(exp.fn.params, exp.arrays, strict=True):
        if array in shared:
            total = total + conditions.bytes_of(with_dims((exp.width,), param.type))
    return (("bytes not read again", conditions.show(total)),) if total != 0 else ()


RULE = NodeRule(
    "fuse/side-by-side",
    "Fuses operators that read the same array into one pass.",
    Soac.__args__,
    side_by_side,
)
