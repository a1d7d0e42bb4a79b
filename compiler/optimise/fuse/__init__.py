"""Fusion of parallel operators: producer with consumer, and neighbours over the same array.

In every body, outermost first, after views of map results moved to the map's inputs (`pull.py`):

1. fuse producers with a single reader into it (`vertical.py`);
2. fuse maps that only widen integers into each of their readers (`wider.py`);
3. fuse neighbours over the same array (`horizontal.py`), so that a producer which several of them
   read gets a single reader; maps read by scans wait, since not all scans can be fused;
4. repeat 1 for the rest, now with producers that have other users: their arrays become further
   results of the merged operator; and repeat 3.

Then the same inside lambdas, loops and branches, where merging has brought operators together.
Refusals are remarked in step 4, when they are final.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from compiler.base.context import Ctx
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.remarks import Missed, Outcome
from compiler.base.rules import Pass, Rule
from compiler.ir import walk
from compiler.ir.nodes import (
    Array,
    Body,
    Exp,
    Function,
    Lambda,
    Loop,
    Map,
    Operand,
    Prog,
    Scan,
    Soac,
    Stm,
)
from compiler.ir.sharing import Classes, classes
from compiler.optimise.fuse.graph import Graph, Node
from compiler.optimise.fuse.horizontal import RULE as SIDE_BY_SIDE
from compiler.optimise.fuse.pull import RULES as PULLS
from compiler.optimise.fuse.pull import pull_views
from compiler.optimise.fuse.row_views import RULE as ROWS_VIEW
from compiler.optimise.fuse.row_views import row_views
from compiler.optimise.fuse.vertical import RULES as INTO_READER
from compiler.optimise.fuse.vertical import reads_repeatedly, repeated, rule_for
from compiler.optimise.fuse.wider import RULE as WIDER
from compiler.optimise.fuse.wider import readers_of_wider


@dataclass(frozen=True, slots=True)
class Tried:
    """A fusion attempt: both operators, by the names that they bind, and its outcome."""

    rule: str
    kind: Literal["applied", "missed"]
    producer: tuple[Name, ...]
    reader: tuple[Name, ...]
    because: str
    hint: str = ""


_SOACS = frozenset(Soac.__args__)
_NEIGHBOURS = 64
"""Maximum number of earlier operators over the same array considered for an operator."""
_TOLD = 8
"""Maximum number of these reported as impossible to fuse."""


def fuse(prog: Prog, ctx: Ctx) -> Prog:
    """Fuse producers into readers, and neighbours with one another.

    Needs: unique names; `simplify` has run (a dead producer would count as another result). Keeps:
    all results, every statement's places. Computes no element twice, except for widening an
    integer.
    """
    found = classes(prog)
    ctx.records["fuse"] = dict[Tried, None]()
    funs = tuple(_function(fun, found, ctx) for fun in prog.funs)
    return prog if all(a is b for a, b in zip(funs, prog.funs, strict=True)) else Prog(funs)


def _function(fun: Function, found: Classes, ctx: Ctx) -> Function:
    body = _body(fun.body, found, ctx)
    return fun if body is fun.body else replace(fun, body=body)


def _body(body: Body, found: Classes, ctx: Ctx, own: frozenset[Name] = frozenset()) -> Body:
    stms = _stms(body.stms, body.results, found, ctx, own)
    return body if stms is body.stms else replace(body, stms=stms)


def _stms(
    stms: tuple[Stm, ...],
    results: tuple[Operand, ...],
    found: Classes,
    ctx: Ctx,
    own: frozenset[Name],
) -> tuple[Stm, ...]:
    """Fuse statements, then inside each of them."""
    before = stms
    stms = row_views(stms, results, found, ctx)
    stms = pull_views(stms, results, found, ctx)
    if sum(type(stm.exp) in _SOACS for stm in stms) > 1:
        stms = _fuse_level(Graph(stms, results, found, own), stms, ctx)
    new = tuple(_inside(stm, found, ctx) for stm in stms)
    if len(new) == len(before) and all(a is b for a, b in zip(new, before, strict=True)):
        return before
    return new


def _inside(stm: Stm, found: Classes, ctx: Ctx) -> Stm:
    if type(stm.exp) not in walk.NESTED:
        return stm

    params = stm.exp.params if isinstance(stm.exp, Loop) else ()
    own = frozenset(p.name for p in params if p.unique and isinstance(p.type, Array))

    def body(x: Body) -> Body:
        return _body(x, found, ctx, own)

    def fn(x: Lambda) -> Lambda:
        new = _body(x.body, found, ctx)
        return x if new is x.body else Lambda(x.params, new, x.returns)

    exp: Exp = walk.rewrite(stm.exp, walk.Rewrite(body=body, fn=fn))
    return stm if exp is stm.exp else Stm(stm.pat, exp, stm.prov)


def _fuse_level(graph: Graph, stms: tuple[Stm, ...], ctx: Ctx) -> tuple[Stm, ...]:
    changed = _vertically(graph, ctx, only_single=True)
    changed |= _wider(graph, ctx)
    changed |= _horizontally(graph, ctx, last=False)
    changed |= _vertically(graph, ctx, only_single=False)
    changed |= _horizontally(graph, ctx, last=True)
    _explain_repeated(graph, ctx)
    return graph.stms() if changed else stms


def _vertically(graph: Graph, ctx: Ctx, *, only_single: bool) -> bool:
    """Fuse each reader with its producers, transitively."""
    changed = False
    for node in graph.live():
        current = node if graph.nodes[node.at] is node else None
        while current is not None:
            current = _take_in_one(graph, ctx, current, only_single)
            changed |= current is not None
    return changed


def _take_in_one(graph: Graph, ctx: Ctx, second: Node, only_single: bool) -> Node | None:
    """Fuse one producer into a reader; None if none is left."""
    for name in dict.fromkeys(second.arrays):
        first = graph.definer.get(name)
        if first is None:
            continue
        others = _needed_elsewhere(graph, first, second)
        if only_single and others:
            continue
        rule = rule_for(first.stm, second.stm)
        outcome = rule.apply(graph, first, second, name, others)
        if only_single and isinstance(outcome, Missed):
            continue
        merged = _commit(rule, first.stm, second.stm, outcome, ctx)
        if merged is not None:
            return graph.merge(first, second, merged)
    return None


def _wider(graph: Graph, ctx: Ctx) -> bool:
    """Let readers of widened integers widen them themselves."""
    changed = False
    for node in graph.live():
        readers = readers_of_wider(graph, node)
        for reader in readers:
            outcome = WIDER.apply(graph, node, reader, ctx)
            merged = _commit(WIDER, node.stm, reader.stm, outcome, ctx)
            if merged is None:
                break
            changed = True
            put = graph.merge if reader is readers[-1] else graph.take_over
            put(node, reader, merged)
    return changed


def _commit(
    rule: Rule, first: Stm, second: Stm, outcome: Outcome[Stm], ctx: Ctx, *, fuses: bool = True
) -> Stm | None:
    """Commit the outcome of a rule about two operators, and record the attempt."""
    merged = ctx.commit(rule, second.prov, outcome, fused=first.prov if fuses else ())
    if merged is not None or isinstance(outcome, Missed):
        assert outcome is not None
        kind: Literal["applied", "missed"] = "missed" if merged is None else "applied"
        producer, reader = (tuple(p.name for p in stm.pat) for stm in (first, second))
        hint = outcome.hint if isinstance(outcome, Missed) else ""
        ctx.records["fuse"][Tried(rule.id, kind, producer, reader, outcome.because, hint)] = None
    return merged


def _explain_repeated(graph: Graph, ctx: Ctx) -> None:
    """Remark why a map is not fused into readers that run repeatedly."""
    for node in graph.live():
        if type(node.stm.exp) is not Map:
            continue
        for param in node.stm.pat:
            for user in graph.users(param.name, node):
                reader = reads_repeatedly(user, param.name)
                if reader is not None:
                    why = repeated(user, param.name)
                    _commit(rule_for(node.stm, reader), node.stm, reader, why, ctx, fuses=False)


def _needed_elsewhere(graph: Graph, first: Node, second: Node) -> set[Name]:
    """Return the results of `first` that others than `second` need."""
    return {
        param.name
        for param in first.stm.pat
        if param.name in graph.results
        or any(user is not second for user in graph.users(param.name, first))
    }


def _is_scanned(graph: Graph, node: Node) -> bool:
    """True for a map read by a scan, which it is fused into first: see `fits_a_block`."""
    return type(node.stm.exp) is Map and any(
        type(user.stm.exp) is Scan and param.name in user.arrays
        for param in node.stm.pat
        for user in graph.users(param.name, node)
    )


def _horizontally(graph: Graph, ctx: Ctx, *, last: bool) -> bool:
    """Fuse neighbours that read the same array, in the order of the text.

    Of hundreds that cannot be fused only the nearest are considered and reported.
    """
    changed = False
    by_array: dict[Name, list[Node]] = {}
    for node in graph.live():
        if not last and _is_scanned(graph, node):
            continue
        current = node
        for name in dict.fromkeys(node.arrays):
            near = by_array.get(name, [])[-_NEIGHBOURS:]
            for k, first in enumerate(near, -len(near)):
                if graph.nodes[first.at] is not first or first is current:
                    continue
                explain = last and k >= -_TOLD
                outcome = SIDE_BY_SIDE.apply(graph, first, current, explain=explain)
                merged = _commit(SIDE_BY_SIDE, first.stm, current.stm, outcome, ctx)
                if merged is not None:
                    current = graph.merge(first, current, merged)
                    changed = True
        for name in current.arrays:
            known = by_array.get(name, ())
            by_array[name] = [n for n in known if graph.nodes[n.at] is n and n is not current]
            by_array[name].append(current)
    return changed


FUSE = Pass(
    "fuse",
    "Fuses parallel operators that pass arrays to each other or read the same array.",
    fuse,
    (ROWS_VIEW, *PULLS, *INTO_READER, SIDE_BY_SIDE, WIDER),
    optional=True,
)
