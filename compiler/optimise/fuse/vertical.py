"""Vertical fusion of producer and consumer: the consumer's body uses the element just computed.

See `conditions.py` for the conditions. No element is computed twice: an array with other readers is
produced by the merged operator as well, or stays as it is.
"""

from __future__ import annotations

from compiler.base.names import Name, base_of
from compiler.base.remarks import Applied, Missed, Outcome
from compiler.base.rules import NodeRule
from compiler.ir import walk
from compiler.ir.nodes import Hist, If, Loop, Map, Reduce, Scan, Scatter, Soac, Stm, Stream
from compiler.optimise.fuse import conditions
from compiler.optimise.fuse.graph import Graph, Node
from compiler.optimise.fuse.merge import merge, merged_kind


def fuse_into_reader(
    graph: Graph, first: Node, second: Node, name: Name, others: set[Name]
) -> Outcome[Stm]:
    """`map g (map f xs) ==> map (g . f) xs`; `reduce op (map f xs) ==> redomap op f xs`; ..

    `name` is the array that goes from `first` to `second`, `others` are results of `first`
    that statements other than `second` need, or the body's results.
    """
    if not isinstance(first.stm.exp, Soac):
        return conditions.viewed_between(graph, first)
    for read in second.arrays:
        if graph.definer.get(read) is first and not conditions.is_made(first.stm, read):
            return _not_by_element(first.stm, read)
    if merged_kind(first.stm, second.stm) is None:
        return None
    failed = (
        conditions.reads_by_element(first, second, name)
        or conditions.nothing_between(graph, first, second, name)
        or conditions.can_keep(second, others)
        or conditions.no_overwrite(graph, first, second, name)
        or conditions.fits_a_block(first.stm, second.stm)
    )
    if failed is not None:
        return failed
    gone = {p.name for p in first.stm.pat if p.name in second.reads} - others
    return Applied(
        merge(first.stm, second.stm, others), _why(gone, name, second), _numbers(graph, gone)
    )


def _not_by_element(first: Stm, name: Name) -> Missed | None:
    """Refuse a scan as producer: its results depend on all elements before."""
    if not isinstance(first.exp, Scan):
        return None
    return Missed(
        f"`{base_of(name)}` comes from a scan, whose elements are final only at the end "
        "of the scan.",
    )


def reads_repeatedly(user: Node, name: Name) -> Stm | None:
    """Return the nested operator, in a loop or operator, that takes `name` as an input."""
    exp = user.stm.exp
    if type(exp) not in walk.NESTED or isinstance(exp, If) or name in getattr(exp, "arrays", ()):
        return None
    for part in walk.children(exp):
        for stm in walk.all_stms(walk.stms_of(part)):
            if name in getattr(stm.exp, "arrays", ()) and isinstance(stm.exp, Soac):
                return stm
    return None


def repeated(user: Node, name: Name) -> Missed:
    """Refuse a reader that runs repeatedly: elements would be computed many times."""
    where = (
        "iteration of the loop"
        if isinstance(user.stm.exp, Loop)
        else "row of the operator around it"
    )
    return Missed(
        f"`{base_of(name)}` is computed once, before, because every {where} reads it.",
    )


def _why(gone: set[Name], name: Name, second: Node) -> str:
    reader = conditions.names_of(second.stm)
    if not gone:
        return f"One pass over their inputs computes `{base_of(name)}` and {reader}."
    what = " and ".join(f"`{base_of(n)}`" for n in sorted(gone))
    verb = "is" if len(gone) == 1 else "are"
    return f"{what} {verb} never in memory: each element goes straight into {reader}."


def _numbers(graph: Graph, gone: set[Name]) -> tuple[tuple[str, str], ...]:
    return (("bytes not written", conditions.format_bytes(graph, gone)),) if gone else ()


_INTO = (
    NodeRule("fuse/map-map", "Fuses a map into the map that reads it.", (Map,), fuse_into_reader),
    NodeRule(
        "fuse/map-reduce",
        "Fuses a map into the reduction that reads it.",
        (Reduce,),
        fuse_into_reader,
    ),
    NodeRule(
        "fuse/map-scan", "Fuses a map into the scan that reads it.", (Scan,), fuse_into_reader
    ),
    NodeRule(
        "fuse/map-scatter",
        "Fuses a map into the scatter that reads it.",
        (Scatter,),
        fuse_into_reader,
    ),
    NodeRule(
        "fuse/map-hist", "Fuses a map into the histogram that reads it.", (Hist,), fuse_into_reader
    ),
    NodeRule(
        "fuse/map-stream", "Fuses a map into the stream that reads it.", (Stream,), fuse_into_reader
    ),
)
RULE_OF: dict[type, NodeRule] = {kind: rule for rule in _INTO for kind in rule.on}
INTO_PRODUCER = NodeRule(
    "fuse/into-producer",
    "Fuses a reader into a producer that is not a map, such as a scan.",
    Soac.__args__,
    fuse_into_reader,
)
RULES = (INTO_PRODUCER, *RULE_OF.values())


def rule_for(first: Stm, second: Stm) -> NodeRule:
    """Return the rule for a producer and a reader.

    A producer other than a map keeps its own results.
    """
    kept = isinstance(first.exp, Soac) and not isinstance(first.exp, Map)
    return INTO_PRODUCER if kept else RULE_OF[type(second.exp)]
