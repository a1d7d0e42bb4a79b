"""Cache the accesses of statements that do not concern an attempt's source.

Kept across attempts, as most statements between an array's creation and its place belong to other
arrays; entries of moved statements are dropped.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.ir.nodes import SegMapping, Write
from compiler.storage.short_circuit.edit_state import Edited
from compiler.storage.short_circuit.tree import Item, TreeBody, all_items
from compiler.storage.short_circuit.uses import Row, Uses


class OfBlocks:
    """Cached accesses of a function's statements to certain blocks."""

    def __init__(self) -> None:
        self.kept: dict[Item, Uses] = {}
        self._bodies: dict[TreeBody, tuple[tuple[Item, ...], Row]] = {}
        self._results: dict[TreeBody, Row] = {}

    def body(self, scope: TreeBody, items: tuple[Item, ...]) -> Row:
        """Return the accesses of a body's statements, last one first."""
        before, found = self._bodies.get(scope, (None, None))
        if found is None or before is not items:
            found = Row(len(items), last_first=True)
            self._bodies[scope] = items, found
        return found

    def results(self, scope: TreeBody) -> Row:
        """Return the accesses made by writing a kernel's results."""
        found = self._results.get(scope)
        if found is None:
            found = self._results[scope] = Row(len(scope.results), last_first=False)
        return found

    def changed(self, item: Item, at: int) -> None:
        """Drop a statement, number `at` of those in its body that access arrays."""
        self.kept.pop(item, None)
        if item.scope in self._bodies:
            self._bodies[item.scope][1].changed(at)

    def changed_result(self, scope: TreeBody, at: int) -> None:
        """Drop one result of a kernel."""
        row = self._results.get(scope)
        if row is not None:
            row.changed(at)


class Summaries:
    """Cached summaries of one function."""

    def __init__(self, now: Edited) -> None:
        self.now = now
        self.wider: dict[Name, tuple[Lmad[Poly], ...]] = {}
        """Index functions of an array and of those that it is a view of, in one block."""
        self.outside: dict[tuple[TreeBody, Lmad[Poly], int], Lmad[Poly] | None] = {}
        """Cells aggregated over so many indices of a body."""
        self._of: dict[Name | frozenset[Name], OfBlocks] = {}
        self._touching: dict[TreeBody, tuple[tuple[Item, ...], tuple[Item, ...]]] = {}

    def touching(self, scope: TreeBody) -> tuple[Item, ...]:
        """Return the statements of a body that access arrays: one object while none has moved."""
        items = self.now.items(scope)
        before, found = self._touching.get(scope, (None, ()))
        if before is not items:
            some = tuple(item for item in items if item.arrays)
            found = found if some == found else some
            self._touching[scope] = items, found
        return found

    def number(self, scope: TreeBody, at: int) -> int:
        """Count the statements before `at` that access arrays."""
        return bisect_left(self.touching(scope), at, key=self.now.at)

    def of(self, blocks: Name | frozenset[Name]) -> OfBlocks:
        """Return the cache for a block, or for a set of blocks that a name may mean.

        Swapped buffers may mean the same blocks without ever being the same.
        """
        return self._of.setdefault(blocks, OfBlocks())

    def concerned(self, names: Iterable[Name]) -> Iterator[Item]:
        """Yield the statements that bind or use arrays."""
        for name in names:
            yield from chain.from_iterable(self.now.tree.users.get(name, {}).values())
            if name in self.now.tree.binder:
                yield self.now.tree.binder[name]

    def results(self, names: Iterable[Name]) -> Iterator[tuple[TreeBody, int]]:
        """Yield the kernel results that are, or write, these arrays."""
        for name in names:
            yield from self._results.get(name, ())

    @cached_property
    def _results(self) -> Mapping[Name, list[tuple[TreeBody, int]]]:
        found: dict[Name, list[tuple[TreeBody, int]]] = {}
        for item in all_items(self.now.tree.root):
            if isinstance(item.stm.exp, SegMapping):
                scope = item.children[-1]
                pairs = zip(item.stm.pat, scope.results, strict=True)
                for k, (param, result) in enumerate(pairs):
                    put = [result]
                    if isinstance(result, Write):
                        put = [value for _, value in result.writes]
                    for name in (param.name, *put):
                        if isinstance(name, str):
                            found.setdefault(name, []).append((scope, k))
        return found

    def moved(self, names: Iterable[Name]) -> None:
        """Drop the statements that concern arrays with new places."""
        names = tuple(names)
        for name in names:
            self.wider.pop(name, None)
        for item in dict.fromkeys(self.concerned(names)):
            self.changed(item)
        for scope, at in self.results(names):
            for found in self._of.values():
                found.changed_result(scope, at)

    def changed(self, item: Item) -> None:
        """Drop a statement and its parents."""
        around: Item | None = item
        while around is not None:
            at = self.number(around.scope, self.now.at(around))
            for found in self._of.values():
                found.changed(around, at)
            around = around.scope.parent

    def forget(self) -> None:
        """Drop everything, after blocks were renamed."""
        self.wider.clear()
        self._of.clear()
