"""Edits of a function made by successful attempts, as values, and their application.

A body keeps its statements, except lifted ones and removed checks. Other arrays keep their memory,
so that cached facts about them stay valid.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count

from compiler.base.dataclass import dataclass
from compiler.base.names import Name
from compiler.ir.nodes import MemBind, Stm
from compiler.storage.short_circuit.edit_state import Edited
from compiler.storage.short_circuit.tree import Item, TreeBody


@dataclass(frozen=True, slots=True)
class BuildInPlace:
    """Rebind arrays, and lift statements before the one that creates them.

    Some of these are new if `update` is: the point, with its indices bound to names.
    """

    mem: Mapping[Name, MemBind]
    creation: Item
    lifted: tuple[Item, ...]
    emptied: tuple[Name, ...]
    """Blocks that hold nothing any more, and are no longer allocated or returned."""
    update: tuple[Item, Stm] | None = None


@dataclass(frozen=True, slots=True)
class TakeBlock:
    """Move the contents of an allocated block to another block, at the same cells."""

    old: Name
    new: Name


@dataclass(frozen=True, slots=True)
class StopCarrying:
    """Stop carrying a block: parameter and result become the block that the loop starts with.

    The body must return the parameter unchanged.
    """

    loop: Item
    param: Name
    result: Name
    start: Name


@dataclass(frozen=True, slots=True)
class RemoveCheck:
    """Remove a check that always holds."""

    check: Item


Edit = BuildInPlace | TakeBlock | StopCarrying | RemoveCheck


def apply(now: Edited, edit: Edit) -> None:
    """Apply an edit to the function."""
    match edit:
        case BuildInPlace(mem, creation, lifted, emptied, update):
            now.mem.update(mem)
            for name, place in mem.items():
                now.members.setdefault(place.block, []).append(name)
            for block in emptied:
                now.members.pop(block, None)
                now.carried.pop(block, None)
            now.gone.update(emptied)
            if update is not None:
                now.updates.update([update])
            if lifted:
                _lift(now, lifted, creation)
        case TakeBlock(old, new):
            _rename(now, old, new)
        case StopCarrying(loop, param, result, start):
            for old in (param, result):
                _rename(now, old, start)
            now.carried[start].remove(loop.scope)
            now.carried[start].remove(loop.children[0])
        case RemoveCheck(check):
            items, at = now.items(check.scope), now.at(check)
            _order(now, check.scope, (*items[:at], *items[at + 1 :]), at)


def _rename(now: Edited, old: Name, new: Name) -> None:
    """Replace a block by another; its arrays keep their index functions."""
    now.renamed[old] = new
    if old in now.given:
        now.given.add(new)
    now.gone.add(old)
    moved = now.members.pop(old, [])
    for name in moved:
        now.mem[name] = MemBind(new, now.mem[name].lmad)
    now.members[new] = [*now.members.get(new, ()), *moved]
    now.carried[new] = [*now.carried.get(new, ()), *now.carried.pop(old, ())]


def _lift(now: Edited, lifted: Sequence[Item], creation: Item) -> None:
    for item in lifted:
        new = (param.name for param in item.stm.pat if param.name not in now.tree.binder)
        now.added.update(dict.fromkeys(new, item))
    moving, items, at = set(lifted), now.items(creation.scope), now.at(creation)
    later = (item for item in items[at:] if item not in moving)
    _order(now, creation.scope, (*items[:at], *lifted, *later), at)


def _order(now: Edited, scope: TreeBody, items: tuple[Item, ...], first: int) -> None:
    """Set the statements of a body; those before `first` have not moved."""
    now.order[scope] = items
    now.positions.update(zip(items[first:], count(first), strict=False))
