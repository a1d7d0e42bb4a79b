"""What an attempt that succeeds changes in a function, as values; all changes of a `Tree` are here.

A body keeps its statements but for those that move up and checks that go. Other arrays' memory
stays as it is, so that what is known of them stays true.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from compiler.base.names import Name
from compiler.ir.nodes import MemBind
from compiler.storage.short_circuit.tree import Item, Tree, TreeBody


@dataclass(frozen=True, slots=True)
class BuildInPlace:
    """Arrays have other memory, and statements move up in front of the one that creates them."""

    mem: Mapping[Name, MemBind]
    creation: Item
    lifted: tuple[Item, ...]
    emptied: tuple[Name, ...]
    """Blocks that nothing is in any more."""
    removed: tuple[Name, ...]
    """Those of them that were allocated."""
    dropped: tuple[Name, ...]
    """Those that branches returned."""


@dataclass(frozen=True, slots=True)
class TakeBlock:
    """What is in a block that was allocated is in another block, at the same cells."""

    old: Name
    new: Name


@dataclass(frozen=True, slots=True)
class StopCarrying:
    """A loop carries a block no more: its parameter and result are the block that it starts with.

    The body hands the parameter on as it is.
    """

    loop: Item
    param: Name
    result: Name
    start: Name


@dataclass(frozen=True, slots=True)
class RemoveCheck:
    """A check that always holds goes."""

    check: Item


Edit = BuildInPlace | TakeBlock | StopCarrying | RemoveCheck


def apply(tree: Tree, edit: Edit) -> None:
    """Change the tree."""
    match edit:
        case BuildInPlace():
            for name, mem in edit.mem.items():
                tree.mem[name] = mem
                tree.members.setdefault(mem.block, []).append(name)
            for block in edit.emptied:
                tree.members.pop(block, None)
                tree.carried.pop(block, None)
            tree.removed.update(edit.removed)
            tree.dropped.update(edit.dropped)
            if edit.lifted:
                _lift(edit.lifted, edit.creation)
                tree.number()
        case TakeBlock(old, new):
            _rename(tree, old, new)
            tree.removed.add(old)
        case StopCarrying(loop, param, result, start):
            for old in (param, result):
                _rename(tree, old, start)
                tree.dropped.add(old)
            tree.carried[start].remove(loop.scope)
            tree.carried[start].remove(loop.children[0])
        case RemoveCheck(check):
            del check.scope.items[check.at]
            _renumber(check.scope, check.at)


def _rename(tree: Tree, old: Name, new: Name) -> None:
    """Let a block be another one; its arrays keep their index functions."""
    tree.renamed[old] = new
    moved = tree.members.pop(old, [])
    for name in moved:
        tree.mem[name] = MemBind(new, tree.mem[name].lmad)
    tree.members[new] = [*tree.members.get(new, ()), *moved]
    tree.carried[new] = [*tree.carried.get(new, ()), *tree.carried.pop(old, ())]


def _lift(lifted: tuple[Item, ...], creation: Item) -> None:
    scope = creation.scope
    moving = set(lifted)
    kept = [item for item in scope.items if item not in moving]
    at = kept.index(creation)
    scope.items[:] = [*kept[:at], *lifted, *kept[at:]]
    _renumber(scope)


def _renumber(scope: TreeBody, first: int = 0) -> None:
    """Let every statement from `first` on know its position again, as some have moved."""
    scope.known = min(scope.known, first)
    scope.moves += 1
    for at in range(first, len(scope.items)):
        scope.items[at].at = at
