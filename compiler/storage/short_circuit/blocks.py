"""Which blocks a name may stand for: those that branches return and loops carry."""

from __future__ import annotations

from compiler.base.names import Name
from compiler.ir.nodes import If, Loop
from compiler.storage.short_circuit.tree import Item, Scope, Tree


class Blocks:
    """The blocks of one function, by name."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._found: dict[Name, frozenset[Name]] = {}

    def changed(self) -> None:
        """Forget what was found out, after the tree has changed."""
        self._found.clear()

    def roots(self, block: Name) -> frozenset[Name]:
        """The blocks that a name may stand for.

        What a loop hands on from earlier iterations is a block of its own, with a prime: what the
        body allocates is another block in each iteration.
        """
        found = self._found.get(block)
        if found is None:
            found = self._found[block] = frozenset(self._search(block))
        return found

    def _search(self, block: Name) -> set[Name]:
        """Through all ways to a block; `loops` are those whose results were gone through."""
        start: tuple[Name, frozenset[Scope]] = (block, frozenset())
        seen = {start}
        found: set[Name] = set()
        todo = [start]
        while todo:
            name, loops = todo.pop()
            sources = self._sources(name)
            if not sources:
                found.add(f"{name}'" if self._made_in(name, loops) else name)
            for source, loop in sources:
                step = (self.tree.block(source), loops | {loop} if loop is not None else loops)
                if step not in seen:
                    seen.add(step)
                    todo.append(step)
        return found

    def _made_in(self, name: Name, loops: frozenset[Scope]) -> bool:
        """Whether a block is made in one of some bodies."""
        scope = self.tree.scope_of.get(name)
        while scope is not None:
            if scope in loops:
                return True
            scope = scope.parent.scope if scope.parent is not None else None
        return False

    def _sources(self, name: Name) -> list[tuple[Name, Scope | None]]:
        """What a result of a branch or loop, or a loop's parameter, may be.

        With the body of the loop if that is what an earlier iteration hands on.
        """
        item: Item | None = self.tree.binder.get(name)
        if item is None or not isinstance(item.stm.exp, (If, Loop)):
            return []
        names = [param.name for param in item.stm.pat]
        if isinstance(item.stm.exp, If):
            at = names.index(name)
            return [(str(scope.results[at]), None) for scope in item.children]
        body = item.children[0]
        earlier = name not in names
        if earlier:
            names = [param.name for param in item.stm.exp.params]
        at = names.index(name)
        return [
            (str(item.stm.exp.init[at]), None),
            (str(body.results[at]), body if earlier else None),
        ]
