"""Update a histogram bin that other threads update concurrently."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.base.names import Name
from compiler.base.prim import BYTES
from compiler.base.spans import Prov
from compiler.base.target import Target
from compiler.codegen.imp.nodes import Cell, Declare, Define, Histogram, If, Stm, Stms, Store
from compiler.codegen.index import cell, row_major
from compiler.codegen.kernels import nodes as k
from compiler.codegen.kernels.threads import thread_code
from compiler.codegen.sequential import assign_all
from compiler.codegen.traits import builtin, reads, stored
from compiler.ir.build import inside
from compiler.ir.nodes import SE, Bin, Lit, Scalar, Var

LOCKS = "locks_0"
COUNT = 1 << 16
"""Number of locks of a histogram whose bins are not single words; bins share them by index."""


def components(hist: Histogram) -> tuple[Histogram, ...]:
    """Split a histogram into one per independent component; else return it alone."""
    op = hist.op
    made = {stm.name: stm.value for stm in op.body if isinstance(stm, Define)}
    if len(made) < len(op.body):
        return (hist,)
    found: list[Histogram] = []
    for at, result in enumerate(op.results):
        while isinstance(result, Var) and result.name in made:
            result = made[result.name]
        needs: set[Name] = set()
        more = reads(result)
        while more:
            needs |= more
            more = {n for name in more & made.keys() for n in reads(made[name])} - needs
        part = slice(at, at + 1)
        if needs & {*op.lhs, *op.rhs} - {op.lhs[at], op.rhs[at]}:
            return (hist,)
        own = replace(
            op,
            prims=op.prims[part],
            lhs=op.lhs[part],
            rhs=op.rhs[part],
            body=tuple(s for s in op.body if isinstance(s, Define) and s.name in needs),
            results=(result,),
            neutral=op.neutral[part],
        )
        found.append(replace(hist, op=own, values=hist.values[part], dests=hist.dests[part]))
    return tuple(found)


def needs_lock(hist: Histogram) -> bool:
    """True if some bin is not a single exchangeable word, or combining writes memory."""
    return any(
        len(part.dests) > 1 or BYTES[part.op.prims[0]] not in (4, 8) or stored(part.op.body)
        for part in components(hist)
    )


def update_bin(hist: Histogram, target: Target, prov: Prov) -> If:
    """Combine one bin with a point's values, if the index is in bounds."""
    code = update_result(hist, row_major(hist.bins, hist.shape), target, prov)
    return If(inside(hist.bins, hist.shape), code, (), prov)


def update_result(hist: Histogram, number: SE, target: Target, prov: Prov) -> Stms:
    """Combine bin `number` of the result with values."""
    cells = [Cell(block, cell(lmad, hist.bins)) for block, lmad in hist.dests]
    lock = Cell(LOCKS, Bin("%%", "i64", number, Lit(COUNT, "i64")))
    return update_cells(hist, cells, lock, target, prov)


def update_cells(
    hist: Histogram, cells: Sequence[Cell], lock: Cell, target: Target, prov: Prov
) -> Stms:
    """Combine a bin's cells with values, each atomically, or all under a lock."""
    parts = components(hist)
    if len(parts) == 1:
        return _update(hist, cells, lock, target, prov)
    return tuple(
        k.Scope(_update(part, (place,), lock, target, prov), prov=prov)
        for part, place in zip(parts, cells, strict=True)
    )


def _update(hist: Histogram, cells: Sequence[Cell], lock: Cell, target: Target, prov: Prov) -> Stms:
    """Combine atomically if the target can, else by compare-and-swap or under a lock."""
    op = hist.op
    code: list[Stm] = [
        Define(rhs, prim, value, hist.prov or prov)
        for rhs, prim, value in zip(op.rhs, op.prims, hist.values, strict=True)
    ]
    prim, kind, place = op.prims[0], builtin(op), cells[0]
    own = op.prov or prov
    joined: Stms = thread_code(op.body) + assign_all(op.lhs, op.prims, op.results, own)
    if kind is not None and (kind, prim) in target.atomics:
        code.append(k.Atomic(kind, prim, place.block, place.at, Var(op.rhs[0], prim), own))
    elif not needs_lock(hist):
        code.append(k.Exchange(op.lhs[0], prim, place.block, place.at, joined, own))
    else:
        body: list[Stm] = []
        for one, lhs, prim in zip(cells, op.lhs, op.prims, strict=True):
            body.append(Declare(lhs, Scalar(prim), None, prov))
            body.append(k.Fetch(lhs, prim, one.block, one.at, prov))
        body += joined
        body += [
            Store(one.block, prim, one.at, Var(lhs, prim), prov)
            for one, lhs, prim in zip(cells, op.lhs, op.prims, strict=True)
        ]
        code.append(k.Locked(lock.block, lock.at, tuple(body), prov))
    return tuple(code)
