"""Reaching definitions in IMP and kernels: the last writer of everything read.

Each body has a graph of its own, whose vertices are its statements; nested statements
count as part of them. A source of an edge is a vertex of the same body, or the name under which
a value entered it from outside.

Note [Last writers]. A block is one value: a writer of some cells takes it from its earlier writers,
and is the last writer from then on. So a cell's last writer reaches a reader of the cell by a path,
and the block's last writer by an edge. A kernel, and a copy, writes its blocks also if it has no
points; a loop or branch that may leave a block unchanged adds itself to its last writers. If there
are more than MOST writers, the latest stands for all: it takes the block from them.

Note [Aliases of blocks]. The variables that may, or must, alias a block are recomputed
after every statement that aliases a block. A write under one name is
a write under the others; a freed name has no aliases.

Note [Threads]. A thread reads another one's writes (no race) only after a barrier, which all reach,
so that the text between the two is a path like any other; or by atomic operations, under locks and
in histograms: in these blocks each thread sees the writes of others.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import field
from typing import Any, Literal, NamedTuple

from compiler.algebra.poly import Poly
from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.base.prim import BYTES, Prim
from compiler.base.spans import Prov
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import defined
from compiler.codegen.kernels import nodes as k
from compiler.codegen.stm_uses import StmUses
from compiler.ir.nodes import SE, Array, Lit, Mem
from compiler.ir.sizes import poly_of

MOST = 8
"""The most last writers that are told apart."""
RESULTS = -1
"""The target of values that outlive a body."""
Source = int | Name
"""A vertex; `~vertex` of the previous iteration, or of another thread; or a name from outside."""
Sources = frozenset[Source]
How = Literal["read", "written"]
Names = dict[Name, dict[Name, bool]]
"""For each block its aliases; True for a must-alias."""


class Edge(NamedTuple):
    """A value or block on its way; `how`: `target` reads it, or only writes into it."""

    source: Source
    target: int
    name: Name
    how: How


@dataclass(slots=True, eq=False)
class Reaching:
    """A body: its statements, and the bodies nested in each."""

    where: str
    prov: Prov
    bytes: MutableMapping[Name, Poly | None]
    """of blocks, None where it is unknown"""
    blocks: set[Name]
    stms: list[Any] = field(default_factory=list)
    inside: dict[int, list[Reaching]] = field(default_factory=dict)
    edges: dict[Edge, None] = field(default_factory=dict)
    moved: int = 0
    """number of statements that are no vertices: they alias blocks, or wait"""


@dataclass(frozen=True, slots=True)
class _Done:
    """The effect of a body: last writers by name, uses of outside names, and writes."""

    last: Mapping[Name, Sources]
    takes: Mapping[Name, How]
    written: Iterable[Name]
    together: Mapping[Name, Sources]
    """blocks that its threads write and see from each other, also of the body itself"""


def graph_of(fun: imp.ImpFun) -> Reaching:
    """Build the graph of a host function, with all nested bodies; a call is one vertex."""
    sizes: dict[Name, Poly | None] = {}
    blocks = {one.name for one in fun.params if isinstance(one.type, Mem)}
    for one in fun.inputs:
        if isinstance(one.type, Array):
            sizes[one.block] = Poly.product((Poly.const(BYTES[one.type.prim]), *one.type.shape))
    graph = Reaching(f"`{fun.name}`", fun.prov, sizes, blocks)

    def work(body: _Body) -> None:
        body.local.update(one.name for one in fun.params)
        body.stms(fun.body)
        for value in fun.values:
            for name in (value,) if isinstance(value, str) else scalars(value):
                body.take(name, RESULTS)

    _Body(graph, {}, {}, {}).run(work)
    return graph


def scalars(*ses: SE) -> list[Name]:
    """Return the variables of expressions."""
    uses = StmUses(imp.MapWork())
    uses.ses(ses)
    return list(uses.scalars)


@dataclass(frozen=True, slots=True)
class _Kept:
    """A body that has been analysed: aliases and last writers before and after it."""

    entry: Names
    start: dict[Name, Sources]
    done: _Done
    names: Names


_Known = dict[int, _Kept]
"""By the graph of the body."""


class _Body:
    """Walks the statements of a body once."""

    def __init__(
        self, graph: Reaching, last: Mapping[Name, Sources], names: Names, known: _Known
    ) -> None:
        self.graph, self.names, self.known, self.start = graph, names, known, last
        self.last = dict(last)
        self.local: set[Name] = set()
        self.takes: dict[Name, How] = {}
        self.written: dict[Name, None] = {}
        self.together: dict[Name, None] = {}
        self.count = self.moved = 0

    def run(self, work: Callable[[_Body], None]) -> _Done:
        """Analyse the body; return its effect."""
        work(self)
        self.graph.moved = self.moved
        written = [name for name in self.written if name not in self.local]
        for name in written:
            self.take(name, RESULTS)
        for name in self.local:
            self.unname(name)
        together = {name: frozenset(self.filled(name)) for name in self.together}
        last = {name: of for name, of in self.last.items() if name not in self.local}
        return _Done(last, self.takes, written, together)

    # --- who has written what ----------------------------------------------------------------

    def writers(self, name: Name) -> Sources:
        """Return the possible last writers of a name."""
        return self.last[name] if name in self.last else frozenset((name,))

    def take(self, name: Name, target: int, how: How = "read") -> None:
        """Add edges from the last writers of a name to a vertex."""
        for source in self.writers(name):
            self.graph.edges[Edge(source, target, name, how)] = None
            if isinstance(source, str) and target != RESULTS and self.takes.get(source) != "read":
                self.takes[source] = how

    def write(self, name: Name, vertex: int) -> None:
        """Make a vertex the last writer of a block."""
        self.take(name, vertex, "written")
        self.last[name] = frozenset((vertex,))
        self.written[name] = None
        for other, surely in self.names.get(name, {}).items():
            both: set[Source] = {vertex} if surely else {vertex, *self.writers(other)}
            self.last[other] = self.few(other, vertex, both)

    def few(self, name: Name, vertex: int, found: set[Source]) -> Sources:
        """Limit the set of writers to MOST."""
        if len(found) <= MOST:
            return frozenset(found)
        for source in found - {vertex}:
            self.graph.edges[Edge(source, vertex, name, "written")] = None
            if isinstance(source, str):
                self.takes.setdefault(source, "written")
        return frozenset((vertex,))

    def define(self, name: Name, vertex: int) -> None:
        """Make a vertex the definition of a scalar."""
        self.last[name] = frozenset((vertex,))
        self.written[name] = None

    def fresh(self, name: Name, vertex: int, size: Poly | None, prim: Prim) -> None:
        """Make a vertex the allocation of a block."""
        self.local.add(name)
        self.graph.blocks.add(name)
        self.unname(name)
        self.graph.bytes[name] = None if size is None else size * BYTES[prim]
        others = (one for one in self.start.get(name, ()) if isinstance(one, int))
        self.last[name] = frozenset((vertex, *others))

    def unname(self, name: Name) -> None:
        """Remove a name from all aliases."""
        for other in self.names.pop(name, {}):
            del self.names[other][name]
            if not self.names[other]:
                del self.names[other]

    def rename(self, name: Name, block: Name) -> None:
        """Alias a variable to a block."""
        self.moved += 1
        if name == block:
            return
        sizes = self.graph.bytes
        size = sizes.get(block)
        sizes[name] = size if name not in sizes or sizes[name] == size else None
        self.last[name] = self.writers(block)
        self.written[name] = None
        self.unname(name)
        self.names[name] = {**self.names.get(block, {}), block: True}
        for other, surely in self.names[name].items():
            self.names.setdefault(other, {})[name] = surely

    # --- statements --------------------------------------------------------------------------

    def stms(self, stms: imp.Stms) -> None:
        """Analyse statements in order."""
        for stm in stms:
            self.stm(stm)

    def stm(self, stm: imp.Stm) -> None:
        """Analyse one statement."""
        match stm:
            case k.Scope():
                self.stms(stm.body)
            case k.Barrier():
                self.moved += 1
            case imp.Free(name):
                self.moved += 1
                self.unname(name)
                self.last[name] = frozenset()
            case imp.Declare(name, kind, value):
                self.local.add(name)
                self.unname(name)
                self.last[name] = frozenset()
                if isinstance(kind, Mem):
                    self.graph.blocks.add(name)
                if value is None:
                    self.moved += 1
                elif isinstance(value, str):
                    self.rename(name, value)
                else:
                    self.vertex(stm)
            case imp.Assign(name, str(block)):
                self.rename(name, block)
            case imp.Alloc() | k.Zeros():
                self.fresh(stm.name, self.vertex(stm), poly_of(stm.count), stm.prim)
            case k.Part(name, prim, count, times):
                size = poly_of(count)
                if size is not None and times:
                    size = size * Poly.var(times)
                self.fresh(name, self.vertex(stm), size, prim)
            case imp.Call():
                self.call(stm)
            case imp.Kernel() | k.Launch():
                self.kernel(stm)
            case imp.Push(hist):
                self.combine(stm, hist)
            case imp.If() | imp.For() | imp.While() | k.Stride() | k.Exchange() | k.Locked():
                self.nested(stm)
            case _:
                self.vertex(stm)

    def call(self, stm: imp.Call) -> None:
        """Analyse a call: a vertex that makes all its results."""
        number = self.vertex(stm)
        for name in stm.gone:
            self.unname(name)
            self.last[name] = frozenset()
        for one in stm.results:
            if isinstance(one.type, Mem):
                self.fresh(one.name, number, None, one.type.prim)

    def begin(self, stm: Any) -> tuple[int, StmUses]:
        """Add a vertex with edges for the statement's own reads."""
        graph, number = self.graph, self.count
        self.count += 1
        if number == len(graph.stms):
            graph.stms.append(stm)
        uses = StmUses(stm)
        for name in (*uses.scalars, *uses.read):
            self.take(name, number)
        self.together.update(uses.together)
        return number, uses

    def end(self, number: int, uses: StmUses) -> None:
        """Record the writes of a vertex."""
        for name in uses.written:
            self.write(name, number)
        for name in uses.bound:
            self.define(name, number)

    def vertex(self, stm: Any) -> int:
        """Add the vertex of a statement without nested ones."""
        number, uses = self.begin(stm)
        self.local |= defined(stm)
        self.end(number, uses)
        return number

    def nested(self, stm: Any) -> None:
        """Analyse branches, loops and atomic sections."""
        number, uses = self.begin(stm)
        match stm:
            case imp.If(_, then, orelse):
                arms = [("the first branch of ", then)]
                arms += [("the second branch of ", orelse)] if orelse else []
                before = _copy(self.names)
                done, after = [], []
                for part, (words, stms) in enumerate(arms):
                    self.names = _copy(before)
                    done.append(self.body(stm, number, part, stms, words=words))
                    after.append(self.names)
                self.names = _joined(after if orelse else [before, *after])
                self.behind(number, done, skips=not orelse)
            case imp.For(index, _, bound, stms):
                surely = isinstance(bound, Lit) and bound.value > 0
                done = [self.body(stm, number, 0, stms, (index,), rounds=True)]
                self.behind(number, done, skips=not surely)
            case imp.While(cond, stms):
                done = [self.body(stm, number, 0, stms, rounds=True, given=(cond,))]
                self.behind(number, done, skips=True)
            case k.Stride(index=index, body=stms):
                done = [self.body(stm, number, 0, stms, (index,), rounds=True)]
                self.behind(number, done, skips=True)
            case k.Exchange(name, body=stms):
                self.behind(number, [self.body(stm, number, 0, stms, (name,), given=(name,))])
                for block in uses.written:
                    self.write(block, number)
            case k.Locked(body=stms):
                done = [self.body(stm, number, 0, stms)]
                self.together.update(dict.fromkeys((*done[0].takes, *done[0].last)))
                self.behind(number, done)
                self.end(number, uses)

    def kernel(self, stm: imp.Kernel | k.Launch) -> None:
        """Analyse a kernel by the body of each point, or of each thread."""
        number, _ = self.begin(stm)
        work: imp.Work = imp.MapWork()
        local: tuple[Name, ...] = k.IDS
        if isinstance(stm, imp.Kernel):
            kernel, local, work = stm.body, tuple(index for index, _ in stm.dims), stm.work
        else:
            kernel = stm.kernel.body

        def inside(body: _Body) -> None:
            body.stms(kernel)
            match work:
                case imp.ReduceWork(folds) | imp.ScanWork(folds):
                    for fold in folds:
                        body.combine(fold, fold)
                case imp.HistWork(hists):
                    for hist in hists:
                        body.combine(hist, hist)

        done = self.body(stm, number, 0, kernel, local, work=inside)
        self.behind(number, [done], surely=True)

    def combine(self, stm: Any, of: imp.Fold | imp.Histogram) -> None:
        """Analyse an operator's body, which combines a point's values into results or bins."""
        number, uses = self.begin(stm)
        op = of.op
        if op.body:
            words = "the operator of "
            done = self.body(
                stm, number, 0, op.body, (*op.lhs, *op.rhs), given=scalars(*op.results), words=words
            )
            self.behind(number, [done])
        self.end(number, uses)

    def body(
        self,
        stm: Any,
        vertex: int,
        part: int,
        stms: imp.Stms,
        local: Sequence[Name] = (),
        *,
        given: Iterable[Name] = (),
        rounds: bool = False,
        words: str = "",
        work: Callable[[_Body], None] | None = None,
    ) -> _Done:
        """Analyse a body of a vertex, once or (`rounds`) to a fixed point.

        Its effect is relative to outside names, so that it is the same wherever blocks
        have the same aliases.
        """
        graph = self.inside(stm, vertex, part, words)
        entry, start = _copy(self.names), dict[Name, Sources]()
        kept = self.known.get(id(graph))
        if kept is not None:
            if rounds:  # what an outer loop brings comes to what it has brought before
                entry, start = _joined([kept.entry, entry]), kept.start
            if kept.entry == entry:
                self.names = _copy(kept.names)
                return kept.done

        def inside(body: _Body) -> None:
            body.local.update(local)
            body.last.update(dict.fromkeys(local, frozenset()))
            (work or (lambda body: body.stms(stms)))(body)
            for name in given:
                body.take(name, RESULTS)
                body.takes |= {one: "read" for one in body.writers(name) if isinstance(one, str)}

        while True:
            body = _Body(graph, start, _copy(entry), self.known)
            done = body.run(inside)
            around = done.last if rounds else done.together
            more = {name: _around(name, of, start) for name, of in around.items()}
            names = _joined([entry, body.names]) if rounds else entry
            if names == entry and all(start.get(name) == of for name, of in more.items()):
                break
            entry, start = names, {**start, **more}
        self.names = names if rounds else body.names
        self.known[id(graph)] = _Kept(entry, start, done, _copy(self.names))
        return done

    def inside(self, stm: Any, vertex: int, part: int, words: str) -> Reaching:
        """Return the graph of a nested body of a vertex."""
        bodies = self.graph.inside.setdefault(vertex, [])
        if part == len(bodies):
            sizes = self.graph.bytes
            if isinstance(stm, k.Launch):
                sizes = ChainMap({}, sizes)
            bodies.append(Reaching(words, getattr(stm, "prov", ()), sizes, self.graph.blocks))
        return bodies[part]

    def behind(
        self, vertex: int, done: Sequence[_Done], skips: bool = False, surely: bool = False
    ) -> None:
        """Apply to a vertex the effect of one of its bodies, or (`skips`) of none.

        `surely`: it is the last writer of everything that its text writes.
        """
        for one in done:
            self.together.update(dict.fromkeys(one.together))
            for name, how in one.takes.items():
                self.take(name, vertex, how)
        found: dict[Name, set[Source]] = {}
        written = dict.fromkeys(name for one in done for name in one.written)
        sure = set(written) if surely else set()
        sure |= {other for name in sure for other, must in self.names.get(name, {}).items() if must}
        for one in done:
            for name in one.last:
                found.setdefault(name, set())
        for name, sources in found.items():
            for one in done:
                for source in one.last.get(name, (name,)):
                    if isinstance(source, int):
                        sources.add(vertex)
                    else:
                        sources |= self.filled(name) if source == name else self.writers(source)
            if skips:
                sources.update(self.filled(name))
            if name in sure and vertex in sources:
                found[name] = {vertex}
        self.last |= {name: self.few(name, vertex, of) for name, of in found.items()}
        self.written |= written

    def filled(self, name: Name) -> set[Source]:
        """Return its last writers, without allocations of undefined contents."""
        stms = self.graph.stms
        return {
            one
            for one in self.writers(name)
            if isinstance(one, str) or not isinstance(stms[max(one, ~one)], imp.Alloc | k.Part)
        }


def _around(name: Name, of: Sources, start: Mapping[Name, Sources]) -> Sources:
    """Return writers before an iteration: those before the loop, and of previous iterations."""
    found: set[Source] = {name, *start.get(name, ())}
    for one in of:
        if isinstance(one, int):
            found.add(~max(one, ~one))
        else:
            found |= start.get(one, frozenset((one,)))
    return frozenset(found)


def _copy(names: Names) -> Names:
    return {name: dict(others) for name, others in names.items()}


def _joined(several: Sequence[Names]) -> Names:
    """Join aliases of several paths; must-aliases are those of all paths."""
    found: Names = {}
    for one in several:
        for name, others in one.items():
            for other in others:
                must = all(each.get(name, {}).get(other, False) for each in several)
                found.setdefault(name, {})[other] = must
    return found
