"""What the threads of a block run together.

Every thread computes the scalars alike, so that all agree on where to go. One thread stores for
all, and inner kernels share out their points.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.base.spans import Prov
from compiler.codegen.imp import nodes as imp
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


def map_code(kernel: imp.Kernel) -> imp.Stms:
    """A thread for each point, or a block of threads for each point."""
    if kernel.per_block:
        block = k.Indices(kernel.dims, i64(BLOCK), kernel.prov)
        return (block, *block_code(kernel.body))
    return own_point(kernel) + thread_code(kernel.body)


def block_code(stms: imp.Stms) -> imp.Stms:
    """What the threads of a block run together."""
    out: list[imp.Stm] = []
    for stm in stms:
        match stm:
            case imp.Kernel():
                out.extend(_together(_inner(stm), stm.prov))
            case imp.Copy():
                copy = imp.Kernel(
                    "copy", "block", copy_dims(stm), copy_body(stm), imp.MapWork(), prov=stm.prov
                )
                out.extend(_together((Scope(all_points(copy)),), stm.prov))
            case imp.Store():
                out.extend(_together((imp.If(FIRST, (stm,), (), stm.prov),), stm.prov))
            case imp.If(_, then, orelse):
                out.append(replace(stm, then=block_code(then), orelse=block_code(orelse)))
            case imp.For() | imp.While():
                out.append(replace(stm, body=block_code(stm.body)))
            case imp.Alloc():
                out.append(shared(stm))
            case _:
                out.append(stm)
    waits = [isinstance(stm, Barrier) for stm in out]
    return tuple(s for at, s in enumerate(out) if not (at and waits[at] and waits[at - 1]))


def _together(stms: imp.Stms, prov: Prov) -> imp.Stms:
    """What touches memory that all threads of a block see, between barriers."""
    return (Barrier(prov), *stms, Barrier(prov))


def _inner(kernel: imp.Kernel) -> imp.Stms:
    match kernel.work:
        case imp.MapWork():
            return (Scope(all_points(kernel)),)
        case imp.ReduceWork(folds) | imp.ScanWork(folds):
            return (Scope(block_fold(kernel, folds), prov=kernel.prov),)
        case imp.HistWork():
            return (imp.If(FIRST, (point(sequential(kernel)),), (), kernel.prov),)
