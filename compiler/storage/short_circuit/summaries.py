"""What attempts find out about statements that have nothing to do with their sources.

Kept from one attempt to the next, as most statements between an array's creation and its place
belong to other arrays; what moves is forgotten.
"""

from __future__ import annotations

from collections.abc import Iterable

from compiler.algebra.lmad import Lmad
from compiler.algebra.poly import Poly
from compiler.base.names import Name
from compiler.storage.short_circuit.access import Summary
from compiler.storage.short_circuit.tree import Item, Tree, TreeBody


class Summaries:
    """Summaries of the statements of one function."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.wider: dict[Name, tuple[Lmad[Poly], ...]] = {}
        """The index functions of an array and of those that it is a view of, in one block."""
        self.outside: dict[tuple[TreeBody, Lmad[Poly], int], Lmad[Poly] | None] = {}
        """What cells are for all values of so many indices of a body, from outside of it."""
        self._summaries: dict[frozenset[Name], dict[Item, Summary]] = {}

    def by_roots(self, roots: frozenset[Name]) -> dict[Item, Summary]:
        """What statements touch of certain blocks."""
        return self._summaries.setdefault(roots, {})

    def moved(self, names: Iterable[Name]) -> None:
        """Arrays have other places now: forget the statements that have to do with them."""
        for name in names:
            self.wider.pop(name, None)
            binder = self.tree.binder.get(name)
            for item in (*self.tree.users.get(name, ()), *([binder] if binder else ())):
                self.changed(item)

    def changed(self, item: Item) -> None:
        """Forget a statement and those around it."""
        at: Item | None = item
        while at is not None:
            for found in self._summaries.values():
                found.pop(at, None)
            at = at.scope.parent

    def forget(self) -> None:
        """Forget everything, as blocks have become others."""
        self.wider.clear()
        self._summaries.clear()
