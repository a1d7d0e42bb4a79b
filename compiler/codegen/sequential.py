"""Sequential semantics of kernels as plain loops: one thread can run every kernel.

Used for operators within a thread, for inner operators of a block on the CPU, and by the
interpreter as the definition (thesis, figure 4.13, rule E-IMP-KERNEL).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_

from compiler.base.names import Name, base_of
from compiler.base.prim import Prim
from compiler.base.spans import Prov
from compiler.codegen.imp import nodes as imp
from compiler.codegen.imp.parts import map_bodies
from compiler.codegen.index import cell, poly_exp
from compiler.ir.build import inside
from compiler.ir.nodes import SE, Scalar, Var
from compiler.ir.walk import se_uses


def sequential(kernel: imp.Kernel) -> imp.Stms:
    """Return the kernel as a loop nest, outermost dimension first."""
    prov = kernel.prov
    match kernel.work:
        case imp.MapWork():
            return loops(kernel.dims, kernel.body, prov)
        case imp.HistWork(hists):
            updates = tuple(stm for hist in hists for stm in update_bins(hist, prov))
            return loops(kernel.dims, kernel.body + updates, prov)
        case imp.ReduceWork(folds):
            start = tuple(stm for fold in folds for stm in begin(fold.op, prov))
            step = tuple(stm for fold in folds for stm in accumulate(fold, prov))
            end = tuple(stm for fold in folds for stm in finish(fold, prov))
            inner = loops(kernel.dims[-1:], kernel.body + step, prov)
            return loops(kernel.dims[:-1], start + inner + end, prov)
        case imp.ScanWork(folds):
            start = tuple(stm for fold in folds for stm in begin(fold.op, prov))
            step = tuple(
                stm for fold in folds for stm in accumulate(fold, prov) + finish(fold, prov)
            )
            inner = loops(kernel.dims[-1:], kernel.body + step, prov)
            return loops(kernel.dims[:-1], start + inner, prov)


def loops(dims: Sequence[tuple[Name, SE]], body: imp.Stms, prov: Prov) -> imp.Stms:
    """Wrap `body` in one loop per dimension."""
    for name, bound in reversed(dims):
        body = (imp.For(name, "i64", bound, body, prov),)
    return body


def begin(op: imp.Combine, prov: Prov) -> imp.Stms:
    """Declare the operator's left operands as accumulators, at the neutral element."""
    return tuple(
        imp.Declare(name, Scalar(prim), ne, prov)
        for name, prim, ne in zip(op.lhs, op.prims, op.neutral, strict=True)
    )


def accumulate(fold: imp.Fold, prov: Prov) -> imp.Stms:
    """Combine the accumulators with a point's inputs."""
    return combine(fold.op, fold.inputs, fold.prov or prov)


def combine(op: imp.Combine, inputs: Sequence[SE], prov: Prov) -> imp.Stms:
    """`lhs := lhs op inputs` for declared accumulators."""
    rhs: imp.Stms = tuple(
        imp.Define(name, prim, value, prov)
        for name, prim, value in zip(op.rhs, op.prims, inputs, strict=True)
    )
    return rhs + op.body + assign_all(op.lhs, op.prims, op.results, op.prov or prov)


def finish(fold: imp.Fold, prov: Prov) -> imp.Stms:
    """Store the accumulators in the results' cells or variables."""
    return tuple(
        imp.Store(into.block, prim, into.at, Var(name, prim), prov)
        if isinstance(into, imp.Cell)
        else imp.Assign(into, Var(name, prim), prov)
        for into, name, prim in zip(fold.into, fold.op.lhs, fold.op.prims, strict=True)
    )


def update_bins(hist: imp.Histogram, prov: Prov) -> imp.Stms:
    """Combine one bin with a point's values, unless the bin is outside."""
    op = hist.op
    loads: list[imp.Stm] = []
    stores: list[imp.Stm] = []
    for (block, lmad), name, prim, result in zip(
        hist.dests, op.lhs, op.prims, op.results, strict=True
    ):
        at = cell(lmad, hist.bins)
        loads.append(imp.Load(name, prim, block, at, prov))
        stores.append(imp.Store(block, prim, at, result, op.prov or prov))
    rhs: imp.Stms = tuple(
        imp.Define(name, prim, value, hist.prov or prov)
        for name, prim, value in zip(op.rhs, op.prims, hist.values, strict=True)
    )
    return (imp.If(inside(hist.bins, hist.shape), (*loads, *rhs, *op.body, *stores), (), prov),)


def with_updates(stms: imp.Stms, update: Callable[[imp.Histogram, Prov], imp.Stms]) -> imp.Stms:
    """Replace each push in a point's statements by `update`; the same if there is none."""
    out: list[imp.Stm] = []
    for stm in stms:
        if isinstance(stm, imp.Push):
            out.extend(update(stm.hist, stm.prov))
        elif isinstance(stm, imp.Kernel):
            out.append(stm)
        else:
            out.append(map_bodies(stm, lambda body: with_updates(body, update)))
    return stms if all(map(is_, out, stms)) and len(out) == len(stms) else tuple(out)


def assign_all(
    names: Sequence[Name], prims: Sequence[Prim], values: Sequence[SE], prov: Prov
) -> imp.Stms:
    """Assign all at once: a value that reads a name assigned before it is computed first."""
    early: list[imp.Stm] = []
    assigns: list[imp.Stm] = []
    assigned: set[Name] = set()
    for name, prim, value in zip(names, prims, values, strict=True):
        read: set[Name] = set()
        se_uses(value, read.add)
        if read & assigned:
            temporary = next_name(name)
            early.append(imp.Define(temporary, prim, value, prov))
            value = Var(temporary, prim)
        if not (type(value) is Var and value.name == name):
            assigns.append(imp.Assign(name, value, prov))
        assigned.add(name)
    return (*early, *assigns)


def next_name(name: Name) -> Name:
    """Return the name for the next value of `name`; unique because the tag is."""
    base = base_of(name)
    return f"{base}_next{name[len(base) :]}" if base != name else f"{name}_next"


def copy_dims(copy: imp.Copy) -> tuple[tuple[Name, SE], ...]:
    """Return index names and sizes for a copy's loops; every copy may use the same names."""
    return tuple((f"c{k}_0", poly_exp(dim.size)) for k, dim in enumerate(copy.dest_lmad.dims))


def copy_body(copy: imp.Copy) -> imp.Stms:
    """Return the code of one point of a copy, in terms of the names of `copy_dims`."""
    point = [Var(f"c{k}_0", "i64") for k in range(len(copy.dest_lmad.dims))]
    return (
        imp.Load("cell_0", copy.prim, copy.source, cell(copy.source_lmad, point), copy.prov),
        imp.Store(
            copy.dest, copy.prim, cell(copy.dest_lmad, point), Var("cell_0", copy.prim), copy.prov
        ),
    )
