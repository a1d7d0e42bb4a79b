"""The heap semantics of programs with memory (thesis 4.4.2, figures 4.8 to 4.10).

Arrays are a block and an LMAD over ints, taken from the types in the program, which are the ones
that the back ends use. Reads and writes are traced, and a race in a kernel is an error. Fresh
blocks are filled with a pattern, which exposes reads before writes. Kernels are in
`heap_kernels.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from compiler.base.by_class import handles
from compiler.base.dtypes import DTYPE
from compiler.ir import entry as entries
from compiler.ir import nodes
from compiler.ir import nodes as ir
from compiler.ir.slices import sliced
from compiler.ir.values import Value
from compiler.semantics import heap_kernels
from compiler.semantics.limits import USUAL_BYTES
from compiler.semantics.machine import Location, Machine
from compiler.semantics.trace import Trace

STEPS: dict[type, Callable[[Machine, ir.Stm, Any], None]] = {**heap_kernels.STEPS}


def run(
    prog: ir.Prog,
    entry: str,
    args: Sequence[Value],
    most_bytes: int = USUAL_BYTES,
    thresholds: Mapping[str, int] | None = None,
    tracing: bool = True,
) -> tuple[list[Value], Trace]:
    """Run an entry point; return its results and the trace of accesses.

    `args` are the external values in order, `most_bytes` bounds all allocations together. Raises
    RuntimeError_ for a failed assertion, an access outside of a block (cause `bounds`), a race
    (cause `race`). Without `tracing` there is no race check.
    """
    machine = Machine({f.name: f for f in prog.funs}, thresholds or {}, STEPS, most_bytes)
    return execute(machine, entries.find(prog, entry), args, tracing), machine.trace


def execute(
    machine: Machine, fun: ir.Function, args: Sequence[Value], tracing: bool = True
) -> list[Value]:
    """Run an entry point on a fresh machine; like `run`."""
    values = entries.bind(fun, args)
    machine.env.update(
        (name, value) for name, value in values.items() if isinstance(value, np.generic)
    )
    for param in fun.params:
        if isinstance(param.type, ir.Array):
            _bind_argument(machine, param, values[param.name])
    machine.tracing = tracing
    with np.errstate(all="ignore"):
        results = machine.body(fun.body)
    machine.tracing = False
    shown = [results[k] for k in entries.visible_results(fun)]
    return [_whole(machine, x) if isinstance(x, Location) else x for x in shown]


def _whole(machine: Machine, location: Location) -> Value:
    """Return a result; check that an array of no elements has a size that can be shown."""
    shape = location.lmad.shape
    machine.room(shape, location.block.cells.itemsize)
    return machine.read(location).reshape(shape)


def _bind_argument(machine: Machine, param: ir.Param, value: Value) -> None:
    assert isinstance(param.type, ir.Array)
    assert param.type.mem is not None
    block = machine.block(param.type.mem.block, np.array(value).reshape(-1))
    machine.env[param.type.mem.block] = block
    machine.env[param.name] = machine.location(param.type.mem)


# --- array operations ---


@handles(STEPS, ir.Index)
def _index(machine: Machine, stm: ir.Stm, exp: ir.Index) -> None:
    index = [int(machine.number(at)) for at in exp.at]
    machine.env[stm.pat[0].name] = machine.read_cell(machine.array(exp.array), index)


@handles(STEPS, nodes.Slice, nodes.Rearrange, nodes.Reshape, nodes.Scratch)
def _view(machine: Machine, stm: ir.Stm, exp: object) -> None:
    machine.target(stm.pat[0])


def part(machine: Machine, location: Location, dims: Sequence[ir.DimIndex]) -> Location:
    """Return the part of an array that indices and slices select."""
    lmad = sliced(location.lmad, dims, lambda se: int(machine.number(se)), machine.size)
    return Location(location.block, lmad)


@handles(STEPS, ir.Update)
def _update(machine: Machine, stm: ir.Stm, exp: ir.Update) -> None:
    machine.store(part(machine, machine.array(exp.array), exp.dims), exp.value)
    machine.target(stm.pat[0])


@handles(STEPS, ir.Copy)
def _copy(machine: Machine, stm: ir.Stm, exp: ir.Copy) -> None:
    source = machine.array(exp.array)
    machine.copy(source, machine.target(stm.pat[0]))


@handles(STEPS, ir.Concat)
def _concat(machine: Machine, stm: ir.Stm, exp: ir.Concat) -> None:
    target = machine.target(stm.pat[0])
    start = 0
    for name in exp.arrays:
        source = machine.array(name)
        count = source.lmad.shape[0]
        machine.copy(source, Location(target.block, target.lmad.slice(0, start, count, 1)))
        start += count


@handles(STEPS, ir.Iota)
def _iota(machine: Machine, stm: ir.Stm, exp: ir.Iota) -> None:
    target = machine.target(stm.pat[0])
    count = max(target.lmad.shape[0], 0)
    steps = np.arange(count).astype(DTYPE[exp.prim])
    machine.write(target, machine.number(exp.start) + steps * machine.number(exp.step))


@handles(STEPS, ir.Replicate)
def _replicate(machine: Machine, stm: ir.Stm, exp: ir.Replicate) -> None:
    target = machine.target(stm.pat[0])
    if isinstance(exp.value, str):
        copies = int(np.prod([machine.size(size) for size in exp.shape]))
        machine.write(target, np.tile(machine.read(machine.array(exp.value)), max(copies, 0)))
    else:
        machine.write(target, machine.number(exp.value))


@handles(STEPS, ir.ArrayLit)
def _array_lit(machine: Machine, stm: ir.Stm, exp: ir.ArrayLit) -> None:
    target = machine.target(stm.pat[0])
    for at, elem in enumerate(exp.elems):
        machine.store(Location(target.block, target.lmad.fix(at)), elem)


@handles(STEPS, ir.Alloc)
def _alloc(machine: Machine, stm: ir.Stm, exp: ir.Alloc) -> None:
    name = stm.pat[0].name
    machine.env[name] = machine.allocate(name, exp.prim, machine.exact(exp.count))


# --- control ---


@handles(STEPS, ir.If)
def _if(machine: Machine, stm: ir.Stm, exp: ir.If) -> None:
    taken = exp.then if machine.number(exp.cond) else exp.orelse
    machine.give(stm.pat, machine.body(taken))


@handles(STEPS, ir.Loop)
def _loop(machine: Machine, stm: ir.Stm, exp: ir.Loop) -> None:
    values = [machine.operand(value) for value in exp.init]
    machine.give(exp.params, values)
    form = exp.form
    if isinstance(form, ir.ForLoop):
        for iteration in range(int(machine.number(form.bound))):
            machine.env[form.index] = DTYPE[form.prim].type(iteration)
            values = machine.body(exp.body)
            machine.give(exp.params, values)
    else:
        while machine.env[form.cond]:
            values = machine.body(exp.body)
            machine.give(exp.params, values)
    machine.give(stm.pat, values)


@handles(STEPS, ir.Call, ir.Apply)
def _call(machine: Machine, stm: ir.Stm, exp: ir.Call | ir.Apply) -> None:
    fun = machine.funs[exp.fun]
    results = machine.called(fun, [machine.operand(arg) for arg in exp.args])
    machine.give(stm.pat, results)


@handles(STEPS, ir.Assert)
def _assert(machine: Machine, stm: ir.Stm, exp: ir.Assert) -> None:
    if not machine.number(exp.cond):
        texts = [m if isinstance(m, str) else str(machine.number(m)) for m in exp.message]
        raise machine.error("".join(texts))


@handles(STEPS, ir.Threshold)
def _threshold(machine: Machine, stm: ir.Stm, exp: ir.Threshold) -> None:
    least = machine.thresholds.get(exp.name, exp.default)
    machine.env[stm.pat[0].name] = np.bool_(machine.number(exp.amount) >= least)
