"""What the threads of a block run together.

Every thread computes the scalars alike, so that all agree on where to go. One thread stores for
all, and inner kernels share out their points.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.base.spans import Prov
from compiler.codegen.imp.nodes import (
    Alloc,
    Copy,
    For,
    HistWork,
    If,
    Kernel,
    MapWork,
    ReduceWork,
    ScanWork,
    Stm,
    Stms,
    Store,
    While,
)
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.folds import block_fold
from compiler.codegen.kernels.nodes import BLOCK, Barrier, Scope
from compiler.codegen.kernels.threads import (
    FIRST,
    all_points,
    i64,
    own_point,
    point,
    shared,
    thread_code,
)
from compiler.codegen.sequential import copy_body, copy_dims, sequential


def map_code(kernel: Kernel) -> Stms:
    """A thread for each point, or a block of threads for each point."""
    if kernel.per_block:
        block = k.Indices(kernel.dims, i64(BLOCK), kernel.prov)
        return (block, *block_code(kernel.body))
    return own_point(kernel) + thread_code(kernel.body)


def block_code(stms: Stms) -> Stms:
    """What the threads of a block run together."""
    out: list[Stm] = []
    for stm in stms:
        match stm:
            case Kernel():
                out.extend(_together(_inner(stm), stm.prov))
            case Copy():
                copy = Kernel(
                    "copy", "block", copy_dims(stm), copy_body(stm), MapWork(), prov=stm.prov
                )
                out.extend(_together((Scope(all_points(copy)),), stm.prov))
            case Store():
                out.extend(_together((If(FIRST, (stm,), (), stm.prov),), stm.prov))
            case If(_, then, orelse):
                out.append(replace(stm, then=block_code(then), orelse=block_code(orelse)))
            case For() | While():
                out.append(replace(stm, body=block_code(stm.body)))
            case Alloc():
                out.append(shared(stm))
            case _:
                out.append(stm)
    waits = [isinstance(stm, Barrier) for stm in out]
    return tuple(s for at, s in enumerate(out) if not (at and waits[at] and waits[at - 1]))


def _together(stms: Stms, prov: Prov) -> Stms:
    """What touches memory that all threads of a block see, between barriers."""
    return (Barrier(prov), *stms, Barrier(prov))


def _inner(kernel: Kernel) -> Stms:
    match kernel.work:
        case MapWork():
            return (Scope(all_points(kernel)),)
        case ReduceWork(folds) | ScanWork(folds):
            return (Scope(block_fold(kernel, folds), prov=kernel.prov),)
        case HistWork():
            return (If(FIRST, (point(sequential(kernel)),), (), kernel.prov),)
