"""Dependence graph of one body's statements.

A statement depends on those whose results it reads; on every reader of an array that it overwrites;
and, if it can fail (indexing, division, sizes), on the assertions before it. Any topological order
is valid, so that two operators can be fused across unrelated statements.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from compiler.analysis.effects import may_fail
from compiler.base.names import Name
from compiler.ir import walk
from compiler.ir.aliases import consumed
from compiler.ir.nodes import (
    Array,
    Assert,
    Operand,
    Soac,
    Stm,
)
from compiler.ir.sharing import Classes, in_loop

_SOACS = Soac.__args__
_STEP = 1.0 / 1024


class Node:
    """A statement with its dependences (`before`) and dependents (`after`).

    `at` is its place in the text; `rank` increases along every edge.
    """

    __slots__ = ("_inside", "_is_nested", "after", "arrays", "at", "before", "rank", "reads", "stm")

    def __init__(self, stm: Stm, at: int, reads: set[Name]) -> None:
        self.stm = stm
        self.arrays = stm.exp.arrays if isinstance(stm.exp, _SOACS) else ()
        """Inputs that a parallel operator takes element by element."""
        self.at = at
        self.rank = float(at)
        self.reads = reads
        self.before: set[Node] = set()
        self.after: set[Node] = set()
        self._inside: set[Name] | None = None
        self._is_nested: bool | None = None

    def inside(self) -> set[Name]:
        """Return the free names of a parallel operator other than its element-wise inputs."""
        if self._inside is None:
            exp = self.stm.exp
            assert isinstance(exp, _SOACS)
            self._inside = walk.free(exp.fn)
            for part in getattr(exp, "ops", ()) or getattr(exp, "dests", ()):
                self._inside |= walk.free(part)
        return self._inside

    def is_nested(self) -> bool:
        """True if a parallel operator contains others."""
        if self._is_nested is None:
            exp = self.stm.exp
            assert isinstance(exp, _SOACS)
            inner = walk.all_stms(exp.fn.body.stms)
            self._is_nested = any(isinstance(stm.exp, _SOACS) for stm in inner)
        return self._is_nested

    def merged(self, second: Node, stm: Stm) -> Node:
        """Return the node of the fused operator; reuses what is known of both."""
        made = {param.name for param in self.stm.pat}
        node = Node(stm, second.at, (self.reads | second.reads) - made)
        node._inside = self.inside() | second.inside()
        node._is_nested = self.is_nested() or second.is_nested()
        node.rank = max(self.rank, second.rank)
        return node


class Above:
    """Transitive dependences of a statement, each with the first direct one that leads to it.

    Computed on demand: ranks increase along edges, so only ranks between those of two statements
    are searched.
    """

    __slots__ = ("_before", "_first", "_todo", "target")

    def __init__(self, target: Node) -> None:
        self.target = target
        self._before = sorted(target.before, key=_order)
        self._first: dict[Node, int] = {}
        self._todo: list[tuple[float, int, Node]] = []
        for number, node in enumerate(self._before):
            self._reach(node, number)

    def _reach(self, node: Node, number: int) -> None:
        """Record that dependences of a node are reached by direct dependence `number`.

        The smallest such number is kept.
        """
        for one in node.before:
            known = self._first.get(one)
            if known is None:
                heappush(self._todo, (-one.rank, -one.at, one))
            if known is None or number < known:
                self._first[one] = number

    def through(self, source: Node) -> Node | None:
        """Return the direct dependence through which it depends on `source`, if any."""
        while self._todo and -self._todo[0][0] > source.rank:
            node = heappop(self._todo)[2]
            self._reach(node, self._first[node])
        number = self._first.get(source)
        return None if number is None else self._before[number]


class Graph:
    """Dependence graph of a body; `results` are the names that its results use.

    `own` are the unique parameters of the loop whose body it is.
    """

    __slots__ = ("_last", "called", "classes", "definer", "nodes", "overwrites", "results")

    def __init__(
        self,
        stms: tuple[Stm, ...],
        results: Iterable[Operand],
        classes: Classes,
        own: frozenset[Name] = frozenset(),
    ) -> None:
        self.nodes: list[Node] = [Node(stm, at, walk.free(stm)) for at, stm in enumerate(stms)]
        if own:
            around = {name for node in self.nodes for name in node.reads}
            around -= {param.name for stm in stms for param in stm.pat}
            classes = in_loop(stms, own, around, classes)
        self.classes = classes
        self.definer: dict[Name, Node] = {}
        self.overwrites: dict[Node, set[Name]] = {}
        self.called: dict[Node, str] = {}
        """Descriptions of statements in remarks."""
        self.results: set[Name] = walk.free(tuple(results))
        self._last: Above | None = None
        """Cache of the last query."""
        self._connect()

    def _connect(self) -> None:
        readers: dict[Name, list[Node]] = {}
        last_assert: Node | None = None
        for node in self.nodes:
            for name in node.reads:
                if (source := self.definer.get(name)) is not None:
                    _edge(source, node)
            taken = {self.classes.find(n) for n in consumed(node.stm.exp)}
            if taken:
                self.overwrites[node] = taken
                for shared in taken:
                    for reader in readers.pop(shared, ()):
                        _edge(reader, node)
            for name in node.reads:
                readers.setdefault(self.classes.find(name), []).append(node)
            for param in node.stm.pat:
                self.definer[param.name] = node
                if type(param.type) is Array:
                    readers.setdefault(self.classes.find(param.name), []).append(node)
            if last_assert is not None and may_fail(node.stm.exp):
                _edge(last_assert, node)
            if type(node.stm.exp) is Assert:
                last_assert = node

    def users(self, name: Name, node: Node) -> list[Node]:
        """Return the statements that read a name defined by `node`, in order."""
        found = [user for user in node.after if name in user.reads]
        return sorted(found, key=_order) if len(found) > 1 else found

    def path(self, source: Node, target: Node) -> Node | None:
        """Return a direct dependence of `target` that depends on `source`, or None."""
        if source.rank >= target.rank:
            return None
        if self._last is None or self._last.target is not target:
            self._last = Above(target)
        return self._last.through(source)

    def overwritten_between(self, source: Node, target: Node) -> bool:
        """True if an array read by `source` is overwritten before `target` can run."""
        reads = {self.classes.find(name) for name in source.reads}
        return any(
            not reads.isdisjoint(self.overwrites.get(node, ()))
            and (node in target.before or self.path(node, target) is not None)
            for node in self._below(source, target.rank)
        )

    def _below(self, source: Node, rank: float) -> set[Node]:
        """Return the dependents of `source` up to a rank."""
        found: set[Node] = set()
        todo = [node for node in source.after if node.rank < rank]
        while todo:
            node = todo.pop()
            if node not in found:
                found.add(node)
                todo.extend(user for user in node.after if user.rank < rank)
        return found

    def merge(self, first: Node, second: Node, stm: Stm) -> Node:
        """Replace two statements by one in the place of the second."""
        merged = first.merged(second, stm)
        self._put(merged, {first, second}, first.before | second.before, first.after | second.after)
        self.nodes[first.at] = merged
        return merged

    def take_over(self, first: Node, second: Node, stm: Stm) -> Node:
        """Replace the second statement by one that recomputes what it needs of the first."""
        made = first.merged(second, stm)
        reads = {self.classes.find(name) for name in first.reads}
        overwrite = {n for n in first.after if not reads.isdisjoint(self.overwrites.get(n, ()))}
        before = (first.before | second.before) - {first}
        self._put(made, {second}, before, second.after | overwrite)
        first.after.discard(second)
        return made

    def _put(self, made: Node, gone: set[Node], before: set[Node], after: set[Node]) -> None:
        """Replace nodes by one, with its dependences and dependents."""
        self._last = None
        made.before, made.after = before - gone, after - gone
        for node in made.before:
            node.after -= gone
            node.after.add(made)
        for node in made.after:
            node.before -= gone
            node.before.add(made)
        taken = set[Name]().union(*(self.overwrites.pop(node, ()) for node in gone))
        if taken:
            self.overwrites[made] = taken
        for param in made.stm.pat:
            self.definer[param.name] = made
        self.nodes[made.at] = made
        _push_down(made)

    def live(self) -> list[Node]:
        """Return all nodes, each once, in order of place."""
        return [node for at, node in enumerate(self.nodes) if node.at == at]

    def stms(self) -> tuple[Stm, ...]:
        """Return the statements in a valid order close to the original one."""
        return tuple(n.stm for n in sorted(self.live(), key=_order))


def _push_down(moved: Node) -> None:
    """Raise the ranks of the dependents of a moved node above its own.

    Visits each node once, in order of old rank: its dependences have their new ranks by then.
    """
    todo = [(moved.rank, moved.at, moved)]
    raised = {moved}
    while todo:
        _, _, node = heappop(todo)
        for user in node.after:
            if user.rank <= node.rank:
                if user not in raised:
                    raised.add(user)
                    heappush(todo, (user.rank, user.at, user))
                user.rank = node.rank + _STEP


def _order(node: Node) -> tuple[float, int]:
    return node.rank, node.at


def _edge(before: Node, after: Node) -> None:
    before.after.add(after)
    after.before.add(before)
