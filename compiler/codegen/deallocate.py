"""Insert `Free` after the last use of each block.

A variable that holds a block is freed in the statement list that declares it, and so is the result
of a call. If a call is the last use, the callee frees. Blocks are reference-counted by their
variables, so that the block of a loop's result survives the loop's parameter.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from compiler.base.names import Name
from compiler.codegen.imp.nodes import Alloc, Assign, Call, Declare, For, Free, If, Stm, Stms, While
from compiler.codegen.imp.parts import StmParts
from compiler.ir.nodes import Mem


def insert_frees(stms: Stms, live: set[Name], given: Iterable[Name] = ()) -> Stms:
    """Insert frees of what `stms` declare, except for `live`, which is used after them.

    Also frees the blocks `given` to them.
    """
    return _with_frees(stms, live, given)[0]


def _with_frees(stms: Stms, live: set[Name], given: Iterable[Name] = ()) -> tuple[Stms, set[Name]]:
    """Insert frees; also returns all blocks that the statements mention."""
    last: dict[Name, int] = dict.fromkeys(given, -1)
    declared = set(last)
    out: list[Stm] = []
    for at, stm in enumerate(stms):
        stm, mentioned = _inside(stm)
        out.append(stm)
        if (type(stm) is Alloc and stm.space == "device") or (
            type(stm) is Declare and type(stm.type) is Mem
        ):
            declared.add(stm.name)
        if type(stm) is Call:
            declared.update(one.name for one in stm.results if type(one.type) is Mem)
        last.update(dict.fromkeys(mentioned, at))
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
    return tuple(result), set(last)


def _inside(stm: Stm) -> tuple[Stm, set[Name]]:
    """Insert frees into nested statements; also returns all mentioned blocks."""
    match stm:
        case If():
            then, mentioned = _with_frees(stm.then, set())
            orelse, others = _with_frees(stm.orelse, set())
            return replace(stm, then=then, orelse=orelse), mentioned | others
        case For() | While():
            body, mentioned = _with_frees(stm.body, set())
            return replace(stm, body=body), mentioned
    found = _Blocks()
    found.visit(stm)
    return stm, found.names


class _Blocks(StmParts):
    """Collects blocks, and variables that hold them."""

    def __init__(self) -> None:
        self.names: set[Name] = set()

    def block(self, name: Name, prim: object) -> None:
        self.names.add(name)

    def frees(self, name: Name, node: object) -> None:
        self.names.add(name)

    def alias(self, name: Name, node: object) -> None:
        self.names.update((name, node.name) if isinstance(node, Assign) else (name,))
