"""What an attempt that succeeds changes in a function, as values; all changes are made here.

A body keeps its statements but for those that move up and checks that go. Other arrays' memory
stays as it is, so that what is known of them stays true.
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
    """Arrays have other memory, and statements move up in front of the one that creates them.

    Some of these may be new, if `update` is: the point, where its indices have got names.
    """

    mem: Mapping[Name, MemBind]
    creation: Item
    lifted: tuple[Item, ...]
    emptied: tuple[Name, ...]
    """Blocks that nothing is in any more, and that nothing allocates or returns."""
    update: tuple[Item, Stm] | None = None


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


def apply(now: Edited, edit: Edit) -> None:
    """Change the function."""
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
    """Let a block be another one; its arrays keep their index functions."""
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
    """Let a body have these statements, where those in front of the first one have not moved."""
    now.order[scope] = items
    now.positions.update(zip(items[first:], count(first), strict=False))
