"""When a block is done with: `Free` behind the last statement that mentions it.

A variable that holds a block is freed in the statement list that declares it. Blocks are counted
by the variables that hold them, so that the block of a loop's result stays while the loop's
parameter goes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from compiler.base.names import Name
from compiler.codegen.imp.nodes import (
    Alloc,
    Assign,
    Cell,
    Copy,
    Declare,
    For,
    Free,
    HistWork,
    If,
    Kernel,
    Load,
    ReduceWork,
    ScanWork,
    Stm,
    Stms,
    Store,
    While,
    Work,
)
from compiler.ir.nodes import Mem


def insert_frees(stms: Stms, live: set[Name]) -> Stms:
    """`stms` with frees of what they declare, except for `live`, which is used after them."""
    last: dict[Name, int] = {}
    declared: set[Name] = set()
    out: list[Stm] = []
    for at, stm in enumerate(stms):
        stm = _inside(stm)
        out.append(stm)
        if (type(stm) is Alloc and stm.space == "device") or (
            type(stm) is Declare and type(stm.type) is Mem
        ):
            declared.add(stm.name)
        for name in blocks_of(stm):
            last[name] = at
    frees: dict[int, list[Name]] = {}
    for name in sorted(declared - live):
        frees.setdefault(last[name], []).append(name)
    result: list[Stm] = []
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
    found: set[Name] = set()
    _visit(stm, found)
    return found


def _visit(stm: Stm, found: set[Name]) -> None:
    visit = _VISITS.get(type(stm))
    if visit is not None:
        visit(stm, found)


def _list(stms: Stms, found: set[Name]) -> None:
    for stm in stms:
        visit = _VISITS.get(type(stm))
        if visit is not None:
            visit(stm, found)


def _holder(stm: Declare | Assign, found: set[Name]) -> None:
    if isinstance(stm.value, str):
        found.add(stm.name)
        found.add(stm.value)
    elif type(stm) is Declare and type(stm.type) is Mem:
        found.add(stm.name)


def _copy(stm: Copy, found: set[Name]) -> None:
    found.add(stm.dest)
    found.add(stm.source)


def _if(stm: If, found: set[Name]) -> None:
    _list(stm.then, found)
    _list(stm.orelse, found)


def _kernel(stm: Kernel, found: set[Name]) -> None:
    _list(stm.body, found)
    blocks_of_work(stm.work, found)


def blocks_of_work(work: Work, found: set[Name]) -> None:
    """The blocks that a kernel's results go to, and those that operators mention."""
    match work:
        case ReduceWork(folds) | ScanWork(folds):
            for fold in folds:
                _list(fold.op.body, found)
                found.update(into.block for into in fold.into if isinstance(into, Cell))
        case HistWork(hists):
            for hist in hists:
                _list(hist.op.body, found)
                found.update(block for block, _ in hist.dests)


_VISITS: dict[type, Callable[[Any, set[Name]], None]] = {
    Alloc: lambda s, found: found.add(s.name),
    Free: lambda s, found: found.add(s.name),
    Load: lambda s, found: found.add(s.block),
    Store: lambda s, found: found.add(s.block),
    Declare: _holder,
    Assign: _holder,
    Copy: _copy,
    If: _if,
    For: lambda s, found: _list(s.body, found),
    While: lambda s, found: _list(s.body, found),
    Kernel: _kernel,
}
