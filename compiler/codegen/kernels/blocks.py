"""Code for a thread block that cooperates on one point.

Every thread computes the scalars redundantly, so that control flow is uniform. One thread performs
the stores, and inner kernels distribute their points.
"""

from __future__ import annotations

from dataclasses import replace

from compiler.base.spans import Prov
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import statements
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.folds import block_fold
from compiler.codegen.kernels.no_elements import of_elements
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
    """Return the code of a map: a thread per point, or a thread block per point."""
    if kernel.per_block:
        block = k.Indices(kernel.dims, i64(BLOCK), kernel.prov)
        return (block, *block_code(kernel.body))
    return own_point(kernel) + thread_code(kernel.body)


def block_code(stms: imp.Stms) -> imp.Stms:
    """Return the code that the threads of a block run together."""
    return _Together().code(stms)


class _Together:
    """Inserts barriers where necessary.

    Threads wait after statements that touch memory shared by all. They wait before as well if they
    have loaded from memory since: a write must not overtake the loads.
    """

    def __init__(self) -> None:
        self.loaded = False
        """True if some thread may still have to perform a load that all perform."""
        self.waits = 0
        """Number of barriers so far."""

    def code(self, stms: imp.Stms) -> imp.Stms:
        """Return the threads' code for these statements, after the earlier ones."""
        out: list[imp.Stm] = []
        for stm in stms:
            match stm:
                case imp.Kernel():
                    out += self.together(_inner(stm), stm.prov)
                case imp.Copy():
                    dims, body = copy_dims(stm), copy_body(stm)
                    copy = imp.Kernel("copy", "block", dims, body, imp.MapWork(), prov=stm.prov)
                    out += self.together((Scope(all_points(copy)),), stm.prov)
                case imp.Store():
                    out += self.together((imp.If(FIRST, (stm,), (), stm.prov),), stm.prov)
                case imp.If():
                    before = self.loaded
                    then = self.code(stm.then)
                    self.loaded, after = before, self.loaded
                    out.append(replace(stm, then=then, orelse=self.code(stm.orelse)))
                    self.loaded |= after
                case imp.For() | imp.While():
                    out.append(replace(stm, body=self.round(stm.body, stm.prov)))
                case imp.Alloc():
                    out.append(shared(stm))
                case _:
                    self.loaded |= isinstance(stm, imp.Load)
                    out.append(stm)
        return tuple(out)

    def together(self, stms: imp.Stms, prov: Prov) -> imp.Stms:
        """Surround statements on memory shared by all threads with barriers."""
        before: imp.Stms = (Barrier(prov),) if self.loaded else ()
        self.loaded = False
        self.waits += 1
        return (*before, *stms, Barrier(prov, asks=_fails(stms)))

    def round(self, stms: imp.Stms, prov: Prov) -> imp.Stms:
        """Return the code of a loop body, which also follows itself."""
        before, waits = self.loaded, self.waits
        body = self.code(stms)
        if self.loaded and not before and self.waits > waits:
            body = (*body, Barrier(prov))
            self.loaded = False
        self.loaded |= before
        return body


def _fails(stms: imp.Stms) -> bool:
    """True if a check of a point may fail, which ends only the point."""
    return any(isinstance(stm, imp.Assert) for stm in statements(stms))


def _inner(kernel: imp.Kernel) -> imp.Stms:
    match kernel.work:
        case imp.MapWork():
            return (Scope(all_points(kernel)),)
        case imp.ReduceWork(folds) | imp.ScanWork(folds):
            return (Scope(block_fold(kernel, of_elements(kernel, folds)), prov=kernel.prov),)
        case imp.HistWork():
            return (imp.If(FIRST, (point(sequential(kernel)),), (), kernel.prov),)
