"""The heap semantics of parallel operators: every point, in order, with a check that none meet.

The rule E-MEM-KERNEL of thesis figure 4.8, for all four operators. At thread level the points are
steps of one thread, so that nothing can meet.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from compiler.algebra.lmad import Lmad
from compiler.ir.nodes import (
    Array,
    HistOp,
    KernelResult,
    Operator,
    SegHist,
    SegMap,
    SegOp,
    SegRed,
    SegScan,
    Stm,
    Write,
)
from compiler.semantics.machine import Machine, Place
from compiler.semantics.points import points
from compiler.semantics.trace import Frame, KernelTrace, Point


def segmap(machine: Machine, stm: Stm, exp: SegMap) -> None:
    """Every point's results go to their places."""
    targets = _targets(machine, stm)
    frame = _enter(machine, stm, exp)
    for point in _points(machine, exp):
        _at(machine, exp, point)
        machine.stms(exp.body.stms)
        for target, result in zip(targets, exp.body.results, strict=True):
            _keep(machine, target, point, result)
    _leave(machine, frame)


def segred(machine: Machine, stm: Stm, exp: SegRed) -> None:
    """Fold along the last dimension; results are written by the last point of each row."""
    targets = _targets(machine, stm)
    folded = sum(len(op.neutral) for op in exp.ops)
    frame = _enter(machine, stm, exp)
    outer, last = _split(machine, exp)
    for row in points(outer):
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


def segscan(machine: Machine, stm: Stm, exp: SegScan) -> None:
    """Fold along the last dimension; each point writes the prefix up to itself."""
    targets = _targets(machine, stm)
    folded = sum(len(op.neutral) for op in exp.ops)
    frame = _enter(machine, stm, exp)
    outer, last = _split(machine, exp)
    for row in points(outer):
        totals = _neutral(machine, exp.ops)
        for at in last:
            point = (*row, at)
            totals = _fold(machine, exp, point, totals)
            for target, total in zip(targets, totals, strict=False):
                assert target is not None
                machine.write_cell(target.block, target.lmad.index(*point), total)
            for target, result in zip(targets[folded:], exp.body.results[folded:], strict=True):
                _keep(machine, target, point, result)
    _leave(machine, frame)


def seghist(machine: Machine, stm: Stm, exp: SegHist) -> None:
    """Combine each point's values with what is at their places."""
    frame = _enter(machine, stm, exp)
    for point in _points(machine, exp):
        _at(machine, exp, point)
        machine.stms(exp.body.stms)
        values = [machine.operand(result) for result in _operands(exp)]
        for op in exp.ops:
            place = (*point[:-1], *map(int, values[: op.rank]))
            _combine(machine, op, place, values[op.rank : op.rank + len(op.dests)])
            values = values[op.rank + len(op.dests) :]
    _leave(machine, frame)
    for param in stm.pat:
        machine.target(param)


# --- points ---


def _targets(machine: Machine, stm: Stm) -> list[Place | None]:
    """Where the results go; None for numbers."""
    return [machine.target(p) if isinstance(p.type, Array) else None for p in stm.pat]


def _split(machine: Machine, exp: SegOp) -> tuple[list[int], range]:
    sizes = [machine.size(bound) for _, bound in exp.space.dims]
    return sizes[:-1], range(sizes[-1])


def _points(machine: Machine, exp: SegOp) -> Iterator[Point]:
    return points([machine.size(bound) for _, bound in exp.space.dims])


def _enter(machine: Machine, stm: Stm, exp: SegOp) -> Frame | None:
    """Begin to watch a kernel, unless its points are steps of one thread."""
    if not machine.tracing or exp.level == "thread":
        return None
    indices = tuple(index for index, _ in exp.space.dims)
    record = KernelTrace(tuple(param.name for param in stm.pat), indices)
    machine.trace.kernels.append(record)
    frame = Frame(record, stm.prov)
    machine.frames.append(frame)
    return frame


def _leave(machine: Machine, frame: Frame | None) -> None:
    if frame is not None:
        machine.frames.remove(frame)


def _at(machine: Machine, exp: SegOp, point: Point) -> None:
    """Be at one point of a kernel's space."""
    for (index, _), at in zip(exp.space.dims, point, strict=True):
        machine.env[index] = np.int64(at)
    if exp.level != "thread" and machine.tracing:
        machine.frames[-1].thread = point


# --- results ---


def _keep(machine: Machine, target: Place | None, point: Point, result: KernelResult) -> None:
    """Write one result of one point."""
    if isinstance(result, Write):
        dest = machine.array(result.dest)
        for at, value in result.writes:
            place = [int(machine.number(index)) for index in at]
            if _inside(dest.lmad, place):
                machine.store(Place(dest.block, dest.lmad.fix(*place)), value, meeting=True)
        return
    assert target is not None
    machine.store(Place(target.block, target.lmad.fix(*point)), result)


def _inside(lmad: Lmad[int], place: Sequence[int]) -> bool:
    return all(0 <= at < size for at, size in zip(place, lmad.shape, strict=False))


def _operands(exp: SegHist) -> list[Any]:
    return [result for result in exp.body.results if not isinstance(result, Write)]


# --- operators ---


def _neutral(machine: Machine, ops: Sequence[Operator]) -> list[Any]:
    return [machine.operand(value) for op in ops for value in op.neutral]


def _fold(machine: Machine, exp: SegRed | SegScan, point: Point, totals: list[Any]) -> list[Any]:
    """Run the body at a point and combine its values with the totals so far."""
    _at(machine, exp, point)
    machine.stms(exp.body.stms)
    count = len(totals)
    values = [machine.operand(r) for r in exp.body.results[:count] if not isinstance(r, Write)]
    found: list[Any] = []
    for op in exp.ops:
        width = len(op.neutral)
        found += _apply(machine, op, totals[:width], values[:width])
        totals, values = totals[width:], values[width:]
    return found


def _apply(machine: Machine, op: Operator, left: list[Any], right: list[Any]) -> list[Any]:
    for param, value in zip(op.fn.params, [*left, *right], strict=True):
        machine.env[param.name] = value
    return machine.body(op.fn.body)


def _combine(machine: Machine, op: HistOp, place: Point, values: list[Any]) -> None:
    """Put values into the histograms at a place, unless it lies outside."""
    dests = [machine.array(dest) for dest in op.dests]
    if not _inside(dests[0].lmad, place):
        return
    watching, machine.tracing = machine.tracing, False
    old = [machine.read_cell(dest, place) for dest in dests]
    machine.tracing = watching
    for dest, value in zip(dests, _apply(machine, op.op, old, values), strict=True):
        machine.write_cell(dest.block, dest.lmad.index(*place), value, meeting=True)
