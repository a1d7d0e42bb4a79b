"""When a block is done with: `Free` behind the last statement that mentions it.

A variable that holds a block is freed in the statement list that declares it, and so is what a
call gives. What a call mentions last, the function frees that is called. Blocks are counted
by the variables that hold them, so that the block of a loop's result stays while the loop's
parameter goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from compiler.base.names import Name
from compiler.codegen.imp.nodes import Alloc, Assign, Call, Declare, For, Free, If, Stm, Stms, While
from compiler.codegen.imp.parts import StmParts
from compiler.ir.nodes import Mem, Operand


def insert_frees(stms: Stms, live: set[Name], given: Iterable[Name] = ()) -> Stms:
    """`stms` with frees of what they declare, except for `live`, which is used after them.

    They are to free what is `given` as well.
    """
    last: dict[Name, int] = dict.fromkeys(given, -1)
    declared = set(last)
    out: list[Stm] = []
    for at, stm in enumerate(stms):
        stm = _inside(stm)
        out.append(stm)
        if (type(stm) is Alloc and stm.space == "device") or (
            type(stm) is Declare and type(stm.type) is Mem
        ):
            declared.add(stm.name)
        if type(stm) is Call:
            declared.update(one.name for one in stm.results if type(one.type) is Mem)
        for name in blocks_of(stm):
            last[name] = at
    frees: dict[int, list[Name]] = {}
    for name in sorted(declared - live):
        at = last[name]
        user = out[at] if at >= 0 else None
        if type(user) is Call and user.args.count(name) == 1:
            out[at] = replace(user, gone=(*user.gone, name))
        else:
            frees.setdefault(at, []).append(name)
    result: list[Stm] = [Free(name) for name in frees.get(-1, ())]
    for at, stm in enumerate(out):
        result.append(stm)
        result.extend(Free(name, stm.prov) for name in frees.get(at, ()))
    return tuple(result)


def _inside(stm: Stm) -> Stm:
    match stm:
        case If(_, then, orelse):
            return replace(stm, then=insert_frees(then, set()), orelse=insert_frees(orelse, set()))
        case For() | While():
            return replace(stm, body=insert_frees(stm.body, set()))
    return stm


def blocks_of(stm: Stm) -> set[Name]:
    """All blocks that a statement mentions, nested ones included."""
    found = _Blocks()
    found.visit(stm)
    return found.names


class _Blocks(StmParts):
    """Collects blocks, and variables that hold them."""

    def __init__(self) -> None:
        self.names: set[Name] = set()

    def block(self, name: Name, prim: object) -> None:
        self.names.add(name)

    def frees(self, name: Name, node: object) -> None:
        self.names.add(name)

    def holder(self, name: Name, node: Declare) -> None:
        if isinstance(node.type, Mem):
            self.names.add(name)

    def assigns(self, name: Name, node: Assign) -> None:
        if isinstance(node.value, str):
            self.names.add(name)

    def operand(self, value: Operand | None, node: object) -> None:
        if isinstance(value, str):
            self.names.add(value)
