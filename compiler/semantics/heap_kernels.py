"""The heap semantics of parallel operators: threads in order, with a race check.

The rule E-MEM-KERNEL of thesis figure 4.8, for all four operators. At thread level the indices are
steps of one thread, so that no race is possible.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from compiler.algebra.lmad import Lmad
from compiler.base.by_class import handles
from compiler.ir import nodes as ir
from compiler.semantics.indices import all_indices
from compiler.semantics.machine import Location, Machine
from compiler.semantics.trace import KernelTrace, RunningKernel, Thread

STEPS: dict[type, Callable[[Machine, ir.Stm, Any], None]] = {}


@handles(STEPS, ir.SegMap)
def segmap(machine: Machine, stm: ir.Stm, exp: ir.SegMap) -> None:
    """Write every thread's results to their locations."""
    targets = _targets(machine, stm)
    frame = _enter(machine, stm, exp)
    for thread in _threads(machine, exp):
        _at(machine, exp, thread)
        machine.stms(exp.body.stms)
        for target, result in zip(targets, exp.body.results, strict=True):
            _keep(machine, target, thread, result)
    _leave(machine, frame)


@handles(STEPS, ir.SegRed)
def segred(machine: Machine, stm: ir.Stm, exp: ir.SegRed) -> None:
    """Fold along the last dimension; the last thread of each row writes the results."""
    targets = _targets(machine, stm)
    folded = sum(len(op.neutral) for op in exp.ops)
    frame = _enter(machine, stm, exp)
    outer, last = _split(machine, exp)
    for row in all_indices(outer):
        totals = _neutral(machine, exp.ops)
        for at in last:
            totals = _fold(machine, exp, (*row, at), totals)
            for target, result in zip(targets[folded:], exp.body.results[folded:], strict=True):
                _keep(machine, target, (*row, at), result)
        for param, target, total in zip(stm.pat, targets, totals, strict=False):
            if target is None:
                machine.env[param.name] = total
            else:
                machine.write_cell(target.block, target.lmad.index(*row), total)
    _leave(machine, frame)


@handles(STEPS, ir.SegScan)
def segscan(machine: Machine, stm: ir.Stm, exp: ir.SegScan) -> None:
    """Fold along the last dimension; each thread writes the prefix up to itself."""
    targets = _targets(machine, stm)
    folded = sum(len(op.neutral) for op in exp.ops)
    frame = _enter(machine, stm, exp)
    outer, last = _split(machine, exp)
    for row in all_indices(outer):
        totals = _neutral(machine, exp.ops)
        for at in last:
            thread = (*row, at)
            totals = _fold(machine, exp, thread, totals)
            for target, total in zip(targets, totals, strict=False):
                assert target is not None
                machine.write_cell(target.block, target.lmad.index(*thread), total)
            for target, result in zip(targets[folded:], exp.body.results[folded:], strict=True):
                _keep(machine, target, thread, result)
    _leave(machine, frame)


@handles(STEPS, ir.SegHist)
def seghist(machine: Machine, stm: ir.Stm, exp: ir.SegHist) -> None:
    """Combine each thread's values with what is at their indices."""
    frame = _enter(machine, stm, exp)
    for thread in _threads(machine, exp):
        _at(machine, exp, thread)
        machine.stms(exp.body.stms)
        values = [machine.operand(result) for result in _operands(exp)]
        for op in exp.ops:
            at = (*thread[:-1], *map(int, values[: op.rank]))
            _combine(machine, op, at, values[op.rank : op.rank + len(op.dests)])
            values = values[op.rank + len(op.dests) :]
    _leave(machine, frame)
    for param in stm.pat:
        machine.target(param)


@handles(STEPS, ir.Push)
def push(machine: Machine, stm: ir.Stm, exp: ir.Push) -> None:
    """Push values to a cell of an accumulator, which other threads may push to as well."""
    at = tuple(int(machine.number(i)) for i in exp.at)
    values = [machine.operand(value) for value in exp.values]
    for op in exp.op:
        _combine(machine, ir.HistOp(exp.dests, len(at), ir.Operator(op, ())), at, values)
        return
    for dest, value in zip(map(machine.array, exp.dests), exp.values, strict=True):
        if _inside(dest.lmad, at):
            machine.store(Location(dest.block, dest.lmad.fix(*at)), value, meeting=True)


# --- threads ---


def _targets(machine: Machine, stm: ir.Stm) -> list[Location | None]:
    """Return the locations of the results; None for numbers."""
    return [machine.target(p) if isinstance(p.type, ir.Array) else None for p in stm.pat]


def _split(machine: Machine, exp: ir.SegOp) -> tuple[list[int], range]:
    sizes = [machine.size(bound) for _, bound in exp.space.dims]
    return sizes[:-1], range(sizes[-1])


def _threads(machine: Machine, exp: ir.SegOp) -> Iterator[Thread]:
    return all_indices([machine.size(bound) for _, bound in exp.space.dims])


def _enter(machine: Machine, stm: ir.Stm, exp: ir.SegOp) -> RunningKernel | None:
    """Start the race check of a kernel, unless its indices are steps of one thread."""
    if not machine.tracing or exp.level == "thread":
        return None
    indices = tuple(index for index, _ in exp.space.dims)
    record = KernelTrace(tuple(param.name for param in stm.pat), indices)
    machine.trace.kernels.append(record)
    frame = RunningKernel(record, stm.prov)
    machine.frames.append(frame)
    return frame


def _leave(machine: Machine, frame: RunningKernel | None) -> None:
    if frame is not None:
        machine.frames.remove(frame)


def _at(machine: Machine, exp: ir.SegOp, thread: Thread) -> None:
    """Set the indices of one thread of a kernel's space."""
    for (index, _), at in zip(exp.space.dims, thread, strict=True):
        machine.env[index] = np.int64(at)
    if exp.level != "thread" and machine.tracing:
        machine.frames[-1].thread = thread


# --- results ---


def _keep(
    machine: Machine, target: Location | None, thread: Thread, result: ir.KernelResult
) -> None:
    """Write one result of one thread."""
    if isinstance(result, ir.Write):
        dest = machine.array(result.dest)
        for at, value in result.writes:
            index = [int(machine.number(i)) for i in at]
            if _inside(dest.lmad, index):
                machine.store(Location(dest.block, dest.lmad.fix(*index)), value, meeting=True)
        return
    assert target is not None
    machine.store(Location(target.block, target.lmad.fix(*thread)), result)


def _inside(lmad: Lmad[int], at: Sequence[int]) -> bool:
    return all(0 <= i < size for i, size in zip(at, lmad.shape, strict=False))


def _operands(exp: ir.SegHist) -> list[ir.Operand]:
    return [result for result in exp.body.results if not isinstance(result, ir.Write)]


# --- operators ---


def _neutral(machine: Machine, ops: Sequence[ir.Operator]) -> list[Any]:
    return [machine.operand(value) for op in ops for value in op.neutral]


def _fold(machine: Machine, exp: ir.SegFold, thread: Thread, totals: list[Any]) -> list[Any]:
    """Run the body in a thread, and combine its values with the totals so far."""
    _at(machine, exp, thread)
    machine.stms(exp.body.stms)
    count = len(totals)
    values = [machine.operand(r) for r in exp.body.results[:count] if not isinstance(r, ir.Write)]
    found: list[Any] = []
    for op in exp.ops:
        width = len(op.neutral)
        found += _apply(machine, op, totals[:width], values[:width])
        totals, values = totals[width:], values[width:]
    return found


def _apply(machine: Machine, op: ir.Operator, left: list[Any], right: list[Any]) -> list[Any]:
    for param, value in zip(op.fn.params, [*left, *right], strict=True):
        machine.env[param.name] = value
    return machine.body(op.fn.body)


def _combine(machine: Machine, op: ir.HistOp, at: Thread, values: list[Any]) -> None:
    """Combine values with histograms at an index, if it is in bounds."""
    dests = [machine.array(dest) for dest in op.dests]
    if not _inside(dests[0].lmad, at):
        return
    watching, machine.tracing = machine.tracing, False
    old = [machine.read_cell(dest, at) for dest in dests]
    machine.tracing = watching
    for dest, value in zip(dests, _apply(machine, op.op, old, values), strict=True):
        machine.write_cell(dest.block, dest.lmad.index(*at), value, meeting=True)
