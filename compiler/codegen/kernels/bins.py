"""Histograms by threads: how a thread updates a bin that others update as well."""

from __future__ import annotations

from compiler.base.prim import BYTES
from compiler.base.spans import Prov
from compiler.base.target import Target
from compiler.codegen.imp.nodes import Declare, Define, Histogram, If, Stm, Stms, Store
from compiler.codegen.index import cell, row_major
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.threads import thread_code
from compiler.codegen.sequential import assign_all
from compiler.codegen.traits import builtin
from compiler.ir.build import inside
from compiler.ir.nodes import Bin, Lit, Scalar, Var

LOCKS = "locks_0"
COUNT = 1 << 16
"""Locks of a histogram whose bins are no single words; bins share them by number."""


def needs_lock(hist: Histogram) -> bool:
    """Whether a bin is no single word that can be exchanged."""
    return len(hist.dests) != 1 or BYTES[hist.op.prims[0]] not in (4, 8)


def update_bin(hist: Histogram, target: Target, prov: Prov) -> If:
    """Combine one bin with a point's values, unless the bin is outside.

    By one atomic operation if the target has it, else by exchanging the bin, or under a lock.
    """
    op = hist.op
    code: list[Stm] = [
        Define(rhs, prim, value, prov)
        for rhs, prim, value in zip(op.rhs, op.prims, hist.values, strict=True)
    ]
    cells = [(block, cell(lmad, hist.bins)) for block, lmad in hist.dests]
    prim, kind = op.prims[0], builtin(op)
    (block, at), *_ = cells
    joined: Stms = thread_code(op.body) + assign_all(op.lhs, op.prims, op.results, prov)
    if kind is not None and (kind, prim) in target.atomics:
        code.append(k.Atomic(kind, prim, block, at, Var(op.rhs[0], prim), prov))
    elif not needs_lock(hist):
        code.append(k.Exchange(op.lhs[0], prim, block, at, joined, prov))
    else:
        parts = list(zip(cells, op.lhs, op.prims, strict=True))
        body: list[Stm] = []
        for (block, at), lhs, prim in parts:
            body.append(Declare(lhs, Scalar(prim), None, prov))
            body.append(k.Fetch(lhs, prim, block, at, prov))
        body += joined
        body += [Store(block, prim, at, Var(lhs, prim), prov) for (block, at), lhs, prim in parts]
        number = row_major(hist.bins, hist.shape)
        lock = Bin("%%", "i64", number, Lit(COUNT, "i64"))
        code.append(k.Locked(LOCKS, lock, tuple(body), prov))
    return If(inside(hist.bins, hist.shape), tuple(code), (), prov)
